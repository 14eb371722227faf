#include "predict/access_time/schedule_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_reader.hpp"
#include "predict/access_time/call_accesses.hpp"
#include "predict/access_time/schedule_survey.hpp"

namespace omnio::access_time {

using model::EventLoop;
using model::LoopLine;
using model::LoopPath;
using model::ScheduleEvent;
using model::TurnValues;

namespace {

// Turns of each loop that are looked at, where all are too many.
constexpr std::int64_t kTurns = 16;

// Accesses that are alike, each once.
class AccessList {
 public:
  std::uint32_t numberOf(const Access& access) {
    const Key key{access.curve(),  access.is_paused, access.stands_for_another,
                  access.look_ups, access.bytes,     offsetClass(access.delta_offset)};
    const auto [found, is_new] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(accesses_.size()));
    if (is_new) accesses_.push_back(access);
    return found->second;
  }
  std::vector<Access> take() { return std::move(accesses_); }

 private:
  using Key = std::tuple<decltype(Access().curve()), bool, bool, double, double, int>;

  // Distances of about the same size are alike.
  static int offsetClass(std::int64_t delta_offset) {
    if (delta_offset == 0) return 0;
    const int size = 1 + std::ilogb(std::abs(static_cast<double>(delta_offset)));
    return delta_offset < 0 ? -size : size;
  }

  std::map<Key, std::uint32_t> numbers_;
  std::vector<Access> accesses_;
};

void setMoved(Program& program, const MovedBytes& moved) {
  program.moved_bytes = moved.by_calls;
  program.direct_bytes = moved.direct;
  if (moved.mapped > 0) {
    program.notes.push_back(
        fmt::format("{} of mapped files are read and written outside of calls: no I/O time has "
                    "that, and the estimate has not either",
                    base::humanBytes(moved.mapped)));
  }
  if (moved.asynchronous > 0) {
    program.notes.push_back(
        fmt::format("{} are moved by asynchronous operations: each counts as if the application "
                    "waited for all of it at its end",
                    base::humanBytes(moved.asynchronous)));
  }
}

// Makes the steps of all threads.
class StepSink final : public model::ScheduleSink {
 public:
  StepSink(Program& program, const std::vector<FileFacts>& facts)
      : program_(program), accesses_(facts) {}

  Complaint beginThread(const model::ScheduleThread& thread) override {
    if (thread.rank != rank_) accesses_.beginRank();
    rank_ = thread.rank;
    accesses_.beginThread(thread.pid);
    program_.threads.push_back(
        {.rank = thread.rank, .recorder_ns = thread.recorder_ns, .steps = {}});
    recorded_end_ns_ = 0;
    pauses_ = {};
    return {};
  }

  Complaint event(const ScheduleEvent& event) override {
    std::vector<Access>& found = found_;
    found = accesses_.of(event);
    if (event.step == model::Step::kPreopened) return {};
    const bool is_delay = event.step == model::Step::kDelay;
    pauses_.mark(event, found);
    StepDetail detail{.first_wait = static_cast<std::uint32_t>(program_.waits.size()),
                      .is_delay = is_delay,
                      .before_ns = recorded_end_ns_,
                      .start_ns = event.start_ns,
                      .end_ns = event.end_ns};
    for (const model::Wait& wait : event.after) {
      if (wait.id != 0) program_.waits.push_back({wait.id, wait.work.total()});
    }
    detail.waits = static_cast<std::uint32_t>(program_.waits.size()) - detail.first_wait;
    detail.has_recorded_pause = detail.waits > 0 && !event.own;
    ProgramStep step{.access = found.empty() ? kNoAccess : list_.numberOf(found.front())};
    if (event.own) {
      step.own_ns = event.own->total();
    } else if (detail.waits == 0) {
      const std::int64_t recorder_ns = program_.threads.back().recorder_ns;
      step.own_ns = std::max<std::int64_t>(event.start_ns - recorded_end_ns_ - recorder_ns, 0);
    }
    recorded_end_ns_ = std::max(recorded_end_ns_, event.end_ns);
    // The call ends with the last of its accesses.
    if (found.size() <= 1) detail.id = event.id;
    add(step, detail);
    for (std::size_t i = 1; i < found.size(); ++i) {
      add({.access = list_.numberOf(found[i])},
          {.end_ns = event.end_ns, .id = i + 1 == found.size() ? event.id : 0});
    }
    return {};
  }

  Complaint endThread() override {
    program_.threads.back().steps.shrink_to_fit();
    return {};
  }

  void finish() {
    findWaits();
    program_.accesses = list_.take();
    setMoved(program_, accesses_.moved());
    program_.mpi_calls = accesses_.mpiCalls();
  }

 private:
  void add(ProgramStep step, const StepDetail& detail) {
    if (detail.waits > 0 || detail.is_delay || detail.id != 0) {
      step.detail = static_cast<std::uint32_t>(program_.details.size());
      program_.details.push_back(detail);
    }
    program_.threads.back().steps.push_back(step);
  }

  // Until all steps are there, waits have ids.
  void findWaits() {
    program_.details.shrink_to_fit();
    program_.waits.shrink_to_fit();
    std::vector<std::pair<std::uint64_t, std::uint32_t>> by_id;
    for (std::size_t i = 0; i < program_.details.size(); ++i) {
      const std::uint64_t id = program_.details[i].id;
      if (id != 0) by_id.emplace_back(id, static_cast<std::uint32_t>(i));
    }
    std::ranges::sort(by_id);
    for (StepWait& wait : program_.waits) {
      const auto found =
          std::ranges::lower_bound(by_id, wait.detail, {}, &decltype(by_id)::value_type::first);
      const bool is_there = found != by_id.end() && found->first == wait.detail;
      wait.detail = is_there ? found->second : kNoDetail;
    }
  }

  Program& program_;
  CallAccesses accesses_;
  AccessList list_;
  int rank_ = -1;
  std::int64_t recorded_end_ns_ = 0;  // of the thread's steps
  Pauses pauses_;                     // of the thread
  std::vector<Access> found_;         // of the event
};

// Counts the accesses of each rank.
class CountSink final : public model::ScheduleSink {
 public:
  // `most_events`: of loops of a rank that are written out.
  CountSink(Program& program, const std::vector<FileFacts>& facts, double most_events)
      : program_(program), accesses_(facts), most_events_(most_events), left_events_(most_events) {}

  Complaint beginThread(const model::ScheduleThread& thread) override {
    if (thread.rank != rank_) {
      endRank();
      accesses_.beginRank();
    }
    rank_ = thread.rank;
    accesses_.beginThread(thread.pid);
    begin_ns_ = end_ns_ = 0;
    has_begun_ = false;
    return {};
  }

  Complaint event(const ScheduleEvent& event) override {
    constexpr std::uint64_t kProgressEvery = 4096;
    if (++events_ % kProgressEvery == 0) base::progressBy(kProgressEvery);
    count(event, 1);
    if (event.step == model::Step::kCall) noteTimes(event.start_ns, event.end_ns);
    return {};
  }

  Complaint endThread() override {
    own_ns_ += static_cast<double>(end_ns_ - begin_ns_);
    return {};
  }

  bool takesLoops() const override { return true; }

  ScheduleSink* loop(const model::PassedLoop& passed, Complaint&) override {
    double events = 0;
    model::forEachLine(passed.loop, [&events](const LoopLine&, const LoopPath& path) {
      events += static_cast<double>(model::passesOf(path).value_or(INT64_MAX));
    });
    if (events <= left_events_) {
      left_events_ -= events;
      return this;
    }
    bool is_known = true;
    numbers_.clear();
    model::forEachLine(passed.loop, [&](const LoopLine& line, const LoopPath&) {
      if (numbers_.empty()) values_ = line.firstValues();
      const auto numbers = numbersOf(line);
      is_known = is_known && numbers;
      if (numbers) numbers_.emplace(&line, *numbers);
    });
    if (!is_known) return this;
    pass(passed.loop, 1, false);
    if (!passed.times) {
      if (!has_begun_) begin_ns_ = passed.begin_ns;
      has_begun_ = true;
      end_ns_ = std::max(end_ns_, passed.end_ns);
    }
    return nullptr;
  }

  void finish() {
    endRank();
    program_.ranks.resize(static_cast<std::size_t>(std::max(program_.rank_count, 1)));
    program_.accesses = list_.take();
    setMoved(program_, moved_);
    program_.mpi_calls = accesses_.mpiCalls();
  }

 private:
  // The numbers of a line that decide on its accesses.
  struct LineNumbers {
    model::TurnNumber file, new_file, fd, new_fd, offset, result, request, duration_ns;
  };
  static std::optional<LineNumbers> numbersOf(const LoopLine& line) {
    LineNumbers numbers;
    const auto set = [&line](model::TurnNumber& number, auto get) {
      const auto found = line.number(get);
      if (found) number = *found;
      return found.has_value();
    };
    const bool is_known =
        set(numbers.file, [](const ScheduleEvent& event) { return event.file; }) &&
        set(numbers.new_file, [](const ScheduleEvent& event) { return event.new_file; }) &&
        set(numbers.fd, [](const ScheduleEvent& event) { return event.fd; }) &&
        set(numbers.new_fd, [](const ScheduleEvent& event) { return event.new_fd; }) &&
        set(numbers.offset, [](const ScheduleEvent& event) { return event.offset; }) &&
        set(numbers.result, [](const ScheduleEvent& event) { return event.result; }) &&
        set(numbers.request, [](const ScheduleEvent& event) { return event.request; }) &&
        set(numbers.duration_ns, [&line](const ScheduleEvent& event) {
          return event.end_ns - (line.is_relative ? 0 : event.start_ns);
        });
    return is_known ? std::optional(numbers) : std::nullopt;
  }

  // Goes through a loop with a weight for each turn. A quiet turn only moves positions.
  void pass(const EventLoop& loop, double weight, bool is_quiet) {
    if (loop.turns <= 2 * kTurns) {
      for (std::int64_t turn = 0; turn < loop.turns; ++turn) passTurn(loop, turn, weight, is_quiet);
      return;
    }
    // The first turn is by itself: what it makes, the others find.
    passTurn(loop, 0, weight, is_quiet);
    // What all turns write waits for a sync behind the loop, unless the turns sync themselves.
    const bool leaves_dirty = !syncs(loop);
    const double scale = accesses_.dirtyScale();
    const std::int64_t rest = loop.turns - 1;
    for (std::int64_t i = 0; i < kTurns; ++i) {
      const std::int64_t from = 1 + rest / kTurns * i + std::min(i, rest % kTurns);
      const std::int64_t turns = rest / kTurns + (i < rest % kTurns ? 1 : 0);
      const std::int64_t turn = from + turns / 2;
      if (leaves_dirty) accesses_.setDirtyScale(0);
      passTurn(loop, turn - 1, 0, true);
      if (leaves_dirty) accesses_.setDirtyScale(scale * static_cast<double>(turns));
      passTurn(loop, turn, weight * static_cast<double>(turns), is_quiet);
      accesses_.setDirtyScale(scale);
    }
  }

  static bool syncs(const EventLoop& loop) {
    bool found = false;
    model::forEachLine(loop, [&found](const LoopLine& line, const LoopPath&) {
      const ScheduleEvent event = line.first();
      found = found ||
              (event.step == model::Step::kCall && (event.row->call_class == calls::Class::kSync ||
                                                    event.row->call_class == calls::Class::kClose));
    });
    return found;
  }

  void passTurn(const EventLoop& loop, std::int64_t turn, double weight, bool is_quiet) {
    values_[loop.place] = turn;
    for (std::size_t i = 0; i < loop.lists.size(); ++i) {
      values_[loop.place + 1 + i] = (*loop.lists[i])[static_cast<std::size_t>(turn)];
    }
    for (const EventLoop::Part& part : loop.body) {
      if (part.line) {
        passLine(*part.line, is_quiet ? 0 : weight);
      } else {
        pass(*part.loop, weight, is_quiet);
      }
    }
  }

  void passLine(const LoopLine& line, double weight) {
    const LineNumbers& numbers = numbers_.at(&line);
    const auto at = [&](const model::TurnNumber& number) {
      return number.at(values_, line.firstValues());
    };
    ScheduleEvent event = line.first();
    event.file = static_cast<model::FileNumber>(at(numbers.file));
    event.new_file = static_cast<model::FileNumber>(at(numbers.new_file));
    event.fd = static_cast<model::Descriptor>(at(numbers.fd));
    event.new_fd = static_cast<model::Descriptor>(at(numbers.new_fd));
    event.offset = at(numbers.offset);
    event.result = at(numbers.result);
    event.request = static_cast<std::uint64_t>(at(numbers.request));
    own_ns_ -= weight * static_cast<double>(at(numbers.duration_ns));
    count(event, weight);
  }

  void noteTimes(std::int64_t start_ns, std::int64_t end_ns) {
    if (!has_begun_) begin_ns_ = start_ns;
    has_begun_ = true;
    end_ns_ = std::max(end_ns_, end_ns);
    own_ns_ -= static_cast<double>(end_ns - start_ns);
  }

  void count(const ScheduleEvent& event, double weight) {
    const MovedBytes before = accesses_.moved();
    for (const Access& access : accesses_.of(event)) {
      if (weight > 0) counts_[list_.numberOf(access)] += weight;
    }
    moved_.addSince(before, accesses_.moved(), weight);
  }

  void endRank() {
    if (rank_ < 0) return;
    const auto number = static_cast<std::size_t>(rank_);
    if (program_.ranks.size() <= number) program_.ranks.resize(number + 1);
    RankAccesses& rank = program_.ranks[number];
    for (const auto& [access, count] : counts_)
      rank.counts.push_back({.access = access, .count = count});
    rank.own_s = std::max(own_ns_, 0.0) * 1e-9;
    counts_.clear();
    own_ns_ = 0;
    left_events_ = most_events_;
  }

  Program& program_;
  CallAccesses accesses_;
  AccessList list_;
  const double most_events_;
  double left_events_;
  TurnValues values_;
  std::unordered_map<const LoopLine*, LineNumbers> numbers_;  // of the loop
  std::map<std::uint32_t, double> counts_;
  std::uint64_t events_ = 0;
  int rank_ = -1;
  bool has_begun_ = false;  // the thread has made a call
  std::int64_t begin_ns_ = 0, end_ns_ = 0;
  double own_ns_ = 0;
  MovedBytes moved_;
};

}  // namespace

base::Result<Program> readProgram(const std::filesystem::path& schedule, double most_steps) {
  ScheduleSurvey survey;
  if (const auto read = model::readSchedule(schedule, survey); !read) return read.failure();
  const ScheduleFacts facts = survey.take();
  Program program;
  program.rank_count = facts.rank_count;
  program.events = facts.events;
  program.source = facts.source;
  for (const std::string& words : facts.left_out) {
    program.notes.push_back("not in the schedule, nor in the estimate: " + base::printable(words));
  }
  if (facts.in_memory.files > 0) {
    program.notes.push_back(fmt::format(
        "not in the estimate: {} in the memory of nodes, to and from which {} bytes were moved",
        base::counted(facts.in_memory.files, "file", "files"), facts.in_memory.bytes));
  }
  const auto take = [&](auto&& sink) -> base::Result<void> {
    if (auto read = model::readSchedule(schedule, sink); !read) return read;
    sink.finish();
    return {};
  };
  // Thousands of ranks share what one may take.
  constexpr double kMostWrittenOut = 100'000;
  const double most_events = std::min(kMostWrittenOut, most_steps / std::max(facts.rank_count, 1));
  const auto taken = facts.events > most_steps ? take(CountSink(program, facts.files, most_events))
                                               : take(StepSink(program, facts.files));
  if (!taken) return taken.failure();
  return program;
}

}  // namespace omnio::access_time
