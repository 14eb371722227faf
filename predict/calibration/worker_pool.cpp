#include "predict/calibration/worker_pool.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "core/base/printable.hpp"
#include "predict/calibration/worker.hpp"

namespace omnio::predict {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::int64_t kGraceNs = 1'000'000'000;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Waits a little. False when nothing came.
bool waitBriefly(sem_t& semaphore) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  constexpr long kPauseNs = 100'000'000;
  constexpr long kSecondNs = 1'000'000'000;
  until.tv_nsec += kPauseNs;
  if (until.tv_nsec >= kSecondNs) {
    until.tv_nsec -= kSecondNs;
    ++until.tv_sec;
  }
  return sem_timedwait(&semaphore, &until) == 0;
}

}  // namespace

base::Result<std::unique_ptr<WorkerPool>> WorkerPool::start(std::string directory,
                                                            std::uint32_t processes,
                                                            std::uint64_t records,
                                                            std::function<bool()> is_stopped) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  pool->directory_ = std::move(directory);
  pool->is_stopped_ = std::move(is_stopped);
  pool->records_each_ = records;
  const std::uint64_t slots_at = aligned(sizeof(SharedArea));
  const std::uint64_t records_at = slots_at + processes * sizeof(WorkerSlot);
  pool->memory_bytes_ = records_at + processes * records * sizeof(AccessRecord);
  void* const memory = mmap(nullptr, pool->memory_bytes_, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return base::failure(base::Code::kSystem, "no memory for {} processes: {}", processes,
                         strerror(errno));
  }
  pool->memory_ = memory;
  auto* const bytes = static_cast<char*>(memory);
  pool->area_ = new (bytes) SharedArea;
  pool->slots_ = {reinterpret_cast<WorkerSlot*>(bytes + slots_at), processes};
  pool->records_ = reinterpret_cast<AccessRecord*>(bytes + records_at);
  for (WorkerSlot& slot : pool->slots_) {
    new (&slot) WorkerSlot;
    sem_init(&slot.go, 1, 0);
    sem_init(&slot.done, 1, 0);
  }
  for (std::uint32_t i = 0; i < processes; ++i) {
    if (const auto started = pool->startOne(i); !started) return started.failure();
  }
  return pool;
}

base::Result<void> WorkerPool::startOne(std::uint32_t number) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return base::failure(base::Code::kSystem, "cannot start process {} of {}: {}", number + 1,
                         slots_.size(), strerror(errno));
  }
  if (pid == 0) {
    // A killed coordinator leaves no process that goes on with its work.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    serve(number);
  }
  pids_.push_back(pid);
  return {};
}

void WorkerPool::serve(std::uint32_t number) {
  // The coordinator decides when the work ends; a terminal sends its signals to all. A file-size
  // limit is an error of the write.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGPIPE}) ::signal(signal, SIG_IGN);
  WorkerSlot& slot = slots_[number];
  {
    Worker worker(directory_, number, *area_, slot,
                  {records_ + number * records_each_, records_each_});
    for (;;) {
      while (sem_wait(&slot.go) != 0) {
      }
      if (area_->stops.load() != 0) break;
      if (worker.hasMemory()) {
        worker.work();
      } else {
        slot.error = ENOMEM;
        area_->failed = 1;
      }
      sem_post(&slot.done);
    }
  }
  _exit(0);
}

base::Result<WorkerPool::Outcome> WorkerPool::carryOut(const WorkOrder& order) {
  area_->order = order;
  area_->failed = 0;
  area_->arrived = 0;
  area_->finished = 0;
  const std::uint32_t processes = order.key.processes;
  for (std::uint32_t i = 0; i < processes; ++i) sem_post(&slots_[i].go);
  for (std::uint32_t i = 0; i < processes; ++i) {
    while (!waitBriefly(slots_[i].done)) {
      if (is_stopped_()) {
        end();
        return Outcome::kStopped;
      }
      int status = 0;
      for (std::uint32_t k = 0; k < pids_.size(); ++k) {
        if (waitpid(pids_[k], &status, WNOHANG) != pids_[k]) continue;
        pids_.erase(pids_.begin() + k);
        end();
        return base::failure(base::Code::kSystem, "a measuring process was ended by signal {}",
                             WIFSIGNALED(status) ? WTERMSIG(status) : 0);
      }
    }
  }
  for (std::uint32_t i = 0; i < processes; ++i) {
    const WorkerSlot& slot = slots_[i];
    if (slot.error == 0) continue;
    return base::failure(base::Code::kSystem, "{}: {}: {}", base::printable(directory_),
                         slot.what[0] == '\0' ? "no memory to work with" : slot.what,
                         strerror(slot.error));
  }
  return is_stopped_() ? Outcome::kStopped : Outcome::kDone;
}

std::span<const AccessRecord> WorkerPool::records(std::uint32_t process) const {
  return {records_ + process * records_each_, slots_[process].records};
}

void WorkerPool::end() {
  if (pids_.empty()) return;
  area_->stops = 1;
  for (WorkerSlot& slot : slots_) sem_post(&slot.go);
  const std::int64_t begin = monotonicNs();
  bool is_killed = false;
  while (!pids_.empty()) {
    std::erase_if(pids_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
    if (pids_.empty()) break;
    // One that waits for slow storage may take as long as that takes.
    if (!is_killed && monotonicNs() - begin > kGraceNs) {
      for (const pid_t pid : pids_) kill(pid, SIGKILL);
      is_killed = true;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

WorkerPool::~WorkerPool() {
  if (memory_ == nullptr) return;
  end();
  munmap(memory_, memory_bytes_);
}

}  // namespace omnio::predict
