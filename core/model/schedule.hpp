// The schedule: what a replay does, as a document that a person can read and edit
// (docs/formats/schedule.md). rank -> thread -> events; each event names the exact call, its file,
// size and offset, and its times relative to the beginning of the run.
//
// A schedule is never held as a whole: schedule_reader.hpp and schedule_writer.hpp pass it on piece
// by piece.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/calls/table.hpp"

namespace omnio::model {

inline constexpr int kScheduleVersion = 1;

enum class Timing : std::uint8_t {
  kAsap,   // no think time, dependencies kept
  kDelta,  // "dt": the time between operations is kept
  kStart,  // each operation at its recorded start
};

// Lists that the schedule has once. Calls of MPI-IO refer to an entry by its place in the list.
struct MpiTables {
  std::vector<std::vector<int>> groups;  // ranks of the job that share a file, in their order
  std::vector<std::string> types;        // datatypes (docs/formats/trace.md, "Types")
};

// Sizes of the files that the pattern matches (core/wire/path_pattern.hpp) were multiplied by the
// factor.
struct SizeScale {
  std::string pattern;
  double factor = 1;
  bool operator==(const SizeScale&) const = default;
};

// A target that files may name, and its directory, where a replay is given no other.
struct ScheduleTarget {
  std::string name{};
  std::string directory{};  // an absolute path; empty: not said
  bool operator==(const ScheduleTarget&) const = default;
};

// Files in the memory of nodes: how many there are, and what calls moved to and from them.
struct MemoryUse {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemoryUse&) const = default;
};

struct ScheduleGlobal {
  Timing timing = Timing::kDelta;
  // Files that the application made are there, in full size, before the replay begins: its writes
  // go to blocks that are allocated already.
  bool write_overwrite = false;
  double size_scale = 1;  // that sizes and offsets were multiplied by, when the schedule was made
  // The same for files of some names; the last one that matches decides.
  std::vector<SizeScale> size_scales{};
  std::uint64_t keep_below = 0;  // bytes; calls of fewer kept their sizes
  double time_scale = 1;         // that times were multiplied by
  double repeat_scale = 1;       // that the number of time steps was multiplied by
  int ranks = 0;
  // Where there are some, files name no others.
  std::vector<ScheduleTarget> targets{};
  std::string source{};  // the trace directory
  bool source_whole = true;
  std::uint64_t source_events_missing = 0;
  std::vector<std::string> command{};   // the application's
  std::vector<std::string> left_out{};  // in words: what the trace has and the schedule has not
  MemoryUse in_memory{};                // as recorded
  // Only a schedule with calls of MPI-IO has it.
  std::optional<MpiTables> mpi{};
};

// By place in the schedule's list of files.
enum class FileNumber : std::uint32_t {};
inline constexpr FileNumber kNoFileNumber{0xFFFFFFFF};

enum class FileRole : std::uint8_t {
  kInput,    // read before it is written, if it is written at all
  kOutput,   // made by the application
  kUpdated,  // was there before, and is written
  kDirectory,
  kAbsent,  // only asked for, and not found
};

// Bytes of a file that had no blocks: they read as zeros.
struct Hole {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // one past the last byte
  bool operator==(const Hole&) const = default;
};

// A file that not all nodes of the job had in common lies below "@node/HOST", of the host that had
// it, or of the first of those that had it in common.
inline constexpr std::string_view kNodePrefix = "@node/";
inline std::string locationOnNode(std::string_view host, std::string_view location) {
  std::string result(kNodePrefix);
  const bool is_a_name = !host.empty() && host != "." && host != "..";
  result += is_a_name ? "" : "_";
  for (const char c : host) result += c == '/' ? '_' : c;
  if (location != ".") result.append("/").append(location);
  return result;
}
inline bool isOnNode(std::string_view location) { return location.starts_with(kNodePrefix); }

// A file that was in the memory of its node (core/event/memory_files.hpp) lies below "@memory",
// with its absolute path: "@memory/dev/shm/a", or "@node/HOST/@memory/dev/shm/a".
inline constexpr std::string_view kMemoryName = "@memory";
inline bool isInMemory(std::string_view location) {
  if (isOnNode(location)) {
    location.remove_prefix(kNodePrefix.size());
    const std::size_t slash = location.find('/');
    if (slash == location.npos) return false;
    location.remove_prefix(slash + 1);
  }
  return location.starts_with(kMemoryName) && location.size() > kMemoryName.size() &&
         location[kMemoryName.size()] == '/';
}

// Whether it can be the name of a target. `--target NAME=DIR` and `--map PATTERN=NAME:` give the
// other characters a meaning.
inline bool isTargetName(std::string_view name) {
  return !name.empty() && name.find_first_of(std::string_view("/=:\0", 4)) == name.npos;
}

struct ScheduleFile {
  // Names are bytes here, and text (core/base/printable.hpp) in the document.
  std::string location;  // below the target: "a/b", no "..", no leading "/"
  std::string source;    // the recorded absolute path
  FileRole role = FileRole::kOutput;
  bool exists = false;     // before the run
  std::uint64_t size = 0;  // bytes, before the run
  // Furthest byte that was read before the application wrote it; at most `size`.
  std::uint64_t read_before_written = 0;
  bool lines = false;  // read by lines: the content has to have its newlines where lines ended
  // Before the run, in order, apart from each other; what lies behind `size` does not count.
  std::vector<Hole> holes{};
  std::string target{};  // the name of the target that a replay puts it into; empty: not said
};

// A descriptor or stream: one open instance, numbered within its rank in the order of appearance.
// Not the system's number, which is used again after a close.
enum class Descriptor : std::int64_t {};
inline constexpr Descriptor kNoDescriptor{-1};

enum class Step : std::uint8_t {
  kCall,
  // "preopened": a descriptor that was open before the recording began; opened before the replay's
  // clock starts. Has `file`, `flags`, `offset` (its position) and the new descriptor.
  kPreopened,
  // "inherited": a forked child's copy of `fd`, taken by the process that the fork copied. Has `fd`
  // and the new descriptor; shares the file offset, as dup does. Not timed.
  kInherited,
  // "delay": no operation, but time: from the end of what it is `after` to its own end.
  kDelay,
};

inline constexpr std::int64_t kUnknownOffset = -1;

// Time that a thread needs by itself, on any storage, in ns: waiting for others is not in it.
struct Work {
  std::int64_t compute_ns = 0;
  std::int64_t communication_ns = 0;  // what MPI calls took without waiting

  std::int64_t total() const { return compute_ns + communication_ns; }
  Work operator+(const Work& other) const {
    return {compute_ns + other.compute_ns, communication_ns + other.communication_ns};
  }
  bool operator==(const Work&) const = default;
};

// Why an event waits for an event of another thread.
enum class Reason : std::uint8_t {
  kFile,    // both use a file or a descriptor
  kMpi,     // a message, or a call of several ranks
  kName,    // both use a name or a directory
  kThread,  // a thread or process that was started, or that another one waited for
};

// Whether waits for this reason follow communication, whose time they have.
constexpr bool isOfCommunication(Reason reason) {
  return reason == Reason::kMpi || reason == Reason::kThread;
}

// The order between threads that a schedule is given, or that a replay keeps of it.
enum class Order : std::uint8_t {
  kNone,
  kFile,  // that of calls that use the same file, name or descriptor
  kMpi,   // that of messages, calls of several ranks, threads and processes
  kAll,
};

constexpr bool keepsFiles(Order order) { return order == Order::kFile || order == Order::kAll; }
constexpr bool keepsMpi(Order order) { return order == Order::kMpi || order == Order::kAll; }
constexpr bool keeps(Order order, Reason reason) {
  const bool is_of_files = reason == Reason::kFile || reason == Reason::kName;
  return is_of_files ? keepsFiles(order) : keepsMpi(order);
}

struct Wait {
  std::uint64_t id = 0;  // of the event that has to be over; 0: the beginning of the run
  Reason reason = Reason::kFile;
  Work work{};  // between its end and the start of this one, at least
  bool operator==(const Wait&) const = default;
};

// The limits of a call that can be replayed: pieces of an iovec (UIO_MAXIOV of Linux), bytes of a
// stream's mode and of the name of an attribute (XATTR_NAME_MAX) where the call did not fail. A
// text that is longer than one of these fails by its first kLongestText bytes alone.
inline constexpr std::size_t kMostPieces = 1024;
inline constexpr std::size_t kLongestMode = 64;
inline constexpr std::size_t kLongestAttribute = 255;
inline constexpr std::size_t kLongestText = kLongestAttribute + 1;
inline constexpr std::size_t kLongestHints = 32 * 1024;

// Each name of a location is looked up, from the root of the tree.
inline constexpr std::uint16_t kAllLookups = 0xFFFF;
inline constexpr std::uint16_t kMostLookups = 2048;  // names in a path of 4 KiB

struct ScheduleEvent {
  Step step = Step::kCall;
  const calls::Row* row = nullptr;  // of a call
  std::int64_t start_ns = 0;        // since the beginning of the run
  std::int64_t end_ns = 0;
  bool failed = false;
  // The number or count that the call returned, or errno when it failed; 0 when it
  // failed for the end of the file. Not used when the call makes a descriptor: see new_fd.
  std::int64_t result = 0;
  bool at_least = false;  // of a line (fgets): so many bytes were read or more
  // Plain numbers by index in the row's arguments: flags, mode, sizes, whence, command, values.
  // Roles that have a member of their own below hold nothing here, except kOffset.
  std::array<std::int64_t, calls::kMaxArguments> arguments{};
  Descriptor fd = kNoDescriptor;      // kFd, kStream: what the call works on
  Descriptor source = kNoDescriptor;  // kFdSource: what copy_file_range and sendfile read from
  // kFdNew: the descriptor that the wished number stood for, kNoDescriptor when it was free.
  Descriptor replaced = kNoDescriptor;
  Descriptor new_fd = kNoDescriptor;  // what the call made (kNewFd, kNewStream, fcntl F_DUPFD)
  // kDirFd, kDirFdNew: what the path is relative to; kNoDescriptor: the working directory.
  Descriptor directory = kNoDescriptor;
  Descriptor new_directory = kNoDescriptor;
  // A call that failed for an empty path has none.
  FileNumber file = kNoFileNumber;      // kPath, kPathTemplate; preopened
  FileNumber new_file = kNoFileNumber;  // kPathNew; of a symbolic link (kLinkText): what it names
  // Names of the path of `file` and of `new_file` that the application had the system look up, on
  // the file system that holds the file: the last ones of the location, or more than it has.
  std::uint16_t lookups = kAllLookups;
  std::uint16_t new_lookups = kAllLookups;
  std::string text;           // kOpenMode: fopen's "r+", ...; kAttribute; hints of MPI-IO
  std::uint64_t request = 0;  // bytes asked for, of a read or write
  // Where in the file it reads or writes: the call's own offset argument, or the position that the
  // descriptor had, as far as it is known (not after O_APPEND, fscanf, or when threads compete).
  std::int64_t offset = kUnknownOffset;
  std::vector<std::uint64_t> pieces;  // bytes, of an iovec; requests that the call waits for
  // The phase that the event belongs to (core/model/phase_model.hpp); 0: none, or not known.
  int phase = 0;
  // Names this event for others to wait for; 0: no event does. Unique in the schedule.
  std::uint64_t id = 0;
  std::vector<Wait> after;
  // From the end of the thread's event before it, without waiting. Nothing: all of the time between
  // the two that was not spent waiting for events of `after`, as far as their ends tell.
  std::optional<Work> own;
};

// The argument with this role; `otherwise` when the call has none.
inline std::int64_t argumentOf(const ScheduleEvent& event, calls::Role role,
                               std::int64_t otherwise = 0) {
  const int index = calls::indexOf(*event.row, role);
  return index < 0 ? otherwise : event.arguments[static_cast<std::size_t>(index)];
}

// A recorded thread: of the rank's own process, or of one that it began.
struct ScheduleThread {
  int rank = 0;
  int thread = 0;  // 0, 1, ... within the rank
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::string host;
  // Between two events of the thread the recorder took this long, which is not think time.
  std::int64_t recorder_ns = 0;
  // The part of its time between calls in which it had a processor, from 0 to 1: it computed, and
  // did not sleep. Nothing where that was not looked at.
  std::optional<double> computing{};
};

// `computing` as documents have it, with two digits. All that write or compare it round it here:
// formats do not agree on what becomes of 0.125.
inline double computingWritten(double computing) {
  constexpr double kDigits = 100;
  return std::round(computing * kDigits) / kDigits;
}

}  // namespace omnio::model
