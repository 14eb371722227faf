#include "replay/target/tree.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

TEST(Tree, AFreshOneIsMadeInADirectoryThatIsNotThere) {
  const test::TemporaryDirectory directory;
  const auto tree = makeTree(directory / "a/b", false);
  ASSERT_TRUE(tree) << tree.failure().sentence;
  EXPECT_EQ(*tree, fs::canonical(directory.path()) / "a/b/tree");
  EXPECT_TRUE(fs::is_empty(*tree));
}

TEST(Tree, WhatAnEarlierReplayLeftIsRemovedOnlyWhenAskedFor) {
  const test::TemporaryDirectory directory;
  const auto first = makeTree(directory / "t", false);
  ASSERT_TRUE(first);
  test::writeAll(*first / "file", "old");
  const auto refused = makeTree(directory / "t", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.failure().sentence,
      (directory / "t").native() + " holds the tree of an earlier replay; --fresh removes it");
  EXPECT_TRUE(fs::exists(*first / "file"));
  ASSERT_TRUE(makeTree(directory / "t", true));
  EXPECT_TRUE(fs::is_empty(*first));
}

TEST(Tree, ADirectoryWithSomethingElseInItIsNotTouched) {
  const test::TemporaryDirectory directory;
  fs::create_directories(directory / "t/tree");
  test::writeAll(directory / "t/data", "precious");
  for (const bool fresh : {false, true}) {
    const auto refused = makeTree(directory / "t", fresh);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.failure().sentence.find("which no replay made"), std::string::npos);
  }
  EXPECT_EQ(test::readAll(directory / "t/data"), "precious");
}

// A tree without our marker beside it was not made by a replay, whatever it is called.
TEST(Tree, ADirectoryThatIsOnlyCalledTreeIsNotOurs) {
  const test::TemporaryDirectory directory;
  fs::create_directories(directory / "t/tree");
  EXPECT_FALSE(makeTree(directory / "t", true));
  EXPECT_TRUE(fs::exists(directory / "t/tree"));
}

TEST(Tree, NoLinkLeadsOut) {
  const test::TemporaryDirectory directory;
  fs::create_directory(directory / "outside");
  test::writeAll(directory / "outside/file", "canary");
  const auto path = makeTree(directory / "t", false);
  ASSERT_TRUE(path);
  fs::create_symlink(directory / "outside", *path / "link");
  fs::create_symlink(directory / "outside/file", *path / "file");
  const auto tree = Tree::open(*path);
  ASSERT_TRUE(tree);
  for (const char* location : {"link/file", "file", "../../outside/file", "link/new"}) {
    errno = 0;
    EXPECT_EQ(tree->openFile(location, O_RDWR | O_CREAT, 0644), -1) << location;
    EXPECT_NE(errno, 0);
  }
  EXPECT_NE(tree->makeDirectories("link/new"), 0);
  EXPECT_EQ(test::readAll(directory / "outside/file"), "canary");
  EXPECT_FALSE(fs::exists(directory / "outside/new"));
}

TEST(Tree, DirectoriesAreMadeWithAllAboveThem) {
  const test::TemporaryDirectory directory;
  const auto path = makeTree(directory / "t", false);
  ASSERT_TRUE(path);
  const auto tree = Tree::open(*path);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->makeDirectories("a/b/c"), 0);
  EXPECT_EQ(tree->makeDirectories("a/b"), 0);
  EXPECT_EQ(tree->makeDirectories("d"), 0);
  EXPECT_TRUE(fs::is_directory(*path / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(*path / "d"));
  const int fd = tree->openFile("a/b/c/file", O_WRONLY | O_CREAT | O_EXCL, 0644);
  EXPECT_GE(fd, 0);
  close(fd);
}

}  // namespace
}  // namespace omnio::replay
