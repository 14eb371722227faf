// The walk over the frames of a stack: x86-64 and aarch64 both keep, where code has frame pointers,
// the caller's frame pointer and behind it the return address at the place that the frame pointer
// names. Code without them uses the register for anything, so nothing that comes out of it is
// believed: a frame is read only where it lies further up in memory of this stack that is known to
// be there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/call_stack.hpp"
#include "core/wire/checksum.hpp"

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

// What is kept of a walk: enough to look the stack up. A signal handler may have little stack.
struct WalkedHash {
  std::uint64_t hash = 0;  // of the addresses; never 0
  std::uint32_t count = 0;

  void note(std::uint32_t, std::uintptr_t) {}
};
// All of it.
struct Walked : WalkedHash {
  std::uintptr_t addresses[wire::kMostFrames];

  void note(std::uint32_t at, std::uintptr_t address) { addresses[at] = address; }
};

#if defined(__x86_64__)
inline constexpr std::uintptr_t kFrameAlignment = 16;
#else
inline constexpr std::uintptr_t kFrameAlignment = 8;
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

// Walks from `frame`, a frame of the tracer's own code, which is compiled with frame pointers: its
// frames are followed up to the one whose caller is not the tracer. That return address is right in
// any case. At most `depth` addresses are taken.
//
// `next_base` is a frame of the tracer's further up, where the walk goes on when it cannot come
// there by itself: that of the MPI call around a library's (0: none). `ends_at(address)` says that
// the code there is known to have no frame pointer.
template <typename EndsAt, typename Kept>
[[gnu::always_inline]] inline void walkFrames(std::uintptr_t frame, std::uintptr_t next_base,
                                              std::uint32_t depth, StackBounds bounds,
                                              CodeRange own, EndsAt ends_at, Kept& out) {
  const auto word = [](std::uintptr_t place) {
    return *reinterpret_cast<const std::uintptr_t*>(place);
  };
  constexpr std::uintptr_t kPair = 2 * sizeof(std::uintptr_t);
  std::uintptr_t address = plainAddress(word(frame + sizeof(std::uintptr_t)));
  std::uintptr_t up = word(frame);
  // All code of the tracer that comes here has a frame. Where some had none, behind it would come
  // what the application has in the register.
  const bool is_known = bounds.holds(frame);
  constexpr std::uintptr_t kOwnFrame = 2048;
  while (own.holds(address) && up > frame && (up & (kFrameAlignment - 1)) == 0 &&
         (is_known ? up < bounds.high && bounds.high - up >= kPair : up - frame < kOwnFrame)) {
    frame = up;
    address = plainAddress(word(frame + sizeof(std::uintptr_t)));
    up = word(frame);
  }
  std::uint64_t hash = 0;
  std::uint32_t count = 0;
  while (true) {
    if (!own.holds(address) || count == 0) {
      out.note(count++, address);
      hash = ((hash << 5 | hash >> 59) ^ address) * wire::kGoldenStep;
      if (count == depth) break;
      if (ends_at(address)) up = 0;
    }
    const auto is_frame = [&](std::uintptr_t place) {
      return place > frame && (place & (kFrameAlignment - 1)) == 0 && place >= bounds.low &&
             place < bounds.high && bounds.high - place >= kPair;
    };
    if (next_base > frame && (!is_frame(up) || up > next_base)) up = next_base;
    if (!is_frame(up)) break;
    frame = up;
    address = plainAddress(word(frame + sizeof(std::uintptr_t)));
    up = word(frame);
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
