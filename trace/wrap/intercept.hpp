// What every wrapper does around the real call. The wrapper of a regular row is no more than a
// call of intercept(); custom ones bring their own way to the real function (interceptWith).
//
// All that looks at memory the application passed (paths, iovecs, strings) happens after the real
// call, and not when that failed with EFAULT: what would have been an error must not become a
// crash. It also keeps the tracer's work out of the measured time.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>

#include <cstring>
#include <tuple>
#include <type_traits>

#include "core/wire/encode.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/path.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/wrap/real_symbol.hpp"

namespace omnio::trace {

// What an event refers to besides numbers. Which members count follows from the row.
struct Subject {
  Entry handle;              // the call works on it
  Entry born;                // the handle that the call made
  wire::PathParts path;      // kPath, kPathTemplate
  wire::PathParts path_new;  // kPathNew, kLinkText
  const char* open_mode = nullptr;
  const iovec* pieces = nullptr;
  int piece_count = 0;
  // In place of pieces: varints that are ready (core/wire/mpi_requests.hpp).
  const char* list = nullptr;
  std::size_t list_bytes = 0;
};

// Whether this thread may record now; false in a vfork child and in the depths of signal handlers.
bool mayRecordSlow(Thread& self);
[[gnu::always_inline]] inline bool mayRecord(Thread& self) {
  if (self.level == 0 && !self.vforked) [[likely]]
    return true;
  return mayRecordSlow(self);
}

// An event that could not be recorded is lost, unless none is to be recorded now.
void countUnrecorded();

// Stores the handle's definition into the open chunk; the ring's reserve has room for it.
void introduce(Ring& ring, Entry entry);
// Whether the text can be read. For calls that failed: many have a reason to fail that comes before
// they look at the path, and what is an error there must not become a crash here.
bool isReadable(const char* text);
// The same of `bytes` bytes.
bool isReadableMemory(const void* memory, std::size_t bytes);
// Whether an error comes of looking at the path, which is then readable for sure.
constexpr bool hasReadPath(int error) {
  return error == 0 || error == ENOENT || error == EEXIST || error == ENOTDIR || error == EISDIR;
}
// After an event at the end of the process: nothing would write it out later.
void drainAfterEvent(Thread& self, unsigned lane);
char* putPieces(char* out, const Subject& subject);

inline int descriptorOf(int fd) { return fd; }
int descriptorOf(FILE* stream);
template <typename T>
int descriptorOf(T) = delete;

template <typename T>
constexpr std::int64_t asNumber(T value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return 0;
  }
}

// Which text of the subject an argument is.
enum class TextPart : std::uint8_t { kNone, kPath, kPathNew, kOpenMode };
constexpr TextPart textPartOf(calls::Role role) {
  switch (role) {
    case calls::Role::kPath:
    case calls::Role::kPathTemplate:
      return TextPart::kPath;
    case calls::Role::kPathNew:
    case calls::Role::kLinkText:
      return TextPart::kPathNew;
    case calls::Role::kOpenMode:
      return TextPart::kOpenMode;
    default:
      return TextPart::kNone;
  }
}
static_assert(
    [] {
      for (const calls::ArgumentForm& form : calls::kArguments) {
        const bool is_text = form.field == wire::Field::kText;
        if (is_text != (textPartOf(form.role) != TextPart::kNone)) return false;
      }
      return true;
    }(),
    "each role that is recorded as a text is a part of the subject");

template <CallId kCall>
constexpr std::size_t roomFor() {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  std::size_t room = wire::kMaxFixedRecord;
  for (int i = 0; i < row.argument_count; ++i) {
    if (wire::fieldOf(row.arguments[i]) == wire::Field::kText) {
      room += wire::kMaxDefinition + wire::kMaxText;
    }
  }
  if (row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream) {
    room += 3 * wire::kMaxDefinition + wire::kMaxText + 1;  // as in introduce()
  }
  return room;
}

// Writes the event behind those of the ring, which has room for it. `numbers` are the
// arguments by index, as numbers; `request` the bytes asked for; `as` is a call with the same
// roles, when one body serves several. Out of line for all but the commonest rows would cost a
// quarter of the whole, so it is inlined everywhere.
template <CallId kCall>
[[gnu::always_inline]] inline void append(Ring& ring, Thread& self, wire::EventTimes times,
                                          bool failed, wire::Arguments<kCall>& numbers,
                                          std::uint64_t request, std::int64_t result,
                                          const Subject& subject, CallId as = kCall) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr wire::Plan plan = wire::planOf(kCall);
  if constexpr (plan.handle >= 0) {
    const std::uint8_t slot = wire::handleSlot(subject.handle.handle());
    if (ring.prediction.handles[slot].handle != subject.handle.handle()) [[unlikely]] {
      introduce(ring, subject.handle);
    }
    numbers[plan.handle] = slot;
  }
  char* out = ring.cursor;
  if constexpr (row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream) {
    if (!failed) {
      const std::uint8_t slot = wire::handleSlot(subject.born.handle());
      if (ring.prediction.handles[slot].handle != subject.born.handle()) {
        // Two handles of one event in one slot: the new one would take the place of the one the
        // event is about. It is defined with its first use instead.
        if (plan.handle < 0 || slot != wire::handleSlot(subject.handle.handle())) {
          defineHandle(ring, out, infoOf(subject.born), subject.born.handle());
          result = slot + 1;
        } else {
          result = 0;
        }
      } else {
        result = slot + 1;
      }
    }
  }
  // After the handle, whose path may be another text in the same slot.
#pragma GCC unroll 16
  for (int i = 0; i < row.argument_count; ++i) {
    switch (textPartOf(row.arguments[i])) {
      case TextPart::kPath:
        numbers[i] =
            subject.path.name.data() == nullptr ? 0 : defineText(ring, out, subject.path) + 1;
        break;
      case TextPart::kPathNew:
        numbers[i] = subject.path_new.name.data() == nullptr
                         ? 0
                         : defineText(ring, out, subject.path_new, TextUse::kPathNew) + 1;
        break;
      case TextPart::kOpenMode:
        numbers[i] = subject.open_mode == nullptr
                         ? 0
                         : defineText(ring, out, {.directory = {}, .name = subject.open_mode},
                                      TextUse::kMode) +
                               1;
        break;
      case TextPart::kNone:
        break;
    }
  }
  out = wire::encodeEvent<kCall>(out, ring.prediction, times, self.depth, failed, numbers, request,
                                 result, as);
  if constexpr (plan.pieces >= 0) out = putPieces(out, subject);
  publish(ring, out);
}

// The same into the calling thread's ring, which is found, made or drained as needed.
template <CallId kCall>
[[gnu::always_inline]] inline void record(Thread& self, wire::EventTimes times, bool failed,
                                          wire::Arguments<kCall>& numbers, std::uint64_t request,
                                          std::int64_t result, const Subject& subject,
                                          CallId as = kCall) {
  constexpr wire::Plan plan = wire::planOf(kCall);
  const unsigned lane = self.level;
  self.frames[lane] = stackPointer();
  // A handler that jumps looks at the frame of each level there is.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++self.level;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  constexpr std::size_t kRoom = roomFor<kCall>();
  std::size_t need = kRoom;
  if constexpr (plan.pieces >= 0) {
    need += static_cast<std::size_t>(subject.piece_count) * wire::kMaxVarint + subject.list_bytes;
  }
  Ring* ring = self.lanes[lane].ring;
  if (ring == nullptr || self.epoch != process.epoch_page->load(std::memory_order_relaxed) ||
      !ring->hasRoom(need)) [[unlikely]] {
    ring = makeRoom(self, lane, need);
  }
  if (ring != nullptr) [[likely]] {
    append<kCall>(*ring, self, times, failed, numbers, request, result, subject, as);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --self.level;
  if (process.draining_each.load(std::memory_order_relaxed)) [[unlikely]] {
    drainAfterEvent(self, lane);
  }
}

// Whether the call failed by what it returned; errno is then the reason, unless it is the result.
template <calls::Result kResult, typename R>
constexpr bool hasFailed(R result) {
  using calls::Result;
  if constexpr (kResult == Result::kNewStream || kResult == Result::kLine) {
    return result == nullptr;
  } else if constexpr (kResult == Result::kZero || kResult == Result::kErrorNumber ||
                       kResult == Result::kMpi) {
    return result != 0;
  } else if constexpr (kResult == Result::kItems) {
    return false;
  } else {
    return result < 0;
  }
}

// Calls `real` with the arguments and records the event of row kCall.
template <CallId kCall, typename R, typename Real, typename... A>
[[gnu::always_inline]] inline R interceptWith(Real real, A... a) {
  using calls::Class;
  using calls::Result;
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr wire::Plan plan = wire::planOf(kCall);
  static_assert(sizeof...(A) == row.argument_count, "the row names another number of arguments");
  const std::tuple<A...> arguments(a...);
  Thread& self = thread;

  if constexpr (row.call_class == Class::kClose && plan.handle >= 0) {
    if (isOwnDescriptor(descriptorOf(std::get<plan.handle>(arguments)))) [[unlikely]] {
      errno = EBADF;  // the application never opened it
      return static_cast<R>(-1);
    }
  }
  if constexpr (calls::has(row, Role::kFdNew)) {
    if (isOwnDescriptor(std::get<calls::indexOf(row, Role::kFdNew)>(arguments))) [[unlikely]] {
      // The child of a vfork has descriptors of its own, but its parent's memory.
      if (!isVforkChild()) moveOwnDescriptor();
    }
  }
  if (!mayRecord(self)) [[unlikely]]
    return real(a...);
  if constexpr (plan.handle < 0) {
    // Before the clock is read: which clock that is, is known only once the tracer has started.
    if (!isActive()) return real(a...);
  }

  Subject subject;
  if constexpr (plan.handle >= 0) {
    const int fd = [&] {
      const auto value = std::get<plan.handle>(arguments);
      if constexpr (std::is_pointer_v<decltype(value)>) {
        return value == nullptr ? -1 : descriptorOf(value);
      } else {
        return descriptorOf(value);
      }
    }();
    subject.handle = find(fd);
    if (!subject.handle.isTraced()) [[unlikely]] {
      if constexpr (row.call_class == Class::kClose) takeOut(fd);
      if constexpr (calls::has(row, Role::kFdNew)) {
        const R result = real(a...);
        // What the number stood for is closed now, and the new owner is looked at when it is used.
        if (result >= 0) releaseHandle(takeOut(static_cast<int>(result)));
        return result;
      } else {
        return real(a...);
      }
    }
    if constexpr (row.call_class == Class::kClose) subject.handle = takeOut(fd);
  }

  [[maybe_unused]] int errno_before = 0;
  if constexpr (row.result == Result::kChar || row.result == Result::kLine) errno_before = errno;
  wire::EventTimes times;
  times.start = ticks();
  std::conditional_t<std::is_void_v<R>, int, R> result{};
  if constexpr (std::is_void_v<R>) {
    real(a...);
  } else {
    result = real(a...);
  }
  times.end = ticks();
  if (times.end < times.start) times.end = times.start;
  const bool failed = row.result == Result::kNone ? false : hasFailed<row.result>(result);
  const int error = failed ? errno : 0;
  const bool readable = error != EFAULT;

  bool is_recorded = true;
  if constexpr (calls::has(row, Role::kPath) || calls::has(row, Role::kPathTemplate)) {
    constexpr int at = calls::has(row, Role::kPath) ? calls::indexOf(row, Role::kPath)
                                                    : calls::indexOf(row, Role::kPathTemplate);
    int directory = AT_FDCWD;
    if constexpr (calls::has(row, Role::kDirFd)) {
      directory = std::get<calls::indexOf(row, Role::kDirFd)>(arguments);
    }
    const auto can_read = [readable, error](const char* text) {
      return text != nullptr && (hasReadPath(error) || (readable && isReadable(text)));
    };
    const char* const name = std::get<at>(arguments);
    if (can_read(name)) {
      subject.path = resolvePath(directory, name);
      is_recorded = isRecorded(subject.path);
      if constexpr (calls::has(row, Role::kLinkText)) {
        const char* const words = std::get<calls::indexOf(row, Role::kLinkText)>(arguments);
        if (can_read(words)) subject.path_new = {.directory = {}, .name = words};
      }
      if constexpr (calls::has(row, Role::kPathNew)) {
        int directory_new = AT_FDCWD;
        if constexpr (calls::has(row, Role::kDirFdNew)) {
          directory_new = std::get<calls::indexOf(row, Role::kDirFdNew)>(arguments);
        }
        const char* const name_new = std::get<calls::indexOf(row, Role::kPathNew)>(arguments);
        if (can_read(name_new)) subject.path_new = resolvePath(directory_new, name_new);
        is_recorded = is_recorded || isRecorded(subject.path_new);
      }
    } else {
      is_recorded = readable;
    }
    if constexpr (row.result == Result::kNewFd || row.result == Result::kNewStream) {
      if (!failed) {
        const int fd = descriptorOf(result);
        if (is_recorded) {
          std::uint32_t flags = 0;
          if constexpr (calls::has(row, Role::kFlags)) {
            flags =
                static_cast<std::uint32_t>(std::get<calls::indexOf(row, Role::kFlags)>(arguments));
          }
          subject.born = openHandle(fd, subject.path, flags);
          is_recorded = subject.born.isTraced();
        } else {
          markNotTraced(fd);
        }
      }
    }
  } else if constexpr (row.result == Result::kNewStream && plan.handle >= 0) {
    subject.born = subject.handle;  // fdopen: the same open file
  } else if constexpr (row.result == Result::kNewFd && plan.handle >= 0) {
    if (!failed) {
      subject.born = result == std::get<plan.handle>(arguments)  // dup2 of a number to itself
                         ? subject.handle
                         : duplicateHandle(result, subject.handle);
      is_recorded = subject.born.isTraced();
    }
  } else if constexpr (row.result == Result::kNewStream) {
    subject.born = failed ? Entry() : adopt(descriptorOf(result));
    is_recorded = subject.born.isTraced();
  }

  if (is_recorded) [[likely]] {
    wire::Arguments<kCall> numbers{};
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      ((numbers[i] = asNumber(std::get<i>(arguments))), ...);
    }
    (std::make_index_sequence<sizeof...(A)>());
    std::uint64_t request = 0;
    if constexpr (calls::has(row, Role::kTextOut)) {
      constexpr int at = calls::indexOf(row, Role::kTextOut);
      if (readable) numbers[at] = static_cast<std::int64_t>(strlen(std::get<at>(arguments)));
    }
    if constexpr (plan.size >= 0) request = static_cast<std::uint64_t>(numbers[plan.size]);
    if constexpr (calls::has(row, Role::kOpenMode)) {
      subject.open_mode = std::get<calls::indexOf(row, Role::kOpenMode)>(arguments);
    }
    if constexpr (plan.pieces >= 0) {
      if (!failed) {
        subject.pieces = std::get<plan.pieces>(arguments);
        subject.piece_count =
            static_cast<int>(std::get<calls::indexOf(row, Role::kIovCount)>(arguments));
      }
      numbers[plan.pieces] = subject.piece_count;
      for (int i = 0; i < subject.piece_count; ++i) request += subject.pieces[i].iov_len;
    }
    std::int64_t value = 0;
    if (failed) {
      if constexpr (row.result == Result::kErrorNumber || row.result == Result::kMpi) {
        value = result;
      } else if constexpr (row.result == Result::kChar || row.result == Result::kLine) {
        value = error != errno_before ? error : 0;  // the end of a file is no error
      } else {
        value = error;
      }
    } else if constexpr (row.result == Result::kLine) {
      value = static_cast<std::int64_t>(strlen(result));
    } else {
      value = asNumber(result);
    }
    record<kCall>(self, times, failed, numbers, request, value, subject);
  }
  if constexpr (row.call_class == Class::kClose && plan.handle >= 0) releaseHandle(subject.handle);
  if (failed) errno = error;
  if constexpr (!std::is_void_v<R>) return result;
}

// The whole body of a regular row's wrapper.
template <CallId kCall, typename R, typename... A>
[[gnu::always_inline]] inline R intercept(A... a) {
  return interceptWith<kCall, R>(realFunction<kCall, R(A...)>(), a...);
}

}  // namespace omnio::trace
