#include "trace/wrap/intercept.hpp"

#include <sys/mman.h>

#include <utility>

#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

bool mayRecordSlow(Thread& self) {
  if (self.vforked && isVforkChild()) return false;
  if (self.level < kLanes) return true;
  // A handler that interrupts a handler in the middle of a record: no lane is left for it. The
  // event is lost, unless none is to be recorded now.
  if (!isActive() || !isStoppedEpoch()) {
    process.events_lost.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}

void makeLogAndRing() {
  noticeFork();
  if (!openContainer() || thread.level > 0) return;
  ++thread.level;
  makeRoom(thread, 0, wire::kMaxFixedRecord);
  --thread.level;
}

void introduce(Ring& ring, Entry entry) {
  char* out = ring.cursor;
  defineHandle(ring, out, infoOf(entry), entry.handle());
  // Not published: the definition counts with the event that needs it.
  ring.cursor = out;
}

void putOwnNotes(Ring& ring, Thread& self) {
  if (self.own_work != 0) {
    ring.cursor = wire::encodeRecorderWork(ring.cursor, std::exchange(self.own_work, 0));
  }
  if (self.think.ticks != 0) {
    ring.cursor = wire::encodeThinkSample(ring.cursor, std::exchange(self.think.ticks, 0),
                                          std::exchange(self.think.cpu_ns, 0));
  }
}

void drainAfterEvent(Thread& self, unsigned lane) {
  if (!isActive()) return;  // recording has ended (endRecording)
  Ring* ring = self.lanes[lane].ring;
  // In a child that has recorded nothing yet the lanes are its parent's thread's, whose rings it
  // has given up.
  if (ring == nullptr ||
      imageOf(self.epoch) != imageOf(process.epoch_page->load(std::memory_order_relaxed))) {
    return;
  }
  self.frames[lane] = stackPointer();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++self.level;
  drain(*ring, self, lane);
  writeAccount();
  --self.level;
}

char* putPieces(char* out, const Subject& subject) {
  if (subject.list != nullptr) {
    std::memcpy(out, subject.list, subject.list_bytes);
    return out + subject.list_bytes;
  }
  for (int i = 0; i < subject.piece_count; ++i) {
    out = wire::putVarint(out, subject.pieces[i].iov_len);
  }
  return out;
}

namespace {

constexpr std::uintptr_t kPage = 4096;

// Whether the kernel can read the 8 bytes at the place, which never cross a page.
bool isReadableWord(std::uintptr_t word) {
  // A call that fails in one way when the kernel cannot read them, in another when it can. Only a
  // null pointer it does not read.
  constexpr long kNoSuchAction = -1;
  return word != 0 &&
         rawSyscall(SYS_rt_sigprocmask, kNoSuchAction, static_cast<long>(word), 0, 8) == -EINVAL;
}

}  // namespace

bool isReadable(const char* text) {
  auto at = reinterpret_cast<std::uintptr_t>(text);
  while (true) {
    if (!isReadableWord(at & ~std::uintptr_t{7})) return false;
    const std::uintptr_t next_page = (at & ~(kPage - 1)) + kPage;
    for (; at < next_page; ++at) {
      if (*reinterpret_cast<const char*>(at) == '\0') return true;
    }
  }
}

bool isReadableMemory(const void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  // Where a filter keeps the kernel from being asked, it has to be believed.
  if (isForbidden(SYS_rt_sigprocmask)) return memory != nullptr;
  for (std::uintptr_t at = begin; at < begin + bytes; at = (at & ~(kPage - 1)) + kPage) {
    if (!isReadableWord(at & ~std::uintptr_t{7})) return false;
  }
  return true;
}

int descriptorOf(FILE* stream) {
  const int errno_before = errno;
  const int fd = fileno(stream);
  if (fd < 0) errno = errno_before;  // a stream in memory
  return fd;
}

int streamError(FILE* stream, int error, int errno_before) {
  const bool is_end = feof_unlocked(stream) != 0;
  const bool is_error = ferror_unlocked(stream) != 0;
  if (is_end != is_error) return is_end ? 0 : error;
  // Both, one of them since an earlier call; or neither, of a call that does not get so far.
  return error == errno_before ? 0 : error;
}

namespace {

// Whether the file has no NUL among the last `most` bytes before the descriptor's position, as far
// back as its last line goes, which has no newline. False where that cannot be read. These are
// bytes that the application has just read.
bool endsWithoutNul(int fd, std::int64_t most) {
  constexpr std::int64_t kPiece = 256;  // a thread's stack may be small
  constexpr std::int64_t kFar = std::int64_t{64} * 1024;
  char piece[kPiece];
  const std::int64_t end = rawSyscall(SYS_lseek, fd, 0, SEEK_CUR);
  if (end < 0) return false;
  for (std::int64_t behind = end; behind > 0 && end - behind < most;) {
    if (end - behind >= kFar) return false;
    const std::int64_t begin = behind > kPiece ? behind - kPiece : 0;
    if (rawSyscall(SYS_pread64, fd, address(piece), behind - begin, begin) != behind - begin) {
      return false;
    }
    for (; behind > begin && end - behind < most; --behind) {
      const char byte = piece[behind - begin - 1];
      if (byte == '\n') return true;
      if (byte == '\0') return false;
    }
  }
  return true;
}

}  // namespace

// fgets ends with the first newline, when its room is full, or at the end of the file. So the
// buffer alone tells what it has read, unless it came to the end: a NUL of the last line looks like
// the one that fgets adds. The buffer is looked at as far as fgets has written it and no further,
// since applications may say that it is larger than it is.
LineRead lineRead(const char* line, std::int64_t room, FILE* stream, int fd) {
  const auto bytes = static_cast<std::int64_t>(strlen(line));
  if ((bytes > 0 && line[bytes - 1] == '\n') || bytes >= room - 1) return {.bytes = bytes};
  if (feof_unlocked(stream) == 0 && ferror_unlocked(stream) == 0) {
    const auto* const newline = static_cast<const char*>(
        memchr(line + bytes, '\n', static_cast<std::size_t>(room - 1 - bytes)));
    return {.bytes = newline == nullptr ? room - 1 : newline + 1 - line};
  }
  return {.bytes = bytes, .is_exact = bytes > 0 && fd >= 0 && endsWithoutNul(fd, room - 1)};
}

namespace {

constexpr std::uint32_t kHandle = 1;
constexpr int kBatches = 5;
constexpr std::uint64_t kEvents = 50;  // in a batch
constexpr std::size_t kDataBytes = 24 * 1024;
constexpr std::size_t kBytes = wire::kRingHeaderBytes + kDataBytes;

// A ring that is never read.
Ring* mapScratch() {
  auto* ring = static_cast<Ring*>(mapAnonymous(kBytes, MAP_PRIVATE | MAP_POPULATE));
  if (ring == nullptr) return nullptr;
  ring->chunk = reinterpret_cast<wire::ChunkHeader*>(ring->data());
  ring->cursor = reinterpret_cast<char*>(ring->chunk + 1);
  ring->limit = ring->data() + kDataBytes - kRingReserve;
  ring->prediction.handles[wire::handleSlot(kHandle)].handle = kHandle;
  return ring;
}

// The wrapper of a pwrite whose real call takes no time.
void recordOne(Thread& scratch, std::int64_t offset) {
  wire::EventTimes times;
  Subject subject;
  const Entry known = lookUp(0);
  asm volatile("" : : "r"(known.word()) : "memory");
  subject.handle = Entry(kHandle, 0);
  times.start = ticks();
  asm volatile("" : : : "memory");
  times.end = ticks();
  wire::Arguments<CallId::pwrite64> numbers{};
  numbers[2] = 8;
  numbers[3] = offset;
  // As record() does, but this ring belongs to no thread: it is never drained, nor exchanged.
  const bool same = scratch.epoch == process.epoch_page->load(std::memory_order_relaxed);
  const bool ending = process.draining_each.load(std::memory_order_relaxed);
  asm volatile("" : : "r"(same), "r"(ending) : "memory");
  append<CallId::pwrite64>(*scratch.lanes[0].ring, scratch, times, false, numbers, 8, 8, subject);
}

// The quickest batch, which nothing came between.
template <typename Action>
std::uint64_t picosecondsOf(Action action) {
  std::uint64_t best = ~std::uint64_t{0};
  for (int batch = 0; batch < kBatches; ++batch) {
    const std::uint64_t before = wire::systemNs(CLOCK_MONOTONIC);
    for (std::uint64_t i = 0; i < kEvents; ++i) action(i);
    const std::uint64_t took = wire::systemNs(CLOCK_MONOTONIC) - before;
    if (took < best) best = took;
  }
  return best * 1000 / kEvents;
}

EventCost measure() {
  Ring* ring = mapScratch();
  if (ring == nullptr) return {};
  Thread scratch;
  scratch.epoch = process.epoch_page->load(std::memory_order_relaxed);
  scratch.lanes[0].ring = ring;
  EventCost cost;
  cost.event_ps = picosecondsOf(
      [&scratch](std::uint64_t i) { recordOne(scratch, static_cast<std::int64_t>(i) * 8); });
  if (recordsStacks()) {
    learnStack(thread);
    cost.event_ps += picosecondsOf([](std::uint64_t) { findStack(thread); });
  }
  cost.clock_ps = picosecondsOf([](std::uint64_t) {
    const std::uint64_t now = ticks();
    asm volatile("" : : "r"(now) : "memory");
  });
  rawSyscall(SYS_munmap, address(ring), kBytes);
  return cost;
}

}  // namespace

EventCost eventCost() {
  static std::atomic<bool> is_measured{false};
  static constinit EventCost cost;
  // The creator of the container alone comes here (container_writer.cpp); a second one would be a
  // signal handler's or a child's.
  if (process.epoch_page != nullptr && !is_measured.exchange(true)) cost = measure();
  return cost;
}

}  // namespace omnio::trace
