#include "predict/operations/forecast.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/event/event.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/run_window.hpp"
#include "predict/operations/earlier_run.hpp"
#include "predict/operations/operation_reader.hpp"

namespace omnio::predict {
namespace {

class RankForecast {
 public:
  RankForecast(const Processes& processes, std::optional<unsigned> thread, std::int64_t at_ns,
               std::size_t count)
      : processes_(processes),
        at_ns_(at_ns),
        count_(count),
        reader_(processes, thread, paths_),
        logs_(reader_.logs()),
        predictors_(processes.size()) {}

  void goOnWith(RankModels& earlier) {
    const std::size_t count = std::min(predictors_.size(), earlier.processes.size());
    for (std::size_t i = 0; i < count; ++i) {
      RankModels::Process& process = earlier.processes[i];
      reader_.goOnWith(i, process.slots);
      predictors_[i].goOnWith(std::move(process.models), std::move(process.threads));
    }
  }

  void read() {
    std::size_t before = 0;
    while (const Operation* const operation = reader_.next()) {
      const std::size_t log = reader_.log();
      // The reader has looked behind the operation before by now.
      if (log != before && reader_.isAtEnd(before)) end(before);
      before = log;
      if (!is_said_ && operation->start_ns >= at_ns_) say();
      take(log, *operation);
      if (is_said_ && isEnough()) return;
    }
    if (!is_said_) say();
  }

  std::vector<Forecast::Thread> threads(std::optional<int> rank) {
    std::vector<Forecast::Thread> threads;
    for (std::size_t log = 0; log < logs_.size(); ++log) {
      if (!logs_[log].is_told) continue;
      logs_[log].told.rank = rank;
      threads.push_back(std::move(logs_[log].told));
    }
    return threads;
  }

  std::uint64_t undecodable() const { return reader_.undecodable(); }
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();  // of all operations
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();

 private:
  struct Log {
    std::optional<Operation> last;     // that had ended
    std::vector<Forecast::Came> came;  // after it
    bool is_told = false;
    Forecast::Thread told;
  };

  Forecast::Came cameOf(const Operation& operation) const {
    return {operation, std::string(paths_.path(operation.file))};
  }

  void take(std::size_t log, const Operation& operation) {
    first_end_ns = std::min(first_end_ns, operation.end_ns);
    last_end_ns = std::max(last_end_ns, operation.end_ns);
    Log& one = logs_[log];
    if (operation.end_ns <= at_ns_ && one.came.empty()) {
      one.last = operation;
      predictors_[reader_.processOf(log)].take(reader_.threadOf(log), operation);
    } else if (one.came.size() < count_) {
      one.came.push_back(cameOf(operation));
      if (one.is_told) one.told.lines[one.came.size() - 1].came = one.came.back();
    }
  }

  // The thread that begins next in the process goes on with the model.
  void end(std::size_t log) {
    if (is_said_ || !logs_[log].came.empty()) return;
    predictors_[reader_.processOf(log)].end(reader_.threadOf(log));
  }

  void say() {
    is_said_ = true;
    for (std::size_t log = 0; log < logs_.size(); ++log) {
      Log& one = logs_[log];
      if (!one.last || (one.came.empty() && reader_.isAtEnd(log))) continue;
      const std::size_t process = reader_.processOf(log);
      one.is_told = true;
      one.told = {.process = processes_[process]->name(),
                  .rank = {},
                  .thread = reader_.threadOf(log),
                  .last = cameOf(*one.last),
                  .lines = std::vector<Forecast::Line>(count_)};
      const auto coming = predictors_[process].next(one.told.thread, count_);
      for (std::size_t i = 0; i < coming.size(); ++i) {
        one.told.lines[i].said = {coming[i], pathOf(process, coming[i])};
      }
      for (std::size_t i = 0; i < one.came.size(); ++i) one.told.lines[i].came = one.came[i];
    }
  }

  std::string pathOf(std::size_t process, const ProcessPredictor::Coming& coming) const {
    const FileSlots& slots = reader_.slotsOf(process);
    const bool is_known = coming.file != event::kNoFile && !coming.may_be_another;
    return std::string(is_known ? paths_.path(coming.file)
                                : slots.nameOf(slots.familyOf(coming.slot)));
  }

  bool isEnough() const {
    for (std::size_t log = 0; log < logs_.size(); ++log) {
      const Log& one = logs_[log];
      if (one.is_told && one.came.size() < count_ && !reader_.isAtEnd(log)) return false;
    }
    return true;
  }

  const Processes& processes_;
  std::int64_t at_ns_;
  std::size_t count_;
  event::PathTable paths_;
  OperationReader reader_;
  std::vector<Log> logs_;
  std::vector<ProcessPredictor> predictors_;  // by process
  bool is_said_ = false;
};

constexpr double kSecond = 1e9;  // ns

}  // namespace

bool Forecast::Line::isRight() const {
  if (!said || !came) return false;
  const ProcessPredictor::Coming& one = said->operation;
  const Operation& other = came->operation;
  if (one.kind != other.kind || one.slot != other.slot) return false;
  const bool is_known = one.file != event::kNoFile && !one.may_be_another;
  if (is_known && one.file != other.file) return false;
  if (!transfers(one.kind)) return true;
  return (!other.has_size || one.bytes == other.bytes) &&
         (!other.has_offset || one.offset == other.offset);
}

std::optional<double> Forecast::until(const Thread& thread, const Said& said) const {
  if (!said.operation.until_ns) return std::nullopt;
  return *said.operation.until_ns - static_cast<double>(at_ns - thread.last.operation.end_ns);
}

namespace {

// `starts`: from the moment on, in order, as far as they are known.
Forecast::Counts countsOf(const std::vector<double>& starts, double window_ns) {
  Forecast::Counts counts;
  double last = 0;
  for (const double start : starts) {
    if (start > window_ns) counts.within_at_least = false;
    if (counts.within_at_least) ++counts.within;
    if (start - last >= window_ns) counts.before_pause_at_least = false;
    if (counts.before_pause_at_least) ++counts.before_pause;
    last = start;
  }
  return counts;
}

}  // namespace

Forecast::Counts Forecast::said(const Thread& thread, std::int64_t window_ns) const {
  std::vector<double> starts;
  for (const Line& line : thread.lines) {
    const std::optional<double> start = line.said ? until(thread, *line.said) : std::nullopt;
    if (!start) break;
    starts.push_back(*start);
  }
  return countsOf(starts, static_cast<double>(window_ns));
}

Forecast::Counts Forecast::came(const Thread& thread, std::int64_t window_ns) const {
  std::vector<double> starts;
  for (const Line& line : thread.lines) {
    if (line.came) starts.push_back(until(*line.came));
  }
  Counts counts = countsOf(starts, static_cast<double>(window_ns));
  if (starts.size() < thread.lines.size()) {
    counts.within_at_least = counts.before_pause_at_least = false;  // the log has no more
  }
  return counts;
}

base::Result<Forecast> forecast(const tracefile::Trace& trace, std::optional<int> rank,
                                std::optional<unsigned> thread, std::int64_t at_ns,
                                std::size_t count, const EarlierRun* earlier) {
  const base::Result<Processes> processes = trace.processesOf(rank, thread);
  if (!processes) return processes.failure();
  if (const auto same = checkApplication(trace, earlier); !same) return same.failure();
  Forecast forecast;
  forecast.trace = trace.directory().native();
  forecast.wholeness = tracefile::assess(trace);
  forecast.run_start_ns = tracefile::startOfRun(trace);
  forecast.at_ns = forecast.run_start_ns + at_ns;
  auto ranks = byRank(trace, *processes);
  std::ranges::sort(ranks, {}, [](const auto& rank) {
    return std::pair(rank.first < 0, std::abs(rank.first));  // those without a rank come last
  });
  std::vector<std::vector<Forecast::Thread>> threads(ranks.size());
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();
  std::uint64_t undecodable = 0;
  std::optional<base::Failure> unread;
  {
    const base::ProgressStage stage("predicting", "events", tracefile::storedEvents(*processes));
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto& [key, of_rank] = ranks[i];
      RankForecast one(of_rank, thread, forecast.at_ns,
                       std::clamp<std::size_t>(count, 1, Forecast::kMostNext));
      const auto learnt = modelsFor(earlier, key);
      if (learnt && *learnt) one.goOnWith(**learnt);
      one.read();
      threads[i] = one.threads(key < 0 ? std::nullopt : std::optional<int>(key));
#pragma omp critical(omnio_predict_forecast)
      {
        if (!learnt) unread = learnt.failure();
        first_end_ns = std::min(first_end_ns, one.first_end_ns);
        last_end_ns = std::max(last_end_ns, one.last_end_ns);
        undecodable += one.undecodable();
      }
    }
  }
  if (unread) return *unread;
  for (auto& some : threads) {
    std::ranges::move(some, std::back_inserter(forecast.threads));
  }
  tracefile::addUndecodable(forecast.wholeness, undecodable);
  if (!forecast.threads.empty()) return forecast;
  const std::string name = base::printable(forecast.trace);
  const auto seconds = [&](std::int64_t time_ns) {
    return static_cast<double>(time_ns - forecast.run_start_ns) / kSecond;
  };
  if (last_end_ns < first_end_ns) {
    return base::failure(base::Code::kEmpty,
                         "{}: no call opens, closes, reads or writes a regular file: there is "
                         "nothing to predict",
                         name);
  }
  if (first_end_ns > forecast.at_ns) {
    return base::failure(base::Code::kEmpty,
                         "{}: the first operation on a file ends at {:.6f} s of the run: at {:.6f} "
                         "s there is nothing to predict from",
                         name, seconds(first_end_ns), seconds(forecast.at_ns));
  }
  return base::failure(base::Code::kEmpty,
                       "{}: the last operation on a file ends at {:.6f} s of the run: at {:.6f} s "
                       "none is left to predict",
                       name, seconds(last_end_ns), seconds(forecast.at_ns));
}

}  // namespace omnio::predict
