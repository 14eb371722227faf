// Functions of libraries that a program may bring later, or for itself alone.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "trace/wrap/real_symbol.hpp"

namespace omnio::trace {

// By name: it is of a new version since glibc 2.34.
inline constinit LazySymbol<decltype(::dladdr)> find_object("dladdr");

// As many words as registers hold: what a function of another type gets besides means nothing to
// it.
using LibraryFunction = long(long, long, long, long, long, long);

// The function that a caller would have reached without its wrapper, and whether it is of the
// library that the wrapper is for: another library may use the name for a function of its own.
class LibraryCall {
 public:
  // `file` is how the library's file name begins.
  constexpr LibraryCall(const char* name, const char* file) : name_(name), file_(file) {}

  // `caller`: an address in the code that makes the call. nullptr where nothing is found.
  LibraryFunction* find(const void* caller, bool& is_of_library) {
    void* symbol = symbol_.load(std::memory_order_acquire);
    if (symbol == nullptr) [[unlikely]] {
      symbol = lookUp(caller);
      is_of_library_.store(symbol != nullptr && isOfLibrary(symbol), std::memory_order_relaxed);
      symbol_.store(symbol, std::memory_order_release);
    }
    is_of_library = is_of_library_.load(std::memory_order_relaxed);
    return reinterpret_cast<LibraryFunction*>(symbol);
  }

 private:
  void* lookUp(const void* caller) const {
    if (void* const next = nextSymbol(name_)) return next;
    Dl_info about{};
    auto* const find = find_object.get();
    if (find != nullptr && find(caller, &about) != 0 && about.dli_fname != nullptr) {
      if (void* const found = ofFile(about.dli_fname)) return found;
    }
    return ofFile(file_);
  }
  // Not the wrapper, which the program itself finds first.
  void* ofFile(const char* file) const {
    void* const library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library == nullptr ? nullptr : dlsym(library, name_);
    return found == dlsym(RTLD_DEFAULT, name_) ? nullptr : found;
  }
  bool isOfLibrary(void* symbol) const {
    Dl_info about{};
    auto* const find = find_object.get();
    if (find == nullptr || find(symbol, &about) == 0 || about.dli_fname == nullptr) return false;
    const char* const slash = strrchr(about.dli_fname, '/');
    const char* const file = slash == nullptr ? about.dli_fname : slash + 1;
    const char* const end = strstr(file_, ".so");
    return strncmp(file, file_, static_cast<std::size_t>(end - file_) + 3) == 0;
  }

  const char* name_;
  const char* file_;  // "libaio.so.1"
  std::atomic<void*> symbol_{nullptr};
  std::atomic<bool> is_of_library_{false};
};

}  // namespace omnio::trace

// Defines the wrapper of a function. BODY is not reached where it is another library's. In it,
// `call` makes the call, and a to f are its words.
#define OMNIO_OF_LIBRARY(NAME, FILE, BODY)                                           \
  namespace omnio::trace {                                                           \
  namespace {                                                                        \
  constinit LibraryCall real_##NAME(#NAME, FILE);                                    \
  }                                                                                  \
  }                                                                                  \
  OMNIO_EXPORT long NAME(long a, long b, long c, long d, long e, long f) {           \
    bool is_of_library = false;                                                      \
    auto* const real = real_##NAME.find(__builtin_return_address(0), is_of_library); \
    if (real == nullptr) return -ENOSYS;                                             \
    const auto call = [=] { return real(a, b, c, d, e, f); };                        \
    if (!is_of_library) return call();                                               \
    return BODY;                                                                     \
  }
