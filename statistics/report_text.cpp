#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/words/names.hpp"
#include "statistics/report.hpp"

namespace omnio::stats {
namespace {

using Row = std::vector<std::string>;

// Classes of operations on files that occur at all, so that a table has no column of zeros.
std::vector<calls::Class> usedClasses(const Group& total) {
  std::vector<calls::Class> used;
  for (int c = 0; c < calls::kClassCount; ++c) {
    const auto one = static_cast<calls::Class>(c);
    if (total.of(one) > 0 && isOperation(one)) used.push_back(one);
  }
  return used;
}

// The cells of a sum of times, and of their minimum, average and maximum.
void appendTimes(Row& row, const Range& times) {
  for (const double ns : {static_cast<double>(times.total), static_cast<double>(times.least),
                          times.average(), static_cast<double>(times.most)}) {
    row.push_back(base::humanNs(ns));
  }
}

std::string countCell(std::uint64_t n) { return n == 0 ? "-" : fmt::format("{}", n); }

std::string partCell(std::uint64_t part, std::uint64_t all) {
  if (all == 0) return "-";
  return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

void appendOperations(std::string& out, const Report& report) {
  const std::vector<calls::Class> classes = usedClasses(report.total);
  Row head;
  for (const calls::Class c : classes) head.emplace_back(calls::className(c));
  head.insert(head.end(), {"failed", "time", "min", "avg", "max", std::string(nameOf(report.by))});
  std::vector<Row> rows = {head};
  const auto nameWithOthers = [](const Group& group) {
    if (group.other_names.empty()) return group.name;
    return fmt::format("{} (and {})", group.name,
                       base::counted(group.other_names.size(), "other name", "other names"));
  };
  const auto add = [&](const Group& group) {
    Row row;
    for (const calls::Class c : classes) row.push_back(countCell(group.of(c)));
    row.push_back(countCell(group.failed));
    appendTimes(row, group.time_ns);
    row.push_back(nameWithOthers(group));
    rows.push_back(row);
  };
  for (const Group& group : report.groups) {
    if (group.mpi_sync_ns.count == 0 || group.time_ns.count > 0) add(group);
  }
  if (rows.size() > 2) add(report.total);
  out += "Operations on files, and the time spent in them\n";
  base::appendTable(out, rows, base::Align::kRight);
  if (report.by != By::kFile || report.selection.depth > 0) return;
  const auto is_file = [](const Group& group) { return group.name != kNoFileName; };
  const auto files = std::ranges::count_if(report.groups, is_file);
  const auto shared = std::ranges::count_if(
      report.groups, [&](const Group& group) { return is_file(group) && group.ranks > 1; });
  if (files > 0 && report.ranks.size() > 1) {
    out += fmt::format("{}: {} used by one rank, {} shared by several\n",
                       base::counted(static_cast<std::uint64_t>(files), "file", "files"),
                       files - shared, shared);
  }
}

void appendKinds(std::string& out, const Group& total) {
  std::vector<Row> rows = {{"calls", "time", "min", "avg", "max", "kind"}};
  for (const calls::Class c : usedClasses(total)) {
    Row row = {countCell(total.of(c))};
    appendTimes(row, total.timesOf(c));
    row.emplace_back(calls::className(c));
    rows.push_back(std::move(row));
  }
  out += "\nTimes of the operations, by their kind\n";
  base::appendTable(out, rows, base::Align::kRight);
}

// Calls that order ranks are no I/O, and most of their time is waiting for others.
void appendCommunication(std::string& out, const Report& report) {
  std::vector<Row> rows = {
      {"calls", "failed", "time", "min", "avg", "max", std::string(nameOf(report.by))}};
  const auto add = [&rows](const Group& group) {
    const Summary& time = group.mpi_sync_ns;
    if (time.count == 0) return;
    Row row = {countCell(time.count), countCell(group.mpi_sync_failed)};
    appendTimes(row, time);
    row.push_back(group.name);
    rows.push_back(std::move(row));
  };
  for (const Group& group : report.groups) add(group);
  if (rows.size() > 2) add(report.total);
  if (rows.size() == 1) return;
  out += "\nMPI calls that order ranks (`omnio log --mpi` shows which rank waited for which)\n";
  base::appendTable(out, rows, base::Align::kRight);
}

void appendTransfers(std::string& out, const Report& report, std::string_view title,
                     const Transfer Group::*which) {
  std::vector<Row> rows = {{"calls", "bytes", "min", "avg", "max", "std dev", "time", "min", "avg",
                            "max", "bandwidth", "min", "max", std::string(nameOf(report.by))}};
  const auto add = [&](const Group& group) {
    const Transfer& t = group.*which;
    if (t.time_ns.count == 0) return;
    const auto bytes = [](std::uint64_t n) { return base::humanBytes(static_cast<double>(n)); };
    const bool sized = t.size_bytes.count > 0;
    Row row = {fmt::format("{}", t.time_ns.count),
               sized ? bytes(t.size_bytes.total) : "-",
               sized ? bytes(t.size_bytes.least) : "-",
               sized ? base::humanBytes(t.size_bytes.average()) : "-",
               sized ? bytes(t.size_bytes.most) : "-",
               sized ? base::humanBytes(t.size_bytes.moments.deviation()) : "-"};
    appendTimes(row, t.time_ns);
    row.push_back(t.hasBandwidth() ? base::humanMibS(t.bandwidthMibS()) : "-");
    for (const double mib_s : {t.least_mib_s, t.most_mib_s}) {
      row.push_back(t.most_mib_s > 0 ? base::humanMibS(mib_s) : "-");
    }
    row.push_back(group.name);
    rows.push_back(std::move(row));
  };
  for (const Group& group : report.groups) add(group);
  if (rows.size() > 2) add(report.total);
  if (rows.size() == 1) return;
  out += fmt::format(
      "\n{} (bandwidth: bytes by the time spent in the calls; min and max: of single calls)\n",
      title);
  base::appendTable(out, rows, base::Align::kRight);
  if (const std::uint64_t begins = (report.total.*which).begins; begins > 0) {
    out += fmt::format(
        "{} call{} only began a transfer (nonblocking or split MPI-IO): not in the bandwidth\n",
        begins, begins == 1 ? "" : "s");
  }
}

void appendPatterns(std::string& out, const Report& report) {
  std::vector<Row> rows = {{"", "requests", "consecutive", "sequential", "random", "misaligned",
                            "switches", "read back", "read again", std::string(nameOf(report.by))}};
  const auto add = [&](const Group& group, std::string_view name, const AccessPattern::Way& way,
                       bool is_first) {
    const AccessPattern& pattern = group.pattern;
    const bool reads = &way == &pattern.read;
    const std::uint64_t again =
        report.hasRereadByAny() ? pattern.rereadByAny() : pattern.reread_bytes;
    rows.push_back(
        {std::string(name), fmt::format("{}", way.placed + way.unplaced),
         partCell(way.consecutive, way.follows()), partCell(way.sequential(), way.follows()),
         partCell(way.random(), way.follows()), partCell(way.misaligned, way.checked),
         is_first ? countCell(pattern.switches) : "", reads ? countCell(pattern.read_back) : "",
         reads && again > 0 ? base::humanBytes(static_cast<double>(again)) : "", group.name});
  };
  for (const Group& group : report.groups) {
    const AccessPattern& pattern = group.pattern;
    const bool has_reads = pattern.read.placed + pattern.read.unplaced > 0;
    if (has_reads) add(group, "reads", pattern.read, true);
    if (pattern.write.placed + pattern.write.unplaced > 0) {
      add(group, "writes", pattern.write, !has_reads);
    }
  }
  if (rows.size() == 1) return;
  out += fmt::format(
      "\nAccess patterns of POSIX and stream calls, those of MPI-IO too (alignment: {})\n",
      base::humanBytes(static_cast<double>(report.patterns->alignment_bytes)));
  base::appendTable(out, rows, base::Align::kRight);
  const AccessPattern& total = report.total.pattern;
  if (const std::uint64_t unplaced = total.read.unplaced + total.write.unplaced; unplaced > 0) {
    out += fmt::format("{} of these have no known offset\n",
                       base::counted(unplaced, "request", "requests"));
  }
  if (total.locks > 0) {
    out += fmt::format("{} asked for in {}; {} refused\n",
                       base::counted(total.locks, "lock of a file", "locks of files"),
                       base::humanNs(static_cast<double>(total.locks_ns)), total.locks_refused);
  }
}

// Names the part of the trace that is shown; empty for all of it.
std::string shownOf(const Selection& selection) {
  std::vector<std::string> parts;
  if (selection.rank) parts.push_back(fmt::format("rank {}", *selection.rank));
  if (selection.thread) parts.push_back(fmt::format("thread {}", *selection.thread));
  for (const std::string& pattern : selection.patterns) {
    parts.push_back(fmt::format("files like {}", base::printable(pattern)));
  }
  if (const auto& window = selection.window) {
    constexpr double kNsPerS = 1e9;
    const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) / kNsPerS; };
    parts.push_back(fmt::format("calls from {} s", seconds(window->from_ns)));
    if (window->to_ns) parts.back() += fmt::format(" to {} s", seconds(*window->to_ns));
  }
  if (selection.layer == Layer::kPosix)
    parts.emplace_back("the POSIX calls of MPI-IO, not its own");
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The slowest rank decides when an application goes on.
void appendIoTime(std::string& out, const std::vector<RankTime>& ranks) {
  if (ranks.empty()) return;
  const RankTime& slowest = slowestOf(ranks);
  if (slowest.io.total() + slowest.io.waiting_ns == 0) return;
  const auto time = [](std::int64_t ns) { return base::humanNs(static_cast<double>(ns)); };
  const event::IoTime& io = slowest.io;
  const auto into = std::back_inserter(out);
  fmt::format_to(into, "I/O time: {} on the slowest rank ({})", time(io.total()), slowest.rank);
  if (slowest.run_ns > 0) {
    fmt::format_to(into, ", {:.3g} % of its {}", slowest.share() * 100, time(slowest.run_ns));
  }
  fmt::format_to(into, ": {} data, {} metadata, {} sync", time(io.data_ns), time(io.metadata_ns),
                 time(io.sync_ns));
  if (io.waiting_ns > 0) {
    fmt::format_to(into, "; beside it {} of waiting for other ranks", time(io.waiting_ns));
  }
  out += '\n';
  const double average = averageIoNs(ranks);
  if (ranks.size() == 1 || average == 0) return;
  fmt::format_to(into, "  {} on average over {} ranks; the slowest has {:.2f} times that\n",
                 base::humanNs(average), ranks.size(), static_cast<double>(io.total()) / average);
}

void appendWholeness(std::string& out, const Report& report) {
  const tracefile::Wholeness& w = report.wholeness;
  const auto into = std::back_inserter(out);
  fmt::format_to(into, "Trace {}: {} event{}, {} process{}, {} of {} rank{}\n",
                 base::printable(report.trace), w.events, w.events == 1 ? "" : "s", w.processes,
                 w.processes == 1 ? "" : "es", w.ranks_reporting, w.ranks_expected,
                 w.ranks_expected == 1 ? "" : "s");
  fmt::format_to(into, "Whole: {}; {}\n", w.whole ? "yes" : "no", tracefile::missingSentence(w));
  for (const std::string& reason : tracefile::reasonsInBrief(w)) {
    fmt::format_to(into, "  - {}\n", reason);
  }
  for (const std::string& note : tracefile::allNotes(w)) {
    fmt::format_to(into, "Note: {}\n", note);
  }
  for (const std::string& sentence : tracefile::clockSentences(report.clocks)) {
    fmt::format_to(into, "Clock of {}\n", sentence);
  }
  if (const std::string shown = shownOf(report.selection); !shown.empty()) {
    fmt::format_to(into, "Shown: {}\n", shown);
  }
  if (report.events_below > 0) {
    fmt::format_to(std::back_inserter(out),
                   "Left out: {} call{} made by libraries below the application's own calls\n",
                   report.events_below, report.events_below == 1 ? "" : "s");
  }
  if (report.recording_ns > 0) {
    fmt::format_to(std::back_inserter(out),
                   "Recording took at least {} of the application's time\n",
                   base::humanNs(report.recording_ns));
  }
  appendIoTime(out, report.ranks);
  if (w.stalled_ns > 0) {
    fmt::format_to(into, "Threads waited {} for the log to be written\n",
                   base::humanNs(static_cast<std::int64_t>(w.stalled_ns)));
  }
  if (const std::uint64_t reads = report.total.read.at_least; reads > 0) {
    fmt::format_to(
        into,
        "Note: {} read{} of lines with NUL bytes at the end of a file (fgets): the bytes "
        "are at least those that are counted\n",
        reads, reads == 1 ? "" : "s");
  }
  for (const std::string& sentence : tracefile::missingStackSentences(w)) {
    fmt::format_to(into, "Note: {}\n", sentence);
  }
}

// The quantities of all reads and writes that have values, by their names.
std::vector<std::pair<std::string_view, const Summary*>> distributionsOf(const Group& total) {
  std::vector<std::pair<std::string_view, const Summary*>> found;
  for (const auto& [name, summary] : {std::pair("size of reads", &total.read.size_bytes),
                                      std::pair("time of reads", &total.read.time_ns),
                                      std::pair("size of writes", &total.write.size_bytes),
                                      std::pair("time of writes", &total.write.time_ns)}) {
    if (summary->count > 0) found.emplace_back(name, summary);
  }
  return found;
}

std::string human(std::string_view name, double value) {
  return name.starts_with("size") ? base::humanBytes(value) : base::humanNs(value);
}

void appendPercentiles(std::string& out, const Group& total) {
  std::vector<Row> rows = {{"calls"}};
  for (const Percentile& each : kPercentiles) rows.front().emplace_back(each.name);
  rows.front().insert(rows.front().end(), {"max", "of all"});
  for (const auto& [name, summary] : distributionsOf(total)) {
    Row row = {fmt::format("{}", summary->count)};
    for (const Percentile& each : kPercentiles) {
      row.push_back(human(name, static_cast<double>(summary->quantile(each.part))));
    }
    row.insert(row.end(), {human(name, static_cast<double>(summary->most)), std::string(name)});
    rows.push_back(std::move(row));
  }
  if (rows.size() == 1) return;
  out += "\nPercentiles (at most an eighth too large)\n";
  base::appendTable(out, rows, base::Align::kRight);
}

void appendHistograms(std::string& out, const Group& total) {
  constexpr std::uint64_t kWidth = 40;  // of the longest bar, in characters
  for (const auto& [name, summary] : distributionsOf(total)) {
    fmt::format_to(std::back_inserter(out), "\nHistogram: {}\n", name);
    const std::vector<Histogram::Bin> bins = summary->histogram.powersOfTwo();
    const std::uint64_t most = std::ranges::max(bins, {}, &Histogram::Bin::count).count;
    std::vector<Row> rows = {{"from", "below", "calls", "share", ""}};
    for (const Histogram::Bin& bin : bins) {
      const auto part = static_cast<double>(bin.count);
      // Rounded up, so that few calls can be seen beside many.
      const auto bar = static_cast<std::size_t>(
          std::ceil(part / static_cast<double>(most) * static_cast<double>(kWidth)));
      rows.push_back({human(name, static_cast<double>(bin.from)),
                      human(name, static_cast<double>(bin.to) + 1), fmt::format("{}", bin.count),
                      fmt::format("{:.1f} %", 100 * part / static_cast<double>(summary->count)),
                      std::string(bar, '#')});
    }
    base::appendTable(out, rows, base::Align::kRight);
  }
}

}  // namespace

std::string textOf(const Report& report, bool with_histograms) {
  std::string out;
  appendWholeness(out, report);
  if (report.groups.empty()) return out;
  out += '\n';
  if (report.total.time_ns.count > 0) {
    appendOperations(out, report);
    appendKinds(out, report.total);
  }
  appendTransfers(out, report, "Reads", &Group::read);
  appendTransfers(out, report, "Writes", &Group::write);
  appendPercentiles(out, report.total);
  if (with_histograms) appendHistograms(out, report.total);
  if (report.hasPatterns()) appendPatterns(out, report);
  appendCommunication(out, report);
  return out;
}

}  // namespace omnio::stats
