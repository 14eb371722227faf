// Work that needs more stack than a signal handler's may have: it runs on memory of the tracer's
// own.
#pragma once

#include <cstddef>

#include "trace/runtime/sys/scratch.hpp"

namespace omnio::trace {

// Calls `function(argument)` with the stack that ends at `top`, which is aligned to 16 bytes.
[[gnu::noinline]] inline void callOnStack(char* top, void (*function)(void*), void* argument) {
#if defined(__x86_64__)
  asm volatile(
      "movq %%rsp, %%rbx\n"
      "movq %[top], %%rsp\n"
      "callq *%[function]\n"
      "movq %%rbx, %%rsp\n"
      : "+D"(argument)
      : [top] "r"(top), [function] "r"(function)
      : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
  register void* x0 asm("x0") = argument;
  asm volatile(
      "mov x19, sp\n"
      "mov sp, %[top]\n"
      "blr %[function]\n"
      "mov sp, x19\n"
      : "+r"(x0)
      : [top] "r"(top), [function] "r"(function)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
        "x15", "x16", "x17", "x18", "x19", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4",
        "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
        "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

// Runs the action there; on the thread's own stack when memory runs out.
template <typename Action>
void onOwnStack(Action action) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr std::size_t kBytes = std::size_t{64} * 1024;
  const ScratchBlock block = takeScratch(kBytes);
  if (block.memory != nullptr) {
    callOnStack(
        static_cast<char*>(block.memory) + kBytes,
        [](void* argument) { (*static_cast<Action*>(argument))(); }, &action);
    giveScratchBack(block);
    return;
  }
#endif
  action();
}

}  // namespace omnio::trace
