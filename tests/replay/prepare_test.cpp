#include "replay/target/prepare.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

namespace fs = std::filesystem;

PlannedFile planned(std::string location, model::FileRole role, bool exists, std::uint64_t size) {
  PlannedFile file;
  file.location = std::move(location);
  file.role = role;
  file.exists = exists;
  file.size = size;
  return file;
}

class Prepare : public ::testing::Test {
 protected:
  void SetUp() override {
    path = *makeTree(directory / "t", false);
    other = *makeTree(directory / "other", false);
  }

  Places places() const { return Places(plan.files.size(), kInTarget); }

  Prepared prepare(int processes, Cache cache = Cache::kAsIs) {
    const auto trees = Trees::open({path, other});
    EXPECT_TRUE(trees);
    const auto made = prepareDirectories(plan, *trees, places(), kInTarget);
    EXPECT_TRUE(made) << made.failure().sentence;
    Prepared all;
    for (int process = 0; process < processes; ++process) {
      const auto prepared =
          prepareFiles(plan, *trees, places(), {.process = process, .processes = processes}, cache);
      EXPECT_TRUE(prepared) << prepared.failure().sentence;
      for (const auto& [tree, one] : *prepared) {
        all.files += one.files;
        all.bytes += one.bytes;
      }
    }
    return all;
  }

  test::TemporaryDirectory directory;
  fs::path path;
  fs::path other;  // the tree of the second target
  Plan plan;
};

TEST_F(Prepare, InputsAreThereInFullWithRealBlocks) {
  plan.files = {planned("d/in", model::FileRole::kInput, true, 3000000),
                planned("out", model::FileRole::kOutput, false, 0),
                planned("asked", model::FileRole::kAbsent, false, 0),
                planned("empty", model::FileRole::kInput, true, 0),
                planned("folder", model::FileRole::kDirectory, true, 0)};
  const Prepared prepared = prepare(1, Cache::kCold);
  EXPECT_EQ(prepared.files, 2U);
  EXPECT_EQ(prepared.bytes, 3000000U);
  struct stat facts {};
  ASSERT_EQ(stat((path / "d/in").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_size, 3000000);
  EXPECT_GE(facts.st_blocks * 512, 3000000);
  EXPECT_EQ(fs::file_size(path / "empty"), 0U);
  EXPECT_TRUE(fs::is_directory(path / "folder"));
  EXPECT_FALSE(fs::exists(path / "out"));
  EXPECT_FALSE(fs::exists(path / "asked"));
}

TEST_F(Prepare, ProcessesShareTheWorkAndMakeTheSameContent) {
  const std::uint64_t size = (std::uint64_t{130} << 20) + 17;  // three pieces
  plan.files = {planned("large", model::FileRole::kInput, true, size),
                planned("small", model::FileRole::kInput, true, 10)};
  EXPECT_EQ(prepare(1).bytes, size + 10);
  const std::string alone = test::readAll(path / "large");
  fs::remove(path / "large");
  const Prepared shared = prepare(3);
  EXPECT_EQ(shared.bytes, size + 10);
  EXPECT_EQ(shared.files, 2U);
  EXPECT_TRUE(test::readAll(path / "large") == alone);
}

TEST_F(Prepare, HolesHaveNoBlocksWhoeverMakesThePieces) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  PlannedFile sparse = planned("sparse", model::FileRole::kInput, true, 1000 * kMiB);
  // In the middle of a piece, over several of them, and at the end.
  sparse.holes = {{0, kMiB}, {2 * kMiB, 300 * kMiB}, {301 * kMiB, 2000 * kMiB}};
  for (const int processes : {1, 3}) {
    plan.files = {sparse};
    const Prepared prepared = prepare(processes);
    EXPECT_EQ(prepared.files, 1U);
    EXPECT_EQ(prepared.bytes, 2 * kMiB);
    struct stat facts {};
    ASSERT_EQ(stat((path / "sparse").c_str(), &facts), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(facts.st_size), 1000 * kMiB);
    // Some file systems allocate a little more.
    EXPECT_LT(static_cast<std::uint64_t>(facts.st_blocks) * 512, 100 * kMiB);
    std::ifstream in(path / "sparse");
    for (const auto& [at, is_data] :
         {std::pair{kMiB - 1, false}, {kMiB, true}, {2 * kMiB - 8, true}, {2 * kMiB, false}}) {
      std::array<char, 8> bytes{};
      in.seekg(static_cast<std::streamoff>(at)).read(bytes.data(), is_data ? 8 : 1);
      const bool is_zero = std::ranges::all_of(bytes, [](char c) { return c == 0; });
      EXPECT_NE(is_zero, is_data) << at;
    }
    fs::remove(path / "sparse");
  }
}

TEST_F(Prepare, DirectoriesThatEventsMakeAreNotThereBefore) {
  PlannedFile made = planned("made", model::FileRole::kDirectory, false, 0);
  made.made_by_events = true;
  plan.files = {made, planned("made/below/file", model::FileRole::kOutput, false, 0),
                planned("other/file", model::FileRole::kOutput, false, 0)};
  prepare(1);
  EXPECT_FALSE(fs::exists(path / "made"));
  EXPECT_TRUE(fs::is_directory(path / "other"));
}

TEST_F(Prepare, ADirectoryIsInEachTreeThatHasFilesBelowIt) {
  const auto in_other = [](PlannedFile file) {
    file.tree = 1;
    return file;
  };
  PlannedFile made = planned("made", model::FileRole::kDirectory, false, 0);
  made.made_by_events = true;
  PlannedFile below = planned("made/below", model::FileRole::kDirectory, false, 0);
  below.made_by_events = true;
  plan.files = {planned("d/in", model::FileRole::kInput, true, 10),
                in_other(planned("d/e/in", model::FileRole::kInput, true, 20)),
                made,
                in_other(planned("made/file", model::FileRole::kOutput, false, 0)),
                in_other(below),
                in_other(planned("made/below/file", model::FileRole::kOutput, false, 0))};
  EXPECT_EQ(prepare(2).bytes, 30U);
  EXPECT_EQ(fs::file_size(path / "d/in"), 10U);
  EXPECT_FALSE(fs::exists(path / "d/e"));
  EXPECT_EQ(fs::file_size(other / "d/e/in"), 20U);
  EXPECT_FALSE(fs::exists(other / "d/in"));
  EXPECT_FALSE(fs::exists(path / "made"));
  EXPECT_TRUE(fs::is_directory(other / "made"));
  EXPECT_FALSE(fs::exists(other / "made/below"));
}

TEST_F(Prepare, WriteOverwriteHasOutputsInFullSize) {
  PlannedFile out = planned("out", model::FileRole::kOutput, false, 0);
  out.written_end = 5000;
  plan.files = {out};
  prepare(1);
  EXPECT_FALSE(fs::exists(path / "out"));
  plan.global.write_overwrite = true;
  prepare(1);
  EXPECT_EQ(fs::file_size(path / "out"), 5000U);
}

TEST_F(Prepare, TheRoomNeededIsTheLargerOfWhatIsPreparedAndWhatIsThereAtTheEnd) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  PlannedFile sparse = planned("sparse", model::FileRole::kInput, true, 1000 * kMiB);
  sparse.holes = {{kMiB, 1000 * kMiB}};
  PlannedFile emptied = planned("emptied", model::FileRole::kUpdated, true, 5 * kMiB);
  emptied.may_shrink = true;
  emptied.added_bytes = 3 * kMiB;
  PlannedFile out = planned("out", model::FileRole::kOutput, false, 0);
  out.added_bytes = kMiB;
  plan.files = {sparse, emptied, out};
  RoomNeeded needed = roomNeeded(plan, [](std::size_t) { return true; });
  EXPECT_EQ(needed.prepared, 6 * kMiB);
  EXPECT_EQ(needed.at_end, 5 * kMiB);
  EXPECT_EQ(needed.bytes(), 6 * kMiB);
  needed = roomNeeded(plan, [](std::size_t file) { return file == 2; });
  EXPECT_EQ(needed.bytes(), kMiB);
  EXPECT_TRUE(checkRoom(needed, directory / "not/yet/made"));
}

TEST_F(Prepare, WhatDoesNotFitIsSaidBeforeAnythingIsMade) {
  plan.files = {planned("in", model::FileRole::kInput, true, INT64_MAX),
                planned("more", model::FileRole::kInput, true, INT64_MAX)};
  const fs::path target = directory / "not/yet/made";
  const auto fits = checkRoom(roomNeeded(plan, [](std::size_t) { return true; }), target);
  ASSERT_FALSE(fits);
  const std::string& sentence = fits.failure().sentence;
  EXPECT_TRUE(sentence.starts_with(
      target.native() +
      ": too little room: 18446744073709551614 bytes are needed (18446744073709551614 of them for "
      "files that are prepared), and "))
      << sentence;
  EXPECT_TRUE(sentence.ends_with(" are free; --ignore-free-space goes on anyway")) << sentence;
  EXPECT_FALSE(fs::exists(directory / "not"));
}

}  // namespace
}  // namespace omnio::replay
