#include "core/calls/words/names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <iterator>

#include "core/calls/mpi_values.hpp"

namespace omnio::calls {
namespace {

struct Name {
  std::int64_t value;
  std::string_view text;
};

// Flags that contain others come first: O_SYNC has the bits of O_DSYNC, O_TMPFILE of O_DIRECTORY.
constexpr Name kOpenFlags[] = {
    {O_CREAT, "O_CREAT"},       {O_EXCL, "O_EXCL"},       {O_NOCTTY, "O_NOCTTY"},
    {O_TRUNC, "O_TRUNC"},       {O_APPEND, "O_APPEND"},   {O_NONBLOCK, "O_NONBLOCK"},
    {O_SYNC, "O_SYNC"},         {O_DSYNC, "O_DSYNC"},     {O_ASYNC, "O_ASYNC"},
    {O_DIRECT, "O_DIRECT"},     {O_TMPFILE, "O_TMPFILE"}, {O_DIRECTORY, "O_DIRECTORY"},
    {O_NOFOLLOW, "O_NOFOLLOW"}, {O_NOATIME, "O_NOATIME"}, {O_CLOEXEC, "O_CLOEXEC"},
    {O_PATH, "O_PATH"},
};

constexpr Name kAmodes[] = {
    {calls::kModeCreate, "MPI_MODE_CREATE"},
    {calls::kModeReadOnly, "MPI_MODE_RDONLY"},
    {calls::kModeWriteOnly, "MPI_MODE_WRONLY"},
    {calls::kModeReadWrite, "MPI_MODE_RDWR"},
    {calls::kModeDeleteOnClose, "MPI_MODE_DELETE_ON_CLOSE"},
    {calls::kModeUniqueOpen, "MPI_MODE_UNIQUE_OPEN"},
    {calls::kModeExclusive, "MPI_MODE_EXCL"},
    {calls::kModeAppend, "MPI_MODE_APPEND"},
    {calls::kModeSequential, "MPI_MODE_SEQUENTIAL"},
};

constexpr Name kWhence[] = {{SEEK_SET, "SEEK_SET"},
                            {SEEK_CUR, "SEEK_CUR"},
                            {SEEK_END, "SEEK_END"},
                            {SEEK_DATA, "SEEK_DATA"},
                            {SEEK_HOLE, "SEEK_HOLE"}};

constexpr Name kCommands[] = {
    {F_DUPFD, "F_DUPFD"},           {F_GETFD, "F_GETFD"},
    {F_SETFD, "F_SETFD"},           {F_GETFL, "F_GETFL"},
    {F_SETFL, "F_SETFL"},           {F_GETLK, "F_GETLK"},
    {F_SETLK, "F_SETLK"},           {F_SETLKW, "F_SETLKW"},
    {F_SETOWN, "F_SETOWN"},         {F_GETOWN, "F_GETOWN"},
    {F_OFD_GETLK, "F_OFD_GETLK"},   {F_OFD_SETLK, "F_OFD_SETLK"},
    {F_OFD_SETLKW, "F_OFD_SETLKW"}, {F_DUPFD_CLOEXEC, "F_DUPFD_CLOEXEC"},
    {F_SETLEASE, "F_SETLEASE"},     {F_GETLEASE, "F_GETLEASE"},
    {F_SETPIPE_SZ, "F_SETPIPE_SZ"}, {F_GETPIPE_SZ, "F_GETPIPE_SZ"},
    {F_ADD_SEALS, "F_ADD_SEALS"},   {F_GET_SEALS, "F_GET_SEALS"},
};

void appendNumber(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

template <std::size_t kCount>
void appendName(std::string& out, const Name (&names)[kCount], std::int64_t value) {
  for (const Name& name : names) {
    if (name.value == value) {
      out += name.text;
      return;
    }
  }
  appendNumber(out, value);
}

// Appends the names of the bits that `flags` has, and what is left of it as a number.
template <std::size_t kCount>
void appendBits(std::string& out, const Name (&names)[kCount], std::uint64_t flags,
                bool has_begun) {
  const auto separate = [&out, &has_begun] {
    if (has_begun) out += '|';
    has_begun = true;
  };
  for (const Name& flag : names) {
    const auto bits = static_cast<std::uint64_t>(flag.value);
    if ((flags & bits) != bits) continue;
    separate();
    out += flag.text;
    flags &= ~bits;
  }
  if (flags == 0 && has_begun) return;
  separate();
  fmt::format_to(std::back_inserter(out), "{:#x}", flags);
}

}  // namespace

std::string_view className(calls::Class call_class) {
  constexpr std::array<std::string_view, calls::kClassCount> kNames = {
      "open", "close",    "read",    "write",    "seek",
      "sync", "metadata", "mapping", "mpi_file", "mpi_sync"};
  static_assert(!kNames.back().empty() &&
                static_cast<int>(calls::Class::kMpiSync) == calls::kClassCount - 1);
  return kNames[static_cast<std::size_t>(call_class)];
}

void appendOpenFlags(std::string& out, std::uint64_t flags) {
  constexpr std::string_view kAccess[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
  out += kAccess[flags & O_ACCMODE];
  appendBits(out, kOpenFlags, flags & ~std::uint64_t{O_ACCMODE}, true);
}

void appendAmode(std::string& out, std::uint64_t amode) { appendBits(out, kAmodes, amode, false); }

void appendWhence(std::string& out, std::int64_t whence) { appendName(out, kWhence, whence); }

void appendCommand(std::string& out, std::int64_t command) { appendName(out, kCommands, command); }

void appendDirFd(std::string& out, std::int64_t fd) {
  if (fd == AT_FDCWD) {
    out += "AT_FDCWD";
  } else {
    appendNumber(out, fd);
  }
}

void appendErrno(std::string& out, std::int64_t number) {
  const char* name =
      number > 0 && number < 4096 ? strerrorname_np(static_cast<int>(number)) : nullptr;
  if (name != nullptr) {
    out += name;
  } else {
    appendNumber(out, number);
  }
}

}  // namespace omnio::calls
