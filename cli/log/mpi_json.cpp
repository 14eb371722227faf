#include "cli/log/mpi_json.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "cli/log/mpi_listing.hpp"
#include "core/base/printable.hpp"
#include "core/mpi/file_layout.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::cli {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

// Pieces one by one up to so many, else as strides; of these no more than so many.
constexpr std::int64_t kMostPieces = 16;
constexpr std::size_t kMostStrides = 256;

std::uint64_t tickOf(const event::Event& event) {
  return static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kTick));
}

std::vector<const tracefile::Process*> allOf(const tracefile::Trace& trace) {
  std::vector<const tracefile::Process*> processes;
  for (const auto& process : trace.processes()) processes.push_back(process.get());
  return processes;
}

void appendPieces(std::string& out, const std::vector<mpi::Stride>& strides) {
  out += ",\"pieces\":[";
  const char* comma = "";
  for (const mpi::Stride& stride : strides) {
    for (std::int64_t i = 0; i < stride.count; ++i) {
      fmt::format_to(std::back_inserter(out), "{}[{},{}]", comma, stride.first + i * stride.stride,
                     stride.bytes);
      comma = ",";
    }
  }
  out += ']';
}

void appendStrides(std::string& out, const std::vector<mpi::Stride>& strides) {
  out += ",\"strides\":[";
  const char* comma = "";
  for (const mpi::Stride& stride : strides) {
    fmt::format_to(std::back_inserter(out), "{}[{},{},{},{}]", comma, stride.first, stride.bytes,
                   stride.stride, stride.count);
    comma = ",";
  }
  out += ']';
}

void writeHints(Writer& json, const std::string& hints) {
  json.StartObject();
  std::string_view rest = hints;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\x01');
    const std::string_view hint = rest.substr(0, end);
    const std::size_t equals = hint.find('=');
    if (equals != hint.npos) {
      json.Key(base::printable(hint.substr(0, equals)).c_str());
      json.String(base::printable(hint.substr(equals + 1)).c_str());
    }
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  json.EndObject();
}

void writeLayout(Writer& json, const mpi::FileLayout& layout) {
  json.StartObject();
  json.Key("file_system");
  json.String(layout.file_system.c_str());
  json.Key("block_bytes");
  json.Uint64(layout.block_bytes);
  if (!layout.components.empty()) {
    json.Key("components");
    json.StartArray();
    for (const mpi::LayoutComponent& component : layout.components) {
      json.StartObject();
      json.Key("begin");
      json.Uint64(component.begin);
      json.Key("end");
      if (component.end == ~std::uint64_t{0}) {
        json.Null();
      } else {
        json.Uint64(component.end);
      }
      json.Key("stripe_bytes");
      json.Uint64(component.stripe_bytes);
      json.Key("stripes");
      json.Uint(component.stripes);
      json.Key("pool");
      json.String(base::printable(component.pool).c_str());
      json.Key("targets");
      json.StartArray();
      for (const std::uint32_t target : component.targets) json.Uint(target);
      json.EndArray();
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

// Adds the hints and the layout that the trace recorded when the file was opened.
void appendFileFacts(std::string& out, const tracefile::ProcessInfo& info,
                     const event::Event& event) {
  if (event.row->call_class != calls::Class::kOpen || event.failed || event.handle == nullptr) {
    return;
  }
  const std::string number = std::to_string(event.handle->definition.handle);
  const std::string& given = info.text(wire::info::kHintsPrefix + number + ".given");
  const std::string& used = info.text(wire::info::kHintsPrefix + number + ".used");
  const std::optional<mpi::FileLayout> layout =
      mpi::parseFileLayout(info.text(wire::info::kLayoutPrefix + number));
  if (given.empty() && used.empty() && !layout) return;
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  json.Key("hints");
  json.StartObject();
  json.Key("given");
  writeHints(json, given);
  json.Key("used");
  writeHints(json, used);
  json.EndObject();
  if (layout) {
    json.Key("layout");
    writeLayout(json, *layout);
  }
  json.EndObject();
  // Members of the event's own object.
  out += ',';
  out.append(buffer.GetString() + 1, buffer.GetSize() - 2);
}

}  // namespace

MpiIoJson::MpiIoJson(const tracefile::Trace& trace) : shared_(allOf(trace)) {}

MpiIoJson::InProcess& MpiIoJson::in(const tracefile::Process& process) {
  std::unique_ptr<InProcess>& place = processes_[&process];
  if (place) return *place;
  place = std::make_unique<InProcess>(process.info);
  std::set<std::uint32_t> threads;
  for (const tracefile::Log& log : process.logs) threads.insert(log.thread);
  if (threads.size() < 2) return *place;
  threads.clear();
  event::PathTable paths;
  tracefile::MergedReader events;
  for (const tracefile::Log& log : process.logs) {
    events.add(std::make_unique<tracefile::LogReader>(process, log, paths));
  }
  mpi::MpiFileOffsets offsets(process.info);
  while (const event::Event* event = events.next()) {
    if (event->depth > 0) offsets.takeBelow(*event);
    if (event->row->api != calls::Api::kMpi || event->depth > 0) continue;
    const std::optional<mpi::MpiFileOffsets::Placed> placed = offsets.take(*event);
    if (!placed) continue;
    threads.insert(process.logs[events.source()].thread);
    place->known.insert_or_assign(tickOf(*event), Known{*placed, *placed->file});
  }
  if (threads.size() < 2) place->known.clear();
  return *place;
}

void MpiIoJson::append(std::string& out, const tracefile::Process& process,
                       const event::Event& event) {
  if (event.depth > 0) {
    in(process).offsets.takeBelow(event);
    return;
  }
  if (event.row->api != calls::Api::kMpi) return;
  appendFileFacts(out, process.info, event);
  InProcess& mine = in(process);
  if (!mine.known.empty()) {
    const auto found = mine.known.find(tickOf(event));
    if (found == mine.known.end() || event.failed || !event::countsBytes(*event.row)) return;
    mpi::MpiFileOffsets::Placed placed = found->second.placed;
    placed.file = &found->second.file;
    appendAccess(out, process, event, placed);
  } else if (const auto placed = mine.offsets.take(event); placed && !event.failed) {
    appendAccess(out, process, event, *placed);
  }
}

void MpiIoJson::appendAccess(std::string& out, const tracefile::Process& process,
                             const event::Event& event, const mpi::MpiFileOffsets::Placed& placed) {
  const auto bytes = static_cast<std::int64_t>(event.bytes);
  const mpi::MpiAccess access =
      mpi::accessOf(placed, shared_.find(process, tickOf(event)), bytes, kMostStrides);
  if (access.etypes) fmt::format_to(std::back_inserter(out), ",\"view_offset\":{}", *access.etypes);
  if (access.etype_count) {
    fmt::format_to(std::back_inserter(out), ",\"etypes\":{}", *access.etype_count);
  }
  if (!access.begin) return;
  fmt::format_to(std::back_inserter(out), ",\"file_offset\":{}", *access.begin);
  if (access.pieces.empty()) return;
  std::int64_t count = 0;
  std::int64_t told = 0;
  for (const mpi::Stride& stride : access.pieces) {
    count += stride.count;
    told += stride.bytes * stride.count;
  }
  if (count <= kMostPieces) {
    appendPieces(out, access.pieces);
  } else {
    appendStrides(out, access.pieces);
  }
  if (!access.is_whole) {
    fmt::format_to(std::back_inserter(out), ",\"bytes_left_out\":{}", bytes - told);
  }
}

namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void text(Writer& out, std::string_view value) {
  out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void rank(Writer& out, std::optional<int> value) {
  if (value) {
    out.Int(*value);
  } else {
    out.Null();
  }
}

void writeGroup(Writer& out, const mpi::OwnGroup& own, const mpi::MpiGroups& groups) {
  const mpi::RankGroup& group = groups.group(own.group);
  out.Key("comm");
  out.StartObject();
  out.Key("id");
  text(out, group.id);
  out.Key("kind");
  text(out, group.kind);
  out.Key("size");
  out.Int(group.size[own.side]);
  if (group.hasSides()) {
    out.Key("remote");
    out.Int(group.size[1 - own.side]);
  }
  out.EndObject();
}

void writeEvent(Writer& out, const order::MpiEventRef& event, const MpiNames& names) {
  out.StartObject();
  out.Key("rank");
  rank(out, names.rankOf(event.process));
  out.Key("thread");
  out.Uint(event.thread);
  out.Key("event");
  out.Uint64(event.number);
  out.Key("start_ns");
  out.Int64(event.start_ns);
  out.Key("call");
  text(out, event.row->name);
  out.EndObject();
}

void writeCounterparts(Writer& out, std::span<const order::MpiEventRef> events,
                       const MpiNames& names) {
  out.Key("counterparts");
  out.StartArray();
  for (const order::MpiEventRef& event : events) writeEvent(out, event, names);
  out.EndArray();
}

void writeMessage(Writer& out, const order::MpiOperation& operation, mpi::ProcessIndex process,
                  const MpiNames& names, bool of_exchange) {
  out.Key(of_exchange ? "source" : "peer");
  rank(out, names.peerOf(operation, process));
  out.Key(of_exchange ? "source_seq" : "seq");
  out.Uint64(operation.seq);
}

void writeRequest(Writer& out, const order::EventPart& part, mpi::ProcessIndex process,
                  const MpiNames& names) {
  const order::MpiOperation& operation = *part.operation;
  out.StartObject();
  if (operation.request != 0) {
    out.Key("request");
    out.Uint64(operation.request);
  }
  out.Key("kind");
  text(out, nameOf(operation.kind));
  if (operation.started.row != nullptr && part.part != order::Part::kBegun) {
    out.Key("started");
    writeEvent(out, operation.started, names);
  }
  if (operation.own != nullptr) writeGroup(out, *operation.own, names.groups());
  if (isMessage(operation)) {
    writeMessage(out, operation, process, names, false);
    out.Key("tag");
    out.Int(operation.tag);
    out.Key("bytes");
    out.Uint64(operation.bytes);
  } else if (operation.kind != order::OperationKind::kLocal) {
    if (operation.kind != order::OperationKind::kCollective) {
      out.Key("peer");
      rank(out, names.peerOf(operation, process));
    }
    out.Key("seq");
    out.Uint64(operation.seq);
  }
  out.Key("match");
  text(out, order::wordsOf(operation.match));
  const Listing listing = listingOf(operation, process);
  if (listing.came > 0) {
    out.Key("members");
    out.Uint64(listing.came);
  }
  writeCounterparts(out, listing.events, names);
  out.EndObject();
}

// Members for a JSON object whose beginning is already written.
class Members {
 public:
  Members() : json(buffer_) { json.StartObject(); }
  rapidjson::StringBuffer buffer_;
  Writer json;

  // With a comma before them; without the brace that began it.
  void appendTo(std::string& out) const {
    const std::string_view written(buffer_.GetString(), buffer_.GetSize());
    if (written.size() <= 1) return;
    out += ',';
    out += written.substr(1);
  }
};

void writeCount(Writer& out, const order::MpiCounts::Of& counts) {
  out.StartObject();
  out.Key("count");
  out.Uint64(counts.all);
  out.Key("matched");
  out.Uint64(counts.matched());
  out.Key("needs_none");
  out.Uint64(counts.by_match[static_cast<std::size_t>(order::Match::kNobody)]);
  out.Key("cancelled");
  out.Uint64(counts.by_match[static_cast<std::size_t>(order::Match::kCancelled)]);
  out.Key("unmatched");
  out.Uint64(counts.unmatched());
  if (counts.unmatched() > 0) {
    out.Key("reasons");
    out.StartObject();
    for (std::size_t i = 0; i < counts.by_match.size(); ++i) {
      const auto match = static_cast<order::Match>(i);
      if (!order::isUnmatched(match) || counts.by_match[i] == 0) continue;
      const std::string_view words = order::wordsOf(match);
      out.Key(words.data(), static_cast<rapidjson::SizeType>(words.size()));
      out.Uint64(counts.by_match[i]);
    }
    out.EndObject();
  }
  out.EndObject();
}

}  // namespace

void appendMpiJsonSeen(std::string& out, const event::Event& event, const order::MpiEventRef& ref,
                       const MpiNames& names) {
  Members members;
  members.json.Key("event");
  members.json.Uint64(ref.number);
  const auto group = static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kComm));
  const mpi::OwnGroup* own = names.groups().own(ref.process, group);
  if (own != nullptr) writeGroup(members.json, *own, names.groups());
  members.appendTo(out);
}

void appendMpiJsonSettled(std::string& out, const order::MatchedEvent& event,
                          const MpiNames& names) {
  Members members;
  Writer& json = members.json;
  const mpi::ProcessIndex process = event.event.process;
  const bool is_list = isList(event);
  if (!is_list) {
    bool sends = false;
    std::vector<order::MpiEventRef> all;
    for (const order::EventPart& part : event.parts) {
      const order::MpiOperation& operation = *part.operation;
      if (isMessage(operation)) {
        writeMessage(json, operation, process, names, sends && isReceive(operation));
        sends = sends || !isReceive(operation);
      } else if (operation.kind == order::OperationKind::kCollective) {
        json.Key("seq");
        json.Uint64(operation.seq);
        if (calls::has(*event.event.row, calls::Role::kRoot)) {
          json.Key("root");
          rank(json, names.rootOf(operation, process));
        }
      }
      const Listing listing = listingOf(operation, process);
      if (listing.came > 0) {
        json.Key("members");
        json.Uint64(listing.came);
      }
      all.insert(all.end(), listing.events.begin(), listing.events.end());
    }
    if (ordersRanks(event)) writeCounterparts(json, all, names);
  } else {
    json.Key("requests");
    json.StartArray();
    for (const order::EventPart& part : event.parts) writeRequest(json, part, process, names);
    json.EndArray();
  }
  json.Key("matched");
  json.Bool(event.matched());
  if (!event.matched()) {
    json.Key("unmatched");
    text(json, reasonOf(event));
  }
  json.Key("waited_ns");
  if (event.waited_ns) {
    json.Int64(*event.waited_ns);
  } else {
    json.Null();
  }
  json.Key("own_ns");
  if (const auto own = event.own_ns()) {
    json.Int64(*own);
  } else {
    json.Null();
  }
  if (event.late != mpi::kNoProcess) {
    json.Key("late");
    rank(json, names.rankOf(event.late));
  }
  members.appendTo(out);
  out += "}\n";
}

void appendMpiJsonSummary(std::string& out, const order::MpiPictureEnd& end, std::uint64_t behind) {
  rapidjson::StringBuffer buffer;
  Writer json(buffer);
  json.StartObject();
  json.Key("summary");
  json.StartObject();
  json.Key("events");
  json.Uint64(end.counts.events);
  json.Key("unmatched");
  json.Uint64(end.counts.unmatched);
  json.Key("sends");
  writeCount(json, end.counts.sends);
  json.Key("receives");
  writeCount(json, end.counts.receives);
  json.Key("probes");
  writeCount(json, end.counts.probes);
  json.Key("collectives");
  json.StartObject();
  for (const auto& [name, counts] : end.counts.collectives) {
    json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    writeCount(json, counts);
  }
  json.EndObject();
  json.Key("epochs");
  writeCount(json, end.counts.epochs);
  json.Key("missing_events");
  json.Uint64(end.missing);
  json.Key("behind_later");
  json.Uint64(behind);
  json.EndObject();
  json.EndObject();
  out.append(buffer.GetString(), buffer.GetSize());
  out += '\n';
}

}  // namespace omnio::cli
