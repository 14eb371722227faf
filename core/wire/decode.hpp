// Reads the records of one chunk's payload, one at a time. Every length is checked against the
// payload before it is used; a record that does not hold ends the reading.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/call_stack.hpp"
#include "core/wire/definition.hpp"
#include "core/wire/record.hpp"

namespace omnio::wire {

// An event with its fields as numbers; slots refer to the definitions seen before it.
struct RawEvent {
  const calls::Row* row = nullptr;
  bool failed = false;
  unsigned depth = 0;
  std::uint64_t start = 0;     // ticks
  std::uint64_t end = 0;       // ticks
  std::uint64_t recorder = 0;  // ticks that the recorder worked between the event before and this
  // Think time before it that was looked at, in ticks, and how long the thread had a processor
  // then.
  std::uint64_t think = 0;
  std::uint64_t think_cpu_ns = 0;
  // By index in the row's arguments; texts are slot plus 1, handles slots, iovecs piece counts.
  std::array<std::int64_t, calls::kMaxArguments> arguments{};
  std::uint64_t request = 0;  // bytes asked for
  std::int64_t result = 0;    // errno value when failed
  std::string_view pieces;    // varints, as many as the iovec argument says
  std::uint32_t stack = 0;    // its call stack by number, 0: none
};

enum class Decoded : std::uint8_t { kEvent, kText, kHandle, kStack, kEnd, kDamaged };

class ChunkDecoder {
 public:
  // `payload` stays with the caller and has to outlive the decoder and what it hands out.
  ChunkDecoder(std::string_view payload, std::uint64_t base_ticks)
      : at_(payload.data()), end_(payload.data() + payload.size()) {
    state_.reset(base_ticks);
  }

  // Reads the next record. The result says which of the three outputs was filled; stack() has what
  // kStack stands for.
  Decoded next(RawEvent& event, TextDefinition& text, HandleDefinition& handle);
  const StackDefinition& stack() const { return stack_; }

  // The payload goes on by so many bytes, behind those that were there.
  void extend(std::size_t bytes) { end_ += bytes; }

  // The first byte not yet read.
  const char* position() const { return at_; }

 private:
  // In place of a number.
  static constexpr std::uint64_t kExpectedStack = ~std::uint64_t{0};

  bool takeNote(std::uint32_t number);
  bool decodeEvent(std::uint32_t number, RawEvent& event);

  const char* at_;
  const char* end_;
  Prediction state_;
  std::uint64_t recorder_ = 0;  // not yet handed out
  std::uint64_t think_ = 0;
  std::uint64_t think_cpu_ns_ = 0;
  std::uint64_t stack_used_ = kExpectedStack;  // by the next event
  StackDefinition stack_;
};

}  // namespace omnio::wire
