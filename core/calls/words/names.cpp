#include "core/calls/words/names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string>

#include "core/calls/lock_commands.hpp"
#include "core/calls/mpi_errors.hpp"
#include "core/calls/role.hpp"

namespace omnio::calls {
namespace {

struct Name {
  std::int64_t value;
  std::string_view text;
};

constexpr Name kAccessModes[] = {
    {O_RDONLY, "O_RDONLY"}, {O_WRONLY, "O_WRONLY"}, {O_RDWR, "O_RDWR"}};

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

constexpr Name kLockTypes[] = {{F_RDLCK, "F_RDLCK"}, {F_WRLCK, "F_WRLCK"}, {F_UNLCK, "F_UNLCK"}};

constexpr int kErrnoLimit = 4096;  // the kernel's own

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

template <std::size_t kCount>
std::optional<std::int64_t> find(const Name (&names)[kCount], std::string_view text) {
  for (const Name& name : names) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

// The value of a name, or the number that the text is.
template <std::size_t kCount>
std::optional<std::int64_t> valueOf(const Name (&names)[kCount], std::string_view text) {
  const auto value = find(names, text);
  return value ? value : numberIn(text);
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
      "open",     "close",   "read",  "write",    "seek",     "sync",
      "metadata", "mapping", "async", "mpi_file", "mpi_sync", "thread_sync"};
  static_assert(!kNames.back().empty() &&
                static_cast<int>(calls::Class::kThreadSync) == calls::kClassCount - 1);
  return kNames[static_cast<std::size_t>(call_class)];
}

bool isNamed(const calls::Row& row, std::string_view name) {
  return row.name == name ||
         (row.plain != calls::CallId::none && calls::rowOf(row.plain).name == name);
}

const calls::Row* rowNamed(std::string_view name) {
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0 && isNamed(row, name)) return &row;
  }
  return nullptr;
}

void appendOpenFlags(std::string& out, std::uint64_t flags) {
  const auto mode = flags & O_ACCMODE;
  out += mode < std::size(kAccessModes) ? kAccessModes[mode].text : "O_ACCMODE";
  appendBits(out, kOpenFlags, flags & ~std::uint64_t{O_ACCMODE}, true);
}

void appendAmode(std::string& out, std::uint64_t amode) { appendBits(out, kAmodes, amode, false); }

void appendWhence(std::string& out, std::int64_t whence) { appendName(out, kWhence, whence); }

void appendCommand(std::string& out, std::int64_t command) { appendName(out, kCommands, command); }

void appendLockType(std::string& out, std::int64_t type) { appendName(out, kLockTypes, type); }

void appendDirFd(std::string& out, std::int64_t fd) {
  if (fd == AT_FDCWD) {
    out += "AT_FDCWD";
  } else {
    appendNumber(out, fd);
  }
}

void appendErrno(std::string& out, std::int64_t number) {
  const char* name =
      number > 0 && number < kErrnoLimit ? strerrorname_np(static_cast<int>(number)) : nullptr;
  if (name != nullptr) {
    out += name;
  } else {
    appendNumber(out, number);
  }
}

void appendError(std::string& out, const Row& row, std::int64_t number) {
  if (row.api != Api::kMpi) return appendErrno(out, number);
  for (const MpiError& error : kMpiErrors) {
    if (error.open_mpi == number) {
      out += error.name;
      return;
    }
  }
  appendNumber(out, number);
}

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

namespace {

// "A|B": the values of the words together; nothing where `value_of` does not know one.
template <typename ValueOf>
std::optional<std::int64_t> bitsOf(std::string_view text, ValueOf value_of) {
  std::int64_t bits = 0;
  while (true) {
    const std::size_t bar = text.find('|');
    const std::optional<std::int64_t> value = value_of(text.substr(0, bar));
    if (!value) return std::nullopt;
    bits |= *value;
    if (bar == std::string_view::npos) return bits;
    text.remove_prefix(bar + 1);
  }
}

}  // namespace

std::optional<std::int64_t> openFlagsOf(std::string_view text) {
  return bitsOf(text, [](std::string_view word) {
    const auto access = find(kAccessModes, word);
    return access ? access : valueOf(kOpenFlags, word);
  });
}

std::optional<std::int64_t> amodeOf(std::string_view text) {
  return bitsOf(text, [](std::string_view word) { return valueOf(kAmodes, word); });
}

std::optional<std::int64_t> whenceOf(std::string_view text) { return valueOf(kWhence, text); }

std::optional<std::int64_t> commandOf(std::string_view text) { return valueOf(kCommands, text); }
std::optional<std::int64_t> lockCommandOf(std::string_view text) {
  const auto command = commandOf(text);
  return command && isOfLocks(*command) ? command : std::nullopt;
}
std::optional<std::int64_t> lockTypeOf(std::string_view text) { return valueOf(kLockTypes, text); }

std::optional<std::int64_t> errnoOf(std::string_view text) {
  for (int number = 1; number < kErrnoLimit; ++number) {
    const char* const name = strerrorname_np(number);
    if (name != nullptr && text == name) return number;
  }
  return numberIn(text);
}

std::optional<std::int64_t> errorOf(std::string_view text, const Row& row) {
  if (row.api == Api::kMpi) {
    for (const MpiError& error : kMpiErrors) {
      if (error.name == text) return error.open_mpi;
    }
  }
  return errnoOf(text);
}

namespace {

Item itemOf(const Row& row, std::uint8_t index) {
  const Role role = row.arguments[index];
  Item item{formOf(role).key, formOf(role).item, index};
  if (role == Role::kFlags && opensByFlags(row)) item.kind = ItemKind::kOpenFlags;
  if (role == Role::kSize && sizeIsRoom(row)) item.key = kRoomKey;
  return item;
}

std::vector<Item> makeLayout(const calls::Row& row) {
  std::vector<Item> items;
  bool names_path = false;
  bool has_handle = false;
  for (std::uint8_t i = 0; i < row.argument_count; ++i) {
    const Item item = itemOf(row, i);
    if (item.kind == ItemKind::kNone) continue;
    names_path = names_path || item.key == "path";
    has_handle = has_handle || item.kind == ItemKind::kFd || item.kind == ItemKind::kFileHandle;
    items.push_back(item);
  }
  const bool makes_handle =
      row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream;
  if (!names_path && (has_handle || makes_handle)) items.push_back({"path", ItemKind::kHandlePath});
  items.push_back({"depth", ItemKind::kDepth});
  items.push_back({"errno", ItemKind::kErrno});
  if (row.result == calls::Result::kLine) items.push_back({"at_least", ItemKind::kAtLeast});
  if (row.result != calls::Result::kNone) items.push_back({"result", ItemKind::kResult});
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
  return items;
}

}  // namespace

const std::vector<Item>& layoutOf(const calls::Row& row) {
  static const auto kLayouts = ofEachRow(makeLayout);
  return kLayouts[row.number];
}

}  // namespace omnio::calls
