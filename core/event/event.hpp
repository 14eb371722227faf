// An event as readers see it: times in nanoseconds, descriptors and paths by name, bytes counted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/calls/table.hpp"
#include "core/event/call_stack.hpp"
#include "core/event/think_time.hpp"
#include "core/wire/definition.hpp"

namespace omnio::event {

// A file of one PathTable, by the order in which its path first came up.
enum class FileId : std::uint32_t {};
inline constexpr FileId kNoFile{0xFFFFFFFF};

// The path as a file's identity: "//" and "/./" are taken out and a "/" at the end is dropped. ".."
// stays, since what it leads to depends on links that only the traced system knew.
std::string normalisedPath(std::string_view absolute);

// The path with # in place of each number: "/run/dump.#.txt".
std::string withoutNumbers(std::string_view path);

// Files by number: each absolute path that occurs in a trace is stored once.
class PathTable {
 public:
  PathTable() = default;
  PathTable(const PathTable&) = delete;  // the index points into the paths
  PathTable& operator=(const PathTable&) = delete;

  FileId idOf(std::string_view absolute);
  // Lives as long as the table; empty for kNoFile.
  std::string_view path(FileId id) const;
  std::size_t size() const { return paths_.size(); }

 private:
  std::deque<std::string> paths_;  // a deque, since its elements never move
  std::unordered_map<std::string_view, FileId> index_;
};

// A path (or another text) that an event names.
struct Text {
  std::string_view absolute;
  std::string_view raw;   // as the application gave it
  FileId file = kNoFile;  // only where the text was used as a path
};

// The open file behind a descriptor or stream.
struct Handle {
  wire::HandleDefinition definition;
  Text path;
};

// A call of MPI-IO and the POSIX calls that the MPI library makes for it tell the same I/O. This
// says which of the two a reader counts.
enum class IoLayer : std::uint8_t { kPosix, kMpi };

// An event lives until its reader moves on; what it points to lives as long.
struct Event {
  const calls::Row* row = nullptr;
  std::int64_t start_ns = 0;  // CLOCK_MONOTONIC of the reference node
  std::int64_t end_ns = 0;
  // The time right after the thread's event before, in which the recorder worked. 0 where that was
  // too short to be noted.
  std::int64_t recorder_ns = 0;
  bool failed = false;
  unsigned depth = 0;  // 0: the application's own call; else issued by a library below one
  // By index in the row's arguments; see wire::RawEvent. Numbers as the application gave them,
  // except for texts, handles and iovecs.
  std::array<std::int64_t, calls::kMaxArguments> arguments{};
  std::array<Text, calls::kMaxArguments> texts{};  // of text arguments
  const Handle* handle = nullptr;                  // the call works on it
  const Handle* new_handle = nullptr;              // the call made it
  FileId file = kNoFile;                           // the file the call works on
  std::uint64_t request = 0;                       // bytes asked for
  std::int64_t result = 0;                         // errno (or the MPI error code) when failed
  std::uint64_t bytes = 0;                         // moved by a read or write
  bool at_least = false;                           // it moved `bytes` or more (wire::atLeast)
  std::string_view pieces;                         // varints: the sizes of an iovec's pieces
  // Where the call was made; nullptr when it was not recorded (`omnio trace --callstack`). It lives
  // as long as the reader of the log.
  const CallStack* stack = nullptr;
  // Where the reader looked for it (IoReader): the application's call of MPI-IO that a library made
  // this call for. It lives as long as this event.
  const Event* outer = nullptr;

  // Nothing more to read: no error, although the call reports it like one.
  bool endOfFile() const {
    const bool reads_stream =
        row->call_class == calls::Class::kRead && calls::has(*row, calls::Role::kStream);
    return failed && result == 0 && (reads_stream || row->result == calls::Result::kChar);
  }
  // The descriptor the call works on or made, -1 when there is none.
  int fd() const {
    const Handle* h = handle != nullptr ? handle : new_handle;
    return h != nullptr ? h->definition.fd : -1;
  }
};

// Whether the call works on files and directories alone, not on pipes, sockets or devices.
bool isOfStorage(const Event& event);

// The first argument with this role, 0 when the call has none.
inline std::int64_t argumentOf(const Event& event, calls::Role role) {
  const int index = calls::indexOf(*event.row, role);
  return index < 0 ? 0 : event.arguments[static_cast<std::size_t>(index)];
}

// Whether the call is of a class that transfers data.
constexpr bool transfersData(const calls::Row& row) {
  return row.call_class == calls::Class::kRead || row.call_class == calls::Class::kWrite;
}
inline bool transfersData(const Event& event) { return transfersData(*event.row); }

// Whether the call asks for bytes, which it may leave to another one to move (aio_read).
constexpr bool asksForBytes(const calls::Row& row) {
  return transfersData(row) ||
         (row.call_class == calls::Class::kAsync && calls::has(row, calls::Role::kSize));
}

// Whether a call of this kind moves bytes, and its event tells how many.
constexpr bool countsBytes(const calls::Row& row) {
  using calls::Result;
  if (!transfersData(row)) return false;
  switch (row.result) {
    case Result::kBytes:
    case Result::kItems:
    case Result::kCount:
    case Result::kText:
    case Result::kChar:
    case Result::kLine:
    case Result::kMpi:
      return true;
    default:
      return false;
  }
}

// Bytes that an event moved; 0 for calls that do not count them, and for failed ones.
std::uint64_t bytesMoved(const Event& event);

// Where events come from, one after the other: a log, or what is left of one behind a filter.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;  // events point into their source
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // The next event, or nullptr at the end. It is valid until the next call.
  virtual const Event* next() = 0;

  // Events that are missing right before the one that next() returned last (after the end: at the
  // end of the log, as far as that can be known).
  virtual std::uint64_t missingBefore() const = 0;

  // Events of chunks that looked whole and could not be decoded to their end.
  virtual std::uint64_t undecodable() const = 0;

  // Of all that was read so far, also of events that the source leaves out.
  virtual ThinkTime thinkTime() const = 0;
};

}  // namespace omnio::event
