#include "trace/runtime/sys/own_memory.hpp"

#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/own_clone.hpp"
#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {

long openOwn(const char* name) {
  char path[64];
  Text text(path, sizeof path);
  text.put("/proc/");
  if (isInOwnTable()) {
    text.putNumber(process.pid);
  } else {
    text.put("self");
  }
  text.putByte('/').put(name);
  return rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
}

}  // namespace omnio::trace
