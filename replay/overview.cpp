#include "replay/overview.hpp"

#include <algorithm>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "replay/plan/program.hpp"
#include "replay/run/engine.hpp"

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
using model::ScheduleEvent;
using model::Step;

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
    recorded_end_ns_ = 0;
    work_ns_ = 0;
    work_at_last_call_ns_ = 0;
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
    bool waits = false;
    for (const model::Wait& wait : event.after) {
      if (wait.id == 0) continue;
      waits = true;
      ++found_.waits[static_cast<std::size_t>(wait.reason)];
    }
    if (waits) ++found_.waiting_events;
    if (event.step != Step::kPreopened) noteTime(event, waits);
    if (event.step == Step::kCall) count(event);
    return std::nullopt;
  }

  Complaint endThread() override {
    if (work_at_last_call_ns_ > found_.longest_work_ns) {
      found_.longest_work_ns = work_at_last_call_ns_;
      found_.longest_worker = thread_;
    }
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

  // The time that a replay in dt takes for the event at least, by the rules of the engine.
  std::int64_t workOf(const ScheduleEvent& event, bool waits) const {
    if (event.step == Step::kInherited) return 0;
    const bool is_delay = event.step == Step::kDelay;
    if (event.own) {
      return compiler_.timeOf(*event.own) + (is_delay ? event.end_ns - event.start_ns : 0);
    }
    if (waits) return 0;
    const std::int64_t begun =
        behindRecorder(recorded_end_ns_, event.start_ns, thread_.recorder_ns);
    return std::max<std::int64_t>((is_delay ? event.end_ns : event.start_ns) - begun, 0);
  }

  void noteTime(const ScheduleEvent& event, bool waits) {
    work_ns_ = base::saturatingSum(work_ns_, workOf(event, waits));
    if (event.step == Step::kCall) noteCallTime(event);
    recorded_end_ns_ = std::max(recorded_end_ns_, event.end_ns);
  }

  void noteCallTime(const ScheduleEvent& event) {
    work_at_last_call_ns_ = work_ns_;
    if (!found_.first_start_ns || event.start_ns < *found_.first_start_ns) {
      found_.first_start_ns = event.start_ns;
    }
    found_.last_end_ns = std::max(found_.last_end_ns, event.end_ns);
    if (event.start_ns < recorded_end_ns_ && found_.overlaps++ == 0) {
      found_.first_overlap_thread = thread_;
    }
  }

  void count(const ScheduleEvent& event) {
    const Traffic traffic = trafficOf(event);
    found_.total.add(traffic);
    found_.by_rank.back().add(traffic);
    found_.by_call[event.row->name].add(traffic);
    found_.by_phase[event.phase].add(traffic);
    const std::uint32_t file = compiler_.fileOf(event);
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
  // The thread's.
  std::int64_t recorded_end_ns_ = 0;
  std::int64_t work_ns_ = 0;
  std::int64_t work_at_last_call_ns_ = 0;
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
