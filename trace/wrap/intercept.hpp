// The work of every wrapper around the real call. The wrapper of a regular row only calls
// intercept(); custom ones bring their own way to the real function (interceptWith).
//
// All that looks at memory the application passed (paths, iovecs, strings) happens after the real
// call, and not when that failed with EFAULT: what would have been an error must not become a
// crash. It also keeps the tracer's work out of the measured time.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <sys/uio.h>

#include <cstring>
#include <tuple>
#include <type_traits>

#include "core/wire/encode.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/ring.hpp"
#include "trace/runtime/stack/call_stack.hpp"
#include "trace/wrap/inlined_streams.hpp"
#include "trace/wrap/real_symbol.hpp"
#include "trace/wrap/think_sample.hpp"

namespace omnio::trace {

// The things that an event refers to besides numbers. The row decides which members count.
struct Subject {
  Entry handle;              // the call works on it
  Entry born;                // the handle that the call made
  wire::PathParts path;      // kPath, kPathTemplate
  wire::PathParts path_new;  // kPathNew, kLinkText
  wire::PathParts word;      // kOpenMode, kAttribute
  const iovec* pieces = nullptr;
  int piece_count = 0;
  std::size_t stream_buffer = 0;  // of a call on a stream that may make it read anew: how much
  // In place of pieces: varints that are ready (core/wire/mpi_requests.hpp).
  const char* list = nullptr;
  std::size_t list_bytes = 0;

  const wire::PathParts& text(TextUse use) const {
    return use == TextUse::kPath ? path : use == TextUse::kPathNew ? path_new : word;
  }
};

// Whether this thread may record now; false in a vfork child and in the depths of signal handlers.
bool mayRecordSlow(Thread& self);
[[gnu::always_inline]] inline bool mayRecord(Thread& self) {
  if (self.level == 0 && !self.vforked) [[likely]]
    return true;
  return mayRecordSlow(self);
}

// The calling thread's ring and the process's log, as if it recorded something now. For a thread
// that may record.
void makeLogAndRing();

// Stores the handle's definition into the open chunk; the ring's reserve has room for it.
void introduce(Ring& ring, Entry entry);
// Whether the text can be read. For calls that failed: many have a reason to fail that comes before
// they look at the path, and what is an error there must not become a crash here.
bool isReadable(const char* text);
// The same of `bytes` bytes.
bool isReadableMemory(const void* memory, std::size_t bytes);
// Whether an error comes of looking at the path, which is then readable for sure.
constexpr bool hasReadPath(int error) {
  return error == 0 || error == ENOENT || error == EEXIST || error == ENOTDIR || error == EISDIR ||
         error == ENODATA;
}
// After an event at the end of the process: nothing would write it out later.
void drainAfterEvent(Thread& self, unsigned lane);
char* putPieces(char* out, const Subject& subject);

// Whether an open with these flags has a mode.
inline bool takesMode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

inline int descriptorOf(int fd) { return fd; }
int descriptorOf(FILE* stream);
template <typename T>
int descriptorOf(T) = delete;

// How many bytes fgets has put into its buffer, which its result does not say: a NUL may be one of
// them.
struct LineRead {
  std::int64_t bytes = 0;
  bool is_exact = true;  // false: at least so many
};
// `room` is what fgets was given as the size of `line`. `fd` is the stream's descriptor where the
// file may be looked at, else -1.
LineRead lineRead(const char* line, std::int64_t room, FILE* stream, int fd);

// Why a read of the stream failed that left this errno: 0 at the end of the file.
int streamError(FILE* stream, int error, int errno_before);

template <typename T>
constexpr std::int64_t asNumber(T value) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::int64_t>(value);
  } else {
    return 0;
  }
}

// Returns the text of the subject that an argument is.
constexpr TextUse textUseOf(calls::Role role) {
  switch (role) {
    case calls::Role::kPath:
    case calls::Role::kPathTemplate:
      return TextUse::kPath;
    case calls::Role::kPathNew:
    case calls::Role::kLinkText:
      return TextUse::kPathNew;
    case calls::Role::kOpenMode:
    case calls::Role::kAttribute:
      return TextUse::kWord;
    default:
      return TextUse::kNone;
  }
}
static_assert(
    [] {
      for (const calls::ArgumentForm& form : calls::kArguments) {
        const bool is_text = form.field == wire::Field::kText;
        if (is_text != (textUseOf(form.role) != TextUse::kNone)) return false;
      }
      return true;
    }(),
    "each role that is recorded as a text is a part of the subject");

constexpr bool makesHandle(const calls::Row& row) {
  return row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream;
}

template <CallId kCall>
constexpr std::size_t roomFor() {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  std::size_t room = wire::kMaxFixedRecord;
  for (int i = 0; i < row.argument_count; ++i) {
    if (wire::fieldOf(row.arguments[i]) == wire::Field::kText) {
      room += wire::kMaxDefinition + wire::kMaxText;
    }
  }
  if (makesHandle(row)) {
    room += 3 * wire::kMaxDefinition + wire::kMaxText + 1;  // as in introduce()
  }
  return room;
}

// Notes that the recorder has worked since the end of the event that it has just recorded (ticks),
// unless that took no time. What was noted before is not noted again. The next event brings it.
inline void noteOwnWork(Thread& self, std::uint64_t since) {
  constexpr std::uint64_t kWorthTelling = 2'000;  // ticks: some 0.7 us, 2 where ticks are ns
  const std::uint64_t now = ticks();
  if (self.level != 0) return;  // a signal handler's events have a ring of their own
  if (since < self.own_work_until) since = self.own_work_until;
  if (now < since + kWorthTelling) return;
  self.own_work += now - since;
  self.own_work_until = now;
}
// Puts that, and what was seen of the thread's thinking, before the event that comes next; the
// ring's reserve has room for it.
void putOwnNotes(Ring& ring, Thread& self);

// Whether the call failed by what it returned; errno is then the reason, unless it is the result.
template <calls::Result kResult, typename R>
constexpr bool hasFailed(R result) {
  using calls::Result;
  if constexpr (kResult == Result::kNewStream || kResult == Result::kLine ||
                kResult == Result::kTemplate) {
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

// Whether calls of the row read bytes from files or streams, or write them, as the kernel counts
// it.
template <CallId kCall>
constexpr bool readsBytes() {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  return calls::isIo(row) &&
         (row.call_class == calls::Class::kRead || calls::has(row, calls::Role::kFdSource));
}
template <CallId kCall>
constexpr bool writesBytes() {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  return calls::isIo(row) && row.call_class == calls::Class::kWrite;
}
template <CallId kCall>
constexpr bool movesBytes() {
  return readsBytes<kCall>() || writesBytes<kCall>();
}

// Whether the call gives up what the C library has read ahead (a seek, a flush, a close).
template <CallId kCall>
constexpr bool turnsStream() {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  return row.api == calls::Api::kStdio && calls::has(row, calls::Role::kStream) &&
         !movesBytes<kCall>();
}

// What a call that has succeeded moved, by its result as it is recorded; `numbers` are its
// arguments.
template <CallId kCall>
[[gnu::always_inline]] inline std::uint64_t movedBy(const wire::Arguments<kCall>& numbers,
                                                    std::int64_t result) {
  using calls::Result;
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  if constexpr (row.result == Result::kItems) {
    return static_cast<std::uint64_t>(result) *
           static_cast<std::uint64_t>(numbers[calls::indexOf(row, Role::kItemSize)]);
  } else if constexpr (row.result == Result::kText) {
    return static_cast<std::uint64_t>(numbers[calls::indexOf(row, Role::kTextOut)]);
  } else if constexpr (row.result == Result::kChar) {
    return 1;
  } else if constexpr (row.result == Result::kNumber) {
    return 0;  // how much a scan read is not known
  } else if constexpr (row.result == Result::kLine) {
    return static_cast<std::uint64_t>(wire::lineBytes(result));
  } else {
    return static_cast<std::uint64_t>(result);
  }
}

[[gnu::always_inline]] inline void countLeftOut(Filter filter, std::uint64_t read,
                                                std::uint64_t written) {
  if (filter >= Filter::kFirstDefault) [[unlikely]]
    countLeftOutBy(filter, read, written);
}

// Takes what a call that is not recorded moved into the process's account; `filter` is what leaves
// its file out.
template <CallId kCall>
[[gnu::always_inline]] inline void notePassed(std::uint64_t moved, Filter filter = Filter::kOther) {
  const std::uint64_t read = readsBytes<kCall>() ? moved : 0;
  const std::uint64_t written = writesBytes<kCall>() ? moved : 0;
  countPassed(read, written);
  countLeftOut(filter, read, written);
}

// Adds to a counter that no other thread writes.
inline void addTo(std::atomic<std::uint64_t>& counter, std::uint64_t value) {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

// Takes a call that was recorded into the ring's account of bytes.
template <CallId kCall>
[[gnu::always_inline]] inline void countRecorded(Ring& ring, bool failed,
                                                 const wire::Arguments<kCall>& numbers,
                                                 std::int64_t result, const Subject& subject) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  if constexpr (movesBytes<kCall>()) {
    if (failed) return;
    if constexpr (row.result == calls::Result::kNumber) addTo(ring.unsized_reads, 1);
    if constexpr (row.result == calls::Result::kLine) {
      if (result < 0) addTo(ring.unsized_reads, 1);
    }
    const std::uint64_t moved = movedBy<kCall>(numbers, result);
    if constexpr (readsBytes<kCall>()) addTo(ring.read_bytes, moved);
    if constexpr (writesBytes<kCall>()) addTo(ring.written_bytes, moved);
    if constexpr (calls::does(calls::rowOf(kCall), calls::Effect::kIsNotCounted)) {
      addTo(readsBytes<kCall>() ? ring.uncounted_read : ring.uncounted_written, moved);
    }
  } else if constexpr (turnsStream<kCall>()) {
    addTo(ring.turned_bytes, subject.stream_buffer);
  }
}

// The same of a call that is passed on before anything is known of it but its arguments.
template <CallId kCall, typename R, typename... A>
[[gnu::always_inline]] inline void countUnrecorded(R result, const std::tuple<A...>& arguments,
                                                   Filter filter) {
  using calls::Role;
  if constexpr (movesBytes<kCall>()) {
    constexpr const calls::Row& row = calls::rowOf(kCall);
    if (hasFailed<row.result>(result)) {
      countLeftOut(filter, 0, 0);
      return;
    }
    wire::Arguments<kCall> numbers{};
    if constexpr (calls::has(row, Role::kItemSize)) {
      constexpr int kAt = calls::indexOf(row, Role::kItemSize);
      numbers[kAt] = asNumber(std::get<kAt>(arguments));
    }
    if constexpr (calls::has(row, Role::kTextOut)) {
      constexpr int kAt = calls::indexOf(row, Role::kTextOut);
      numbers[kAt] = static_cast<std::int64_t>(strlen(std::get<kAt>(arguments)));
    }
    std::int64_t value;
    if constexpr (row.result == calls::Result::kLine) {
      constexpr int kRoom = calls::indexOf(row, Role::kSize);
      constexpr int kStream = calls::indexOf(row, Role::kStream);
      value = lineRead(result, std::get<kRoom>(arguments), std::get<kStream>(arguments), -1).bytes;
    } else {
      value = asNumber(result);
    }
    notePassed<kCall>(movedBy<kCall>(numbers, value), filter);
  }
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
  constexpr wire::RecordLayout layout = wire::recordLayoutOf(kCall);
  if ((self.own_work | self.think.ticks) != 0 && self.level == 1) [[unlikely]] {
    putOwnNotes(ring, self);
  }
  if constexpr (layout.handle >= 0) {
    const std::uint8_t slot = wire::handleSlot(subject.handle.handle());
    if (ring.prediction.handles[slot].handle != subject.handle.handle()) [[unlikely]] {
      introduce(ring, subject.handle);
    }
    numbers[layout.handle] = slot;
  }
  char* out = ring.cursor;
  if constexpr (makesHandle(row)) {
    if (!failed) {
      const std::uint8_t slot = wire::handleSlot(subject.born.handle());
      const bool is_known = ring.prediction.handles[slot].handle == subject.born.handle();
      // Two handles of one event in one slot: the new one would take the place of the one the
      // event is about. It is defined with its first use instead.
      const bool is_in_use =
          layout.handle >= 0 && slot == wire::handleSlot(subject.handle.handle());
      if (!is_known && !is_in_use) {
        defineHandle(ring, out, infoOf(subject.born), subject.born.handle());
      }
      result = is_known || !is_in_use ? slot + 1 : 0;
    }
  }
  // After the handle, whose path may be another text in the same slot.
#pragma GCC unroll 16
  for (int i = 0; i < row.argument_count; ++i) {
    const TextUse use = textUseOf(row.arguments[i]);
    if (use == TextUse::kNone) continue;
    const wire::PathParts& text = subject.text(use);
    numbers[i] = text.name.data() == nullptr ? 0 : defineText(ring, out, text, use) + 1;
  }
  out = wire::encodeEvent<kCall>(out, ring.prediction, times, self.depth, failed, numbers, request,
                                 result, as);
  if constexpr (layout.pieces >= 0) out = putPieces(out, subject);
  publish(ring, out);
}

// The same into the calling thread's ring, which is found, made or drained as needed.
template <CallId kCall>
[[gnu::always_inline]] inline void record(Thread& self, wire::EventTimes times, bool failed,
                                          wire::Arguments<kCall>& numbers, std::uint64_t request,
                                          std::int64_t result, const Subject& subject,
                                          CallId as = kCall) {
  constexpr wire::RecordLayout layout = wire::recordLayoutOf(kCall);
  const unsigned lane = self.level;
  self.frames[lane] = stackPointer();
  // A handler that jumps looks at the frame of each level there is.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ++self.level;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  constexpr std::size_t kRoom = roomFor<kCall>();
  std::size_t need = kRoom;
  if constexpr (layout.pieces >= 0) {
    need += static_cast<std::size_t>(subject.piece_count) * wire::kMaxVarint + subject.list_bytes;
  }
  Ring* ring = self.lanes[lane].ring;
  bool has_made_room = false;  // or has done anything else that took long
  if (ring == nullptr || self.epoch != process.epoch_page->load(std::memory_order_relaxed) ||
      !ring->hasRoom(need)) [[unlikely]] {
    ring = makeRoom(self, lane, need);
    has_made_room = ring != nullptr;
  }
  if (ring != nullptr) [[likely]] {
    countRecorded<kCall>(*ring, failed, numbers, result, subject);
    if (recordsStacks()) [[unlikely]]
      has_made_room |= putStack(*ring, self);
    append<kCall>(*ring, self, times, failed, numbers, request, result, subject, as);
    // Behind the event, if the compiler keeps the order; around this call may be one of MPI.
    const bool goes_on =
        self.depth > 0 || self.in_mpi || process.works_unseen.load(std::memory_order_relaxed);
    ring->header.call_state.store(goes_on ? wire::CallState::kUnderWay : wire::CallState::kBetween,
                                  std::memory_order_release);
  } else if constexpr (movesBytes<kCall>()) {
    if (!failed) notePassed<kCall>(movedBy<kCall>(numbers, result));
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --self.level;
  if (process.draining_each.load(std::memory_order_relaxed)) [[unlikely]] {
    drainAfterEvent(self, lane);
  }
  if (has_made_room) [[unlikely]] {
    noteOwnWork(self, times.end);
  }
  startThinking(self, times.end);
}

// The argument that has the role; `otherwise` when the row has none with it.
template <CallId kCall, calls::Role kRole, typename Arguments, typename Otherwise = int>
[[gnu::always_inline]] constexpr auto argument(const Arguments& arguments,
                                               [[maybe_unused]] Otherwise otherwise = {}) {
  constexpr int kAt = calls::indexOf(calls::rowOf(kCall), kRole);
  if constexpr (kAt >= 0) {
    return std::get<kAt>(arguments);
  } else {
    return otherwise;
  }
}

// The descriptor that the call works on: an argument, or that of a stream.
template <CallId kCall, typename Arguments>
[[gnu::always_inline]] inline int handleDescriptor(const Arguments& arguments) {
  const auto value = std::get<wire::recordLayoutOf(kCall).handle>(arguments);
  if constexpr (std::is_pointer_v<decltype(value)>) {
    return value == nullptr ? -1 : descriptorOf(value);
  } else {
    return descriptorOf(value);
  }
}

// Puts the paths of the call into the subject. Returns what leaves them out, if anything; those
// that cannot be read have no text.
template <CallId kCall, typename Arguments>
[[gnu::always_inline]] inline Filter takePaths(const Arguments& arguments, int error,
                                               [[maybe_unused]] bool has_opened, Subject& subject) {
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr Role kPath = calls::has(row, Role::kPath) ? Role::kPath : Role::kPathTemplate;
  const auto can_read = [error](const char* text) {
    return text != nullptr && (hasReadPath(error) || (error != EFAULT && isReadable(text)));
  };
  const char* const name = argument<kCall, kPath>(arguments);
  if (!can_read(name)) return error != EFAULT ? Filter::kNone : Filter::kOther;
  const int dirfd = argument<kCall, Role::kDirFd>(arguments, AT_FDCWD);
  if constexpr (calls::does(row, calls::Effect::kInSharedMemory)) {
    subject.path = sharedMemoryPath(name);
  } else {
    subject.path = resolvePath(dirfd, name);
  }
  Filter filter = filterOf(subject.path);
  if (filter != Filter::kNone && !has_opened && mayLeadElsewhere(subject.path, filter)) [[unlikely]]
    filter = followName(dirfd, name, calls::does(row, calls::Effect::kStaysAtLink), subject.path,
                        filter);
  if constexpr (calls::has(row, Role::kLinkText)) {
    const char* const words = argument<kCall, Role::kLinkText>(arguments);
    if (can_read(words)) subject.path_new = {.directory = {}, .name = words};
  }
  if constexpr (calls::has(row, Role::kPathNew)) {
    const int directory = argument<kCall, Role::kDirFdNew>(arguments, AT_FDCWD);
    const char* const name_new = argument<kCall, Role::kPathNew>(arguments);
    if (can_read(name_new)) {
      subject.path_new = resolvePath(directory, name_new);
      const Filter of_new = filterOf(subject.path_new);
      if (of_new != Filter::kNone && mayLeadElsewhere(subject.path_new, of_new)) [[unlikely]] {
        if (followName(directory, name_new, true, subject.path_new, of_new) == Filter::kNone) {
          filter = Filter::kNone;
        }
      } else if (of_new == Filter::kNone) {
        filter = Filter::kNone;
      }
    }
  }
  return filter;
}

// The handle of what the call has opened, not traced when its path is not recorded; the old entry
// of the number goes in any case.
template <CallId kCall, typename R, typename Arguments>
[[gnu::always_inline]] inline Entry openedHandle(const Arguments& arguments, R result,
                                                 Subject& subject, Filter filter) {
  const int fd = descriptorOf(result);
  if (filter != Filter::kNone) {
    if (mayLeadElsewhere(subject.path, filter)) filter = followOpened(fd, subject.path, filter);
    if (filter != Filter::kNone) {
      markNotTraced(fd, filter);
      return Entry::notTraced(filter);
    }
  }
  return openHandle(fd, subject.path,
                    static_cast<std::uint32_t>(argument<kCall, calls::Role::kFlags>(arguments, 0)));
}

// Adds to the subject all but the handle that the call works on, as it is known after the call.
// Returns whether the event is recorded.
template <CallId kCall, typename R, typename Arguments>
[[gnu::always_inline]] inline bool completeSubject(const Arguments& arguments, R result,
                                                   bool failed, int error, Subject& subject) {
  using calls::Result;
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr wire::RecordLayout layout = wire::recordLayoutOf(kCall);
  if constexpr (calls::has(row, Role::kPath) || calls::has(row, Role::kPathTemplate)) {
    const Filter filter = takePaths<kCall>(arguments, error, makesHandle(row) && !failed, subject);
    if constexpr (makesHandle(row)) {
      if (!failed) {
        subject.born = openedHandle<kCall>(arguments, result, subject, filter);
        if (!subject.born.isTraced()) countLeftOut(subject.born.filter(), 0, 0);
        return subject.born.isTraced();
      }
    }
    countLeftOut(filter, 0, 0);
    return filter == Filter::kNone;
  } else if constexpr (row.result == Result::kNewStream && layout.handle >= 0) {
    subject.born = subject.handle;  // fdopen: the same open file
  } else if constexpr (row.result == Result::kNewFd && layout.handle >= 0) {
    if (!failed) {
      subject.born = result == std::get<layout.handle>(arguments)  // dup2 of a number to itself
                         ? subject.handle
                         : duplicateHandle(result, subject.handle);
      return subject.born.isTraced();
    }
  } else if constexpr (row.result == Result::kNewStream) {
    if (!failed) {
      // What the number meant before was closed out of the tracer's sight.
      releaseHandle(takeOut(descriptorOf(result)));
      subject.born = adopt(descriptorOf(result));
    }
    return subject.born.isTraced();
  }
  return true;
}

// The offset that a call was given by a pointer, which it has moved on by what it moved. A null
// pointer stands for the position of the descriptor, which is recorded as -1, and what cannot be an
// offset as -2.
template <typename Offset>
std::int64_t offsetBefore(const Offset* offset, int error, std::int64_t moved) {
  if (offset == nullptr) return -1;
  if (error == 0) return *offset - moved;
  return isReadableMemory(offset, sizeof *offset) && *offset >= 0 ? *offset : -2;
}

// Returns the number that is recorded for an argument.
template <CallId kCall, std::size_t kIndex, typename T>
[[gnu::always_inline]] inline std::int64_t numberOf(T argument, int error, std::int64_t value) {
  using calls::Role;
  constexpr Role role = calls::rowOf(kCall).arguments[kIndex];
  if constexpr (std::is_pointer_v<T> && (role == Role::kOffset || role == Role::kSourceOffset)) {
    return offsetBefore(argument, error, value);
  } else if constexpr (role == Role::kOwnBuffer) {
    return argument != nullptr ? 1 : 0;
  } else {
    return asNumber(argument);
  }
}

// Records the call by its arguments; `value` is what is recorded as its result.
template <CallId kCall, typename... A>
[[gnu::always_inline]] inline void recordCall(Thread& self, wire::EventTimes times, bool failed,
                                              const std::tuple<A...>& arguments, int error,
                                              std::int64_t value, Subject& subject) {
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr wire::RecordLayout layout = wire::recordLayoutOf(kCall);
  wire::Arguments<kCall> numbers{};
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((numbers[i] = numberOf<kCall, i>(std::get<i>(arguments), error, value)), ...);
  }
  (std::make_index_sequence<sizeof...(A)>());
  if constexpr (calls::has(row, Role::kTextOut)) {
    const char* const text = argument<kCall, Role::kTextOut>(arguments);
    if (error != EFAULT) {
      numbers[calls::indexOf(row, Role::kTextOut)] = static_cast<std::int64_t>(strlen(text));
    }
  }
  std::uint64_t request = 0;
  if constexpr (layout.size >= 0) request = static_cast<std::uint64_t>(numbers[layout.size]);
  if constexpr (calls::has(row, Role::kOpenMode)) {
    const char* const mode = argument<kCall, Role::kOpenMode>(arguments);
    if (mode != nullptr) subject.word.name = mode;
  }
  if constexpr (calls::has(row, Role::kAttribute)) {
    const char* const name = argument<kCall, Role::kAttribute>(arguments);
    const bool was_read = error == 0 || error == ENODATA;
    if (name != nullptr && (was_read || (error != EFAULT && isReadable(name)))) {
      subject.word.name = name;
    }
  }
  if constexpr (layout.pieces >= 0) {
    if (!failed) {
      subject.pieces = std::get<layout.pieces>(arguments);
      subject.piece_count = static_cast<int>(argument<kCall, Role::kIovCount>(arguments));
    }
    numbers[layout.pieces] = subject.piece_count;
    for (int i = 0; i < subject.piece_count; ++i) request += subject.pieces[i].iov_len;
  }
  record<kCall>(self, times, failed, numbers, request, value, subject);
}

// Calls `real` with the arguments and records the event of row kCall.
template <CallId kCall, typename R, typename Real, typename... A>
[[gnu::always_inline]] inline R interceptWith(Real real, A... a) {
  using calls::Class;
  using calls::Result;
  using calls::Role;
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr wire::RecordLayout layout = wire::recordLayoutOf(kCall);
  constexpr bool kCloses = row.call_class == Class::kClose && layout.handle >= 0;
  static_assert(sizeof...(A) == row.argument_count, "the row names another number of arguments");
  const std::tuple<A...> arguments(a...);
  Thread& self = thread;

  if constexpr (kCloses) {
    if (isOwnDescriptor(descriptorOf(std::get<layout.handle>(arguments)))) [[unlikely]] {
      errno = EBADF;  // the application never opened it
      return static_cast<R>(-1);
    }
  }
  if constexpr (calls::has(row, Role::kFdNew)) {
    if (isOwnDescriptor(argument<kCall, Role::kFdNew>(arguments))) [[unlikely]] {
      // The child of a vfork has descriptors of its own, but its parent's memory.
      if (!isVforkChild()) moveOwnDescriptor();
    }
  }
  constexpr bool kOnStream = layout.handle >= 0 && calls::has(row, Role::kStream);
  const auto leavesStream = [&arguments] {
    if constexpr (kCloses && kOnStream) {
      if (hasInlinedStreams()) forgetBuffer(argument<kCall, Role::kStream>(arguments));
    }
  };
  if (!mayRecord(self)) [[unlikely]] {
    leavesStream();
    return real(a...);
  }
  if constexpr (layout.handle < 0) {
    // Before the clock is read: which clock that is, is known only once the tracer has started.
    if (!isActive()) return real(a...);
  }

  Subject subject;
  if constexpr (layout.handle >= 0) {
    const int fd = handleDescriptor<kCall>(arguments);
    subject.handle = find(fd);
    if (!subject.handle.isTraced()) [[unlikely]] {
      [[maybe_unused]] const Filter filter = subject.handle.filter();
      if constexpr (kCloses) takeOut(fd);
      leavesStream();
      if constexpr (calls::has(row, Role::kFdNew)) {
        const R result = real(a...);
        // The number's old file is closed now, and the new one is looked at when it is used.
        if (result >= 0) releaseHandle(takeOut(static_cast<int>(result)));
        return result;
      } else if constexpr (movesBytes<kCall>()) {
        const R result = real(a...);
        countUnrecorded<kCall>(result, arguments, filter);
        return result;
      } else {
        countLeftOut(filter, 0, 0);
        return real(a...);
      }
    }
    if constexpr (kOnStream) {
      if (hasInlinedStreams()) [[unlikely]]
        noteInlined(self, argument<kCall, Role::kStream>(arguments), subject.handle);
      leavesStream();
    }
    if constexpr (kCloses) subject.handle = takeOut(fd);
  }

  if constexpr (turnsStream<kCall>()) {
    subject.stream_buffer = __fbufsize(argument<kCall, Role::kStream>(arguments));
  }
  [[maybe_unused]] int errno_before = 0;
  constexpr bool kReadsStream = row.call_class == Class::kRead && calls::has(row, Role::kStream) &&
                                row.result != Result::kItems;
  if constexpr (kReadsStream) errno_before = errno;
  wire::EventTimes times;
  noteCall(self, wire::CallState::kUnderWay);
  times.start = leaveThinking(self);
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
  if constexpr (kOnStream && !kCloses) {
    constexpr bool kFills = kCall == CallId::__uflow || kCall == CallId::__overflow;
    if (kFills || hasInlinedStreams()) [[unlikely]] {
      rememberBuffer(argument<kCall, Role::kStream>(arguments));
    }
  }

  if (completeSubject<kCall>(arguments, result, failed, error, subject)) [[likely]] {
    std::int64_t value = error;
    if constexpr (row.result == Result::kErrorNumber || row.result == Result::kMpi) {
      value = result;
    } else if constexpr (kReadsStream) {
      if (failed) {
        value = streamError(argument<kCall, Role::kStream>(arguments), error, errno_before);
      }
    }
    if (!failed) {
      if constexpr (row.result == Result::kLine) {
        FILE* const stream = argument<kCall, Role::kStream>(arguments);
        const LineRead line =
            lineRead(result, argument<kCall, Role::kSize>(arguments), stream, descriptorOf(stream));
        value = line.is_exact ? line.bytes : wire::atLeast(line.bytes);
      } else {
        value = asNumber(result);
      }
    }
    recordCall<kCall>(self, times, failed, arguments, error, value, subject);
    if constexpr (makesHandle(row)) noteOwnWork(self, times.end);
  } else {
    noteCall(self, wire::CallState::kBetween);
  }
  if constexpr (kCloses) releaseHandle(subject.handle);
  if (failed) errno = error;
  if constexpr (!std::is_void_v<R>) return result;
}

// The first file system that a library asks about while it opens a file is that file's.
template <typename About>
void noteFileSystem(LibraryOpen& seen, const char* path, const About* about) {
  if (seen.path_sum != 0) return;
  seen.path_sum = pathSum(path);
  seen.kind = static_cast<long>(about->f_type);
  seen.block_bytes = static_cast<long>(about->f_bsize);
}

// The whole body of a regular row's wrapper.
template <CallId kCall, typename R, typename... A>
[[gnu::always_inline]] inline R intercept(A... a) {
  if constexpr (kCall == CallId::statfs || kCall == CallId::statfs64) {
    const R result = interceptWith<kCall, R>(realFunction<kCall, R(A...)>(), a...);
    if (result == 0 && thread.depth > 0) noteFileSystem(thread.library_open, a...);
    return result;
  } else {
    return interceptWith<kCall, R>(realFunction<kCall, R(A...)>(), a...);
  }
}

}  // namespace omnio::trace
