// How a process gets a file of its trace that it cannot open itself: it has become another user, or
// has another root directory. `omnio trace` listens on a socket of its node, opens the file with
// its own rights, and passes the descriptor on (SCM_RIGHTS, unix(7)). From then on the process
// writes its log as any other does, also when `omnio trace` is gone.
//
// The socket has a name without a file, "\0omnio-<run id, 32 hex digits>-<pid of omnio trace>", and
// keeps messages apart.
// A connection has one request and one answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/run.hpp"

namespace omnio::wire {

inline constexpr std::uint64_t kLogRequestMagic = 0x31514C'4F494E4D4FULL;  // "OMNIOLQ1"
inline constexpr const char* kLogSocketPrefix = "omnio-";

enum class LogRequestKind : std::uint32_t {
  kNewLog = 1,    // a container, which must not be there
  kKnownLog = 2,  // one that was made in this way before
  kNotes = 3      // a file that is appended to: <host>.processes, <host>.untraced
};

struct LogRequest {
  std::uint64_t magic = kLogRequestMagic;
  RunId run;
  LogRequestKind kind = LogRequestKind::kNewLog;
  std::uint32_t error = 0;  // errno of its own open
  std::uint32_t pid = 0;    // as the process knows it
  std::uint32_t pad = 0;
  char name[256] = {};  // in the trace directory
};

struct LogAnswer {
  std::uint64_t magic = kLogRequestMagic;
  std::uint32_t error = 0;  // 0: a descriptor comes with it
  std::uint32_t pad = 0;
};

}  // namespace omnio::wire
