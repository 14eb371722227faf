// The bounds on what the matched picture holds: events pushed straight into the matcher, many more
// than it may hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/order/matcher.hpp"
#include "core/wire/mpi_requests.hpp"

namespace omnio {
namespace {

using calls::Role;
using wire::DoneRequest;

using calls::kAnySource;

class Counter final : public order::MpiPictureSink {
 public:
  void seen(std::uint64_t, const order::MpiEventRef&, const event::Event&) override {}
  void settled(const order::MatchedEvent& event) override {
    ++settled_;
    for (const order::EventPart& part : event.parts) {
      const order::MpiOperation& operation = *part.operation;
      if (operation.match != order::Match::kMatched) continue;
      pairs.emplace_back(operation.started.number, operation.counterpart.number);
    }
  }
  std::uint64_t settled() const { return settled_; }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;  // by their events' numbers

 private:
  std::uint64_t settled_ = 0;
};

// Two ranks of MPI_COMM_WORLD, which is group 1, and of a window, group 2.
class Bounds : public testing::Test {
 protected:
  explicit Bounds(order::MpiMatcher::Limits limits = {.most_open = 100,
                                                      .most_requests = 64,
                                                      .most_epochs = 64,
                                                      .most_streams = 50})
      : groups_(twoRanks()),
        matcher_(groups_, {false, false}, {.groups = &groups_, .clocks = {{}, {}}}, sink_, limits) {
  }

  void call(mpi::ProcessIndex rank, std::string_view name,
            std::initializer_list<std::pair<Role, std::int64_t>> arguments,
            const std::string& list = {}) {
    event::Event event;
    for (const calls::Row& row : calls::kTable) {
      if (row.number != 0 && row.name == name) event.row = &row;
    }
    for (const auto& [role, value] : arguments) {
      event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))] = value;
    }
    event.pieces = list;
    event.start_ns = ++now_;
    event.end_ns = ++now_;
    matcher_.push({.row = event.row,
                   .process = rank,
                   .number = ++number_[rank],
                   .start_ns = event.start_ns,
                   .end_ns = event.end_ns},
                  event);
    most_operations_ = std::max(most_operations_, matcher_.operationsHeld());
    most_epochs_ = std::max(most_epochs_, matcher_.epochsHeld());
  }
  void send(std::int64_t seq, std::int64_t tag = 0) {
    call(0, "MPI_Send", {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kTag, tag}, {Role::kSeq, seq}});
  }
  void irecv(std::int64_t from, std::int64_t request) {
    call(1, "MPI_Irecv", {{Role::kComm, 1}, {Role::kPeer, from}, {Role::kRequest, request}});
  }
  void wait(std::int64_t request, std::uint64_t seq) {
    call(1, "MPI_Wait", {},
         list(DoneRequest{.request = static_cast<std::uint64_t>(request),
                          .kind = DoneRequest::kReceived,
                          .comm = 1,
                          .seq = seq}));
  }
  template <typename Item>
  static std::string list(const Item& item) {
    char room[wire::kMostOfItem * wire::kMaxVarint + 8];
    std::int64_t count = 0;
    return {room, wire::put(room, item, count)};
  }
  void expectAllSettled() {
    matcher_.finish();
    EXPECT_EQ(sink_.settled(), number_[0] + number_[1]);
    EXPECT_EQ(matcher_.operationsHeld(), 0U);
    EXPECT_EQ(matcher_.epochsHeld(), 0U);
  }
  static std::uint64_t givenUp(const order::MpiCounts::Of& counts) {
    return counts.by_match[static_cast<std::size_t>(order::Match::kGivenUp)];
  }

  Counter sink_;
  mpi::MpiGroups groups_;
  order::MpiMatcher matcher_;
  std::size_t most_operations_ = 0;
  std::size_t most_epochs_ = 0;

 private:
  static mpi::MpiGroups twoRanks() {
    mpi::MpiGroups groups;
    for (const char* rank : {"0", "1"}) {
      std::string facts = std::string("group.1") + '\0' + "a " + rank + " 2 0 0 comm" + '\0';
      facts += std::string("group.2") + '\0' + "b " + rank + " 2 0 0 window" + '\0';
      tracefile::ProcessInfo info;
      info.take(facts);
      groups.add(info);
    }
    return groups;
  }

  std::int64_t now_ = 0;
  std::uint64_t number_[2]{};
};

TEST_F(Bounds, ReceivesThatWaitForOneThatNobodyFindsCompleteAreGivenUp) {
  constexpr std::uint64_t kMany = 20'000;
  irecv(kAnySource, 1);
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    send(static_cast<std::int64_t>(i));
    irecv(0, static_cast<std::int64_t>(i + 1));
    wait(static_cast<std::int64_t>(i + 1), i);
  }
  EXPECT_LT(most_operations_, 300U);
  EXPECT_GT(givenUp(matcher_.counts().receives), kMany - 300);
  // When it is found at last, what comes behind it is as ever.
  send(kMany + 1);
  wait(1, kMany + 1);
  const std::size_t before = sink_.pairs.size();
  send(kMany + 2, 0);
  irecv(0, kMany + 2);
  wait(kMany + 2, kMany + 2);
  ASSERT_EQ(sink_.pairs.size(), before + 3);
  EXPECT_EQ(sink_.pairs.back(), std::pair(2 * kMany + 3, kMany + 2));
  expectAllSettled();
}

TEST_F(Bounds, RequestsThatNobodyFindsCompleteAreForgotten) {
  constexpr std::int64_t kMany = 20'000;
  for (std::int64_t i = 1; i <= kMany; ++i) {
    call(0, "MPI_Isend",
         {{Role::kComm, 1}, {Role::kPeer, 1}, {Role::kSeq, i}, {Role::kRequest, i}});
    call(1, "MPI_Recv", {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kSeq, i}});
  }
  EXPECT_LT(most_operations_, 100U);
  EXPECT_EQ(matcher_.counts().sends.matched(), static_cast<std::uint64_t>(kMany));
  EXPECT_EQ(matcher_.counts().unmatched, 0U);
  call(0, "MPI_Wait", {}, list(DoneRequest{.request = 1}));
  EXPECT_EQ(matcher_.counts().unmatched, 1U);  // it is not known what it waited for
  call(0, "MPI_Wait", {}, list(DoneRequest{.request = kMany}));
  EXPECT_EQ(matcher_.counts().unmatched, 1U);
  expectAllSettled();
}

TEST_F(Bounds, ReceivesThatNobodyFindsCompleteAreForgotten) {
  constexpr std::int64_t kMany = 20'000;
  for (std::int64_t i = 1; i <= kMany; ++i) irecv(0, i);
  EXPECT_LT(most_operations_, 200U);
  wait(1, 1);
  wait(kMany, 2);
  expectAllSettled();
  EXPECT_GE(givenUp(matcher_.counts().receives), static_cast<std::uint64_t>(kMany - 64));
  EXPECT_TRUE(sink_.pairs.empty());
}

TEST_F(Bounds, StreamsThatTheTracerHadNoCounterForAreCountedUpToABound) {
  for (std::int64_t tag = 0; tag < 200; ++tag) {
    send(0, tag);
    call(1, "MPI_Recv", {{Role::kComm, 1}, {Role::kPeer, 0}, {Role::kTag, tag}});
  }
  EXPECT_EQ(matcher_.counts().sends.matched(), 25U);
  EXPECT_EQ(givenUp(matcher_.counts().sends), 175U);
  EXPECT_EQ(givenUp(matcher_.counts().receives), 175U);
  expectAllSettled();
}

TEST_F(Bounds, EpochsThatAreNeverOverAreForgotten) {
  for (std::uint64_t i = 1; i <= 5'000; ++i) {
    call(0, "MPI_Win_post", {{Role::kComm, 2}}, list(wire::Member{1, i}));
    call(1, "MPI_Win_start", {{Role::kComm, 2}}, list(wire::Member{0, i}));
  }
  EXPECT_LE(most_epochs_, 65U);
  EXPECT_EQ(matcher_.counts().epochs.matched(), 10'000U);
  expectAllSettled();
}

}  // namespace
}  // namespace omnio
