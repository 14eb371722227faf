#include "trace/runtime/path.hpp"

#include <fcntl.h>

#include <atomic>
#include <cstring>

#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

// Directories take turns in a few places, so that a thread that still reads an earlier one reads
// bytes that stay. A thread reads bytes that are being written (see RacingRead) only when others
// change directory kPlaces times during one of its relative opens.
constexpr unsigned kPlaces = 16;
constexpr std::size_t kMaxDirectory = 4096;

struct Directory {
  std::size_t bytes = 0;
  char path[kMaxDirectory] = {};
};

Directory places[kPlaces];
std::atomic<unsigned> turn{0};  // place of the current directory is turn % kPlaces
std::atomic<bool> is_known{false};

// Stands for a directory that is itself left out, or no directory: what is relative to it is left
// out as well.
constexpr std::string_view kLeftOut = "?";

// The part in front of the slash: nothing, but not null, for the root.
std::string_view directoryOf(std::string_view path) {
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

void workingDirectoryChanged() {
  const unsigned next = turn.load(std::memory_order_relaxed) + 1;
  Directory& place = places[next % kPlaces];
  const long bytes = rawSyscall(SYS_getcwd, address(place.path), kMaxDirectory);
  if (bytes > 1 && place.path[0] == '/') {
    place.bytes = static_cast<std::size_t>(bytes) - 1;  // the kernel counts the NUL
  } else {
    std::memcpy(place.path, "?", 2);  // removed, or out of reach
    place.bytes = 1;
  }
  turn.store(next, std::memory_order_release);
  is_known.store(true, std::memory_order_release);
}

std::string_view workingDirectory() {
  if (!is_known.load(std::memory_order_acquire)) workingDirectoryChanged();
  const Directory& place = places[turn.load(std::memory_order_acquire) % kPlaces];
  return {place.path, place.bytes};
}

wire::PathParts resolvePath(int dirfd, const char* name) {
  const std::string_view words = name == nullptr ? "" : name;
  if (!words.empty() && words[0] == '/') return {.directory = {}, .name = words};
  if (dirfd != AT_FDCWD) {
    const Entry entry = find(dirfd);
    return {.directory = entry.isTraced() ? directoryOf(pathOf(infoOf(entry))) : kLeftOut,
            .name = words};
  }
  return {.directory = directoryOf(workingDirectory()), .name = words};
}

bool isRecorded(const wire::PathParts& path) {
  if (path.directory.data() == kLeftOut.data()) return false;
  const Settings& settings = process.settings;
  if (settings.include[0] != '\0' && wire::matchesAny(settings.include, path)) return true;
  if (wire::matchesAny(wire::kDefaultExclude, path)) return false;
  return settings.exclude[0] == '\0' || !wire::matchesAny(settings.exclude, path);
}

}  // namespace omnio::trace
