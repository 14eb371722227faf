// Words for what the table of calls and the system count in numbers.
#pragma once

#include <cstdint>
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

}  // namespace omnio::calls
