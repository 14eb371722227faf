#include "core/pattern/loop_finder.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace omnio::pattern {
namespace {

using Requests = std::vector<Request>;

std::vector<Part> partsOf(const Requests& requests) {
  LoopFinder finder;
  for (const Request& request : requests) finder.add(request.offset, request.bytes);
  EXPECT_FALSE(finder.gaveUp());
  return finder.finish();
}

Requests expand(const std::vector<Part>& parts) {
  Requests requests;
  for (const Part& part : parts) {
    for (std::uint64_t n = 0; n < part.requests; ++n) requests.push_back(requestOf(part, n));
  }
  return requests;
}

Requests ofOneSize(const std::vector<std::int64_t>& offsets) {
  Requests requests;
  for (const std::int64_t offset : offsets) requests.push_back({offset, 1});
  return requests;
}

// The requests that loops of these dimensions make, innermost first.
Requests nest(std::int64_t base, const std::vector<Dimension>& dimensions, std::uint64_t bytes) {
  Requests requests{{base, bytes}};
  for (const auto& [count, stride] : dimensions) {
    const Requests inner = requests;
    for (std::uint64_t turn = 1; turn < count; ++turn) {
      for (const Request& request : inner) {
        requests.push_back(
            {request.offset + static_cast<std::int64_t>(turn) * stride, request.bytes});
      }
    }
  }
  return requests;
}

TEST(LoopFinder, OneStrideIsOneLoop) {
  const std::vector<Part> parts = partsOf(nest(7, {{1000, 64}}, 16));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_TRUE(isStride(parts[0]));
  EXPECT_EQ(dimensionsOf(parts[0]), (std::vector<Dimension>{{1000, 64}}));
  EXPECT_EQ(parts[0].offset, 7);
  EXPECT_EQ(parts[0].requests, 1000U);
}

// Tang et al., section 3: {1,3,5,11,13,15,21,23,25} is 2-D.
TEST(LoopFinder, TheTwoDimensionsOfThePaperAreFound) {
  const std::vector<Part> parts = partsOf(ofOneSize({1, 3, 5, 11, 13, 15, 21, 23, 25}));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(dimensionsOf(parts[0]), (std::vector<Dimension>{{3, 2}, {3, 10}}));
}

// The same paper: time steps {5, 6, 14, 15, 29, 30, ...}, differences {1, 8, 1, 14} repeated.
TEST(LoopFinder, TheCompositionOfThePaperIsFound) {
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < 30; ++i) {
    for (const std::int64_t step : {5, 6, 14, 15}) steps.push_back(24 * i + step);
  }
  const std::vector<Part> parts = partsOf(ofOneSize(steps));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(dimensionsOf(parts[0]), (std::vector<Dimension>{{2, 1}, {2, 9}, {30, 24}}));
}

TEST(LoopFinder, FourDimensionsWithTwoTurnsAreFound) {
  const std::vector<Dimension> dimensions{{6, 480}, {6, 5760}, {2, 37680}, {3, 69120}};
  const std::vector<Part> parts = partsOf(nest(240, dimensions, 240));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(dimensionsOf(parts[0]), dimensions);
}

TEST(LoopFinder, TwoHalvesAreALoopOnceTheSequenceIsOver) {
  const std::vector<Part> parts = partsOf(nest(0, {{6, 10}, {4, 100}, {2, 5000}}, 5));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(dimensionsOf(parts[0]), (std::vector<Dimension>{{6, 10}, {4, 100}, {2, 5000}}));
}

TEST(LoopFinder, CellsOfUnevenSizesAreTheBodyOfALoop) {
  Requests requests;
  for (std::int64_t step = 0; step < 5; ++step) {
    for (const std::int64_t cell : {0, 70, 210, 370}) {  // of 41, 41, 40 and 40 rows
      const std::uint64_t rows = cell < 200 ? 41 : 40;
      const Requests inner = nest(step * 1000000 + cell * 100, {{rows, 7}}, rows);
      requests.insert(requests.end(), inner.begin(), inner.end());
    }
  }
  const std::vector<Part> parts = partsOf(requests);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].count, 5U);
  EXPECT_EQ(parts[0].stride, 1000000);
  EXPECT_EQ(parts[0].body.size(), 4U);
  EXPECT_EQ(expand(parts), requests);
}

TEST(LoopFinder, BackwardsAndInPlaceAreLoopsToo) {
  EXPECT_EQ(dimensionsOf(partsOf(nest(900, {{10, -90}}, 8))[0]),
            (std::vector<Dimension>{{10, -90}}));
  EXPECT_EQ(dimensionsOf(partsOf(nest(0, {{4, 8}, {5, 0}}, 8))[0]),
            (std::vector<Dimension>{{4, 8}, {5, 0}}));
}

TEST(LoopFinder, WhatIsNotRegularIsGivenUp) {
  std::mt19937 chance(1);
  LoopFinder finder;
  for (int i = 0; i < 100000; ++i) finder.add(static_cast<std::int64_t>(chance()) * 4096, 4096);
  EXPECT_TRUE(finder.gaveUp());
}

// Whatever loops were made of: the parts say the same requests, and sums and bounds are theirs.
TEST(LoopFinder, PartsSayWhatWasAdded) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 chance(seed);
    Requests requests;
    const auto below = [&chance](unsigned most) {
      return static_cast<std::int64_t>(chance() % most);
    };
    for (std::int64_t piece = below(6) + 1; piece-- > 0;) {
      std::vector<Dimension> dimensions;
      for (std::int64_t depth = below(4); depth-- > 0;) {
        dimensions.push_back({static_cast<std::uint64_t>(below(5)) + 1, below(300) - 100});
      }
      const Requests part =
          nest(below(5000) + 50000, dimensions, static_cast<std::uint64_t>(below(3)) + 1);
      requests.insert(requests.end(), part.begin(), part.end());
    }
    const std::vector<Part> parts = partsOf(requests);
    EXPECT_EQ(expand(parts), requests) << "seed " << seed;
    for (const Part& part : parts) {
      const PartSummary all = summaryOf(part);
      PartSummary own{.bytes = 0,
                      .smallest = ~std::uint64_t{0},
                      .largest = 0,
                      .begin = INT64_MAX,
                      .end = INT64_MIN,
                      .depth = all.depth};
      for (std::uint64_t n = 0; n < part.requests; ++n) {
        const Request request = requestOf(part, n);
        own.bytes += request.bytes;
        own.smallest = std::min(own.smallest, request.bytes);
        own.largest = std::max(own.largest, request.bytes);
        own.begin = std::min(own.begin, request.offset);
        own.end = std::max(own.end, request.offset + static_cast<std::int64_t>(request.bytes));
      }
      EXPECT_EQ(all.bytes, own.bytes);
      EXPECT_EQ(all.smallest, own.smallest);
      EXPECT_EQ(all.largest, own.largest);
      EXPECT_EQ(all.begin, own.begin);
      EXPECT_EQ(all.end, own.end);
    }
  }
}

TEST(Part, IsTold) {
  EXPECT_EQ(textOf(partsOf(nest(0, {{6, 480}, {6, 5760}, {3, 69120}}, 240))[0]),
            "3 x 69120 B (6 x 5760 B (6 x 480 B))");
  EXPECT_EQ(textOf(partsOf(ofOneSize({0, 5, 7, 100, 105, 107, 200, 205, 207}))[0]),
            "3 x 100 B [0 B, 5 B, 7 B]");
}

}  // namespace
}  // namespace omnio::pattern
