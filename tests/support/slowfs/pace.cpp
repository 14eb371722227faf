#include "tests/support/slowfs/pace.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cmath>

namespace slowfs {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void sleepThrough(std::int64_t until_ns) {
  const timespec until = {until_ns / kSecond, until_ns % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// At least one core stays free for the programs that wait, except on a machine with one core.
int spinnersAllowed() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores) - 1);
}

// The output function of SplitMix64 (Steele, Lea, Flood 2014): good bits from a counter, so that
// threads share no state but the counter.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

std::int64_t Turns::enter(std::int64_t arrival_ns) {
  std::unique_lock lock(mutex_);
  if (taken_) {
    std::binary_semaphore turn(0);
    waiting_.push_back(&turn);
    lock.unlock();
    turn.acquire();
    lock.lock();
  }
  taken_ = true;
  return std::max(arrival_ns, free_at_ns_);
}

void Turns::leave(std::int64_t end_ns) {
  const std::lock_guard lock(mutex_);
  free_at_ns_ = end_ns;
  taken_ = !waiting_.empty();
  if (!taken_) return;
  std::binary_semaphore* const next = waiting_.front();
  waiting_.pop_front();
  next->release();
}

std::int64_t Channel::transferTime(std::uint64_t bytes) const {
  return bytes_per_ns_ > 0 ? std::llround(static_cast<double>(bytes) / bytes_per_ns_) : 0;
}

std::int64_t Channel::transfer(std::int64_t arrival_ns, std::uint64_t bytes) {
  if (bytes_per_ns_ <= 0 || bytes == 0) return arrival_ns;
  const std::lock_guard lock(mutex_);
  free_at_ns_ = std::max(arrival_ns, free_at_ns_) + transferTime(bytes);
  return free_at_ns_;
}

Pace::Pace(const PaceOptions& options, Counts& counts, Gate& gate)
    : options_(options),
      counts_(counts),
      gate_(gate),
      channel_(options.bandwidth_bytes_per_ns),
      spinners_allowed_(spinnersAllowed()),
      calls_(options.failures.size()) {}

int Pace::plannedError(Kind kind) {
  int error = 0;
  for (std::size_t index = 0; index < calls_.size(); ++index) {
    const Failure& failure = options_.failures[index];
    if (failure.of_kind && *failure.of_kind != kind) continue;
    if (failure.of_class && *failure.of_class != classOf(kind)) continue;
    const std::uint64_t number = ++calls_[index];
    const bool fails = failure.onwards ? number >= failure.number : number == failure.number;
    if (fails && error == 0) error = failure.error;
  }
  return error;
}

std::int64_t Pace::latencyOf(Kind kind) {
  const std::int64_t latency_ns = options_.latency_ns[static_cast<std::size_t>(classOf(kind))];
  if (latency_ns == 0 || options_.jitter == 0) return latency_ns;
  const std::uint64_t draw = mixed(options_.seed + mixed(++draws_));
  const double between = std::ldexp(static_cast<double>(draw >> 11), -52) - 1;  // [-1, 1)
  return std::llround(static_cast<double>(latency_ns) * (1 + options_.jitter * between));
}

void Pace::sleepUntil(std::int64_t deadline_ns) {
  std::int64_t time_ns = now();
  if (time_ns >= deadline_ns) return;
  if (options_.spin_ns > 0) {
    const std::int64_t spin_from_ns = deadline_ns - options_.spin_ns;
    if (time_ns < spin_from_ns) sleepThrough(spin_from_ns);
    if (spinners_.fetch_add(1) < spinners_allowed_) {
      while (now() < deadline_ns) relax();
    }
    spinners_.fetch_sub(1);
  }
  if (now() < deadline_ns) sleepThrough(deadline_ns);
}

Service::Service(Pace& pace, Kind kind, pid_t caller)
    : pace_(pace),
      kind_(kind),
      paced_(classOf(kind) != RequestClass::Unpaced),
      begin_ns_(now()),
      planned_error_(0) {
  if (paced_ && pace_.options_.one_at_a_time) begin_ns_ = pace_.turns_.enter(begin_ns_);
  pace_.counts_.begins(kind_, begin_ns_);
  if (paced_) {
    planned_error_ = pace_.plannedError(kind_);
    pace_.gate_.pass(classOf(kind_), caller);
  }
}

void Service::waitForReply(int error, std::uint64_t bytes) {
  std::int64_t deadline_ns = begin_ns_, planned_ns = 0;
  if (paced_) {
    const std::int64_t latency_ns = pace_.latencyOf(kind_);
    planned_ns = latency_ns + pace_.channel_.transferTime(bytes);
    deadline_ns = pace_.options_.one_at_a_time
                      ? begin_ns_ + planned_ns
                      : pace_.channel_.transfer(begin_ns_, bytes) + latency_ns;
  }
  const std::int64_t called_ns = now();
  pace_.sleepUntil(deadline_ns);
  turn_end_ns_ = std::max(deadline_ns, called_ns);
  pace_.counts_.ends({.kind = kind_,
                      .error = error,
                      .bytes = bytes,
                      .begin_ns = begin_ns_,
                      .end_ns = now(),
                      .deadline_ns = deadline_ns,
                      .planned_ns = planned_ns,
                      .overran = deadline_ns > begin_ns_ && called_ns > deadline_ns});
}

Service::~Service() {
  if (paced_ && pace_.options_.one_at_a_time) pace_.turns_.leave(turn_end_ns_);
}

}  // namespace slowfs
