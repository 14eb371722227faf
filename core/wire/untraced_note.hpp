// Programs that ran without the tracer although their parent had it: the file <host>.untraced of
// the trace directory has a record for each start,
//
//   <reason, one byte> <path of the program> NUL
//
// appended in one write. Where that cannot be done, a symbolic link <host>.<pid>.<ns>.untraced has
// the reason and the path as its target.
#pragma once

#include <string_view>

namespace omnio::wire {

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

}  // namespace omnio::wire
