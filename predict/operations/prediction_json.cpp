#include <algorithm>
#include <optional>
#include <string>
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
    json_.list("files", prediction_.files, [&](const FilePrediction& file) {
      json_.object([&] {
        json_.put("name", base::printable(file.name));
        put(file.scores);
      });
    });
    json_.object("timeline", [&] { putTimeline(); });
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

  void putTimeline() {
    const HitTimeline& timeline = prediction_.timeline;
    json_.put("bin_ns", timeline.binNs());
    for (std::size_t way = 0; way < kWays; ++way) {
      json_.list(nameOf(static_cast<Way>(way)), timeline.bins(), [&](const HitTimeline::Bin& bin) {
        json_.value(mean(bin.hit[way], bin.hits[way]));
      });
    }
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
