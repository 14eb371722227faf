// Keeps a slow log device away from the application: a thread of the tracer's own writes out full
// rings, while the application's threads go on in others. It begins after a write of the log that
// took long (with --when-slow drop: with the first event), and is gone before the process forks,
// becomes another program, changes its user or its namespaces, or ends.
//
// The thread is made past the C library (own_clone.hpp), with all signals blocked and thread-local
// memory of its own, so that neither the library nor the application knows of it.
#pragma once

#include <cstdint>

namespace omnio::trace {

// A write of the log that takes as long makes the device a slow one.
inline constexpr std::uint64_t kSlowWriteNs = 5'000'000;
// Rings beside its own that a thread may fill, on the average, and all threads together.
inline constexpr std::uint32_t kSpareRingsOfThread = 8;
inline constexpr std::uint32_t kSpareRings = 256;

class LogHelper {
 public:
  // Notes how long an application's thread was held up by a write of the log.
  static void noteWrite(std::uint64_t ns);
  // Whether full rings are to be handed over: the device has been slow, or is not to be waited for.
  static bool isWanted();
  static bool dropsEvents();
  // Makes sure that it runs; false when it cannot, or the process ends.
  static bool start();
  // Whether this is that thread, which must not call into the C library.
  static bool isThisThread();
  // Ends it, when its present write is done. It may be started again.
  static void stop();
  // In a forked child, which has no such thread.
  static void forget();

  // A ring has been handed over, or modules are to be told. From any thread.
  static void wake();
  // Waits a moment for a ring to come free.
  static void awaitRing();
};

}  // namespace omnio::trace
