// Descriptors that no recorded call made, and what threads and processes that share one wait for.
#include <sys/file.h>

#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

constexpr std::uint32_t kChild = 9000;

class GivenDescriptors : public TracedRun {};

TEST_F(GivenDescriptors, AShellsRedirectionToAFileOfTheRunIsAnOpen) {
  Thread maker(token(0));
  maker.open(10000, 10100, "/run/out", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 10)
      .close(10400, 10500, 1);
  Thread second(token(0) + kChild);
  second.given("/run/out", 1, wire::Origin::kInherited, 0, O_WRONLY, 0)
      .data("write", 20000, 20100, 1, 5);
  save(0, 1, {&maker});
  save(0, 1, {&second}, kChild);
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("out").exists);
  const auto& events = kept.threads.at(1);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].step, model::Step::kCall);
  EXPECT_EQ(events[0].row->name, "open64");
  EXPECT_EQ(events[0].arguments[1], O_WRONLY | O_TRUNC);
  EXPECT_FALSE(events[0].after.empty());
  EXPECT_EQ(events[1].fd, events[0].new_fd);
}

TEST_F(GivenDescriptors, AnOpenThatIsMadeUpTakesNoBytesAway) {
  Thread maker(token(0));
  maker.open(10000, 10100, "/run/out", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 10)
      .close(10400, 10500, 1);
  Thread second(token(0) + kChild);
  second.given("/run/out", 1, wire::Origin::kInherited, 0, O_WRONLY, 10)
      .data("write", 20000, 20100, 1, 5);
  save(0, 1, {&maker});
  save(0, 1, {&second}, kChild);
  EXPECT_EQ(schedule().threads.at(1).at(0).arguments[1], O_WRONLY);
}

TEST_F(GivenDescriptors, WhatNothingMadeInADirectoryOfTheRunIsMadeBeforeItIsFound) {
  Thread maker(token(0));
  maker.onPath("mkdir", 10000, 10100, "/run/dir");
  Thread second(token(0) + kChild);
  second.open(20000, 20100, "/run/dir/new", O_RDONLY, 1, 3).data("read", 20200, 20300, 1, 3);
  save(0, 1, {&maker});
  save(0, 1, {&second}, kChild);
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("dir/new").exists);
  EXPECT_FALSE(kept.files.at("dir").exists);
  const auto& events = kept.threads.at(1);
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].row->name, "open64");
  EXPECT_EQ(events[0].arguments[1], O_WRONLY | O_CREAT);
  EXPECT_EQ(idsOf(events[0]), std::vector<std::uint64_t>{kept.threads.at(0).at(0).id});
  EXPECT_EQ(events[1].row->name, "pwrite64");
  EXPECT_EQ(events[1].result, 3);
  EXPECT_EQ(events[2].row->name, "close");
  EXPECT_EQ(events[2].fd, events[0].new_fd);
  EXPECT_EQ(events[3].row->name, "open");
}

TEST_F(GivenDescriptors, WhatIsGivenInADirectoryOfTheRunIsMadeThere) {
  Thread maker(token(0));
  maker.onPath("mkdir", 10000, 10100, "/run/dir");
  Thread second(token(0) + kChild);
  second.given("/run/dir/out", 1, wire::Origin::kInherited, 0, O_WRONLY)
      .data("write", 20000, 20100, 1, 5);
  save(0, 1, {&maker});
  save(0, 1, {&second}, kChild);
  const Kept kept = schedule();
  EXPECT_FALSE(kept.files.at("dir/out").exists);
  EXPECT_EQ(idsOf(kept.threads.at(1).at(0)),
            std::vector<std::uint64_t>{kept.threads.at(0).at(0).id});
}

TEST_F(GivenDescriptors, ProcessesShareWhatTheyWriteToAndNotWhatTheyRead) {
  Thread first(token(0));
  first.given("/run/in", 1, wire::Origin::kInherited, 0, O_RDONLY)
      .data("read", 10000, 10100, 1, 30);
  Thread second(token(0) + kChild);
  second.given("/run/in", 1, wire::Origin::kInherited, 0, O_RDONLY)
      .data("read", 20000, 20100, 1, 30);
  Thread third(token(0) + kChild + 1);
  third.given("/run/in", 1, wire::Origin::kInherited, 0, O_WRONLY)
      .data("write", 30000, 30100, 1, 5);
  save(0, 1, {&first});
  save(0, 1, {&second}, kChild);
  save(0, 1, {&third}, kChild + 1);
  const Kept kept = schedule();
  EXPECT_EQ(kept.files.at("in").size, 30U);
  for (const auto& events : kept.threads) {
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].step, model::Step::kPreopened);
  }
}

TEST_F(GivenDescriptors, AChildMayHaveItUnderAnotherNumber) {
  Thread parent(token(0));
  parent.open(10000, 10100, "/run/out", O_WRONLY | O_CREAT | O_TRUNC, 5).close(10200, 10300, 5);
  Thread child(token(0) + kChild);
  child.given("/run/out", 1, wire::Origin::kInherited, 0, O_WRONLY)
      .data("write", 20000, 20100, 1, 5);
  save(0, 1, {&parent});
  save(0, 1, {&child}, kChild, 4711);
  const Kept kept = schedule();
  const auto& own = kept.threads.at(0);
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(own[1].step, model::Step::kInherited);
  EXPECT_EQ(kept.threads.at(1).at(0).fd, own[1].new_fd);
}

TEST_F(GivenDescriptors, ASeekWaitsForAllThatMovedThePosition) {
  Thread parent(token(0));
  parent.open(10000, 10100, "/run/out", O_RDWR | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 10)
      .data("write", 40000, 40100, 1, 3)
      .onHandle("lseek", 40200, 40300, 1, 0);
  Thread one(token(0) + kChild);
  one.given("/run/out", 1, wire::Origin::kOpened, 4711).data("write", 20000, 20100, 1, 5);
  Thread two(token(0) + kChild + 1);
  two.given("/run/out", 1, wire::Origin::kOpened, 4711).data("write", 30000, 30100, 1, 5);
  save(0, 1, {&parent});
  save(0, 1, {&one}, kChild);
  save(0, 1, {&two}, kChild + 1);
  const Kept kept = schedule();
  const auto& seek = kept.threads.at(0).back();
  const std::vector<std::uint64_t> writes{kept.threads.at(1).back().id,
                                          kept.threads.at(2).back().id};
  EXPECT_EQ(idsOf(seek), writes);
}

TEST_F(GivenDescriptors, ALockWaitsForWhoHadIt) {
  Thread first(token(0));
  first.open(10000, 10100, "/run/out", O_RDWR | O_CREAT, 1)
      .onHandle("flock", 10200, 10300, 1, LOCK_EX)
      .close(10400, 10500, 1);
  Thread second(token(1));
  second.open(10150, 10160, "/run/out", O_RDWR, 1).onHandle("flock", 10600, 10700, 1, LOCK_SH);
  save(0, 2, {&first});
  save(1, 2, {&second});
  const Kept kept = schedule();
  EXPECT_EQ(idsOf(kept.threads.at(1).at(1)),
            std::vector<std::uint64_t>{kept.threads.at(0).at(2).id});
}

TEST_F(GivenDescriptors, AProcessThatEndsWritesItsStreamsOut) {
  Thread first(token(0));
  first.given("/run/out", 1, wire::Origin::kInherited, 0, O_WRONLY)
      .onStream("fputc", 10200, 10300, 1, 1, 'x');
  Thread second(token(0) + kChild);
  second.open(20000, 20100, "/run/out", O_RDONLY, 1).data("read", 20200, 20300, 1, 1);
  save(0, 1, {&first});
  save(0, 1, {&second}, kChild);
  const Kept kept = schedule();
  const auto& flush = kept.threads.at(0).back();
  ASSERT_NE(flush.row, nullptr);
  EXPECT_EQ(flush.row->name, "fflush");
  EXPECT_EQ(flush.fd, kept.threads.at(0).front().new_fd);
  const auto& read = kept.threads.at(1).at(1);
  ASSERT_FALSE(read.after.empty());
  EXPECT_EQ(read.after.back().id, flush.id);
}

// dprintf's text is in the file at once: no stream is left to be written out.
TEST_F(GivenDescriptors, TextOnADescriptorIsNotOfAStream) {
  Thread first(token(0));
  first.open(10000, 10100, "/run/out", O_WRONLY | O_CREAT, 1)
      .data("dprintf", 10200, 10300, 1, 9)
      .close(10400, 10500, 1);
  Thread second(token(0) + kChild);
  second.open(20000, 20100, "/run/out", O_WRONLY | O_APPEND, 1).data("write", 20200, 20300, 1, 9);
  save(0, 1, {&first});
  save(0, 1, {&second}, kChild);
  const Kept kept = schedule();
  for (const auto& event : kept.threads.at(0)) {
    EXPECT_TRUE(event.row == nullptr || event.row->name != "fflush");
  }
  EXPECT_EQ(kept.threads.at(0).back().row->name, "close");
}

}  // namespace
}  // namespace omnio::preprocess
