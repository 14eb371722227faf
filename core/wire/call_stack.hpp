// The call stack of an event (`omnio trace --callstack`). A stack has a number in its process, from
// 1, and is defined in each chunk that uses it: by the places of its return addresses, each as a
// module of the process and an offset in it. Modules are facts of the process (info.hpp).
//
// An event says nothing of its stack when that is the one which followed, the last time, the stack
// of the event before (StackPrediction). Else a record before the event has the number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wire/definition.hpp"
#include "core/wire/record.hpp"
#include "core/wire/settings.hpp"

namespace omnio::wire {

inline constexpr std::size_t kMostFrames = kMostStackFrames;

struct StackFrame {
  // As in the fact "module.N". 0: the address is in no file, and `offset` is the address itself.
  std::uint32_t module = 0;
  std::uint64_t offset = 0;  // of the return address, in the module as it is linked

  bool operator==(const StackFrame&) const = default;
};

// The innermost frame, in which the call was made, comes first.
struct StackDefinition {
  std::uint32_t number = 0;
  std::uint32_t count = 0;
  std::array<StackFrame, kMostFrames> frames{};
};

// Room of a definition, and of the record by which an event takes a stack.
inline constexpr std::size_t kMaxStackDefinition =
    kControlHeader + 2 * kMaxVarint + kMostFrames * 2 * kMaxVarint;
inline constexpr std::size_t kMaxStackUse = kControlHeader + kMaxVarint;

inline char* encodeStack(char* out, std::uint32_t number, const StackFrame* frames,
                         std::uint32_t count) {
  out = putVarint(putVarint(putControlHeader(out, kDefineStack), number), count);
  for (std::uint32_t i = 0; i < count; ++i) {
    out = putVarint(putVarint(out, frames[i].module), frames[i].offset);
  }
  return out;
}

// Reads what follows the record's header. Returns the end of the definition, or nullptr when it is
// not whole or nonsense.
inline const char* decodeStack(const char* in, const char* end, StackDefinition& stack) {
  std::uint64_t number = 0;
  std::uint64_t count = 0;
  in = getVarint(in, end, number);
  if (in != nullptr) in = getVarint(in, end, count);
  if (in == nullptr || number == 0 || number > UINT32_MAX || count == 0 || count > kMostFrames) {
    return nullptr;
  }
  stack.number = static_cast<std::uint32_t>(number);
  stack.count = static_cast<std::uint32_t>(count);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    std::uint64_t module = 0;
    in = getVarint(in, end, module);
    if (in != nullptr) in = getVarint(in, end, stack.frames[i].offset);
    if (in == nullptr || module > UINT32_MAX) return nullptr;
    stack.frames[i].module = static_cast<std::uint32_t>(module);
  }
  return in;
}

// Writes what the event that follows needs so that readers know its stack: nothing, as a rule. The
// number 0 is that of an event without one. The stack is defined in the chunk.
inline char* encodeStackUse(char* out, std::uint32_t number, StackPrediction& state) {
  if (state.expected() != number) {
    out = putVarint(putControlHeader(out, kUseStack), number);
  }
  state.learn(number);
  return out;
}

}  // namespace omnio::wire
