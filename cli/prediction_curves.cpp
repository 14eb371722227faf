#include "cli/prediction_curves.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/text_table.hpp"
#include "report/line_plot.hpp"

namespace omnio::cli {
namespace {

using predict::Score;
using predict::ScoreTimeline;
using predict::Way;
using Bin = ScoreTimeline::Bin;

const Score& grammarOf(const Bin& bin) {
  return bin.scores[static_cast<std::size_t>(Way::kGrammar)];
}

std::optional<double> mean(double sum, std::uint64_t count) {
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

template <typename ValueOf>
report::PlotLine lineOf(std::string_view name, const ScoreTimeline& timeline, ValueOf value_of) {
  report::PlotLine line{.name = std::string(name), .values = {}};
  for (const Bin& bin : timeline.bins()) line.values.push_back(value_of(bin));
  return line;
}

// A line for each of these.
template <typename ValueOf>
std::vector<report::PlotLine> linesOf(std::span<const Way> ways, const ScoreTimeline& timeline,
                                      ValueOf value_of) {
  std::vector<report::PlotLine> lines;
  for (const Way way : ways) {
    lines.push_back(lineOf(titleOf(way), timeline, [&](const Bin& bin) {
      return value_of(bin.scores[static_cast<std::size_t>(way)]);
    }));
  }
  return lines;
}

// Lines over the operations of a thread; the axis ends at their largest value.
report::LinePlot overOperations(const ScoreTimeline& timeline, std::string title,
                                std::string value_axis, std::vector<report::PlotLine> lines) {
  double most = 0;
  for (const report::PlotLine& line : lines) {
    for (const std::optional<double>& value : line.values) most = std::max(most, value.value_or(0));
  }
  return {.title = std::move(title),
          .value_axis = std::move(value_axis),
          .most = most > 0 ? most : 1,
          .bin = static_cast<double>(timeline.width()),
          .axis = "operations of a thread",
          .lines = std::move(lines)};
}

constexpr std::array kAll = {Way::kGrammar,      Way::kSameAsLast, Way::kContiguous,
                             Way::kSameDistance, Way::kPatterns,   Way::kReadAhead};
constexpr std::span<const Way> kPredictors = std::span(kAll).first<5>();
constexpr std::array kOfContexts = {Way::kGrammar, Way::kSameAsLast};

report::LinePlot hitRatioOf(const ScoreTimeline& timeline) {
  constexpr double kNsPerS = 1e9;
  return {.title = "Hit ratio of the next operation's bytes",
          .value_axis = "hit ratio (%)",
          .bin = static_cast<double>(timeline.width()) / kNsPerS,
          .is_sparse = true,
          .lines = linesOf(kAll, timeline,
                           [](const Score& score) { return mean(score.hit[0], score.hits); })};
}

report::LinePlot contextsOf(const ScoreTimeline& timeline) {
  std::vector<report::PlotLine> lines = linesOf(kOfContexts, timeline, [](const Score& score) {
    return mean(100 * static_cast<double>(score.contexts_right), score.operations);
  });
  lines.push_back(lineOf("grammar, worst 10 in a row", timeline, [](const Bin& bin) {
    constexpr double kPercent = 100.0 / ScoreTimeline::kWindow;
    return mean(kPercent * bin.windows.least(), bin.windows.count() > 0 ? 1 : 0);
  }));
  report::LinePlot plot =
      overOperations(timeline, "Next context predicted right", "right (%)", std::move(lines));
  plot.most = 100;
  return plot;
}

report::LinePlot nextContextsOf(const ScoreTimeline& timeline) {
  const auto followed = [&](std::string_view name, double (base::Moments::*value)() const) {
    return lineOf(name, timeline, [&](const Bin& bin) {
      return mean((bin.followed.*value)(), bin.followed.count() > 0 ? 1 : 0);
    });
  };
  report::LinePlot plot = overOperations(
      timeline, "Contexts predicted right, until the first wrong one", "operations",
      {followed("on average", &base::Moments::average), followed("at most", &base::Moments::most)});
  plot.is_sparse = true;
  return plot;
}

report::LinePlot gapsOf(const ScoreTimeline& timeline) {
  constexpr double kNsPerS = 1e9;
  const auto gap = [&](std::string_view name, double Score::*sum) {
    return lineOf(name, timeline, [&](const Bin& bin) {
      return mean(grammarOf(bin).*sum / kNsPerS, grammarOf(bin).gaps);
    });
  };
  report::LinePlot plot =
      overOperations(timeline, "Time until the next operation", "time (s)",
                     {gap("observed", &Score::gap_ns), gap("predicted", &Score::gap_said_ns),
                      gap("mean error", &Score::gap_error_ns)});
  plot.log_from = 1e-7;
  return plot;
}

}  // namespace

std::vector<report::Figure> figuresOf(const predict::Prediction& prediction) {
  const ScoreTimeline& timeline = prediction.curves.by_operation;
  const report::LinePlot grammar = overOperations(
      timeline, "Size of the grammar of contexts", "symbols",
      {lineOf("largest grammar", timeline,
              [](const Bin& bin) { return std::optional(static_cast<double>(bin.symbols)); })});
  report::LinePlot sizes = overOperations(timeline, "Error of predicted sizes", "E_size",
                                          linesOf(kPredictors, timeline, [](const Score& score) {
                                            return mean(score.size_error, score.size_errors);
                                          }));
  sizes.log_from = 0.001;
  return {{"hit-ratio.svg", svgOf(hitRatioOf(prediction.curves.by_time))},
          {"contexts.svg", svgOf(contextsOf(timeline))},
          {"next-contexts.svg", svgOf(nextContextsOf(timeline))},
          {"grammar.svg", svgOf(grammar)},
          {"size-error.svg", svgOf(sizes)},
          {"gaps.svg", svgOf(gapsOf(timeline))}};
}

std::string pageDataOf(predict::Prediction prediction) {
  // Scores take ten times as many bytes as a pattern.
  constexpr std::size_t kMostScores = 50;
  constexpr std::size_t kMostFindings = 100;
  const auto shorten = [](auto& lines, std::size_t& left_out, std::size_t most) {
    if (lines.size() <= most) return;
    left_out += lines.size() - most;
    lines.resize(most);
  };
  shorten(prediction.ranks, prediction.ranks_left_out, kMostScores);
  shorten(prediction.files, prediction.files_left_out, kMostScores);
  shorten(prediction.patterns, prediction.patterns_left_out, kMostFindings);
  shorten(prediction.contexts, prediction.contexts_left_out, kMostFindings);
  return jsonOf(prediction);
}

}  // namespace omnio::cli
