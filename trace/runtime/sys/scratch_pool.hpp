// Blocks of memory for the length of a call, kept between calls: a call that is made in a loop
// (a test of many requests) maps memory once. Any thread, any moment; no locks.
#pragma once

#include <cstddef>

namespace omnio::trace {

struct ScratchBlock {
  void* memory = nullptr;  // nullptr: none to be had
  std::size_t bytes = 0;   // as many as asked for, or more
};

// Its content is anything.
ScratchBlock takeScratch(std::size_t bytes);
void giveScratchBack(ScratchBlock block);

}  // namespace omnio::trace
