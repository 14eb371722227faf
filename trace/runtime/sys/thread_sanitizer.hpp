// What the thread sanitizer has to be told, in a build with it: nothing of this is in the preloaded
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

// Of the sanitizer's runtime, which has no header for them.
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace omnio::trace {

// Reads facts of a handle while another thread may change them. That is how they are meant to be
// read: no call may wait for a lock, so the facts are copied first, and isStill()
// (handle_table.hpp) tells afterwards whether the copy is worth anything. The sanitizer cannot know
// that, so it does not look at the reads in the scope of a RacingRead; it sees all writes, and all
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
