// The functions behind the wrappers: each found once by name, in the objects after this one.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/calls/table.hpp"

namespace omnio::trace {

extern std::atomic<void*> real_symbols[calls::kNumberLimit];

// Looks the symbol up; nullptr when no library of the process has it.
void* resolveReal(std::uint16_t number);
// All POSIX and stream calls, from the constructor: a look-up is not for a signal handler.
void resolveAll();

template <std::uint16_t kNumber, typename Function>
[[gnu::always_inline]] inline Function* realFunction() {
  void* symbol = real_symbols[kNumber].load(std::memory_order_relaxed);
  if (symbol == nullptr) [[unlikely]]
    symbol = resolveReal(kNumber);
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace omnio::trace
