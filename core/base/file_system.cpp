#include "core/base/file_system.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/base/mount_points.hpp"
#include "core/base/text_table.hpp"

namespace omnio::base {
namespace {

constexpr Word<std::uint64_t> kFileSystems[] = {
    {0x0BD00BD0, "lustre"}, {0x19830326, "beegfs"},  {0x47504653, "gpfs"},
    {0xEF53, "ext4"},  // and its elder brothers
    {0x58465342, "xfs"},    {0x9123683E, "btrfs"},   {0x01021994, "tmpfs"},
    {0x6969, "nfs"},        {0x794C7630, "overlay"}, {0x00C36400, "ceph"},
    {0x65735546, "fuse"},   {0x2FC12FC1, "zfs"},
};

}  // namespace

std::string fileSystemName(std::uint64_t kind) {
  const std::string_view name = wordOf(kFileSystems, kind);
  return name.empty() ? fmt::format("{:#x}", kind) : std::string(name);
}

std::string mountOf(const std::filesystem::path& directory) {
  const auto mount = mountHolding(directory);
  if (!mount) return {};
  return fmt::format("{} {} {}", mount->point.empty() ? "/" : mount->point, mount->type,
                     mount->source);
}

}  // namespace omnio::base
