#include "trace/wrap/mpi/file_hints.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

#include "core/wire/info.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/sys/long_text.hpp"
#include "trace/runtime/sys/scratch.hpp"

namespace omnio::trace {
namespace {

constexpr char kBetweenHints = '\x01';

// Begins a fact: prefix, number, suffix.
void putKey(LongText& fact, const char* prefix, std::uint32_t handle, const char* suffix) {
  fact.put(prefix).putNumber(handle).put(suffix).put('\0');
}

void tell(LongText& fact) {
  fact.put('\0');
  if (fact.isWhole() && openContainer()) appendInfo(fact.data(), fact.size());
}

bool isNone(MPI_Info info) { return info == nullptr || info == open_mpi::nullInfo(); }

void putHints(LongText& fact, MPI_Info info) {
  static auto* const count = mpiFunction<decltype(MPI_Info_get_nkeys)>("PMPI_Info_get_nkeys");
  static auto* const key_of = mpiFunction<decltype(MPI_Info_get_nthkey)>("PMPI_Info_get_nthkey");
  static auto* const value_of = mpiFunction<decltype(MPI_Info_get)>("PMPI_Info_get");
  int keys = 0;
  if (count == nullptr || key_of == nullptr || value_of == nullptr ||
      count(info, &keys) != MPI_SUCCESS) {
    return;
  }
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[MPI_MAX_INFO_VAL + 1];
    int is_there = 0;
    if (key_of(info, i, key) != MPI_SUCCESS ||
        value_of(info, key, MPI_MAX_INFO_VAL, value, &is_there) != MPI_SUCCESS || is_there == 0) {
      continue;
    }
    if (i > 0) fact.put(kBetweenHints);
    fact.put(std::string_view(key)).put('=').put(std::string_view(value));
  }
}

// Numbers of file systems as statfs(2) gives them, and what their own interfaces are.
constexpr long kLustre = 0x0BD00BD0;
constexpr long kBeegfs = 0x19830326;

void putHex(LongText& fact, const unsigned char* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    fact.put("0123456789abcdef"[bytes[i] >> 4]).put("0123456789abcdef"[bytes[i] & 15]);
  }
}

// The layout as Lustre keeps it; readers take it apart.
void putLustre(LongText& fact, const char* path) {
  constexpr std::size_t kMost = 64 * 1024;  // XATTR_SIZE_MAX
  const Scratch<unsigned char, 1> bytes(kMost);
  if (!bytes) return;
  const long got =
      rawSyscall(SYS_getxattr, address(path), address("lustre.lov"), address(bytes.data()), kMost);
  if (got > 0) {
    fact.put(' ');
    putHex(fact, bytes.data(), static_cast<std::size_t>(got));
  }
}

void putBeegfs(LongText& fact, const char* path) {
  struct StripeInfo {  // of beegfs/beegfs_ioctl.h
    unsigned pattern = 0;
    unsigned chunk_bytes = 0;
    std::uint16_t targets = 0;
  } stripes;
  const long fd = rawSyscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return;
  const long failed = rawSyscall(SYS_ioctl, fd, _IOR('f', 25, StripeInfo), address(&stripes));
  rawSyscall(SYS_close, fd);
  if (failed != 0) return;
  fact.put(' ').putNumber(stripes.pattern).put(' ').putNumber(stripes.chunk_bytes);
  fact.put(' ').putNumber(stripes.targets);
}

}  // namespace

void tellHints(MPI_File file, MPI_Info given, std::uint32_t handle) {
  if (!isNone(given)) {
    LongText fact;
    putKey(fact, wire::info::kHintsPrefix, handle, ".given");
    putHints(fact, given);
    tell(fact);
  }
  static auto* const get = mpiFunction<decltype(MPI_File_get_info)>("PMPI_File_get_info");
  static auto* const free = mpiFunction<decltype(MPI_Info_free)>("PMPI_Info_free");
  MPI_Info used = nullptr;
  if (get == nullptr || free == nullptr || get(file, &used) != MPI_SUCCESS || isNone(used)) return;
  LongText fact;
  putKey(fact, wire::info::kHintsPrefix, handle, ".used");
  putHints(fact, used);
  tell(fact);
  free(&used);
}

void tellFileLayout(const char* path, std::uint32_t handle) {
  struct statfs about {};
  if (rawSyscall(SYS_statfs, address(path), address(&about)) != 0) return;
  LongText fact;
  putKey(fact, wire::info::kLayoutPrefix, handle, "");
  const auto kind = static_cast<long>(static_cast<std::uint32_t>(about.f_type));
  fact.putNumber(kind).put(' ').putNumber(about.f_bsize);
  if (kind == kLustre) putLustre(fact, path);
  if (kind == kBeegfs) putBeegfs(fact, path);
  tell(fact);
}

}  // namespace omnio::trace
