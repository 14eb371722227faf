#include "report/page_data.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/wire/info.hpp"
#include "phase_model/phase_table.hpp"
#include "report/global_pattern.hpp"

namespace omnio::report {
namespace {

using base::JsonWriter;
using stats::Group;

// RFC 4648, section 4.
std::string base64(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < there ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= there ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

// The square root lets short times be seen beside long ones.
std::uint8_t shade(std::uint64_t ns, double most_ns) {
  if (ns == 0) return 0;
  const double part = std::min(1.0, static_cast<double>(ns) / most_ns);
  return static_cast<std::uint8_t>(std::max(1L, std::lround(255 * std::sqrt(part))));
}

std::size_t binsOf(const Activity& activity) {
  const std::int64_t run_ns = activity.end_ns - activity.start_ns;
  if (run_ns <= 0) return activity.rows.empty() ? 0 : 1;
  // The end of the last call may be that of the last bin.
  return static_cast<std::size_t>(
      std::min<std::int64_t>(run_ns / activity.binNs() + 1, TimeBins::kMostBins));
}

void putActivity(JsonWriter& json, const Activity& activity) {
  const std::size_t bins = binsOf(activity);
  json.object("time", [&] {
    json.put("bins", bins);
    json.put("bin_ns", activity.binNs());
  });
  const auto padded = [bins](const TimeBins& sums) {
    std::vector<std::uint64_t> row = sums.row(0);
    row.resize(bins);
    return row;
  };
  json.object("bandwidth", [&] {
    json.put("read_bytes", padded(activity.read_bytes));
    json.put("written_bytes", padded(activity.written_bytes));
  });
  json.list("rows", activity.rows,
            [&](const std::string& name) { json.object([&] { json.put("name", name); }); });
  json.put("row_threads", activity.most_lanes);
  json.object("activity", [&] {
    const double most_ns =
        static_cast<double>(activity.binNs()) * static_cast<double>(activity.most_lanes);
    for (const auto& [kind, name] : kActivityKinds) {
      std::vector<std::uint8_t> shades(activity.rows.size() * bins);
      for (std::size_t row = 0; row < activity.rows.size(); ++row) {
        const std::vector<std::uint64_t>& sums =
            activity.time[static_cast<std::size_t>(kind)].row(row);
        for (std::size_t bin = 0; bin < std::min(bins, sums.size()); ++bin) {
          shades[row * bins + bin] = shade(sums[bin], most_ns);
        }
      }
      json.put(name, base64(shades));
    }
  });
}

std::uint64_t bytesRead(const Group& group) { return group.read.size_bytes.total; }
std::uint64_t bytesWritten(const Group& group) { return group.write.size_bytes.total; }
std::uint64_t callsOf(const Group& group) { return group.events(); }

// The class of a group of one call.
calls::Class classOf(const Group& call) {
  const auto used =
      std::ranges::find_if(call.times_ns, [](const auto& of) { return of.count > 0; });
  return static_cast<calls::Class>(used - call.times_ns.begin());
}

void putCalls(JsonWriter& json, const stats::Report& by_call) {
  json.list("calls", by_call.groups, [&](const Group& call) {
    const stats::Summary& time =
        classOf(call) == calls::Class::kMpiSync ? call.mpi_sync_ns : call.time_ns;
    const stats::Transfer& moved = classOf(call) == calls::Class::kRead ? call.read : call.write;
    const auto rate = [&](double mib_s) {
      return moved.most_mib_s > 0 ? std::optional(mib_s) : std::nullopt;
    };
    const auto size = [&](double bytes) {
      return moved.size_bytes.count > 0 ? std::optional(bytes) : std::nullopt;
    };
    json.object([&] {
      json.put("name", call.name);
      json.put("class", calls::className(classOf(call)));
      json.put("count", callsOf(call));
      json.put("failed", call.failed + call.mpi_sync_failed);
      json.put("bytes", bytesRead(call) + bytesWritten(call));
      json.put("time_ns", time.total);
      json.put("p50_ns", time.quantile(0.5));
      json.put("p99_ns", time.quantile(0.99));
      json.put("min_ns", time.least);
      json.put("average_ns", time.average());
      json.put("max_ns", time.most);
      json.put("average_bytes", size(moved.size_bytes.average()));
      json.put("deviation_bytes", size(moved.size_bytes.moments.deviation()));
      json.put("min_mib_s", rate(moved.least_mib_s));
      json.put("average_mib_s", rate(moved.bandwidthMibS()));
      json.put("max_mib_s", rate(moved.most_mib_s));
    });
  });
}

// In JSON within HTML, where "<" becomes \u003c.
std::size_t bytesInPage(std::string_view text) {
  constexpr std::size_t kEscaped = 6;
  std::size_t bytes = 0;
  for (const char c : text) bytes += c == '<' ? kEscaped : c == '"' || c == '\\' ? 2 : 1;
  return bytes;
}

// Its beginning and its end, where it is long.
std::string shortened(std::string text, std::size_t most = kMostTextBytes) {
  if (bytesInPage(text) <= most) return text;
  const auto isWithin = [](unsigned char c) { return (c & 0xC0) == 0x80; };  // a character of UTF-8
  std::size_t half = std::min(text.size(), most) / 2;
  while (bytesInPage(text.substr(0, half)) + bytesInPage(text.substr(text.size() - half)) > most) {
    --half;
  }
  std::size_t end = half;
  std::size_t begin = text.size() - half;
  while (end > 0 && isWithin(static_cast<unsigned char>(text[end]))) --end;
  while (begin < text.size() && isWithin(static_cast<unsigned char>(text[begin]))) ++begin;
  return text.substr(0, end) + "..." + text.substr(begin);
}

bool isFile(const Group& group) { return group.name != stats::kNoFileName; }

std::size_t filesOf(const stats::Report& by_file) {
  return static_cast<std::size_t>(std::ranges::count_if(by_file.groups, isFile));
}

// Shares are null where no request tells.
void putPattern(JsonWriter& json, const stats::AccessPattern& pattern) {
  stats::AccessPattern::Way all = pattern.read;
  all.add(pattern.write);
  const auto share = [](std::uint64_t part, std::uint64_t whole) -> std::optional<double> {
    if (whole == 0) return {};
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  json.put("requests", all.placed + all.unplaced);
  json.put("consecutive", share(all.consecutive, all.follows()));
  json.put("sequential", share(all.sequential(), all.follows()));
  json.put("misaligned", share(all.misaligned, all.checked));
  json.put("switches", pattern.switches);
  json.put("read_back", pattern.read_back);
  json.put("read_again_bytes", pattern.rereadByAny());
}

void putFiles(JsonWriter& json, const stats::Report& by_file) {
  std::vector<const Group*> files;
  std::size_t name_bytes = 0;
  for (const Group& group : by_file.groups) {
    if (!isFile(group)) continue;
    name_bytes += bytesInPage(group.name);
    if (files.size() == kMostFiles || name_bytes > kMostNameBytes) break;
    files.push_back(&group);
  }
  json.list("files", files, [&](const Group* file) {
    const std::uint64_t moving_ns = file->read.time_ns.total + file->write.time_ns.total;
    json.object([&] {
      json.put("name", file->name);
      json.put("reads", file->read.time_ns.count);
      json.put("writes", file->write.time_ns.count);
      json.put("metadata",
               file->time_ns.count - file->read.time_ns.count - file->write.time_ns.count);
      json.put("bytes_read", bytesRead(*file));
      json.put("bytes_written", bytesWritten(*file));
      json.put("time_ns", file->time_ns.total);
      json.put("metadata_ns", file->time_ns.total - moving_ns);
      json.put("failed", file->failed);
      json.put("ranks", file->ranks);
      putPattern(json, file->pattern);
    });
  });
  json.put("files_left_out", filesOf(by_file) - files.size());
}

std::map<std::string, std::string> hostsOfRanks(const tracefile::Trace& trace) {
  std::map<std::string, std::string> hosts;
  for (const auto& process : trace.processes()) {
    if (const auto rank = trace.rankOf(*process)) {
      hosts.try_emplace(fmt::format("{}", *rank),
                        base::printable(process->info.text(wire::info::kHost)));
    }
  }
  return hosts;
}

// Ranks, or many of them side by side: counts are sums, times those of the slowest.
void putRanks(JsonWriter& json, const tracefile::Trace& trace, const stats::Report& by_rank) {
  std::map<std::string, stats::RankTime> times;
  for (const stats::RankTime& rank : by_rank.ranks) times[fmt::format("{}", rank.rank)] = rank;
  const std::map<std::string, std::string> hosts = hostsOfRanks(trace);
  const std::size_t each = (by_rank.groups.size() + kMostRows - 1) / kMostRows;
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < by_rank.groups.size(); i += each) firsts.push_back(i);
  json.list("ranks", firsts, [&](std::size_t first) {
    const std::size_t end = std::min(first + each, by_rank.groups.size());
    const Group& head = by_rank.groups[first];
    std::uint64_t calls = 0;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
    stats::RankTime slowest;
    for (std::size_t i = first; i < end; ++i) {
      const Group& group = by_rank.groups[i];
      calls += callsOf(group);
      read += bytesRead(group);
      written += bytesWritten(group);
      const stats::RankTime& time = times[group.name];
      if (i == first || time.io.total() > slowest.io.total()) slowest = time;
    }
    const auto host = hosts.find(head.name);
    json.object([&] {
      json.put("name", end - first == 1 ? fmt::format("rank {}", head.name)
                                        : fmt::format("ranks {} to {}", head.name,
                                                      by_rank.groups[end - 1].name));
      json.put("host", host == hosts.end() ? std::string() : host->second);
      json.put("calls", calls);
      json.put("bytes_read", read);
      json.put("bytes_written", written);
      json.put("data_ns", slowest.io.data_ns);
      json.put("metadata_ns", slowest.io.metadata_ns);
      json.put("sync_ns", slowest.io.sync_ns);
      json.put("waiting_ns", slowest.io.waiting_ns);
      json.put("run_ns", slowest.run_ns);
    });
  });
}

void putHistogram(JsonWriter& json, std::string_view name, const stats::Histogram& histogram) {
  json.list(name, histogram.powersOfTwo(), [&](const stats::Histogram::Bin& bin) {
    json.value(std::vector<std::uint64_t>{bin.from, bin.to, bin.count});
  });
}

void putHistograms(JsonWriter& json, const PageData& data) {
  const Group& total = data.by_call.total;
  const CallTimes times = timesOfCalls(data.by_call);
  json.object("sizes", [&] {
    putHistogram(json, "read", total.read.size_bytes.histogram);
    putHistogram(json, "write", total.write.size_bytes.histogram);
  });
  json.object("times", [&] {
    putHistogram(json, "read", times.read);
    putHistogram(json, "write", times.write);
    putHistogram(json, "metadata", times.metadata);
    putHistogram(json, "sync", times.sync);
  });
}

void putPhases(JsonWriter& json, const PageData& data) {
  const model::PhaseModel& model = data.phases;
  std::vector<const model::Phase*> shown;
  for (const model::Phase& phase : model.phases) {
    if (shown.size() < kMostPhases) shown.push_back(&phase);
  }
  json.list("phases", shown, [&](const model::Phase* phase) {
    const model::ModelFile& file = model.files[static_cast<std::size_t>(phase->file)];
    const int sharers = phase->ranks.size() > 1 && file.shared ? model.processes : 1;
    const phases::Series alone = {phase};
    std::vector<std::string> operations;
    std::vector<std::string> offsets;
    std::vector<std::string> calls;
    for (const auto& [name, count] : phase->calls)
      calls.push_back(fmt::format("{} {}", count, name));
    if (phase->isMetadata()) operations.emplace_back(model::kMetadataName);
    for (std::size_t i = 0; i < phase->operations.size(); ++i) {
      operations.emplace_back(model::nameOf(phase->operations[i].operation));
      offsets.push_back(phases::offsetText(alone, i, sharers));
    }
    const auto again = std::ranges::unique(offsets);
    offsets.erase(again.begin(), again.end());
    json.object([&] {
      json.put("id", phase->id);
      json.put("start_ns", phase->begin_ns);
      json.put("end_ns", phase->end_ns);
      json.put("operation", shortened(fmt::format("{}", fmt::join(operations, ", "))));
      json.put("file", shortened(file.path));
      json.put("ranks", phase->ranks.size());
      if (phase->isMetadata()) {
        json.put("weight_operations", phase->metadata.operations);
        json.put("directories", phase->metadata.directories);
        json.put("calls", shortened(fmt::format("{}", fmt::join(calls, ", "))));
      } else {
        json.put("repetitions", phase->operations.front().repetitions);
        json.put("request_bytes", phase->operations.front().request_bytes);
        json.put("weight_bytes", phase->weight_bytes);
        json.put("pattern", model::nameOf(phase->mode));
        json.put("offset", shortened(fmt::format("{}", fmt::join(offsets, "; "))));
      }
      json.put("io_ns", phase->io.total());
    });
  });
  json.put("phases_left_out", model.phases.size() - shown.size());
  json.put("phases_missing", data.no_phases);
}

// The picture of the global access pattern, and the local patterns that it shows.
void putGlobalPattern(JsonWriter& json, const PageData& data) {
  const base::Result<std::string> svg =
      data.no_phases.empty() ? globalPatternOf(data.phases)
                             : base::failure(base::Code::kEmpty, "{}", data.no_phases);
  json.object("global_pattern", [&] {
    json.put("svg", svg ? *svg : std::string());
    json.put("missing", svg ? std::string() : base::safeText(svg.failure().sentence));
    if (!svg) return;
    std::vector<phases::LocalPattern> patterns =
        phases::localPatternsOf(data.phases, phases::Together::kSimilar);
    const std::size_t shown = std::min(patterns.size(), kMostPhases);
    json.put("patterns_left_out", patterns.size() - shown);
    patterns.resize(shown);
    std::vector<std::vector<std::string>> rows = phases::localPatternRows(patterns);
    for (std::vector<std::string>& row : rows) {
      for (std::string& text : row) text = shortened(text);
    }
    json.put("patterns", rows);
  });
}

// A plane as the page has it.
struct PackedPlane {
  OffsetPlane plane;
  std::uint64_t unit_bytes = 1;
  std::string read = {};
  std::string write = {};

  void pack() {
    unit_bytes = unitOf(plane);
    read = cellsOf(plane, false, unit_bytes);
    write = cellsOf(plane, true, unit_bytes);
  }
  std::size_t size() const { return (read.size() + 2) / 3 * 4 + (write.size() + 2) / 3 * 4; }
};

// All planes within kMostOffsetBytes: the largest ones get coarser cells until they fit.
std::vector<PackedPlane> packed(const std::vector<FileOffsets>& files) {
  std::vector<PackedPlane> planes;
  std::size_t total = 0;
  for (const FileOffsets& file : files) {
    planes.push_back({.plane = file.plane});
    planes.back().pack();
    total += planes.back().size();
  }
  while (total > kMostOffsetBytes) {
    PackedPlane& largest = *std::ranges::max_element(planes, {}, &PackedPlane::size);
    total -= largest.size();
    if (largest.plane.rows() * 2 >= largest.plane.bins()) {
      largest.plane.halveRows();
    } else {
      largest.plane.halveBins();
    }
    largest.pack();
    total += largest.size();
  }
  return planes;
}

std::string base64(const std::string& bytes) {
  return base64({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

void putOffsets(JsonWriter& json, const PageData& data) {
  const std::vector<FileOffsets>& files = data.activity.offsets;
  const std::vector<PackedPlane> planes = packed(files);
  std::size_t number = 0;
  json.list("offsets", files, [&](const FileOffsets& file) {
    const PackedPlane& packed_plane = planes[number++];
    std::vector<int> phases;
    for (const model::Phase* phase : phasesOf(data.phases, file.name)) {
      if (phases.size() < kMostPhases) phases.push_back(phase->id);
    }
    json.object([&] {
      json.put("name", shortened(file.name, kMostPathBytes));
      json.put("bytes_read", file.bytes_read);
      json.put("bytes_written", file.bytes_written);
      json.put("unplaced_reads", file.unplaced_read.calls);
      json.put("unplaced_bytes_read", file.unplaced_read.bytes);
      json.put("unplaced_writes", file.unplaced_write.calls);
      json.put("unplaced_bytes_written", file.unplaced_write.bytes);
      json.put("bins", packed_plane.plane.bins());
      json.put("bin_ns", packed_plane.plane.binNs());
      json.put("rows", packed_plane.plane.rows());
      json.put("row_bytes", packed_plane.plane.rowBytes());
      json.put("unit_bytes", packed_plane.unit_bytes);
      json.put("read", base64(packed_plane.read));
      json.put("write", base64(packed_plane.write));
      json.put("phases", phases);
    });
  });
  const auto moved_bytes = std::ranges::count_if(data.by_file.groups, [](const Group& group) {
    return isFile(group) && bytesRead(group) + bytesWritten(group) > 0;
  });
  json.put("offsets_left_out",
           std::max<std::ptrdiff_t>(0, moved_bytes - static_cast<std::ptrdiff_t>(files.size())));
  json.put("users", data.activity.has_ranks ? "rank" : "process");
}

using Processes = std::vector<const tracefile::Process*>;

void putHosts(JsonWriter& json, const tracefile::Trace& trace, const Processes& processes) {
  std::map<std::string, std::set<int>> ranks;
  for (const tracefile::Process* process : processes) {
    std::set<int>& of_host = ranks[base::printable(process->info.text(wire::info::kHost))];
    if (const auto rank = trace.rankOf(*process)) of_host.insert(*rank);
  }
  std::vector<std::pair<std::string, std::size_t>> shown;
  for (const auto& [host, of_host] : ranks) {
    if (shown.size() < kMostHosts) shown.emplace_back(host, of_host.size());
  }
  json.list("hosts", shown, [&](const auto& host) {
    json.object([&] {
      json.put("name", host.first);
      json.put("ranks", host.second);
    });
  });
  json.put("hosts_left_out", ranks.size() - shown.size());
}

std::string commandOf(const tracefile::Trace& trace) {
  if (trace.processes().empty()) return "";
  std::string command;
  for (const std::string& word : trace.processes().front()->info.command()) {
    if (!command.empty()) command += ' ';
    command += base::printable(word);
    if (command.size() > kMostCommandBytes) return command.substr(0, kMostCommandBytes) + " ...";
  }
  return command;
}

std::optional<std::string> beginOf(const tracefile::Trace& trace) {
  std::uint64_t first = UINT64_MAX;
  for (const auto& process : trace.processes()) {
    if (process->begin.realtime_ns > 0) first = std::min(first, process->begin.realtime_ns);
  }
  if (first == UINT64_MAX) return {};
  constexpr std::uint64_t kNsPerS = 1'000'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<std::time_t>(first / kNsPerS)));
}

void putSummary(JsonWriter& json, const tracefile::Trace& trace, const PageData& data) {
  const stats::Report& report = data.by_file;
  const tracefile::Wholeness& wholeness = report.wholeness;
  const auto chosen = trace.processesOf(report.selection.rank, report.selection.thread);
  const Processes processes = chosen ? *chosen : Processes();
  std::set<std::pair<const tracefile::Process*, std::uint32_t>> threads;
  for (const tracefile::Process* process : processes) {
    for (const tracefile::Log& log : process->logs) {
      const auto& only = report.selection.thread;
      if (!only || log.thread == *only) threads.emplace(process, log.thread);
    }
  }
  const auto sentence = [&](const std::string& text) { json.value(base::safeText(text)); };
  json.object("summary", [&] {
    json.put("command", commandOf(trace));
    json.put("directory",
             trace.processes().empty()
                 ? std::string()
                 : base::printable(trace.processes().front()->info.text(wire::info::kDirectory)));
    json.put("began", beginOf(trace));
    putHosts(json, trace, processes);
    json.put("ranks", data.by_rank.ranks.size());
    json.put("processes", processes.size());
    json.put("threads", threads.size());
    json.put("run_ns", std::max<std::int64_t>(0, data.activity.end_ns - data.activity.start_ns));
    json.put("calls", callsOf(report.total));
    json.put("calls_below", report.events_below);
    json.put("bytes_read", bytesRead(report.total));
    json.put("bytes_written", bytesWritten(report.total));
    json.put("files", filesOf(report));
    json.key("slowest");
    if (report.ranks.empty()) {
      json.null();
    } else {
      const stats::RankTime& slowest = stats::slowestOf(report.ranks);
      json.object([&] {
        json.put("rank", slowest.rank);
        json.put("data_ns", slowest.io.data_ns);
        json.put("metadata_ns", slowest.io.metadata_ns);
        json.put("sync_ns", slowest.io.sync_ns);
        json.put("waiting_ns", slowest.io.waiting_ns);
        json.put("run_ns", slowest.run_ns);
      });
    }
    json.put("average_io_ns", stats::averageIoNs(report.ranks));
    json.put("recording_ns", report.recording_ns);
    json.put("whole", wholeness.whole);
    json.put("missing", wholeness.whole ? std::string() : tracefile::missingSentence(wholeness));
    json.list("reasons", tracefile::reasonsInBrief(wholeness), sentence);
    json.list("notes", tracefile::allNotes(wholeness), sentence);
  });
}

void putCommands(JsonWriter& json, const std::string& trace) {
  const std::string name = base::shellWord(trace);
  const std::vector<std::pair<std::string_view, std::string>> commands = {
      {"All files", fmt::format("omnio stats {} --by file", name)},
      {"All ranks", fmt::format("omnio stats {} --by rank", name)},
      {"All threads", fmt::format("omnio stats {} --by thread", name)},
      {"Every call, in order", fmt::format("omnio log {}", name)},
      {"Which ranks waited for which", fmt::format("omnio log {} --mpi", name)},
      {"A timeline of all calls",
       fmt::format("omnio export {} --perfetto -o run.perfetto-trace", name)},
      {"The phase model", fmt::format("omnio phases {} -o run.phases.json", name)},
      {"A schedule to replay elsewhere",
       fmt::format("omnio preprocess {} -o run.schedule.json", name)}};
  json.list("commands", commands, [&](const auto& command) {
    json.object([&] {
      json.put("what", command.first);
      json.put("command", command.second);
    });
  });
}

}  // namespace

CallTimes timesOfCalls(const stats::Report& by_call) {
  CallTimes times{.read = by_call.total.read.time_ns.histogram,
                  .write = by_call.total.write.time_ns.histogram};
  for (const Group& call : by_call.groups) {
    switch (classOf(call)) {
      case calls::Class::kRead:
      case calls::Class::kWrite:
      case calls::Class::kMpiSync:
        break;
      case calls::Class::kSync:
        times.sync.add(call.time_ns.histogram);
        break;
      default:
        times.metadata.add(call.time_ns.histogram);
    }
  }
  return times;
}

std::string jsonOf(const tracefile::Trace& trace, const PageData& data) {
  const std::string name = base::printable(data.by_file.trace);
  return base::jsonDocument("omnio-report", 1, {.decimals = 6}, [&](auto& json) {
    json.put("omnio", data.version);
    json.put("trace", name);
    json.put("made", data.made);
    putSummary(json, trace, data);
    json.key("advice");
    putFindings(json, data.advice);
    json.put("advice_missing", data.no_advice);
    json.key("paths");
    if (data.put_paths) {
      data.put_paths(json);
    } else {
      json.null();
    }
    putActivity(json, data.activity);
    putOffsets(json, data);
    putCalls(json, data.by_call);
    putFiles(json, data.by_file);
    putRanks(json, trace, data.by_rank);
    json.list("lateness", data.lateness,
              [&](const std::string& sentence) { json.value(base::safeText(sentence)); });
    putHistograms(json, data);
    putPhases(json, data);
    putGlobalPattern(json, data);
    putCommands(json, name);
  });
}

}  // namespace omnio::report
