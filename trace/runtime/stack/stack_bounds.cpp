#include "trace/runtime/stack/stack_bounds.hpp"

#include "trace/runtime/stack/modules.hpp"
#include "trace/runtime/stack/own_stack.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

constexpr std::uintptr_t kStackPage = 4096;
constexpr std::uintptr_t stackPageOf(std::uintptr_t address) { return address & ~(kStackPage - 1); }

// Whether the kernel can read the word: a call that fails in one way when it can, and in another
// when it cannot.
bool isStackReadable(std::uintptr_t word) {
  constexpr long kNoSuchAction = -1;
  return rawSyscall(SYS_rt_sigprocmask, kNoSuchAction, static_cast<long>(word), 0, 8) == -EINVAL;
}

// Extends the bounds downwards to the page of `here`, as far as pages can be read. Returns whether
// they go so far.
bool extendTo(StackBounds& bounds, std::uintptr_t here) {
  while (bounds.low > stackPageOf(here) && isStackReadable(bounds.low - kStackPage)) {
    bounds.low -= kStackPage;
  }
  return bounds.low <= here;
}

// The first thread's stack grows. The kernel keeps more than this free below it (256 pages), so
// that a stack pointer no further down is its own. For one that is, the kernel is asked; on the
// stack of a coroutine that would be in vain each time.
void extendFirst(Thread& self, std::uintptr_t here) {
  constexpr std::uintptr_t kNear = 255 * kStackPage;
  StackBounds& bounds = self.stack;
  if (here < bounds.low && bounds.low - here < kNear) {
    extendTo(bounds, here);
    return;
  }
  const std::uint32_t times = ++self.outside_stack;
  if ((times & (times - 1)) != 0) return;
  onOwnStack([&] {
    const HeldSignals held;
    const SpareDescriptors spare;
    if (const StackBounds now = firstStack(); now.holds(here)) bounds = now;
  });
}

}  // namespace

// Looks it up in the library's own headers. (The linker's `etext` would become a symbol that other
// libraries see.)
[[gnu::noinline]] std::uintptr_t measureOwnCode() {
  const auto begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  const unsigned count = __ehdr_start.e_phnum;
  const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(begin + __ehdr_start.e_phoff);
  std::uintptr_t first = 0;  // address of the first segment, as it is linked
  std::uintptr_t bytes = 0;
  for (unsigned i = count; i-- > 0;) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type == PT_LOAD) first = stackPageOf(segment.p_vaddr);
  }
  for (unsigned i = 0; i < count; ++i) {
    const Elf64_Phdr& segment = segments[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    bytes = segment.p_vaddr + segment.p_memsz - first;
  }
  own_bytes_of_code.store(bytes, std::memory_order_relaxed);
  return bytes;
}

[[gnu::noinline]] void extendBounds(Thread& self, std::uintptr_t here) {
  StackBounds& bounds = self.stack;
  // In a child that another thread than the first has forked, what its parent knew still holds.
  if (self.is_first || (bounds.high == 0 && self.tid == process.pid)) {
    self.is_first = true;
    extendFirst(self, here);
    return;
  }
  const auto top = reinterpret_cast<std::uintptr_t>(&thread);
  if (here >= top || self.is_whole_stack) return;
  if (bounds.high == 0) {
    bounds = {.low = stackPageOf(top) + kStackPage, .high = top & ~(kFrameAlignment - 1)};
  }
  self.is_whole_stack = !extendTo(bounds, here);
}

}  // namespace omnio::trace
