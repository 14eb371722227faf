#include "trace/wrap/real_symbol.hpp"

namespace omnio::trace {

std::atomic<void*> real_symbols[calls::kNumberLimit];

void* resolveReal(CallId id) {
  const char* name = calls::rowOf(id).name.data();
  void* symbol = dlsym(RTLD_NEXT, name);
#ifdef OMNIO_OLDEST_GLIBC
  // Names that today's C library keeps for old programs alone (__xstat) have no default version.
  if (symbol == nullptr) symbol = dlvsym(RTLD_NEXT, name, OMNIO_OLDEST_GLIBC);
#endif
  real_symbols[calls::toNumber(id)].store(symbol, std::memory_order_relaxed);
  return symbol;
}

void resolveAll() {
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0 && row.api != calls::Api::kMpi) resolveReal(row.id());
  }
}

}  // namespace omnio::trace
