// The functions behind the wrappers: each found once by name, in the objects after this one.
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "core/calls/table.hpp"

// The loader's functions under the versions they had before glibc 2.34 took them into libc itself:
// a library that is built on a new system then loads on an old one (glibc 2.28 and older; a test
// holds the built libraries to it). Old systems have them in libdl.so.2, which is linked for that.
#if defined(__GLIBC__) && defined(__x86_64__)
#define OMNIO_OLDEST_GLIBC "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OMNIO_OLDEST_GLIBC "GLIBC_2.17"
#endif

#ifdef OMNIO_OLDEST_GLIBC
__asm__(".symver dlsym,dlsym@" OMNIO_OLDEST_GLIBC);
__asm__(".symver dlvsym,dlvsym@" OMNIO_OLDEST_GLIBC);
__asm__(".symver dlopen,dlopen@" OMNIO_OLDEST_GLIBC);
#endif

namespace omnio::trace {

using calls::CallId;

extern std::atomic<void*> real_symbols[calls::kNumberLimit];

// Looks the symbol up; nullptr when no library of the process has it.
void* resolveReal(CallId id);
// All POSIX and stream calls, from the constructor: a look-up is not for a signal handler.
void resolveAll();

template <CallId kCall, typename Function>
[[gnu::always_inline]] inline Function* realFunction() {
  void* symbol = real_symbols[calls::toNumber(kCall)].load(std::memory_order_relaxed);
  if (symbol == nullptr) [[unlikely]]
    symbol = resolveReal(kCall);
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace omnio::trace
