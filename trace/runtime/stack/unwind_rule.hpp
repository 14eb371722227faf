// How the walk gets from a frame to that of its caller, for one place in the code: in 8 bytes, so
// that it is read and replaced in one piece.
//
// Where the stack pointer was before the call was made is called the CFA ("canonical frame
// address") in unwind tables. A rule says how far above the stack pointer, or the frame pointer, it
// is, and where from there the return address and the caller's frame pointer are kept.
#pragma once

#include <cstdint>

namespace omnio::trace {

// Numbers that unwind tables have for registers, and where the return address is as a rule.
#if defined(__x86_64__)
inline constexpr std::uint64_t kFramePointerNumber = 6;
inline constexpr std::uint64_t kStackPointerNumber = 7;
inline constexpr std::uint64_t kReturnAddressNumber = 16;
#elif defined(__aarch64__)
inline constexpr std::uint64_t kFramePointerNumber = 29;
inline constexpr std::uint64_t kStackPointerNumber = 31;
inline constexpr std::uint64_t kReturnAddressNumber = 30;
#endif

class UnwindRule {
 public:
  enum class Kind : std::uint8_t {
    kCfa,           // a register + the offset is the CFA
    kStoredCfa,     // the CFA is stored at the frame pointer + the offset
    kFramePointer,  // no table has the place: the frame pointer has to do
    kOutermost,     // it has no caller
    kNoFrame,       // nor is there a frame pointer
    kUnusable,      // the table says what is not followed here, or what turned out to be wrong
    kSignal,        // the kernel called a signal handler: what was interrupted is on the stack
  };
  // What a rule of the first two kinds is made of.
  struct Places {
    bool is_stored = false;
    bool is_from_frame_pointer = false;
    std::int64_t cfa = 0;             // distance from the register
    std::int64_t return_address = 0;  // distance from the CFA, below 0
    std::int64_t frame_pointer = 0;   // distance from the CFA, or the frame pointer; 0: unchanged
    bool frame_pointer_is_from_itself = false;
    bool frame_pointer_is_lost = false;
  };

  // No rule is known.
  constexpr UnwindRule() = default;
  constexpr explicit UnwindRule(std::uint64_t word) : word_(word) {}
  static constexpr UnwindRule of(Kind kind) {
    return UnwindRule(kIsKnown | static_cast<std::uint64_t>(kind) << kKindShift);
  }
  // kUnusable when the distances are larger than a rule has room for.
  static constexpr UnwindRule of(const Places& places) {
    const auto fits = [](std::int64_t value, unsigned bits) {
      const std::int64_t limit = std::int64_t{1} << (bits - 1);
      return value % kUnit == 0 && value / kUnit >= -limit && value / kUnit < limit;
    };
    const std::int64_t below = -places.return_address / kUnit;
    const bool has_room = fits(places.cfa, 64 - kCfaShift) &&
                          fits(places.frame_pointer, kCfaShift - kFrameShift) &&
                          places.return_address % kUnit == 0 && below > 0 && below <= kMostBelow;
    if (!has_room) return of(Kind::kUnusable);
    std::uint64_t word = of(places.is_stored ? Kind::kStoredCfa : Kind::kCfa).word_;
    if (places.is_from_frame_pointer) word |= kIsFromFramePointer;
    if (places.frame_pointer_is_from_itself) word |= kIsFromItself;
    if (places.frame_pointer_is_lost) word |= kIsLost;
    word |= static_cast<std::uint64_t>(below) << kReturnShift;
    word |= (static_cast<std::uint64_t>(places.frame_pointer / kUnit) << kFrameShift) &
            ((std::uint64_t{1} << kCfaShift) - 1);
    word |= static_cast<std::uint64_t>(places.cfa / kUnit) << kCfaShift;
    return UnwindRule(word);
  }

  constexpr explicit operator bool() const { return word_ != 0; }
  constexpr bool operator==(const UnwindRule&) const = default;
  constexpr std::uint64_t word() const { return word_; }
  constexpr Kind kind() const { return static_cast<Kind>(word_ >> kKindShift & 7); }
  constexpr bool isPlain() const { return (word_ & kKindBits) == 0; }  // kCfa

  // The code belongs to a module that --callstack=auto does not count.
  constexpr bool isThrough() const { return (word_ & kIsThrough) != 0; }
  constexpr UnwindRule through(bool is_through) const {
    return UnwindRule(is_through ? word_ | kIsThrough : word_);
  }

  // As Places has them.
  constexpr bool isFromFramePointer() const { return (word_ & kIsFromFramePointer) != 0; }
  constexpr bool framePointerIsFromItself() const { return (word_ & kIsFromItself) != 0; }
  constexpr bool framePointerIsLost() const { return (word_ & kIsLost) != 0; }
  constexpr std::int64_t cfa() const {
    return (static_cast<std::int64_t>(word_) >> kCfaShift) * kUnit;
  }
  constexpr std::int64_t returnAddress() const {
    return -static_cast<std::int64_t>(word_ >> kReturnShift & kMostBelow) * kUnit;
  }
  constexpr std::int64_t framePointer() const {
    return (static_cast<std::int64_t>(word_ << (64 - kCfaShift)) >>
            (64 - kCfaShift + kFrameShift)) *
           kUnit;
  }

 private:
  static constexpr std::int64_t kUnit = 8;
  static constexpr std::uint64_t kIsKnown = 1;
  static constexpr std::uint64_t kIsThrough = 2;
  static constexpr std::uint64_t kIsFromFramePointer = 4;
  static constexpr std::uint64_t kIsFromItself = 8;
  static constexpr std::uint64_t kIsLost = 16;
  static constexpr unsigned kKindShift = 5;
  static constexpr std::uint64_t kKindBits = std::uint64_t{7} << kKindShift;
  static constexpr unsigned kReturnShift = 8;
  static constexpr std::int64_t kMostBelow = (1 << 12) - 1;
  static constexpr unsigned kFrameShift = 20;
  static constexpr unsigned kCfaShift = 40;

  std::uint64_t word_ = 0;
};

}  // namespace omnio::trace
