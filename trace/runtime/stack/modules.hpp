// The executable files of the process that return addresses were seen in. The kernel tells which
// they are (/proc/self/maps): the loader's own list is behind a lock, which a signal handler may
// find taken by the thread that it interrupted.
//
// For one thread at a time: the holder of the claim in call_stack.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/call_stack.hpp"
#include "trace/runtime/stack/frame_walk.hpp"

namespace omnio::trace {

class Modules {
 public:
  enum class Found : std::uint8_t {
    kExecutable,
    kNot,       // no code is there
    kNotKnown,  // the kernel does not tell
  };
  // What the address is in. A module that is new is told to the log, before any event refers to it.
  Found find(std::uintptr_t address, wire::StackFrame& frame);

  // Some may have been unloaded: forgets those that are no longer where they were, and calls
  // `gone(number)` for each.
  template <typename Gone>
  void refresh(Gone gone) {
    if (count_ == 0) return;
    bool is_there[kMost] = {};
    if (!markThose(is_there)) return;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (!is_there[i] && modules_[i].number != 0) gone(modules_[i].number);
      if (is_there[i]) modules_[kept++] = modules_[i];
    }
    count_ = kept;
  }

 private:
  static constexpr std::uint32_t kMost = 1024;
  struct Module {
    std::uintptr_t begin = 0;  // of the executable mapping
    std::uintptr_t end = 0;
    std::uint64_t load = 0;    // what was added to the file's addresses
    std::uint64_t device = 0;  // the file
    std::uint64_t inode = 0;
    std::uint32_t number = 0;  // 0: the mapping is of no file
  };
  const Module* known(std::uintptr_t address) const;
  bool markThose(bool* is_there) const;

  Module modules_[kMost];
  std::uint32_t count_ = 0;
  std::uint32_t last_number_ = 0;
};

// The mapping of the process's first thread's stack, as it is now; empty where it is not known.
StackBounds firstStack();

// Whether the bytes before a return address are those of a call; also true where they cannot be
// read.
bool isBehindCall(std::uintptr_t address);

}  // namespace omnio::trace
