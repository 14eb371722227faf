// The look-up of what POSIX threads call.
#pragma once

#include <dlfcn.h>

#include "trace/wrap/real_symbol.hpp"

namespace omnio::trace {

// Before glibc 2.34 threads have a library of their own, which a plugin may have brought for
// itself.
inline void* threadSymbol(const char* name) {
  if (void* found = nextSymbol(name)) return found;
  void* const library = dlopen("libpthread.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace omnio::trace
