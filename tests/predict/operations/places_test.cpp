// Where files have room, sequences with many different numbers, and the choice between ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/base/integers.hpp"
#include "predict/operations/contest.hpp"
#include "predict/operations/file_place.hpp"
#include "predict/operations/operation_model.hpp"
#include "predict/operations/repeated_sequence.hpp"

namespace omnio::predict {
namespace {

Operation writeOf(std::uint64_t context, std::int64_t offset, std::int64_t bytes) {
  return {.context = context,
          .file = event::FileId{1},
          .kind = Kind::kWrite,
          .has_size = true,
          .has_offset = true,
          .offset = offset,
          .bytes = bytes};
}

TEST(Holes, AreThoseOfAListOfBytes) {
  constexpr std::int64_t kBytes = 200;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Holes holes;
    std::vector<bool> is_hole(kBytes, false);
    for (std::uint64_t step = 0; step < 200; ++step) {
      const std::uint64_t draw = base::mixed(seed, step);
      const auto begin = static_cast<std::int64_t>(draw % kBytes);
      const auto end =
          std::min<std::int64_t>(kBytes, begin + static_cast<std::int64_t>(draw >> 16 & 31));
      const bool adds = (draw >> 32 & 1) != 0;
      adds ? holes.add(begin, end) : holes.remove(begin, end);
      for (std::int64_t i = begin; i < end; ++i) is_hole[static_cast<std::size_t>(i)] = adds;
      for (std::int64_t room = 1; room < 40; room += 7) {
        const Holes::Hole* const first = holes.first(0, room);
        std::int64_t wanted = -1;
        std::int64_t run = 0;
        for (std::int64_t i = 0; i <= kBytes && wanted < 0; ++i) {
          if (i < kBytes && is_hole[static_cast<std::size_t>(i)]) {
            ++run;
          } else {
            if (run >= room) wanted = i - run;
            run = 0;
          }
        }
        ASSERT_EQ(first == nullptr ? -1 : first->begin, wanted) << seed << " " << step;
      }
    }
  }
}

TEST(Holes, OfTooManyTheSmallestIsForgotten) {
  Holes holes;
  for (std::int64_t i = 0; i < 1000; ++i) holes.add(1000 * i, 1000 * i + 10 + i % 500);
  EXPECT_LE(holes.memoryBytes(), 2 * Holes::kMaxHoles * sizeof(Holes::Hole));
  ASSERT_NE(holes.first(0, 1), nullptr);
  EXPECT_GE(holes.first(0, 1)->end - holes.first(0, 1)->begin, 10 + 400);
  ASSERT_NE(holes.tightest(505), nullptr);
  EXPECT_EQ(holes.tightest(505)->end - holes.tightest(505)->begin, 505);
}

TEST(FilePlace, AnEmptiedFileHasNeitherEndNorHoles) {
  FilePlace place;
  const event::FileId file{3};
  place.open(file);
  place.transfer(file, 0, 100, true);
  place.transfer(file, 300, 50, true);  // leaves 100 to 300 out
  EXPECT_EQ(place.highest_end, 350);
  ASSERT_NE(place.holes.first(0, 200), nullptr);
  EXPECT_EQ(place.holes.first(0, 200)->begin, 100);
  place.open(file);
  EXPECT_EQ(place.end, 0);
  EXPECT_EQ(place.highest_end, 350);
  place.open(file, true);
  EXPECT_EQ(place.highest_end, 0);
  EXPECT_TRUE(place.holes.isEmpty());
}

TEST(RepeatedSequence, SaysASequenceOfManyDifferentNumbers) {
  RepeatedSequence sequence;
  constexpr std::uint64_t kPeriod = 500;
  const auto number = [](std::uint64_t i) {
    return static_cast<std::int64_t>(base::mixed(i % kPeriod) % 1'000'000);
  };
  for (std::uint64_t i = 0; i < 4 * kPeriod; ++i) {
    if (i > kPeriod + 6) {
      ASSERT_EQ(sequence.next(), number(i)) << i;
      RepeatedSequence::Ahead ahead(sequence);
      for (std::uint64_t k = 0; k < 5; ++k) ASSERT_EQ(ahead.next(), number(i + k)) << i;
    }
    sequence.take(number(i), static_cast<std::uint64_t>(number(i)));
  }
}

TEST(RepeatedSequence, FindsBackAfterAnInterruption) {
  RepeatedSequence sequence;
  const auto number = [](std::uint64_t i) {
    return static_cast<std::int64_t>(base::mixed(i % 60));
  };
  int wrong = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    if (i >= 120 && sequence.next() != number(i)) ++wrong;
    sequence.take(number(i), static_cast<std::uint64_t>(number(i)));
    if (i % 100 == 50) sequence.take(7, 7);  // once in a while another number
  }
  EXPECT_LE(wrong, 5 * 8);
}

TEST(RepeatedSequence, OfRandomNumbersIsUselessAndBounded) {
  RepeatedSequence sequence;
  for (std::uint64_t i = 0; i < 3 * RepeatedSequence::kMaxNumbers; ++i) {
    sequence.take(static_cast<std::int64_t>(base::mixed(i)), base::mixed(i));
  }
  EXPECT_TRUE(sequence.isUseless());
  EXPECT_LE(sequence.memoryBytes(), RepeatedSequence::kMaxBytes);
}

TEST(Contest, FollowsWhatWasRightLately) {
  Contest<3> contest(1.5F);
  EXPECT_EQ(contest.best(), 0U);
  for (int i = 0; i < 100; ++i) contest.take({1, 1, 1});
  EXPECT_EQ(contest.best(), 0U);  // where all are wrong the first is believed
  for (int i = 0; i < 3; ++i) contest.take({1, 0, 1});
  EXPECT_EQ(contest.best(), 1U);
  for (int i = 0; i < 1000; ++i) contest.take({0, 0, 1});
  EXPECT_EQ(contest.best(), 1U);  // what both have right says nothing
  for (int i = 0; i < 20; ++i) contest.take({0, 1, 0});
  EXPECT_EQ(contest.best(), 0U);
  for (int i = 0; i < 20; ++i) contest.take({1, 1, 0});
  EXPECT_EQ(contest.best(), 2U);
}

// The share of offsets that are right, of the last half of the writes.
double rightOf(const std::vector<Operation>& operations) {
  OperationModel model;
  std::size_t right = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& one = operations[i];
    if (one.has_offset && i >= operations.size() / 2) {
      ++count;
      if (model.offsetOf(one) == one.offset) ++right;
    }
    model.take(one);
  }
  return static_cast<double>(right) / static_cast<double>(count);
}

// As HDF5 does it: each turn a file, with chunks of random sizes one after the other, and behind
// each the place of its index, which is written when all chunks are.
TEST(OperationModel, FillsTheHolesThatItsProgramLeft) {
  std::vector<Operation> operations;
  for (std::uint64_t turn = 0; turn < 40; ++turn) {
    operations.push_back(
        {.context = 1, .file = event::FileId{1}, .kind = Kind::kOpen, .empties = true});
    std::vector<std::int64_t> places;
    std::int64_t end = 0;
    for (std::uint64_t chunk = 0; chunk < 12; ++chunk) {
      const auto bytes = static_cast<std::int64_t>(1000 + base::mixed(turn, chunk) % 3000);
      operations.push_back(writeOf(10 + chunk, end, bytes));
      places.push_back(end + bytes);
      end += bytes + 96;
    }
    for (std::size_t i = 0; i < places.size(); ++i)
      operations.push_back(writeOf(30 + i, places[i], 96));
  }
  EXPECT_GE(rightOf(operations), 0.95);
}

// A sequence of 100 different sizes and places, which no grammar of 24 numbers holds.
TEST(OperationModel, LearnsALongSequence) {
  std::vector<Operation> operations;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t draw = base::mixed(i % 100);
    operations.push_back(writeOf(5, static_cast<std::int64_t>(draw % (1U << 30)),
                                 static_cast<std::int64_t>(100 + draw % 1000)));
  }
  EXPECT_GE(rightOf(operations), 0.95);
}

}  // namespace
}  // namespace omnio::predict
