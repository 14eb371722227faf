// How well the operations of a trace can be predicted: each thread's by its own model, event by
// event, seeing only the past. One pass over the events, ranks side by side; memory is for the
// models of the ranks that are read, a chunk for each of their threads, and the scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/run_window.hpp"
#include "core/tracefile/trace.hpp"
#include "predict/operations/findings.hpp"
#include "predict/operations/kept_contexts.hpp"
#include "predict/operations/rank_models.hpp"
#include "predict/operations/score_timeline.hpp"
#include "predict/operations/thread_replay.hpp"

namespace omnio::predict {

// Which operations count. Predictors see all of the ranks and threads that are chosen.
struct Selection {
  std::optional<int> rank = {};
  std::optional<unsigned> thread = {};
  std::function<bool(std::string_view path)> has_path = {};  // none: all
  std::optional<tracefile::Window> window = {};
};

// Scores over the whole run, and after the first period: of threads whose grammar stopped growing
// (Learning), after it did.
struct RunScores {
  Scores whole;
  Scores settled;

  void add(const RunScores& other);
  const Score& of(Way way) const { return whole[static_cast<std::size_t>(way)]; }
  const Score& settledOf(Way way) const { return settled[static_cast<std::size_t>(way)]; }
};

// What the models of a rank cost.
struct ModelCost {
  std::uint64_t threads = 0;  // that had operations
  std::uint64_t models = 0;   // a thread may go on with that of one that has ended
  std::uint64_t stopped = 0;  // models whose grammar stopped growing
  std::uint64_t dropped = 0;  // operations that grammars had to forget
  std::size_t symbols = 0;    // of the largest grammar, at its end
  std::size_t rules = 0;
  std::size_t most_symbols = 0;  // that one had at any time
  std::size_t bytes = 0;         // of the models of a process, at most
  UpdateTimes update_times;      // some of them

  void add(const ModelCost& other);
};

// The kernel's pages that were read ahead, and those that a read asked for later.
struct ReadAheadPages {
  std::uint64_t fetched = 0;
  std::uint64_t used = 0;
};

struct RankPrediction {
  std::string name;  // "3", or that of a process without a rank
  std::optional<int> rank;
  bool is_anew = true;  // its models have learnt from no earlier run
  RunScores scores;
  ModelCost cost;
  ReadAheadPages pages;
  std::uint64_t with_stacks = 0;  // operations that count, and whose call stack is in the trace
};

struct FilePrediction {
  std::string name;  // with "#" for numbers, where a rank has several files that differ in these
  RunScores scores;
};

// A pattern in the reads, or in the writes, of files of this name (as in FilePrediction), over all
// ranks.
struct FoundPattern {
  std::string file;
  bool writes = false;
  Findings::PatternKind kind = Findings::PatternKind::kSingle;
  std::string parameters;
  Findings::Pattern pattern;
};
struct ContextSizes {
  std::string file;
  bool writes = false;
  Findings::Sizes sizes;
};

// An earlier run that the models have learnt from.
struct LearntFrom {
  std::string path;  // as it was given
  bool is_whole = true;
  std::uint64_t operations = 0;
  std::size_t contexts = 0;  // of all ranks, at most KeptContexts::kMost
  std::size_t again = 0;     // of these, those that this run has, too
  std::vector<KeptContexts::Updated> updated = {};
};

struct Prediction {
  std::string trace;    // the directory, as it was given
  std::string version;  // of omnio
  std::optional<LearntFrom> learnt_from;
  std::size_t ahead = 1;
  tracefile::Wholeness wholeness;
  std::vector<RankPrediction> ranks;  // in order, those that have operations that count
  std::vector<FilePrediction> files;  // those with most operations first
  RunScores total;                    // of all ranks
  ModelCost cost;                     // the most of all ranks
  ReadAheadPages pages;
  std::uint64_t with_stacks = 0;
  Curves curves;
  // Those with most bytes first; of contexts, those with most transfers.
  static constexpr std::size_t kMostListed = 1000;
  std::vector<FoundPattern> patterns;
  std::vector<ContextSizes> contexts;
  std::size_t ranks_left_out = 0;  // of a page
  std::size_t files_left_out = 0;
  std::size_t patterns_left_out = 0;
  std::size_t contexts_left_out = 0;
  std::uint64_t bytes_moved = 0;               // by all transfers that count
  std::uint64_t accesses_without_pattern = 0;  // that were forgotten, since memory is bounded

  // Whether much was predicted wrong, and contexts are told apart by call and file alone, since no
  // call stacks were recorded: they may be what tells the wrong ones apart.
  bool lacksStacks() const;
};

// Takes what the models of a rank know at the end, for the next run. Several threads may call it at
// a time.
using KeepModels = std::function<void(RankKey rank, RankModels models)>;

// Fails where the rank or thread does not exist, and where there are fewer than two operations.
// With `earlier`, models go on with what they learnt there; fails where that is of another
// application, or cannot be read.
base::Result<Prediction> predictOperations(const tracefile::Trace& trace,
                                           const Selection& selection, std::size_t ahead,
                                           const EarlierRun* earlier = nullptr,
                                           const KeepModels& keep = {});

// Tables for people.
std::string textOf(const Prediction& prediction);
// A document for programs: docs/formats/prediction.md.
std::string jsonOf(const Prediction& prediction);

}  // namespace omnio::predict
