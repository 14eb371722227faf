#include "trace/runtime/stack/call_stack.hpp"

#include <elf.h>

#include <atomic>

#include "core/wire/info.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/stack/frame_walk.hpp"
#include "trace/runtime/stack/modules.hpp"
#include "trace/runtime/stack/stack_table.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/waiting.hpp"

// Of the linker: where this library, or this program, begins.
extern "C" __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;

namespace omnio::trace {
namespace {

struct Stacks {
  StackTable<32768, std::size_t{8} << 20> table;
  AddressSet<4096> ends;  // return addresses in code without frame pointers
  Modules modules;
  std::atomic<bool> is_full{false};
};
std::atomic<Stacks*> stacks{nullptr};
std::atomic<std::uint64_t> lost{0};

// The right to add to them, with signals held. Not given when its holder does not go on.
std::atomic<bool> is_claimed{false};
class StackClaim {
 public:
  StackClaim()
      : is_ours_(waitWhile([] { return is_claimed.exchange(true, std::memory_order_acquire); })) {}
  ~StackClaim() {
    if (is_ours_) is_claimed.store(false, std::memory_order_release);
  }
  StackClaim(const StackClaim&) = delete;
  StackClaim& operator=(const StackClaim&) = delete;
  explicit operator bool() const { return is_ours_; }

 private:
  const HeldSignals held_{};
  const bool is_ours_;
};

constexpr std::uintptr_t kStackPage = 4096;
constexpr std::uintptr_t stackPageOf(std::uintptr_t address) { return address & ~(kStackPage - 1); }

std::atomic<std::uintptr_t> own_bytes_of_code{0};  // from there to the end of the last code

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

[[gnu::always_inline]] inline CodeRange ownCode() {
  std::uintptr_t bytes = own_bytes_of_code.load(std::memory_order_relaxed);
  if (bytes == 0) [[unlikely]]
    bytes = measureOwnCode();
  return {.begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start), .bytes = bytes};
}

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
  const HeldSignals held;
  const SpareDescriptors spare;
  if (const StackBounds now = firstStack(); now.holds(here)) bounds = now;
}

// Brings `here`, which is in use as a stack, into the bounds if it is on the thread's own stack.
// Those of all threads but the first lie below their thread-local variables, in one piece of memory
// with them; below each is a page that cannot be read. So what can be read all the way up to the
// variables is the thread's stack.
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

[[gnu::always_inline]] inline void walk(Thread& self, const Stacks* known, std::uintptr_t frame,
                                        Walked& out) {
  if (!self.stack.holds(frame)) [[unlikely]]
    extendBounds(self, frame);
  const bool has_ends = known != nullptr && !known->ends.isEmpty();
  const StackBounds bounds = self.stack.holds(frame) ? self.stack : StackBounds{};
  // A stack pointer above that of the MPI call says that it was left.
  const bool is_inside = self.mpi_frame != 0 && frame < self.mpi_base;
  walkFrames(
      frame, is_inside ? self.mpi_base : 0, callstack_depth.load(std::memory_order_relaxed), bounds,
      ownCode(), [&](std::uintptr_t address) { return has_ends && known->ends.has(address); }, out);
}

enum class Learnt : std::uint8_t { kStack, kEnd, kNothing };

// Looks at a stack that is not known. Where what was taken for a frame is not one, that is noted,
// and the stack has to be walked anew (kEnd).
[[gnu::noinline]] Learnt learn(const Walked& walked, const KnownStack*& stack) {
  const StackClaim claim;
  if (!claim) return Learnt::kNothing;
  const SpareDescriptors spare;
  Stacks* known = stacks.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = static_cast<Stacks*>(mapAnonymous(sizeof(Stacks)));
    if (known == nullptr) return Learnt::kNothing;
    stacks.store(known, std::memory_order_release);
  }
  stack = known->table.find(walked.hash);  // another thread may have been quicker
  if (stack != nullptr) return Learnt::kStack;
  wire::StackFrame frames[wire::kMostFrames];
  for (std::uint32_t i = 0; i < walked.count; ++i) {
    const std::uintptr_t address = walked.addresses[i];
    const Modules::Found found = known->modules.find(address, frames[i]);
    if (i == 0) continue;  // where the call returns to is known for sure
    const bool is_frame = found == Modules::Found::kExecutable && isBehindCall(address);
    if (is_frame) continue;
    const bool is_noted =
        found != Modules::Found::kNotKnown && known->ends.add(walked.addresses[i - 1]);
    if (!is_noted) callstack_depth.store(1);  // what is a frame cannot be told
    return Learnt::kEnd;
  }
  stack = known->table.add(walked.hash, frames, walked.count);
  if (stack == nullptr) known->is_full.store(true, std::memory_order_relaxed);
  return stack != nullptr ? Learnt::kStack : Learnt::kNothing;
}

struct Search {
  const KnownStack* stack = nullptr;
  bool was_new = false;
};

[[gnu::always_inline]] inline Search search(Thread& self, std::uintptr_t frame) {
  Walked walked;
  const Stacks* known = stacks.load(std::memory_order_acquire);
  walk(self, known, frame, walked);
  Search result;
  if (known != nullptr) [[likely]]
    result.stack = known->table.find(walked.hash);
  while (result.stack == nullptr) [[unlikely]] {
      const bool is_full = known != nullptr && known->is_full.load(std::memory_order_relaxed);
      result.was_new = !is_full;
      const Learnt learnt = is_full ? Learnt::kNothing : learn(walked, result.stack);
      if (learnt == Learnt::kNothing) {
        lost.fetch_add(1, std::memory_order_relaxed);
        break;
      }
      if (learnt == Learnt::kEnd) {
        const std::uint64_t before = walked.hash;
        known = stacks.load(std::memory_order_acquire);
        walk(self, known, frame, walked);
        if (walked.hash == before) {
          // The frame of an MPI call led on, and was none: an exception has left the call.
          self.mpi_base = 0;
          walk(self, known, frame, walked);
        }
        result.stack = known->table.find(walked.hash);
      }
    }
  return result;
}

[[gnu::always_inline]] inline std::uintptr_t ownFrame() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace

[[gnu::noinline]] bool putStack(Ring& ring, Thread& self) {
  const Search found = search(self, ownFrame());
  char* out = ring.cursor;
  std::uint32_t number = 0;
  if (found.stack != nullptr) {
    number = found.stack->number;
    std::uint32_t& defined = ring.stacks[number % wire::StackPrediction::kSlots];
    if (defined != number) {
      out = wire::encodeStack(out, number, found.stack->frames(), found.stack->count);
      defined = number;
    }
  }
  ring.cursor = wire::encodeStackUse(out, number, ring.prediction.stack);
  return found.was_new;
}

[[gnu::noinline]] void findStack(Thread& self) {
  Walked walked;
  const Stacks* const known = stacks.load(std::memory_order_acquire);
  walk(self, known, ownFrame(), walked);
  const KnownStack* const stack = known == nullptr ? nullptr : known->table.find(walked.hash);
  asm volatile("" : : "r"(stack), "r"(walked.hash) : "memory");
}

void forgetUnloadedModules() {
  if (stacks.load(std::memory_order_acquire) == nullptr) return;
  const StackClaim claim;
  if (!claim) return;
  const SpareDescriptors spare;
  Stacks& known = *stacks.load(std::memory_order_relaxed);
  known.modules.refresh([&known](std::uint32_t module) { known.table.end(module); });
}

void forgetStacks(bool is_in_use) {
  Stacks* const known = stacks.exchange(nullptr);
  if (known != nullptr && !is_in_use) unmap(known, sizeof *known);
  lost.store(0);
  is_claimed.store(false);
}

void tellLostStacks() {
  if (const std::uint64_t count = lost.load(); count > 0 && hasContainer()) {
    appendFact(wire::info::kStacksLost, count);
  }
}

}  // namespace omnio::trace
