// Places of accesses by shared file pointers, from synthetic traces of several ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include "core/mpi/shared_offsets.hpp"
#include "core/tracefile/trace.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

using calls::Role;

// A rank with one MPI file, handle 1, whose group is number 3.
class Rank {
 public:
  Rank(int rank, int ranks)
      : rank_(rank), ranks_(ranks), chunk_(tokenOf(rank), 0, 0, 0, 0), now_(1000) {
    chunk_.text(0, "/data/shared")
        .handle({.handle = 1, .description = 1, .fd = -1, .text_slot = 0});
    mpi("MPI_File_open", {{Role::kNewComm, 3}});
  }

  using Numbers = std::vector<std::pair<Role, std::int64_t>>;
  Rank& mpi(std::string_view symbol, const Numbers& numbers, std::int64_t bytes = 0) {
    const calls::Row& row = calls::kTable[test::numberOf(symbol)];
    std::array<std::int64_t, calls::kMaxArguments> arguments{};
    const auto put = [&](Role role, std::int64_t value) {
      const int at = calls::indexOf(row, role);
      if (at >= 0) arguments[static_cast<std::size_t>(at)] = value;
    };
    put(Role::kFile, 1);
    put(Role::kTick, ++tick_);
    put(Role::kSize, bytes);
    put(Role::kGot, bytes);
    if (row.call_class != calls::Class::kOpen && calls::has(row, Role::kSeq)) {
      put(Role::kSeq, ++seq_);
    }
    for (const auto& [role, value] : numbers) put(role, value);
    event(row.number, arguments, bytes, 0, 100);
    return *this;
  }
  Rank& ordered(std::int64_t bytes) { return mpi("MPI_File_write_ordered", {}, bytes); }
  Rank& shared(std::int64_t bytes) { return mpi("MPI_File_write_shared", {}, bytes); }
  // Below the call that comes next.
  Rank& pwrite(std::int64_t offset, std::int64_t bytes) {
    event(test::numberOf("pwrite"), {1, 0, bytes, offset}, bytes, 1, 10);
    now_ -= 100;  // the call around it began earlier
    return *this;
  }
  Rank& at(std::uint64_t now) {
    now_ = now;
    return *this;
  }

  void save(const test::TemporaryDirectory& directory) {
    auto facts = test::usualFacts(rank_, ranks_);
    facts["group.3"] = fmt::format("00000000000000ff {} {} 0 0 file", rank_, ranks_);
    facts["shared_pointers"] = "yes";
    facts["type.1"] = "b8";
    facts["type.2"] = "b8[0,24]";
    test::ContainerBuilder container(tokenOf(rank_), static_cast<std::uint32_t>(4000 + rank_));
    container.facts(facts).chunk(chunk_).ended(chunk_.header.event_count);
    container.save(directory / fmt::format("node1.{}.0.omnio", 4000 + rank_));
  }

 private:
  static std::uint64_t tokenOf(int rank) { return 700 + static_cast<std::uint64_t>(rank); }
  void event(std::uint16_t number, std::array<std::int64_t, calls::kMaxArguments> arguments,
             std::int64_t bytes, unsigned depth, std::uint64_t duration) {
    chunk_.event(number, {.start = now_,
                          .end = now_ + duration,
                          .arguments = arguments,
                          .request = static_cast<std::uint64_t>(bytes),
                          .result = depth > 0 ? bytes : 0,
                          .depth = depth});
    now_ += 1000;
  }

  int rank_;
  int ranks_;
  test::ChunkBuilder chunk_;
  std::uint64_t now_;
  std::int64_t tick_ = 0;
  std::int64_t seq_ = 0;
};

// "rank.tick=etypes" of what is known, and "rank.tick@begin+bytes" of what was found below.
std::string placesOf(std::vector<Rank>& ranks) {
  test::TemporaryDirectory directory;
  for (Rank& rank : ranks) rank.save(directory);
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory.path());
  std::vector<const tracefile::Process*> processes;
  for (const auto& process : trace->processes()) processes.push_back(process.get());
  const mpi::MpiSharedOffsets offsets(processes);
  std::string text;
  for (const tracefile::Process* process : processes) {
    for (std::uint64_t tick = 1; tick < 10; ++tick) {
      const mpi::MpiSharedPlace* place = offsets.find(*process, tick);
      if (place == nullptr) continue;
      text += text.empty() ? "" : " ";
      text += fmt::format("{}.{}", trace->rankOf(*process).value_or(-1), tick);
      if (place->etypes) text += fmt::format("={}", *place->etypes);
      for (const mpi::Stride& piece : place->pieces) {
        text += fmt::format("@{}+{}", piece.first, piece.bytes);
      }
    }
  }
  return text;
}

TEST(MpiSharedOffsets, OrderedAccessesAreBehindThoseOfLowerRanks) {
  std::vector<Rank> ranks{{0, 2}, {1, 2}};
  ranks[0].ordered(10).ordered(1);
  ranks[1].ordered(20).ordered(2);
  EXPECT_EQ(placesOf(ranks), "0.2=0 0.3=30 1.2=10 1.3=31");
}

TEST(MpiSharedOffsets, ViewsAndSeeksSetThePointerInEtypes) {
  std::vector<Rank> ranks{{0, 2}, {1, 2}};
  for (Rank& rank : ranks) {
    rank.ordered(10)
        .mpi("MPI_File_set_view", {{Role::kEtype, 1}, {Role::kFiletype, 1}})
        .ordered(16)
        .mpi("MPI_File_seek_shared", {{Role::kOffset, 100}, {Role::kWhence, SEEK_SET}})
        .ordered(8)
        .mpi("MPI_File_seek_shared", {{Role::kOffset, 0}, {Role::kWhence, SEEK_END}})
        .ordered(8);
  }
  EXPECT_EQ(placesOf(ranks), "0.2=0 0.4=0 0.6=100 1.2=10 1.4=2 1.6=101");
}

TEST(MpiSharedOffsets, TheSumOfUnorderedOnesCountsWhenTheyLieBetween) {
  std::vector<Rank> ranks{{0, 2}, {1, 2}};
  ranks[0].ordered(10).shared(5).at(9000).ordered(1);
  ranks[1].ordered(10).at(5000).shared(7).at(9000).ordered(1);
  EXPECT_EQ(placesOf(ranks), "0.2=0 0.4=32 1.2=10 1.4=33");
}

TEST(MpiSharedOffsets, WhatMayHaveOvertakenIsNotKnown) {
  std::vector<Rank> ranks{{0, 2}, {1, 2}};
  ranks[0].ordered(10).shared(5).at(9000).ordered(1);
  ranks[1].ordered(10).at(9500).shared(7).at(9900).ordered(1);
  EXPECT_EQ(placesOf(ranks), "0.2=0 1.2=10");
}

TEST(MpiSharedOffsets, AMissingRankLeavesNothingToBeKnown) {
  std::vector<Rank> ranks{{0, 3}, {1, 3}};
  for (Rank& rank : ranks) rank.ordered(10);
  EXPECT_EQ(placesOf(ranks), "");
}

TEST(MpiSharedOffsets, UnorderedOnesAreWhereTheLayerBelowMovedAllOfThem) {
  std::vector<Rank> ranks{{0, 1}};
  ranks[0].at(3050).pwrite(40, 10).at(3000).shared(10);  // all
  ranks[0].at(5050).pwrite(50, 4).at(5000).shared(10);   // a part
  EXPECT_EQ(placesOf(ranks), "0.2=40");
}

TEST(MpiSharedOffsets, WithAnUnknownViewTheyAreThePiecesBelow) {
  std::vector<Rank> ranks{{0, 1}};
  ranks[0].mpi("MPI_File_set_view", {{Role::kEtype, 1}, {Role::kFiletype, 9}});
  ranks[0].at(3050).pwrite(40, 10).at(3000).shared(10);  // all
  ranks[0].at(5050).pwrite(50, 16).at(5000).shared(10);  // and what lies between
  EXPECT_EQ(placesOf(ranks), "0.3@40+10");
}

TEST(MpiSharedOffsets, WhatTheLayerBelowMovedBetweenThePiecesIsNoneOfThem) {
  std::vector<Rank> ranks{{0, 1}};
  // Eight bytes in 24, from 8 on.
  ranks[0].mpi("MPI_File_set_view", {{Role::kDisp, 8}, {Role::kEtype, 1}, {Role::kFiletype, 2}});
  ranks[0].at(3050).pwrite(56, 32).at(3000).shared(16);  // two pieces
  ranks[0].at(5050).pwrite(56, 56).at(5000).shared(16);  // three: not this call's alone
  ranks[0].at(7050).pwrite(60, 32).at(7000).shared(16);  // in the middle of an etype
  ranks[0].at(9050).pwrite(64, 8).at(9000).shared(8);    // in a hole
  EXPECT_EQ(placesOf(ranks), "0.3=2");
}

TEST(MpiSharedOffsets, WhatLiesBeyondAnyFileBelowIsNotKnown) {
  std::vector<Rank> ranks{{0, 1}};
  ranks[0].at(3050).pwrite(INT64_MAX, 10).at(3000).shared(10);
  ranks[0].at(5050).pwrite(-1, 10).at(5000).shared(10);
  ranks[0].at(7050).pwrite(0, INT64_MAX).at(7000).shared(10);
  EXPECT_EQ(placesOf(ranks), "");
}

}  // namespace
}  // namespace omnio
