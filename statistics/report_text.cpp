#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
    if (total.of(one) > 0 && one != calls::Class::kMpiSync) used.push_back(one);
  }
  return used;
}

std::string countCell(std::uint64_t n) { return n == 0 ? "-" : fmt::format("{}", n); }

void appendOperations(std::string& out, const Report& report) {
  const std::vector<calls::Class> classes = usedClasses(report.total);
  Row head;
  for (const calls::Class c : classes) head.emplace_back(calls::className(c));
  head.insert(head.end(), {"failed", "time", "avg", "max", std::string(nameOf(report.by))});
  std::vector<Row> rows = {head};
  const auto add = [&](const Group& group) {
    Row row;
    for (const calls::Class c : classes) row.push_back(countCell(group.of(c)));
    row.insert(row.end(),
               {countCell(group.failed), base::humanNs(static_cast<double>(group.time_ns.total)),
                base::humanNs(group.time_ns.average()),
                base::humanNs(static_cast<double>(group.time_ns.most)), group.name});
    rows.push_back(row);
  };
  for (const Group& group : report.groups) {
    if (group.mpi_sync_ns.count == 0 || group.time_ns.count > 0) add(group);
  }
  if (rows.size() > 2) add(report.total);
  out += "Operations on files, and the time spent in them\n";
  base::appendTable(out, rows, base::Align::kRight);
}

// Calls that order ranks are no I/O, and most of their time is waiting for others.
void appendCommunication(std::string& out, const Report& report) {
  std::vector<Row> rows = {
      {"calls", "failed", "time", "avg", "max", std::string(nameOf(report.by))}};
  const auto add = [&rows](const Group& group) {
    const Summary& time = group.mpi_sync_ns;
    if (time.count == 0) return;
    rows.push_back({countCell(time.count), countCell(group.mpi_sync_failed),
                    base::humanNs(static_cast<double>(time.total)), base::humanNs(time.average()),
                    base::humanNs(static_cast<double>(time.most)), group.name});
  };
  for (const Group& group : report.groups) add(group);
  if (rows.size() > 2) add(report.total);
  if (rows.size() == 1) return;
  out += "\nMPI calls that order ranks (`omnio log --mpi` shows which rank waited for which)\n";
  base::appendTable(out, rows, base::Align::kRight);
}

void appendTransfers(std::string& out, const Report& report, std::string_view title,
                     const Transfer Group::*which) {
  std::vector<Row> rows = {{"calls", "bytes", "min", "avg", "max", "time", "min", "avg", "max",
                            "bandwidth", std::string(nameOf(report.by))}};
  const auto add = [&](const Group& group) {
    const Transfer& t = group.*which;
    if (t.time_ns.count == 0) return;
    const auto bytes = [](std::uint64_t n) { return base::humanBytes(static_cast<double>(n)); };
    const auto time = [](std::uint64_t n) { return base::humanNs(static_cast<double>(n)); };
    const bool sized = t.size_bytes.count > 0;
    rows.push_back({fmt::format("{}", t.time_ns.count), sized ? bytes(t.size_bytes.total) : "-",
                    sized ? bytes(t.size_bytes.least) : "-",
                    sized ? base::humanBytes(t.size_bytes.average()) : "-",
                    sized ? bytes(t.size_bytes.most) : "-", time(t.time_ns.total),
                    time(t.time_ns.least), base::humanNs(t.time_ns.average()), time(t.time_ns.most),
                    t.hasBandwidth() ? base::humanMibS(t.bandwidthMibS()) : "-", group.name});
  };
  for (const Group& group : report.groups) add(group);
  if (rows.size() > 2) add(report.total);
  if (rows.size() == 1) return;
  out += fmt::format("\n{} (bandwidth: bytes by the time spent in the calls)\n", title);
  base::appendTable(out, rows, base::Align::kRight);
  if (const std::uint64_t begins = (report.total.*which).begins; begins > 0) {
    out += fmt::format(
        "{} call{} only began a transfer (nonblocking or split MPI-IO): not in the bandwidth\n",
        begins, begins == 1 ? "" : "s");
  }
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
  for (const std::string& note : w.notes) {
    fmt::format_to(into, "Note: {}\n", note);
  }
  for (const std::string& sentence : tracefile::clockSentences(report.clocks)) {
    fmt::format_to(into, "Clock of {}\n", sentence);
  }
  if (report.rank) fmt::format_to(into, "Shown: rank {}\n", *report.rank);
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
  if (w.stalled_ns > 0) {
    fmt::format_to(into, "Threads waited {} for the log to be written\n",
                   base::humanNs(static_cast<std::int64_t>(w.stalled_ns)));
  }
}

}  // namespace

std::string textOf(const Report& report) {
  std::string out;
  appendWholeness(out, report);
  if (report.groups.empty()) return out;
  out += '\n';
  if (report.total.time_ns.count > 0) appendOperations(out, report);
  appendTransfers(out, report, "Reads", &Group::read);
  appendTransfers(out, report, "Writes", &Group::write);
  appendCommunication(out, report);
  return out;
}

}  // namespace omnio::stats
