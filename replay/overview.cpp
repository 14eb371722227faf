#include "replay/overview.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "replay/loop_clock.hpp"
#include "replay/plan/program.hpp"
#include "replay/thread_clock.hpp"

namespace omnio::replay {

void Traffic::add(const Traffic& other) {
  const auto add_to = [](std::uint64_t& sum, std::uint64_t more) {
    if (__builtin_add_overflow(sum, more, &sum)) sum = UINT64_MAX;
  };
  add_to(operations, other.operations);
  add_to(reads, other.reads);
  add_to(read_bytes, other.read_bytes);
  add_to(writes, other.writes);
  add_to(written_bytes, other.written_bytes);
  add_to(time_ns, other.time_ns);
}

namespace {

using model::Descriptor;
using model::EventLoop;
using model::LoopLine;
using model::LoopPath;
using model::ScheduleEvent;
using model::Step;
using model::TurnNumber;

Traffic trafficOf(const ScheduleEvent& event) {
  Traffic traffic;
  traffic.operations = 1;
  traffic.time_ns =
      static_cast<std::uint64_t>(std::max<std::int64_t>(event.end_ns - event.start_ns, 0));
  const std::uint64_t bytes = model::bytesMoved(event);
  if (event.row->call_class == calls::Class::kRead) {
    traffic.reads = 1;
    traffic.read_bytes = bytes;
  } else if (event.row->call_class == calls::Class::kWrite) {
    traffic.writes = 1;
    traffic.written_bytes = bytes;
  }
  return traffic;
}

std::uint64_t atMost64Bits(model::WideNumber number) {
  return static_cast<std::uint64_t>(std::clamp<model::WideNumber>(number, 0, UINT64_MAX));
}

// A line of a loop, as far as its events are counted.
struct CountedLine {
  const LoopLine& line;
  const LoopPath& path;
  TurnNumber file;
  TurnNumber bytes;
  TurnNumber time_ns;  // 0 where the loop has exact times

  // In all turns of these loops; the values of the others are those given.
  Traffic trafficIn(const LoopPath& loops, const model::TurnValues& values) const {
    const auto sum = [&](TurnNumber number) {
      number.first = number.at(values, line.firstValues());
      return atMost64Bits(model::sumOverTurns(number, loops, line.firstValues()));
    };
    Traffic traffic;
    traffic.operations = static_cast<std::uint64_t>(model::passesOf(loops).value_or(INT64_MAX));
    traffic.time_ns = sum(time_ns);
    const calls::Class call_class = line.first().row->call_class;
    if (call_class == calls::Class::kRead) {
      traffic.reads = traffic.operations;
      traffic.read_bytes = sum(bytes);
    } else if (call_class == calls::Class::kWrite) {
      traffic.writes = traffic.operations;
      traffic.written_bytes = sum(bytes);
    }
    return traffic;
  }
};

// Counts what it passes on to the compiler.
class OverviewSink final : public model::ScheduleSink {
 public:
  explicit OverviewSink(const Changes& changes) : order_(changes.order), compiler_({}, changes) {}

  Complaint global(const model::ScheduleGlobal& global) override {
    return compiler_.global(global);
  }

  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override {
    found_.by_file.emplace_back();
    ranks_of_file_.emplace_back();
    return compiler_.file(number, file);
  }

  Complaint beginThread(const model::ScheduleThread& thread) override {
    // The compiler forgets the descriptors of a rank when the next one begins.
    if (thread.rank != thread_.rank) settle();
    thread_ = thread;
    clock_ = ThreadClock(thread.recorder_ns);
    found_.hosts.insert(thread.host);
    // How many ranks there are is not believed before they have come.
    const auto ranks = static_cast<std::size_t>(thread.rank) + 1;
    if (found_.by_rank.size() < ranks) found_.by_rank.resize(ranks);
    return compiler_.beginThread(thread);
  }

  Complaint event(const ScheduleEvent& event) override {
    if (auto complaint = compiler_.event(event)) return complaint;
    constexpr std::uint64_t kProgressEvery = 4096;
    if (++found_.events % kProgressEvery == 0) base::progressBy(kProgressEvery);
    noteUse(static_cast<std::uint32_t>(event.file));
    noteUse(static_cast<std::uint32_t>(event.new_file));
    countWaits(event, 1);
    if (event.step != Step::kPreopened) {
      TimedStep step{.step = event.step,
                     .start_ns = event.start_ns,
                     .end_ns = event.end_ns,
                     .waits = waitsForEvents(event)};
      if (event.own) step.own_ns = compiler_.timeOf(*event.own);
      clock_.take(step);
    }
    if (event.step == Step::kCall) count(event);
    return std::nullopt;
  }

  bool takesLoops() const override { return true; }

  ScheduleSink* loop(const model::PassedLoop& passed, Complaint& complaint) override {
    if (makesTooMany(passed.loop)) return this;
    std::optional<ThreadClock> clock = clock_;
    if (!passed.times) {
      clock = LoopClock::after(clock_, passed,
                               [this](const model::Work& work) { return compiler_.timeOf(work); });
    }
    if (!clock) return this;
    if (compiler_.loop(passed, complaint) != nullptr) return this;
    if (complaint) return nullptr;
    clock_ = *clock;
    std::vector<CountedLine> lines;
    model::forEachLine(passed.loop, [&](const LoopLine& line, const LoopPath& path) {
      lines.push_back(counted(line, path, passed.times.has_value(), lines.size()));
      count(lines.back());
    });
    if (passed.times) complaint = takeTimes(passed, lines);
    return nullptr;
  }

  Complaint endThread() override {
    if (clock_.workNs() > found_.longest_work_ns) {
      found_.longest_work_ns = clock_.workNs();
      found_.longest_worker = thread_;
    }
    if (const auto& first_ns = clock_.firstStartNs()) {
      found_.first_start_ns = std::min(found_.first_start_ns.value_or(*first_ns), *first_ns);
      found_.last_end_ns = std::max(found_.last_end_ns, clock_.lastEndNs());
    }
    if (clock_.overlaps() > 0 && found_.overlaps == 0) found_.first_overlap_thread = thread_;
    found_.overlaps += clock_.overlaps();
    return compiler_.endThread();
  }

  void meanTimes(std::size_t line) override { found_.mean_lines.insert(line); }

  Complaint finish() {
    settle();
    if (auto complaint = compiler_.finish()) return complaint;
    found_.plan = compiler_.takePlan();
    found_.by_rank.resize(found_.plan.ranks.size());
    if (order_ == model::Order::kNone) return std::nullopt;
    for (std::uint32_t i = 0; i < ranks_of_file_.size(); ++i) {
      if (ranks_of_file_[i].empty()) found_.unused_files.push_back(i);
    }
    findUnordered();
    return std::nullopt;
  }

  Overview take() { return std::move(found_); }

 private:
  static constexpr int kNoRank = -1;

  // Ranks come in order.
  void noteUse(std::uint32_t number) {
    if (order_ == model::Order::kNone || number >= ranks_of_file_.size()) return;
    std::vector<int>& ranks = ranks_of_file_[number];
    if (ranks.empty() || ranks.back() != thread_.rank) ranks.push_back(thread_.rank);
  }

  // A loop whose descriptors are too many for the compiler to know the file of each, where these
  // are several: other events may use one of them.
  static bool makesTooMany(const EventLoop& loop) {
    constexpr std::int64_t kMost = 1 << 20;  // as compile_loop.cpp
    bool makes = false;
    model::forEachLine(loop, [&makes](const LoopLine& line, const LoopPath& path) {
      const auto file = line.number([](const ScheduleEvent& event) { return event.file; });
      makes =
          makes || (line.first().new_fd != model::kNoDescriptor &&
                    model::passesOf(path).value_or(INT64_MAX) > kMost &&
                    (!file || !file->steps.empty() || line.first().file == model::kNoFileNumber));
    });
    return makes;
  }

  CountedLine counted(const LoopLine& line, const LoopPath& path, bool has_exact,
                      std::size_t place) const {
    const auto number = [&line](auto get) { return line.number(get).value_or(TurnNumber{}); };
    CountedLine result{.line = line,
                       .path = path,
                       .file = compiler_.filesOfLoop()[place],
                       .bytes = {},
                       .time_ns = {}};
    if (line.first().step != Step::kCall) return result;
    result.bytes = number([](const ScheduleEvent& event) { return model::bytesMoved(event); });
    if (has_exact) return result;
    result.time_ns = number([&line](const ScheduleEvent& event) {
      return event.end_ns - (line.is_relative ? 0 : event.start_ns);
    });
    return result;
  }

  // All but exact times.
  void count(const CountedLine& counted) {
    const LoopLine& line = counted.line;
    const ScheduleEvent& first = line.first();
    const auto passes = static_cast<std::uint64_t>(*model::passesOf(counted.path));
    found_.events += passes;
    countWaits(first, passes);
    noteUses(line, counted.path);
    if (first.step != Step::kCall) return;
    const Traffic traffic = counted.trafficIn(counted.path, line.firstValues());
    addToAll(first, traffic);
    const LoopPath loops = model::loopsOf(counted.file, counted.path);
    if (loops.empty()) return addToFileOf(first, fileIn(counted, line.firstValues()), traffic);
    LoopPath rest;
    std::ranges::copy_if(counted.path, std::back_inserter(rest), [&loops](const EventLoop* loop) {
      return std::ranges::find(loops, loop) == loops.end();
    });
    model::TurnValues values = line.firstValues();
    model::forEachTurn(loops, values, [&](const model::TurnValues& now) {
      addToFileOf(first, fileIn(counted, now), counted.trafficIn(rest, now));
    });
  }

  static std::uint32_t fileIn(const CountedLine& counted, const model::TurnValues& values) {
    return static_cast<std::uint32_t>(counted.file.at(values, counted.line.firstValues()));
  }

  void noteUses(const LoopLine& line, const LoopPath& path) {
    if (order_ == model::Order::kNone) return;
    for (const auto member : {&ScheduleEvent::file, &ScheduleEvent::new_file}) {
      const auto file = line.number([member](const ScheduleEvent& event) { return event.*member; });
      model::TurnValues values = line.firstValues();
      model::forEachTurn(model::loopsOf(*file, path), values, [&](const model::TurnValues& now) {
        noteUse(static_cast<std::uint32_t>(file->at(now, line.firstValues())));
      });
    }
  }

  // As many as were recorded.
  Complaint takeTimes(const model::PassedLoop& passed, const std::vector<CountedLine>& lines) {
    const model::LoopTimes& exact = *passed.times;
    if (!times_) {
      times_.emplace();
      if (const auto opened = times_->open(exact.path, exact.digest); !opened) {
        return opened.failure().sentence;
      }
    }
    times_->seek(exact.stream, exact.first);
    model::TurnValues values;
    if (!lines.empty()) values = lines.front().line.firstValues();
    std::int64_t end_ns = passed.begin_ns;
    std::size_t next = 0;
    takeTimes(passed.loop, lines, next, values, end_ns);
    if (times_->failure()) return times_->failure()->sentence;
    return std::nullopt;
  }

  void takeTimes(const EventLoop& loop, const std::vector<CountedLine>& lines, std::size_t& next,
                 model::TurnValues& values, std::int64_t& end_ns) {
    const std::size_t first = next;
    for (std::int64_t turn = 0; turn < loop.turns && !times_->failure(); ++turn) {
      values[loop.place] = turn;
      for (std::size_t i = 0; i < loop.lists.size(); ++i) {
        values[loop.place + 1 + i] = (*loop.lists[i])[static_cast<std::size_t>(turn)];
      }
      next = first;
      for (const EventLoop::Part& part : loop.body) {
        if (part.line) {
          takeTimes(lines[next++], values, end_ns);
        } else {
          takeTimes(*part.loop, lines, next, values, end_ns);
        }
      }
    }
  }

  void takeTimes(const CountedLine& counted, const model::TurnValues& values,
                 std::int64_t& end_ns) {
    const ScheduleEvent& first = counted.line.first();
    const std::int64_t gap_ns = times_->next();
    TimedStep step{.step = first.step, .waits = waitsForEvents(first)};
    step.start_ns = std::max<std::int64_t>(base::saturatingSum(end_ns, gap_ns), 0);
    step.end_ns = end_ns = base::saturatingSum(step.start_ns, times_->next());
    const bool has_work = times_->next() != 0;
    const std::int64_t compute_ns = times_->next();
    const model::Work work{.compute_ns = compute_ns, .communication_ns = times_->next()};
    if (has_work) step.own_ns = compiler_.timeOf(work);
    for (const auto& waits : counted.line.timed_waits) {
      for (std::int64_t i = 0; i < model::kTimesOfWork * waits.count; ++i) times_->next();
    }
    clock_.take(step);
    if (first.step != Step::kCall) return;
    const Traffic traffic{.time_ns = static_cast<std::uint64_t>(step.end_ns - step.start_ns)};
    addToAll(first, traffic);
    addToFileOf(first, fileIn(counted, values), traffic);
  }

  void countWaits(const ScheduleEvent& event, std::uint64_t events) {
    bool waits = false;
    for (const model::Wait& wait : event.after) {
      if (wait.id == 0) continue;
      waits = true;
      found_.waits[static_cast<std::size_t>(wait.reason)] += events;
    }
    if (waits) found_.waiting_events += events;
  }

  void count(const ScheduleEvent& event) {
    const Traffic traffic = trafficOf(event);
    addToAll(event, traffic);
    addToFileOf(event, compiler_.fileOf(event), traffic);
  }

  void addToAll(const ScheduleEvent& event, const Traffic& traffic) {
    found_.total.add(traffic);
    found_.by_rank.back().add(traffic);
    found_.by_call[event.row->name].add(traffic);
    found_.by_phase[event.phase].add(traffic);
  }

  // `file`: of the event, where it is known.
  void addToFileOf(const ScheduleEvent& event, std::uint32_t file, const Traffic& traffic) {
    if (file != kNoFile) {
      addToFile(file, traffic);
    } else if (event.fd != model::kNoDescriptor) {
      by_unknown_descriptor_[event.fd].add(traffic);
    } else {
      found_.without_file.add(traffic);
    }
  }

  void addToFile(std::uint32_t file, const Traffic& traffic) {
    found_.by_file[file].add(traffic);
    noteUse(file);
  }

  // Finds the files of calls whose descriptor a later thread of the rank has made.
  void settle() {
    for (const auto& [descriptor, traffic] : std::exchange(by_unknown_descriptor_, {})) {
      ScheduleEvent event;
      event.fd = descriptor;
      const std::uint32_t file = compiler_.fileOf(event);
      if (file != kNoFile) {
        addToFile(file, traffic);
      } else {
        found_.without_file.add(traffic);
      }
    }
  }

  void findUnordered() {
    const Plan& plan = found_.plan;
    std::vector<bool> is_ordered(plan.ranks.size(), false);
    for (const PlannedThread& thread : plan.threads) {
      const auto rank = static_cast<std::uint32_t>(thread.recorded.rank);
      for (const std::uint32_t flag : thread.raises) {
        if (flag == kNoFlag) continue;
        for (const std::uint32_t waiter : plan.flag_waiters.of(flag)) {
          if (waiter != rank) is_ordered[rank] = is_ordered[waiter] = true;
        }
      }
    }
    std::set<int> unordered;
    for (std::size_t i = 0; i < ranks_of_file_.size(); ++i) {
      const std::vector<int>& ranks = ranks_of_file_[i];
      if (ranks.size() < 2 || found_.by_file[i].written_bytes == 0) continue;
      ++found_.shared_files;
      for (const int rank : ranks) {
        const auto place = static_cast<std::size_t>(rank);
        if (!is_ordered[place] && found_.by_rank[place].operations > 0) unordered.insert(rank);
      }
    }
    found_.unordered_ranks.assign(unordered.begin(), unordered.end());
  }

  model::Order order_;
  Compiler compiler_;
  Overview found_;
  std::vector<std::vector<int>> ranks_of_file_;  // that use it, unless the order is kNone
  model::ScheduleThread thread_ = [] {
    model::ScheduleThread none;
    none.rank = kNoRank;
    return none;
  }();
  ThreadClock clock_;                                    // of the thread
  std::optional<model::TimesReader> times_;              // of loops, if they have exact times
  std::map<Descriptor, Traffic> by_unknown_descriptor_;  // of the rank
};

}  // namespace

base::Result<Overview> readOverview(const std::filesystem::path& schedule, const Changes& changes) {
  const base::ProgressStage stage("reading the schedule", "events", 0);
  OverviewSink sink(changes);
  if (auto read = model::readSchedule(schedule, sink); !read) return read.failure();
  if (auto complaint = sink.finish()) {
    return base::failure(base::Code::kInvalid, "{}: {}", base::printable(schedule.native()),
                         *complaint);
  }
  return sink.take();
}

}  // namespace omnio::replay
