#include "replay/overview.hpp"

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "replay/plan/program.hpp"

namespace omnio::replay {

void Traffic::add(const Traffic& other) {
  operations += other.operations;
  reads += other.reads;
  read_bytes += other.read_bytes;
  writes += other.writes;
  written_bytes += other.written_bytes;
  time_ns += other.time_ns;
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
  explicit OverviewSink(model::Order order)
      : order_(order), compiler_({}, Changes{.order = order}) {}

  Complaint global(const model::ScheduleGlobal& global) override {
    return compiler_.global(global);
  }

  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override {
    found_.by_file.emplace_back();
    uses_.emplace_back();
    return compiler_.file(number, file);
  }

  Complaint beginThread(const model::ScheduleThread& thread) override {
    // The compiler forgets the descriptors of a rank when the next one begins.
    if (thread.rank != thread_.rank) settle();
    thread_ = thread;
    previous_end_ns_ = 0;
    work_ns_ = 0;
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
    if (!event.after.empty()) ++found_.waiting_events;
    for (const model::Wait& wait : event.after)
      ++found_.waits[static_cast<std::size_t>(wait.reason)];
    if (event.step == Step::kCall || event.step == Step::kDelay) noteTime(event);
    if (event.step == Step::kCall) count(event);
    return std::nullopt;
  }

  Complaint endThread() override {
    if (work_ns_ > found_.longest_work_ns) {
      found_.longest_work_ns = work_ns_;
      found_.longest_worker = thread_;
    }
    return compiler_.endThread();
  }

  Complaint finish() {
    settle();
    if (auto complaint = compiler_.finish()) return complaint;
    found_.plan = compiler_.takePlan();
    found_.by_rank.resize(found_.plan.ranks.size());
    for (std::uint32_t i = 0; i < uses_.size(); ++i) {
      if (uses_[i].last_rank == kNoRank) found_.unused_files.push_back(i);
      if (uses_[i].is_shared && found_.by_file[i].writes > 0) ++found_.shared_files;
    }
    if (order_ != model::Order::kNone) findUnordered();
    return std::nullopt;
  }

  Overview take() { return std::move(found_); }

 private:
  static constexpr int kNoRank = -1;
  struct Use {
    int last_rank = kNoRank;
    bool is_shared = false;
  };

  void noteUse(std::uint32_t number) {
    if (number >= uses_.size()) return;
    Use& use = uses_[number];
    use.is_shared |= use.last_rank != kNoRank && use.last_rank != thread_.rank;
    use.last_rank = thread_.rank;
  }

  void noteTime(const ScheduleEvent& event) {
    const bool is_delay = event.step == Step::kDelay;
    if (event.own) {
      work_ns_ += event.own->total();
    } else if (event.after.empty()) {
      work_ns_ += std::max<std::int64_t>(event.start_ns - previous_end_ns_, 0);
    }
    if (is_delay) return;
    if (!found_.first_start_ns || event.start_ns < *found_.first_start_ns) {
      found_.first_start_ns = event.start_ns;
    }
    found_.last_end_ns = std::max(found_.last_end_ns, event.end_ns);
    if (event.start_ns < previous_end_ns_ && found_.overlaps++ == 0) {
      found_.first_overlap = thread_;
    }
    previous_end_ns_ = std::max(previous_end_ns_, event.end_ns);
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
      unknown_[event.fd].add(traffic);
    } else {
      found_.without_file.add(traffic);
    }
  }

  void addToFile(std::uint32_t file, const Traffic& traffic) {
    found_.by_file[file].add(traffic);
    noteUse(file);
  }

  // What went through descriptors that a later thread of the rank has made.
  void settle() {
    for (const auto& [descriptor, traffic] : std::exchange(unknown_, {})) {
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
    for (std::size_t rank = 0; rank < is_ordered.size(); ++rank) {
      if (!is_ordered[rank] && found_.by_rank[rank].operations > 0) {
        found_.unordered_ranks.push_back(static_cast<int>(rank));
      }
    }
  }

  model::Order order_;
  Compiler compiler_;
  Overview found_;
  std::vector<Use> uses_;  // by file
  model::ScheduleThread thread_ = [] {
    model::ScheduleThread none;
    none.rank = kNoRank;
    return none;
  }();
  std::int64_t previous_end_ns_ = 0;
  std::int64_t work_ns_ = 0;
  std::map<Descriptor, Traffic> unknown_;  // of the rank
};

}  // namespace

base::Result<Overview> readOverview(const std::filesystem::path& schedule, model::Order order) {
  const base::ProgressStage stage("reading the schedule", "events", 0);
  OverviewSink sink(order);
  if (auto read = model::readSchedule(schedule, sink); !read) return read.failure();
  if (auto complaint = sink.finish()) {
    return base::failure(base::Code::kInvalid, "{}: {}", base::printable(schedule.native()),
                         *complaint);
  }
  return sink.take();
}

}  // namespace omnio::replay
