// Words for what the table of calls and the system count in numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/calls/role.hpp"

namespace omnio::calls {

// "open", "read", ..., as keys of documents too.
std::string_view className(calls::Class call_class);

// Each appends the symbolic form, or the number where there is none.
void appendOpenFlags(std::string& out, std::uint64_t flags);  // O_WRONLY|O_CREAT
void appendAmode(std::string& out, std::uint64_t amode);      // MPI_MODE_CREATE|MPI_MODE_RDWR
void appendWhence(std::string& out, std::int64_t whence);     // SEEK_SET
void appendCommand(std::string& out, std::int64_t command);   // F_DUPFD, of fcntl
void appendDirFd(std::string& out, std::int64_t fd);          // AT_FDCWD
void appendErrno(std::string& out, std::int64_t number);      // ENOENT

// The way back from the words of core/calls/words/names.hpp to numbers.
// Each takes the symbolic form, or a number in decimal, octal (0...) or hexadecimal (0x...);
// nothing when it is neither.
std::optional<std::int64_t> openFlagsOf(std::string_view text);  // O_WRONLY|O_CREAT
std::optional<std::int64_t> whenceOf(std::string_view text);
std::optional<std::int64_t> commandOf(std::string_view text);
std::optional<std::int64_t> errnoOf(std::string_view text);
std::optional<std::int64_t> numberIn(std::string_view text);

}  // namespace omnio::calls
