#include "trace/runtime/stack/call_stack.hpp"

#include <elf.h>

#include <atomic>

#include "core/wire/info.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/stack/frame_walk.hpp"
#include "trace/runtime/stack/modules.hpp"
#include "trace/runtime/stack/stack_table.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/scratch.hpp"
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
std::atomic<bool> has_untold{false};
std::atomic<std::uint64_t> lost{0};

// Why the walk takes the return address alone from now on.
enum class Shortened : std::uint8_t { kNo, kUnreadable, kTooManyPlaces };
std::atomic<Shortened> shortened{Shortened::kNo};
void shorten(Shortened why) {
  shortened.store(why);
  callstack_depth.store(1);
}

// The right to add to them, with signals held. Not given when its holder does not go on: that is
// waited for once, and not at all where events are dropped rather than waited for.
std::atomic<bool> is_claimed{false};
std::atomic<bool> is_stuck{false};
class StackClaim {
 public:
  StackClaim() : is_ours_(take()) { is_stuck.store(!is_ours_, std::memory_order_relaxed); }
  ~StackClaim() {
    if (is_ours_) is_claimed.store(false, std::memory_order_release);
  }
  StackClaim(const StackClaim&) = delete;
  StackClaim& operator=(const StackClaim&) = delete;
  explicit operator bool() const { return is_ours_; }

 private:
  static bool take() {
    const auto isTaken = [] { return is_claimed.exchange(true, std::memory_order_acquire); };
    if (is_stuck.load(std::memory_order_relaxed)) return !isTaken();
    if (!LogHelper::dropsEvents()) return waitWhile(isTaken);
    constexpr int kYields = 100;
    for (int i = 0; i < kYields; ++i) {
      if (!isTaken()) return true;
      rawSyscall(SYS_sched_yield);
    }
    return false;
  }

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

// A signal handler may fork, and leave the child in the middle of a search with other tables. So
// where a stack was found goes with it.
struct Search {
  const Stacks* in = nullptr;
  KnownStack stack;
  bool was_new = false;

  void look(const Stacks* known, std::uint64_t hash) {
    in = known;
    stack = known == nullptr ? KnownStack{} : known->table.find(hash);
  }
};

Learnt learnUnderClaim(const Walked& walked, Search& found) {
  const StackClaim claim;
  if (!claim) return Learnt::kNothing;
  const SpareDescriptors spare;
  Stacks* known = stacks.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = static_cast<Stacks*>(mapAnonymous(sizeof(Stacks)));
    if (known == nullptr) return Learnt::kNothing;
    stacks.store(known, std::memory_order_release);
  }
  found.look(known, walked.hash);  // another thread may have been quicker
  if (found.stack) return Learnt::kStack;
  wire::StackFrame frames[wire::kMostFrames];
  for (std::uint32_t i = 0; i < walked.count; ++i) {
    const std::uintptr_t address = walked.addresses[i];
    const Modules::Found found = known->modules.find(address, frames[i]);
    if (!known->modules.untold().isEmpty()) has_untold.store(true, std::memory_order_relaxed);
    if (i == 0) continue;  // where the call returns to is known for sure
    const bool is_frame = found == Modules::Found::kExecutable && isBehindCall(address);
    if (is_frame) continue;
    if (found == Modules::Found::kNotKnown) {
      shorten(Shortened::kUnreadable);  // what is a frame cannot be told
    } else if (!known->ends.add(walked.addresses[i - 1])) {
      shorten(Shortened::kTooManyPlaces);
    }
    return Learnt::kEnd;
  }
  found.stack = known->table.add(walked.hash, frames, walked.count);
  if (!found.stack) known->is_full.store(true, std::memory_order_relaxed);
  return found.stack ? Learnt::kStack : Learnt::kNothing;
}

// Looks at a stack that is not known. Where what was taken for a frame is not one, that is noted,
// and the stack has to be walked anew (kEnd).
[[gnu::noinline]] Learnt learn(const Walked& walked, Search& found) {
  const Learnt learnt = learnUnderClaim(walked, found);
  if (!has_untold.load(std::memory_order_relaxed)) return learnt;
  // Before the event, so that a process that is killed has told it, unless its log is slow or not
  // to be waited for.
  if (LogHelper::isWanted() && LogHelper::start()) {
    LogHelper::wake();
  } else {
    tellModules();
  }
  return learnt;
}

// Whether the table lacks room for the stack, and looking at it closely would be in vain.
bool hasNoRoom(const Stacks* known, const Walked& walked) {
  return known != nullptr && known->is_full.load(std::memory_order_relaxed) &&
         !known->table.hasOver(walked.hash);
}

[[gnu::always_inline]] inline Search search(Thread& self, std::uintptr_t frame) {
  Walked walked;
  Search result;
  const Stacks* known = stacks.load(std::memory_order_acquire);
  walk(self, known, frame, walked);
  result.look(known, walked.hash);
  while (!result.stack) [[unlikely]] {
      const bool is_full = hasNoRoom(known, walked);
      result.was_new = !is_full;
      const Learnt learnt = is_full ? Learnt::kNothing : learn(walked, result);
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
        result.look(known, walked.hash);
      }
    }
  return result;
}

[[gnu::always_inline]] inline std::uintptr_t ownFrame() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace

[[gnu::noinline]] bool putStack(Ring& ring, Thread& self) {
  Search found = search(self, ownFrame());
  char* out = ring.cursor;
  const auto isDefined = [&ring, &found] {
    return ring.stacks[found.stack.number % wire::StackPrediction::kSlots] == found.stack.number;
  };
  if (found.stack && !isDefined()) {
    wire::StackDefinition definition;
    // Where another thread has just used its memory again, it is there anew after a second search.
    if (!found.in->table.copy(found.stack, definition)) {
      found = search(self, ownFrame());
      if (found.stack && !found.in->table.copy(found.stack, definition)) {
        lost.fetch_add(1, std::memory_order_relaxed);
        found.stack = {};
      }
    }
    if (found.stack && !isDefined()) {
      out = wire::encodeStack(out, definition.number, definition.frames.data(), definition.count);
      ring.stacks[definition.number % wire::StackPrediction::kSlots] = definition.number;
    }
  }
  ring.cursor = wire::encodeStackUse(out, found.stack.number, ring.prediction.stack);
  return found.was_new;
}

[[gnu::noinline]] void findStack(Thread& self) {
  Walked walked;
  const Stacks* const known = stacks.load(std::memory_order_acquire);
  walk(self, known, ownFrame(), walked);
  const KnownStack stack = known == nullptr ? KnownStack{} : known->table.find(walked.hash);
  asm volatile("" : : "r"(stack.number), "r"(walked.hash) : "memory");
}

void forgetUnloadedModules() {
  if (stacks.load(std::memory_order_acquire) == nullptr) return;
  // In a forked child without an event they are still its parent's, and so may be the claim.
  if (process.epoch_page->load(std::memory_order_relaxed) == 0) return;
  const StackClaim claim;
  if (!claim) return;
  const SpareDescriptors spare;
  Stacks& known = *stacks.load(std::memory_order_relaxed);
  known.modules.refresh([&known](const Modules::GoneModules& gone) {
    known.table.end([&gone](const wire::StackFrame& frame) { return gone.have(frame); });
    known.ends.removeIf([&gone](std::uintptr_t address) { return gone.hold(address); });
    known.is_full.store(false, std::memory_order_relaxed);
  });
}

void tellModules() {
  if (!has_untold.load(std::memory_order_relaxed)) return;
  constexpr std::size_t kBytes = 16 * 1024;
  const Scratch<char, 1> memory(kBytes);
  if (!memory) return;
  Modules::Untold::Copied facts;
  while (true) {
    {
      const StackClaim claim;
      Stacks* const known = stacks.load(std::memory_order_relaxed);
      if (!claim || known == nullptr) return;
      known->modules.untold().told(facts);
      facts = known->modules.untold().copy(memory.data(), kBytes);
      if (facts.count == 0) has_untold.store(false, std::memory_order_relaxed);
    }
    if (facts.count == 0 || !appendInfo(memory.data(), facts.bytes)) return;
  }
}

void forgetStacks(bool is_in_use) {
  Stacks* const known = stacks.exchange(nullptr);
  if (known != nullptr && !is_in_use) unmap(known, sizeof *known);
  has_untold.store(false);
  lost.store(0);
  is_claimed.store(false);
  is_stuck.store(false);
  // What its parent could not find out, the child may.
  shortened.store(Shortened::kNo);
  callstack_depth.store(process.settings.callstack);
}

void tellLostStacks() {
  if (!hasContainer()) return;
  if (const std::uint64_t count = lost.load(); count > 0) {
    appendFact(wire::info::kStacksLost, count);
  }
  switch (shortened.load()) {
    case Shortened::kNo:
      break;
    case Shortened::kUnreadable:
      appendFact(wire::info::kStacksShortened, "which files its code is in could not be read");
      break;
    case Shortened::kTooManyPlaces:
      appendFact(wire::info::kStacksShortened, "too many places have no frame pointer");
      break;
  }
}

}  // namespace omnio::trace
