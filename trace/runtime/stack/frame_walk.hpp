// The walk over the frames of a stack, from each to its caller's by the rule of the place where it
// is (unwind_rule.hpp). Nothing that comes out of a rule is believed: a frame is read only where it
// lies further up in memory of this stack that is known to be there.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "core/wire/call_stack.hpp"
#include "core/wire/checksum.hpp"
#include "trace/runtime/stack/rule_cache.hpp"
#include "trace/runtime/stack/unwind_rule.hpp"

namespace omnio::trace {

// Memory of a stack that stays mapped while the thread lives; empty where nothing is known.
struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  bool holds(std::uintptr_t place) const { return place - low < high - low; }
};

// Code of the tracer's, whose frames are no part of an application's stack.
struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;

  bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

// How far a walk goes.
struct WalkLimits {
  std::uint32_t depth = 1;    // at most so many frames
  std::uint32_t callers = 0;  // and of modules that are not walked through; 0: any number
};

// Why a walk went no further.
enum class WalkEnd : std::uint8_t {
  kWhole,      // as far as it was to go
  kOutermost,  // nothing called this
  kOffStack,   // nothing is known of the memory that the stack is in
  kUnlearnt,   // the rule of `key` is not known
  kBrokenOff,  // the rule of `key` leads to no frame
};

// Which rule led to a place: that of a key, or none.
inline constexpr RuleKey kByTheCall = 0;     // the tracer's own frames
inline constexpr RuleKey kByTheMpiCall = 1;  // the frame of the MPI call around a library's

// What is kept of a walk: enough to look the stack up. A signal handler may have little stack.
struct WalkedHash {
  std::uint64_t hash = 0;  // of the addresses; never 0
  std::uint32_t count = 0;
  std::uint32_t version = 0;  // of the rules, before it began
  WalkEnd end = WalkEnd::kWhole;
  RuleKey key = 0;  // where it went no further
  RuleKey by = kByTheCall;

  void note(std::uint32_t, std::uintptr_t) {}
};
// All of it.
struct Walked : WalkedHash {
  std::uintptr_t addresses[wire::kMostFrames];

  void note(std::uint32_t at, std::uintptr_t address) { addresses[at] = address; }
};

// Whether a frame pointer tells where the caller's stack pointer was, 16 bytes above it. AArch64
// keeps the pair of frame pointer and return address at the lower end of a frame.
#if defined(__x86_64__)
inline constexpr std::uintptr_t kFrameAlignment = 16;
inline constexpr bool kFramesAreExact = true;
#else
inline constexpr std::uintptr_t kFrameAlignment = 8;
inline constexpr bool kFramesAreExact = false;
#endif

// A return address without the signature that pointer authentication puts into its upper bits.
[[gnu::always_inline]] inline std::uintptr_t plainAddress(std::uintptr_t address) {
#if defined(__aarch64__)
  constexpr std::uintptr_t kMask = (std::uintptr_t{1} << 48) - 1;
  return address & kMask;
#else
  return address;
#endif
}

// Where a walk is: right after a call that has not returned, or where a signal interrupted.
struct WalkPlace {
  std::uintptr_t code = 0;
  std::uintptr_t stack =
      0;  // the stack pointer; or what it is not below, where `is_exact` is false
  std::uintptr_t frame = 0;  // the frame pointer
  bool is_interrupted = false;
  bool is_exact = true;
};

class FrameSteps {
 public:
  explicit FrameSteps(StackBounds bounds) : bounds_(bounds) {}

  // Goes to the caller. False when the rule does not lead to one.
  [[gnu::always_inline]] inline bool toCaller(UnwindRule rule, WalkPlace& place) const {
    if (!rule.isPlain()) [[unlikely]]
      return bySpecialRule(rule, place);
    std::uintptr_t base = rule.isFromFramePointer() ? place.frame : place.stack;
    std::uintptr_t cfa = base + static_cast<std::uintptr_t>(rule.cfa());
    // The frame pointer is where it is kept itself.
    if (!kFramesAreExact && !place.is_exact && !rule.isFromFramePointer()) {
      cfa = place.frame - static_cast<std::uintptr_t>(rule.framePointer());
    }
    return toCfa(rule, cfa, place);
  }

  // Goes to the caller of the function whose frame pointer is `frame`, which is in the stack.
  bool toCallerOf(std::uintptr_t frame, WalkPlace& place) const {
    if (!isPair(frame)) return false;
    place = {.code = plainAddress(word(frame + sizeof(std::uintptr_t))),
             .stack = frame + kPair,
             .frame = word(frame),
             .is_exact = kFramesAreExact};
    return true;
  }

  static std::uintptr_t word(std::uintptr_t place) {
    return *reinterpret_cast<const std::uintptr_t*>(place);
  }
  static constexpr std::uintptr_t kPair = 2 * sizeof(std::uintptr_t);

 private:
  static constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);

  bool isPair(std::uintptr_t frame) const {
    return (frame & (kFrameAlignment - 1)) == 0 && frame >= bounds_.low && frame < bounds_.high &&
           bounds_.high - frame >= kPair;
  }

  [[gnu::always_inline]] inline bool toCfa(UnwindRule rule, std::uintptr_t cfa,
                                           WalkPlace& place) const {
    // The stack pointer is in the stack, and so is what lies between it and the CFA.
    const std::uintptr_t bytes = cfa - place.stack;
    if (bytes == 0 || bytes > bounds_.high - place.stack || (cfa & (kWord - 1)) != 0) return false;
#if defined(__x86_64__)
    const std::uintptr_t code_at = cfa - kWord;
#else
    const std::uintptr_t code_at = cfa + static_cast<std::uintptr_t>(rule.returnAddress());
    if (code_at - place.stack >= bytes) return false;
#endif
    const std::int64_t offset = rule.framePointer();
    if (offset != 0 || rule.framePointerIsFromItself()) {
      const std::uintptr_t at = (rule.framePointerIsFromItself() ? place.frame : cfa) +
                                static_cast<std::uintptr_t>(offset);
      if (at - place.stack >= bytes || (at & (kWord - 1)) != 0) return false;
      place.frame = word(at);
    } else if (rule.framePointerIsLost()) {
      place.frame = 0;
    }
    place.code = plainAddress(word(code_at));
    place.stack = cfa;
    place.is_interrupted = false;
    place.is_exact = true;
    return true;
  }

  [[gnu::noinline]] bool bySpecialRule(UnwindRule rule, WalkPlace& place) const {
    switch (rule.kind()) {
      case UnwindRule::Kind::kStoredCfa: {
        const std::uintptr_t base = rule.isFromFramePointer() ? place.frame : place.stack;
        const std::uintptr_t at = base + static_cast<std::uintptr_t>(rule.cfa());
        if (at < place.stack || at >= bounds_.high || (at & (kWord - 1)) != 0) return false;
        return toCfa(rule, word(at), place);
      }
      case UnwindRule::Kind::kFramePointer:
        return place.frame >= place.stack && toCallerOf(place.frame, place);
      case UnwindRule::Kind::kSignal:
        return toInterrupted(place);
      default:
        return false;
    }
  }

  // What the kernel has put on the stack when it called a signal handler.
  bool toInterrupted(WalkPlace& place) const {
#if defined(__x86_64__)
    const std::uintptr_t context = place.stack;
    constexpr std::uintptr_t kContextBytes = sizeof(ucontext_t);
#else
    const std::uintptr_t context = place.stack + sizeof(siginfo_t);
    constexpr std::uintptr_t kContextBytes = sizeof(ucontext_t) + sizeof(siginfo_t);
#endif
    if (!place.is_exact || bounds_.high - place.stack < kContextBytes) return false;
    const auto& registers = reinterpret_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    const auto code = static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
    const auto stack = static_cast<std::uintptr_t>(registers.gregs[REG_RSP]);
    const auto frame = static_cast<std::uintptr_t>(registers.gregs[REG_RBP]);
#else
    const std::uintptr_t code = registers.pc;
    const std::uintptr_t stack = registers.sp;
    const std::uintptr_t frame = registers.regs[29];
#endif
    if (stack <= place.stack || stack > bounds_.high || (stack & (kWord - 1)) != 0) return false;
    place = {.code = code, .stack = stack, .frame = frame, .is_interrupted = true};
    return true;
  }

  const StackBounds bounds_;
};

// Walks from `frame`, a frame of the tracer's own code, which is compiled with frame pointers: its
// frames are followed up to the one whose caller is not the tracer. That return address is right in
// any case.
//
// `next_base` is a frame of the tracer's further up, where the walk goes on when it cannot come
// there by itself: that of the MPI call around a library's (0: none). `rules.find(key)` and
// `rules.version()` are as in RuleCache.
template <typename Rules, typename Kept>
[[gnu::always_inline]] inline void walkFrames(std::uintptr_t frame, std::uintptr_t next_base,
                                              WalkLimits limits, StackBounds bounds, CodeRange own,
                                              const Rules& rules, Kept& out) {
  constexpr std::uintptr_t kPair = FrameSteps::kPair;
  const FrameSteps steps(bounds);
  out.version = rules.version();
  std::uintptr_t address = plainAddress(FrameSteps::word(frame + sizeof(std::uintptr_t)));
  std::uintptr_t up = FrameSteps::word(frame);
  // All code of the tracer that comes here has a frame. Where some had none, behind it would come
  // what the application has in the register.
  const bool is_known = bounds.holds(frame) && bounds.high - frame >= kPair;
  constexpr std::uintptr_t kOwnFrame = 2048;
  while (own.holds(address) && up > frame && (up & (kFrameAlignment - 1)) == 0 &&
         (is_known ? up < bounds.high && bounds.high - up >= kPair : up - frame < kOwnFrame)) {
    frame = up;
    address = plainAddress(FrameSteps::word(frame + sizeof(std::uintptr_t)));
    up = FrameSteps::word(frame);
  }
  WalkPlace place{
      .code = address, .stack = frame + kPair, .frame = up, .is_exact = kFramesAreExact};
  std::uint64_t hash = 0;
  std::uint32_t count = 0;
  std::uint32_t callers = limits.callers;
  out.by = kByTheCall;
  while (true) {
    UnwindRule rule = UnwindRule::of(UnwindRule::Kind::kFramePointer);
    const bool is_own = count > 0 && own.holds(place.code) && !place.is_interrupted;
    out.key = place.code;
    if (place.is_interrupted) [[unlikely]] {
      // What was interrupted differs from one signal to the next, and is left out of the stack.
      out.key |= kInterrupted;
      rule = rules.find(out.key);
    } else if (!is_own) {
      out.note(count++, place.code);
      hash = ((hash << 5 | hash >> 59) ^ place.code) * wire::kGoldenStep;
      out.end = is_known ? WalkEnd::kWhole : WalkEnd::kOffStack;
      if (count == limits.depth || !is_known) break;
      rule = rules.find(place.code);
      if (!rule.isThrough() && --callers == 0 && rule) break;
    }
    if (!rule) [[unlikely]] {
      out.end = WalkEnd::kUnlearnt;
      break;
    }
    const std::uintptr_t before = place.stack;
    bool is_frame = steps.toCaller(rule, place);
    if (!is_own) out.by = out.key;
    if (next_base >= before && (!is_frame || place.stack > next_base + kPair)) [[unlikely]] {
      is_frame = steps.toCallerOf(next_base, place);
      out.by = kByTheMpiCall;
    }
    if (!is_frame || place.code == 0) {
      const bool is_outermost = is_frame || rule.kind() == UnwindRule::Kind::kOutermost;
      out.end = is_outermost ? WalkEnd::kOutermost : WalkEnd::kBrokenOff;
      break;
    }
  }
  out.count = count;
  out.hash = hash ^ hash >> 32;
  if (out.hash == 0) out.hash = 1;
}

// Whether the code before a return address is a call, as far as it can tell: what lies on a stack
// may look like a frame and be none. `code` has the bytes right before the address.
inline constexpr std::size_t kCallBytes = 8;
bool endsWithCall(const unsigned char (&code)[kCallBytes]);

}  // namespace omnio::trace
