#include "core/event/io_time.hpp"

#include <gtest/gtest.h>

namespace omnio::event {
namespace {

using calls::CallId;

TEST(IoUnion, TimeThatTwoThreadsShareCountsOnce) {
  IoUnion rank;
  EXPECT_EQ(rank.add({.kind = IoKind::kData, .start_ns = 0, .end_ns = 10}).data_ns, 10);
  // Inside, half outside, and behind.
  EXPECT_EQ(rank.add({.kind = IoKind::kSync, .start_ns = 2, .end_ns = 9}), IoTime());
  EXPECT_EQ(rank.add({.kind = IoKind::kSync, .start_ns = 6, .end_ns = 14}).sync_ns, 4);
  EXPECT_EQ(rank.add({.kind = IoKind::kMetadata, .start_ns = 20, .end_ns = 21}).metadata_ns, 1);
  EXPECT_EQ(rank.total(), (IoTime{.data_ns = 10, .metadata_ns = 1, .sync_ns = 4}));
  EXPECT_EQ(rank.total().total(), 15);
}

TEST(IoUnion, WaitingForOthersIsKeptApart) {
  IoUnion rank;
  const IoTime added =
      rank.add({.kind = IoKind::kData, .start_ns = 100, .end_ns = 150, .waited_ns = 30});
  EXPECT_EQ(added, (IoTime{.data_ns = 20, .waiting_ns = 30}));
  // All of the call, or more by a clock that is off.
  EXPECT_EQ(rank.add({.kind = IoKind::kData, .start_ns = 200, .end_ns = 210, .waited_ns = 99}),
            (IoTime{.waiting_ns = 10}));
  // A thread that was at work meanwhile: of the wait, only what was not covered.
  IoUnion two;
  two.add({.kind = IoKind::kData, .start_ns = 0, .end_ns = 50});
  EXPECT_EQ(two.add({.kind = IoKind::kData, .start_ns = 10, .end_ns = 100, .waited_ns = 60}),
            (IoTime{.data_ns = 30, .waiting_ns = 20}));
}

TEST(IoKind, OfCalls) {
  const auto kind = [](CallId call) { return ioKindOf(calls::rowOf(call)); };
  EXPECT_EQ(kind(CallId::pwrite64), IoKind::kData);
  EXPECT_EQ(kind(CallId::MPI_File_read_all_end), IoKind::kData);
  EXPECT_EQ(kind(CallId::MPI_Waitall), IoKind::kData);
  EXPECT_EQ(kind(CallId::aio_read), IoKind::kData);
  EXPECT_EQ(kind(CallId::fsync), IoKind::kSync);
  EXPECT_EQ(kind(CallId::MPI_File_sync), IoKind::kSync);
  EXPECT_EQ(kind(CallId::MPI_File_set_view), IoKind::kMetadata);
  EXPECT_EQ(kind(CallId::lseek), IoKind::kMetadata);
  EXPECT_EQ(kind(CallId::fclose), IoKind::kMetadata);
}

}  // namespace
}  // namespace omnio::event
