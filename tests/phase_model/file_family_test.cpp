#include "phase_model/file_family.hpp"

#include <gtest/gtest.h>

namespace omnio::phases {
namespace {

TouchedFile file(std::string path, std::set<int> ranks, std::uint64_t size = 0) {
  return {.path = std::move(path), .ranks = std::move(ranks), .size_bytes = size};
}

TEST(FileFamily, AFileOfEachRankIsOneFile) {
  const Families f = findFamilies({file("/d1/out.0", {0}, 5), file("/d1/out.1", {1}, 9)});
  ASSERT_EQ(f.files.size(), 1U);
  EXPECT_EQ(f.files[0].path, "/d1/out.{rank}");
  EXPECT_FALSE(f.files[0].shared);
  EXPECT_EQ(f.files[0].size_bytes, 9U);
  EXPECT_EQ(f.family, (std::vector<std::size_t>{0, 0}));
}

TEST(FileFamily, LeadingZerosBelongToTheName) {
  const Families f =
      findFamilies({file("/out.09", {9}), file("/out.10", {10}), file("/out.11", {11})});
  ASSERT_EQ(f.files.size(), 1U);
  EXPECT_EQ(f.files[0].path, "/out.{rank:02}");
}

TEST(FileFamily, ARankMayStandTwice) {
  const Families f = findFamilies({file("/rank1/f1", {1}), file("/rank2/f2", {2})});
  ASSERT_EQ(f.files.size(), 1U);
  EXPECT_EQ(f.files[0].path, "/rank{rank}/f{rank}");
}

TEST(FileFamily, StepsOfOneRankAreFilesOfTheirOwn) {
  const Families f = findFamilies(
      {file("/dump.0", {0}), file("/dump.1", {0}), file("/x.0.0", {0}), file("/x.0.1", {1})});
  ASSERT_EQ(f.files.size(), 3U);
  EXPECT_EQ(f.files[0].path, "/dump.0");
  EXPECT_TRUE(f.files[0].shared);
  EXPECT_EQ(f.files[1].path, "/dump.1");
  EXPECT_EQ(f.files[2].path, "/x.0.{rank}");
  EXPECT_EQ(f.family, (std::vector<std::size_t>{0, 1, 2, 2}));
}

TEST(FileFamily, NamesThatDifferInOtherNumbersGoByTheirOrder) {
  const Families f = findFamilies({file("/p.771", {1}), file("/p.770", {0}), file("/p.870", {0}),
                                   file("/p.871", {1}), file("/p.872", {1})});
  ASSERT_EQ(f.files.size(), 3U);
  EXPECT_EQ(f.files[0].path, "/p.770");
  EXPECT_FALSE(f.files[0].shared);
  EXPECT_EQ(f.family, (std::vector<std::size_t>{0, 0, 1, 1, 2}));
  EXPECT_TRUE(f.files[2].shared);
}

TEST(FileFamily, AFileOfSeveralRanksIsShared) {
  const Families f = findFamilies({file("/a.0", {0, 1}), file("/a.1", {1})});
  ASSERT_EQ(f.files.size(), 2U);
  EXPECT_TRUE(f.files[0].shared);
}

}  // namespace
}  // namespace omnio::phases
