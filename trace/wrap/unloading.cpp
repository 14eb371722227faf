// Libraries that the program unloads: addresses in them may mean something else from then on.
#include <dlfcn.h>
#include <errno.h>

#include "trace/runtime/process.hpp"
#include "trace/runtime/stack/call_stack.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

constinit LazySymbol<int(void*)> real_dlclose("dlclose");

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int dlclose(void* library) {
  auto* const real = real_dlclose.get();
  if (real == nullptr) return -1;
  const int result = real(library);
  if (!recordsStacks() || !isActive() || isVforkChild()) return result;
  const int error = errno;
  forgetUnloadedModules();
  errno = error;
  return result;
}
