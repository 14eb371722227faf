// Records events as the wrappers do, with the real calls left out.
#pragma once

#include <filesystem>

#include "tests/trace/recorded.hpp"
#include "tests/trace/traced_child.hpp"
#include "trace/wrap/intercept.hpp"

namespace omnio::test {

using calls::CallId;

// Really opens the file, and gives it a handle; the open itself is not recorded.
inline int openRecorded(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  trace::openHandle(fd, {.directory = {}, .name = path.native()}, O_CREAT | O_RDWR);
  return fd;
}

inline void recordSeek(trace::Entry handle, long offset) {
  trace::Subject subject;
  subject.handle = handle;
  wire::EventTimes times;
  times.start = trace::ticks();
  times.end = trace::ticks();
  constexpr CallId kRow = CallId::lseek;
  wire::Arguments<kRow> numbers{0, offset, SEEK_SET};
  trace::record<kRow>(trace::thread, times, false, numbers, 0, offset, subject);
}

inline void recordSeek(int fd, long offset) { recordSeek(trace::lookUp(fd), offset); }

}  // namespace omnio::test
