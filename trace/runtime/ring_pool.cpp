// Where rings come from: files on node-local tmpfs, so that they outlive the process; plain memory
// where there is none. A ring whose thread has ended is used again: that is noticed by asking the
// kernel for the thread when a ring is wanted, so that no thread has to say good-bye.
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <cstring>

#include "trace/runtime/container_writer.hpp"
#include "trace/runtime/file_size_limit.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/raw_syscall.hpp"
#include "trace/runtime/ring.hpp"
#include "trace/runtime/text.hpp"

namespace omnio::trace {

std::uint32_t ringCount();
void beginOwnership(Ring& ring, Thread& self, unsigned lane);
void becomeForkedChild();

namespace {

constexpr std::uint32_t kMaxRings = 32768;
// How many rings of others are looked at for one that is free before a new one is made: bounds
// what a new thread costs among thousands of live ones.
constexpr std::uint32_t kProbes = 16;

std::atomic<Ring*> rings[kMaxRings];
std::atomic<std::uint32_t> ring_count{0};
std::atomic<std::uint32_t> probe_at{0};

char place[256] = {};  // directory of ring files; empty: plain memory
bool in_memory = false;

bool threadIsGone(std::uint32_t tid) {
  return rawSyscall(SYS_tgkill, process.pid, static_cast<long>(tid), 0) == -ESRCH;
}

// <place>/omnio-<token>-<number>
void ringPath(char (&out)[320], std::uint32_t number) {
  Text(out, sizeof out)
      .put(place)
      .putByte('/')
      .put(wire::kRingPrefix)
      .putHex(process.token, 16)
      .putByte('-')
      .putNumber(number);
}

Ring* mapRingFile(std::uint32_t number) {
  if (place[0] == '\0' || !withinFileSizeLimit(kRingBytes)) return nullptr;
  char path[320];
  ringPath(path, number);
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  long memory = -1;
  // Reserved in full now: a tmpfs that fills up later cannot turn a store into SIGBUS.
  if (rawSyscall(SYS_fallocate, fd, 0, 0, kRingBytes) == 0) {
    memory = rawSyscall(SYS_mmap, 0, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        fd, 0);
  }
  rawSyscall(SYS_close, fd);
  if (memory < 0 && memory > -4096) {
    rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
    return nullptr;
  }
  return reinterpret_cast<Ring*>(memory);
}

Ring* makeRing() {
  const std::uint32_t number = ring_count.fetch_add(1, std::memory_order_relaxed);
  if (number >= kMaxRings) {
    ring_count.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  Ring* ring = mapRingFile(number);
  const bool has_file = ring != nullptr;
  if (!has_file) {
    in_memory = true;
    const long memory = rawSyscall(SYS_mmap, 0, kRingBytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory < 0 && memory > -4096) return nullptr;
    ring = reinterpret_cast<Ring*>(memory);
  }
  // Fresh memory is zero, which is what every member not named here begins with.
  wire::RingHeader& header = ring->header;
  header.version = wire::kFormatVersion;
  header.pid = process.pid;
  header.token = process.token;
  header.data_offset = wire::kRingHeaderBytes;
  header.data_bytes = wire::kRingDataBytes;
  header.process_start = processStart();
  std::memcpy(header.trace_directory, process.settings.directory, wire::kMaxTraceDirectory);
  ring->has_file = has_file;
  ring->number = number;
  ring->limit = ring->data() + wire::kRingDataBytes - 8;
  ring->owner.store(thread.tid, std::memory_order_relaxed);
  rings[number].store(ring, std::memory_order_release);
  return ring;
}

// A ring of a thread that is gone, now ours; nullptr when none is found soon.
Ring* takeUsedRing(const Thread& self) {
  const std::uint32_t count = ring_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < kProbes && i < count; ++i) {
    const std::uint32_t n = probe_at.fetch_add(1, std::memory_order_relaxed) % count;
    Ring* ring = rings[n].load(std::memory_order_acquire);
    if (ring == nullptr || ring == self.lanes[0].ring || ring == self.lanes[1].ring) continue;
    std::uint32_t owner = ring->owner.load(std::memory_order_acquire);
    if (owner != self.tid && !threadIsGone(owner)) continue;
    if (ring->owner.compare_exchange_strong(owner, self.tid, std::memory_order_acq_rel)) {
      return ring;
    }
  }
  return nullptr;
}

void beginThread(Thread& self) {
  if (*process.epoch_page != process.epoch) becomeForkedChild();
  for (Lane& lane : self.lanes) lane = {};
  self.tid = static_cast<std::uint32_t>(rawSyscall(SYS_gettid));
  self.number = process.next_thread.fetch_add(1, std::memory_order_relaxed);
  self.epoch = process.epoch;
}

}  // namespace

Ring* makeRoom(Thread& self, unsigned lane_number, std::size_t need) {
  if (!isActive()) return nullptr;
  if (self.epoch != *process.epoch_page) beginThread(self);
  Lane& lane = self.lanes[lane_number];
  if (lane.ring == nullptr) {
    Ring* ring = takeUsedRing(self);
    if (ring == nullptr) {
      // With the first ring, so that a process that is killed soon is known by name and rank.
      if (ringCount() == 0) openContainer();
      ring = makeRing();
    }
    if (ring == nullptr) return nullptr;
    if (lane.sequence == 0) lane.log = process.next_log.fetch_add(1, std::memory_order_relaxed);
    beginOwnership(*ring, self, lane_number);
    ring->header.magic = wire::kRingMagic;  // from now on it can be collected
    lane.ring = ring;
  }
  if (lane.ring->room() < need) drain(*lane.ring, self, lane_number);
  return lane.ring;
}

bool writeOutAll() {
  bool all = true;
  const std::uint32_t count = ring_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kMaxRings; ++i) {
    Ring* ring = rings[i].load(std::memory_order_acquire);
    if (ring == nullptr || ring->header.magic != wire::kRingMagic) continue;
    if (!writeOut(*ring)) {
      all = false;
      const wire::Progress progress =
          wire::Progress::unpack(ring->header.progress.load(std::memory_order_acquire));
      const std::uint32_t events = ring->closed_events + progress.events;
      process.events_lost.fetch_add(events - ring->accounted.exchange(events),
                                    std::memory_order_relaxed);
    }
  }
  return all;
}

void unlinkRings(bool keep_one) {
  const std::uint32_t count = ring_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kMaxRings; ++i) {
    Ring* ring = rings[i].load(std::memory_order_acquire);
    if (ring == nullptr || !ring->has_file) continue;
    if (keep_one) {
      keep_one = false;
      continue;
    }
    char path[320];
    ringPath(path, ring->number);
    rawSyscall(SYS_unlinkat, AT_FDCWD, address(path), 0);
    ring->has_file = false;
  }
}

Ring* firstRingFile() {
  const std::uint32_t count = ring_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kMaxRings; ++i) {
    Ring* ring = rings[i].load(std::memory_order_acquire);
    if (ring != nullptr && ring->has_file) return ring;
  }
  return nullptr;
}

std::uint32_t ringCount() { return ring_count.load(std::memory_order_acquire); }

void forgetRings(bool unmap) {
  const std::uint32_t count = ring_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kMaxRings; ++i) {
    Ring* ring = rings[i].exchange(nullptr, std::memory_order_acq_rel);
    if (ring != nullptr && unmap) rawSyscall(SYS_munmap, address(ring), kRingBytes);
  }
  ring_count.store(0, std::memory_order_release);
  in_memory = false;
}

const char* ringPlace() { return place[0] == '\0' || in_memory ? "memory" : place; }

void chooseRingPlace() {
  const auto is_tmpfs = [](const char* directory) {
    struct statfs facts;
    return rawSyscall(SYS_statfs, address(directory), address(&facts)) == 0 &&
           facts.f_type == TMPFS_MAGIC;
  };
  const auto choose = [](const char* directory) {
    const std::size_t length = strlen(directory);
    if (length == 0 || length >= sizeof place) return false;
    std::memcpy(place, directory, length + 1);
    return true;
  };
  const char* wanted = getenv("OMNIO_RING_DIR");
  if (wanted != nullptr && is_tmpfs(wanted) && choose(wanted)) return;
  for (const char* directory : wire::kRingDirectories) {
    if (is_tmpfs(directory) && choose(directory)) return;
  }
}

}  // namespace omnio::trace
