#include "core/event/file_positions.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/base/integers.hpp"

namespace omnio::event {
namespace {

using base::saturatingSum;
using calls::CallId;
using calls::Effect;
using calls::Role;

void moveTo(OpenFile& file, std::int64_t position) {
  file.position = position;
  file.is_known = true;
  file.is_at_end = false;
}

void seek(const Event& event, OpenFile& file, const FileSize& size) {
  if (event.row->result == calls::Result::kPosition) {  // lseek, ftell
    moveTo(file, event.result);
    return;
  }
  if (event.row->plain == CallId::rewind) {
    moveTo(file, 0);
    return;
  }
  if (event.row->plain == CallId::fgetpos) return;
  if (!calls::has(*event.row, Role::kWhence)) {  // fsetpos: where to is not recorded
    file.is_known = file.is_at_end = false;
    return;
  }
  const std::int64_t offset = argumentOf(event, Role::kOffset);
  switch (argumentOf(event, Role::kWhence)) {
    case SEEK_SET:
      moveTo(file, offset);
      break;
    case SEEK_CUR:
      file.position = saturatingSum(file.position, offset);
      file.is_at_end = file.is_at_end && offset == 0;
      break;
    default:  // SEEK_END
      file.position = saturatingSum(size.bytes, offset);
      file.is_known = size.is_known;
      file.is_at_end = !size.is_known && offset == 0;
  }
}

// Changes position and size as the calls do that neither seek nor transfer.
void change(const Event& event, OpenFile& file, FileSize& size) {
  if (event.row->plain == CallId::ungetc) {
    // In front of the first byte the position is unspecified (XSH ungetc).
    if (file.position > 0) --file.position;
  } else if (calls::does(*event.row, Effect::kSetsLength)) {
    size.set(argumentOf(event, Role::kLength));
  } else if (calls::does(*event.row, Effect::kReservesSpace)) {
    const std::int64_t flags = argumentOf(event, Role::kFlags);
    if ((flags & FALLOC_FL_KEEP_SIZE) != 0) return;
    if ((flags & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0) {
      size.is_known = false;
      return;
    }
    size.reaches(saturatingSum(argumentOf(event, Role::kOffset), argumentOf(event, Role::kLength)));
  } else if (const auto flags = flagsSet(*event.row, argumentOf(event, Role::kCommand),
                                         argumentOf(event, Role::kNumber))) {
    file.appends = (*flags & O_APPEND) != 0;
  }
}

// Moves by what was transferred at the position.
Transfer moveBy(const Event& event, OpenFile& file, FileSize& size) {
  Transfer transfer{.offset = file.position,
                    .is_known = file.is_known,
                    .bytes = event.bytes,
                    .size_before = size.bytes};
  file.position = saturatingSum(file.position, static_cast<std::int64_t>(event.bytes));
  // A read that finds nothing may be beyond the end.
  if (file.is_known && event.bytes > 0) size.reaches(file.position);
  return transfer;
}

}  // namespace

int openFlags(const calls::Row& row, std::int64_t flags, std::string_view mode) {
  if (row.plain == CallId::creat) return O_CREAT | O_WRONLY | O_TRUNC;
  if (row.plain == CallId::opendir) return O_RDONLY | O_DIRECTORY;
  if (calls::has(row, Role::kPathTemplate)) return O_CREAT | O_EXCL | O_RDWR;
  if (!calls::has(row, Role::kOpenMode)) return static_cast<int>(flags);
  const bool plus = mode.find('+') != std::string_view::npos;
  int said = plus ? O_RDWR : O_WRONLY;
  if (mode.starts_with('w')) said |= O_CREAT | O_TRUNC;
  if (mode.starts_with('a')) said |= O_CREAT | O_APPEND;
  if (mode.starts_with('r') && !plus) said = O_RDONLY;
  if (mode.find('x') != std::string_view::npos) said |= O_EXCL;
  return said;
}

int openFlags(const Event& event) {
  const int mode = calls::indexOf(*event.row, Role::kOpenMode);
  return openFlags(*event.row, argumentOf(event, Role::kFlags),
                   mode < 0 ? std::string_view() : event.texts[static_cast<std::size_t>(mode)].raw);
}

std::optional<std::int64_t> flagsSet(const calls::Row& row, std::int64_t command,
                                     std::int64_t flags) {
  if (!calls::has(row, Role::kCommand) || command != F_SETFL) return {};
  return flags;
}

std::optional<Transfer> follow(const Event& event, OpenFile& file, FileSize& size) {
  const calls::Row& row = *event.row;
  if (!transfersData(event)) {
    if (event.failed) return {};
    if (row.call_class == calls::Class::kSeek) {
      seek(event, file, size);
    } else {
      change(event, file, size);
    }
    return {};
  }
  const bool writes = row.call_class == calls::Class::kWrite;
  if (!isAtPosition(event)) {
    OpenFile there{.position = argumentOf(event, Role::kOffset)};
    return moveBy(event, there, size);
  }
  if (!countsBytes(row)) {  // fscanf: how far it went is not told, also when it failed
    const Transfer transfer{.offset = file.position,
                            .is_known = file.is_known,
                            .bytes_known = false,
                            .size_before = size.bytes};
    file.is_known = file.is_at_end = false;
    return transfer;
  }
  const bool at_end = writes && (file.appends || file.is_at_end);
  // Others have written behind the end that was sought: the file is longer by now.
  if (!writes && event.bytes > 0) file.is_at_end = false;
  if (at_end) {
    file.position = size.bytes;
    file.is_known = true;
  }
  Transfer transfer = moveBy(event, file, size);
  transfer.at_end = at_end;
  if (at_end) file.is_known = size.is_known;
  if (writes && !transfer.is_known && event.bytes > 0) size.is_known = false;
  return transfer;
}

bool isAtPosition(const Event& event) {
  if (!transfersData(event)) return false;
  const int offset = calls::indexOf(*event.row, Role::kOffset);
  return offset < 0 || (event.arguments[static_cast<std::size_t>(offset)] == -1 &&
                        calls::does(*event.row, Effect::kMinusOneIsThePosition));
}

bool isSourceAtPosition(const Event& event) { return argumentOf(event, Role::kSourceOffset) == -1; }

Transfer followSource(const Event& event, OpenFile& source, FileSize& size) {
  if (!isSourceAtPosition(event)) {
    OpenFile there{.position = argumentOf(event, Role::kSourceOffset)};
    return moveBy(event, there, size);
  }
  return moveBy(event, source, size);
}

}  // namespace omnio::event
