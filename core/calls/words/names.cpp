#include "core/calls/words/names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <map>
#include <string>

#include "core/calls/role.hpp"

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

namespace {

using Names = std::map<std::string, std::int64_t, std::less<>>;

// The names are stated once, in core/calls/words/names.cpp: what it says of each number is turned
// round here.
template <typename Append>
void addName(Names& names, Append append, std::int64_t number) {
  std::string name;
  append(name, number);
  if (!name.empty() && (name[0] < '0' || name[0] > '9') && name[0] != '-') {
    names.emplace(std::move(name), number);
  }
}

const Names& openFlagNames() {
  static const Names kNames = [] {
    Names names;
    const auto flag = [](std::string& out, std::int64_t number) {
      appendOpenFlags(out, static_cast<std::uint64_t>(number));
      constexpr std::string_view kReading = "O_RDONLY|";  // which has no bit of its own
      if (out.starts_with(kReading)) out.erase(0, kReading.size());
    };
    for (const std::int64_t mode : {O_RDONLY, O_WRONLY, O_RDWR}) addName(names, flag, mode);
    // Two flags consist of more than one bit; the names of their parts must not hide them.
    for (const std::int64_t whole : {O_SYNC, O_TMPFILE}) addName(names, flag, whole);
    for (int bit = 2; bit < 31; ++bit) addName(names, flag, std::int64_t{1} << bit);
    return names;
  }();
  return kNames;
}

template <typename Append>
Names namesUpTo(Append append, std::int64_t limit) {
  Names names;
  for (std::int64_t number = 0; number < limit; ++number) addName(names, append, number);
  return names;
}

std::optional<std::int64_t> find(const Names& names, std::string_view text) {
  const auto found = names.find(text);
  if (found != names.end()) return found->second;
  return numberIn(text);
}

}  // namespace

std::optional<std::int64_t> numberIn(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> openFlagsOf(std::string_view text) {
  std::int64_t flags = 0;
  while (true) {
    const std::size_t bar = text.find('|');
    const auto flag = find(openFlagNames(), text.substr(0, bar));
    if (!flag) return std::nullopt;
    flags |= *flag;
    if (bar == std::string_view::npos) return flags;
    text.remove_prefix(bar + 1);
  }
}

std::optional<std::int64_t> whenceOf(std::string_view text) {
  static const Names kNames = namesUpTo(appendWhence, 8);
  return find(kNames, text);
}

std::optional<std::int64_t> commandOf(std::string_view text) {
  static const Names kNames = namesUpTo(appendCommand, 2048);
  return find(kNames, text);
}

std::optional<std::int64_t> errnoOf(std::string_view text) {
  static const Names kNames = namesUpTo(appendErrno, 256);
  return find(kNames, text);
}

}  // namespace omnio::calls
