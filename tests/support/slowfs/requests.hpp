// The kinds of request that the kernel sends, and the class of each, which decides its latency.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace slowfs {

// No process waits for an unpaced request, so a latency of it would have no effect.
enum class RequestClass : std::uint8_t { Metadata, Read, Write, Sync, Unpaced };
constexpr std::size_t kPacedClasses = 4;

enum class Kind : std::uint8_t {
  Lookup,
  GetAttr,
  SetAttr,
  ReadLink,
  MkNod,
  MkDir,
  SymLink,
  Link,
  Unlink,
  RmDir,
  Rename,
  Open,
  Create,
  Read,
  Write,
  LSeek,
  FAllocate,
  Flush,
  FSync,
  Release,
  OpenDir,
  ReadDir,
  ReleaseDir,
  FSyncDir,
  StatFs,
  GetXAttr,
  SetXAttr,
  ListXAttr,
  RemoveXAttr,
};

struct KindRow {
  Kind kind;
  std::string_view name;  // as in the protocol of FUSE
  RequestClass of;
};

constexpr std::array kKinds = {
    KindRow{Kind::Lookup, "LOOKUP", RequestClass::Metadata},
    KindRow{Kind::GetAttr, "GETATTR", RequestClass::Metadata},
    KindRow{Kind::SetAttr, "SETATTR", RequestClass::Metadata},
    KindRow{Kind::ReadLink, "READLINK", RequestClass::Metadata},
    KindRow{Kind::MkNod, "MKNOD", RequestClass::Metadata},
    KindRow{Kind::MkDir, "MKDIR", RequestClass::Metadata},
    KindRow{Kind::SymLink, "SYMLINK", RequestClass::Metadata},
    KindRow{Kind::Link, "LINK", RequestClass::Metadata},
    KindRow{Kind::Unlink, "UNLINK", RequestClass::Metadata},
    KindRow{Kind::RmDir, "RMDIR", RequestClass::Metadata},
    KindRow{Kind::Rename, "RENAME", RequestClass::Metadata},
    KindRow{Kind::Open, "OPEN", RequestClass::Metadata},
    KindRow{Kind::Create, "CREATE", RequestClass::Metadata},
    KindRow{Kind::Read, "READ", RequestClass::Read},
    KindRow{Kind::Write, "WRITE", RequestClass::Write},
    KindRow{Kind::LSeek, "LSEEK", RequestClass::Metadata},
    KindRow{Kind::FAllocate, "FALLOCATE", RequestClass::Metadata},
    KindRow{Kind::Flush, "FLUSH", RequestClass::Sync},
    KindRow{Kind::FSync, "FSYNC", RequestClass::Sync},
    KindRow{Kind::Release, "RELEASE", RequestClass::Unpaced},
    KindRow{Kind::OpenDir, "OPENDIR", RequestClass::Metadata},
    KindRow{Kind::ReadDir, "READDIR", RequestClass::Metadata},
    KindRow{Kind::ReleaseDir, "RELEASEDIR", RequestClass::Unpaced},
    KindRow{Kind::FSyncDir, "FSYNCDIR", RequestClass::Sync},
    KindRow{Kind::StatFs, "STATFS", RequestClass::Metadata},
    KindRow{Kind::GetXAttr, "GETXATTR", RequestClass::Metadata},
    KindRow{Kind::SetXAttr, "SETXATTR", RequestClass::Metadata},
    KindRow{Kind::ListXAttr, "LISTXATTR", RequestClass::Metadata},
    KindRow{Kind::RemoveXAttr, "REMOVEXATTR", RequestClass::Metadata},
};

constexpr std::size_t indexOf(Kind kind) { return static_cast<std::size_t>(kind); }

constexpr bool rowsAreInOrder() {
  for (std::size_t index = 0; index < kKinds.size(); ++index) {
    if (indexOf(kKinds[index].kind) != index) return false;
  }
  return true;
}
static_assert(rowsAreInOrder() && indexOf(Kind::RemoveXAttr) + 1 == kKinds.size());

constexpr RequestClass classOf(Kind kind) { return kKinds[indexOf(kind)].of; }

}  // namespace slowfs
