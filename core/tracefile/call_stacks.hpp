// The call stacks that a log defines, by number.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/event/call_stack.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/call_stack.hpp"

namespace omnio::tracefile {

class CallStacks {
 public:
  // The facts, which say what modules are, outlive it.
  explicit CallStacks(const ProcessInfo& info) : info_(info) {}

  // Takes in a definition; each chunk brings those that it uses anew. It changes a stack only where
  // a damaged trace defines its number in two ways.
  void define(const wire::StackDefinition& definition);
  // nullptr for 0, and for one that was not defined, which only a damaged trace has: each chunk
  // defines those that it uses. The stack stays where it is in the two chunks after the one that
  // defined it last.
  const event::CallStack* find(std::uint32_t number) const;
  // A chunk begins. A process that loads libraries again and again may number stacks without end:
  // those are forgotten that have not been defined for long.
  void beginChunk();

 private:
  static constexpr std::size_t kMostKept = 4096;
  struct Known {
    event::Module module;
    std::uint64_t identity = 0;
    bool is_known = false;
  };
  struct Stack {
    std::uint64_t places = 0;  // a digest of what its definition says
    std::uint64_t chunk = 0;   // that defined it last
    event::CallStack stack;
  };
  const Known& moduleOf(std::uint32_t number);

  const ProcessInfo& info_;
  std::unordered_map<std::uint32_t, Known> modules_;
  std::unordered_map<std::uint32_t, Stack> stacks_;
  std::uint64_t chunk_ = 0;
  std::size_t most_ = kMostKept;  // before those that are out of use are forgotten
};

}  // namespace omnio::tracefile
