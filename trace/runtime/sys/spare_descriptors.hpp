// The tracer opens files for a moment, when a process or a thread records its first event. An
// application that has used up its limit of descriptors, or does at that moment, must not notice.
#pragma once

#include <sys/resource.h>

namespace omnio::trace {

// While one lives, the soft limit is higher by what the tracer needs. Not for limits that nobody
// exhausts, nor where the hard limit is in the way. Signals are held meanwhile (held_signals.hpp).
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
