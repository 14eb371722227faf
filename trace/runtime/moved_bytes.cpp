#include "trace/runtime/moved_bytes.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>

#include "core/wire/clock.hpp"
#include "core/wire/info.hpp"
#include "core/wire/moved_bytes.hpp"
#include "core/wire/path_pattern.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

constexpr std::uint64_t kBetweenNs = 1'000'000'000;

struct PassedBytes {
  std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint64_t> written{0};
} passed_bytes;

// By default pattern, what it has left out.
struct LeftOut {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint64_t> written{0};
};
LeftOut left_out[wire::kDefaultPatterns];

wire::MovedBytes kernel_before;  // when the image began
bool kernel_tells = false;
std::atomic<std::uint64_t> last_told_ns{0};
std::atomic<std::uint64_t> children{0};  // started, and not seen to be waited for
PassedBytes reaped_bytes;
std::atomic<std::uint64_t> uring_rings{0};
std::atomic<std::uint64_t> not_followed{0};

void tellCount(const char* fact, const std::atomic<std::uint64_t>& counter) {
  if (const std::uint64_t count = counter.load(); count > 0) appendFact(fact, count);
}

void tellLeftOut() {
  for (std::size_t i = 0; i < wire::kDefaultPatterns; ++i) {
    const std::uint64_t calls = left_out[i].calls.load(std::memory_order_relaxed);
    if (calls == 0) continue;
    char key[128];
    char words[3 * 21];
    Text(key, sizeof key)
        .put(wire::info::kLeftOutPrefix)
        .put(wire::patternAt(wire::kDefaultExclude, i));
    Text text(words, sizeof words);
    text.putNumber(calls).putByte(' ');
    text.putNumber(left_out[i].read.load(std::memory_order_relaxed)).putByte(' ');
    text.putNumber(left_out[i].written.load(std::memory_order_relaxed));
    appendFact(key, text.words());
  }
}

template <typename Bytes>
wire::MovedBytes valueOf(const Bytes& bytes) {
  return {.read = bytes.read.load(std::memory_order_relaxed),
          .written = bytes.written.load(std::memory_order_relaxed)};
}

bool readKernelIo(wire::MovedBytes& moved) {
  char text[256];
  const long bytes = withDescriptor([&text]() -> long {
    char path[48] = "/proc/self/io";
    // The child that lends its descriptors is another process.
    if (isInOwnTable()) {
      Text(path, sizeof path).put("/proc/").putNumber(process.pid).put("/io");
    }
    return readFile(path, text, sizeof text);
  });
  return bytes > 0 && wire::parseKernelIo({text, static_cast<std::size_t>(bytes)}, moved);
}

// Whether the process has a child, or none that the kernel would have counted.
bool hasNoneUnseen() {
  siginfo_t facts{};
  if (rawSyscall(SYS_waitid, P_ALL, 0, address(&facts), WEXITED | WNOHANG | WNOWAIT, 0) == 0) {
    return true;
  }
  // Children that are not to be waited for go by themselves, and their bytes with them.
  struct {
    void* handler;
    unsigned long flags;
    void* restorer;
    std::uint64_t mask;
  } action{};
  if (rawSyscall(SYS_rt_sigaction, SIGCHLD, 0, address(&action), sizeof action.mask) != 0) {
    return false;
  }
  return action.handler == reinterpret_cast<void*>(SIG_IGN) || (action.flags & SA_NOCLDWAIT) != 0;
}

// By calls of this process that are known, as the kernel counts them.
wire::MovedBytes knownBytes() {
  wire::MovedAccount account;
  addRecordedBytes(account);
  const wire::MovedBytes own = valueOf(own_bytes);
  const wire::MovedBytes passed = valueOf(passed_bytes);
  return {.read = own.read + passed.read + account.recorded.read - account.uncounted.read,
          .written =
              own.written + passed.written + account.recorded.written - account.uncounted.written};
}

// False where the kernel does not tell.
bool takeAccount(wire::MovedAccount& account) {
  if (!kernel_tells) return false;
  // First the kernel: what other threads move meanwhile may be in their own counts alone.
  if (!readKernelIo(account.kernel)) return false;
  account.kernel_before = kernel_before;
  account.own = valueOf(own_bytes);
  account.passed = valueOf(passed_bytes);
  addRecordedBytes(account);
  account.children = children.load(std::memory_order_relaxed);
  if (account.children > 0 && hasNoneUnseen()) account.children = 0;
  account.reaped = valueOf(reaped_bytes);
  return true;
}

}  // namespace

void beginMovedBytes(bool is_forked) {
  own_bytes.read.store(0);
  own_bytes.written.store(0);
  passed_bytes.read.store(0);
  passed_bytes.written.store(0);
  last_told_ns.store(0);
  forgetChildren();
  uring_rings.store(0);
  not_followed.store(0);
  for (LeftOut& one : left_out) {
    one.calls.store(0);
    one.read.store(0);
    one.written.store(0);
  }
  kernel_before = {};
  if (!is_forked) kernel_tells = readKernelIo(kernel_before);
}

void countPassed(std::uint64_t read, std::uint64_t written) {
  if (read > 0) passed_bytes.read.fetch_add(read, std::memory_order_relaxed);
  if (written > 0) passed_bytes.written.fetch_add(written, std::memory_order_relaxed);
}

void countLeftOutBy(Filter filter, std::uint64_t read, std::uint64_t written) {
  const auto place =
      static_cast<std::size_t>(filter) - static_cast<std::size_t>(Filter::kFirstDefault);
  if (place >= wire::kDefaultPatterns) return;
  LeftOut& one = left_out[place];
  one.calls.fetch_add(1, std::memory_order_relaxed);
  if (read > 0) one.read.fetch_add(read, std::memory_order_relaxed);
  if (written > 0) one.written.fetch_add(written, std::memory_order_relaxed);
}

void tellMovedBytes() {
  tellLeftOut();
  tellCount(wire::info::kUringRings, uring_rings);
  tellCount(wire::info::kNotFollowed, not_followed);
  wire::MovedAccount account;
  if (!takeAccount(account)) return;
  char words[18 * 21];
  Text text(words, sizeof words);
  wire::forEachNumber(account, [&text](std::uint64_t number) {
    if (text.size() > 0) text.putByte(' ');
    text.putNumber(number);
  });
  appendFact(wire::info::kMovedBytes, text.words());
}

bool tellMovedBytesNowAndThen() {
  if (!hasContainer()) return false;
  const std::uint64_t now = wire::systemNs(CLOCK_MONOTONIC);
  std::uint64_t last = last_told_ns.load(std::memory_order_relaxed);
  if (now < last + kBetweenNs || !last_told_ns.compare_exchange_strong(last, now)) return false;
  tellMovedBytes();
  return true;
}

void countRing() { uring_rings.fetch_add(1, std::memory_order_relaxed); }

void countNotFollowed() { not_followed.fetch_add(1, std::memory_order_relaxed); }

void countChild() { children.fetch_add(1, std::memory_order_relaxed); }

void forgetChildren() {
  children.store(0);
  reaped_bytes.read.store(0);
  reaped_bytes.written.store(0);
}

ReapedBytes::ReapedBytes() {
  wire::MovedBytes kernel;
  is_known_ = readKernelIo(kernel);
  if (!is_known_) return;
  const wire::MovedBytes known = knownBytes();
  before_ = {.read = kernel.read - known.read, .written = kernel.written - known.written};
}

wire::MovedBytes ReapedBytes::take() {
  std::uint64_t left = children.load(std::memory_order_relaxed);
  while (is_known_ && left > 0 && !children.compare_exchange_weak(left, left - 1)) {
  }
  return takeUncounted();
}

wire::MovedBytes ReapedBytes::takeUncounted() {
  if (!is_known_) return {};
  const wire::MovedBytes known = knownBytes();
  wire::MovedBytes kernel;
  if (!readKernelIo(kernel)) return {};
  // Modulo 2^64, as before_ is: of a stream more may be known than the kernel has counted by now.
  const auto grown = [](std::uint64_t now, std::uint64_t of_known, std::uint64_t before) {
    const auto more = static_cast<std::int64_t>(now - of_known - before);
    return more > 0 ? static_cast<std::uint64_t>(more) : 0;
  };
  const wire::MovedBytes moved = {.read = grown(kernel.read, known.read, before_.read),
                                  .written = grown(kernel.written, known.written, before_.written)};
  reaped_bytes.read.fetch_add(moved.read, std::memory_order_relaxed);
  reaped_bytes.written.fetch_add(moved.written, std::memory_order_relaxed);
  return moved;
}

wire::MovedBytes ownKernelBytes(wire::MovedBytes& in_all) {
  wire::MovedBytes& kernel = in_all;
  if (!readKernelIo(kernel)) return {};
  const auto less = [](std::uint64_t all, std::uint64_t part) {
    return all > part ? all - part : 0;
  };
  return {.read = less(kernel.read, kernel_before.read + reaped_bytes.read.load()),
          .written = less(kernel.written, kernel_before.written + reaped_bytes.written.load())};
}

namespace {

constexpr std::uint64_t kWorthTelling = std::uint64_t{1} << 20;

// Whether default filters have left out as much of files; what is in /proc and /sys is none.
bool hasLeftOutFiles() {
  for (std::size_t i = 0; i < wire::kDefaultPatterns; ++i) {
    const std::string_view pattern = wire::patternAt(wire::kDefaultExclude, i);
    if (pattern.starts_with("/proc") || pattern.starts_with("/sys")) continue;
    const LeftOut& one = left_out[i];
    if (one.read.load() + one.written.load() >= kWorthTelling) return true;
  }
  return false;
}

}  // namespace

bool hasMovedUnseen() {
  if (uring_rings.load() > 0 || not_followed.load() > 0 || hasLeftOutFiles()) return true;
  wire::MovedAccount account;
  if (!takeAccount(account) || account.children > 0) return false;
  const auto exceeds = [](std::uint64_t kernel, std::uint64_t known) {
    return kernel > known && kernel - known >= kWorthTelling;
  };
  const wire::MovedAccount& a = account;
  return exceeds(a.kernel.read,
                 a.kernel_before.read + a.own.read + a.passed.read + a.reaped.read) ||
         exceeds(a.kernel.written,
                 a.kernel_before.written + a.own.written + a.passed.written + a.reaped.written);
}

}  // namespace omnio::trace
