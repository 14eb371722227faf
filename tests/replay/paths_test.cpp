// Names reach the files of the tree by as many look-ups as are wanted, and no others.
#include "replay/issue/paths.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "replay/issue/libc.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

// A tree "tree" with the directory a/b, and files in it; a tree "other/tree" with the directory a,
// and a file in it.
class PathsTest : public ::testing::Test {
 protected:
  PathsTest() {
    for (const char* location : {"file", "a/b/file", ".", "later/file", "a//b/file"}) {
      plan_.files.emplace_back().location = location;
    }
    plan_.files.emplace_back().location = "a/elsewhere";
    plan_.files.back().tree = 1;
    plan_.ranks.resize(1);
    plan_.ranks[0].bases = {{.tree = 0, .location = "a/b"}};
    fs::create_directories(tree_ / "a/b");
    fs::create_directories(other_ / "a");
    raw::closeFd(raw::openAt(AT_FDCWD, (other_ / "a/elsewhere").c_str(), O_CREAT | O_WRONLY, 0600));
    raw::closeFd(raw::openAt(AT_FDCWD, (tree_ / "a/b/file").c_str(), O_CREAT | O_WRONLY, 0600));
    raw::closeFd(raw::openAt(AT_FDCWD, (tree_ / "file").c_str(), O_CREAT | O_WRONLY, 0600));
  }

  // A thread of its own has the working directory that it gets.
  template <typename Body>
  void inTree(Body body) {
    const auto trees = Trees::open({fs::canonical(tree_), fs::canonical(other_)});
    ASSERT_TRUE(trees);
    const Paths paths(plan_, *trees, {0});
    std::thread([&] {
      Names names(paths);
      names.enterTree();
      body(paths, names);
    }).join();
  }

  std::string nameOf(Names& names, std::uint32_t file, std::uint16_t lookups,
                     std::uint32_t directory = kNoSlot) {
    Op op;
    op.file = file;
    op.lookups = lookups;
    op.directory = directory;
    names.find(op, {.path = true}, descriptors_);
    return names.path();
  }

  test::TemporaryDirectory directory_;
  fs::path tree_ = directory_ / "tree";
  fs::path other_ = directory_ / "other/tree";
  Plan plan_;
  Descriptors descriptors_{1, 0};
};

bool isThere(const std::string& name) {
  struct stat facts {};
  return stat(name.c_str(), &facts) == 0;
}

TEST_F(PathsTest, AllNamesOfALocationAreLookedUpFromTheTree) {
  inTree([&](const Paths&, Names& names) {
    EXPECT_EQ(nameOf(names, 1, model::kAllLookups), "a/b/file");
    EXPECT_TRUE(isThere(names.path()));
    EXPECT_EQ(nameOf(names, 2, model::kAllLookups), ".");
  });
}

TEST_F(PathsTest, FewerAreLookedUpFromADirectoryInside) {
  inTree([&](const Paths&, Names& names) {
    EXPECT_EQ(nameOf(names, 1, 1), "file");
    EXPECT_TRUE(isThere("../b/file"));  // it stands in a/b
    EXPECT_EQ(nameOf(names, 0, model::kAllLookups), "file");
    EXPECT_TRUE(isThere("a/b"));  // and in the tree again
    EXPECT_EQ(nameOf(names, 2, 0), ".");
  });
}

TEST_F(PathsTest, MoreGoThroughTheDirectoriesAbove) {
  inTree([&](const Paths& paths, Names& names) {
    EXPECT_GE(paths.depth(0), 1U);
    for (std::uint16_t lookups = 2; lookups < 100; ++lookups) {
      const std::string name = nameOf(names, 0, lookups);
      EXPECT_TRUE(isThere(name)) << name;
      if (lookups <= paths.depth(0)) {
        EXPECT_EQ(std::count(name.begin(), name.end(), '/') + 1, lookups) << name;
      }
    }
  });
}

TEST_F(PathsTest, AFileOfAnotherTreeIsLookedUpInThat) {
  inTree([&](const Paths& paths, Names& names) {
    EXPECT_EQ(paths.absolute(5), fs::canonical(other_ / "a/elsewhere"));
    for (const std::uint16_t lookups : {1, 2, 3}) {
      EXPECT_EQ(nameOf(names, 1, 1), "file");  // in a/b of the first tree
      const std::string name = nameOf(names, 5, lookups);
      EXPECT_TRUE(isThere(name)) << name;
      EXPECT_EQ(std::count(name.begin(), name.end(), '/') + 1, lookups) << name;
    }
    Op op;
    op.file = 5;
    names.find(op, {.path = true, .from_first_tree = true}, descriptors_);
    EXPECT_EQ(names.path(), paths.absolute(5));
  });
}

TEST_F(PathsTest, WhatIsNotThereIsNamedByItsWholePath) {
  inTree([&](const Paths& paths, Names& names) {
    EXPECT_EQ(nameOf(names, 3, 1), paths.absolute(3));
    EXPECT_EQ(nameOf(names, kNoFile, 1), "");
  });
}

TEST_F(PathsTest, NoNameIsAnAbsoluteOne) {
  inTree([&](const Paths& paths, Names& names) {
    const std::string whole = paths.absolute(4);
    for (std::uint16_t lookups = 0; lookups < 4; ++lookups) {
      const std::string name = nameOf(names, 4, lookups);
      EXPECT_TRUE(name.front() != '/' || name == whole) << name;
    }
  });
}

TEST_F(PathsTest, AnUnknownWorkingDirectoryIsLeft) {
  inTree([&](const Paths&, Names& names) {
    EXPECT_EQ(nameOf(names, 1, 1), "file");
    ASSERT_EQ(chdir("/"), 0);
    names.changedTo(kNoFile);
    EXPECT_EQ(nameOf(names, 1, 1), "file");
    EXPECT_TRUE(isThere("../b/file"));
  });
}

TEST_F(PathsTest, AnOpenDirectoryIsLookedUpFrom) {
  inTree([&](const Paths&, Names& names) {
    const int fd = raw::openAt(AT_FDCWD, "a/b", O_PATH | O_DIRECTORY);
    ASSERT_GE(fd, 0);
    descriptors_.opened(0, fd, nullptr, false);
    EXPECT_EQ(nameOf(names, 1, 1, 0), "file");
    EXPECT_EQ(names.directory(), fd);
  });
}

TEST_F(PathsTest, AThreadThatHasNotEnteredUsesWholePaths) {
  const auto trees = Trees::open({tree_});
  ASSERT_TRUE(trees);
  const Paths paths(plan_, *trees);
  Names names(paths);
  EXPECT_EQ(nameOf(names, 1, 1), (tree_ / "a/b/file").native());
}

}  // namespace
}  // namespace omnio::replay
