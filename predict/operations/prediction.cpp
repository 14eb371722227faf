#include "predict/operations/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/event/event.hpp"
#include "core/wire/info.hpp"
#include "predict/operations/earlier_run.hpp"
#include "predict/operations/operation_reader.hpp"

namespace omnio::predict {
namespace {

using Processes = std::vector<const tracefile::Process*>;

// Families of files that have scores of their own, in a process, and in all. Those beyond are one.
constexpr std::size_t kMostFamilies = 4096;
constexpr std::size_t kMostNames = 4 * kMostFamilies;
constexpr std::string_view kOthers = "(other files)";

// The processes of each rank, in order; one without a rank is alone.
std::vector<Processes> byRank(const tracefile::Trace& trace, const Processes& processes) {
  std::vector<Processes> ranks;
  std::map<int, std::size_t> index;
  for (const tracefile::Process* const process : processes) {
    const std::optional<int> rank = trace.rankOf(*process);
    std::size_t place = ranks.size();
    if (rank) place = index.try_emplace(*rank, place).first->second;
    if (place == ranks.size()) ranks.emplace_back();
    ranks[place].push_back(process);
  }
  return ranks;
}

// Replays one rank.
class RankReplay {
 public:
  // With `earlier`, models go on with what they learnt there.
  RankReplay(const Processes& processes, const Selection& selection, std::size_t ahead,
             std::int64_t run_start_ns, HitTimeline& timeline, EarlierRun* earlier)
      : selection_(selection),
        ahead_(ahead),
        run_start_ns_(run_start_ns),
        timeline_(timeline),
        reader_(processes, selection.thread, paths_),
        threads_(reader_.logs()),
        files_(processes.size()),
        models_(processes.size()),
        known_threads_(processes.size()),
        idle_(processes.size()) {
    if (earlier == nullptr) return;
    reader_.keepContexts(contexts);
    const std::size_t known = std::min(processes.size(), earlier->processes().size());
    for (std::size_t i = 0; i < known; ++i) {
      EarlierRun::Process& process = earlier->processes()[i];
      reader_.goOnWith(i, process.slots);
      models_[i] = std::move(process.models);
      known_threads_[i] = std::move(process.threads);
    }
  }

  void replay() {
    std::size_t last = 0;
    while (const Operation* const operation = reader_.next()) {
      // The reader has looked behind the last operation by now.
      if (reader_.log() != last && reader_.isAtEnd(last)) end(last);
      last = reader_.log();
      take(last, *operation);
    }
    for (std::size_t log = 0; log < threads_.size(); ++log) end(log);
    for (std::size_t process = 0; process < idle_.size(); ++process) {
      cost.bytes = std::max(cost.bytes, models_[process].mostBytes());
      for (const std::unique_ptr<Thread>& thread : idle_[process]) finish(process, *thread);
    }
  }

  RunScores scores;
  ModelCost cost;
  ReadAheadPages pages;
  std::uint64_t with_stacks = 0;
  std::uint64_t seen = 0;  // operations, whether they count or not
  KeptContexts contexts;   // where there is an earlier run

  std::uint64_t undecodable() const { return reader_.undecodable(); }

  // put(name, scores) for each file, or family of files, of each process.
  template <typename Put>
  void eachFile(Put put) const {
    for (std::size_t process = 0; process < files_.size(); ++process) {
      for (std::size_t family = 0; family < files_[process].size(); ++family) {
        const RunScores& file = files_[process][family];
        if (file.of(Way::kGrammar).operations > 0) {
          const FileSlots& slots = reader_.slotsOf(process);
          put(family < kMostFamilies ? slots.nameOf(family) : kOthers, file);
        }
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
    if (!selection_.has_path) return true;
    const auto file = static_cast<std::size_t>(operation.file);
    if (file >= has_file_.size()) has_file_.resize(file + 1);
    if (!has_file_[file]) has_file_[file] = selection_.has_path(paths_.path(operation.file));
    return *has_file_[file];
  }

  void take(std::size_t log, const Operation& operation) {
    ++seen;
    std::unique_ptr<Thread>& thread = threads_[log];
    const std::size_t process = reader_.processOf(log);
    if (!thread) {
      ++cost.threads;
      thread = begin(log, process);
    }
    ThreadReplay& replay = thread->replay;
    const Scores& one = replay.take(operation);
    if (!counts(operation)) return;
    if (operation.has_stack) ++with_stacks;
    timeline_.add(operation.start_ns - run_start_ns_, one);
    const std::size_t family =
        std::min(reader_.slotsOf(process).familyOf(operation.slot), kMostFamilies);
    Phased& file = thread->files[family];
    for (std::size_t way = 0; way < kWays; ++way) {
      thread->all[way].add(one[way], replay.learning());
      file[way].add(one[way], replay.learning());
    }
  }

  // A thread that begins has the model of its like in the earlier run, or goes on with that of one
  // that has ended.
  std::unique_ptr<Thread> begin(std::size_t log, std::size_t process) {
    ProcessModels& models = models_[process];
    const auto known = known_threads_[process].find(reader_.threadOf(log));
    if (known != known_threads_[process].end()) {
      const std::size_t number = known->second;
      known_threads_[process].erase(known);
      return std::make_unique<Thread>(ahead_, models, number);
    }
    std::deque<std::unique_ptr<Thread>>& idle = idle_[process];
    if (idle.empty()) return std::make_unique<Thread>(ahead_, models, models.add());
    std::unique_ptr<Thread> thread = std::move(idle.front());
    idle.pop_front();
    return thread;
  }

  static void put(Phased& from, const Learning& learning, bool has_stopped, RunScores& to) {
    for (std::size_t way = 0; way < kWays; ++way) {
      to.whole[way].add(from[way].whole());
      if (has_stopped) to.settled[way].add(from[way].settled(learning));
    }
  }

  // The thread that begins next in the process goes on with the model: some programs make threads
  // anew in each turn.
  void end(std::size_t log) {
    if (threads_[log]) idle_[reader_.processOf(log)].push_back(std::move(threads_[log]));
  }

  void finish(std::size_t process, Thread& thread) {
    const ThreadReplay& replay = thread.replay;
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
  HitTimeline& timeline_;
  event::PathTable paths_;
  OperationReader reader_;
  std::vector<std::unique_ptr<Thread>> threads_;  // by log
  std::vector<std::vector<RunScores>> files_;     // by process and family
  std::vector<ProcessModels> models_;             // by process; outlive their threads
  // Threads of the earlier run that have none here yet, by process: as in EarlierRun.
  std::vector<std::map<std::uint32_t, std::size_t>> known_threads_;
  std::vector<std::deque<std::unique_ptr<Thread>>> idle_;  // by process: their threads have ended
  std::vector<std::optional<bool>> has_file_;              // by FileId
};

std::string nameOfRank(const Processes& processes, std::optional<int> rank) {
  return rank ? fmt::format("{}", *rank) : processes.front()->name();
}

// The models of the earlier run, rank by rank: read when the rank is, and gone when it has been.
class Earlier {
 public:
  // Without an earlier run `trace` is nullptr; it outlives this object.
  Earlier(const tracefile::Trace* trace, const Selection& selection) : thread_(selection.thread) {
    if (trace == nullptr) return;
    Processes all;
    for (const auto& process : trace->processes()) all.push_back(process.get());
    for (Processes& processes : byRank(*trace, all)) {
      const std::optional<int> rank = trace->rankOf(*processes.front());
      by_rank_.emplace(rank.value_or(kNoRank), std::move(processes));
    }
  }

  // nullptr where it has no such rank.
  std::unique_ptr<EarlierRun> of(std::optional<int> rank) const {
    const auto found = by_rank_.find(rank.value_or(kNoRank));
    return found == by_rank_.end() ? nullptr : std::make_unique<EarlierRun>(found->second, thread_);
  }

 private:
  static constexpr int kNoRank = -1;
  std::optional<unsigned> thread_;
  std::map<int, Processes> by_rank_;
};

std::set<std::string> programsOf(const tracefile::Trace& trace) {
  std::set<std::string> names;
  for (const auto& process : trace.processes()) {
    const std::string& path = process->info.text(wire::info::kProgram);
    if (!path.empty()) names.insert(path.substr(path.rfind('/') + 1));
  }
  return names;
}

// Whether no program of the run is one of the earlier run.
std::optional<base::Failure> otherApplication(const tracefile::Trace& trace,
                                              const tracefile::Trace& earlier) {
  const std::set<std::string> now = programsOf(trace);
  const std::set<std::string> before = programsOf(earlier);
  const auto is_known = [&before](const std::string& name) { return before.contains(name); };
  if (now.empty() || before.empty() || std::ranges::any_of(now, is_known)) return std::nullopt;
  return base::failure(base::Code::kInvalid,
                       "{}: it is a run of {}, and {} one of {}: what one application has taught "
                       "says nothing of another",
                       base::printable(earlier.directory().native()),
                       base::printable(*before.begin()),
                       base::printable(trace.directory().native()), base::printable(*now.begin()));
}

// Puts together what the ranks had, in whichever order they came to it.
class Collector {
 public:
  Collector(Prediction& prediction, std::size_t ranks) : prediction_(prediction), ranks_(ranks) {}

  void add(std::size_t place, RankPrediction&& rank, const RankReplay& replay,
           const EarlierRun* earlier) {
    seen_ += replay.seen;
    contexts_.take(replay.contexts);
    if (earlier != nullptr) {
      prediction_.learnt_from->operations += earlier->operations();
      earlier_.take(earlier->contexts());
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
    tracefile::addUndecodable(prediction_.wholeness, undecodable_);
    if (std::optional<LearntFrom>& from = prediction_.learnt_from) {
      from->contexts = earlier_.size();
      from->again = earlier_.countIn(contexts_);
      from->updated = earlier_.updatedIn(contexts_);
    }
  }

 private:
  Prediction& prediction_;
  std::vector<RankPrediction> ranks_;
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
                                           const tracefile::Trace* earlier) {
  const base::Result<Processes> processes = trace.processesOf(selection.rank, selection.thread);
  if (!processes) return processes.failure();
  Prediction prediction;
  prediction.trace = trace.directory().native();
  prediction.ahead = std::clamp<std::size_t>(ahead, 1, kMostAhead);
  prediction.wholeness = tracefile::assess(trace);
  if (earlier != nullptr) {
    if (const auto other = otherApplication(trace, *earlier)) return *other;
    prediction.learnt_from = {.trace = earlier->directory().native(),
                              .wholeness = tracefile::assess(*earlier)};
  }
  const Earlier before(earlier, selection);
  const std::vector<Processes> ranks = byRank(trace, *processes);
  const std::int64_t start_ns = tracefile::startOfRun(trace);
  Collector collector(prediction, ranks.size());
  {
    const base::ProgressStage stage("predicting", "events", tracefile::storedEvents(*processes));
#pragma omp parallel
    {
      HitTimeline timeline;
#pragma omp for schedule(dynamic)
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const std::optional<int> rank = trace.rankOf(*ranks[i].front());
        const std::unique_ptr<EarlierRun> learnt = before.of(rank);
        RankReplay replay(ranks[i], selection, prediction.ahead, start_ns, timeline, learnt.get());
        replay.replay();
#pragma omp critical(omnio_predict_collect)
        collector.add(i,
                      {.name = nameOfRank(ranks[i], rank),
                       .rank = rank,
                       .scores = replay.scores,
                       .cost = replay.cost,
                       .pages = replay.pages,
                       .with_stacks = replay.with_stacks},
                      replay, learnt.get());
      }
#pragma omp critical(omnio_predict_collect)
      prediction.timeline.add(timeline);
    }
  }
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
