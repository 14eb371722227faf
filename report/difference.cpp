#include "report/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/words/names.hpp"
#include "core/wire/info.hpp"
#include "statistics/report.hpp"

namespace omnio::report {
namespace {

using stats::Group;
using Row = std::vector<std::string>;
using Named = std::map<std::string, Amounts>;

Amounts amountsOf(const Group& group) {
  return {.calls = group.events(),
          .failed = group.failed + group.mpi_sync_failed,
          .bytes_read = group.read.size_bytes.total,
          .bytes_written = group.write.size_bytes.total,
          .time_ns = group.time_ns.total + group.mpi_sync_ns.total,
          .waiting_ns = 0};
}

void add(Amounts& sum, const Amounts& more) {
  sum.calls += more.calls;
  sum.failed += more.failed;
  sum.bytes_read += more.bytes_read;
  sum.bytes_written += more.bytes_written;
  sum.time_ns += more.time_ns;
  sum.waiting_ns += more.waiting_ns;
}

bool isBelow(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() ||
                                         directory.ends_with('/') || path[directory.size()] == '/');
}

// The sums of a trace, by the names under which they are compared.
struct Contents {
  DifferenceSide side;
  Named classes;
  Named calls;
  Named files;
  Named ranks;
};

std::string directoryOf(const tracefile::Trace& trace) {
  if (trace.processes().empty()) return "";
  return base::printable(trace.processes().front()->info.text(wire::info::kDirectory));
}

std::string belowDirectory(const std::string& path, const std::string& directory) {
  const bool is_below =
      directory.size() > 1 && isBelow(path, directory) && path.size() > directory.size();
  return is_below ? path.substr(directory.size() + 1) : path;
}

// The names of a trace's files: paths below its working directory are those from there. A path that
// `map` changes is one of the other trace, whose directory is `mapped_directory`.
struct Names {
  std::string directory;
  std::vector<std::pair<std::string, std::string>> map;
  std::string mapped_directory;

  std::string of(const std::string& path) const {
    for (const auto& [from, to] : map) {
      if (isBelow(path, from)) {
        return belowDirectory(to + path.substr(from.size()), mapped_directory);
      }
    }
    return belowDirectory(path, directory);
  }
};

base::Result<Contents> contentsOf(const tracefile::Trace& trace, stats::Layer layer,
                                  const Names& names) {
  const auto reports = stats::makeReports(
      trace, {stats::By::kCall, stats::By::kFile, stats::By::kRank}, {.layer = layer});
  if (!reports) return reports.failure();
  const stats::Report& by_call = (*reports)[0];
  const stats::Report& by_file = (*reports)[1];
  const stats::Report& by_rank = (*reports)[2];
  Contents contents;
  contents.side.trace = base::printable(by_call.trace);
  contents.side.whole = by_call.wholeness.whole;
  if (!contents.side.whole) contents.side.missing = tracefile::missingSentence(by_call.wholeness);
  contents.side.ranks = by_rank.ranks.size();
  contents.side.total = amountsOf(by_call.total);
  for (const Group& call : by_call.groups) {
    add(contents.calls[call.name], amountsOf(call));
    add(contents.classes[std::string(calls::className(call.row->call_class))], amountsOf(call));
  }
  for (const Group& file : by_file.groups)
    add(contents.files[names.of(file.name)], amountsOf(file));
  for (const Group& rank : by_rank.groups) contents.ranks[rank.name] = amountsOf(rank);
  for (const stats::RankTime& rank : by_rank.ranks) {
    Amounts& amounts = contents.ranks[fmt::format("{}", rank.rank)];
    amounts.time_ns = static_cast<std::uint64_t>(rank.io.total());
    amounts.waiting_ns = static_cast<std::uint64_t>(rank.io.waiting_ns);
    contents.side.run_ns = std::max(contents.side.run_ns, rank.run_ns);
  }
  if (!by_rank.ranks.empty()) {
    const stats::RankTime& slowest = stats::slowestOf(by_rank.ranks);
    contents.side.slowest = slowest.rank;
    contents.side.io = slowest.io;
  }
  return contents;
}

double timeOf(const std::optional<Amounts>& amounts) {
  return amounts ? static_cast<double>(amounts->time_ns) : 0;
}

std::vector<DifferenceLine> linesOf(const Named& a, const Named& b) {
  std::map<std::string, DifferenceLine> found;
  for (const auto& [name, amounts] : a) found[name] = {name, amounts, std::nullopt};
  for (const auto& [name, amounts] : b) {
    found[name].name = name;
    found[name].b = amounts;
  }
  std::vector<DifferenceLine> lines;
  for (auto& [name, line] : found) lines.push_back(std::move(line));
  std::ranges::stable_sort(lines, std::greater<>(), [](const DifferenceLine& line) {
    return std::abs(timeOf(line.a) - timeOf(line.b));
  });
  return lines;
}

// "+12.3 %", "=" where nothing differs, "new" and "gone" where one is 0.
std::string change(double a, double b) {
  if (a == b) return "=";
  if (a == 0) return "new";
  if (b == 0) return "gone";
  return fmt::format("{:+.1f} %", 100 * (b / a - 1));
}

std::string duration(double ns) { return base::humanNs(ns); }
std::string size(double bytes) { return base::humanBytes(bytes); }
std::string number(double count) { return fmt::format("{:.0f}", count); }

using Show = std::string (*)(double);

Row rowOf(std::string name, double a, double b, Show show) {
  return {show(a), show(b), change(a, b), std::move(name)};
}

void appendTotals(std::string& out, const DifferenceSide& a, const DifferenceSide& b) {
  std::vector<Row> rows = {{"A", "B", "change", ""}};
  const auto add = [&](std::string name, auto part, Show show) {
    rows.push_back(
        rowOf(std::move(name), static_cast<double>(part(a)), static_cast<double>(part(b)), show));
  };
  using Side = const DifferenceSide&;
  add(
      "I/O time of the slowest rank", [](Side s) { return s.io.total(); }, duration);
  add(
      "  data", [](Side s) { return s.io.data_ns; }, duration);
  add(
      "  metadata", [](Side s) { return s.io.metadata_ns; }, duration);
  add(
      "  sync", [](Side s) { return s.io.sync_ns; }, duration);
  add(
      "waiting beside it", [](Side s) { return s.io.waiting_ns; }, duration);
  add(
      "run", [](Side s) { return s.run_ns; }, duration);
  add(
      "bytes read", [](Side s) { return s.total.bytes_read; }, size);
  add(
      "bytes written", [](Side s) { return s.total.bytes_written; }, size);
  add(
      "calls", [](Side s) { return s.total.calls; }, number);
  add(
      "failed calls", [](Side s) { return s.total.failed; }, number);
  add(
      "ranks", [](Side s) { return s.ranks; }, number);
  base::appendTable(out, rows, base::Align::kRight);
}

void appendLines(std::string& out, std::string_view title, const std::vector<DifferenceLine>& lines,
                 std::size_t most, std::string_view plural) {
  std::vector<Row> rows = {{"calls A", "B", "bytes A", "B", "time A", "B", "change", ""}};
  std::size_t alike = 0;
  std::size_t left_out = 0;
  for (const DifferenceLine& line : lines) {
    const Amounts a = line.a.value_or(Amounts{});
    const Amounts b = line.b.value_or(Amounts{});
    if (line.a && line.b && a.doesAs(b) && a.time_ns == b.time_ns) {
      ++alike;
      continue;
    }
    if (rows.size() > most) {
      ++left_out;
      continue;
    }
    std::string note;
    if (!line.a) note = " (only in B)";
    if (!line.b) note = " (only in A)";
    rows.push_back({number(static_cast<double>(a.calls)), number(static_cast<double>(b.calls)),
                    size(static_cast<double>(a.bytes())), size(static_cast<double>(b.bytes())),
                    duration(timeOf(line.a)), duration(timeOf(line.b)),
                    change(timeOf(line.a), timeOf(line.b)), line.name + note});
  }
  if (rows.size() == 1 && alike == 0) return;
  fmt::format_to(std::back_inserter(out), "\n{}", title);
  if (alike > 0) fmt::format_to(std::back_inserter(out), "; {} {} alike", alike, plural);
  if (left_out > 0) {
    fmt::format_to(std::back_inserter(out), "; {} more that differ less in time are left out",
                   left_out);
  }
  out += '\n';
  if (rows.size() > 1) base::appendTable(out, rows, base::Align::kRight);
}

void putAmounts(base::JsonWriter& json, std::string_view name,
                const std::optional<Amounts>& amounts) {
  json.key(name);
  if (!amounts) {
    json.null();
    return;
  }
  json.object([&] {
    json.put("calls", amounts->calls);
    json.put("failed", amounts->failed);
    json.put("bytes_read", amounts->bytes_read);
    json.put("bytes_written", amounts->bytes_written);
    json.put("time_ns", amounts->time_ns);
    json.put("waiting_ns", amounts->waiting_ns);
  });
}

void putSide(base::JsonWriter& json, std::string_view name, const DifferenceSide& side) {
  json.object(name, [&] {
    json.put("trace", side.trace);
    json.put("whole", side.whole);
    json.put("ranks", side.ranks);
    json.put("run_ns", side.run_ns);
    json.put("slowest_rank", side.slowest);
    json.put("io_ns", side.io.total());
    json.put("data_ns", side.io.data_ns);
    json.put("metadata_ns", side.io.metadata_ns);
    json.put("sync_ns", side.io.sync_ns);
    json.put("waiting_ns", side.io.waiting_ns);
    putAmounts(json, "total", side.total);
  });
}

}  // namespace

base::Result<Difference> differenceOf(const tracefile::Trace& a, const tracefile::Trace& b,
                                      const DifferenceOptions& options) {
  const std::string directory = directoryOf(b);
  base::Result<Contents> first =
      contentsOf(a, options.layer,
                 {.directory = directoryOf(a), .map = options.map, .mapped_directory = directory});
  if (!first) return first.failure();
  base::Result<Contents> second =
      contentsOf(b, options.layer, {.directory = directory, .map = {}, .mapped_directory = {}});
  if (!second) return second.failure();
  Difference difference;
  difference.a = std::move(first->side);
  difference.b = std::move(second->side);
  difference.classes = linesOf(first->classes, second->classes);
  difference.calls = linesOf(first->calls, second->calls);
  difference.files = linesOf(first->files, second->files);
  difference.ranks = linesOf(first->ranks, second->ranks);
  return difference;
}

std::vector<Excess> beyond(const Difference& difference, double tolerance) {
  std::vector<Excess> found;
  const auto look = [&](std::string what, double a, double b) {
    Excess excess{std::move(what), a, b};
    if (std::abs(excess.relative()) > tolerance) found.push_back(std::move(excess));
  };
  look("I/O time of the slowest rank", static_cast<double>(difference.a.io.total()),
       static_cast<double>(difference.b.io.total()));
  for (const DifferenceLine& line : difference.classes) {
    if (line.name == calls::className(calls::Class::kMpiSync)) continue;
    const Amounts a = line.a.value_or(Amounts{});
    const Amounts b = line.b.value_or(Amounts{});
    look(fmt::format("calls of class {}", line.name), static_cast<double>(a.calls),
         static_cast<double>(b.calls));
    look(fmt::format("bytes of class {}", line.name), static_cast<double>(a.bytes()),
         static_cast<double>(b.bytes()));
  }
  return found;
}

std::string textOf(const Difference& difference, std::size_t most_lines) {
  std::string out;
  for (const auto& [name, side] : {std::pair("A", &difference.a), std::pair("B", &difference.b)}) {
    fmt::format_to(std::back_inserter(out), "{}: {}", name, side->trace);
    if (!side->whole) fmt::format_to(std::back_inserter(out), "; not whole: {}", side->missing);
    out += '\n';
  }
  out += '\n';
  appendTotals(out, difference.a, difference.b);
  appendLines(out, "By class", difference.classes, most_lines, "classes");
  appendLines(out, "By call", difference.calls, most_lines, "calls");
  appendLines(out, "By file", difference.files, most_lines, "files");
  appendLines(out, "By rank, with its I/O time", difference.ranks, most_lines, "ranks");
  return out;
}

std::string jsonOf(const Difference& difference) {
  return base::jsonDocument("omnio-difference", 1, {.decimals = 3}, [&](auto& json) {
    putSide(json, "a", difference.a);
    putSide(json, "b", difference.b);
    const auto put = [&](std::string_view name, const std::vector<DifferenceLine>& lines) {
      json.list(name, lines, [&](const DifferenceLine& line) {
        json.object([&] {
          json.put("name", line.name);
          putAmounts(json, "a", line.a);
          putAmounts(json, "b", line.b);
        });
      });
    };
    put("classes", difference.classes);
    put("calls", difference.calls);
    put("files", difference.files);
    put("ranks", difference.ranks);
  });
}

}  // namespace omnio::report
