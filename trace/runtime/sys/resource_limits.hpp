// Limits of the application's resources (setrlimit(2)) that the tracer must not run into.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {

// The limit on file sizes: a write beyond it would not be an error but SIGXFSZ, which ends the
// application. So it is asked for before each write of the tracer's own.
inline bool withinFileSizeLimit(std::uint64_t bytes) {
  rlimit limit{};
  // The older call is there where a sandbox forbids the newer one.
  if (rawSyscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, address(&limit)) != 0 &&
      rawSyscall(SYS_getrlimit, RLIMIT_FSIZE, address(&limit)) != 0) {
    return true;
  }
  return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

// The tracer opens files for a moment, when a process or a thread records its first event. An
// application that has used up its limit of descriptors, or does at that moment, must not notice.
//
// While one lives, the soft limit is higher by what the tracer needs. Not for limits that are never
// exhausted, nor where the hard limit is in the way. Signals are held meanwhile (waiting.hpp).
class SpareDescriptors {
 public:
  SpareDescriptors();
  ~SpareDescriptors();
  SpareDescriptors(const SpareDescriptors&) = delete;
  SpareDescriptors& operator=(const SpareDescriptors&) = delete;

  // The first number beyond the application's limit, which a descriptor can have now; -1: none can.
  static long firstBeyond();
  // In a forked child: another thread of the parent may have raised it, and is not here.
  static void restoreInChild();

 private:
  bool is_counted_;
};

}  // namespace omnio::trace
