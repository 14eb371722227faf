#include "trace/runtime/mpi/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string_view>

#include "trace/runtime/mpi/pointer_table.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

constinit PointerTable<std::uint64_t> files;  // words of entries

}  // namespace

void rememberMpiFile(const void* file, Entry entry) {
  releaseHandle(takeMpiFile(file));
  files.put(file, [entry](std::uint64_t& place) { place = entry.word(); });
}

Entry findMpiFile(const void* file) {
  const std::uint64_t* word = files.find(file);
  return word == nullptr ? Entry::notTraced() : Entry(*word);
}

Entry takeMpiFile(const void* file) {
  std::uint64_t word = 0;
  return files.take(file, word) ? Entry(word) : Entry::notTraced();
}

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
