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
#include "trace/runtime/stack/own_stack.hpp"
#include "trace/runtime/stack/retry.hpp"
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
  Retry refreshing;
  std::atomic<bool> is_full{false};
  bool has_unknown = false;  // a stack with an address of which it could not be told where it is
};
std::atomic<Stacks*> stacks{nullptr};
std::atomic<bool> has_untold{false};
std::atomic<bool> is_telling{false};  // a thread tells modules
Retry telling;
std::atomic<std::uint64_t> lost{0};
std::atomic<std::uint64_t> told_lost{0};

// How often libraries were unloaded since it was last looked which modules are gone. Meanwhile no
// stack of the table is believed: better an event without one than one of the wrong library.
std::atomic<std::uint64_t> unloads{0};
bool mustRefresh() { return unloads.load(std::memory_order_acquire) != 0; }

// Why the walk takes the return address alone from now on.
enum class Shortened : std::uint8_t { kNo, kUnreadable, kTooManyPlaces };
std::atomic<Shortened> shortened{Shortened::kNo};
std::atomic<Shortened> told_shortened{Shortened::kNo};
void shorten(Shortened why) {
  shortened.store(why);
  callstack_depth.store(1);
}

// The right to add to them, with signals held. Not given when its holder does not go on: that is
// waited for once, and only briefly where events are dropped rather than waited for.
std::atomic<bool> is_claimed{false};
std::atomic<bool> is_stuck{false};  // it was waited for in vain, and has not been given since
class StackClaim {
 public:
  // `waits`: also where events are dropped.
  explicit StackClaim(bool waits = false) : is_ours_(take(waits)) {}
  ~StackClaim() {
    if (is_ours_) is_claimed.store(false, std::memory_order_release);
  }
  StackClaim(const StackClaim&) = delete;
  StackClaim& operator=(const StackClaim&) = delete;
  explicit operator bool() const { return is_ours_; }

 private:
  static bool take(bool waits) {
    const auto isTaken = [] { return is_claimed.exchange(true, std::memory_order_acquire); };
    bool is_ours = !isTaken();
    if (!is_ours) {
      const bool drops = LogHelper::dropsEvents();
      // Where events are dropped, it has not been waited for long.
      const bool waits_anew = waits && drops;
      if (is_stuck.load(std::memory_order_relaxed) && !waits_anew) return false;
      is_ours = drops && !waits ? yieldWhile(isTaken) : waitWhile(isTaken);
    }
    is_stuck.store(!is_ours, std::memory_order_relaxed);
    return is_ours;
  }
  template <typename IsBusy>
  static bool yieldWhile(IsBusy is_busy) {
    constexpr int kYields = 100;
    for (int i = 0; i < kYields; ++i) {
      rawSyscall(SYS_sched_yield);
      if (!is_busy()) return true;
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
  onOwnStack([&] {
    const HeldSignals held;
    const SpareDescriptors spare;
    if (const StackBounds now = firstStack(); now.holds(here)) bounds = now;
  });
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

template <typename Kept>
[[gnu::always_inline]] inline void walk(Thread& self, const Stacks* known, std::uintptr_t frame,
                                        Kept& out) {
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
    if (mustRefresh()) {
      stack = {.is_unsure = true};
    } else {
      stack = known == nullptr ? KnownStack{} : known->table.find(hash);
    }
  }
};

// Ends the stacks whose modules are gone. For the holder of the claim; false when it cannot be told
// which are.
bool refresh(Stacks& known) {
  std::uint64_t seen = unloads.load();
  const bool is_told = known.modules.refresh([&known](const Modules::GoneModules& gone) {
    known.table.end([&gone](const wire::StackFrame& frame) { return gone.have(frame); });
    known.ends.removeIf([&gone](std::uintptr_t address) { return gone.hold(address); });
    known.is_full.store(false, std::memory_order_relaxed);
  });
  known.refreshing.note(is_told);
  if (!is_told) return false;
  if (known.has_unknown) {
    known.table.end([&known](const wire::StackFrame& frame) {
      return frame.module == 0 && !known.modules.have(frame.offset);
    });
    known.is_full.store(false, std::memory_order_relaxed);
    known.has_unknown = false;
  }
  unloads.compare_exchange_strong(seen, 0);  // unless another was unloaded meanwhile
  return true;
}

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
  // What the call's own stack lies in cannot be unloaded from here on.
  if (mustRefresh() && !refresh(*known)) return Learnt::kNothing;
  found.in = known;
  found.stack = known->table.find(walked.hash);  // another thread may have been quicker
  if (found.stack) return Learnt::kStack;
  wire::StackFrame frames[wire::kMostFrames];
  for (std::uint32_t i = 0; i < walked.count; ++i) {
    const std::uintptr_t address = walked.addresses[i];
    const Modules::Found where = known->modules.find(address, frames[i]);
    if (!known->modules.untold().isEmpty()) has_untold.store(true, std::memory_order_relaxed);
    const bool is_known = where != Modules::Found::kNotKnown;
    if (!is_known) shorten(Shortened::kUnreadable);  // what is a frame cannot be told
    if (i == 0) {                                    // where the call returns to is known for sure
      known->has_unknown |= !is_known;
      continue;
    }
    const bool is_frame = where == Modules::Found::kExecutable && isBehindCall(address);
    if (is_frame) continue;
    if (is_known && !known->ends.add(walked.addresses[i - 1])) {
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
  if (!LogHelper::isWanted()) {
    tellModules(false);
  } else if (LogHelper::start()) {
    LogHelper::wake();
  } else if (!LogHelper::dropsEvents()) {
    tellModules(false);
  }
  return learnt;
}

// Whether looking closely at the stack, which was not found, would be in vain: the table lacks room
// for it, or it cannot be told which modules are gone.
bool isInVain(const Stacks* known, const Walked& walked, const KnownStack& sought) {
  if (known == nullptr) return false;
  if (mustRefresh()) return !known->refreshing.isDue();
  return !sought.is_unsure && known->is_full.load(std::memory_order_relaxed) &&
         !known->table.hasOver(walked.hash);
}

// Finds the stack, also one that was not known before.
[[gnu::noinline]] Search searchClosely(Thread& self, std::uintptr_t frame) {
  Walked walked;
  Search result;
  const Stacks* known = stacks.load(std::memory_order_acquire);
  walk(self, known, frame, walked);
  result.look(known, walked.hash);
  while (!result.stack) [[unlikely]] {
      const bool is_in_vain = isInVain(known, walked, result.stack);
      result.was_new |= !is_in_vain;
      const Learnt learnt = is_in_vain ? Learnt::kNothing : learn(walked, result);
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

[[gnu::always_inline]] inline Search search(Thread& self, std::uintptr_t frame) {
  WalkedHash walked;
  Search result;
  const Stacks* known = stacks.load(std::memory_order_acquire);
  walk(self, known, frame, walked);
  result.look(known, walked.hash);
  if (!result.stack) [[unlikely]]
    onOwnStack([&] { result = searchClosely(self, frame); });
  return result;
}

[[gnu::always_inline]] inline std::uintptr_t ownFrame() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace

namespace {

bool isDefined(const Ring& ring, const KnownStack& stack) {
  return ring.stacks[stack.number % wire::StackPrediction::kSlots] == stack.number;
}

// Defines the stack that was found at `frame`, and returns what comes behind. None is found any
// more when its memory is used again and again.
[[gnu::noinline]] char* defineStack(Ring& ring, Thread& self, std::uintptr_t frame, char* out,
                                    Search& found) {
  wire::StackDefinition definition;
  // Where another thread has just used its memory again, it is there anew after a second search.
  if (!found.in->table.copy(found.stack, definition)) {
    const bool was_new = found.was_new;
    found = searchClosely(self, frame);
    found.was_new |= was_new;
    if (found.stack && !found.in->table.copy(found.stack, definition)) {
      lost.fetch_add(1, std::memory_order_relaxed);
      found.stack = {};
    }
  }
  if (!found.stack || isDefined(ring, found.stack)) return out;
  ring.stacks[definition.number % wire::StackPrediction::kSlots] = definition.number;
  return wire::encodeStack(out, definition.number, definition.frames.data(), definition.count);
}

}  // namespace

[[gnu::noinline]] bool putStack(Ring& ring, Thread& self) {
  const std::uintptr_t frame = ownFrame();
  Search found = search(self, frame);
  char* out = ring.cursor;
  if (found.stack && !isDefined(ring, found.stack)) {
    onOwnStack([&] { out = defineStack(ring, self, frame, out, found); });
  }
  ring.cursor = wire::encodeStackUse(out, found.stack.number, ring.prediction.stack);
  return found.was_new;
}

[[gnu::noinline]] void findStack(Thread& self) {
  WalkedHash walked;
  const Stacks* const known = stacks.load(std::memory_order_acquire);
  walk(self, known, ownFrame(), walked);
  Search found;
  found.look(known, walked.hash);
  asm volatile("" : : "r"(found.stack.number), "r"(walked.hash) : "memory");
}

void forgetUnloadedModules() {
  const HeldSignals held;  // a handler may fork
  unloads.fetch_add(1);
  if (stacks.load(std::memory_order_acquire) == nullptr) return;
  // In a forked child without an event they are still its parent's, and so may be the claim.
  if (process.epoch_page->load(std::memory_order_relaxed) == 0) return;
  // Without the claim, whoever adds a stack next looks what is gone.
  const StackClaim claim;
  Stacks* const known = stacks.load(std::memory_order_relaxed);
  if (!claim || known == nullptr || !mustRefresh()) return;
  const SpareDescriptors spare;
  refresh(*known);
}

namespace {

// False when something is left that cannot be told now.
bool tellUntold(bool waits) {
  constexpr std::size_t kBytes = 16 * 1024;
  const Scratch<char, 1> memory(kBytes);
  if (!memory) return false;
  Modules::Untold::Copied facts;
  while (true) {
    {
      const StackClaim claim(waits);
      Stacks* const known = stacks.load(std::memory_order_relaxed);
      if (!claim || known == nullptr) return false;
      known->modules.untold().told(facts);
      facts = known->modules.untold().copy(memory.data(), kBytes);
      if (facts.count == 0) {
        has_untold.store(false);
        return true;
      }
    }
    const bool has_worked = appendInfo(memory.data(), facts.bytes);
    telling.note(has_worked);
    if (!has_worked) return false;
  }
}

}  // namespace

void tellModules(bool is_last) {
  if (!has_untold.load(std::memory_order_relaxed)) return;
  const HeldSignals held;  // a handler may fork
  const auto isTelling = [] { return is_telling.exchange(true); };
  while (has_untold.load() && (is_last || telling.isDue())) {
    // Another thread that tells them looks again when it has done so. Where it does not go on, the
    // last chance is taken all the same: twice told does no harm.
    if (is_last) {
      waitWhile(isTelling);
    } else if (isTelling()) {
      return;
    }
    const bool is_told = tellUntold(is_last);
    is_telling.exchange(false);  // sees what those have left who came meanwhile
    if (!is_told) return;
  }
}

void forgetStacks(bool is_in_use) {
  Stacks* const known = stacks.exchange(nullptr);
  if (known != nullptr && !is_in_use) unmap(known, sizeof *known);
  has_untold.store(false);
  is_telling.store(false);
  telling.note(true);
  unloads.store(0);
  lost.store(0);
  told_lost.store(0);
  is_claimed.store(false);
  is_stuck.store(false);
  // What its parent could not find out, the child may.
  shortened.store(Shortened::kNo);
  told_shortened.store(Shortened::kNo);
  callstack_depth.store(process.settings.callstack);
}

void tellLostStacks(bool is_last) {
  if (!hasContainer()) return;
  const std::uint64_t count = lost.load();
  if (count > 0 && (is_last || count != told_lost.load()) &&
      appendFact(wire::info::kStacksLost, count)) {
    told_lost.store(count);
  }
  const Shortened why = shortened.load();
  if (why == Shortened::kNo || (!is_last && why == told_shortened.load())) return;
  const bool is_told =
      appendFact(wire::info::kStacksShortened, why == Shortened::kUnreadable
                                                   ? "which files its code is in could not be read"
                                                   : "too many places have no frame pointer");
  if (is_told) told_shortened.store(why);
}

}  // namespace omnio::trace
