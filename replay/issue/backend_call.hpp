// The parts that bodies of calls in backend*.cpp share.
#pragma once

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "replay/issue/backend.hpp"

namespace omnio::replay {

// The mode of a stream, ended by a NUL, and whether it is as recorded: without m, which maps a file
// that is only read.
struct StreamMode {
  std::array<char, model::kLongestMode + 1> text{};
  bool is_changed = false;

  explicit StreamMode(std::string_view recorded) {
    recorded = recorded.substr(0, model::kLongestMode);
    std::copy(recorded.begin(), recorded.end(), text.begin());
    for (char& c : text) {
      if (c == '\0' || c == ',') break;  // ,ccs=...
      if (c != 'm') continue;
      c = 'b';  // says nothing, and leaves what follows where it is
      is_changed = true;
    }
  }
};

// One call being made.
struct Call {
  const Instruction& instruction;
  IssueContext& context;
  void* symbol = nullptr;
  FILE* on_stream = nullptr;  // of calls on streams: stays open until the call is done
  std::optional<StreamMode> mode{};

  const Op& op() const { return instruction.op; }
  std::int64_t argument(int index) const {
    return index < 0 ? 0 : instruction.arguments[static_cast<std::size_t>(index)];
  }
  int fd() const { return context.descriptors.fd(op().fd); }
  FILE* stream() const { return on_stream; }
  const char* path() const { return context.names.path(); }
  int directory() const { return context.names.directory(); }
};

// The argument of a call of this row that has the role; 0 where none has.
template <calls::CallId kCall>
std::int64_t argumentOf(const Call& call, calls::Role role) {
  return call.argument(calls::indexOf(calls::rowOf(kCall), role));
}

Outcome notIssued();

// /dev/null, open for writing. findSymbols() opens it, before any thread is fenced in; -1: it
// cannot be had.
int nullDevice();

// Flags of an open: it must not cut off what write_overwrite has put there. One that failed is to
// fail again.
inline std::int64_t openFlags(const Call& call, std::int64_t recorded) {
  const bool leaves_content = call.context.write_overwrite && (recorded & O_CREAT) != 0 &&
                              (call.op().flags & kOpFailed) == 0;
  return leaves_content ? recorded & ~(O_EXCL | O_TRUNC) : recorded;
}

// Makes content for the call to write: unlike any before, and with lines where the file has them.
std::span<char> contentFor(Call& call, std::size_t bytes, bool as_text = false);

// The template that mkstemp or mkdtemp made the name from; `suffix` bytes of it were fixed.
std::string templateFor(const char* path, std::int64_t suffix);

// The clock before and behind calls that are timed one by one. A call that is not yet due begins
// when it is: its arguments are made before that, so that making them delays nothing.
inline std::int64_t startOf(const Call& call) {
  if (!call.context.is_timed) return 0;
  std::int64_t now = nowNs();
  while (now < call.context.due_ns) now = nowNs();
  return now;
}
inline std::int64_t endOf(const Call& call) { return call.context.is_timed ? nowNs() : 0; }

// Runs `real` between two readings of the clock and says what came of it. What it returns is judged
// as the tracer does (trace/wrap/intercept.hpp): both have to mean the same by failed.
template <calls::Result kResult, typename Real>
Outcome timed(const Call& call, Real real) {
  using calls::Result;
  Outcome outcome;
  errno = 0;
  using R = decltype(real());
  if constexpr (std::is_void_v<R>) {
    outcome.start_ns = startOf(call);
    real();
    outcome.end_ns = endOf(call);
  } else {
    outcome.start_ns = startOf(call);
    const R value = real();
    outcome.end_ns = endOf(call);
    const int error = errno;
    if constexpr (std::is_pointer_v<R>) {
      outcome.failed = value == nullptr;
    } else if constexpr (kResult == Result::kZero || kResult == Result::kErrorNumber) {
      outcome.failed = value != 0;
    } else if constexpr (kResult != Result::kItems) {
      outcome.failed = value < 0;
    }
    if (outcome.failed) {
      if constexpr (kResult == Result::kErrorNumber) {
        outcome.result = static_cast<std::int64_t>(value);
      } else {
        outcome.result = error;
      }
    } else if constexpr (!std::is_pointer_v<R>) {
      outcome.result = static_cast<std::int64_t>(value);
    }
  }
  return outcome;
}

// After a call that makes a descriptor.
void noteOpened(Call& call, const Outcome& outcome, int fd, FILE* stream, bool direct);
// After one that closes; a stream's descriptor is gone whatever fclose says.
void noteClosed(Call& call, const Outcome& outcome, bool is_stream);

// Bodies of custom rows, and of the regular ones below, whose arguments no role describes. A custom
// row without a body does not link.
template <calls::CallId kCall>
Outcome byHand(Call&) = delete;

#define OMNIO_BY_HAND(NAME) \
  template <>               \
  Outcome byHand<calls::CallId::NAME>(Call & call)

#define OMNIO_DECLARE_kCustom(NAME) OMNIO_BY_HAND(NAME);
#define OMNIO_DECLARE_kRegular(NAME)
#define OMNIO_CALL(BODY, NUMBER, NAME, ...) OMNIO_DECLARE_##BODY(NAME)
#define OMNIO_PART(NUMBER, NAME, ...) OMNIO_BY_HAND(NAME);
#include "core/calls/posix.def"
#include "core/calls/stdio.def"
#undef OMNIO_PART
#undef OMNIO_CALL

OMNIO_BY_HAND(copy_file_range);
OMNIO_BY_HAND(flock);
OMNIO_BY_HAND(lockf);
OMNIO_BY_HAND(lockf64);
OMNIO_BY_HAND(readlink);
OMNIO_BY_HAND(__readlink_chk);
OMNIO_BY_HAND(readlinkat);
OMNIO_BY_HAND(__readlinkat_chk);
OMNIO_BY_HAND(mkdtemp);
OMNIO_BY_HAND(mkfifo);
OMNIO_BY_HAND(mkfifoat);
OMNIO_BY_HAND(mknod);
OMNIO_BY_HAND(mknodat);
OMNIO_BY_HAND(__xmknod);
OMNIO_BY_HAND(__xmknodat);
OMNIO_BY_HAND(tmpfile);
OMNIO_BY_HAND(tmpfile64);
OMNIO_BY_HAND(vfprintf);
OMNIO_BY_HAND(inlined_getc);
OMNIO_BY_HAND(inlined_putc);
OMNIO_BY_HAND(__vfprintf_chk);
OMNIO_BY_HAND(vdprintf);
OMNIO_BY_HAND(__vdprintf_chk);
OMNIO_BY_HAND(pclose);
OMNIO_BY_HAND(setxattr);
OMNIO_BY_HAND(lsetxattr);
OMNIO_BY_HAND(fsetxattr);
OMNIO_BY_HAND(getxattr);
OMNIO_BY_HAND(lgetxattr);
OMNIO_BY_HAND(fgetxattr);
OMNIO_BY_HAND(listxattr);
OMNIO_BY_HAND(llistxattr);
OMNIO_BY_HAND(flistxattr);
OMNIO_BY_HAND(removexattr);
OMNIO_BY_HAND(lremovexattr);
OMNIO_BY_HAND(fremovexattr);

// Whether a body is declared above.
template <calls::CallId kCall>
concept ByHand = requires(Call& call) {
  byHand<kCall>(call);
};

}  // namespace omnio::replay
