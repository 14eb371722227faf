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

  // Takes in a definition; each chunk brings those that it uses anew.
  void define(const wire::StackDefinition& definition);
  // nullptr for 0, and for one that is not defined, which only a damaged trace has. It lives as
  // long as this, and changes only where a damaged trace defines its number in two ways.
  const event::CallStack* find(std::uint32_t number) const;

 private:
  struct Known {
    event::Module module;
    std::uint64_t identity = 0;
    bool is_known = false;
  };
  struct Stack {
    std::uint64_t places = 0;  // a digest of what its definition says
    event::CallStack stack;
  };
  const Known& moduleOf(std::uint32_t number);

  const ProcessInfo& info_;
  std::unordered_map<std::uint32_t, Known> modules_;
  std::unordered_map<std::uint32_t, Stack> stacks_;
};

}  // namespace omnio::tracefile
