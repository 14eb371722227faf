// Words for what the table of calls and the system count in numbers, and the items of an event.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/calls/arguments.hpp"
#include "core/calls/table.hpp"

namespace omnio::calls {

// "open", "read", ..., as keys of documents too.
std::string_view className(calls::Class call_class);

// Whether this is the call's own name, or that of the plain call that it is a form of: open64 is
// named open, too.
bool isNamed(const calls::Row& row, std::string_view name);

// The row of a plain call; nullptr for a name that no call has.
const calls::Row* rowNamed(std::string_view name);

// Each appends the symbolic form, or the number where there is none.
void appendOpenFlags(std::string& out, std::uint64_t flags);  // O_WRONLY|O_CREAT
void appendAmode(std::string& out, std::uint64_t amode);      // MPI_MODE_CREATE|MPI_MODE_RDWR
void appendWhence(std::string& out, std::int64_t whence);     // SEEK_SET
void appendCommand(std::string& out, std::int64_t command);   // F_DUPFD, of fcntl
void appendLockType(std::string& out, std::int64_t type);     // F_WRLCK, of its locks
void appendDirFd(std::string& out, std::int64_t fd);          // AT_FDCWD
void appendErrno(std::string& out, std::int64_t number);      // ENOENT
// The number of a failed call: an errno, or the error class of an MPI call (mpi_errors.hpp).
void appendError(std::string& out, const calls::Row& row, std::int64_t number);  // MPI_ERR_IO

// The way back: each takes the symbolic form, or a number in decimal, octal (0...) or hexadecimal
// (0x...); nothing when it is neither.
std::optional<std::int64_t> openFlagsOf(std::string_view text);  // O_WRONLY|O_CREAT
std::optional<std::int64_t> amodeOf(std::string_view text);      // MPI_MODE_CREATE|MPI_MODE_RDWR
std::optional<std::int64_t> whenceOf(std::string_view text);
std::optional<std::int64_t> commandOf(std::string_view text);
std::optional<std::int64_t> lockCommandOf(std::string_view text);  // no other command
std::optional<std::int64_t> lockTypeOf(std::string_view text);
std::optional<std::int64_t> errnoOf(std::string_view text);
// Schedules from before have errnos with the numbers of MPI's classes: these are taken, too.
std::optional<std::int64_t> errorOf(std::string_view text, const calls::Row& row);
std::optional<std::int64_t> numberIn(std::string_view text);

// Calls `make` with each row of the table; the results by the numbers of the rows.
template <typename Make>
auto ofEachRow(Make make) {
  std::array<decltype(make(kTable[0])), kNumberLimit> made;
  for (const Row& row : kTable) {
    if (row.number != 0) made[row.number] = make(row);
  }
  return made;
}

// One of the `key=value` items of an event, derived from the call's row; shared by the text form
// and the JSON form, so that both use the same words.
struct Item {
  std::string_view key;
  ItemKind kind = ItemKind::kNumber;
  std::uint8_t argument = 0;  // index in the row's arguments, where it is one
};

// Sorted by key. A row of the table; the reference stays valid.
const std::vector<Item>& layoutOf(const calls::Row& row);

}  // namespace omnio::calls
