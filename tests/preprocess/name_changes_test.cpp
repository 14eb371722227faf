// The calls of a run tell which files were there before it, and under which name.
#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

class NameChanges : public TracedRun {};

TEST_F(NameChanges, WhatCameAlongWithADirectoryWasThereUnderItsOldName) {
  Thread thread(token(0));
  thread.rename(10000, 10100, "/run/old", "/run/new")
      .open(10200, 10300, "/run/new/sub/in", O_RDONLY, 1)
      .data("read", 10400, 10500, 1, 70)
      .rename(10600, 10700, "/run/new/a", "/run/new/deep/b");
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_TRUE(kept.files.at("old/sub/in").exists);
  EXPECT_EQ(kept.files.at("old/sub/in").size, 70U);
  EXPECT_FALSE(kept.files.at("new/sub/in").exists);
  EXPECT_EQ(kept.files.at("old").role, model::FileRole::kDirectory);
  EXPECT_TRUE(kept.files.at("old").exists);
  EXPECT_EQ(kept.files.at("new").role, model::FileRole::kDirectory);
  EXPECT_FALSE(kept.files.at("new").exists);
  EXPECT_TRUE(kept.files.at("old/a").exists);
  // Nothing names it before the run, and the second rename needs it.
  EXPECT_EQ(kept.files.at("old/deep").role, model::FileRole::kDirectory);
  EXPECT_TRUE(kept.files.at("old/deep").exists);
}

TEST_F(NameChanges, WhatTheRunMadeMovesWithItsDirectory) {
  Thread thread(token(0));
  thread.onPath("mkdir", 10000, 10100, "/run/old")
      .open(10200, 10300, "/run/old/out", O_WRONLY | O_CREAT, 1)
      .data("write", 10400, 10500, 1, 70)
      .rename(10600, 10700, "/run/old", "/run/new")
      .open(10800, 10900, "/run/new/out", O_RDONLY, 2)
      .data("read", 11000, 11100, 2, 70);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  for (const char* name : {"old", "old/out", "new", "new/out"}) {
    EXPECT_FALSE(kept.files.at(name).exists) << name;
  }
}

TEST_F(NameChanges, ALinkIsNotWhatItLeadsTo) {
  Thread thread(token(0));
  thread.symlink(10000, 10100, "nothing", "/run/link")
      .onPath("lstat", 10200, 10300, "/run/link")
      .rename(10400, 10500, "/run/link", "/run/other")
      .onPath("unlink", 10600, 10700, "/run/other");
  save(0, 1, {&thread});
  EXPECT_FALSE(schedule().files.at("nothing").exists);
}

TEST_F(NameChanges, ALinkIsFollowedByWhatOpensIt) {
  Thread thread(token(0));
  thread.symlink(10000, 10100, "target", "/run/link")
      .open(10200, 10300, "/run/link", O_RDONLY, 1)
      .data("read", 10400, 10500, 1, 30);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("link").exists);
  EXPECT_EQ(kept.files.at("target").size, 30U);
}

TEST_F(NameChanges, WhatIsMissingBelowSomethingMakesThatADirectory) {
  Thread thread(token(0));
  thread.onPath("stat", 10000, 10100, "/run/lib")
      .onPath("stat", 10200, 10300, "/run/lib/none", ENOENT)
      .onPath("stat", 10400, 10500, "/run/file")
      .onPath("stat", 10600, 10700, "/run/file/none", ENOTDIR);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("lib").role, model::FileRole::kDirectory);
  EXPECT_EQ(kept.files.at("file").role, model::FileRole::kInput);
}

TEST_F(NameChanges, WhatWasAppendedDidNotHaveToBeThere) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/own", O_WRONLY | O_CREAT | O_APPEND, 1)
      .data("write", 10200, 10300, 1, 100)
      .open(10400, 10500, "/run/own", O_RDONLY, 2)
      .data("read", 10600, 10700, 2, 100)
      .open(11000, 11100, "/run/log", O_WRONLY | O_APPEND, 3)
      .data("write", 11200, 11300, 3, 100)
      .open(11400, 11500, "/run/log", O_RDONLY, 4)
      .data("read", 11600, 11700, 4, 150);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("own").exists);
  EXPECT_TRUE(kept.files.at("log").exists);
  EXPECT_EQ(kept.files.at("log").size, 50U);
}

TEST_F(NameChanges, WhatWasCopiedFromHasToBeThere) {
  constexpr std::int64_t kAll = 9223372035781033984;  // as cp asks
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/from", O_RDONLY, 1)
      .open(10200, 10300, "/run/to", O_WRONLY | O_CREAT | O_TRUNC, 2)
      .copyRange(10400, 10500, 3, 2, 300, kAll)
      .copyRange(10600, 10700, 3, 2, 200, kAll)
      .copyRange(10800, 10900, 3, 2, 0, kAll);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("from").size, 500U);
  EXPECT_EQ(kept.files.at("from").role, model::FileRole::kInput);
  const auto& events = kept.threads.at(0);
  EXPECT_EQ(events.at(2).source, events.at(0).new_fd);
  EXPECT_EQ(model::argumentOf(events.at(3), calls::Role::kOffset), -1);
  EXPECT_EQ(events.at(3).offset, 300);
  const ScheduleEvent scaled =
      schedule({.timing = model::Timing::kAsap, .size_scale = 2.5}).threads.at(0).at(2);
  EXPECT_EQ(scaled.request, static_cast<std::uint64_t>(kAll));
  EXPECT_EQ(scaled.result, 750);
}

TEST_F(NameChanges, WhoFindsANameTakenWaitsForWhoTookIt) {
  Thread maker(token(0));
  maker.open(10000, 10100, "/run/new", O_WRONLY | O_CREAT | O_EXCL, 1);
  Thread other(token(1));
  other.rename(10200, 10300, "/run/old", "/run/new", EEXIST);
  save(0, 2, {&maker});
  save(1, 2, {&other});
  const Kept kept = schedule();
  ASSERT_NE(kept.threads.at(0).at(0).id, 0U);
  EXPECT_EQ(idsOf(kept.threads.at(1).at(0)),
            std::vector<std::uint64_t>{kept.threads.at(0).at(0).id});
}

TEST_F(NameChanges, WhatDependsOnTheLengthWaitsForWhoMadeItThatLong) {
  Thread writer(token(0));
  writer.open(10000, 10100, "/run/out", O_RDWR | O_CREAT, 1)
      .data("pwrite", 10200, 10300, 1, 10, 0)
      .onHandle("ftruncate", 30000, 30100, 1, 5);
  Thread other(token(1));
  other.open(10150, 10160, "/run/out", O_RDWR | O_APPEND, 1)
      .data("write", 10400, 10500, 1, 10)
      .onHandle("lseek", 10600, 10700, 1, 0, 20, SEEK_END)
      .data("pread", 30200, 30300, 1, 5, 100);
  Thread third(token(2));
  third.open(10150, 10160, "/run/out", O_RDWR, 1)
      .onHandle("lseek", 10600, 10700, 1, 0, 20, SEEK_END)
      .data("pwrite", 30200, 30300, 1, 5, 100);
  save(0, 3, {&writer});
  save(1, 3, {&other});
  save(2, 3, {&third});
  const Kept kept = schedule();
  const auto& written = kept.threads.at(0);
  ASSERT_NE(written.at(1).id, 0U);
  const std::vector<std::uint64_t> write{written.at(1).id};
  const std::vector<std::uint64_t> cut{written.at(2).id};
  EXPECT_EQ(idsOf(kept.threads.at(1).at(1)), write);
  EXPECT_TRUE(kept.threads.at(1).at(2).after.empty());  // implied
  // It found bytes behind the cut, so the write that overlaps with it came first.
  EXPECT_EQ(idsOf(kept.threads.at(1).at(3)),
            (std::vector<std::uint64_t>{cut.front(), kept.threads.at(2).at(2).id}));
  // The append made the file as long as it was found, and has waited for the write itself.
  EXPECT_EQ(idsOf(kept.threads.at(2).at(1)),
            std::vector<std::uint64_t>{kept.threads.at(1).at(1).id});
  EXPECT_EQ(idsOf(kept.threads.at(2).at(2)), cut);
}

TEST_F(NameChanges, LinesOfAFileThatTookTheNameOverHaveNoPlace) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/text", O_RDONLY, 1)
      .onStream("getline", 10200, 10300, 1, 2, 5)
      .open(10400, 10500, "/run/draft", O_WRONLY | O_CREAT | O_EXCL, 2)
      .data("write", 10600, 10700, 2, 20)
      .rename(10800, 10900, "/run/draft", "/run/text")
      .open(11000, 11100, "/run/text", O_RDONLY, 3)
      .onStream("getline", 11200, 11300, 3, 2, 20);
  save(0, 1, {&thread});
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("text").size, 5U);
  EXPECT_TRUE(kept.files.at("text").lines);
  EXPECT_EQ(kept.threads.at(0).at(1).offset, 0);
  EXPECT_EQ(kept.threads.at(0).back().offset, model::kUnknownOffset);
}

}  // namespace
}  // namespace omnio::preprocess
