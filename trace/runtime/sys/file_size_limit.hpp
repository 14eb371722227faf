// The limit on file sizes: a write beyond it would not be an error but SIGXFSZ, which ends the
// application. So it is asked for before each write of the tracer's own.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

inline bool withinFileSizeLimit(std::uint64_t bytes) {
  rlimit limit{};
  // The older call is there where a sandbox forbids the newer one.
  if (rawSyscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, address(&limit)) != 0 &&
      rawSyscall(SYS_getrlimit, RLIMIT_FSIZE, address(&limit)) != 0) {
    return true;
  }
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace omnio::trace
