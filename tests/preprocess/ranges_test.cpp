// Events that wait for others because of ranges of bytes.
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "preprocess/files/scale_map.hpp"
#include "preprocess/files/size_scale.hpp"
#include "preprocess/order/dependencies.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio::preprocess {
namespace {

PastEvent past(std::uint32_t thread, std::uint64_t sequence, std::int64_t end_ns) {
  return {{thread, sequence}, 0, end_ns};
}

// 0 when no event waits for it.
std::uint64_t idOf(const Dependencies& dependencies, const EventRef& event) {
  for (std::uint64_t id = 1; id <= dependencies.ids(); ++id) {
    const auto& named = dependencies.named(id);
    if (named && named->thread == event.thread && named->sequence == event.sequence) return id;
  }
  return 0;
}

TEST(Dependencies, OneEdgeStandsForAllThatCameBefore) {
  Dependencies dependencies;
  dependencies.require({{1, 5}, 100}, past(0, 7, 90));
  EXPECT_EQ(dependencies.edges(), 1U);
  dependencies.require({{1, 6}, 110}, past(0, 3, 50));  // implied by the first
  EXPECT_EQ(dependencies.edges(), 1U);
  dependencies.require({{1, 7}, 120}, past(0, 8, 119));
  EXPECT_EQ(dependencies.edges(), 2U);
  EXPECT_NE(idOf(dependencies, {0, 7}), 0U);
  EXPECT_EQ(idOf(dependencies, {0, 3}), 0U);
  EXPECT_EQ(dependencies.before({1, 5}), std::vector<model::Wait>{{idOf(dependencies, {0, 7})}});
  EXPECT_TRUE(dependencies.before({1, 6}).empty());
}

TEST(Dependencies, WhatRanAtTheSameTimeGetsNone) {
  Dependencies dependencies;
  dependencies.require({{1, 5}, 100}, past(0, 7, 101));
  dependencies.require({{0, 8}, 100}, past(0, 7, 90));  // the thread's own order does it
  EXPECT_EQ(dependencies.edges(), 0U);
}

TEST(DataConflicts, AReadWaitsForTheLastWriteOfItsBytes) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  conflicts.wrote(0, {0, 100}, past(0, 1, 10));
  conflicts.wrote(0, {500, 600}, past(0, 2, 20));
  conflicts.wrote(1, {0, 100}, past(0, 3, 30));
  conflicts.reads(0, {100, 500}, {{1, 0}, 40});  // between them
  EXPECT_EQ(dependencies.edges(), 0U);
  conflicts.reads(0, {90, 110}, {{1, 1}, 50});
  EXPECT_NE(idOf(dependencies, {0, 1}), 0U);
  conflicts.reads(0, {550, 551}, {{1, 2}, 60});
  EXPECT_NE(idOf(dependencies, {0, 2}), 0U);
  EXPECT_EQ(idOf(dependencies, {0, 3}), 0U);
}

TEST(DataConflicts, BytesThatWereCutOffAreNotWritten) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  conflicts.wrote(0, {0, 100}, past(0, 1, 10));
  conflicts.wrote(0, {500, 600}, past(0, 2, 20));
  conflicts.cut(0, 50);
  conflicts.cut(7, 0);  // no call wrote to it
  EXPECT_FALSE(conflicts.reads(0, {60, 70}, {{1, 0}, 40}));
  EXPECT_FALSE(conflicts.reads(0, {500, 600}, {{1, 1}, 40}));
  EXPECT_EQ(dependencies.edges(), 0U);
  EXPECT_TRUE(conflicts.reads(0, {40, 50}, {{1, 2}, 50}));
  EXPECT_NE(idOf(dependencies, {0, 1}), 0U);
}

TEST(DataConflicts, WhileTheLastWriteIsUnderWayTheOneBeforeCounts) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  conflicts.wrote(0, {0, 100}, past(0, 1, 10));
  conflicts.wrote(0, {100, 200}, past(0, 2, 1000));
  conflicts.reads(0, {0, 10}, {{1, 0}, 500});
  EXPECT_EQ(dependencies.before({1, 0}), std::vector<model::Wait>{{idOf(dependencies, {0, 1})}});
}

TEST(DataConflicts, ManyPlacesNeverLetAReadRunAhead) {
  Dependencies dependencies;
  DataConflicts conflicts(dependencies);
  for (std::uint64_t i = 0; i < 500; ++i) {
    conflicts.wrote(0, {i * 100, i * 100 + 10}, past(0, i, static_cast<std::int64_t>(i) * 10 + 5));
  }
  conflicts.reads(0, {25000, 25001}, {{1, 0}, 100000});
  ASSERT_EQ(dependencies.before({1, 0}).size(), 1U);
  std::uint64_t waited = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    if (idOf(dependencies, {0, i}) != 0) waited = i;
  }
  EXPECT_GE(waited, 250U);
}

TEST(ScaleMap, KeepsOrderAndAlignment) {
  for (const double factor : {0.3, 0.5, 1.0, 1.7, 2.0, 1000.0}) {
    ScaleMap map(factor);
    map.keepPages();
    map.settle();
    std::uint64_t last = 0;
    for (std::uint64_t at = 0; at < 40000; at += 7) {
      ASSERT_GE(map.position(at), last) << factor << " at " << at;
      last = map.position(at);
    }
    for (std::uint64_t at = 0; at < 40000; at += 4096) ASSERT_EQ(map.position(at) % 4096, 0U);
    ScaleMap bytes(factor);
    bytes.settle();
    EXPECT_EQ(bytes.position(1U << 30), static_cast<std::uint64_t>(factor * (1U << 30)));
  }
}

TEST(ScaleMap, DecimalFactorsAreExact) {
  for (int tenths = 1; tenths < 100; ++tenths) {
    ScaleMap map(tenths / 10.0);
    map.settle();
    for (std::uint64_t n = 0; n < 100000; n += 10) {
      ASSERT_EQ(map.position(n), n * static_cast<std::uint64_t>(tenths) / 10)
          << tenths << " of " << n;
    }
  }
}

TEST(ScaleMap, NoPieceThatACallHadIsEmpty) {
  for (const double factor : {0.001, 0.25, 0.5, 0.9}) {
    ScaleMap map(factor);
    std::uint64_t at = 0;
    const auto lengthOf = [](std::uint64_t i) { return 1 + i * 7 % 5; };
    for (std::uint64_t i = 0; i < 1000; at += lengthOf(i++)) map.keep(at, lengthOf(i));
    map.settle();
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < 1000; begin += lengthOf(i++)) {
      EXPECT_GT(map.position(begin + lengthOf(i)), map.position(begin))
          << factor << " at " << begin;
    }
    // No more than is needed for that, and behind it the factor alone.
    EXPECT_LE(map.position(begin),
              1000 + static_cast<std::uint64_t>(factor * static_cast<double>(begin)));
    EXPECT_NEAR(static_cast<double>(map.position(begin + 1000000) - map.position(begin)),
                factor * 1e6, 1);
  }
}

TEST(ScaleMap, PiecesOfDirectIoStayAlignedAndThere) {
  for (const std::uint64_t sector : {512U, 4096U}) {
    for (const double factor : {0.1, 0.25, 0.5, 0.9, 1.37}) {
      ScaleMap map(factor);
      for (std::uint64_t i = 0; i < 100; ++i) map.keepDirect(i * 3 * sector, sector);
      map.keepDirect(4096 * sector,
                     100);  // the end of the file, found by a call that is not direct
      map.settle();
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t begin = map.position(i * 3 * sector);
        const std::uint64_t end = map.position((i * 3 + 1) * sector);
        EXPECT_EQ(begin % sector, 0U) << factor << " at " << i;
        EXPECT_EQ(end % sector, 0U) << factor << " at " << i;
        EXPECT_GT(end, begin) << factor << " at " << i;
      }
      EXPECT_GT(map.position(4096 * sector + 100), map.position(4096 * sector));
    }
  }
  // Where each is whole and aligned, nothing but the factor.
  ScaleMap half(0.5);
  for (std::uint64_t i = 0; i < 10; ++i) half.keepDirect(i * 1024, 1024);
  half.settle();
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(half.position(i * 1024), i * 512);
}

TEST(ScaleMap, AnAlignmentFoundLaterHoldsForAll) {
  ScaleMap map(0.1);
  map.keep(5000, 3);
  map.keepDirect(8192, 4096);
  map.keepDirect(512, 512);
  map.settle();
  EXPECT_GT(map.position(5003), map.position(5000));
  EXPECT_GT(map.position(1024), map.position(512));
  EXPECT_EQ(map.position(12288) % 512, 0U);
  EXPECT_GT(map.position(12288), map.position(8192));
}

TEST(ScaleMap, WhatLiesBehindPiecesThatKeepTheirSizesMovesWithThem) {
  ScaleMap map(2, true);
  map.keepSame(300, 30);
  map.keepSame(0, 100);
  map.keepSame(330, 20);
  map.settle();
  EXPECT_EQ(map.position(100), 100U);
  EXPECT_EQ(map.position(300), 500U);
  EXPECT_EQ(map.position(340), 540U);
  EXPECT_EQ(map.position(400), 650U);
}

TEST(ScaleMap, PiecesThatKeepTheirSizesDoSoByWholePagesOfAMappedFile) {
  ScaleMap map(3, true);
  map.keepSame(0, 100);
  map.keepPages();
  map.settle();
  EXPECT_EQ(map.position(100), 100U);
  EXPECT_EQ(map.position(4096), 4096U);
  EXPECT_EQ(map.position(8192), 4096U + 3 * 4096);
}

TEST(ScaleMap, NoPieceIsEmptyBesidePiecesThatKeepTheirSizes) {
  for (const double factor : {0.01, 0.25, 0.5, 0.7, 0.9}) {
    ScaleMap map(factor, true);
    std::mt19937 random(11);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
    for (int i = 0; i < 300; ++i) pieces.emplace_back(random() % 4000, 1 + random() % 9);
    for (const auto& [begin, bytes] : pieces) {
      if (bytes < 4) map.keepSame(begin, bytes);
      map.keep(begin, bytes);
    }
    map.settle();
    for (const auto& [begin, bytes] : pieces) {
      const std::uint64_t scaled = map.position(begin + bytes) - map.position(begin);
      if (bytes < 4) {
        EXPECT_EQ(scaled, bytes) << factor << " at " << begin;
      } else {
        EXPECT_GT(scaled, 0U) << factor << " at " << begin;
      }
    }
  }
}

// An event of that call, with these arguments, scaled as in a file of which nothing is known.
class ScaledEvent {
 public:
  explicit ScaledEvent(const char* call) { event_.row = &calls::kTable[test::numberOf(call)]; }
  std::int64_t& operator[](calls::Role role) {
    return event_.arguments[static_cast<std::size_t>(calls::indexOf(*event_.row, role))];
  }
  model::ScheduleEvent& event() { return event_; }
  void scale(double factor, const WorkedAt& at = {}) {
    const ScaleMap map(factor);
    scaleSizes(event_, at, map, map);
  }

 private:
  model::ScheduleEvent event_;
};

std::int64_t scaledWrite(double factor, std::int64_t offset) {
  ScaledEvent write("pwrite64");
  write[calls::Role::kSize] = 512;
  write[calls::Role::kOffset] = write.event().offset = offset;
  write.event().request = 512;
  write.event().result = 512;
  write.scale(factor, {.offset = static_cast<std::uint64_t>(offset), .sought = {}});
  EXPECT_EQ(write[calls::Role::kSize], write.event().result) << factor << " at " << offset;
  return write.event().result;
}

TEST(ScaleSizes, AResultIsNeverMoreThanWhatIsAskedFor) {
  for (const double factor : {0.1, 0.25, 0.5, 0.9, 1.37}) {
    for (std::int64_t offset = 0; offset < 16384; offset += 512) scaledWrite(factor, offset);
  }
  EXPECT_EQ(scaledWrite(0.5, 512), 256);
  EXPECT_EQ(scaledWrite(0.0001, 512), 1);
}

TEST(ScaleSizes, RangesOfLocksStay) {
  ScaledEvent lock("(fcntl_lock)");
  lock[calls::Role::kOffset] = 100;
  lock[calls::Role::kLength] = 1;
  lock.scale(0.5);
  EXPECT_EQ(lock[calls::Role::kOffset], 100);
  EXPECT_EQ(lock[calls::Role::kLength], 1);
  ScaledEvent whole("lockf");
  whole[calls::Role::kLength] = 1;  // none would be up to the end of the file
  whole.scale(0.5);
  EXPECT_EQ(whole[calls::Role::kLength], 1);
}

TEST(ScaleSizes, MinusOneStaysThePosition) {
  ScaledEvent copy("copy_file_range");
  copy[calls::Role::kSourceOffset] = copy[calls::Role::kOffset] = -1;
  copy.scale(3);
  EXPECT_EQ(copy[calls::Role::kOffset], -1);
  EXPECT_EQ(copy[calls::Role::kSourceOffset], -1);
  copy[calls::Role::kSourceOffset] = copy[calls::Role::kOffset] = 40;
  copy.scale(3);
  EXPECT_EQ(copy[calls::Role::kOffset], 120);
  EXPECT_EQ(copy[calls::Role::kSourceOffset], 120);
}

TEST(ScaleSizes, ASeekLeadsWhereItsResultSays) {
  ScaledEvent seek("lseek");
  seek[calls::Role::kOffset] = -10;  // back from the position, which is not known
  seek[calls::Role::kWhence] = SEEK_CUR;
  seek.scale(3);
  EXPECT_EQ(seek[calls::Role::kOffset], -30);
  ScaledEvent known("lseek");
  known[calls::Role::kOffset] = -1;
  known[calls::Role::kWhence] = SEEK_END;
  known.event().result = 10;
  known.scale(0.5, {.offset = {}, .sought = 10});
  EXPECT_EQ(known.event().result, 5);
  EXPECT_EQ(known[calls::Role::kOffset], 0);  // of 11 bytes there are 5
}

TEST(ScaleSizes, ARangeEndsWhereItsPiecesEnd) {
  ScaledEvent space("fallocate64");
  space[calls::Role::kOffset] = 3;
  space[calls::Role::kLength] = 4;
  space.scale(0.5);
  EXPECT_EQ(space[calls::Role::kOffset], 1);
  EXPECT_EQ(space[calls::Role::kLength], 2);
  ScaledEvent empty("fallocate64");
  empty[calls::Role::kLength] = 1;
  empty.scale(0.5);
  EXPECT_EQ(empty[calls::Role::kLength], 1);
}

}  // namespace
}  // namespace omnio::preprocess
