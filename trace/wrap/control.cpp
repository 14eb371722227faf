// The application's own word on what is recorded: the calls that trace/api/omnio.h makes.
#include <errno.h>
#include <sys/mman.h>

#include "trace/api/omnio.h"
#include "trace/runtime/recording_switch.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

constinit LazySymbol<int(void*, size_t, int) noexcept> real_advice("posix_madvise");

// When the library is loaded: an allocator that calls it may not be entered again by a look-up.
__attribute__((constructor)) void lookUpAdvice() { real_advice.get(); }

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_EXPORT int posix_madvise(void* address, size_t length, int advice) noexcept {
  if (address == nullptr && length == OMNIO_CONTROL_KEY) [[unlikely]] {
    if (advice == OMNIO_CONTROL_STOP || advice == OMNIO_CONTROL_START) {
      setRecording(advice == OMNIO_CONTROL_START);
    } else if (advice != OMNIO_CONTROL_QUERY) {
      return EINVAL;
    }
    return isRecording() ? OMNIO_CONTROL_RECORDING : OMNIO_CONTROL_STOPPED;
  }
  return real_advice.get()(address, length, advice);
}
