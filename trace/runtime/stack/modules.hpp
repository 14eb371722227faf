// The executable files of the process that return addresses were seen in. The kernel tells which
// they are (/proc/self/maps): the loader's own list is behind a lock, which a signal handler may
// find taken by the thread that it interrupted.
//
// For one thread at a time: the holder of the claim in call_stack.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/call_stack.hpp"
#include "trace/runtime/stack/frame_table.hpp"
#include "trace/runtime/stack/frame_walk.hpp"
#include "trace/runtime/stack/untold_facts.hpp"

namespace omnio::trace {

struct ElfFacts;

class Modules {
 public:
  enum class Found : std::uint8_t {
    kExecutable,
    kNot,       // no code is there
    kNotKnown,  // the kernel does not tell, or there are too many
  };
  // Finds what the address is in. A module that is new becomes a fact that the log is to be told. A
  // module that comes back has the number that it had.
  Found find(std::uintptr_t address, wire::StackFrame& frame);

  // Whether one that is there holds the address.
  bool have(std::uintptr_t address) const { return known(address) != nullptr; }

  // How the walk gets on from a place in a module that find() has found: by the module's unwind
  // table, or by the frame pointer where it has none.
  UnwindRule ruleOf(RuleKey key) const;
  // Tells the log, once for each module, why a stack went no further than there.
  void noteBreak(RuleKey key, std::string_view why);

  // Some may have been unloaded: looks which are no longer where they were. When there are any,
  // calls `gone(gone_modules)`. False when the kernel does not tell.
  template <typename Gone>
  bool refresh(Gone gone) {
    if (count_ == 0) return true;
    for (std::uint32_t i = 0; i < count_; ++i) is_there_[i] = false;
    if (!markThose(is_there_)) return false;
    GoneModules those(*this);
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (is_there_[i] || modules_[i].is_gone) continue;
      modules_[i].is_gone = true;
      gone_[those.count_++] = static_cast<std::uint16_t>(i);
    }
    if (those.count_ > 0) gone(static_cast<const GoneModules&>(those));
    return true;
  }

  using Untold = UntoldFacts<std::size_t{256} * 1024>;
  Untold& untold() { return untold_; }

 private:
  static constexpr std::uint32_t kMost = 1024;
  struct Module {
    std::uintptr_t begin = 0;  // of the executable mapping
    std::uintptr_t end = 0;
    std::uint64_t load = 0;      // what was added to the file's addresses
    std::uint64_t device = 0;    // the file
    std::uint64_t inode = 0;     // 0: the mapping is of no file
    std::uint64_t identity = 0;  // of build id and path; 0: it has no build id
    std::uint32_t number = 0;    // 0: the mapping belongs to no file
    bool is_gone = false;
    bool is_through = false;  // --callstack=auto does not count its frames
    bool is_break_told = false;
    FrameIndex index;

    bool holds(std::uintptr_t address) const { return address - begin < end - begin; }
  };

 public:
  // Those that a refresh() found gone.
  class GoneModules {
   public:
    bool hold(std::uintptr_t address) const {
      return has([address](const Module& module) { return module.holds(address); });
    }
    bool have(const wire::StackFrame& frame) const {
      return has([&frame](const Module& module) {
        return module.number == frame.module && (module.number != 0 || module.holds(frame.offset));
      });
    }

   private:
    friend class Modules;
    explicit GoneModules(const Modules& all) : all_(all) {}
    template <typename IsIt>
    bool has(IsIt is_it) const {
      for (std::uint32_t i = 0; i < count_; ++i) {
        if (is_it(all_.modules_[all_.gone_[i]])) return true;
      }
      return false;
    }

    const Modules& all_;
    std::uint32_t count_ = 0;
  };

 private:
  const Module* known(std::uintptr_t address) const;
  bool markThose(bool* is_there) const;
  // Takes in a module that is there; nullptr when there are too many. A new one of a file is told.
  const Module* add(const Module& module, const ElfFacts& facts, std::string_view path);

  Module modules_[kMost];
  std::uint32_t count_ = 0;
  std::uint32_t last_number_ = 0;
  Untold untold_;
  bool is_break_told_ = false;  // of code in no file
  // For a refresh(): the stack of a signal handler may be too small for them.
  bool is_there_[kMost];
  std::uint16_t gone_[kMost];
};

// The mapping of the process's first thread's stack, as it is now; empty where it is not known.
StackBounds firstStack();

// Whether the bytes before a return address are those of a call; also true where they cannot be
// read.
bool isBehindCall(std::uintptr_t address);

}  // namespace omnio::trace
