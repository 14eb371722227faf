// The unwind table of a module (.eh_frame), found by its index (.eh_frame_hdr). Both are read as
// something that may hold anything, and through the kernel: a module may be unloaded meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/runtime/stack/call_frame_program.hpp"
#include "trace/runtime/stack/unwind_rule.hpp"
#include "trace/runtime/sys/own_memory.hpp"

namespace omnio::trace {

// Where the index is; 0 bytes: the module has none.
struct FrameIndex {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

// What a table says of a place in the code.
struct FrameTableEntry {
  enum class Found : std::uint8_t {
    kNone,     // it has nothing of that place
    kRow,      // `row`
    kSignal,   // a signal handler returns there
    kInvalid,  // it makes no sense
  };
  Found found = Found::kNone;
  CallFrameRow row;

  UnwindRule rule() const;
};

// `code` is an address in the instruction that is under way: for a return address one byte before
// it, since a call may be the last instruction of a function.
FrameTableEntry findInFrameTable(const OwnMemory& memory, FrameIndex index, std::uintptr_t code);

// Whether the code at a return address gives a signal handler's control back to the kernel: tables
// do not always tell.
bool isSignalReturn(const OwnMemory& memory, std::uintptr_t address);

}  // namespace omnio::trace
