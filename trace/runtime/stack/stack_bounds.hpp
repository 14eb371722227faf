// What is known of the memory that stacks are in, and of the tracer's own code, whose frames are no
// part of an application's stack.
#pragma once

#include <elf.h>

#include <atomic>
#include <cstdint>

#include "trace/runtime/process.hpp"
#include "trace/runtime/stack/frame_walk.hpp"

// Of the linker: where this library, or this program, begins.
extern "C" __attribute__((visibility("hidden"))) const Elf64_Ehdr __ehdr_start;

namespace omnio::trace {

// From there to the end of the last code; 0: not yet measured.
inline constinit std::atomic<std::uintptr_t> own_bytes_of_code{0};
std::uintptr_t measureOwnCode();

[[gnu::always_inline]] inline CodeRange ownCode() {
  std::uintptr_t bytes = own_bytes_of_code.load(std::memory_order_relaxed);
  if (bytes == 0) [[unlikely]]
    bytes = measureOwnCode();
  return {.begin = reinterpret_cast<std::uintptr_t>(&__ehdr_start), .bytes = bytes};
}

// Brings `here`, which is in use as a stack, into the bounds if it is on the thread's own stack.
// Those of all threads but the first lie below their thread-local variables, in one piece of memory
// with them; below each is a page that cannot be read. So what can be read all the way up to the
// variables is the thread's stack.
void extendBounds(Thread& self, std::uintptr_t here);

}  // namespace omnio::trace
