#include "trace/runtime/mpi/path.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

// The file systems that ROMIO knows by name.
constexpr std::string_view kPrefixes[] = {
    "ufs:", "nfs:", "panfs:", "pvfs2:", "gpfs:", "xfs:",  "lustre:", "ime:", "daos:",  "testfs:",
    "hfs:", "sfs:", "pfs:",   "piofs:", "pvfs:", "plfs:", "zoidfs:", "ftp:", "gsiftp:"};

}  // namespace

const char* withoutFileSystem(const char* name) {
  for (const std::string_view prefix : kPrefixes) {
    std::size_t same = 0;
    while (same < prefix.size() && name[same] == prefix[same]) ++same;
    if (same < prefix.size()) continue;
    return rawSyscall(SYS_faccessat, AT_FDCWD, address(name), F_OK) == 0 ? name : name + same;
  }
  return name;
}

}  // namespace omnio::trace
