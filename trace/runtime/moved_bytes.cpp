#include "trace/runtime/moved_bytes.hpp"

#include <errno.h>
#include <time.h>

#include <atomic>

#include "core/wire/clock.hpp"
#include "core/wire/info.hpp"
#include "core/wire/moved_bytes.hpp"
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

wire::MovedBytes kernel_before;  // when the image began
bool kernel_tells = false;
std::atomic<std::uint64_t> last_told_ns{0};
std::atomic<std::uint64_t> children{0};
std::atomic<std::uint64_t> uring_rings{0};
std::atomic<std::uint64_t> not_followed{0};

void tellCount(const char* fact, const std::atomic<std::uint64_t>& counter) {
  if (const std::uint64_t count = counter.load(); count > 0) appendFact(fact, count);
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
  return true;
}

}  // namespace

void beginMovedBytes(bool is_forked) {
  own_bytes.read.store(0);
  own_bytes.written.store(0);
  passed_bytes.read.store(0);
  passed_bytes.written.store(0);
  last_told_ns.store(0);
  children.store(0);
  uring_rings.store(0);
  not_followed.store(0);
  kernel_before = {};
  if (!is_forked) kernel_tells = readKernelIo(kernel_before);
}

void countPassed(std::uint64_t read, std::uint64_t written) {
  if (read > 0) passed_bytes.read.fetch_add(read, std::memory_order_relaxed);
  if (written > 0) passed_bytes.written.fetch_add(written, std::memory_order_relaxed);
}

void tellMovedBytes() {
  tellCount(wire::info::kUringRings, uring_rings);
  tellCount(wire::info::kNotFollowed, not_followed);
  wire::MovedAccount account;
  if (!takeAccount(account)) return;
  char words[16 * 21];
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

bool hasMovedUnseen() {
  if (uring_rings.load() > 0 || not_followed.load() > 0) return true;
  constexpr std::uint64_t kWorthTelling = std::uint64_t{1} << 20;
  wire::MovedAccount account;
  if (!takeAccount(account) || account.children > 0) return false;
  const auto exceeds = [](std::uint64_t kernel, std::uint64_t known) {
    return kernel > known && kernel - known >= kWorthTelling;
  };
  const wire::MovedAccount& a = account;
  return exceeds(a.kernel.read, a.kernel_before.read + a.own.read + a.passed.read) ||
         exceeds(a.kernel.written, a.kernel_before.written + a.own.written + a.passed.written);
}

}  // namespace omnio::trace
