#include "replay/run/engine.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"
#include "core/order/io_chain.hpp"
#include "core/wire/moved_bytes.hpp"
#include "replay/issue/libc.hpp"
#include "replay/plan/lanes.hpp"
#include "replay/plan/program.hpp"
#include "replay/result_comparison.hpp"
#include "replay/run/flags.hpp"
#include "replay/run/sleeper.hpp"

namespace omnio::replay {
namespace {

// Thousands of recorded threads may be folded into one process.
constexpr std::size_t kStackBytes = 512 * 1024;
// MPI libraries reckon with the stack of a main thread.
constexpr std::size_t kMpiStackBytes = std::size_t{8} << 20;
// With more time than this to pass, the next block of the program is fetched meanwhile.
constexpr std::int64_t kIdleNs = 2000000;

// How long before it is due a thread begins with a call: to find its name and descriptor, and to
// make content that no call before it wrote (one store in each block of 4 KiB), with cold caches.
std::int64_t preparationNs(const Op& op) {
  constexpr std::int64_t kAnyCallNs = 5000;
  constexpr std::uint64_t kBytesInNs = 100;
  constexpr std::uint64_t kMostBytes = std::uint64_t{100} << 20;  // one that failed may ask for any
  if (calls::kTable[op.row].call_class != calls::Class::kWrite) return kAnyCallNs;
  return kAnyCallNs + static_cast<std::int64_t>(std::min(op.request, kMostBytes) / kBytesInNs);
}

// Whether a call that came out otherwise than recorded counts as a difference (result_comparison).
bool differs(const Instruction& instruction, const Outcome& outcome) {
  if (!outcome.issued) return false;  // counted as such
  const Op& op = instruction.op;
  const bool was_failed = (op.flags & kOpFailed) != 0;
  // The replay goes on without the lock, as if it had it. A scan finds other text than it looked
  // for.
  if (outcome.substitute == Substitute::kLock && !outcome.failed) return false;
  if (outcome.substitute == Substitute::kFoundLink) return false;
  if (outcome.substitute == Substitute::kForeignLine) return false;
  if (outcome.substitute == Substitute::kScan && outcome.failed == was_failed) return false;
  return !isSameResult(
      calls::kTable[op.row],
      {.failed = was_failed, .result = op.result, .at_least = (op.flags & kOpAtLeast) != 0},
      {.failed = outcome.failed, .result = outcome.result});
}

// The wait's flag of that number, in this pass of the operation.
FlagPass awaitedBy(const Wait& wait, std::size_t number, std::int64_t pass) {
  FlagPass awaited{.flag = wait.flags[number]};
  if (!wait.passes.empty()) awaited.pass = wait.passes[number];
  if (wait.loop.empty()) return awaited;
  const LoopWait& loop = wait.loop[number];
  if (!loop.each.empty()) return loop.each[static_cast<std::size_t>(pass)];
  awaited.pass += loop.step * pass;
  return awaited;
}

const model::Work& workBehind(const Wait& wait, std::size_t number,
                              const Instruction& instruction) {
  if (instruction.waits == nullptr || wait.loop.empty() || wait.loop[number].time < 0) {
    return wait.work[number];
  }
  return instruction.waits[wait.loop[number].time];
}

std::int64_t leastBefore(const Wait& wait, const Instruction& instruction) {
  if (instruction.waits == nullptr || wait.least_time < 0) return wait.least_ns;
  return instruction.waits[wait.least_time].total();
}

// An end, as the chain numbers them: in 62 bits.
std::uint64_t chainNumber(const FlagPass& end) {
  constexpr int kPassBits = 31;
  constexpr std::uint64_t kPasses = std::uint64_t{1} << kPassBits;
  if (!isLoopFlag(end.flag)) return end.flag;
  const std::uint64_t loop = std::uint64_t{end.flag} - kFirstLoopFlag + 1;
  return loop << kPassBits | static_cast<std::uint64_t>(end.pass) % kPasses;
}

// "4096", "ENOSPC", "end of file"
std::string resultText(const calls::Row& row, bool failed, std::int64_t result) {
  std::string text;
  if (failed && result == 0) return "end of file";
  if (failed) {
    calls::appendError(text, row, result);
    return text;
  }
  return isComparable(row) ? std::to_string(result) : std::string("success");
}

}  // namespace

// Memory for requests that one thread at a time works with (plan/lanes.hpp).
struct Engine::Lane {
  LargestRequests room{};
  Buffers buffers{};
  std::atomic<bool> is_taken{false};

  bool take() { return !is_taken.exchange(true, std::memory_order_acquire); }
};

struct Engine::Thread {
  Engine& engine;
  const PlannedThread& planned;
  std::size_t number;  // among all of the replay
  std::size_t rank_place;
  Lane* lane = nullptr;
  std::unique_ptr<IssueContext> context{};
  ProgramReader program{};
  pthread_t handle{};
  bool is_joinable = false;

  // While it runs.
  std::atomic<std::uint64_t> event{0};  // by place in the thread
  std::atomic<bool> has_ended{false};
  std::atomic<std::uint32_t> awaited{kNoFlag};  // the flag that it waits for
  std::atomic<std::int64_t> meeting_ns{0};      // since when it is in a call that ranks meet in
  std::int64_t recorded_end_ns = 0;             // of the last operation
  std::int64_t actual_end_ns = 0;               // less what it owes
  std::int64_t owed_ns = 0;
  std::int64_t on_time_end_ns = 0;
  std::int64_t delayed_in_mpi_ns = 0;  // of delays since its last call
  Sleeper sleeper{};
  // As fast as possible: the calls since actual_end_ns, one behind the other.
  bool is_in_stretch = false;
  bool has_untimed = false;
  RankCounts counts{};
  std::vector<Difference> differences{};
  ThreadCalls calls;
  order::ThreadChain chain;  // not as fast as possible: calls are not timed then
  event::Event moved{};      // to count bytes with
};

std::size_t Lateness::bucketOf(std::uint64_t value) {
  constexpr std::uint64_t kExact = 1U << kSubBits;
  if (value < kExact) return static_cast<std::size_t>(value);
  const auto shift = static_cast<std::size_t>(std::bit_width(value)) - kSubBits - 1;
  return ((shift + 1) << kSubBits) + static_cast<std::size_t>((value >> shift) - kExact);
}

std::uint64_t Lateness::upperEnd(std::size_t bucket) {
  constexpr std::size_t kExact = std::size_t{1} << kSubBits;
  if (bucket < kExact) return bucket;
  const std::size_t shift = (bucket >> kSubBits) - 1;
  return ((std::uint64_t{bucket % kExact} + kExact + 1) << shift) - 1;
}

void Lateness::add(std::int64_t late_ns) {
  const std::int64_t value = std::max<std::int64_t>(late_ns, 0);
  ++count_;
  if (value == 0) {
    ++buckets_[0];
    return;
  }
  sum_ += static_cast<double>(value);
  max_ = std::max(max_, value);
  ++buckets_[std::min(bucketOf(static_cast<std::uint64_t>(value)), kBuckets - 1)];
}

void Lateness::merge(const Lateness& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
}

double Lateness::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

std::int64_t Lateness::percentile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted && seen > 0) {
      return std::min(static_cast<std::int64_t>(upperEnd(i)), max_);
    }
  }
  return max_;
}

void RankCounts::merge(const RankCounts& other) {
  operations += other.operations;
  bytes_read += other.bytes_read;
  bytes_written += other.bytes_written;
  io_ns += other.io_ns;
  begin_ns = std::min(begin_ns, other.begin_ns);
  end_ns = std::max(end_ns, other.end_ns);
  on_time_end_ns = std::max(on_time_end_ns, other.on_time_end_ns);
  negative_gaps += other.negative_gaps;
  differences += other.differences;
  for (std::size_t i = 0; i < substitutes.size(); ++i) substitutes[i] += other.substitutes[i];
  lateness.merge(other.lateness);
}

Engine::Engine(Settings settings, const std::vector<std::uint32_t>& ranks)
    : settings_(std::move(settings)), ranks_(ranks), counts_(ranks.size()) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) counts_[i].rank = ranks_[i];
}

Engine::~Engine() = default;

base::Result<void> Engine::start() {
  const Plan& plan = settings_.plan;
  for (const std::uint32_t rank : ranks_) {
    const PlannedRank& planned = plan.ranks[rank];
    descriptors_.push_back(std::make_unique<Descriptors>(planned.slots));
    requests_.push_back(std::make_unique<Requests>());
    mappings_.push_back(std::make_unique<Mappings>());
    for (const Preopened& preopened : planned.preopened) {
      if (const int error = preopen(preopened, settings_.paths, *descriptors_.back())) {
        return base::failure(base::Code::kSystem,
                             "cannot open {}, which was open from the start: {}",
                             base::printable(plan.files[preopened.file].location),
                             std::generic_category().message(error));
      }
    }
  }
  std::map<int, std::size_t> own_threads;
  std::size_t all_threads = 0;
  for (const PlannedThread& planned : plan.threads) {
    if (std::ranges::count(ranks_, static_cast<std::uint32_t>(planned.recorded.rank)) == 0)
      continue;
    ++own_threads[planned.recorded.rank];
    ++all_threads;
  }
  for (std::size_t i = 0; i < plan.threads.size(); ++i) {
    const auto place = std::find(ranks_.begin(), ranks_.end(),
                                 static_cast<std::uint32_t>(plan.threads[i].recorded.rank));
    if (place == ranks_.end()) continue;
    threads_.push_back(std::unique_ptr<Thread>(
        new Thread{.engine = *this,
                   .planned = plan.threads[i],
                   .number = i,
                   .rank_place = static_cast<std::size_t>(place - ranks_.begin()),
                   .calls = ThreadCalls(own_threads[plan.threads[i].recorded.rank] == 1,
                                        ThreadCalls::kMostCalls / all_threads),
                   .chain = order::ThreadChain(order::ThreadChain::kMostWords / all_threads)}));
    Thread& thread = *threads_.back();
    thread.context = std::make_unique<IssueContext>(
        settings_.paths, *descriptors_[thread.rank_place], plan.global.write_overwrite);
    thread.context->requests = requests_[thread.rank_place].get();
    thread.context->mappings = mappings_[thread.rank_place].get();
    thread.context->mpi = settings_.mpi;
    thread.context->process = static_cast<std::uint32_t>(thread.planned.recorded.pid);
    if (auto opened = thread.program.open(programName(settings_.programs, i)); !opened) {
      return opened;
    }
  }
  if (auto reserved = reserveLanes(); !reserved) return reserved;
  // Files that were open before the run are in the table of the process, and a close in another
  // table would leave them open. The descriptors of a tracer and of MPI have to be in one table.
  has_own_descriptors_ =
      plan.threads.size() == 1 &&
      plan.ranks[static_cast<std::size_t>(plan.threads[0].recorded.rank)].preopened.empty() &&
      !settings_.is_traced && !settings_.announce && settings_.mpi == nullptr;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, settings_.mpi == nullptr ? kStackBytes : kMpiStackBytes);
  running_ = static_cast<std::uint32_t>(threads_.size());
  int error = 0;
  for (const auto& thread : threads_) {
    error = pthread_create(&thread->handle, &attributes, &Engine::entry, thread.get());
    if (error != 0) break;
    thread->is_joinable = true;
  }
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    return base::failure(base::Code::kSystem, "cannot start a thread, of {}: {}", threads_.size(),
                         std::generic_category().message(error));
  }
  // The clock starts when all are ready.
  for (std::uint32_t n = started_; n != threads_.size(); n = started_) started_.wait(n);
  if (auto early = failure()) return *early;
  return {};
}

base::Result<void> Engine::reserveLanes() {
  std::vector<const PlannedThread*> planned;
  for (const auto& thread : threads_) planned.push_back(&thread->planned);
  const Lanes lanes = lanesOf(planned);
  lanes_.resize(lanes.largest.size());
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    std::unique_ptr<Lane>& lane = lanes_[lanes.of_thread[i]];
    if (lane == nullptr) {
      lane = std::make_unique<Lane>();
      const std::uint64_t seed = threads_[i]->number + 1;
      lane->room = lanes.largest[lanes.of_thread[i]];
      auto reserved = lane->buffers.reserve(lane->room, seed, settings_.content);
      if (!reserved) return reserved;
    }
    threads_[i]->lane = lane.get();
  }
  return {};
}

// Before the thread's first call. Elsewhere than in the recording, the thread before it in the lane
// may still be at work.
bool Engine::takeBuffers(Thread& thread) {
  if (thread.context->buffers != nullptr) return true;
  if (!thread.lane->take()) {
    Lane* const spare = spareLane(thread);
    if (spare == nullptr) return false;
    thread.lane = spare;
  }
  thread.context->buffers = &thread.lane->buffers;
  return true;
}

// A lane beside the planned ones, taken for the thread: one that others are done with, or a new
// one.
Engine::Lane* Engine::spareLane(Thread& thread) {
  constexpr std::uint64_t kSpareSeed = 1U << 23;
  Lane* made = nullptr;
  {
    const std::lock_guard lock(spare_mutex_);
    for (const auto& lane : spare_lanes_) {
      if (lane->room.covers(thread.planned) && lane->take()) return lane.get();
    }
    auto lane = std::make_unique<Lane>();
    made = lane.get();
    made->room = thread.planned;
    made->take();
    spare_lanes_.push_back(std::move(lane));
  }
  if (const auto reserved =
          made->buffers.reserve(made->room, kSpareSeed + thread.number, settings_.content);
      !reserved) {
    fail(thread, reserved.failure().sentence);
    return nullptr;
  }
  return made;
}

void Engine::go(std::int64_t beginning_ns) {
  beginning_ns_ = beginning_ns;
  beginning_ns_.notify_all();
}

bool Engine::isDone() const { return running_ == 0 || failure().has_value(); }

std::optional<base::Failure> Engine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Engine::fail(const Thread& thread, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = base::failure(base::Code::kSystem, "recorded rank {}, thread {}: {}",
                           thread.planned.recorded.rank, thread.planned.recorded.thread, reason);
}

void* Engine::entry(void* argument) {
  auto& thread = *static_cast<Thread*>(argument);
  thread.engine.run(thread);
  return nullptr;
}

void Engine::run(Thread& thread) {
  makeTimersSharp();
  if (!settings_.fence.enter()) fail(thread, "the kernel does not fence this thread in");
  {
    const std::lock_guard lock(mutex_);
    places_.push_back({.rank = static_cast<std::uint32_t>(thread.planned.recorded.rank),
                       .thread = static_cast<std::uint32_t>(thread.planned.recorded.thread),
                       .pid = static_cast<std::uint32_t>(getpid()),
                       .tid = static_cast<std::uint32_t>(raw::thread())});
  }
  thread.context->names.enterTree();
  // The tracer makes what the thread's events need before the clock starts.
  if (settings_.is_traced) {
    posix_madvise(nullptr, wire::kControlKey, wire::kPrepareThreadCommand);
  }
  if (has_own_descriptors_) has_own_descriptors_ = unshare(CLONE_FILES) == 0;
  ++started_;
  started_.notify_all();
  beginning_ns_.wait(0);
  thread.sleeper.sleepUntil(beginning_ns_, settings_.may_spin);
  while (const Instruction* instruction = thread.program.next()) {
    perform(thread, *instruction);
    thread.event.store(thread.event.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  endStretch(thread);
  if (has_own_descriptors_) descriptors_[thread.rank_place]->flushStreams();
  if (thread.context->buffers != nullptr) {
    thread.lane->is_taken.store(false, std::memory_order_release);
  }
  thread.program.close();
  if (thread.program.failure()) fail(thread, thread.program.failure()->sentence);
  {
    const std::lock_guard lock(mutex_);
    counts_[thread.rank_place].merge(thread.counts);
    for (Difference& difference : thread.differences) {
      if (differences_.size() < kKeptDifferences) differences_.push_back(std::move(difference));
    }
  }
  thread.has_ended = true;
  --running_;
}

void Engine::perform(Thread& thread, const Instruction& instruction) {
  const Op& op = instruction.op;
  if (thread.is_in_stretch) {
    if (op.step == model::Step::kCall && op.wait == 0) return performNext(thread, instruction);
    endStretch(thread);
  }
  const model::Timing timing = settings_.plan.global.timing;
  const std::int64_t beginning = beginning_ns_.load(std::memory_order_relaxed);
  Predecessors before{
      behindRecorder(thread.recorded_end_ns, op.start_ns, thread.planned.recorded.recorder_ns),
      thread.actual_end_ns};
  Predecessors on_time{before.recorded_end_ns, thread.on_time_end_ns};
  std::int64_t work_done_ns = thread.actual_end_ns + op.own_ns;
  std::int64_t on_time_work_ns = thread.on_time_end_ns + op.own_ns;
  // How long the thread was in MPI before the call. Delays before it pass no time themselves, so
  // the call passes theirs too.
  std::int64_t in_mpi_ns = op.communication_ns + std::exchange(thread.delayed_in_mpi_ns, 0);
  if (op.wait != 0) {
    const Wait& wait = thread.planned.waits[op.wait - 1];
    before.recorded_end_ns = std::max(before.recorded_end_ns, wait.recorded_end_ns);
    const std::int64_t least_ns = leastBefore(wait, instruction);
    work_done_ns = std::max(work_done_ns, least_ns);
    on_time_work_ns = std::max(on_time_work_ns, least_ns);
    const WaitKind kind = wait.in_mpi ? settings_.wait_in_mpi : settings_.wait;
    // The application computed before it waited. Others are told of a delay as soon as its end is
    // known, so that it begins with waiting.
    if (op.step == model::Step::kCall && timing == model::Timing::kDelta && op.own_ns > 0) {
      passUntil(thread, beginning + thread.actual_end_ns + op.own_ns - preparationNs(op),
                in_mpi_ns);
      in_mpi_ns = 0;
    }
    std::int64_t awaited_ns =
        0;  // the end of the flag that decides when the call is due, if one does
    for (std::size_t i = 0; i < wait.flags.size(); ++i) {
      const FlagPass awaited = awaitedBy(wait, i, instruction.pass);
      const auto [end_ns, recorded_end_ns, on_time_ns] = waitFor(thread, awaited, kind);
      if (timing != model::Timing::kAsap) thread.chain.after(chainNumber(awaited));
      before.recorded_end_ns =
          std::max({before.recorded_end_ns, recorded_end_ns, awaited.recorded_end_ns});
      before.actual_end_ns = std::max(before.actual_end_ns, end_ns);
      on_time.actual_end_ns = std::max(on_time.actual_end_ns, on_time_ns);
      const model::Work& work = workBehind(wait, i, instruction);
      on_time_work_ns = std::max(on_time_work_ns, on_time_ns + work.total());
      const std::int64_t done_ns = end_ns + work.total();
      if (done_ns <= work_done_ns) continue;
      work_done_ns = done_ns;
      awaited_ns = end_ns;
      in_mpi_ns = work.communication_ns;
    }
    // It is told before it has come where it is the end of a delay.
    if (wait.in_mpi) in_mpi_ns += std::max<std::int64_t>(beginning + awaited_ns - nowNs(), 0);
    on_time.recorded_end_ns = before.recorded_end_ns;
  }
  if (op.own_ns >= 0) {
    before.work_done_ns = work_done_ns;
    on_time.work_done_ns = on_time_work_ns;
  }
  std::int64_t end = before.actual_end_ns;
  std::int64_t on_time_end = on_time.actual_end_ns;
  if (op.step == model::Step::kInherited) {
    inherit(op, *descriptors_[thread.rank_place]);
  } else if (op.step == model::Step::kDelay) {
    // The threads that wait for it are told at once when it will end, and pass that time
    // themselves. If this thread slept first, each delay would take two wake-ups longer.
    constexpr std::int64_t kLatestNs = std::int64_t{1} << 60;  // fits Flags::raise()
    end = std::min(delayEnd(timing, before, op.start_ns, op.end_ns), kLatestNs);
    on_time_end = std::min(delayEnd(timing, on_time, op.start_ns, op.end_ns), kLatestNs);
    thread.delayed_in_mpi_ns = in_mpi_ns;
  } else {
    const Due due = dueOf(timing, before, op.start_ns);
    std::int64_t at = beginning + due.at_ns;
    // A delay before the call may not be over, and the recorded start does not depend on it.
    if (timing == model::Timing::kStart && beginning + before.actual_end_ns > nowNs()) {
      at = std::max(at, beginning + before.actual_end_ns);
    }
    const bool had_time = at > nowNs();
    if (had_time) {
      if (at - nowNs() > kIdleNs && !thread.program.hasFetched()) thread.program.fetchAhead();
      passUntil(thread, at - preparationNs(op), in_mpi_ns);
    }
    if (!takeBuffers(thread)) return;
    thread.context->due_ns = had_time ? at : 0;
    Outcome outcome = makeCall(thread, instruction);
    if (!outcome.issued && had_time) {
      passUntil(thread, at, in_mpi_ns);
      outcome.start_ns = outcome.end_ns = nowNs();
    }
    end = outcome.end_ns - beginning;
    on_time_end =
        end - behindOnTime(timing, before, on_time, op.start_ns, outcome.start_ns - beginning);
    thread.counts.io_ns += outcome.end_ns - outcome.start_ns;
    thread.counts.begin_ns = std::min(thread.counts.begin_ns, outcome.start_ns - beginning);
    thread.counts.negative_gaps += due.gap_was_negative ? 1 : 0;
    thread.counts.lateness.add(outcome.start_ns - at);
    count(thread, instruction, outcome);
    thread.counts.end_ns = std::max(thread.counts.end_ns, end);
    thread.counts.on_time_end_ns = std::max(thread.counts.on_time_end_ns, on_time_end);
    if (timing == model::Timing::kDelta) {
      thread.owed_ns = owedBehind(thread.owed_ns, outcome.start_ns - at, had_time);
      end -= thread.owed_ns;
    }
    // From here on, one call follows the other.
    thread.is_in_stretch = timing == model::Timing::kAsap;
  }
  thread.recorded_end_ns = std::max(thread.recorded_end_ns, op.end_ns);
  thread.actual_end_ns = std::max(thread.actual_end_ns, end);
  thread.on_time_end_ns = std::max(thread.on_time_end_ns, on_time_end);
  raise(thread, instruction);
}

Outcome Engine::makeCall(Thread& thread, const Instruction& instruction) {
  const calls::Row& row = calls::kTable[instruction.op.row];
  const bool meets = row.api == calls::Api::kMpi && row.sync == calls::Sync::kAll;
  if (meets) thread.meeting_ns.store(nowNs(), std::memory_order_relaxed);
  const Outcome outcome = issue(instruction, *thread.context);
  if (meets) thread.meeting_ns.store(0, std::memory_order_relaxed);
  return outcome;
}

// A call as fast as possible behind another one, which nothing has to be known for. The clock is
// read at the end of the stretch of such calls.
void Engine::performNext(Thread& thread, const Instruction& instruction) {
  thread.context->is_timed = false;
  const Outcome outcome = makeCall(thread, instruction);
  thread.context->is_timed = true;
  thread.has_untimed = true;
  thread.recorded_end_ns = std::max(thread.recorded_end_ns, instruction.op.end_ns);
  count(thread, instruction, outcome);
  if (instruction.op.named != 0) {
    endStretch(thread);
    raise(thread, instruction);
  }
}

void Engine::endStretch(Thread& thread) {
  thread.is_in_stretch = false;
  if (!thread.has_untimed) return;
  thread.has_untimed = false;
  const std::int64_t end = nowNs() - beginning_ns_.load(std::memory_order_relaxed);
  thread.counts.io_ns += end - thread.actual_end_ns;
  thread.actual_end_ns = end;
  thread.counts.end_ns = std::max(thread.counts.end_ns, end);
}

// Takes the call and what came of it into the counts.
void Engine::count(Thread& thread, const Instruction& instruction, const Outcome& outcome) {
  const Op& op = instruction.op;
  const calls::Row& row = calls::kTable[op.row];
  RankCounts& counts = thread.counts;
  ++counts.operations;
  ++counts.substitutes[static_cast<std::size_t>(outcome.substitute)];
  std::uint64_t bytes = 0;
  if (!outcome.failed && outcome.issued && event::countsBytes(row)) {
    if (row.result == calls::Result::kBytes || row.result == calls::Result::kMpi) {
      bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(outcome.result, 0));
    } else {
      thread.moved.row = &row;
      thread.moved.arguments = instruction.arguments;
      thread.moved.request = op.request;
      thread.moved.result = outcome.result;
      bytes = event::bytesMoved(thread.moved);
    }
    (row.call_class == calls::Class::kRead ? counts.bytes_read : counts.bytes_written) += bytes;
  }
  // As fast as possible, only the first of several calls in a row is timed by itself.
  if (settings_.plan.global.timing != model::Timing::kAsap && outcome.issued) {
    account(thread, instruction, outcome, bytes);
  }
  if (!differs(instruction, outcome)) return;
  // All that comes would fail likewise.
  if (outcome.failed && outcome.result == EMFILE) {
    fail(thread, fmt::format("{} has no descriptor left: the limit of the process is {}; raise it "
                             "(ulimit -Hn), or use more processes",
                             row.name, base::openFileLimit()));
  }
  ++counts.differences;
  if (thread.differences.size() >= kKeptDifferences) return;
  const PlannedFile* file = settings_.paths.planned(op.file);
  thread.differences.push_back(
      {.rank = static_cast<std::uint32_t>(thread.planned.recorded.rank),
       .thread = static_cast<std::uint32_t>(thread.planned.recorded.thread),
       .event = thread.event.load(std::memory_order_relaxed) + 1,
       .call = std::string(row.name),
       .location = file == nullptr ? std::string() : file->location,
       .expected = resultText(row, (op.flags & kOpFailed) != 0, op.result),
       .got = resultText(row, outcome.failed, outcome.result)});
}

void Engine::account(Thread& thread, const Instruction& instruction, const Outcome& outcome,
                     std::uint64_t bytes) {
  const calls::Row& row = calls::kTable[instruction.op.row];
  const std::int64_t beginning = beginning_ns_.load(std::memory_order_relaxed);
  ThreadCalls::Call call{.start_ns = outcome.start_ns - beginning,
                         .end_ns = outcome.end_ns - beginning,
                         .phase = static_cast<std::int32_t>(instruction.op.phase),
                         .kind = event::ioKindOf(row)};
  if (outcome.group >= 0) {
    const std::lock_guard lock(mutex_);
    const auto group = static_cast<std::size_t>(outcome.group);
    if (meetings_of_group_.size() <= group) meetings_of_group_.resize(group + 1);
    const auto number = static_cast<std::uint32_t>(meetings_of_group_[group].size());
    call.meeting = static_cast<std::int32_t>(meetings_.size());
    meetings_.emplace_back(outcome.group, number);
    thread.chain.met(static_cast<std::uint32_t>(group), number, call.start_ns, call.end_ns);
    meetings_of_group_[group].push_back({.came_ns = call.start_ns, .left_ns = call.end_ns});
  } else {
    thread.chain.call(call.start_ns, call.end_ns);
  }
  thread.calls.add(call);
  if (event::transfersData(row)) {
    thread.calls.moved(call.phase, row.call_class == calls::Class::kRead, bytes,
                       call.end_ns - call.start_ns);
  }
}

std::vector<PhaseIo> Engine::ioByPhase(const std::vector<std::vector<std::int64_t>>& last) const {
  std::vector<std::int64_t> waits;
  for (const auto& [group, place] : meetings_) {
    const bool is_known = static_cast<std::size_t>(group) < last.size() &&
                          place < last[static_cast<std::size_t>(group)].size();
    waits.push_back(is_known ? last[static_cast<std::size_t>(group)][place] : 0);
  }
  std::vector<PhaseIo> all;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    std::vector<const ThreadCalls*> threads;
    for (const auto& thread : threads_) {
      if (thread->rank_place == i) threads.push_back(&thread->calls);
    }
    std::vector<PhaseIo> own = ioOf(ranks_[i], threads, waits);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

bool Engine::knowsChain() const {
  return std::ranges::all_of(threads_, [](const auto& thread) { return thread->chain.isWhole(); });
}

std::vector<std::vector<std::int64_t>> Engine::chains() const {
  std::vector<std::vector<std::int64_t>> words;
  if (settings_.plan.global.timing == model::Timing::kAsap || !knowsChain()) return words;
  for (const auto& thread : threads_) words.push_back(thread->chain.words());
  return words;
}

RaisedEnd Engine::waitFor(Thread& thread, FlagPass awaited, WaitKind kind) {
  if (!settings_.flags.isRaised(awaited.flag, awaited.pass)) {
    thread.awaited.store(awaited.flag, std::memory_order_relaxed);
  }
  const RaisedEnd end = settings_.await ? settings_.await(awaited, kind)
                                        : settings_.flags.wait(awaited.flag, awaited.pass, kind);
  thread.awaited.store(kNoFlag, std::memory_order_relaxed);
  return end;
}

// Think time and delays. For `in_mpi_ns` of it, the thread was in MPI.
void Engine::passUntil(Thread& thread, std::int64_t at_ns, std::int64_t in_mpi_ns) const {
  double busy = 0;
  if (settings_.compute == Compute::kSpin) {
    busy = 1;
  } else if (settings_.compute == Compute::kAuto && settings_.may_spin) {
    busy = thread.planned.recorded.computing.value_or(0);
    if (in_mpi_ns > 0 && settings_.wait_in_mpi == WaitKind::kYield) {
      thread.sleeper.yieldUntil(std::min(nowNs() + in_mpi_ns, at_ns));
    }
  }
  thread.sleeper.passUntil(at_ns, settings_.may_spin, busy);
}

std::uint64_t Engine::progress() const {
  std::uint64_t sum = 0;
  for (const auto& thread : threads_) {
    sum += thread->event.load(std::memory_order_relaxed);
    // One that computes or is in a call moves with each look. Ranks may meet in a call that is
    // long, or where one of them never comes.
    const std::int64_t meeting_ns = thread->meeting_ns.load(std::memory_order_relaxed);
    if (meeting_ns != 0 && nowNs() - meeting_ns > settings_.longest_meeting_ns) continue;
    const bool moves = thread->awaited.load(std::memory_order_relaxed) == kNoFlag &&
                       !thread->has_ended.load(std::memory_order_relaxed);
    if (moves) sum += static_cast<std::uint64_t>(nowNs());
  }
  return sum;
}

std::string Engine::waits() const {
  constexpr std::size_t kNamed = 5;
  std::string text;
  std::size_t waiting = 0;
  for (const auto& thread : threads_) {
    const std::uint32_t flag = thread->awaited.load(std::memory_order_relaxed);
    if (thread->meeting_ns.load(std::memory_order_relaxed) != 0 && ++waiting <= kNamed) {
      text +=
          fmt::format("{}event {} of rank {}, thread {} waits for other ranks in a call",
                      waiting > 1 ? "; " : "", thread->event.load(std::memory_order_relaxed) + 1,
                      thread->planned.recorded.rank, thread->planned.recorded.thread);
    }
    if (flag == kNoFlag || ++waiting > kNamed) continue;
    text += fmt::format("{}event {} of rank {}, thread {} waits for ", waiting > 1 ? "; " : "",
                        thread->event.load(std::memory_order_relaxed) + 1,
                        thread->planned.recorded.rank, thread->planned.recorded.thread);
    for (const PlannedThread& other : settings_.plan.threads) {
      const auto found = std::find(other.raises.begin(), other.raises.end(), flag);
      if (found == other.raises.end()) continue;
      text +=
          fmt::format("rank {}, thread {} (the {}. event of it that others wait for)",
                      other.recorded.rank, other.recorded.thread, found - other.raises.begin() + 1);
    }
  }
  if (waiting > kNamed) text += fmt::format("; {} more threads wait", waiting - kNamed);
  return text;
}

// Tells those who wait for the operation that it has ended.
void Engine::raise(Thread& thread, const Instruction& instruction) {
  if (instruction.op.named == 0) return;
  const FlagPass raised{.flag = thread.planned.raises[instruction.op.named - 1],
                        .pass = instruction.pass};
  if (raised.flag == kNoFlag) return;
  if (settings_.plan.global.timing != model::Timing::kAsap) {
    thread.chain.ended(chainNumber(raised));
  }
  const RaisedEnd end{.end_ns = thread.actual_end_ns,
                      .recorded_end_ns = isLoopFlag(raised.flag) ? instruction.op.end_ns : 0,
                      .on_time_ns = thread.on_time_end_ns};
  settings_.flags.raise(raised.flag, raised.pass, end);
  if (settings_.announce) settings_.announce(raised, end);
}

void Engine::finish() {
  for (const auto& thread : threads_) {
    if (thread->is_joinable) pthread_join(thread->handle, nullptr);
    thread->is_joinable = false;
  }
  if (has_own_descriptors_) return;
  for (const auto& rank : descriptors_) rank->flushStreams();
}

}  // namespace omnio::replay
