// Ways to move bytes of files that are counted and not recorded: io_uring by liburing, which maps
// its rings by system calls of its own. (Rings that a program maps by itself: mappings.cpp.)
#include <errno.h>

#include "trace/runtime/unseen_ways.hpp"
#include "trace/wrap/intercept.hpp"
#include "trace/wrap/library_call.hpp"
#include "trace/wrap/signature.hpp"

namespace omnio::trace {
namespace {

long ring(long result) {
  if (result >= 0 && mayRecord(thread) && isActive()) countRing();
  return result;
}

}  // namespace
}  // namespace omnio::trace

using namespace omnio::trace;

OMNIO_OF_LIBRARY(io_uring_queue_init, "liburing.so.2", ring(static_cast<int>(call())))
OMNIO_OF_LIBRARY(io_uring_queue_init_params, "liburing.so.2", ring(static_cast<int>(call())))
OMNIO_OF_LIBRARY(io_uring_queue_init_mem, "liburing.so.2", ring(static_cast<int>(call())))
