#include "replay/target/sources.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/printable.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

base::Failure notThis(const PlannedFile& file, std::string_view why) {
  return base::failure(base::Code::kInvalid, "--inputs: the source {} of location \"{}\" {}",
                       base::printable(file.source), base::inBrief(file.location), why);
}

base::Result<void> checkSource(const PlannedFile& file) {
  if (file.source.empty()) {
    return base::failure(base::Code::kInvalid, "--inputs: location \"{}\" has no source",
                         base::inBrief(file.location));
  }
  if (!file.source.starts_with('/')) return notThis(file, "is not an absolute path");
  const int fd = openSource(file.source);
  if (fd < 0) return base::systemFailure(file.source, errno, "--inputs: cannot read");
  struct stat facts {};
  const long status = raw::systemCall(SYS_fstat, fd, &facts);
  const int error = errno;
  raw::closeFd(fd);
  if (status != 0) return base::systemFailure(file.source, error);
  if (!S_ISREG(facts.st_mode)) return notThis(file, "is not a regular file");
  if (static_cast<std::uint64_t>(facts.st_size) < file.size) {
    return notThis(file,
                   fmt::format("has {} bytes, and {} were recorded", facts.st_size, file.size));
  }
  return {};
}

}  // namespace

base::Result<void> checkSources(const Plan& plan, Targets targets,
                                const std::filesystem::path& node_local) {
  if (!node_local.empty()) targets.push_back({.name = {}, .directory = node_local});
  for (const PlannedFile& file : plan.files) {
    if (file.origin == Origin::kMade || file.origin == Origin::kKept) continue;
    // --fresh would remove it.
    const auto outside = checkOutside(targets, file.source, "--inputs: the source");
    if (!outside) return outside.failure();
    if (const auto checked = checkSource(file); !checked) return checked.failure();
  }
  return {};
}

std::vector<const PlannedFile*> filesInPlace(const Plan& plan) {
  std::vector<const PlannedFile*> files;
  for (const PlannedFile& file : plan.files) {
    if (file.origin == Origin::kInPlace) files.push_back(&file);
  }
  return files;
}

void settleSources(const Plan& plan, Cache cache, Share share) {
  if (cache == Cache::kAsIs) return;
  const std::vector<const PlannedFile*> files = filesInPlace(plan);
  std::vector<char> buffer(cache == Cache::kWarm ? 1 << 20 : 0);
  for (auto i = static_cast<std::size_t>(share.node_process); i < files.size();
       i += static_cast<std::size_t>(share.node_processes)) {
    const int fd = openSource(files[i]->source);
    if (fd < 0) continue;  // the calls of the schedule will differ
    if (cache == Cache::kCold) raw::adviseDontNeed(fd);
    std::uint64_t done = 0;
    for (std::int64_t got = 1; cache == Cache::kWarm && got > 0 && done < files[i]->size;
         done += static_cast<std::uint64_t>(got)) {
      got = raw::readWholeAt(fd, buffer.data(), buffer.size(), done);
      if (got < 0) break;
    }
    raw::closeFd(fd);
  }
}

int openSource(const std::string& path) {
  // O_NONBLOCK: opening a FIFO would wait for its other end.
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int fd = raw::openAt(AT_FDCWD, path.c_str(), kFlags | O_NOATIME);
  // Only the owner may ask for that.
  return fd < 0 && errno == EPERM ? raw::openAt(AT_FDCWD, path.c_str(), kFlags) : fd;
}

}  // namespace omnio::replay
