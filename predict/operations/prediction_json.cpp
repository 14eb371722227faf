#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "predict/operations/prediction.hpp"

namespace omnio::predict {
namespace {

// The parts of documents are rounded to so many digits after the point.
constexpr int kDecimals = 6;

std::optional<double> mean(double sum, std::uint64_t count) {
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

class Document {
 public:
  Document(base::JsonWriter& json, const Prediction& prediction)
      : json_(json), prediction_(prediction) {}

  void put() {
    json_.put("omnio", prediction_.version);
    json_.object("trace", [&] {
      const tracefile::Wholeness& whole = prediction_.wholeness;
      json_.put("path", base::printable(prediction_.trace));
      json_.put("whole", whole.whole);
      json_.put("reasons", whole.reasons);
      json_.put("events", whole.events);
      json_.put("processes", whole.processes);
      json_.put("ranks_expected", whole.ranks_expected);
      json_.put("ranks_reporting", whole.ranks_reporting);
    });
    if (const auto& from = prediction_.learnt_from) {
      json_.object("learnt_from", [&] {
        json_.put("path", base::printable(from->path));
        json_.put("whole", from->is_whole);
        json_.put("operations", from->operations);
        json_.put("contexts", from->contexts);
        json_.put("contexts_again", from->again);
        json_.list("updated", from->updated, [&](const KeptContexts::Updated& module) {
          json_.object([&] {
            json_.put("path", base::printable(module.path));
            json_.put("contexts", module.contexts);
          });
        });
      });
    }
    json_.object("stacks", [&] {
      json_.put("operations", prediction_.with_stacks);
      json_.put("may_help", prediction_.lacksStacks());
    });
    std::vector<std::size_t> ahead;
    for (std::size_t n = 1; n <= prediction_.ahead; n *= 2) ahead.push_back(n);
    json_.put("ahead", ahead);
    json_.object("total", [&] {
      put(prediction_.total);
      put(prediction_.cost, prediction_.pages);
    });
    json_.list("ranks", prediction_.ranks, [&](const RankPrediction& rank) {
      json_.object([&] {
        json_.put("name", base::printable(rank.name));
        json_.put("rank", rank.rank);
        if (prediction_.learnt_from) json_.put("learnt_before", !rank.is_anew);
        put(rank.scores);
        put(rank.cost, rank.pages);
      });
    });
    json_.put("ranks_left_out", prediction_.ranks_left_out);
    json_.list("files", prediction_.files, [&](const FilePrediction& file) {
      json_.object([&] {
        json_.put("name", base::printable(file.name));
        put(file.scores);
      });
    });
    json_.put("files_left_out", prediction_.files_left_out);
    json_.object("timeline", [&] {
      json_.put("bin_ns", prediction_.curves.by_time.width());
      putWays(prediction_.curves.by_time, hitRatio);
    });
    json_.object("curves", [&] { putCurves(); });
    putPatterns();
    putContexts();
  }

 private:
  void put(const RunScores& scores) {
    json_.object("whole_run", [&] { put(scores.whole); });
    json_.object("after_first_period", [&] { put(scores.settled); });
  }

  void put(const Scores& scores) {
    for (std::size_t way = 0; way < kWays; ++way) {
      json_.object(nameOf(static_cast<Way>(way)), [&] { put(scores[way]); });
    }
  }

  void put(const Score& score) {
    json_.put("operations", score.operations);
    json_.put("contexts_right", score.contexts_right);
    json_.put("whole_right", score.whole_right);
    json_.put("sized", score.sized);
    json_.put("sizes_right", score.sizes_right);
    json_.put("size_error", mean(score.size_error, score.size_errors));
    json_.put("placed", score.placed);
    json_.put("offsets_right", score.offsets_right);
    json_.put("segments", score.hits);
    std::vector<std::optional<double>> ratios;
    for (std::size_t i = 0; (std::size_t{1} << i) <= prediction_.ahead; ++i) {
      ratios.push_back(mean(score.hit[i], score.hits));
    }
    json_.list("hit_ratio", ratios, [&](const auto& ratio) { json_.value(ratio); });
    json_.put("gaps", score.gaps);
    json_.put("gap_ns", mean(score.gap_ns, score.gaps));
    json_.put("gap_predicted_ns", mean(score.gap_said_ns, score.gaps));
    json_.put("gap_error_ns", mean(score.gap_error_ns, score.gaps));
  }

  void put(const ModelCost& cost, const ReadAheadPages& pages) {
    json_.object("model", [&] {
      json_.put("threads", cost.threads);
      json_.put("models", cost.models);
      json_.put("models_that_stopped_growing", cost.stopped);
      json_.put("symbols", cost.symbols);
      json_.put("rules", cost.rules);
      json_.put("most_symbols", cost.most_symbols);
      json_.put("forgotten_operations", cost.dropped);
      json_.put("bytes", cost.bytes);
      json_.put("update_ns", cost.update_times.median());
    });
    json_.object("read_ahead_pages", [&] {
      json_.put("fetched", pages.fetched);
      json_.put("used", pages.used);
    });
  }

  static std::optional<double> hitRatio(const Score& score) {
    return mean(score.hit[0], score.hits);
  }

  // A value of each bin.
  template <typename ValueOf>
  void putBins(std::string_view name, const ScoreTimeline& timeline, ValueOf value_of) {
    json_.list(name, timeline.bins(), [&](const auto& bin) { json_.value(value_of(bin)); });
  }
  template <typename ValueOf>
  void putWays(const ScoreTimeline& timeline, ValueOf value_of) {
    for (std::size_t way = 0; way < kWays; ++way) {
      putBins(nameOf(static_cast<Way>(way)), timeline,
              [&](const ScoreTimeline::Bin& bin) { return value_of(bin.scores[way]); });
    }
  }

  void putCurves() {
    using Bin = ScoreTimeline::Bin;
    const ScoreTimeline& timeline = prediction_.curves.by_operation;
    const auto least = [](const base::Moments& of) {
      return of.count() == 0 ? std::nullopt : std::optional(of.least());
    };
    const auto average = [](const base::Moments& of) {
      return of.count() == 0 ? std::nullopt : std::optional(of.average());
    };
    const auto most = [](const base::Moments& of) {
      return of.count() == 0 ? std::nullopt : std::optional(of.most());
    };
    json_.put("operations", timeline.width());
    json_.object("contexts_right", [&] {
      putWays(timeline, [](const Score& score) {
        return mean(100 * static_cast<double>(score.contexts_right), score.operations);
      });
    });
    json_.put("window", ScoreTimeline::kWindow);
    putBins("window_average", timeline, [&](const Bin& bin) { return average(bin.windows); });
    putBins("window_least", timeline, [&](const Bin& bin) { return least(bin.windows); });
    putBins("followed_average", timeline, [&](const Bin& bin) { return average(bin.followed); });
    putBins("followed_most", timeline, [&](const Bin& bin) { return most(bin.followed); });
    putBins("symbols", timeline, [](const Bin& bin) { return bin.symbols; });
    json_.object("size_error", [&] {
      putWays(timeline,
              [](const Score& score) { return mean(score.size_error, score.size_errors); });
    });
    const auto gap = [&](std::string_view name, double Score::*sum) {
      putBins(name, timeline, [&](const Bin& bin) {
        const Score& own = bin.scores[static_cast<std::size_t>(Way::kGrammar)];
        return mean(own.*sum, own.gaps);
      });
    };
    gap("gap_ns", &Score::gap_ns);
    gap("gap_predicted_ns", &Score::gap_said_ns);
    gap("gap_error_ns", &Score::gap_error_ns);
  }

  void putPatterns() {
    json_.list("patterns", prediction_.patterns, [&](const FoundPattern& found) {
      json_.object([&] {
        putFile(found.file, found.writes);
        json_.put("kind", pattern::access::nameOf(found.kind));
        json_.put("parameters", found.parameters);
        json_.put("times", found.pattern.times);
        json_.put("first_offset", found.pattern.first);
        json_.put("last_offset", found.pattern.last);
        json_.put("accesses", found.pattern.accesses);
        json_.put("bytes", found.pattern.bytes);
        json_.put("share", mean(static_cast<double>(found.pattern.bytes), prediction_.bytes_moved));
      });
    });
    json_.put("patterns_left_out", prediction_.patterns_left_out);
    json_.put("accesses_without_pattern", prediction_.accesses_without_pattern);
  }

  void putContexts() {
    json_.list("contexts", prediction_.contexts, [&](const ContextSizes& found) {
      const base::Moments& bytes = found.sizes.bytes;
      json_.object([&] {
        putFile(found.file, found.writes);
        json_.put("count", bytes.count());
        json_.put("different", found.sizes.different.size());
        json_.put("min", std::llround(bytes.least()));
        json_.put("average", bytes.average());
        json_.put("standard_deviation", bytes.deviation());
        json_.put("max", std::llround(bytes.most()));
      });
    });
    json_.put("contexts_left_out", prediction_.contexts_left_out);
  }
  void putFile(const std::string& file, bool writes) {
    json_.put("file", base::printable(file));
    json_.put("call", writes ? "write" : "read");
  }

  base::JsonWriter& json_;
  const Prediction& prediction_;
};

}  // namespace

std::string jsonOf(const Prediction& prediction) {
  return base::jsonDocument("omnio-prediction", 1,
                            {.indent = 1, .lists_on_one_line = false, .decimals = kDecimals},
                            [&](auto& json) { Document(json, prediction).put(); });
}

}  // namespace omnio::predict
