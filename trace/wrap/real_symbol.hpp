// The functions behind the wrappers: each found once by name, in the objects after this one.
#pragma once
#include <dlfcn.h>
#include <errno.h>

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

inline std::atomic<void*> real_symbols[calls::kNumberLimit];

// In place of a function that no library of the process has. A program may ask for a call by a weak
// symbol (statx, with glibc 2.17) and find the tracer's: it gets the error of a system without it.
inline long missingFunction() {
  errno = ENOSYS;
  return -1;
}

// Looks the symbol up.
[[gnu::noinline]] inline void* resolveReal(CallId id) {
  const char* name = calls::rowOf(id).name.data();
  void* symbol = dlsym(RTLD_NEXT, name);
#ifdef OMNIO_OLDEST_GLIBC
  // Names that today's C library keeps for old programs alone (__xstat) have no default version.
  if (symbol == nullptr) symbol = dlvsym(RTLD_NEXT, name, OMNIO_OLDEST_GLIBC);
#endif
  if (symbol == nullptr) symbol = reinterpret_cast<void*>(missingFunction);
  real_symbols[calls::toNumber(id)].store(symbol, std::memory_order_relaxed);
  return symbol;
}

// All POSIX and stream calls, from the constructor: a look-up is not for a signal handler.
inline void resolveAll() {
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0 && calls::isIo(row) && calls::isSymbol(row)) resolveReal(row.id());
  }
}

// The next object's symbol of that name; nullptr when there is none.
inline void* nextSymbol(const char* name) { return dlsym(RTLD_NEXT, name); }

// A symbol of POSIX threads. Before glibc 2.34 they have a library of their own, which a plugin may
// have brought for itself.
inline void* threadSymbol(const char* name) {
  if (void* found = nextSymbol(name)) return found;
  void* const library = dlopen("libpthread.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

// A function or object that is looked up by its name when it is first wanted, and kept. One that is
// not found is looked for again: its library may be loaded later. Constant initialisation: the
// libraries are built without guards that threads could share (-fno-threadsafe-statics).
template <typename T, void* (*kFind)(const char*) = nextSymbol>
class LazySymbol {
 public:
  constexpr explicit LazySymbol(const char* name) : name_(name) {}
  T* get() {
    void* symbol = place_.load(std::memory_order_relaxed);
    if (symbol == nullptr) [[unlikely]] {
      symbol = kFind(name_);
      place_.store(symbol, std::memory_order_relaxed);
    }
    return reinterpret_cast<T*>(symbol);
  }

 private:
  const char* name_;
  std::atomic<void*> place_{nullptr};
};

template <CallId kCall, typename Function>
[[gnu::always_inline]] inline Function* realFunction() {
  void* symbol = real_symbols[calls::toNumber(kCall)].load(std::memory_order_relaxed);
  if (symbol == nullptr) [[unlikely]]
    symbol = resolveReal(kCall);
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace omnio::trace
