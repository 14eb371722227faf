// Hints for the thread sanitizer, in a build with it: nothing of this is in the preloaded
// libraries.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define OMNIO_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OMNIO_THREAD_SANITIZER 1
#endif
#endif

#ifdef OMNIO_THREAD_SANITIZER
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// The sanitizer's runtime has these, and no header for them.
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace omnio::trace {

// Marks reads of plain memory that another thread may write at the same time. The tracer does this
// in two places, on purpose, because no call may wait for a lock:
//   - facts of a handle (HandleInfo): they are copied first, and isStill() (handle_table.hpp) says
//     afterwards whether the copy is valid;
//   - the working directory (handle_table.cpp): a writer fills the place that was left longest ago.
// The standard calls such a read a data race, with undefined behaviour. On the two architectures of
// the tracer a racing read gives some old or new bytes and nothing worse. The compiler cannot
// invent a second read after isStill(), which is an atomic exchange with acquire and release
// order. Lengths and block numbers are checked against their limits before use, because two facts
// of one racing copy may not fit each other. Relaxed atomics for each word would be correct by the
// standard too, but the path of up to 4 KiB is hashed and copied by functions that take plain
// memory, and a copy by words for each definition costs more than the definition.
// The thread sanitizer ignores the reads in the scope of a RacingRead; it sees all writes, and all
// reads elsewhere.
class RacingRead {
 public:
#ifdef OMNIO_THREAD_SANITIZER
  RacingRead() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~RacingRead() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  RacingRead() {}
#endif
  RacingRead(const RacingRead&) = delete;
  RacingRead& operator=(const RacingRead&) = delete;
};

#ifdef OMNIO_THREAD_SANITIZER
// Memory that comes and goes by system calls of our own is not seen to do so: what one thread wrote
// and unmapped would race with what another maps at the same address later. So these go by the
// library's functions, which the sanitizer intercepts. Tells whether `result` is that of the call.
inline bool mappedByLibrary(long number, const long (&a)[6], long& result) {
  if (number != SYS_mmap && number != SYS_munmap) return false;
  const int error = errno;
  result = number == SYS_munmap
               ? munmap(reinterpret_cast<void*>(a[0]), static_cast<size_t>(a[1]))
               : reinterpret_cast<long>(mmap(reinterpret_cast<void*>(a[0]),
                                             static_cast<size_t>(a[1]), static_cast<int>(a[2]),
                                             static_cast<int>(a[3]), static_cast<int>(a[4]), a[5]));
  if (result == -1) result = -errno;
  errno = error;
  return true;
}
#endif

}  // namespace omnio::trace
