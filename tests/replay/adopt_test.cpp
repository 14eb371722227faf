#include "replay/target/adopt.hpp"

#include <gtest/gtest.h>

#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

class AdoptTest : public ::testing::Test {
 protected:
  AdoptTest() { fs::create_directories(target / "tree/out/sub"); }

  test::TemporaryDirectory directory;
  fs::path target = fs::canonical(directory.path()) / "t";
};

TEST_F(AdoptTest, ATreeOfDirectoriesIsTakenAsItIs) {
  EXPECT_FALSE(checkTarget(target, true));
  const auto adopted = adoptTarget(target);
  ASSERT_TRUE(adopted) << adopted.failure().sentence;
  EXPECT_FALSE(adopted->was_adopted);
  EXPECT_TRUE(adopted->has_tree);
  EXPECT_EQ(adopted->directories, 2U);
  EXPECT_TRUE(adoptTarget(target)->was_adopted);
  const auto tree = makeTree(target, false);
  ASSERT_TRUE(tree) << tree.failure().sentence;
  EXPECT_TRUE(fs::is_directory(*tree / "out/sub"));
  EXPECT_TRUE(Tree::open(*tree)->isAdopted());
  removeTree(target);
  EXPECT_TRUE(fs::is_directory(*tree / "out/sub"));
}

TEST_F(AdoptTest, FilesAndDirectoriesOfAReplayAreRemovedAndOthersStay) {
  ASSERT_TRUE(adoptTarget(target));
  const fs::path tree = *makeTree(target, false);
  ASSERT_TRUE(noteNewDirectories(target, *Tree::open(tree), {"out", "out/new", "out/new/d"}));
  fs::create_directories(tree / "out/new/d");
  test::writeAll(tree / "out/new/d/file", "old");
  fs::create_directory(tree / "later");
  const auto refused = makeTree(target, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().sentence,
            target.native() +
                " holds tree/out/new/d/file of an earlier replay; --fresh removes it, "
                "and keeps the directories that were adopted");
  fs::remove(tree / "out/new/d/file");
  EXPECT_FALSE(makeTree(target, false)) << "a directory of the replay is left";
  ASSERT_TRUE(makeTree(target, true));
  EXPECT_FALSE(fs::exists(tree / "out/new"));
  EXPECT_TRUE(fs::exists(tree / "out/sub"));
  EXPECT_TRUE(fs::exists(tree / "later"));
}

TEST_F(AdoptTest, LinksGoAndWhatTheyLeadToStays) {
  ASSERT_TRUE(adoptTarget(target));
  test::writeAll(directory / "canary", "precious");
  fs::create_directory_symlink(directory.path(), target / "tree/out/link");
  ASSERT_TRUE(makeTree(target, true));
  EXPECT_FALSE(fs::exists(fs::symlink_status(target / "tree/out/link")));
  EXPECT_EQ(test::readAll(directory / "canary"), "precious");
}

TEST_F(AdoptTest, FilesMadeByHandAreRefused) {
  test::writeAll(target / "tree/out/data", "precious");
  const auto refused = adoptTarget(target);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().sentence,
            (target / "tree/out/data").native() +
                " is not a directory, and no replay made it; only directories can be adopted");
  EXPECT_FALSE(isAdopted(target));
}

// A link of the marker's name may have been put there by others.
TEST_F(AdoptTest, AMarkerThatIsALinkIsNone) {
  test::writeAll(directory / "marker", "");
  fs::create_symlink(directory / "marker", target / kAdoptedMarker);
  EXPECT_FALSE(isAdopted(target));
  EXPECT_FALSE(checkTarget(target, true));
  EXPECT_FALSE(adoptTarget(target));
}

}  // namespace
}  // namespace omnio::replay
