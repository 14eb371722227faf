#include "report/perfetto.hpp"

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "core/calls/words/names.hpp"

namespace omnio::report {
namespace {

using protozero::pbf_writer;

// Trace
constexpr protozero::pbf_tag_type kPacket = 1;
// TracePacket
constexpr protozero::pbf_tag_type kTimestamp = 8;
constexpr protozero::pbf_tag_type kSequenceId = 10;
constexpr protozero::pbf_tag_type kTrackEvent = 11;
constexpr protozero::pbf_tag_type kInternedData = 12;
constexpr protozero::pbf_tag_type kSequenceFlags = 13;
constexpr protozero::pbf_tag_type kTrackDescriptor = 60;
// TracePacket.SequenceFlags
constexpr std::uint32_t kStateCleared = 1;
constexpr std::uint32_t kNeedsState = 2;
// TrackDescriptor
constexpr protozero::pbf_tag_type kUuid = 1;
constexpr protozero::pbf_tag_type kTrackName = 2;
constexpr protozero::pbf_tag_type kProcess = 3;
constexpr protozero::pbf_tag_type kThread = 4;
constexpr protozero::pbf_tag_type kParentUuid = 5;
// ProcessDescriptor
constexpr protozero::pbf_tag_type kProcessPid = 1;
constexpr protozero::pbf_tag_type kProcessName = 6;
// ThreadDescriptor
constexpr protozero::pbf_tag_type kThreadPid = 1;
constexpr protozero::pbf_tag_type kThreadTid = 2;
constexpr protozero::pbf_tag_type kThreadName = 5;
// TrackEvent
constexpr protozero::pbf_tag_type kCategoryIids = 3;
constexpr protozero::pbf_tag_type kAnnotations = 4;
constexpr protozero::pbf_tag_type kType = 9;
constexpr protozero::pbf_tag_type kNameIid = 10;
constexpr protozero::pbf_tag_type kTrackUuid = 11;
constexpr protozero::pbf_tag_type kFlowIds = 47;
constexpr protozero::pbf_tag_type kTerminatingFlowIds = 48;
constexpr std::int32_t kSliceBegin = 1;
constexpr std::int32_t kSliceEnd = 2;
constexpr std::int32_t kInstant = 3;
// DebugAnnotation
constexpr protozero::pbf_tag_type kAnnotationNameIid = 1;
constexpr protozero::pbf_tag_type kIntValue = 4;
constexpr protozero::pbf_tag_type kStringValue = 6;
// InternedData, by kind; each has an iid and a name
constexpr protozero::pbf_tag_type kInternedField[] = {1, 2, 3};
constexpr protozero::pbf_tag_type kIid = 1;
constexpr protozero::pbf_tag_type kInternedName = 2;

constexpr std::uint32_t kSequence = 1;

// Numbers of tracks: the upper half is that of the process, or of the thread.
std::uint64_t uuidOfProcess(std::uint64_t process) { return process << 32; }
// The track of a thread (0), and those beside it.
std::uint64_t uuidOfTrack(std::uint64_t track, std::uint64_t beside = 0) {
  return track << 32 | (beside + 1);
}

template <typename Fill>
void addPacket(std::string& out, Fill fill) {
  pbf_writer file(out);
  pbf_writer packet(file, kPacket);
  fill(packet);
}

void addEnd(std::string& out, std::uint64_t uuid, std::int64_t end_ns) {
  addPacket(out, [&](pbf_writer& packet) {
    packet.add_uint64(kTimestamp, static_cast<std::uint64_t>(end_ns));
    packet.add_uint32(kSequenceId, kSequence);
    pbf_writer event(packet, kTrackEvent);
    event.add_enum(kType, kSliceEnd);
    event.add_uint64(kTrackUuid, uuid);
  });
}

}  // namespace

PerfettoSink::PerfettoSink(Write write) : write_(std::move(write)) {}

void PerfettoSink::process(const TimelineProcess& process) {
  std::string out;
  addPacket(out, [&](pbf_writer& packet) {
    packet.add_uint32(kSequenceId, kSequence);
    if (!std::exchange(has_begun_, true)) packet.add_uint32(kSequenceFlags, kStateCleared);
    pbf_writer descriptor(packet, kTrackDescriptor);
    descriptor.add_uint64(kUuid, uuidOfProcess(process.number));
    pbf_writer of_process(descriptor, kProcess);
    of_process.add_int32(kProcessPid, static_cast<std::int32_t>(process.pid));
    of_process.add_string(kProcessName, process.name);
  });
  write(out);
}

void PerfettoSink::track(const TimelineTrack& track) {
  std::string out;
  addPacket(out, [&](pbf_writer& packet) {
    packet.add_uint32(kSequenceId, kSequence);
    pbf_writer descriptor(packet, kTrackDescriptor);
    descriptor.add_uint64(kUuid, uuidOfTrack(track.number));
    descriptor.add_uint64(kParentUuid, uuidOfProcess(track.process));
    pbf_writer thread(descriptor, kThread);
    thread.add_int32(kThreadPid, static_cast<std::int32_t>(track.pid));
    thread.add_int32(kThreadTid, static_cast<std::int32_t>(track.tid));
    thread.add_string(kThreadName, track.name);
  });
  write(out);
  more_tracks_.clear();
}

std::uint64_t PerfettoSink::trackBeside(const TimelineTrack& track, std::int64_t start_ns,
                                        std::int64_t end_ns) {
  const auto free = std::ranges::find_if(more_tracks_, [&](auto end) { return end <= start_ns; });
  const auto number = static_cast<std::size_t>(free - more_tracks_.begin());
  const std::uint64_t uuid = uuidOfTrack(track.number, number + 1);
  if (free != more_tracks_.end()) {
    *free = end_ns;
    return uuid;
  }
  more_tracks_.push_back(end_ns);
  std::string out;
  addPacket(out, [&](pbf_writer& packet) {
    packet.add_uint32(kSequenceId, kSequence);
    pbf_writer descriptor(packet, kTrackDescriptor);
    descriptor.add_uint64(kUuid, uuid);
    descriptor.add_uint64(kParentUuid, uuidOfProcess(track.process));
    descriptor.add_string(kTrackName, track.name + ", at the same time");
  });
  write(out);
  return uuid;
}

// A name comes in the file before the first packet that uses its number.
std::uint64_t PerfettoSink::idOf(Interned kind, std::string_view name) {
  const auto which = static_cast<std::size_t>(kind);
  const auto added = ids_[which].try_emplace(std::string(name), ids_[which].size() + 1);
  const auto place = added.first;
  if (added.second) {
    std::string out;
    addPacket(out, [&](pbf_writer& packet) {
      packet.add_uint32(kSequenceId, kSequence);
      packet.add_uint32(kSequenceFlags, kNeedsState);
      pbf_writer interned(packet, kInternedData);
      pbf_writer entry(interned, kInternedField[which]);
      entry.add_uint64(kIid, place->second);
      entry.add_string(kInternedName, place->first);
    });
    write(out);
  }
  return place->second;
}

bool PerfettoSink::slice(const TimelineTrack& track, const event::Event& event, const Flows& flows,
                         std::int64_t start_ns, std::int64_t end_ns) {
  // Slices that began after it are inside of it.
  auto inside = pending_.end();
  while (inside != pending_.begin() && (inside - 1)->start_ns >= start_ns) --inside;
  const bool overlaps = inside != pending_.begin() && (inside - 1)->end_ns > start_ns;
  const std::uint64_t uuid =
      overlaps ? trackBeside(track, start_ns, end_ns) : uuidOfTrack(track.number);
  const std::uint64_t name = idOf(Interned::kName, event.row->name);
  const std::uint64_t category = idOf(Interned::kCategory, calls::className(event.row->call_class));
  const std::uint64_t received = flows.in.empty() ? 0 : idOf(Interned::kName, "message received");
  const std::vector<Argument> arguments = argumentsOf(event);
  std::vector<std::uint64_t> keys;
  for (const Argument& each : arguments) keys.push_back(idOf(Interned::kArgument, each.key));

  Pending slice{.start_ns = start_ns, .end_ns = end_ns, .packets = {}};
  addPacket(slice.packets, [&](pbf_writer& packet) {
    packet.add_uint64(kTimestamp, static_cast<std::uint64_t>(start_ns));
    packet.add_uint32(kSequenceId, kSequence);
    packet.add_uint32(kSequenceFlags, kNeedsState);
    pbf_writer of_event(packet, kTrackEvent);
    of_event.add_uint64(kCategoryIids, category);
    of_event.add_enum(kType, kSliceBegin);
    of_event.add_uint64(kNameIid, name);
    of_event.add_uint64(kTrackUuid, uuid);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      pbf_writer annotation(of_event, kAnnotations);
      annotation.add_uint64(kAnnotationNameIid, keys[i]);
      if (arguments[i].is_number) {
        annotation.add_int64(kIntValue, arguments[i].number);
      } else {
        annotation.add_string(kStringValue, arguments[i].text);
      }
    }
    for (const std::uint64_t flow : flows.out) of_event.add_fixed64(kFlowIds, flow);
  });
  // A receive often begins before its message is sent. An arrow leads forward in time: to its end.
  const auto end_flows = [&](std::string& out) {
    if (flows.in.empty()) return;
    addPacket(out, [&](pbf_writer& packet) {
      packet.add_uint64(kTimestamp, static_cast<std::uint64_t>(end_ns));
      packet.add_uint32(kSequenceId, kSequence);
      packet.add_uint32(kSequenceFlags, kNeedsState);
      pbf_writer of_event(packet, kTrackEvent);
      of_event.add_enum(kType, kInstant);
      of_event.add_uint64(kNameIid, received);
      of_event.add_uint64(kTrackUuid, uuid);
      for (const std::uint64_t flow : flows.in) of_event.add_fixed64(kTerminatingFlowIds, flow);
    });
  };
  if (overlaps) {
    end_flows(slice.packets);
    addEnd(slice.packets, uuid, end_ns);
    write(slice.packets);
    return goes_on_;
  }
  for (auto each = inside; each != pending_.end(); ++each) slice.packets += each->packets;
  pending_.erase(inside, pending_.end());
  end_flows(slice.packets);
  addEnd(slice.packets, uuid, end_ns);
  // Nothing that comes is around what came before a call of the application's own.
  if (event.depth == 0) flush();
  pending_.push_back(std::move(slice));
  return goes_on_;
}

void PerfettoSink::flush() {
  for (const Pending& each : pending_) write(each.packets);
  pending_.clear();
}

bool PerfettoSink::end(const TimelineTrack& /*track*/) {
  flush();
  return goes_on_;
}

}  // namespace omnio::report
