#include "report/difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/calls/words/names.hpp"
#include "core/wire/info.hpp"
#include "phase_model/model_builder.hpp"
#include "report/page_data.hpp"
#include "report/replay_names.hpp"
#include "statistics/report.hpp"

namespace omnio::report {
namespace {

using stats::Group;
using Row = std::vector<std::string>;
using Named = std::map<std::string, Amounts>;

constexpr double kNsInSecond = 1e9;

void addMoved(Amounts& amounts, const stats::Transfer& transfer) {
  if (!transfer.hasBandwidth()) return;
  amounts.moved_bytes += transfer.size_bytes.total - transfer.begun_bytes;
  amounts.moved_ns += transfer.time_ns.total - transfer.begins_ns;
}

Amounts amountsOf(const Group& group) {
  Amounts amounts = {.calls = group.events(),
                     .failed = group.failed + group.mpi_sync_failed,
                     .bytes_read = group.read.size_bytes.total,
                     .bytes_written = group.write.size_bytes.total,
                     .time_ns = group.time_ns.total + group.mpi_sync_ns.total};
  addMoved(amounts, group.read);
  addMoved(amounts, group.write);
  return amounts;
}

constexpr std::uint64_t Amounts::*kAmounts[] = {
    &Amounts::calls,   &Amounts::failed,     &Amounts::bytes_read,  &Amounts::bytes_written,
    &Amounts::time_ns, &Amounts::waiting_ns, &Amounts::moved_bytes, &Amounts::moved_ns};

void add(Amounts& sum, const Amounts& more) {
  for (const auto amount : kAmounts) sum.*amount += more.*amount;
}

bool isBelow(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() ||
                                         directory.ends_with('/') || path[directory.size()] == '/');
}

// What two phases have to have in common to be the same. How often metadata calls were made differs
// from run to run (retries, polling).
struct PhaseShape {
  std::uint64_t weight_bytes = 0;
  std::vector<model::Operation> operations;
  std::vector<std::string> calls;  // names, of a metadata phase

  bool operator==(const PhaseShape&) const = default;
  bool isMetadata() const { return operations.empty(); }
};

// The sums of a trace, by the names under which they are compared.
struct Contents {
  DifferenceRun run;
  Named classes;
  Named calls;
  Named files;
  Named ranks;
  std::vector<PhaseShape> shapes;
  std::vector<std::pair<std::string, Amounts>> phases;
  std::string no_phases;
};

std::string directoryOf(const tracefile::Trace& trace) {
  if (trace.processes().empty()) return "";
  return base::printable(trace.processes().front()->info.text(wire::info::kDirectory));
}

std::string belowDirectory(const std::string& path, const std::string& directory) {
  if (directory.size() <= 1 || !isBelow(path, directory)) return path;
  return path.size() == directory.size() ? "." : path.substr(directory.size() + 1);
}

// The names of a trace's files: paths below its working directory are those from there. A path that
// `map` changes is one of the other trace, and has the name that it has there.
struct Names {
  std::string directory;
  std::optional<ReplayNames> replay;
  std::string application;  // the working directory of what was replayed, where it is known
  std::vector<std::pair<std::string, std::string>> map;
  const Names* other = nullptr;

  std::string of(const std::string& path) const {
    for (const auto& [from, to] : map) {
      if (isBelow(path, from)) return other->of(to + path.substr(from.size()));
    }
    const auto replayed = replay ? replay->of(path) : std::nullopt;
    return replayed ? belowDirectory(*replayed, application) : belowDirectory(path, directory);
  }
};

std::string phaseName(const model::PhaseModel& model, const model::Phase& phase,
                      const Names& names) {
  std::vector<std::string_view> operations;
  for (const model::PhaseOperation& operation : phase.operations) {
    operations.push_back(model::nameOf(operation.operation));
  }
  if (phase.isMetadata()) operations.push_back(model::kMetadataName);
  const std::string& path = model.files[static_cast<std::size_t>(phase.file)].path;
  return fmt::format("phase {}: {} {}", phase.id, fmt::join(operations, ", "), names.of(path));
}

Amounts amountsOf(const model::Phase& phase) {
  Amounts amounts = {.time_ns = static_cast<std::uint64_t>(phase.io.total()),
                     .waiting_ns = static_cast<std::uint64_t>(phase.io.waiting_ns),
                     .moved_bytes = phase.weight_bytes,
                     .moved_ns = static_cast<std::uint64_t>(phase.io.total())};
  for (const auto& [call, times] : phase.calls) amounts.calls += times;
  for (const model::PhaseOperation& operation : phase.operations) {
    const bool is_write = operation.operation == model::Operation::kWrite;
    (is_write ? amounts.bytes_written : amounts.bytes_read) += model::weightOf(phase, operation);
  }
  return amounts;
}

void findPhases(const tracefile::Trace& trace, Phases wanted, std::uint64_t events,
                const Names& names, Contents& contents) {
  if (wanted == Phases::kNo) return;
  if (wanted == Phases::kAuto && events > kMostPhaseCalls) {
    contents.no_phases = fmt::format(
        "phases are left out where a trace has more than {} calls (--phases yes)", kMostPhaseCalls);
    return;
  }
  const base::Result<phases::MadeModel> made = phases::makePhaseModel(trace, {});
  if (!made) {
    contents.no_phases = base::safeText(made.failure().sentence);
    return;
  }
  for (const model::Phase& phase : made->model.phases) {
    PhaseShape& shape = contents.shapes.emplace_back();
    shape.weight_bytes = phase.weight_bytes;
    for (const auto& [name, count] : phase.calls) {
      if (phase.isMetadata()) shape.calls.push_back(name);
    }
    for (const model::PhaseOperation& operation : phase.operations) {
      shape.operations.push_back(operation.operation);
    }
    contents.phases.emplace_back(phaseName(made->model, phase, names), amountsOf(phase));
  }
}

base::Result<Contents> contentsOf(const tracefile::Trace& trace, const DifferenceOptions& options,
                                  const Names& names) {
  const auto reports = stats::makeReports(
      trace, {stats::By::kCall, stats::By::kFile, stats::By::kRank}, {.layer = options.layer});
  if (!reports) return reports.failure();
  const stats::Report& by_call = (*reports)[0];
  const stats::Report& by_file = (*reports)[1];
  const stats::Report& by_rank = (*reports)[2];
  Contents contents;
  DifferenceRun& run = contents.run;
  run.trace = base::printable(by_call.trace);
  run.whole = by_call.wholeness.whole;
  if (!run.whole) run.missing = tracefile::missingSentence(by_call.wholeness);
  run.is_replay = names.replay.has_value();
  run.ranks = by_rank.ranks.size();
  run.total = amountsOf(by_call.total);
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
    run.run_ns = std::max(run.run_ns, rank.run_ns);
  }
  if (!by_rank.ranks.empty()) {
    const stats::RankTime& slowest = stats::slowestOf(by_rank.ranks);
    run.slowest = slowest.rank;
    run.io = slowest.io;
  }
  findPhases(trace, options.phases, by_call.wholeness.events, names, contents);
  return contents;
}

double timeOf(const std::optional<Amounts>& amounts) {
  return amounts ? static_cast<double>(amounts->time_ns) : 0;
}

// Nothing where each side has one value.
std::optional<Judgement> judged(const std::vector<double>& a, const std::vector<double>& b,
                                std::size_t pairs) {
  if (a.size() < 2 && b.size() < 2) return std::nullopt;
  const auto [a_least, a_most] = std::ranges::minmax(a);
  const auto [b_least, b_most] = std::ranges::minmax(b);
  return Judgement{.a = {a_least, a_most},
                   .b = {b_least, b_most},
                   .b_to_a = base::ratioOf(b, a, base::levelOfPair(pairs))};
}

// The traces of a side, and the sums of a line in each; empty sums where a trace lacks the line.
using Side = std::vector<Contents>;
using LineRuns = std::vector<Amounts>;

Amounts middleOf(const LineRuns& runs) {
  Amounts middle;
  for (const auto amount : kAmounts) {
    std::vector<double> values;
    for (const Amounts& run : runs) values.push_back(static_cast<double>(run.*amount));
    middle.*amount = static_cast<std::uint64_t>(std::llround(base::medianOf(std::move(values))));
  }
  return middle;
}

template <typename Quantity>
std::vector<double> valuesOf(const LineRuns& runs, Quantity quantity) {
  std::vector<double> values;
  for (const Amounts& run : runs) values.push_back(static_cast<double>(quantity(run)));
  return values;
}

DifferenceLine lineOf(std::string name, const LineRuns& a, const LineRuns& b, std::size_t pairs) {
  const auto judge = [&](double unit, auto quantity) {
    std::vector<double> of_a = valuesOf(a, quantity);
    std::vector<double> of_b = valuesOf(b, quantity);
    for (double& value : of_a) value /= unit;
    for (double& value : of_b) value /= unit;
    return judged(of_a, of_b, pairs);
  };
  return {.name = std::move(name),
          .a = middleOf(a),
          .b = middleOf(b),
          .time = judge(kNsInSecond, [](const Amounts& each) { return each.time_ns; }),
          .calls = judge(1, [](const Amounts& each) { return each.calls; }),
          .bytes = judge(1, [](const Amounts& each) { return each.bytes(); })};
}

double timeDifference(const DifferenceLine& line) {
  return std::abs(timeOf(line.a) - timeOf(line.b));
}

std::vector<DifferenceLine> linesOf(const Side& a, const Side& b, Named Contents::*table) {
  std::map<std::string, std::pair<LineRuns, LineRuns>> found;
  const auto take = [&](const Side& side, auto runs) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      for (const auto& [name, amounts] : side[i].*table) {
        LineRuns& into = found[name].*runs;
        into.resize(side.size());
        into[i] = amounts;
      }
    }
  };
  take(a, &std::pair<LineRuns, LineRuns>::first);
  take(b, &std::pair<LineRuns, LineRuns>::second);
  std::vector<DifferenceLine> lines;
  for (auto& [name, runs] : found) {
    const bool in_a = !runs.first.empty();
    const bool in_b = !runs.second.empty();
    runs.first.resize(a.size());
    runs.second.resize(b.size());
    DifferenceLine& line = lines.emplace_back(lineOf(name, runs.first, runs.second, found.size()));
    if (!in_a) line.a.reset();
    if (!in_b) line.b.reset();
  }
  std::ranges::stable_sort(lines, std::greater<>(), timeDifference);
  return lines;
}

// The data phases, which are first.
std::span<const PhaseShape> dataOf(const Contents& contents) {
  const auto end = std::ranges::find_if(contents.shapes, &PhaseShape::isMetadata);
  return {contents.shapes.begin(), end};
}

// Data phases have to be the same in all traces; metadata phases are shown where they are, too.
void addPhases(const Side& a, const Side& b, Difference& difference) {
  const Contents& first = a.front();
  std::size_t shown = first.phases.size();
  for (const Side* side : {&a, &b}) {
    for (const Contents& contents : *side) {
      if (!contents.no_phases.empty()) {
        difference.no_phases = contents.no_phases;
        return;
      }
      if (contents.shapes == first.shapes) continue;
      shown = dataOf(first).size();
      if (shown > 0 && std::ranges::equal(dataOf(contents), dataOf(first))) continue;
      difference.no_phases =
          fmt::format("the phases are not the same: {} has {}, and {} has {}", first.run.trace,
                      first.shapes.size(), contents.run.trace, contents.shapes.size());
      return;
    }
  }
  for (std::size_t i = 0; i < shown; ++i) {
    LineRuns runs[2];
    for (const Contents& contents : a) runs[0].push_back(contents.phases[i].second);
    for (const Contents& contents : b) runs[1].push_back(contents.phases[i].second);
    difference.phases.push_back(lineOf(first.phases[i].first, runs[0], runs[1], shown));
  }
}

// The quantities of a run, in the order of the table.
struct TotalKind {
  std::string_view key;
  std::string_view name;
  Unit unit;
  double (*of)(const DifferenceRun&);
};

double number(std::uint64_t value) { return static_cast<double>(value); }
double number(std::int64_t value) { return static_cast<double>(value); }

constexpr TotalKind kTotals[] = {
    {"io_ns", "I/O time of the slowest rank", Unit::kNs,
     [](const DifferenceRun& run) { return number(run.io.total()); }},
    {"data_ns", "  data", Unit::kNs,
     [](const DifferenceRun& run) { return number(run.io.data_ns); }},
    {"metadata_ns", "  metadata", Unit::kNs,
     [](const DifferenceRun& run) { return number(run.io.metadata_ns); }},
    {"sync_ns", "  sync", Unit::kNs,
     [](const DifferenceRun& run) { return number(run.io.sync_ns); }},
    {"waiting_ns", "waiting beside it", Unit::kNs,
     [](const DifferenceRun& run) { return number(run.io.waiting_ns); }},
    {"run_ns", "run", Unit::kNs, [](const DifferenceRun& run) { return number(run.run_ns); }},
    {"bytes_read", "bytes read", Unit::kBytes,
     [](const DifferenceRun& run) { return number(run.total.bytes_read); }},
    {"bytes_written", "bytes written", Unit::kBytes,
     [](const DifferenceRun& run) { return number(run.total.bytes_written); }},
    {"bandwidth_mib_s", "bytes over the I/O time", Unit::kMibS,
     [](const DifferenceRun& run) {
       const double seconds = number(run.io.total()) / kNsInSecond;
       return seconds > 0 ? number(run.total.bytes()) / model::kMiB / seconds : 0;
     }},
    {"calls", "calls", Unit::kCount,
     [](const DifferenceRun& run) { return number(run.total.calls); }},
    {"failed", "failed calls", Unit::kCount,
     [](const DifferenceRun& run) { return number(run.total.failed); }},
    {"ranks", "ranks", Unit::kCount,
     [](const DifferenceRun& run) { return number(std::uint64_t{run.ranks}); }},
};

void addTotals(Difference& difference) {
  for (const TotalKind& kind : kTotals) {
    std::vector<double> a;
    std::vector<double> b;
    for (const DifferenceRun& run : difference.a) a.push_back(kind.of(run));
    for (const DifferenceRun& run : difference.b) b.push_back(kind.of(run));
    difference.totals.push_back({.key = kind.key,
                                 .name = kind.name,
                                 .unit = kind.unit,
                                 .a = base::medianOf(a),
                                 .b = base::medianOf(b),
                                 .judgement = judged(a, b, 1)});
  }
}

// "+12.3 %", "=" where nothing differs, "new" and "gone" where one is 0.
std::string change(double a, double b) {
  if (a == b) return "=";
  if (a == 0) return "new";
  if (b == 0) return "gone";
  return fmt::format("{:+.1f} %", 100 * (b / a - 1));
}

// As benchstat has it: "~" where runs vary as much.
std::string change(double a, double b, const std::optional<Judgement>& judgement) {
  return judgement && a != b && !judgement->differs() ? "~" : change(a, b);
}

// "-12.0 .. +3.1 %": how much B may differ from A.
std::string rangeText(const Judgement& judgement) {
  const auto& interval = judgement.b_to_a.interval;
  if (!interval) return "1 run";
  constexpr double kMuch = 1e4;
  if (interval->most > kMuch || interval->least < 1 / kMuch) return "not known";
  return fmt::format("{:+.1f} .. {:+.1f} %", 100 * (interval->least - 1),
                     100 * (interval->most - 1));
}

std::string showIn(Unit unit, double value) {
  switch (unit) {
    case Unit::kNs:
      return base::humanNs(value);
    case Unit::kBytes:
      return base::humanBytes(value);
    case Unit::kMibS:
      return base::humanMibS(value);
    case Unit::kCount:
      break;
  }
  return fmt::format("{:.0f}", value);
}

void appendTotals(std::string& out, const Difference& difference) {
  const bool is_repeated = difference.isRepeated();
  std::vector<Row> rows = {{"A", "B", "change"}};
  if (is_repeated) rows.front().emplace_back("95 %");
  rows.front().emplace_back("");
  for (const DifferenceTotal& total : difference.totals) {
    Row& row = rows.emplace_back();
    row = {showIn(total.unit, total.a), showIn(total.unit, total.b),
           change(total.a, total.b, total.judgement)};
    if (is_repeated) row.push_back(total.a == total.b ? "" : rangeText(*total.judgement));
    row.emplace_back(total.name);
  }
  base::appendTable(out, rows, base::Align::kRight);
}

struct Table {
  std::string_view title;
  std::string_view plural;
  const std::vector<DifferenceLine>* lines;
  bool has_waiting = false;
};

// In the order of their differences, as all tables but that of the phases have their lines.
std::vector<const DifferenceLine*> byDifference(const std::vector<DifferenceLine>& lines) {
  std::vector<const DifferenceLine*> sorted;
  for (const DifferenceLine& line : lines) sorted.push_back(&line);
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const DifferenceLine* line) { return timeDifference(*line); });
  return sorted;
}

void appendLines(std::string& out, const Table& table, bool is_repeated, std::size_t most) {
  std::vector<Row> rows = {{"calls A", "B", "bytes A", "B", "MiB/s A", "B"}};
  Row& heading = rows.front();
  if (table.has_waiting) heading.insert(heading.end(), {"waiting A", "B"});
  heading.insert(heading.end(), {"time A", "B", "change"});
  if (is_repeated) heading.emplace_back("95 %");
  heading.emplace_back("");
  const auto bandwidth = [](const Amounts& amounts) {
    const auto found = amounts.bandwidthMibS();
    return found ? fmt::format("{:.1f}", *found) : "-";
  };
  std::size_t alike = 0;
  std::size_t left_out = 0;
  for (const DifferenceLine* line : byDifference(*table.lines)) {
    const Amounts a = line->a.value_or(Amounts{});
    const Amounts b = line->b.value_or(Amounts{});
    if (line->a && line->b && a.doesAs(b) && a.time_ns == b.time_ns) {
      ++alike;
      continue;
    }
    if (rows.size() > most) {
      ++left_out;
      continue;
    }
    std::string note;
    if (!line->a) note = " (only in B)";
    if (!line->b) note = " (only in A)";
    Row& row = rows.emplace_back();
    row = {showIn(Unit::kCount, number(a.calls)),
           showIn(Unit::kCount, number(b.calls)),
           showIn(Unit::kBytes, number(a.bytes())),
           showIn(Unit::kBytes, number(b.bytes())),
           bandwidth(a),
           bandwidth(b)};
    if (table.has_waiting) {
      row.push_back(showIn(Unit::kNs, number(a.waiting_ns)));
      row.push_back(showIn(Unit::kNs, number(b.waiting_ns)));
    }
    row.push_back(showIn(Unit::kNs, number(a.time_ns)));
    row.push_back(showIn(Unit::kNs, number(b.time_ns)));
    row.push_back(change(number(a.time_ns), number(b.time_ns), line->time));
    if (is_repeated) row.push_back(a.time_ns == b.time_ns ? "" : rangeText(*line->time));
    row.push_back(line->name + note);
  }
  if (rows.size() == 1 && alike == 0) return;
  fmt::format_to(std::back_inserter(out), "\n{}", table.title);
  if (alike > 0) fmt::format_to(std::back_inserter(out), "; {} {} alike", alike, table.plural);
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
    json.put("bandwidth_mib_s", amounts->bandwidthMibS());
  });
}

void putJudgement(base::JsonWriter& json, std::string_view name,
                  const std::optional<Judgement>& judgement) {
  if (!judgement) return;
  json.object(name, [&] {
    json.put("a_range", std::vector{judgement->a.first, judgement->a.second});
    json.put("b_range", std::vector{judgement->b.first, judgement->b.second});
    json.put("b_to_a", judgement->b_to_a.middle);
    json.key("interval_95");
    if (const auto& interval = judgement->b_to_a.interval) {
      json.value(std::vector{interval->least, interval->most});
    } else {
      json.null();
    }
    json.put("differs", judgement->differs());
  });
}

void putRun(base::JsonWriter& json, const DifferenceRun& run) {
  json.put("trace", run.trace);
  json.put("whole", run.whole);
  json.put("replay", run.is_replay);
  json.put("ranks", run.ranks);
  json.put("run_ns", run.run_ns);
  json.put("slowest_rank", run.slowest);
  json.put("io_ns", run.io.total());
  json.put("data_ns", run.io.data_ns);
  json.put("metadata_ns", run.io.metadata_ns);
  json.put("sync_ns", run.io.sync_ns);
  json.put("waiting_ns", run.io.waiting_ns);
  putAmounts(json, "total", run.total);
}

// The first trace of a side, and all others where there are several.
void putSide(base::JsonWriter& json, std::string_view name,
             const std::vector<DifferenceRun>& side) {
  json.object(name, [&] {
    putRun(json, side.front());
    if (side.size() == 1) return;
    json.list("repeats", std::vector(side.begin() + 1, side.end()),
              [&](const DifferenceRun& run) { json.object([&] { putRun(json, run); }); });
  });
}

void putLine(base::JsonWriter& json, const DifferenceLine& line) {
  json.object([&] {
    json.put("name", line.name);
    putAmounts(json, "a", line.a);
    putAmounts(json, "b", line.b);
    putJudgement(json, "time", line.time);
    putJudgement(json, "calls", line.calls);
    putJudgement(json, "bytes", line.bytes);
  });
}

// The tables of a document, by the names of its lists.
constexpr std::pair<std::string_view, std::vector<DifferenceLine> Difference::*> kLists[] = {
    {"classes", &Difference::classes},
    {"calls", &Difference::calls},
    {"files", &Difference::files},
    {"ranks", &Difference::ranks},
    {"phases", &Difference::phases}};

void putMembers(base::JsonWriter& json, const Difference& difference) {
  putSide(json, "a", difference.a);
  putSide(json, "b", difference.b);
  json.put("verdict", verdictOf(difference));
  json.put("warnings", warningsOf(difference));
  json.put("notes", notesOf(difference));
  json.list("totals", difference.totals, [&](const DifferenceTotal& total) {
    json.object([&] {
      json.put("name", total.key);
      json.put("a", total.a);
      json.put("b", total.b);
      putJudgement(json, "repeats", total.judgement);
    });
  });
  json.put("phases_missing", difference.no_phases);
}

}  // namespace

std::optional<double> Amounts::bandwidthMibS() const {
  if (moved_bytes == 0 || moved_ns == 0) return std::nullopt;
  return number(moved_bytes) / model::kMiB / (number(moved_ns) / kNsInSecond);
}

base::Result<Difference> differenceOf(const Traces& a, const Traces& b,
                                      const DifferenceOptions& options) {
  const auto namesOf = [](const tracefile::Trace& trace) {
    Names names;
    names.directory = directoryOf(trace);
    names.replay = ReplayNames::read(trace.directory());
    return names;
  };
  Names first = namesOf(*a.front());
  Names second = namesOf(*b.front());
  // Where both are replays, the directory of the application is not known.
  if (!first.replay) second.application = first.directory;
  if (!second.replay) first.application = second.directory;
  const std::string applications[] = {first.application, second.application};
  Side sides[2];
  for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
    for (const tracefile::Trace* trace : which == 0 ? a : b) {
      Names names = namesOf(*trace);
      names.application = applications[which];
      if (which == 0) {
        names.map = options.map;
        names.other = &second;
      }
      base::Result<Contents> contents = contentsOf(*trace, options, names);
      if (!contents) return contents.failure();
      sides[which].push_back(std::move(*contents));
    }
  }
  Difference difference;
  for (const Contents& contents : sides[0]) difference.a.push_back(contents.run);
  for (const Contents& contents : sides[1]) difference.b.push_back(contents.run);
  addTotals(difference);
  difference.classes = linesOf(sides[0], sides[1], &Contents::classes);
  difference.calls = linesOf(sides[0], sides[1], &Contents::calls);
  difference.files = linesOf(sides[0], sides[1], &Contents::files);
  difference.ranks = linesOf(sides[0], sides[1], &Contents::ranks);
  addPhases(sides[0], sides[1], difference);
  return difference;
}

std::vector<Excess> beyond(const Difference& difference, double tolerance) {
  std::vector<Excess> found;
  const auto look = [&](std::string what, double a, double b,
                        const std::optional<Judgement>& judgement) {
    Excess excess{std::move(what), a, b};
    if (judgement && !judgement->differs()) return;
    if (std::abs(excess.relative()) > tolerance) found.push_back(std::move(excess));
  };
  const DifferenceTotal& io = difference.totals.front();
  look(std::string(io.name), io.a, io.b, io.judgement);
  for (const DifferenceLine& line : difference.classes) {
    if (line.name == calls::className(calls::Class::kMpiSync)) continue;
    const Amounts a = line.a.value_or(Amounts{});
    const Amounts b = line.b.value_or(Amounts{});
    look(fmt::format("calls of class {}", line.name), number(a.calls), number(b.calls), line.calls);
    look(fmt::format("bytes of class {}", line.name), number(a.bytes()), number(b.bytes()),
         line.bytes);
  }
  return found;
}

std::string verdictOf(const Difference& difference) {
  const DifferenceTotal& io = difference.totals.front();
  if (io.a == 0 && io.b == 0) return "neither side spends time in I/O";
  const std::string times =
      io.a == io.b ? fmt::format("the {} is {} on both sides", io.name, showIn(io.unit, io.a))
                   : fmt::format("the {} is {} in A and {} in B ({})", io.name,
                                 showIn(io.unit, io.a), showIn(io.unit, io.b), change(io.a, io.b));
  if (!io.judgement || io.a == io.b) return times;
  const base::Ratio& ratio = io.judgement->b_to_a;
  if (!ratio.interval) return times + "; of one run it is not known how much others differ";
  if (ratio.isSlower()) return times + ": B is surely slower";
  if (ratio.isFaster()) return times + ": B is surely faster";
  return times + ", which is not more than runs vary by";
}

std::vector<std::string> warningsOf(const Difference& difference) {
  std::vector<std::string> warnings;
  for (const auto* side : {&difference.a, &difference.b}) {
    for (const DifferenceRun& run : *side) {
      if (run.whole) continue;
      warnings.push_back(fmt::format("{} is not whole: {}", run.trace, run.missing));
    }
  }
  return warnings;
}

std::vector<std::string> notesOf(const Difference& difference) {
  std::vector<std::string> notes;
  if (difference.isRepeated()) {
    notes.push_back(fmt::format("A is {} and B is {}; quantities are medians",
                                base::counted(difference.a.size(), "trace", "traces"),
                                base::counted(difference.b.size(), "trace", "traces")));
  } else {
    notes.emplace_back("each side is one run: it is not known how much runs vary");
  }
  for (const auto& [name, side] : {std::pair("A", &difference.a), std::pair("B", &difference.b)}) {
    if (!side->front().is_replay) continue;
    notes.push_back(fmt::format(
        "{} is a replay: its files have the names that they have in the application, and each of "
        "its threads looks at its tree once before it begins",
        name));
  }
  return notes;
}

std::string textOf(const Difference& difference, std::size_t most_lines) {
  std::string out;
  for (const auto& [name, side] : {std::pair("A", &difference.a), std::pair("B", &difference.b)}) {
    for (const DifferenceRun& run : *side) {
      fmt::format_to(std::back_inserter(out), "{}: {}", name, run.trace);
      if (!run.whole) fmt::format_to(std::back_inserter(out), "; not whole: {}", run.missing);
      out += '\n';
    }
  }
  out += '\n' + verdictOf(difference) + '\n';
  for (const std::string& note : notesOf(difference)) out += note + '\n';
  out += '\n';
  appendTotals(out, difference);
  const Table tables[] = {
      {"By class", "classes", &difference.classes},
      {"By call", "calls", &difference.calls},
      {"By file", "files", &difference.files},
      {"By rank, with its I/O time", "ranks", &difference.ranks, true},
      {"By phase, with the I/O time of its slowest rank", "phases", &difference.phases, true}};
  for (const Table& table : tables) {
    appendLines(out, table, difference.isRepeated(), most_lines);
  }
  if (!difference.no_phases.empty()) out += "\nBy phase: " + difference.no_phases + '\n';
  return out;
}

std::string jsonOf(const Difference& difference) {
  return base::jsonDocument("omnio-difference", 1, {.decimals = 9}, [&](base::JsonWriter& json) {
    putMembers(json, difference);
    for (const auto& [name, lines] : kLists) {
      json.list(name, difference.*lines, [&](const DifferenceLine& line) { putLine(json, line); });
    }
  });
}

std::string pageDataOf(const Difference& difference, const DifferenceAbout& about) {
  return base::jsonDocument(
      "omnio-difference-page", 1, {.decimals = 9}, [&](base::JsonWriter& json) {
        json.put("omnio", about.version);
        json.put("made", about.made);
        json.put("all_command", about.all_command);
        putMembers(json, difference);
        for (const auto& [name, lines] : kLists) {
          std::vector<const DifferenceLine*> shown = byDifference(difference.*lines);
          shown.resize(std::min(shown.size(), kMostPhases));
          std::size_t name_bytes = 0;
          std::erase_if(shown, [&](const DifferenceLine* line) {
            name_bytes += line->name.size();
            return name_bytes > kMostNameBytes;
          });
          json.list(name, shown, [&](const DifferenceLine* line) { putLine(json, *line); });
          json.put(fmt::format("{}_left_out", name), (difference.*lines).size() - shown.size());
        }
      });
}

}  // namespace omnio::report
