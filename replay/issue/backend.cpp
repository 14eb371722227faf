// Regular rows: one template makes the arguments of all of them from their roles.
#include "replay/issue/backend.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "core/calls/arguments.hpp"
#include "core/calls/unlisted.hpp"
#include "replay/issue/backend_call.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

using calls::CallId;
using calls::Class;
using calls::Effect;
using calls::Result;
using calls::Role;

// The version of struct stat that the __xstat family takes (glibc, bits/struct_stat.h).
#ifdef __x86_64__
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif

struct Facts {
  union {
    struct stat plain;
    struct stat64 large;
    struct statx extended;
    struct statfs system;
    struct statfs64 large_system;
    struct statvfs posix_system;
    struct statvfs64 large_posix_system;
  };
};
thread_local Facts facts;
thread_local off64_t offset_there;  // what a pointer argument leads to
thread_local off64_t source_offset;
static_assert(sizeof(off_t) == sizeof(off64_t));
thread_local std::array<iovec, model::kMostPieces> pieces;

template <CallId kCall>
std::size_t bytesOf(const Call& call) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  std::uint64_t bytes = call.op().request;
  for (int i = 0; i < call.op().piece_count; ++i) {
    bytes = std::max(bytes, call.instruction.pieces[i]);
  }
  if constexpr (calls::has(row, Role::kTextOut)) {
    bytes = static_cast<std::uint64_t>(call.argument(calls::indexOf(row, Role::kTextOut)));
  }
  return static_cast<std::size_t>(bytes);
}

// As many items as there is room for: a call that failed may have asked for any number.
template <CallId kCall>
std::int64_t itemsOf(const Call& call, std::int64_t asked) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  const auto size = static_cast<std::uint64_t>(call.argument(calls::indexOf(row, Role::kItemSize)));
  const Buffers& buffers = *call.context.buffers;
  const std::uint64_t room =
      row.call_class == Class::kWrite ? buffers.writeRoom() : buffers.readRoom();
  if (size == 0) return asked;
  return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(asked), room / size));
}

char* readBuffer(const Call& call) {
  return call.context.buffers->forRead(call.context.descriptors.isDirect(call.op().fd));
}

// Memory that no process has.
char* badAddress() { return reinterpret_cast<char*>(~std::uintptr_t{0xFFF}); }

// Whether the call failed since the application's buffer was no memory of its own: so must ours.
bool hadBadBuffer(const Call& call) {
  return (call.op().flags & kOpFailed) != 0 && call.op().result == EFAULT;
}

// A call that failed is recorded without its pieces. Without any it would succeed.
const iovec* onePiece(Call& call, bool is_write) {
  char* const at = hadBadBuffer(call) ? badAddress()
                   : is_write         ? contentFor(call, 1).data()
                                      : readBuffer(call);
  pieces[0] = {.iov_base = at, .iov_len = 1};
  return pieces.data();
}

int pieceCount(const Call& call) {
  const bool had_failed = (call.op().flags & kOpFailed) != 0;
  if (!had_failed || call.op().piece_count > 0) return call.op().piece_count;
  return call.op().result == EINVAL ? -1 : 1;  // there were too many, or they were too long
}

const iovec* piecesOf(Call& call, bool is_write) {
  if (call.op().piece_count == 0) return onePiece(call, is_write);
  std::uint64_t total = 0;
  for (int i = 0; i < call.op().piece_count; ++i) total += call.instruction.pieces[i];
  char* at = is_write ? contentFor(call, static_cast<std::size_t>(total)).data() : readBuffer(call);
  for (int i = 0; i < call.op().piece_count; ++i) {
    const auto bytes = static_cast<std::size_t>(call.instruction.pieces[i]);
    pieces[static_cast<std::size_t>(i)] = {.iov_base = at, .iov_len = bytes};
    at += bytes;
  }
  return pieces.data();
}

char* templateOf(Call& call, std::int64_t suffix) {
  call.context.path_template = templateFor(call.path(), suffix);
  return call.context.path_template.data();
}

// The number that dup2 is to use: that of the descriptor which it stood for, or a free one.
int wishedNumber(Call& call) {
  const int replaced =
      call.op().other == kNoSlot ? -1 : call.context.descriptors.fd(call.op().other);
  if (replaced >= 0) return replaced;
  return raw::duplicate(call.fd(), 3);
}

// After dup2: a stream of the descriptor whose number was taken goes on with the new file.
void noteReplaced(Call& call, const Outcome& outcome, int wished, int fd, bool direct) {
  const Op& op = call.op();
  Descriptors& descriptors = call.context.descriptors;
  if (outcome.failed) {
    // A free number was taken for it, and nothing came to stand there.
    if (op.other == kNoSlot && wished >= 0) raw::closeFd(wished);
    if (op.new_fd != kNoSlot) descriptors.gone(op.new_fd);
    return;
  }
  if (op.new_fd == op.fd) return;  // to itself
  descriptors.opened(op.new_fd, fd, nullptr, direct);
  if (op.other == kNoSlot || op.other == op.new_fd) return;
  descriptors.moveStream(op.other, op.new_fd);
  descriptors.gone(op.other);
}

// The relative path from the directory that a location is in to another location.
std::string pathFrom(std::string_view location, std::string_view target) {
  if (target == ".") target = {};
  std::size_t same = 0;  // where names begin that differ
  for (std::size_t i = 0; i < location.size() && i < target.size(); ++i) {
    if (location[i] != target[i]) break;
    if (location[i] == '/') same = i + 1;
  }
  std::string path;
  const auto up = std::ranges::count(location.substr(same), '/');
  for (std::ptrdiff_t i = 0; i < up; ++i) path += "../";
  path += target.substr(same);
  if (path.empty()) return ".";
  return path;
}

const char* linkText(Call& call) {
  const Op& op = call.op();
  const Paths& paths = call.context.paths;
  const PlannedFile* const link = paths.planned(op.file);
  const PlannedFile* const target = paths.planned(op.new_file);
  // A link to what is not in the schedule leads nowhere, and not out of the tree.
  if (target == nullptr) {
    call.context.link_text = "omnio-not-in-the-schedule";
  } else if (link != nullptr && op.new_lookups != model::kAllLookups &&
             link->tree == target->tree && target->origin != Origin::kInPlace) {
    call.context.link_text = pathFrom(link->location, target->location);
  } else {
    call.context.link_text = paths.absolute(op.new_file);
  }
  return call.context.link_text.c_str();
}

// Without a buffer of the application's own, the C library chooses the size, whatever was asked.
template <CallId kCall>
char* streamBuffer(Call& call, bool has_own) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr int mode = calls::indexOf(row, Role::kNumber);
  constexpr int size = calls::indexOf(row, Role::kSize);
  const std::int64_t bytes = size < 0 ? BUFSIZ : call.argument(size);
  if (!has_own || bytes <= 0) return nullptr;
  if (mode >= 0 && call.argument(mode) == _IONBF) return nullptr;
  return call.context.descriptors.bufferFor(call.op().fd, static_cast<std::size_t>(bytes));
}

// An offset that the call takes by a pointer.
off64_t* offsetPointer(off64_t& place, std::int64_t offset) {
  if (offset == -1) return nullptr;  // the descriptor's own position
  place = offset;
  return &place;
}

template <typename>
constexpr bool kNever = false;

// An argument that was not recorded: what it has to be follows from its type.
template <typename A, CallId kCall>
A madeUpArgument(Call& call) {
  IssueContext& context = call.context;
  if constexpr (std::is_same_v<A, struct stat*>) {
    return &facts.plain;
  } else if constexpr (std::is_same_v<A, struct stat64*>) {
    return &facts.large;
  } else if constexpr (std::is_same_v<A, struct statx*>) {
    return &facts.extended;
  } else if constexpr (std::is_same_v<A, struct statfs*>) {
    return &facts.system;
  } else if constexpr (std::is_same_v<A, struct statfs64*>) {
    return &facts.large_system;
  } else if constexpr (std::is_same_v<A, struct statvfs*>) {
    return &facts.posix_system;
  } else if constexpr (std::is_same_v<A, struct statvfs64*>) {
    return &facts.large_posix_system;
  } else if constexpr (std::is_same_v<A, int>) {
    return kStatVersion;
  } else if constexpr (std::is_same_v<A, const timeval*> || std::is_same_v<A, const timespec*> ||
                       std::is_same_v<A, const utimbuf*>) {
    return nullptr;  // the time of the call
  } else if constexpr (std::is_same_v<A, char**>) {
    return &context.line;
  } else if constexpr (std::is_same_v<A, size_t*>) {
    return &context.line_room;
  } else if constexpr (std::is_same_v<A, fpos_t*> || std::is_same_v<A, fpos64_t*>) {
    context.has_position = true;
    return reinterpret_cast<A>(&context.position);
  } else if constexpr (std::is_same_v<A, const fpos_t*> || std::is_same_v<A, const fpos64_t*>) {
    if (!context.has_position) ownLibc().fgetpos64(call.stream(), &context.position);
    return reinterpret_cast<A>(&context.position);
  } else {
    static_assert(kNever<A>, "an argument of this type cannot be made up");
  }
}

template <CallId kCall, std::size_t kIndex, typename A>
A makeArgument(Call& call) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  constexpr Role role = row.arguments[kIndex];
  constexpr bool is_write = row.call_class == Class::kWrite;
  const std::int64_t number = call.argument(kIndex);
  if constexpr (role == Role::kFd) {
    return call.fd();
  } else if constexpr (role == Role::kFdNew) {
    return wishedNumber(call);
  } else if constexpr (role == Role::kFdSource) {
    return call.context.descriptors.fd(call.op().other);
  } else if constexpr (role == Role::kDirFd) {
    return call.directory();
  } else if constexpr (role == Role::kDirFdNew) {
    return call.context.names.newDirectory();
  } else if constexpr (role == Role::kPath) {
    return call.path();
  } else if constexpr (role == Role::kPathNew) {
    return call.context.names.newPath();
  } else if constexpr (role == Role::kPathTemplate) {
    return templateOf(call, call.argument(calls::indexOf(row, Role::kNumber)));
  } else if constexpr (role == Role::kLinkText) {
    return linkText(call);
  } else if constexpr (role == Role::kStream) {
    return call.stream();
  } else if constexpr (role == Role::kOpenMode) {
    return call.mode.emplace(call.instruction.text).text.data();
  } else if constexpr (role == Role::kBuf) {
    // The C library looks into the buffers of its streams itself.
    if (row.api == calls::Api::kPosix && hadBadBuffer(call)) return badAddress();
    return is_write ? contentFor(call, bytesOf<kCall>(call)).data() : readBuffer(call);
  } else if constexpr (role == Role::kTextOut) {
    return contentFor(call, bytesOf<kCall>(call), true).data();
  } else if constexpr (role == Role::kLineIn) {
    return readBuffer(call);
  } else if constexpr (role == Role::kBufLimit) {
    return static_cast<A>(-1);  // as large as anything: our buffer fits the request
  } else if constexpr (role == Role::kIov) {
    return piecesOf(call, is_write);
  } else if constexpr (role == Role::kIovCount) {
    return pieceCount(call);
  } else if constexpr (role == Role::kOwnBuffer) {
    return streamBuffer<kCall>(call, number != 0);
  } else if constexpr (role == Role::kOffset && std::is_pointer_v<A>) {
    return offsetPointer(offset_there, number);
  } else if constexpr (role == Role::kSourceOffset) {
    return offsetPointer(source_offset, number);
  } else if constexpr (role == Role::kItemCount) {
    return static_cast<A>(itemsOf<kCall>(call, number));
  } else if constexpr (role == Role::kFlags && row.result == Result::kNewFd) {
    return static_cast<A>(openFlags(call, number));
  } else if constexpr (role == Role::kIgnored) {
    return madeUpArgument<A, kCall>(call);
  } else {
    static_assert(std::is_integral_v<A> && calls::isNumber(calls::formOf(role).schedule),
                  "a role that cannot be made into this argument");
    return static_cast<A>(number);
  }
}

// Before a call that asks where a stream stands. Compilers put getc_unlocked, putc_unlocked and
// others into the program, where nothing records them, and a scan reads as much as the text makes
// it read: the position that was recorded tells how far the application went. The stream goes
// there, and reads or writes what is between, as the application did.
void moveToRecordedPosition(Call& call) {
  FILE* const stream = call.stream();
  const std::int64_t wanted = call.op().result;
  if ((call.op().flags & kOpFailed) != 0 || wanted < 0) return;
  std::int64_t now = ownLibc().ftello(stream);
  if (now < 0 || now == wanted) return;
  constexpr std::int64_t kMostBetween = std::int64_t{1} << 30;  // more is a seek that went unseen
  std::array<char, 4096> part{};
  const bool writes = __fwriting(stream) != 0;
  while (now < wanted && wanted - now <= kMostBetween) {
    const auto bytes = std::min<std::size_t>(part.size(), static_cast<std::size_t>(wanted - now));
    const std::size_t moved = writes ? ownLibc().fwrite(part.data(), 1, bytes, stream)
                                     : ownLibc().fread(part.data(), 1, bytes, stream);
    (writes ? raw::bytes_written : raw::bytes_read).fetch_add(moved, std::memory_order_relaxed);
    if (moved == 0) return;  // the file ends here, which the call then tells
    now += static_cast<std::int64_t>(moved);
  }
  if (now != wanted) ownLibc().fseeko(stream, wanted, SEEK_SET);
}

template <CallId kCall, typename R, typename... A, std::size_t... kIndices>
Outcome issueRegular(Call& call, R (*real)(A...), std::index_sequence<kIndices...>) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  static_assert(sizeof...(A) == row.argument_count);
  if constexpr (calls::has(row, Role::kStream)) {
    if (call.stream() == nullptr) return notIssued();
    if constexpr (row.result == Result::kPosition) moveToRecordedPosition(call);
  }
  const std::tuple<A...> arguments{makeArgument<kCall, kIndices, A>(call)...};
  R value{};
  Outcome outcome = timed<row.result>(
      call, [&]() -> R { return value = real(std::get<kIndices>(arguments)...); });
  if constexpr (calls::does(row, calls::Effect::kMakesDirectory)) {
    const PlannedFile* const file = call.context.paths.planned(call.op().file);
    const bool had_failed = (call.op().flags & kOpFailed) != 0;
    if (outcome.failed && outcome.result == EEXIST && !had_failed && file != nullptr &&
        call.context.paths.trees().of(*file).isAdopted()) {
      outcome.failed = false;
      outcome.result = call.op().result;
      outcome.substitute = Substitute::kAdopted;
    }
  }
  if constexpr (row.result == Result::kNewFd) {
    if constexpr (calls::has(row, Role::kPathTemplate)) {
      if (!outcome.failed && call.context.path_template != call.path()) {
        raw::renameAt(AT_FDCWD, call.context.path_template.c_str(), AT_FDCWD, call.path());
      }
    }
    bool direct = false;
    if constexpr (calls::has(row, Role::kFlags) && !calls::has(row, Role::kFdNew)) {
      const std::int64_t flags = call.argument(calls::indexOf(row, Role::kFlags));
      direct = (flags & O_DIRECT) != 0;
      if (flags != openFlags(call, flags)) outcome.substitute = Substitute::kOverwrite;
    }
    if constexpr (calls::has(row, Role::kFd))
      direct = call.context.descriptors.isDirect(call.op().fd);
    if constexpr (calls::has(row, Role::kFdNew)) {
      noteReplaced(call, outcome, std::get<1>(arguments), static_cast<int>(value), direct);
      return outcome;
    }
    noteOpened(call, outcome, static_cast<int>(value), nullptr, direct);
  } else if constexpr (row.result == Result::kNewStream) {
    if (call.mode && call.mode->is_changed) outcome.substitute = Substitute::kMapped;
    const bool is_direct = call.context.descriptors.isDirect(call.op().fd);
    const int fd = value == nullptr ? -1 : fileno(value);
    if (call.op().fd != kNoSlot && call.op().new_fd == kNoSlot && value != nullptr) {
      call.context.descriptors.opened(call.op().fd, fd, value, is_direct);  // fdopen
    } else {
      noteOpened(call, outcome, fd, value, is_direct);
    }
  }
  if constexpr (row.call_class == Class::kClose) {
    noteClosed(call, outcome, calls::has(row, Role::kStream));
  }
  if constexpr (row.result == Result::kLine) {
    if (value != nullptr) outcome.result = static_cast<std::int64_t>(strlen(value));
  }
  return outcome;
}

// Calls without a result have nothing to do afterwards.
template <CallId kCall, typename... A, std::size_t... kIndices>
Outcome issueRegular(Call& call, void (*real)(A...), std::index_sequence<kIndices...>) {
  constexpr const calls::Row& row = calls::rowOf(kCall);
  if constexpr (calls::has(row, Role::kStream)) {
    if (call.stream() == nullptr) return notIssued();
  }
  const std::tuple<A...> arguments{makeArgument<kCall, kIndices, A>(call)...};
  return timed<row.result>(call, [&] { real(std::get<kIndices>(arguments)...); });
}

template <CallId kCall, typename R, typename... A>
Outcome issueTyped(Call& call, R (*real)(A...)) {
  return issueRegular<kCall>(call, real, std::index_sequence_for<A...>{});
}

using Issue = Outcome (*)(Call&);

// How a call works on its stream.
enum class StreamUse : std::uint8_t {
  kNone,
  kUses,
  kUsesUnlocked,  // leaves it to the application to let one thread at a time work on it
  kCloses,
};

// By number; what one call needs lies together, since a system call may empty the processor's
// caches.
struct Dispatch {
  Issue issue = nullptr;
  void* symbol = nullptr;
  StreamUse stream_use = StreamUse::kNone;
  Names::Wanted names{};
  bool reads_line = false;
};
std::array<Dispatch, calls::kNumberLimit> dispatch;

#define OMNIO_ISSUE_kCustom(NAME) &byHand<CallId::NAME>
#define OMNIO_ISSUE_kRegular(NAME) &issueOf<CallId::NAME, decltype(&::NAME)>
#define OMNIO_CALL(BODY, NUMBER, NAME, ...) \
  dispatch[NUMBER] = dispatchOf(CallId::NAME, OMNIO_ISSUE_##BODY(NAME), #NAME);
#define OMNIO_PART(NUMBER, NAME, SYMBOL, ...) \
  dispatch[NUMBER] = dispatchOf(CallId::NAME, &byHand<CallId::NAME>, #SYMBOL);

StreamUse streamUseOf(CallId id) {
  const calls::Row& row = calls::rowOf(id);
  const bool is_issued = id != CallId::pclose;
  if (!calls::has(row, Role::kStream) || !is_issued) return StreamUse::kNone;
  if (row.call_class == Class::kClose) return StreamUse::kCloses;
  return calls::does(row, calls::Effect::kUnlocked) ? StreamUse::kUsesUnlocked : StreamUse::kUses;
}

Names::Wanted namesOf(CallId id) {
  const calls::Row& row = calls::rowOf(id);
  return {.path = calls::has(row, Role::kPath) || calls::has(row, Role::kPathTemplate),
          .new_path = calls::has(row, Role::kPathNew),
          .may_be_descriptor = id == CallId::linkat};
}

Dispatch dispatchOf(CallId id, Issue issue, const char* symbol) {
  return {.issue = issue,
          .symbol = symbolNamed(symbol),
          .stream_use = streamUseOf(id),
          .names = namesOf(id),
          .reads_line = calls::does(calls::rowOf(id), Effect::kReadsLine)};
}

// Keeps other threads from a stream during a call that does not lock it by itself. An edited
// schedule may let two of them meet there, which the C library does not survive.
class StreamLock {
 public:
  StreamLock(FILE* stream, bool is_wanted) : stream_(is_wanted ? stream : nullptr) {
    if (stream_ != nullptr) flockfile(stream_);
  }
  StreamLock(const StreamLock&) = delete;
  StreamLock& operator=(const StreamLock&) = delete;
  ~StreamLock() {
    if (stream_ != nullptr) funlockfile(stream_);
  }

 private:
  FILE* stream_;
};

// A regular row may have a body, too.
template <CallId kCall, typename Function>
Outcome issueOf(Call& call) {
  if constexpr (ByHand<kCall>) {
    return byHand<kCall>(call);
  } else {
    return issueTyped<kCall>(call, reinterpret_cast<Function>(call.symbol));
  }
}

}  // namespace

IssueContext::~IssueContext() {
  free(line);
  for (const int end : pipe) {
    if (end >= 0) raw::closeFd(end);
  }
}

std::int64_t nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void findSymbols() {
  nullDevice();
#include "core/calls/posix.def"
#include "core/calls/stdio.def"
}
#undef OMNIO_PART
#undef OMNIO_CALL

Outcome issue(const Instruction& instruction, IssueContext& context) {
  const std::uint16_t number = instruction.op.row;
  if (context.mpi != nullptr && calls::kTable[number].api == calls::Api::kMpi) {
    return context.mpi->issue(instruction, context);
  }
  if (number >= calls::kNumberLimit || dispatch[number].symbol == nullptr) return notIssued();
  const Dispatch& found = dispatch[number];
  Call call{instruction, context, found.symbol};
  if (found.names.path || found.names.new_path) {
    Names::Wanted wanted = found.names;
    const int flags = calls::indexOf(calls::kTable[number], Role::kFlags);
    wanted.may_be_empty = flags >= 0 && (call.argument(flags) & AT_EMPTY_PATH) != 0;
    context.names.find(instruction.op, wanted, context.descriptors);
  }
  if (found.stream_use == StreamUse::kNone) return found.issue(call);
  if (found.stream_use == StreamUse::kCloses) {
    call.on_stream = context.descriptors.takeStream(instruction.op.fd);
    return found.issue(call);
  }
  const Descriptors::StreamUse use(context.descriptors, instruction.op.fd);
  call.on_stream = use.get();
  const StreamLock lock(use.get(), found.stream_use == StreamUse::kUsesUnlocked);
  Outcome outcome = found.issue(call);
  const bool is_foreign = found.reads_line && (instruction.op.flags & kOpLines) == 0;
  if (is_foreign && outcome.issued) outcome.substitute = Substitute::kForeignLine;
  return outcome;
}

std::string templateFor(const char* path, std::int64_t suffix) {
  constexpr std::size_t kLetters = 6;  // the X of mkstemp
  std::string name = path;
  const std::size_t slash = name.rfind('/') + 1;
  const auto after = static_cast<std::size_t>(suffix < 0 ? 0 : suffix);
  if (name.size() - slash >= after + kLetters) {
    name.replace(name.size() - after - kLetters, kLetters, kLetters, 'X');
  }
  return name;
}

namespace {

// The size of the file that the call works on, with what its stream has not yet written.
std::optional<std::uint64_t> endOfFile(const Call& call) {
  struct stat about {};
  FILE* const stream = call.stream();
  const int fd = stream == nullptr ? call.fd() : fileno(stream);
  if (fd < 0 || raw::systemCall(SYS_fstat, fd, &about) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(about.st_size) + (stream == nullptr ? 0 : __fpending(stream));
}

}  // namespace

std::span<char> contentFor(Call& call, std::size_t bytes, bool as_text) {
  IssueContext& context = call.context;
  const bool has_lines = (call.op().flags & kOpLines) != 0;
  const bool aligned = context.descriptors.isDirect(call.op().fd);
  const std::span<char> content = as_text || has_lines ? context.buffers->forText(bytes, aligned)
                                                       : context.buffers->forWrite(bytes, aligned);
  if (has_lines) {
    // An application that appends may have done so after others, or before.
    const std::optional<std::uint64_t> at =
        call.op().offset >= 0 ? static_cast<std::uint64_t>(call.op().offset) : endOfFile(call);
    if (at) setLineEnds(*context.paths.planned(call.op().file), *at, content);
  }
  return content;
}

Outcome notIssued() {
  Outcome outcome;
  outcome.issued = false;
  outcome.substitute = Substitute::kNotIssued;
  outcome.start_ns = outcome.end_ns = nowNs();
  return outcome;
}

void noteOpened(Call& call, const Outcome& outcome, int fd, FILE* stream, bool direct) {
  if (call.op().new_fd == kNoSlot) {
    // The recorded call failed and this one did not: nothing in the schedule will close it.
    if (!outcome.failed && stream != nullptr) ownLibc().fclose(stream);
    if (!outcome.failed && stream == nullptr && fd >= 0) raw::closeFd(fd);
    return;
  }
  if (outcome.failed) {
    call.context.descriptors.gone(call.op().new_fd);
  } else {
    call.context.descriptors.opened(call.op().new_fd, fd, stream, direct);
  }
}

void noteClosed(Call& call, const Outcome& outcome, bool is_stream) {
  if (!is_stream && outcome.failed && outcome.result == EBADF) return;
  if (!is_stream) call.context.descriptors.forgetStream(call.op().fd);
  call.context.descriptors.gone(call.op().fd);
}

int preopen(const Preopened& preopened, const Paths& paths, Descriptors& descriptors) {
  const int flags = preopened.flags & ~(O_CREAT | O_EXCL | O_TRUNC);
  const PlannedFile* const file = paths.planned(preopened.file);
  // The application may have reached its input by a link; those of the trees lead to no input.
  const bool is_in_place = file != nullptr && file->origin == Origin::kInPlace;
  const int fd = raw::openAt(AT_FDCWD, paths.absolute(preopened.file).c_str(),
                             flags | (is_in_place ? 0 : O_NOFOLLOW) | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  if (preopened.offset > 0) raw::seek(fd, preopened.offset, SEEK_SET);
  descriptors.opened(preopened.slot, fd, nullptr, (flags & O_DIRECT) != 0);
  return 0;
}

void inherit(const Op& op, Descriptors& descriptors) {
  const int fd = descriptors.fd(op.fd);
  const int copy = fd < 0 ? -1 : raw::duplicate(fd, 0);
  if (copy < 0) {
    descriptors.gone(op.new_fd);
  } else {
    descriptors.opened(op.new_fd, copy, nullptr, descriptors.isDirect(op.fd));
  }
}

const char* textOf(Substitute substitute) {
  constexpr const char* kTexts[] = {
      "as recorded",
      "locks that others kept, or that the application did not get",
      "tmpfile, made in the tree",
      "scans, which read single characters",
      "closefrom, closing one descriptor",
      "opens that leave what write_overwrite has put there",
      "streams opened with m, which read and do not map",
      "FIFOs, sockets and devices, made as regular files",
      "clones that the target cannot make, or the application could not",
      "copies from one file system to another, read and written",
      "directories that the application made, and an adopted target had",
      "attributes that the target does not hold, or the application could not",
      "links that were found, prepared as what they lead to",
      "freopen of a stream that is not recorded",
      "lines of files that had another name when they were written",
      "not issued",
  };
  static_assert(std::size(kTexts) == kSubstituteCount);
  return kTexts[static_cast<std::size_t>(substitute)];
}

}  // namespace omnio::replay
