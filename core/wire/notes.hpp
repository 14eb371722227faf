// The note of a process that could make neither a log nor a ring, since its descriptors, its limits
// or a filter did not allow it. The note is the target of a symbolic link in the ring directory,
// which needs no descriptor and no file size. Its name is that of a ring, with kLostSuffix for the
// number.
//
//   <magic>.<pid>.<process start>.<pid namespace>.<uid>.<device>.<inode>.<error>.<lost>.<state>.
//   <supervisor pid>.<start>.<boot>/<trace directory>//<program>
//
// The numbers in hexadecimal, as in RingHeader and Account.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/wire/container.hpp"
#include "core/wire/run.hpp"

namespace omnio::wire {

// Programs that ran without the tracer although their parent had it: the file <host>.untraced of
// the trace directory has a record for each start,
//
//   <reason, one byte> <path of the program> NUL
//
// appended in one write. Where that cannot be done, a symbolic link <host>.<pid>.<ns>.untraced has
// the reason and the path as its target.
inline constexpr const char* kUntracedSuffix = ".untraced";

enum class UntracedReason : char {
  kNone = 0,
  kStatic = 's',     // statically linked
  kOtherWord = 'w',  // of 32 bits
  kSetUser = 'u',    // set-user-id, set-group-id or with capabilities: the loader preloads nothing
  kEnvironment = 'e',  // its environment lacks LD_PRELOAD or OMNIO_DIR
  kNoLibrary = 'l',    // the tracer's library is not there where it runs (another root, say)
};

constexpr std::string_view describe(UntracedReason reason) {
  switch (reason) {
    case UntracedReason::kStatic:
      return "it is statically linked";
    case UntracedReason::kOtherWord:
      return "it is a 32-bit program";
    case UntracedReason::kSetUser:
      return "it is set-user-id or has capabilities, and the loader preloads nothing then";
    case UntracedReason::kEnvironment:
      return "it was started without the tracer's environment (LD_PRELOAD, OMNIO_DIR)";
    case UntracedReason::kNoLibrary:
      return "the tracer's library cannot be found where it ran";
    case UntracedReason::kNone:
      break;
  }
  return "for an unknown reason";
}

// Children and threads of processes, in the file <host>.processes of the trace directory, a line
// for each start and each wait that found a child ended:
//
//   <kind> <pid> <parent> <tid> <child> <begin> <end>
//
// `parent` is 0 where it was not asked for, `tid` where the thread is not known, `child` where the
// C library does not say which one it was; of a thread it is what pthread_self() returns in it.
// Times are in ns of CLOCK_MONOTONIC.
inline constexpr const char* kProcessesSuffix = ".processes";
// A line with its newline: a word and six numbers.
inline constexpr std::size_t kMaxChildNote = 160;

// In the same file, lines that tell what processes moved, by the kernel's account
// (moved_bytes.hpp):
//
//   moved <parent> <child> <read> <written> <signal> <program>
//                                              of a child, its own waited-for children included,
//                                              when its parent had waited for it; parent 0:
//                                              `omnio trace`; signal: that ended it, or 0; program:
//                                              where it is known
//   quiet <pid> <read> <written> <is traced>   of a process that left no log although it ended as
//                                              it should: it was a shell or a launcher (0), or
//                                              moved nothing by files that are recorded (1)
//
// Only of processes that moved as much:
inline constexpr const char* kMovedWord = "moved";
inline constexpr const char* kQuietWord = "quiet";
inline constexpr std::uint64_t kWorthNoting = std::uint64_t{1} << 20;

enum class ChildNote : std::uint8_t {
  kFork,    // the child began between begin and end
  kExec,    // the same, told by the child itself before it became another program
  kWait,    // the child had ended at `end`; the thread began to wait at `begin`
  kRun,     // both: system()
  kCreate,  // the thread `child` began between begin and end
  kJoin,    // the thread `child` had ended at `end`; this one began to wait at `begin`
  kSelf,    // this thread is `child`
};

constexpr std::string_view describe(ChildNote kind) {
  switch (kind) {
    case ChildNote::kFork:
      return "fork";
    case ChildNote::kExec:
      return "exec";
    case ChildNote::kWait:
      return "wait";
    case ChildNote::kRun:
      return "run";
    case ChildNote::kCreate:
      return "create";
    case ChildNote::kJoin:
      return "join";
    case ChildNote::kSelf:
      break;
  }
  return "self";
}

inline constexpr std::uint64_t kLostNoteMagic = 0x10571;
inline constexpr int kLostNoteNumbers = 13;
inline constexpr std::string_view kLostNoteDivider = "//";
// Links are limited to this by the kernel, with the NUL behind.
inline constexpr std::size_t kMaxLostNote = 4096;

struct LostNote {
  std::uint64_t pid = 0;
  std::uint64_t process_start = 0;
  std::uint64_t pid_namespace = 0;
  std::uint64_t uid = 0;
  std::uint64_t directory_device = 0;
  std::uint64_t directory_inode = 0;
  std::uint64_t error = 0;
  std::uint64_t events_lost = 0;
  std::uint64_t state = 0;  // AccountState
  Supervisor supervisor;
  std::string_view directory{};
  std::string_view program{};
};

// False when the text is not such a note. The views are of `text`.
constexpr bool parseLostNote(std::string_view text, LostNote& note) {
  std::uint64_t numbers[kLostNoteNumbers] = {};
  for (int i = 0; i < kLostNoteNumbers; ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) return false;
      text.remove_prefix(1);
    }
    if (!takeHexNumber(text, 16, numbers[i])) return false;
  }
  if (numbers[0] != kLostNoteMagic || !text.starts_with('/')) return false;
  note = {.pid = numbers[1],
          .process_start = numbers[2],
          .pid_namespace = numbers[3],
          .uid = numbers[4],
          .directory_device = numbers[5],
          .directory_inode = numbers[6],
          .error = numbers[7],
          .events_lost = numbers[8],
          .state = numbers[9],
          .supervisor = {.pid = static_cast<std::uint32_t>(numbers[10]),
                         .start = numbers[11],
                         .boot = numbers[12]}};
  const std::size_t divider = text.find(kLostNoteDivider);
  note.directory = text.substr(0, divider);
  if (divider != std::string_view::npos) {
    note.program = text.substr(divider + kLostNoteDivider.size());
  }
  return true;
}

}  // namespace omnio::wire
