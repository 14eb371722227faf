#include "predict/operations/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/event/event.hpp"
#include "predict/operations/earlier_run.hpp"
#include "predict/operations/rank_run.hpp"

namespace omnio::predict {
namespace {

// Families of files that have scores of their own, in a process, and in all. Those beyond are one.
constexpr std::size_t kMostFamilies = 4096;
constexpr std::size_t kMostNames = 4 * kMostFamilies;
constexpr std::size_t kMostFindings = 1024;  // of these that have findings of their own
constexpr std::string_view kOthers = "(other files)";

// Replays one rank.
class RankReplay {
 public:
  // With `earlier`, models go on with what they learnt there.
  RankReplay(const Processes& processes, const Selection& selection, std::size_t ahead,
             std::int64_t run_start_ns, Curves& curves, RankModels* earlier)
      : selection_(selection),
        ahead_(ahead),
        run_start_ns_(run_start_ns),
        curves_(curves),
        earlier_(earlier),
        run_(processes, selection.thread),
        threads_(processes.size()),
        files_(processes.size()),
        findings_(processes.size()) {
    if (earlier != nullptr) run_.goOnWith(*earlier);
  }

  // Where there is an earlier run, or a later one.
  void keepContexts() { run_.keepContexts(contexts); }

  void replay() {
    while (const Operation* const operation = run_.next()) take(*operation);
    cost.threads = run_.threads();
    for (std::size_t process = 0; process < threads_.size(); ++process) {
      cost.bytes = std::max(cost.bytes, run_.modelsOf(process).mostBytes());
      for (const auto& [number, thread] : threads_[process]) finish(process, *thread);
    }
  }

  // After the replay: what models know for the next run.
  RankModels kept() {
    RankModels kept = run_.finish();
    kept.contexts = contexts;
    if (earlier_ != nullptr) {
      kept.operations += earlier_->operations;
      kept.contexts.goOnWith(earlier_->contexts);
    }
    return kept;
  }

  RunScores scores;
  ModelCost cost;
  ReadAheadPages pages;
  std::uint64_t with_stacks = 0;
  KeptContexts contexts;

  std::uint64_t seen() const { return run_.operations(); }  // whether they count or not
  std::uint64_t undecodable() const { return run_.undecodable(); }

  // put(name, scores) for each file, or family of files, of each process.
  template <typename Put>
  void eachFile(Put put) const {
    for (std::size_t process = 0; process < files_.size(); ++process) {
      for (std::size_t family = 0; family < files_[process].size(); ++family) {
        const RunScores& file = files_[process][family];
        if (file.of(Way::kGrammar).operations > 0) {
          const FileSlots& slots = run_.slotsOf(process);
          put(family < kMostFamilies ? slots.nameOf(family) : kOthers, file);
        }
      }
    }
  }
  // put(name, writes, findings) for what was found in the reads, or in the writes, of each of
  // these.
  template <typename Put>
  void eachFinding(Put put) const {
    for (std::size_t process = 0; process < findings_.size(); ++process) {
      const FileSlots& slots = run_.slotsOf(process);
      for (const auto& [key, found] : findings_[process]) {
        const auto& [family, writes] = key;
        put(family < kMostFamilies ? slots.nameOf(family) : kOthers, writes, found);
      }
    }
  }

 private:
  using Phased = std::array<PhasedScore, kWays>;
  struct Thread {
    Thread(std::size_t ahead, ProcessModels& models, std::size_t number)
        : replay(ahead, models, number) {}
    ThreadReplay replay;
    Phased all;
    std::map<std::size_t, Phased> files;  // by family
  };

  bool counts(const Operation& operation) {
    if (const auto& window = selection_.window) {
      const std::int64_t time_ns = operation.start_ns - run_start_ns_;
      if (window->from_ns > 0 && time_ns < window->from_ns) return false;
      if (window->to_ns && time_ns >= *window->to_ns) return false;
    }
    return hasPath(operation);
  }

  bool hasPath(const Operation& operation) {
    if (!selection_.has_path) return true;
    const auto file = static_cast<std::size_t>(operation.file);
    if (file >= has_file_.size()) has_file_.resize(file + 1);
    if (!has_file_[file]) has_file_[file] = selection_.has_path(run_.path(operation.file));
    return *has_file_[file];
  }

  void take(const Operation& operation) {
    const std::size_t process = run_.process();
    std::unique_ptr<Thread>& thread = threads_[process][run_.model()];
    if (!thread) {
      thread = std::make_unique<Thread>(ahead_, run_.modelsOf(process), run_.model());
      thread->replay.setTakeFound([this, process](const Operation& last, const auto& patterns) {
        if (hasPath(last)) findingsOf(process, last).take(patterns);
      });
    }
    ThreadReplay& replay = thread->replay;
    const Scores& one = replay.take(operation);
    if (!counts(operation)) return;
    if (operation.has_stack) ++with_stacks;
    addToCurves(operation, replay, one);
    if (operation.has_size) findingsOf(process, operation).take(operation.context, operation.bytes);
    const std::size_t family = familyOf(process, operation);
    Phased& file = thread->files[family];
    for (std::size_t way = 0; way < kWays; ++way) {
      thread->all[way].add(one[way], replay.learning());
      file[way].add(one[way], replay.learning());
    }
  }

  std::size_t familyOf(std::size_t process, const Operation& operation) const {
    return std::min(run_.slotsOf(process).familyOf(operation.slot), kMostFamilies);
  }
  Findings& findingsOf(std::size_t process, const Operation& operation) {
    auto& findings = findings_[process];
    std::pair<std::size_t, bool> key = {familyOf(process, operation),
                                        operation.kind == Kind::kWrite};
    if (findings.size() >= kMostFindings && !findings.contains(key)) key.first = kMostFamilies;
    return findings[key];
  }

  void addToCurves(const Operation& operation, const ThreadReplay& replay, const Scores& one) {
    ScoreTimeline::Bin& in_time = curves_.by_time.at(operation.start_ns - run_start_ns_);
    ScoreTimeline::Bin& bin =
        curves_.by_operation.at(static_cast<std::int64_t>(replay.operations()) - 1);
    for (std::size_t way = 0; way < kWays; ++way) {
      in_time.scores[way].add(one[way]);
      bin.scores[way].add(one[way]);
    }
    bin.symbols = std::max(bin.symbols, replay.symbols());
    if (const auto right = replay.rightOfWindow()) bin.windows.add(*right);
    addFollowed(replay);
  }
  void addFollowed(const ThreadReplay& replay) {
    if (const auto& found = replay.followed()) {
      curves_.by_operation.at(static_cast<std::int64_t>(found->since))
          .followed.add(static_cast<double>(found->right));
    }
  }

  static void put(Phased& from, const Learning& learning, bool has_stopped, RunScores& to) {
    for (std::size_t way = 0; way < kWays; ++way) {
      to.whole[way].add(from[way].whole());
      if (has_stopped) to.settled[way].add(from[way].settled(learning));
    }
  }

  void finish(std::size_t process, Thread& thread) {
    thread.replay.finish();
    const ThreadReplay& replay = thread.replay;
    addFollowed(replay);
    const ProcessModels::Grammar grammar = replay.grammar();
    const bool has_stopped =
        grammar.forgotten == 0 && replay.learning().hasStopped(replay.operations());
    cost.add({.models = 1,
              .stopped = has_stopped ? 1U : 0U,
              .dropped = grammar.forgotten,
              .symbols = grammar.symbols,
              .rules = grammar.rules,
              .most_symbols = replay.mostSymbols(),
              .update_times = replay.updateTimes()});
    pages.fetched += replay.readAhead().fetchedPages();
    pages.used += replay.readAhead().usedPages();
    put(thread.all, replay.learning(), has_stopped, scores);
    if (!thread.files.empty()) {
      const std::size_t needed = thread.files.rbegin()->first + 1;
      if (files_[process].size() < needed) files_[process].resize(needed);
    }
    for (auto& [family, phased] : thread.files) {
      put(phased, replay.learning(), has_stopped, files_[process][family]);
    }
  }

  const Selection& selection_;
  std::size_t ahead_;
  std::int64_t run_start_ns_;
  Curves& curves_;
  RankModels* earlier_;
  RankRun run_;
  // By process and model: a thread may go on with that of one that has ended.
  std::vector<std::map<std::size_t, std::unique_ptr<Thread>>> threads_;
  std::vector<std::vector<RunScores>> files_;  // by process and family
  // By process, family, and whether they are writes.
  std::vector<std::map<std::pair<std::size_t, bool>, Findings>> findings_;
  std::vector<std::optional<bool>> has_file_;  // by FileId
};

std::string nameOfRank(const Processes& processes, std::optional<int> rank) {
  return rank ? fmt::format("{}", *rank) : processes.front()->name();
}

// Puts together what the ranks had, in whichever order they came to it.
class Collector {
 public:
  Collector(Prediction& prediction, std::size_t ranks) : prediction_(prediction), ranks_(ranks) {}

  void add(std::size_t place, RankPrediction&& rank, const RankReplay& replay,
           const RankModels* earlier) {
    seen_ += replay.seen();
    contexts_.take(replay.contexts);
    if (earlier != nullptr) {
      prediction_.learnt_from->operations += earlier->operations;
      earlier_.take(earlier->contexts);
    }
    rank.is_anew = earlier == nullptr;
    undecodable_ += replay.undecodable();
    replay.eachFile([&](std::string_view name, const RunScores& scores) {
      const auto found = files_.find(name);
      if (found != files_.end()) {
        found->second.add(scores);
      } else {
        files_[std::string(files_.size() < kMostNames ? name : kOthers)].add(scores);
      }
    });
    replay.eachFinding([&](std::string_view name, bool writes, const Findings& found) {
      const bool has_room =
          findings_.size() < kMostFindings || findings_.contains({std::string(name), writes});
      findings_[{std::string(has_room ? name : kOthers), writes}].add(found);
    });
    ranks_[place] = std::move(rank);
  }

  std::uint64_t seen() const { return seen_; }

  void finish() {
    for (RankPrediction& rank : ranks_) {
      if (rank.scores.of(Way::kGrammar).operations == 0) continue;
      prediction_.total.add(rank.scores);
      prediction_.cost.add(rank.cost);
      prediction_.pages.fetched += rank.pages.fetched;
      prediction_.pages.used += rank.pages.used;
      prediction_.with_stacks += rank.with_stacks;
      prediction_.ranks.push_back(std::move(rank));
    }
    for (auto& [name, scores] : files_) prediction_.files.push_back({name, scores});
    std::ranges::stable_sort(prediction_.files, std::ranges::greater(), [](const auto& file) {
      return file.scores.of(Way::kGrammar).operations;
    });
    listFindings();
    tracefile::addUndecodable(prediction_.wholeness, undecodable_);
    if (std::optional<LearntFrom>& from = prediction_.learnt_from) {
      from->contexts = earlier_.size();
      from->again = earlier_.countIn(contexts_);
      from->updated = earlier_.updatedIn(contexts_);
    }
  }

 private:
  void listFindings() {
    for (const auto& [key, found] : findings_) {
      const auto& [file, writes] = key;
      for (const auto& [of, pattern] : found.patterns()) {
        prediction_.patterns.push_back({file, writes, of.first, of.second, pattern});
      }
      for (const auto& [context, sizes] : found.sizes()) {
        prediction_.contexts.push_back({file, writes, sizes});
        prediction_.bytes_moved += static_cast<std::uint64_t>(
            std::llround(sizes.bytes.average() * static_cast<double>(sizes.bytes.count())));
      }
      prediction_.accesses_without_pattern += found.forgotten();
    }
    prediction_.patterns_left_out = keepFirst(
        prediction_.patterns, [](const FoundPattern& found) { return found.pattern.bytes; });
    prediction_.contexts_left_out = keepFirst(
        prediction_.contexts, [](const ContextSizes& found) { return found.sizes.bytes.count(); });
  }

  // Those with the largest values; how many are left out.
  template <typename Line, typename ValueOf>
  static std::size_t keepFirst(std::vector<Line>& lines, ValueOf value_of) {
    std::ranges::stable_sort(lines, std::ranges::greater(), value_of);
    const std::size_t all = lines.size();
    if (all > Prediction::kMostListed) lines.resize(Prediction::kMostListed);
    return all - lines.size();
  }

  Prediction& prediction_;
  std::vector<RankPrediction> ranks_;
  std::map<std::pair<std::string, bool>, Findings> findings_;  // by file, and whether of writes
  std::map<std::string, RunScores, std::less<>> files_;
  KeptContexts contexts_;
  KeptContexts earlier_;
  std::uint64_t seen_ = 0;
  std::uint64_t undecodable_ = 0;
};

}  // namespace

void RunScores::add(const RunScores& other) {
  for (std::size_t way = 0; way < kWays; ++way) {
    whole[way].add(other.whole[way]);
    settled[way].add(other.settled[way]);
  }
}

bool Prediction::lacksStacks() const {
  constexpr double kMuch = 95;  // per cent that are right
  const Score& own = total.of(Way::kGrammar);
  return with_stacks == 0 && (percent(static_cast<double>(own.offsets_right), own.placed) < kMuch ||
                              percent(static_cast<double>(own.sizes_right), own.sized) < kMuch);
}

void ModelCost::add(const ModelCost& other) {
  threads += other.threads;
  models += other.models;
  stopped += other.stopped;
  dropped += other.dropped;
  if (other.symbols > symbols) {
    symbols = other.symbols;
    rules = other.rules;
  }
  most_symbols = std::max(most_symbols, other.most_symbols);
  bytes = std::max(bytes, other.bytes);
  update_times.add(other.update_times);
}

base::Result<Prediction> predictOperations(const tracefile::Trace& trace,
                                           const Selection& selection, std::size_t ahead,
                                           const EarlierRun* earlier, const KeepModels& keep) {
  const base::Result<Processes> processes = trace.processesOf(selection.rank, selection.thread);
  if (!processes) return processes.failure();
  Prediction prediction;
  prediction.trace = trace.directory().native();
  prediction.ahead = std::clamp<std::size_t>(ahead, 1, kMostAhead);
  prediction.wholeness = tracefile::assess(trace);
  if (const auto same = checkApplication(trace, earlier); !same) return same.failure();
  if (earlier != nullptr) {
    prediction.learnt_from = {.path = earlier->path(), .is_whole = earlier->isWhole()};
  }
  const auto ranks = byRank(trace, *processes);
  const std::int64_t start_ns = tracefile::startOfRun(trace);
  Collector collector(prediction, ranks.size());
  std::optional<base::Failure> unread;
  {
    const base::ProgressStage stage("predicting", "events", tracefile::storedEvents(*processes));
#pragma omp parallel
    {
      Curves curves;
#pragma omp for schedule(dynamic)
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto& [key, of_rank] = ranks[i];
        const base::Result<std::unique_ptr<RankModels>> learnt = modelsFor(earlier, key);
        if (!learnt) {
#pragma omp critical(omnio_predict_collect)
          unread = learnt.failure();
          continue;
        }
        RankReplay replay(of_rank, selection, prediction.ahead, start_ns, curves, learnt->get());
        if (*learnt != nullptr || keep) replay.keepContexts();
        replay.replay();
        const std::optional<int> rank = key < 0 ? std::nullopt : std::optional<int>(key);
#pragma omp critical(omnio_predict_collect)
        collector.add(i,
                      {.name = nameOfRank(of_rank, rank),
                       .rank = rank,
                       .scores = replay.scores,
                       .cost = replay.cost,
                       .pages = replay.pages,
                       .with_stacks = replay.with_stacks},
                      replay, learnt->get());
        if (keep) keep(key, replay.kept());
      }
#pragma omp critical(omnio_predict_collect)
      prediction.curves.add(curves);
    }
  }
  if (unread) return *unread;
  collector.finish();
  const std::uint64_t operations = prediction.total.of(Way::kGrammar).operations;
  const std::string name = base::printable(prediction.trace);
  if (collector.seen() == 0) {
    return base::failure(base::Code::kEmpty,
                         "{}: no call opens, closes, reads or writes a regular file: there is "
                         "nothing to predict",
                         name);
  }
  if (collector.seen() == 1) {
    return base::failure(base::Code::kEmpty,
                         "{}: there is one operation on files alone, and nothing before it that it "
                         "could be predicted from",
                         name);
  }
  if (operations == 0) {
    return base::failure(base::Code::kEmpty, "{}: none of its {} operations on files is selected",
                         name, collector.seen());
  }
  return prediction;
}

}  // namespace omnio::predict
