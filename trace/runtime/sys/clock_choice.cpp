#include "trace/runtime/sys/clock_choice.hpp"

#include <fcntl.h>

#include <string_view>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

// The kernel takes a time stamp counter that it found unstable off this list. Where the list cannot
// be read (no /sys in a container), the processor's word has to do.
bool kernelTrustsTsc() {
  const long fd =
      rawSyscall(SYS_openat, AT_FDCWD,
                 address("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
                 O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char text[256];
  const long bytes = rawSyscall(SYS_read, fd, address(text), sizeof text);
  rawSyscall(SYS_close, fd);
  if (bytes <= 0) return true;
  std::string_view rest(text, static_cast<std::size_t>(bytes));
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(" \n");
    if (rest.substr(0, end) == "tsc") return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

}  // namespace

wire::ClockKind chooseClock() {
  const wire::ClockKind kind = wire::detectClock();
  if (kind == wire::ClockKind::kTsc && !kernelTrustsTsc()) return wire::ClockKind::kMonotonic;
  return kind;
}

}  // namespace omnio::trace
