#include "core/wire/mpi_requests.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace omnio::wire {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max() >> 2;
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

template <typename Item>
std::string listOf(const std::vector<Item>& items, std::int64_t& count) {
  std::string bytes(items.size() * kMostOfItem * kMaxVarint, '\0');
  char* out = bytes.data();
  for (const Item& item : items) {
    out = put(out, item, count);
    EXPECT_LE(out, bytes.data() + bytes.size());
  }
  bytes.resize(static_cast<std::size_t>(out - bytes.data()));
  return bytes;
}

std::int64_t varintsIn(std::string_view list) {
  std::int64_t count = 0;
  for (const char byte : list) count += static_cast<unsigned char>(byte) < 0x80 ? 1 : 0;
  return count;
}

TEST(MpiRequests, DoneOnesComeBackAsTheyWere) {
  const std::vector<DoneRequest> items = {{.request = 1},
                                          {.request = 2,
                                           .kind = DoneRequest::kReceived,
                                           .comm = 3,
                                           .source = 4095,
                                           .tag = 32767,
                                           .seq = 1000000,
                                           .bytes = 1U << 31},
                                          {.request = kLargest,
                                           .kind = DoneRequest::kReceived,
                                           .comm = kLargest,
                                           .source = -2,
                                           .tag = kLowest,
                                           .seq = kLargest,
                                           .bytes = kLargest},
                                          {.request = 4, .kind = DoneRequest::kGot, .bytes = 77},
                                          {.request = 5, .kind = DoneRequest::kCancelled}};
  std::int64_t count = 0;
  const std::string bytes = listOf(items, count);
  EXPECT_EQ(count, varintsIn(bytes));
  std::string_view list = bytes;
  DoneRequest got;
  for (const DoneRequest& item : items) {
    ASSERT_TRUE(take(list, got));
    EXPECT_EQ(got.request, item.request);
    EXPECT_EQ(got.kind, item.kind);
    EXPECT_EQ(got.comm, item.comm);
    EXPECT_EQ(got.source, item.source);
    EXPECT_EQ(got.tag, item.tag);
    EXPECT_EQ(got.seq, item.seq);
    EXPECT_EQ(got.bytes, item.bytes);
  }
  EXPECT_FALSE(take(list, got));
}

TEST(MpiRequests, BegunOnesComeBackAsTheyWere) {
  const std::vector<BegunRequest> items = {
      {.request = 9},
      {.request = 10,
       .kind = BegunRequest::kSend,
       .comm = 1,
       .peer = 3,
       .tag = 5,
       .bytes = 800,
       .seq = 6},
      {.request = 11, .kind = BegunRequest::kReceive, .comm = 1, .peer = -1, .tag = -1, .bytes = 8},
      {.request = 12, .kind = BegunRequest::kSyncSend, .comm = 2, .peer = 0, .tag = 0, .seq = 1}};
  std::int64_t count = 0;
  const std::string bytes = listOf(items, count);
  EXPECT_EQ(count, varintsIn(bytes));
  std::string_view list = bytes;
  BegunRequest got;
  for (const BegunRequest& item : items) {
    ASSERT_TRUE(take(list, got));
    EXPECT_EQ(got.request, item.request);
    EXPECT_EQ(got.kind, item.kind);
    EXPECT_EQ(got.comm, item.comm);
    EXPECT_EQ(got.peer, item.peer);
    EXPECT_EQ(got.tag, item.tag);
    EXPECT_EQ(got.bytes, item.bytes);
    EXPECT_EQ(got.seq, item.seq);
  }
  EXPECT_FALSE(take(list, got));
}

TEST(MpiRequests, MembersComeBackAsTheyWere) {
  std::int64_t count = 0;
  const std::string bytes =
      listOf<Member>({{.rank = 7, .seq = 1}, {.rank = 4000, .seq = 99}}, count);
  EXPECT_EQ(count, 4);
  std::string_view list = bytes;
  Member got;
  ASSERT_TRUE(take(list, got));
  EXPECT_EQ(got.rank, 7U);
  ASSERT_TRUE(take(list, got));
  EXPECT_EQ(got.seq, 99U);
  EXPECT_FALSE(take(list, got));
}

TEST(MpiRequests, WhatIsCutOffIsNoItem) {
  std::int64_t count = 0;
  const std::string bytes = listOf<DoneRequest>({{.request = 2,
                                                  .kind = DoneRequest::kReceived,
                                                  .comm = 1,
                                                  .source = 1,
                                                  .tag = 1,
                                                  .seq = 300,
                                                  .bytes = 70000}},
                                                count);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    std::string_view list = std::string_view(bytes).substr(0, cut);
    DoneRequest got;
    EXPECT_FALSE(take(list, got)) << cut << " of " << bytes.size() << " bytes";
  }
}

}  // namespace
}  // namespace omnio::wire
