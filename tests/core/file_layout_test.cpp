// File systems describe the layout of a file.
#include "core/mpi/file_layout.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace omnio {
namespace {

template <typename T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
  }
}

// struct lov_mds_md_v1, or _v3 with a pool.
std::string plain(std::uint32_t stripe_bytes, const std::vector<std::uint32_t>& targets,
                  std::string pool = "") {
  std::string out;
  put<std::uint32_t>(out, pool.empty() ? 0x0BD10BD0 : 0x0BD30BD0);
  put<std::uint32_t>(out, 1);  // RAID 0
  out.append(16, '\7');
  put<std::uint32_t>(out, stripe_bytes);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(targets.size()));
  put<std::uint16_t>(out, 0);
  if (!pool.empty()) {
    pool.resize(16);
    out += pool;
  }
  for (const std::uint32_t target : targets) {
    out.append(16, '\1');
    put<std::uint32_t>(out, 0);
    put<std::uint32_t>(out, target);
  }
  return out;
}

struct Part {
  std::uint64_t begin, end;
  std::string bytes;
};

std::string composite(const std::vector<Part>& parts) {
  std::string out;
  put<std::uint32_t>(out, 0x0BD60BD0);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 3);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(parts.size()));
  out.append(16, '\0');
  std::size_t place = out.size() + 48 * parts.size();
  for (const Part& part : parts) {
    put<std::uint32_t>(out, 1);
    put<std::uint32_t>(out, 16);
    put<std::uint64_t>(out, part.begin);
    put<std::uint64_t>(out, part.end);
    put<std::uint32_t>(out, static_cast<std::uint32_t>(place));
    put<std::uint32_t>(out, static_cast<std::uint32_t>(part.bytes.size()));
    out.append(16, '\0');
    place += part.bytes.size();
  }
  for (const Part& part : parts) out += part.bytes;
  return out;
}

TEST(FileLayout, StripesOfLustreAreRead) {
  const auto components = mpi::parseLustreLayout(plain(1 << 20, {5, 0, 7}));
  ASSERT_TRUE(components);
  ASSERT_EQ(components->size(), 1U);
  EXPECT_EQ((*components)[0].stripe_bytes, 1U << 20);
  EXPECT_EQ((*components)[0].targets, (std::vector<std::uint32_t>{5, 0, 7}));
  EXPECT_EQ((*components)[0].end, ~std::uint64_t{0});
}

TEST(FileLayout, ComponentsOfLustreAreReadWithTheirPools) {
  const std::string bytes =
      composite({{0, 1 << 20, plain(65536, {3})},
                 {1 << 20, ~std::uint64_t{0}, plain(4 << 20, {1, 2}, "fast")}});
  const auto components = mpi::parseLustreLayout(bytes);
  ASSERT_TRUE(components);
  ASSERT_EQ(components->size(), 2U);
  EXPECT_EQ((*components)[0].end, 1U << 20);
  EXPECT_EQ((*components)[1].begin, 1U << 20);
  EXPECT_EQ((*components)[1].stripes, 2U);
  EXPECT_EQ((*components)[1].pool, "fast");
}

TEST(FileLayout, DamageIsNoCrash) {
  const std::string bytes =
      composite({{0, 1 << 20, plain(65536, {3})},
                 {1 << 20, ~std::uint64_t{0}, plain(4 << 20, {1, 2}, "fast")}});
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    mpi::parseLustreLayout(bytes.substr(0, cut));
    for (const int value : {0, 0xFF}) {
      std::string damaged = bytes;
      damaged[cut] = static_cast<char>(value);
      mpi::parseLustreLayout(damaged);
    }
  }
  EXPECT_FALSE(mpi::parseLustreLayout(""));
  EXPECT_FALSE(mpi::parseLustreLayout("ten bytes!"));
  EXPECT_FALSE(mpi::parseFileLayout(""));
  EXPECT_FALSE(mpi::parseFileLayout("61267"));
}

TEST(FileLayout, EachFileSystemTellsWhatItCan) {
  const auto ext4 = mpi::parseFileLayout("61267 4096");
  ASSERT_TRUE(ext4);
  EXPECT_EQ(ext4->file_system, "ext4");
  EXPECT_EQ(ext4->block_bytes, 4096U);
  EXPECT_TRUE(ext4->components.empty());
  EXPECT_EQ(mpi::parseFileLayout("4660 512")->file_system, "0x1234");
  const auto beegfs = mpi::parseFileLayout(fmt::format("{} 524288 1 524288 4", 0x19830326));
  ASSERT_EQ(beegfs->components.size(), 1U);
  EXPECT_EQ(beegfs->components[0].stripes, 4U);
  std::string hex;
  for (const char c : plain(65536, {9})) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  const auto lustre = mpi::parseFileLayout(fmt::format("{} 4096 {}", 0x0BD00BD0, hex));
  ASSERT_EQ(lustre->components.size(), 1U);
  EXPECT_EQ(lustre->components[0].targets, std::vector<std::uint32_t>{9});
  EXPECT_TRUE(mpi::parseFileLayout(fmt::format("{} 4096 0bd", 0x0BD00BD0))->components.empty());
}

}  // namespace
}  // namespace omnio
