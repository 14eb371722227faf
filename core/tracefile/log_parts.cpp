#include "core/tracefile/log_parts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>
#include <tuple>

#include "core/base/printable.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/container.hpp"
#include "core/wire/notes.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

// Takes a decimal number off the front.
bool takeNumber(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool takeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool isSound(const wire::LogPartHeader& header, const PartFile& file, std::uint64_t file_bytes) {
  const std::size_t length = strnlen(header.name, sizeof header.name);
  const std::string_view name(header.name, length);
  const bool is_log = header.kind == wire::LogPartKind::kLog;
  const bool is_ours =
      is_log ? name.ends_with(wire::kContainerSuffix)
             : name.ends_with(wire::kProcessesSuffix) || name.ends_with(wire::kUntracedSuffix);
  return header.magic == wire::kLogPartMagic && header.run == file.owner.run &&
         header.token == file.owner.token && header.number == file.number &&
         header.supervisor.pid == file.supervisor && header.bytes > 0 &&
         header.bytes <= wire::kMaxPartBytes &&
         header.bytes == file_bytes - sizeof(wire::LogPartHeader) &&
         header.offset <= wire::kMaxPartOffset && (is_log || header.offset == 0) &&
         length < sizeof header.name && is_ours && name.front() != '.' &&
         name.find('/') == name.npos;
}

}  // namespace

std::optional<PartFile> partFileOf(const fs::path& path) {
  const std::string name = path.filename().native();
  const auto owner = ringNameOf(name);
  if (!owner) return {};
  PartFile part{.path = path, .owner = *owner};
  std::string_view rest = name;
  rest.remove_prefix(rest.rfind('-', rest.rfind('.')) + 1);
  if (!takeNumber(rest, part.number)) return {};
  part.is_finished = takeWord(rest, wire::kPartInfix);
  if (!part.is_finished && !takeWord(rest, wire::kUnfinishedPartInfix)) return {};
  if (!takeNumber(rest, part.supervisor) || !rest.empty()) return {};
  return part;
}

std::vector<PartFile> partFiles(const std::vector<fs::path>& directories,
                                const TraceIdentity& trace) {
  std::vector<PartFile> files;
  for (const fs::path& path : ringFiles(directories)) {
    auto file = partFileOf(path);
    if (file && trace.isCandidate(file->owner)) files.push_back(std::move(*file));
  }
  std::ranges::sort(files, {},
                    [](const PartFile& file) { return std::tuple(file.owner.token, file.number); });
  return files;
}

LogParts::LogParts(fs::path directory, IsWanted is_wanted, OnTaken on_taken,
                   const std::map<std::uint64_t, std::string>& containers)
    : directory_(std::move(directory)),
      opened_(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      is_wanted_(std::move(is_wanted)),
      on_taken_(std::move(on_taken)) {
  for (const auto& [token, name] : containers) containers_[token].name = name;
}

std::size_t LogParts::take(const std::vector<PartFile>& files, bool is_last) {
  return static_cast<std::size_t>(std::ranges::count_if(
      files, [&](const PartFile& file) { return file.is_finished && takeOne(file, is_last); }));
}

void LogParts::removeUnfinished(const std::vector<PartFile>& files) {
  for (const PartFile& file : files) {
    struct stat status {};
    const bool is_cut = lstat(file.path.c_str(), &status) == 0 && status.st_size == 0;
    if ((is_cut || !file.is_finished) && hasWriter(file.path) == false) {
      ::unlink(file.path.c_str());
    }
  }
}

bool LogParts::takeOne(const PartFile& file, bool is_last) {
  base::Descriptor opened(::open(file.path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  // The lock keeps a second collector away, which finds afterwards that the file has no name.
  if (!opened || flock(opened.get(), LOCK_EX | LOCK_NB) != 0 || fstat(opened.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_size == 0) {
    return false;
  }
  const int fd = opened.get();
  const base::File part(std::move(opened));
  wire::LogPartHeader header;
  if (part.readAt(0, &header, sizeof header) != sizeof header ||
      !isSound(header, file, static_cast<std::uint64_t>(status.st_size))) {
    return remove(file);
  }
  if (!is_wanted_(header)) return false;
  const std::pair by(header.token, status.st_uid);
  if (refused_.contains(by) || !isAllowed(status.st_uid)) {
    refused_.insert(by);
    sayOnce("refused",
            fmt::format("{}: process {} of user {} may not write there; its log is lost",
                        base::printable(directory_.native()), header.pid, status.st_uid));
    const bool is_awaited = header.kind == wire::LogPartKind::kLog && header.offset == 0;
    if (!is_awaited || ftruncate(fd, 0) != 0) ::unlink(file.path.c_str());
    return false;
  }
  std::string bytes(header.bytes, '\0');
  int error = EIO;
  if (part.readAt(sizeof header, bytes.data(), bytes.size()) == bytes.size()) {
    error = header.kind == wire::LogPartKind::kNotes ? appendNotes(header.name, bytes)
                                                     : writeLog(header, bytes);
  }
  if (error == EINVAL || (error == EAGAIN && is_last)) return remove(file);
  if (error == EAGAIN) return false;
  if (error != 0) {
    sayOnce("failed",
            fmt::format("{}/{}: {}; what processes leave for it stays in {}: free space and run "
                        "`omnio collect {}`",
                        base::printable(directory_.native()), base::printable(header.name),
                        std::strerror(error), base::printable(file.path.parent_path().native()),
                        base::printable(directory_.native())));
    return false;
  }
  on_taken_(header, status.st_uid);
  ::unlink(file.path.c_str());
  return true;
}

bool LogParts::remove(const PartFile& file) {
  sayOnce("damaged", fmt::format("{}: it has nothing that belongs to the trace, and was removed",
                                 base::printable(file.path.native())));
  ::unlink(file.path.c_str());
  return false;
}

// Those who may write the directory, and users that a process of the trace said it became.
bool LogParts::isAllowed(uid_t user) {
  if (user == geteuid() || allowed_.contains(user)) return true;
  TraceIdentity identity = TraceIdentity::of(directory_);
  const auto containers = containersIn(directory_);
  if (!containers) return false;
  for (const fs::path& path : *containers) {
    if (const auto process = openContainer(path)) admitOwners(identity, *process);
  }
  if (!identity.isOwner(user)) return false;
  allowed_.insert(user);
  return true;
}

int LogParts::appendNotes(const char* name, const std::string& bytes) const {
  const base::Descriptor file(
      ::openat(opened_.get(), name,
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  return file && ::write(file.get(), bytes.data(), bytes.size()) > 0 ? 0 : errno;
}

// EAGAIN: its container is not there yet.
int LogParts::writeLog(const wire::LogPartHeader& header, const std::string& bytes) {
  const auto known = containers_.find(header.token);
  if (known == containers_.end()) return header.offset == 0 ? begin(header, bytes) : EAGAIN;
  Container& container = known->second;
  if (header.offset < wire::kContainerHeaderBytes) {
    if (header.number < container.last_account) return 0;  // it came late
    container.last_account = header.number;
  }
  const base::Descriptor file(::openat(opened_.get(), container.name.c_str(),
                                       O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file ? base::writeAll(file.get(), bytes.data(), bytes.size(), header.offset) : errno;
}

int LogParts::begin(const wire::LogPartHeader& header, const std::string& bytes) {
  wire::ContainerHeader start;
  if (bytes.size() < wire::kContainerHeaderBytes) return EINVAL;
  std::memcpy(&start, bytes.data(), sizeof start);
  if (start.magic != wire::kContainerMagic || start.token != header.token ||
      !wire::isWhole(start)) {
    return EINVAL;
  }
  // <host>.<pid>.<image>.omnio: the process could not see which images are there.
  std::string_view stem = header.name;
  stem.remove_suffix(std::string_view(wire::kContainerSuffix).size());
  stem = stem.substr(0, stem.rfind('.'));
  constexpr int kImages = 100000;
  for (int image = 0; image < kImages; ++image) {
    const std::string name = fmt::format("{}.{}{}", stem, image, wire::kContainerSuffix);
    const base::Descriptor file(
        ::openat(opened_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file && errno == EEXIST) continue;
    if (!file) return errno;
    const int error = base::writeAll(file.get(), bytes.data(), bytes.size(), 0);
    if (error != 0) {
      ::unlinkat(opened_.get(), name.c_str(), 0);
      return error;
    }
    containers_[header.token] = {.name = name, .last_account = header.number};
    return 0;
  }
  return EEXIST;
}

void LogParts::sayOnce(std::string_view kind, std::string sentence) {
  if (said_.emplace(kind).second) troubles_.push_back(std::move(sentence));
}

}  // namespace omnio::tracefile
