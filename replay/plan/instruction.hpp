// One operation of a replay, as the engine works with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/calls/table.hpp"
#include "core/model/schedule.hpp"

namespace omnio::replay {

// A descriptor's place in its rank's table; what no call works on is kNoSlot.
inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;
inline constexpr std::uint32_t kNoFile = 0xFFFFFFFF;

enum OpFlag : std::uint8_t {
  kOpFailed = 1,   // the recorded call failed
  kOpLines = 2,    // it writes to a file that is read by lines
  kOpAtLeast = 4,  // its result is the least that the recorded call may have returned
};

// Fields that change together share a word of 8 bytes (Words).
struct Op {
  model::Step step = model::Step::kCall;  // never kPreopened
  std::uint8_t flags = 0;
  std::uint16_t row = 0;
  std::uint16_t piece_count = 0;
  std::uint16_t text_length = 0;
  // As recorded; 0 where the timing does not ask for them.
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  // Time in ns that the thread needs by itself since its operation before. Negative: not known; the
  // time between the two in the recording counts.
  std::int64_t own_ns = -1;
  std::int64_t communication_ns = 0;  // part of it
  std::int64_t result = 0;
  std::uint64_t request = 0;
  std::int64_t offset = -1;  // of kOpLines; -1: where the file ends by then
  std::uint32_t fd = kNoSlot;
  // kFdSource, or of a kFdNew what the wished number stood for: no call has both.
  std::uint32_t other = kNoSlot;
  std::uint32_t new_fd = kNoSlot;
  std::uint32_t file = kNoFile;
  std::uint32_t new_file = kNoFile;
  std::uint32_t directory = kNoSlot;
  std::uint32_t new_directory = kNoSlot;
  std::uint16_t lookups = model::kAllLookups;
  std::uint16_t new_lookups = model::kAllLookups;
  std::uint32_t wait = 0;   // 1 + index of the thread's waits; 0: none
  std::uint32_t named = 0;  // 1 + index of the thread's names; 0: no thread waits for it
  std::int64_t phase = 0;   // model::ScheduleEvent::phase
};
static_assert(sizeof(Op) == 112 && std::has_unique_object_representations_v<Op>);

// An operation with its parts, which live until the reader moves on.
struct Instruction {
  Op op;
  std::array<std::int64_t, calls::kMaxArguments> arguments{};
  const std::uint64_t* pieces = nullptr;
  std::string_view text;
  // In a line of a loop: how often the thread came to it before, and the exact times of its waits.
  std::int64_t pass = 0;
  const model::Work* waits = nullptr;
};

// The operation and its arguments as words of 8 bytes.
inline constexpr std::size_t kWords = sizeof(Op) / 8 + calls::kMaxArguments;
using Words = std::array<std::uint64_t, kWords>;
static_assert(offsetof(Instruction, arguments) == sizeof(Op) && kWords < 32);

inline Words wordsOf(const Op& op,
                     const std::array<std::int64_t, calls::kMaxArguments>& arguments) {
  Words words;
  std::memcpy(words.data(), &op, sizeof op);
  std::memcpy(words.data() + sizeof op / sizeof words[0], arguments.data(), sizeof arguments);
  return words;
}
// The parts that it refers to stay as they are.
inline void setWords(Instruction& instruction, const Words& words) {
  std::memcpy(static_cast<void*>(&instruction.op), words.data(), sizeof instruction.op);
  std::memcpy(instruction.arguments.data(), words.data() + sizeof(Op) / sizeof words[0],
              sizeof instruction.arguments);
}

}  // namespace omnio::replay
