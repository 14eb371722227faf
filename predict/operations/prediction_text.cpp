#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "predict/operations/prediction.hpp"

namespace omnio::predict {
namespace {

using Row = std::vector<std::string>;

// Of many ranks or files, so many are shown.
constexpr std::size_t kMostLines = 24;

std::string share(double part, std::uint64_t all) {
  return all == 0 ? "-" : fmt::format("{:.1f} %", percent(part, all));
}
std::string share(std::uint64_t part, std::uint64_t all) {
  return share(static_cast<double>(part), all);
}
// E_size, as a part of the size.
std::string sizeError(const Score& score) {
  return score.size_errors == 0
             ? "-"
             : fmt::format("{:.3f}", score.size_error / static_cast<double>(score.size_errors));
}
std::string hit(const Score& score, std::size_t distance) {
  return score.hits == 0
             ? "-"
             : fmt::format("{:.1f} %", score.hit[distance] / static_cast<double>(score.hits));
}
std::string time(double ns) { return base::humanNs(ns); }

std::vector<std::size_t> distancesOf(const Prediction& prediction) {
  std::vector<std::size_t> distances;
  for (std::size_t i = 0; (std::size_t{1} << i) <= prediction.ahead; ++i) distances.push_back(i);
  return distances;
}

void appendWays(std::string& out, const Prediction& prediction, std::string_view title,
                const Scores& scores) {
  if (scores.front().operations == 0) return;
  fmt::format_to(std::back_inserter(out), "\n{}\n", title);
  const std::vector<std::size_t> distances = distancesOf(prediction);
  std::vector<Row> rows = {{"operations", "context", "whole", "size", "E_size", "offset"}};
  for (const std::size_t i : distances) {
    rows.front().push_back(
        fmt::format("{} {}", i == 0 ? "hit: next" : "next", std::size_t{1} << i));
  }
  rows.front().emplace_back("predicted by");
  for (std::size_t way = 0; way < kWays; ++way) {
    const Score& score = scores[way];
    const bool is_read_ahead = static_cast<Way>(way) == Way::kReadAhead;
    if (score.operations == 0) continue;
    Row row = {fmt::format("{}", score.operations),
               is_read_ahead ? "-" : share(score.contexts_right, score.operations),
               is_read_ahead ? "-" : share(score.whole_right, score.operations),
               share(score.sizes_right, score.sized),
               sizeError(score),
               share(score.offsets_right, score.placed)};
    for (const std::size_t i : distances) {
      row.push_back(is_read_ahead && i > 0 ? "-" : hit(score, i));
    }
    row.emplace_back(titleOf(static_cast<Way>(way)));
    rows.push_back(std::move(row));
  }
  base::appendTable(out, rows, base::Align::kRight);
}

Row lineOf(const Prediction& prediction, const RunScores& scores, std::string name) {
  const Score& own = scores.of(Way::kGrammar);
  const Score& contiguous = scores.of(Way::kContiguous);
  const Score& settled = scores.settledOf(Way::kGrammar);
  const std::size_t furthest = distancesOf(prediction).back();
  return {fmt::format("{}", own.operations),
          share(own.contexts_right, own.operations),
          share(own.sizes_right, own.sized),
          share(own.offsets_right, own.placed),
          hit(own, 0),
          hit(own, furthest),
          share(settled.operations, own.operations),
          share(settled.offsets_right, settled.placed),
          hit(settled, 0),
          share(contiguous.offsets_right, contiguous.placed),
          hit(contiguous, 0),
          std::move(name)};
}

template <typename Line>
void appendLines(std::string& out, const Prediction& prediction, const std::vector<Line>& lines,
                 std::string_view title, std::string_view what) {
  fmt::format_to(std::back_inserter(out),
                 "\n{}: the grammar over the whole run, then after its first period, then "
                 "\"contiguous\" over the whole run\n",
                 title);
  std::vector<Row> rows = {
      {"operations", "context", "size", "offset", "hit: next 1",
       fmt::format("next {}", std::size_t{1} << distancesOf(prediction).back()), "after", "offset",
       "hit: next 1", "offset", "hit: next 1", std::string(what)}};
  for (const Line& line : lines) {
    if (rows.size() > kMostLines) break;
    rows.push_back(lineOf(prediction, line.scores, line.name));
  }
  base::appendTable(out, rows, base::Align::kRight);
  if (lines.size() > kMostLines) {
    fmt::format_to(std::back_inserter(out), "and {} more, which --json has\n",
                   lines.size() - kMostLines);
  }
}

std::string_view wordOf(bool writes) { return writes ? "write" : "read"; }

void appendLeftOut(std::string& out, std::size_t lines, std::size_t left_out) {
  if (lines > kMostLines) left_out += lines - kMostLines;
  if (left_out > 0) {
    fmt::format_to(std::back_inserter(out), "and {} more; --json has the first {}\n", left_out,
                   Prediction::kMostListed);
  }
}

void appendPatterns(std::string& out, const Prediction& prediction) {
  if (prediction.patterns.empty()) return;
  out += "\nAccess patterns, and their part of the bytes that were moved\n";
  std::vector<Row> rows = {
      {"share", "accesses", "times", "from", "to", "call", "pattern", "parameters", "file"}};
  for (const FoundPattern& found : prediction.patterns) {
    if (rows.size() > kMostLines) break;
    const Findings::Pattern& of = found.pattern;
    const bool is_moving = of.accesses > 0;
    rows.push_back({is_moving ? share(of.bytes, prediction.bytes_moved) : "-",
                    is_moving ? fmt::format("{}", of.accesses) : "-", fmt::format("{}", of.times),
                    fmt::format("{}", of.first), fmt::format("{}", of.last),
                    std::string(wordOf(found.writes)), pattern::access::nameOf(found.kind),
                    found.parameters, base::printable(found.file)});
  }
  base::appendTable(out, rows, base::Align::kRight);
  appendLeftOut(out, prediction.patterns.size(), prediction.patterns_left_out);
  if (const std::uint64_t forgotten = prediction.accesses_without_pattern; forgotten > 0) {
    fmt::format_to(std::back_inserter(out),
                   "{} had patterns that were forgotten, since their memory is bounded\n",
                   base::counted(forgotten, "access", "accesses"));
  }
}

void appendContexts(std::string& out, const Prediction& prediction) {
  if (prediction.contexts.empty()) return;
  out += "\nSizes of transfers, by context\n";
  std::vector<Row> rows = {
      {"transfers", "different", "min", "avg", "std dev", "max", "call", "file"}};
  for (const ContextSizes& found : prediction.contexts) {
    if (rows.size() > kMostLines) break;
    const base::Moments& bytes = found.sizes.bytes;
    const std::size_t different = found.sizes.different.size();
    const bool has_too_many = different > Findings::Sizes::kMostDifferent;
    rows.push_back(
        {fmt::format("{}", bytes.count()),
         fmt::format("{}{}", has_too_many ? ">" : "", different - (has_too_many ? 1 : 0)),
         base::humanBytes(bytes.least()), base::humanBytes(bytes.average()),
         base::humanBytes(bytes.deviation()), base::humanBytes(bytes.most()),
         std::string(wordOf(found.writes)), base::printable(found.file)});
  }
  base::appendTable(out, rows, base::Align::kRight);
  appendLeftOut(out, prediction.contexts.size(), prediction.contexts_left_out);
}

void appendHead(std::string& out, const Prediction& prediction) {
  const auto into = std::back_inserter(out);
  const tracefile::Wholeness& whole = prediction.wholeness;
  fmt::format_to(into, "Trace {}: {}, {}, {} of {}\n", base::printable(prediction.trace),
                 base::counted(whole.events, "event", "events"),
                 base::counted(whole.processes, "process", "processes"), whole.ranks_reporting,
                 base::counted(static_cast<std::uint64_t>(whole.ranks_expected), "rank", "ranks"));
  fmt::format_to(into, "Whole: {}; {}\n", whole.whole ? "yes" : "no",
                 tracefile::missingSentence(whole));
  const Score& total = prediction.total.of(Way::kGrammar);
  fmt::format_to(into, "Predicted: {} of {}, each from those of its thread before it\n",
                 base::counted(total.operations, "operation", "operations"),
                 base::counted(prediction.cost.threads, "thread", "threads"));
  if (prediction.lacksStacks()) {
    fmt::format_to(into,
                   "Call stacks were not recorded, and may help: what a library calls for many "
                   "places of a program is one context without them (omnio trace "
                   "--callstack=auto)\n");
  }
}

void appendLearntFrom(std::string& out, const Prediction& prediction) {
  if (!prediction.learnt_from) return;
  const LearntFrom& from = *prediction.learnt_from;
  const auto into = std::back_inserter(out);
  fmt::format_to(into, "Learnt before: from {}, {} and {}, of which this run has {}\n",
                 base::printable(from.path),
                 base::counted(from.operations, "operation", "operations"),
                 base::counted(from.contexts, "context", "contexts"), from.again);
  for (const KeptContexts::Updated& module : from.updated) {
    fmt::format_to(
        into, "  {} was updated since: {} went through it, and what they taught is of no use\n",
        base::printable(module.path), base::counted(module.contexts, "context", "contexts"));
  }
  const auto anew = std::ranges::count_if(prediction.ranks, &RankPrediction::is_anew);
  if (anew > 0) {
    fmt::format_to(into, "  {} of {} had to begin anew: it has no such rank\n", anew,
                   base::counted(prediction.ranks.size(), "rank", "ranks"));
  }
}

void appendCost(std::string& out, const Prediction& prediction) {
  const auto into = std::back_inserter(out);
  const ModelCost& cost = prediction.cost;
  fmt::format_to(into, "\nGrammar: at most {} at any time; the largest has {} in {} at its end\n",
                 base::counted(cost.most_symbols, "symbol", "symbols"),
                 base::counted(cost.symbols, "symbol", "symbols"),
                 base::counted(cost.rules, "rule", "rules"));
  fmt::format_to(into, "  It stopped growing in {} of {}\n", cost.stopped,
                 base::counted(cost.models, "model", "models"));
  if (cost.dropped > 0) {
    fmt::format_to(into, "  {} had to be forgotten, since its memory is bounded\n",
                   base::counted(cost.dropped, "operation", "operations"));
  }
  fmt::format_to(into, "Memory of the models of a process: at most {}\n",
                 base::humanBytes(static_cast<double>(cost.bytes)));
  if (const std::optional<std::uint64_t> median = cost.update_times.median()) {
    fmt::format_to(into, "An update of a model takes {} (median)\n",
                   time(static_cast<double>(*median)));
  }
  const Score& own = prediction.total.of(Way::kGrammar);
  if (own.gaps > 0) {
    const auto gaps = static_cast<double>(own.gaps);
    fmt::format_to(into,
                   "Time until the next operation: {} on average, and predicted with an error of "
                   "{} on average\n",
                   time(own.gap_ns / gaps), time(own.gap_error_ns / gaps));
  }
  if (prediction.pages.fetched > 0) {
    fmt::format_to(into, "The kernel's read-ahead: {} of {} that were read ahead were asked for\n",
                   prediction.pages.used, base::counted(prediction.pages.fetched, "page", "pages"));
  }
}

}  // namespace

std::string textOf(const Prediction& prediction) {
  std::string out;
  appendHead(out, prediction);
  appendLearntFrom(out, prediction);
  appendWays(out, prediction, "The whole run", prediction.total.whole);
  const Score& own = prediction.total.of(Way::kGrammar);
  const Score& settled = prediction.total.settledOf(Way::kGrammar);
  appendWays(out, prediction,
             fmt::format("After the first period: {} of the operations",
                         share(settled.operations, own.operations)),
             prediction.total.settled);
  appendLines(out, prediction, prediction.ranks, "Ranks", "rank");
  appendLines(out, prediction, prediction.files, "Files", "file");
  appendPatterns(out, prediction);
  appendContexts(out, prediction);
  appendCost(out, prediction);
  return out;
}

}  // namespace omnio::predict
