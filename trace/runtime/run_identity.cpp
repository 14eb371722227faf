#include "trace/runtime/run_identity.hpp"

#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "trace/runtime/process.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

RunIdentity identity;

struct DirectoryFacts {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t birth_ns = 0;
};

DirectoryFacts factsOf(const char* path) {
  DirectoryFacts facts;
  struct statx x;
  if (rawSyscall(SYS_statx, AT_FDCWD, address(path), AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME,
                 address(&x)) == 0) {
    facts.device = makedev(x.stx_dev_major, x.stx_dev_minor);
    facts.inode = x.stx_ino;
    if ((x.stx_mask & STATX_BTIME) != 0) {
      facts.birth_ns =
          static_cast<std::uint64_t>(x.stx_btime.tv_sec) * 1000000000U + x.stx_btime.tv_nsec;
    }
    return facts;
  }
  // Kernels before 4.11, and sandboxes that know no statx.
  struct stat s;
  if (rawSyscall(SYS_newfstatat, AT_FDCWD, address(path), address(&s), 0) == 0) {
    facts.device = static_cast<std::uint64_t>(s.st_dev);
    facts.inode = s.st_ino;
  }
  return facts;
}

}  // namespace

void identifyRun() {
  identity = {};
  if (const char* given = getenv(wire::kRunVariable); given != nullptr) {
    identity.run = wire::parseRun(given);
  }
  const DirectoryFacts directory = factsOf(process.settings.directory);
  identity.directory_device = directory.device;
  identity.directory_inode = directory.inode;
  if (!identity.run.id.isSet()) {
    identity.run.id = wire::derivedRun(directory.device, directory.inode, directory.birth_ns);
  }
  struct stat s;
  if (rawSyscall(SYS_newfstatat, AT_FDCWD, address("/proc/self/ns/pid"), address(&s), 0) == 0) {
    identity.pid_namespace = s.st_ino;
  }
}

const RunIdentity& runIdentity() { return identity; }

}  // namespace omnio::trace
