// Parts of a log. A process that cannot open its log, since it has become another user or the file
// system is read-only there, leaves what it would write in parts where the rings are. `omnio trace`
// writes each into the trace, with its own rights, and removes it. When `omnio trace` is gone,
// whoever collects does so.
//
// A part is a file that gets its name in one step, when it is complete:
//
//   <directory>/omnio-<run id>-<token>-<number>.part-<pid of omnio trace>
//
// Its number tells which of two accounts is the later one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/run.hpp"

namespace omnio::wire {

inline constexpr std::uint64_t kLogPartMagic = 0x31504C'4F494E4D4FULL;  // "OMNIOLP1"
inline constexpr const char* kPartInfix = ".part-";
inline constexpr const char* kUnfinishedPartInfix = ".new-";
inline constexpr std::uint64_t kMaxPartBytes = 16U << 20;
inline constexpr std::uint64_t kMaxPartOffset = std::uint64_t{1} << 44;

enum class LogPartKind : std::uint32_t {
  kLog = 1,   // bytes of a container at `offset`; at 0 they are its header, and begin it
  kNotes = 2  // a record that is appended: <host>.processes, <host>.untraced
};

// The bytes follow it. A part that `omnio trace` refuses is cut to nothing: whoever left it, and
// waits for its end, removes it.
struct LogPartHeader {
  std::uint64_t magic = kLogPartMagic;
  RunId run;
  Supervisor supervisor;
  std::uint64_t token = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pid_namespace = 0;  // as in RingHeader
  LogPartKind kind = LogPartKind::kLog;
  std::uint32_t number = 0;
  std::uint32_t pid = 0;    // as the process knows it
  std::uint32_t error = 0;  // errno of its own open
  char name[256] = {};      // of the file, in the trace directory
};
static_assert(sizeof(LogPartHeader) == 352);

}  // namespace omnio::wire
