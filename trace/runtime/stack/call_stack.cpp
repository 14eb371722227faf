#include "trace/runtime/stack/call_stack.hpp"

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
#include "trace/runtime/stack/rule_cache.hpp"
#include "trace/runtime/stack/stack_bounds.hpp"
#include "trace/runtime/stack/stack_claim.hpp"
#include "trace/runtime/stack/stack_table.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/resource_limits.hpp"
#include "trace/runtime/sys/scratch.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {
namespace {

struct Stacks {
  StackTable<32768, std::size_t{8} << 20> table;
  RuleCache<16384> rules;
  Modules modules;
  Retry refreshing;
  std::atomic<bool> is_full{false};
  bool has_unknown = false;  // a stack with an address of which it could not be told where it is
};
// Where nothing is known yet.
struct NoRules {
  static std::uint32_t version() { return 0; }
  static UnwindRule find(RuleKey) { return UnwindRule(); }
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

template <typename Kept>
[[gnu::always_inline]] inline void walk(Thread& self, const Stacks* known, std::uintptr_t frame,
                                        Kept& out) {
  if (!self.stack.holds(frame)) [[unlikely]]
    extendBounds(self, frame);
  const StackBounds bounds = self.stack.holds(frame) ? self.stack : StackBounds{};
  // A stack pointer above that of the MPI call says that it was left.
  const bool is_inside = self.mpi_frame != 0 && frame < self.mpi_base;
  const std::uintptr_t next_base = is_inside ? self.mpi_base : 0;
  const WalkLimits limits{.depth = callstack_depth.load(std::memory_order_relaxed),
                          .callers = callstack_callers};
  if (known != nullptr) [[likely]] {
    walkFrames(frame, next_base, limits, bounds, ownCode(), known->rules, out);
  } else {
    walkFrames(frame, next_base, limits, bounds, ownCode(), NoRules(), out);
  }
}

// What there is after a look at a stack that was not known: its number, more rules by which it has
// to be walked anew, or nothing. kNoMpiCall: the frame of an MPI call led on, and was none.
enum class Learnt : std::uint8_t { kStack, kRules, kNoMpiCall, kNothing };

// A signal handler may fork, and leave the child in the middle of a search with other tables. So
// where a stack was found goes with it.
struct Search {
  const Stacks* in = nullptr;
  KnownStack stack;
  bool was_new = false;

  void look(const Stacks* known, const WalkedHash& walked) {
    in = known;
    stack = {};
    if (mustRefresh()) {
      stack.is_unsure = true;
    } else if (known != nullptr && walked.end != WalkEnd::kUnlearnt) {
      stack = known->table.find(walked.hash);
      if (!isStill(*known, walked)) stack = {.is_unsure = true};
    }
  }

  // Whether the rules by which the stack was walked were right, and still are.
  static bool isStill(const Stacks& known, const WalkedHash& walked) {
    return (walked.version & 1) == 0 && known.rules.version() == walked.version;
  }
};

// Ends the stacks whose modules are gone. For the holder of the claim; false when it cannot be told
// which are.
bool refresh(Stacks& known) {
  std::uint64_t seen = unloads.load();
  const bool is_told = known.modules.refresh([&known](const Modules::GoneModules& gone) {
    known.table.end([&gone](const wire::StackFrame& frame) { return gone.have(frame); });
    known.rules.removeIf([&gone](std::uintptr_t address) { return gone.hold(address); });
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

// What led to a place that has no code: it will not do so again.
Learnt refuse(Stacks& known, RuleKey by) {
  if (by == kByTheMpiCall) return Learnt::kNoMpiCall;
  if (by == kByTheCall) return Learnt::kRules;
  using Kind = UnwindRule::Kind;
  const UnwindRule was = known.rules.find(by);
  const Kind kind = was.kind() == Kind::kFramePointer ? Kind::kNoFrame : Kind::kUnusable;
  known.rules.put(by, UnwindRule::of(kind).through(was.isThrough()));
  return Learnt::kRules;
}

// Finds out how the walk goes on from where it ended, which is a place that it came to for the
// first time.
Learnt learnRule(Stacks& known, const WalkedHash& walked) {
  wire::StackFrame place;
  const Modules::Found where = known.modules.find(addressOf(walked.key), place);
  if (where == Modules::Found::kNotKnown) {
    shorten(Shortened::kUnreadable);  // what is a frame cannot be told
    return Learnt::kRules;
  }
  const UnwindRule rule = known.modules.ruleOf(walked.key);
  // Where the call returns to is known for sure, and where a signal interrupted is told by the
  // kernel, as far as the rule for that was right.
  const bool is_code = where == Modules::Found::kExecutable &&
                       (isInterrupted(walked.key) || walked.by == kByTheCall ||
                        rule.kind() == UnwindRule::Kind::kSignal || isBehindCall(walked.key));
  if (!is_code && walked.by != kByTheCall) return refuse(known, walked.by);
  if (!known.rules.put(walked.key, rule) && !isInterrupted(walked.key)) {
    shorten(Shortened::kTooManyPlaces);
  }
  return Learnt::kRules;
}

// Says for which module a stack is shorter than it was to be.
void noteBreak(Stacks& known, RuleKey key) {
  if (ownCode().holds(addressOf(key))) return;
  const UnwindRule::Kind kind = known.rules.find(key).kind();
  const bool has_table =
      kind != UnwindRule::Kind::kFramePointer && kind != UnwindRule::Kind::kNoFrame;
  known.modules.noteBreak(key, has_table ? "its unwind table could not be followed"
                                         : "it has no unwind table and no frame pointers");
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
  if (mustRefresh()) {
    if (!refresh(*known)) return Learnt::kNothing;
    return Learnt::kRules;
  }
  if (!Search::isStill(*known, walked)) return Learnt::kRules;
  if (walked.end == WalkEnd::kUnlearnt) {
    const Learnt learnt = learnRule(*known, walked);
    if (!known->modules.untold().isEmpty()) has_untold.store(true, std::memory_order_relaxed);
    return learnt;
  }
  found.in = known;
  found.stack = known->table.find(walked.hash);  // another thread may have been quicker
  if (found.stack) return Learnt::kStack;
  wire::StackFrame frames[wire::kMostFrames];
  for (std::uint32_t i = 0; i < walked.count; ++i) {
    const std::uintptr_t address = walked.addresses[i];
    const Modules::Found where = known->modules.find(address, frames[i]);
    if (where == Modules::Found::kNotKnown) {
      shorten(Shortened::kUnreadable);
      known->has_unknown |= i == 0;
      if (i > 0) return Learnt::kRules;
    }
    // The others have rules, and so were looked at.
    const bool is_last = i > 0 && i + 1 == walked.count && walked.end == WalkEnd::kWhole;
    const bool is_frame = where != Modules::Found::kNot && (!is_last || isBehindCall(address));
    if (i > 0 && !is_frame) return refuse(*known, walked.by);
  }
  if (walked.end == WalkEnd::kBrokenOff) noteBreak(*known, walked.key);
  if (!known->modules.untold().isEmpty()) has_untold.store(true, std::memory_order_relaxed);
  found.stack = known->table.add(walked.hash, frames, walked.count);
  if (!found.stack) known->is_full.store(true, std::memory_order_relaxed);
  return found.stack ? Learnt::kStack : Learnt::kNothing;
}

// Looks at a stack that is not known.
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
  if (walked.end == WalkEnd::kUnlearnt) return false;
  return !sought.is_unsure && known->is_full.load(std::memory_order_relaxed) &&
         !known->table.hasOver(walked.hash);
}

// Finds the stack, also one that was not known before.
[[gnu::noinline]] Search searchClosely(Thread& self, std::uintptr_t frame) {
  Walked walked;
  Search result;
  while (true) {
    const Stacks* const known = stacks.load(std::memory_order_acquire);
    walk(self, known, frame, walked);
    result.look(known, walked);
    if (result.stack) break;
    const bool is_in_vain = isInVain(known, walked, result.stack);
    result.was_new |= !is_in_vain;
    const Learnt learnt = is_in_vain ? Learnt::kNothing : learn(walked, result);
    if (learnt == Learnt::kStack) break;
    if (learnt == Learnt::kNothing) {
      lost.fetch_add(1, std::memory_order_relaxed);
      break;
    }
    // An exception has left the MPI call.
    if (learnt == Learnt::kNoMpiCall) self.mpi_base = 0;
  }
  return result;
}

[[gnu::always_inline]] inline Search search(Thread& self, std::uintptr_t frame) {
  WalkedHash walked;
  Search result;
  const Stacks* known = stacks.load(std::memory_order_acquire);
  walk(self, known, frame, walked);
  result.look(known, walked);
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

void learnStack(Thread& self) {
  const std::uintptr_t frame = ownFrame();
  onOwnStack([&] {
    Walked walked;
    Search found;
    Learnt learnt = Learnt::kRules;
    while (learnt == Learnt::kRules) {
      walk(self, stacks.load(std::memory_order_acquire), frame, walked);
      if (walked.end != WalkEnd::kUnlearnt) return;
      learnt = learnUnderClaim(walked, found);
    }
  });
}

[[gnu::noinline]] void findStack(Thread& self) {
  WalkedHash walked;
  const Stacks* const known = stacks.load(std::memory_order_acquire);
  walk(self, known, ownFrame(), walked);
  Search found;
  found.look(known, walked);
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

void beginStacks() {
  const std::uint32_t frames = process.settings.callstack;
  const bool is_auto = frames == wire::kAutoStackFrames;
  callstack_callers = is_auto ? wire::kAutoCallers : 0;
  callstack_depth.store(is_auto ? wire::kMostStackFrames : frames);
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
  StackClaim::forget();
  // What its parent could not find out, the child may.
  shortened.store(Shortened::kNo);
  told_shortened.store(Shortened::kNo);
  beginStacks();
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
                                                   : "its calls come from too many places");
  if (is_told) told_shortened.store(why);
}

}  // namespace omnio::trace
