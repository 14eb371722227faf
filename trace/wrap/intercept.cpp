#include "trace/wrap/intercept.hpp"

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

bool mayRecordSlow(Thread& self) {
  if (self.vforked && isVforkChild()) return false;
  if (self.level < kLanes) return true;
  // A handler that interrupts a handler in the middle of a record: no lane is left for it.
  countUnrecorded();
  return false;
}

void countUnrecorded() {
  if (isActive() && isStoppedEpoch()) return;
  process.events_lost.fetch_add(1, std::memory_order_relaxed);
}

void introduce(Ring& ring, Entry entry) {
  char* out = ring.cursor;
  defineHandle(ring, out, infoOf(entry), entry.handle());
  // Not published: the definition counts with the event that needs it.
  ring.cursor = out;
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

}  // namespace omnio::trace
