#include <fmt/format.h>

#include <array>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/log/log.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event_text.hpp"
#include "core/mpi/file_layout.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::cli {
namespace {

using base::JsonWriter;

void putArguments(JsonWriter& json, const event::Event& event) {
  for (const calls::Item& item : calls::layoutOf(*event.row)) {
    // These stand beside the arguments.
    if (item.kind == calls::ItemKind::kFd || item.kind == calls::ItemKind::kDepth) continue;
    if (item.kind == calls::ItemKind::kPieces) {
      json.put(item.key, event::pieceSizes(event));
    } else if (const auto text = event::textOf(event, item)) {
      json.put(item.key, base::printable(*text));
    } else if (const auto number = event::numberOf(event, item)) {
      json.put(item.key, *number);
    }
  }
}

}  // namespace

// A path is bytes, JSON is UTF-8: bytes that are none are written as \xHH.
void putEvent(JsonWriter& json, const event::Event& event, const EventOrigin& origin,
              const event::PathTable& paths) {
  json.put("rank", origin.rank);
  json.put("thread", origin.thread);
  json.put("pid", origin.pid);
  json.put("tid", origin.tid);
  json.put("start_ns", event.start_ns);
  json.put("end_ns", event.end_ns);
  json.put("call", event.row->name);
  json.put("class", calls::className(event.row->call_class));
  json.put("depth", event.depth);
  if (event.file != event::kNoFile) json.put("file", base::printable(paths.path(event.file)));
  if (event.fd() >= 0) json.put("fd", event.fd());
  json.object("args", [&] { putArguments(json, event); });
  if (const auto result = event::resultOf(event)) json.put("result", *result);
  if (event::countsBytes(*event.row)) json.put("bytes", event.bytes);
  const bool failed = event.failed && !event.endOfFile();
  json.put("failed", failed);
  if (event.endOfFile()) json.put("end_of_file", true);
  if (failed && event.row->result != calls::Result::kMpi) {
    std::string name;
    calls::appendErrno(name, event.result);
    json.put("errno", name);
  }
}

void putStack(JsonWriter& json, const event::Event& event) {
  if (event.stack == nullptr) return;
  json.object("stack", [&] {
    json.put("hash", fmt::format("{:016x}", event.stack->hash));
    json.list("frames", event.stack->frames,
              [&json](const event::StackFrame& frame) { json.value(event::textOf(frame)); });
  });
}

namespace {

// Pieces one by one up to so many, else as strides; of these no more than so many.
constexpr std::int64_t kMostPieces = 16;
constexpr std::size_t kMostStrides = 256;

std::uint64_t tickOf(const event::Event& event) {
  return static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kTick));
}

void putHints(JsonWriter& json, std::string_view name, const std::string& hints) {
  json.object(name, [&] {
    for (const auto part : std::views::split(hints, wire::info::kBetweenHints)) {
      const std::string_view hint(part.begin(), part.end());
      const std::size_t equals = hint.find('=');
      if (equals == hint.npos) continue;
      json.put(base::printable(hint.substr(0, equals)), base::printable(hint.substr(equals + 1)));
    }
  });
}

void putLayout(JsonWriter& json, const mpi::FileLayout& layout) {
  json.put("file_system", layout.file_system);
  json.put("block_bytes", layout.block_bytes);
  if (layout.components.empty()) return;
  json.list("components", layout.components, [&](const mpi::LayoutComponent& component) {
    json.object([&] {
      const bool has_end = component.end != ~std::uint64_t{0};
      json.put("begin", component.begin);
      json.put("end", has_end ? std::optional(component.end) : std::nullopt);
      json.put("stripe_bytes", component.stripe_bytes);
      json.put("stripes", component.stripes);
      json.put("pool", base::printable(component.pool));
      json.put("targets", component.targets);
    });
  });
}

// Writes the hints and the layout that the trace recorded when the file was opened.
void putFileFacts(JsonWriter& json, const tracefile::ProcessInfo& info, const event::Event& event) {
  if (event.row->call_class != calls::Class::kOpen || event.failed || event.handle == nullptr) {
    return;
  }
  const std::string number = std::to_string(event.handle->definition.handle);
  const std::string& given = info.text(wire::info::kHintsPrefix + number + ".given");
  const std::string& used = info.text(wire::info::kHintsPrefix + number + ".used");
  const std::optional<mpi::FileLayout> layout =
      mpi::parseFileLayout(info.text(wire::info::kLayoutPrefix + number));
  if (given.empty() && used.empty() && !layout) return;
  json.object("hints", [&] {
    putHints(json, "given", given);
    putHints(json, "used", used);
  });
  if (layout) json.object("layout", [&] { putLayout(json, *layout); });
}

}  // namespace

MpiIoJson::MpiIoJson(const tracefile::Trace& trace) : shared_(*trace.processesOf(std::nullopt)) {}

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
    events.addLog<tracefile::LogReader>(process, log, paths);
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

void MpiIoJson::put(JsonWriter& json, const tracefile::Process& process,
                    const event::Event& event) {
  if (event.depth > 0) {
    in(process).offsets.takeBelow(event);
    return;
  }
  if (event.row->api != calls::Api::kMpi) return;
  putFileFacts(json, process.info, event);
  InProcess& mine = in(process);
  if (!mine.known.empty()) {
    const auto found = mine.known.find(tickOf(event));
    if (found == mine.known.end() || event.failed || !event::countsBytes(*event.row)) return;
    mpi::MpiFileOffsets::Placed placed = found->second.placed;
    placed.file = &found->second.file;
    putAccess(json, process, event, placed);
  } else if (const auto placed = mine.offsets.take(event); placed && !event.failed) {
    putAccess(json, process, event, *placed);
  }
}

void MpiIoJson::putAccess(JsonWriter& json, const tracefile::Process& process,
                          const event::Event& event, const mpi::MpiFileOffsets::Placed& placed) {
  const auto bytes = static_cast<std::int64_t>(event.bytes);
  const mpi::MpiAccess access =
      mpi::accessOf(placed, shared_.find(process, tickOf(event)), bytes, kMostStrides);
  if (access.etypes) json.put("view_offset", *access.etypes);
  if (access.etype_count) json.put("etypes", *access.etype_count);
  if (!access.begin) return;
  json.put("file_offset", *access.begin);
  if (access.pieces.empty()) return;
  std::int64_t count = 0;
  std::int64_t told = 0;
  for (const mpi::Stride& stride : access.pieces) {
    count += stride.count;
    told += stride.bytes * stride.count;
  }
  if (count <= kMostPieces) {
    json.list("pieces", access.pieces, [&json](const mpi::Stride& stride) {
      for (std::int64_t i = 0; i < stride.count; ++i) {
        json.value(std::array{stride.first + i * stride.stride, stride.bytes});
      }
    });
  } else {
    json.list("strides", access.pieces, [&json](const mpi::Stride& stride) {
      json.value(std::array{stride.first, stride.bytes, stride.stride, stride.count});
    });
  }
  if (!access.is_whole) json.put("bytes_left_out", bytes - told);
}

}  // namespace omnio::cli
