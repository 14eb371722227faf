// A file of 16 KiB in four writes, for programs whose files tell in which order they were written.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

inline void writeFile(const char* name) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) std::abort();
  static const char data[4096] = {};
  for (int i = 0; i < 4; ++i) {
    if (write(fd, data, sizeof data) != static_cast<ssize_t>(sizeof data)) std::abort();
  }
  close(fd);
}
