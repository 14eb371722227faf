// What the exported syscall() of sandbox.cpp asks of system_calls.cpp.
#pragma once

#include <cstddef>

namespace omnio::trace {

// Numbers of system calls that are looked up; those beyond are passed on. Written out in
// sandbox.cpp.
inline constexpr std::size_t kSystemCallLimit = 512;

// Notes that the next child may have its parent's memory (lifecycle.cpp).
extern "C" __attribute__((visibility("hidden"))) void* omnioBeforeVfork();

// The C library's syscall().
extern "C" __attribute__((visibility("hidden"))) void* omnioRealSyscall();

}  // namespace omnio::trace
