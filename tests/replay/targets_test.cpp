#include "replay/target/targets.hpp"

#include <gtest/gtest.h>

#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

std::string refusedTargets(const std::vector<std::string>& words) {
  const auto targets = readTargets(words);
  return targets ? "" : targets.failure().sentence;
}

TEST(Targets, ThePlainOneIsTheFirst) {
  const auto targets = readTargets({"fast=/bb/run/", "/nfs/a=b/../run", "large=rel"});
  ASSERT_TRUE(targets) << targets.failure().sentence;
  ASSERT_EQ(targets->size(), 3U);
  EXPECT_EQ((*targets)[0].name, "");
  EXPECT_EQ((*targets)[0].directory, "/nfs/run");
  EXPECT_EQ(wordOf((*targets)[1]), "fast=/bb/run");
  EXPECT_EQ((*targets)[2].directory, fs::current_path() / "rel");
}

TEST(Targets, WordsThatMeanNoTargetAreRefused) {
  EXPECT_EQ(refusedTargets({"x=/a", "x=/b"}),
            "--target x=/b: the target x was given before, with the directory /a");
  EXPECT_EQ(refusedTargets({"/a", "/b"}),
            "--target /b: the plain target was given before, with the directory /a");
  EXPECT_EQ(refusedTargets({"=/a"}),
            "--target =/a: the name is empty; NAME=DIR is wanted, or ./=/a for a directory");
  EXPECT_EQ(
      refusedTargets({"a/b=c"}),
      "--target a/b=c: the name a/b has a /, = or : in it; NAME=DIR is wanted, or ./a/b=c for "
      "a directory");
  EXPECT_EQ(refusedTargets({"x="}), "--target x=: the directory is empty");
}

TEST(Targets, WordsThatMeanNoMapAreRefused) {
  const Targets targets = {{.name = "x", .directory = "/a"}};
  const auto refused = [&targets](const std::string& word) {
    const auto maps = readTargetMaps({word}, targets);
    return maps ? "" : maps.failure().sentence;
  };
  EXPECT_EQ(refused("/app/a=b=x:"), "");
  EXPECT_EQ(refused("/app=x"), "--map /app=x: PATTERN=NAME: is wanted");
  EXPECT_EQ(refused("x:"), "--map x:: PATTERN=NAME: is wanted");
  EXPECT_EQ(refused("=x:"), "--map =x:: the pattern before = is empty");
  EXPECT_EQ(refused("/app=:"), "--map /app=:: no --target DIR is given");
  EXPECT_EQ(refused("/app=y:"), "--map /app=y:: no --target y=DIR is given");
  EXPECT_EQ(refused("/app=a/b:"), "--map /app=a/b:: the name a/b has a /, = or : in it");
}

TEST(Targets, NoTwoAreOneDirectoryOrLieInEachOther) {
  const test::TemporaryDirectory directory;
  const fs::path real = fs::canonical(directory.path());
  fs::create_directory(real / "a");
  fs::create_directory_symlink(real / "a", real / "link");
  const Target plain{.directory = real / "a"};
  const auto refused = [&](const fs::path& other) {
    const auto checked = checkTargets({plain, {.name = "x", .directory = other}}, false);
    return checked ? "" : checked.failure().sentence;
  };
  const std::string same = "--target " + (real / "a").native() +
                           " and --target x=" + (real / "link").native() +
                           " are the same directory; each target needs its own";
  EXPECT_EQ(refused(real / "link"), same);
  EXPECT_EQ(refused(real / "link/not/yet"), "--target x=" + (real / "link/not/yet").native() +
                                                " lies in --target " + (real / "a").native() +
                                                "; each target needs a directory of its own");
  EXPECT_TRUE(refused(real).starts_with("--target " + (real / "a").native() + " lies in"));
  EXPECT_EQ(refused(real / "ab"), "");
}

TEST(Targets, AllTreesAreMadeOrNone) {
  const test::TemporaryDirectory directory;
  const Targets targets = {{.directory = directory / "a"},
                           {.name = "x", .directory = directory / "b"}};
  fs::create_directory(directory / "b");
  test::writeAll(directory / "b/data", "precious");
  const auto refused = makeTrees(targets, true);
  ASSERT_FALSE(refused);
  EXPECT_FALSE(fs::exists(directory / "a"));
  EXPECT_EQ(test::readAll(directory / "b/data"), "precious");
  fs::remove(directory / "b/data");
  const auto first = makeTrees(targets, false);
  ASSERT_TRUE(first) << first.failure().sentence;
  const auto trees = treesOf(targets, *first);
  ASSERT_TRUE(trees);
  EXPECT_EQ(*trees, (std::vector<fs::path>{fs::canonical(directory / "a/tree"),
                                           fs::canonical(directory / "b/tree")}));
}

TEST(Targets, TargetsOfOneFileSystemShareItsRoom) {
  const test::TemporaryDirectory directory;
  const Targets targets = {{.directory = directory / "a"},
                           {.name = "x", .directory = directory / "b"}};
  const std::uint64_t free = fs::space(directory.path()).free;
  Plan plan;
  for (const std::uint32_t tree : {0U, 1U}) {
    PlannedFile& file = plan.files.emplace_back();
    file.tree = tree;
    file.exists = true;
    file.role = model::FileRole::kInput;
    file.size = free / 4 * 3;
  }
  const auto fits = checkTargetsRoom(targets, plan);
  ASSERT_FALSE(fits);
  const std::string names = (directory / "a").native() + " (the plain target) and " +
                            (directory / "b").native() + " (the target x): too little room: ";
  EXPECT_TRUE(fits.failure().sentence.starts_with(names)) << fits.failure().sentence;
  plan.files.pop_back();
  EXPECT_TRUE(checkTargetsRoom(targets, plan));
  const std::string none = ": no file of the schedule goes there";
  const std::vector<std::string> unused = {"--target x=" + (directory / "b").native() + none,
                                           "--node-local /disk" + none};
  EXPECT_EQ(unusedTargets(targets, "/disk", plan), unused);
  plan.files.front().tree = kNodeTree;
  plan.files.emplace_back().tree = 1;
  EXPECT_TRUE(unusedTargets(targets, "/disk", plan).empty());
  EXPECT_TRUE(unusedTargets(targets, {}, plan).empty());
}

}  // namespace
}  // namespace omnio::replay
