// Where the calling function's frame ends: tells which frames a jump leaves behind.
#pragma once

#include <cstdint>

namespace omnio::trace {

[[gnu::always_inline]] inline std::uintptr_t stackPointer() {
  std::uintptr_t value;
#if defined(__x86_64__)
  asm volatile("mov %%rsp, %0" : "=r"(value));
#elif defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(value));
#endif
  return value;
}

}  // namespace omnio::trace
