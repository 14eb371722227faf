#include "replay/target/fence.hpp"

#include <fmt/format.h>
#include <linux/landlock.h>
#include <sys/prctl.h>

#include "replay/issue/libc.hpp"

// Rights that came with later versions than the first (Linux 5.13), and that the header of an older
// system does not name: https://docs.kernel.org/userspace-api/landlock.html
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

namespace omnio::replay {
namespace {

std::uint64_t rightsToChange(int abi) {
  std::uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                         LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                         LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                         LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  // Where it is not named, files can never be moved between directories: not from version 2 on.
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
  return rights;
}

}  // namespace

Fence::Fence(const std::vector<std::filesystem::path>& writable) {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  // Version 1 forbids every rename and link between directories, whatever the rules say: then a
  // replay that is right would go wrong.
  if (abi < 2) return;
  abi_ = static_cast<int>(abi);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = rightsToChange(abi_);
  ruleset_ =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U));
  if (ruleset_ < 0) return;
  for (const auto& path : writable) {
    const int fd = raw::openAt(AT_FDCWD, path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) continue;
    landlock_path_beneath_attr rule{};
    rule.allowed_access = attributes.handled_access_fs;
    rule.parent_fd = fd;
    if (syscall(SYS_landlock_add_rule, ruleset_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U) != 0) {
      // A single file takes none of the rights of directories.
      rule.allowed_access &= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
      syscall(SYS_landlock_add_rule, ruleset_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0U);
    }
    raw::closeFd(fd);
  }
  // Without it only the administrator may fence himself in. It holds for all threads to come.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    raw::closeFd(ruleset_);
    ruleset_ = -1;
  }
}

Fence::~Fence() {
  if (ruleset_ >= 0) raw::closeFd(ruleset_);
}

bool Fence::enter() const {
  return ruleset_ < 0 || syscall(SYS_landlock_restrict_self, ruleset_, 0U) == 0;
}

std::string Fence::name() const {
  return ruleset_ >= 0 ? fmt::format("landlock ABI {}", abi_) : std::string("paths only");
}

}  // namespace omnio::replay
