#include "prefetch/job_descriptor.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <fstream>

namespace omnio::prefetch {
namespace {

bool isOf(const struct stat& facts, const FileKey& file) {
  return S_ISREG(facts.st_mode) && facts.st_dev == file.device && facts.st_ino == file.inode;
}

bool hasLease(const JobDescriptor& descriptor) {
  std::ifstream in(fmt::format("/proc/{}/fdinfo/{}", descriptor.pid, descriptor.fd));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("lock:") && line.find("LEASE") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string JobDescriptor::path() const { return fmt::format("/proc/{}/fd/{}", pid, fd); }

std::optional<struct stat> JobDescriptor::facts() const {
  struct stat facts {};
  if (stat(path().c_str(), &facts) != 0 || !isOf(facts, file)) return {};
  return facts;
}

base::Descriptor JobDescriptor::open() const {
  // The number may stand for anything by now: it is looked at before it is opened.
  if (hasLease(*this) || !facts()) return base::Descriptor();
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  base::Descriptor opened(
      ::open(path().c_str(), kFlags | O_NOATIME));  // for the file's owner alone
  if (!opened) opened = base::Descriptor(::open(path().c_str(), kFlags));
  struct stat facts {};
  if (!opened || fstat(opened.get(), &facts) != 0 || !isOf(facts, file)) return base::Descriptor();
  return opened;
}

}  // namespace omnio::prefetch
