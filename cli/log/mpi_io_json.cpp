#include "cli/log/mpi_io_json.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <iterator>
#include <set>
#include <string_view>
#include <vector>

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

// What was told of the file when it was opened.
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

}  // namespace omnio::cli
