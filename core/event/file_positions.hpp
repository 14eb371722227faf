// Where POSIX and stream calls read and write. A call says its offset, or it goes on where the
// calls before it left its open file description (POSIX.1-2017, XSH 2.5.1 and lseek).
//
// A reader keeps one OpenFile for each open file description and one FileSize for each file, shows
// follow() every event on them in the order of time, and decides by itself which handle of which
// process stands for which description: duplicates and inherited descriptors share theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/event/event.hpp"

namespace omnio::event {

// An open file description: the file offset and what else descriptors share.
struct OpenFile {
  bool appends = false;       // O_APPEND: a write goes to the end of the file
  bool is_at_end = false;     // it was sought, and nothing tells how far that is from the start
  bool is_known = true;       // whether the position is that of the application
  std::int64_t position = 0;  // of a descriptor that was open before: counted from there
};

struct FileSize {
  std::int64_t bytes = 0;  // the furthest byte seen
  bool is_known = false;   // it is the size: the file began empty, or was cut to a length

  void set(std::int64_t size) { *this = {size, true}; }
  void reaches(std::int64_t end) {
    if (end > bytes) bytes = end;
  }
};

// One read or write.
struct Transfer {
  std::int64_t offset = 0;
  bool is_known = false;    // else the offset is a guess
  bool at_end = false;      // appended, or written where a seek from the end led: the offset is the
                            // furthest byte seen until then
  bool bytes_known = true;  // not of the scanf family
  std::uint64_t bytes = 0;
  std::int64_t size_before = 0;  // FileSize::bytes before the event

  // The offset, unless the file's end at that moment decided it: others may append as well.
  std::optional<std::uint64_t> fixedOffset() const {
    if (!is_known || at_end || offset < 0) return {};
    return static_cast<std::uint64_t>(offset);
  }
};

// Flags that a call asks of open, also where a stream's mode or the call itself says them. `flags`
// is the call's argument of that name, `mode` that of fopen and its like.
int openFlags(const calls::Row& row, std::int64_t flags, std::string_view mode);
int openFlags(const Event& event);

// The flags that a description has after F_SETFL, by the arguments of the call. Nothing of others.
std::optional<std::int64_t> flagsSet(const calls::Row& row, std::int64_t command,
                                     std::int64_t flags);

// Moves the position and the size as the event did. Returns the transfer of a read or write.
std::optional<Transfer> follow(const Event& event, OpenFile& file, FileSize& size);

// Whether the call reads or writes at the position of its descriptor, and moves it: it has no
// offset, or one that stands for the position.
bool isAtPosition(const Event& event);
// The same of the descriptor that a copy (sendfile, copy_file_range) reads from.
bool isSourceAtPosition(const Event& event);

// Moves the position of the descriptor that a copy read from, where it was read there.
Transfer followSource(const Event& event, OpenFile& source, FileSize& size);

}  // namespace omnio::event
