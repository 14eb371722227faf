// Modules in which call stacks broke off: the tracer found no way from a frame there to its
// caller's.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/tracefile/trace.hpp"

namespace omnio::tracefile {

struct StackBreak {
  std::string module;         // its path; empty for code that programs made while they ran
  std::string why;            // "it has no unwind table ..."
  std::size_t processes = 0;  // that say so

  // "in 2 processes call stacks go no further than /usr/lib/libx.so, since it has no ..."
  std::string sentence() const;
};

// Those in most processes come first.
std::vector<StackBreak> stackBreaksOf(const Trace& trace);

}  // namespace omnio::tracefile
