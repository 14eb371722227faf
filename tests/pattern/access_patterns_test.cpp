#include "core/pattern/access/access_patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace omnio::pattern::access {
namespace {

using Requests = std::vector<Request>;
using Prediction = AccessPatterns::Prediction;

Requests ofOneSize(const std::vector<std::int64_t>& offsets, std::uint64_t bytes = 1) {
  Requests requests;
  for (const std::int64_t offset : offsets) requests.push_back({offset, bytes});
  return requests;
}

Requests contiguous(std::int64_t offset, const std::vector<std::uint64_t>& sizes) {
  Requests requests;
  for (const std::uint64_t bytes : sizes) {
    requests.push_back({offset, bytes});
    offset += static_cast<std::int64_t>(bytes);
  }
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

AccessPatterns patternsIn(const Requests& requests) {
  AccessPatterns patterns;
  for (const Request& request : requests) patterns.add(request.offset, request.bytes);
  return patterns;
}

Requests expand(const AccessPatterns& patterns) {
  Requests requests;
  for (const AccessPattern& pattern : patterns.patterns()) {
    for (std::uint64_t n = 0; n < pattern.part.requests; ++n) {
      requests.push_back(requestOf(pattern.part, n));
    }
  }
  return requests;
}

// Takes all requests, and counts those that were not predicted.
std::vector<std::size_t> misses(AccessPatterns& patterns, const Requests& requests) {
  std::vector<std::size_t> missed;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto next = patterns.next();
    if (!next || Request{next->offset, next->bytes} != requests[i]) missed.push_back(i);
    patterns.add(requests[i].offset, requests[i].bytes);
  }
  return missed;
}

Requests predicted(const AccessPatterns& patterns, std::size_t count) {
  Requests requests;
  for (const Prediction& each : patterns.predict(count)) {
    requests.push_back({each.offset, each.bytes});
  }
  return requests;
}

TEST(AccessPatterns, TangContiguousUniformEightRequestsOf4Bytes) {
  const AccessPatterns patterns = patternsIn(contiguous(0, std::vector<std::uint64_t>(8, 4)));
  ASSERT_EQ(patterns.patterns().size(), 1U);
  EXPECT_EQ(patterns.patterns()[0].kind, PatternKind::kContiguous);
  EXPECT_EQ(patterns.patterns()[0].part.requests, 8U);
  EXPECT_EQ(patterns.next(), (Prediction{32, 4, PatternKind::kContiguous, 7}));
}

TEST(AccessPatterns, TangContiguousVariable4_8_4_8_8) {
  const Requests requests = contiguous(100, {4, 8, 4, 8, 8});
  const AccessPatterns patterns = patternsIn(requests);
  ASSERT_EQ(patterns.patterns().size(), 1U);
  EXPECT_EQ(patterns.patterns()[0].kind, PatternKind::kContiguous);
  EXPECT_EQ(expand(patterns), requests);
  ASSERT_TRUE(patterns.next());
  EXPECT_EQ(patterns.next()->offset, 132);
}

TEST(AccessPatterns, TangTwoAccessesAreNoPatternThreeAre) {
  EXPECT_EQ(patternsIn(ofOneSize({1, 3})).patterns().size(), 2U);
  const AccessPatterns patterns = patternsIn(ofOneSize({1, 3, 5}));
  ASSERT_EQ(patterns.patterns().size(), 1U);
  EXPECT_EQ(patterns.patterns()[0].kind, PatternKind::kStrided);
  EXPECT_EQ(differencesOf(patterns.patterns()[0].part), (std::vector<std::int64_t>{2}));
}

TEST(AccessPatterns, TangStridesOfOtherSizesAreNoStride) {
  Requests requests = ofOneSize({1, 5, 9});
  requests[1].bytes = 2;
  for (const AccessPattern& pattern : patternsIn(requests).patterns()) {
    EXPECT_EQ(pattern.kind, PatternKind::kSingle);
  }
}

// {1,3,5,11,13,15,21,23,25} is 2-D: segments {1,3,5}, {11,13,15}, {21,23,25}, second stride 10.
TEST(AccessPatterns, TangTwoDimensionsWithSecondStride10) {
  const AccessPatterns patterns =
      patternsIn(ofOneSize({1, 3, 5, 11, 13, 15, 21, 23, 25, 31, 33, 35}));
  ASSERT_EQ(patterns.patterns().size(), 1U);
  EXPECT_EQ(patterns.patterns()[0].kind, PatternKind::kNested);
  EXPECT_EQ(dimensionsOf(patterns.patterns()[0].part), (std::vector<Dimension>{{3, 2}, {4, 10}}));
}

TEST(AccessPatterns, TangTwoDimensionsAreCertainWhen31Arrives) {
  AccessPatterns patterns = patternsIn(ofOneSize({1, 3, 5, 11, 13, 15, 21, 23, 25}));
  EXPECT_EQ(patterns.next(), (Prediction{31, 1, PatternKind::kNested, 6}));
  patterns.add(31, 1);
  EXPECT_EQ(predicted(patterns, 5), ofOneSize({33, 35, 41, 43, 45}));
  EXPECT_EQ(patterns.patterns()[0].kind, PatternKind::kNested);
  // Before, the third segment might have gone on.
  AccessPatterns other = patternsIn(ofOneSize({1, 3, 5, 11, 13, 15, 21, 23, 25, 27, 29}));
  EXPECT_EQ(expand(other), ofOneSize({1, 3, 5, 11, 13, 15, 21, 23, 25, 27, 29}));
}

TEST(AccessPatterns, TangTwoDimensionsAreCertainEarlierWithTheSamePatternInTheHistory) {
  AccessPatterns patterns;
  misses(patterns, nest(1, {{3, 2}, {3, 10}}, 1));
  misses(patterns, nest(5000, {{7, 100}}, 8));
  const Requests again = nest(1001, {{3, 2}, {3, 10}}, 1);
  patterns.add(again[0].offset, 1);
  EXPECT_EQ(predicted(patterns, 8), Requests(again.begin() + 1, again.end()));
}

// Time steps 5, 6, 14, 15, 29, 30, 38, 39, 53, 54, 62, 63 ... for 30 days.
TEST(AccessPatterns, TangComposition1_8_1_14Repeated29Times) {
  std::vector<std::int64_t> steps;
  for (std::int64_t day = 0; day < 30; ++day) {
    for (const std::int64_t step : {5, 6, 14, 15}) steps.push_back(24 * day + step);
  }
  AccessPatterns patterns;
  const std::vector<std::size_t> missed = misses(patterns, ofOneSize(steps));
  ASSERT_EQ(patterns.patterns().size(), 1U);
  const AccessPattern pattern = patterns.patterns()[0];
  EXPECT_EQ(pattern.kind, PatternKind::kComposition);
  EXPECT_EQ(differencesOf(pattern.part), (std::vector<std::int64_t>{1, 8, 1, 14}));
  EXPECT_EQ(pattern.part.count, 30U);  // with the first: repeated 29 times
  // T_comp: a period and the first differences that come again.
  EXPECT_LE(missed.back(), 6U);
  EXPECT_EQ(patterns.next()->kind, PatternKind::kComposition);
}

TEST(AccessPatterns, TangCompositionOverStartsOfPatterns) {
  AccessPatterns patterns;
  Requests requests;
  for (std::int64_t step = 0; step < 6; ++step) {
    for (const Requests& part :
         {nest(step * 10000, {{5, 16}}, 8), nest(step * 10000 + 700, {{9, 32}}, 8),
          nest(step * 10000 + 4000, {{4, 8}}, 8)}) {
      requests.insert(requests.end(), part.begin(), part.end());
    }
  }
  const std::vector<std::size_t> missed = misses(patterns, requests);
  EXPECT_LE(missed.back(), 18U + 1);  // at most the first access of the second step, and its second
  ASSERT_EQ(patterns.patterns().size(), 1U);
  EXPECT_EQ(patterns.patterns()[0].kind, PatternKind::kComposition);
  EXPECT_EQ(differencesOf(patterns.patterns()[0].part),
            (std::vector<std::int64_t>{700, 3300, 6000}));
}

TEST(AccessPatterns, TangCorrelation10Before20And30And20Before30) {
  AccessPatterns patterns =
      patternsIn(ofOneSize({10, 20, 30, 40, 50, 10, 70, 20, 30, 80, 10, 40, 20, 30}));
  EXPECT_EQ(patterns.correlations(), (std::vector<Correlation>{{10, {20, 30}}, {20, {30}}}));
  patterns.add(10, 1);
  const std::vector<Prediction> next = patterns.predict(2);
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].offset, 20);
  EXPECT_EQ(next[1].offset, 30);
  EXPECT_EQ(next[0].kind, PatternKind::kCorrelation);
}

// 134 bytes instead of 102 KB.
TEST(AccessPatterns, TangTwoDimensionsOf1024AccessesTakeFewBytes) {
  const Requests requests = nest(0, {{32, 10}, {32, 1000}}, 4);
  LoopList list(AccessPatterns::kMostInBody);
  for (const Request& request : requests) list.add(request.offset, request.bytes);
  ASSERT_EQ(list.elements().size(), 1U);
  EXPECT_LE(list.memoryBytes(), 640U);  // 96 for the loops and the request; tables have room
  // With all that is needed to go on: it does not grow with the accesses.
  EXPECT_LE(patternsIn(requests).memoryBytes(), 10240U);
  EXPECT_LE(patternsIn(nest(0, {{320, 10}, {320, 10000}}, 4)).memoryBytes(), 10240U);
}

// Counts and strides of k loops. Each stride is larger than what is inside, so that the loops are
// not fewer than k.
std::vector<Dimension> randomDimensions(std::mt19937& chance, std::size_t k) {
  std::vector<Dimension> dimensions;
  std::int64_t span = 8;
  for (std::size_t i = 0; i < k; ++i) {
    const std::uint64_t count = 3 + chance() % 4;
    const std::int64_t stride = 2 * span + static_cast<std::int64_t>(chance() % 100);
    dimensions.push_back({count, chance() % 3 == 0 ? -stride : stride});
    span = stride * static_cast<std::int64_t>(count);
  }
  return dimensions;
}

TEST(AccessPatterns, NestsOfOneToFourLoopsAreMissedOncePerDimension) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 chance(seed);
    const std::size_t k = 1 + seed % 4;
    const std::vector<Dimension> dimensions = randomDimensions(chance, k);
    const Requests requests = nest(1000000, dimensions, 1 + chance() % 8);
    // The first two accesses, and the first step in each other dimension.
    std::vector<std::size_t> expected{0, 1};
    std::size_t turn = 1;
    for (std::size_t i = 0; i + 1 < k; ++i) {
      turn *= dimensions[i].count;
      expected.push_back(turn);
    }
    AccessPatterns patterns;
    EXPECT_EQ(misses(patterns, requests), expected) << "seed " << seed;
    ASSERT_EQ(patterns.patterns().size(), 1U) << "seed " << seed;
    EXPECT_EQ(dimensionsOf(patterns.patterns()[0].part), dimensions) << "seed " << seed;
  }
}

// From the first access of the second turn on, all that follows is known in order.
TEST(AccessPatterns, ANestIsPredictedToItsEnd) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 chance(seed);
    const std::vector<Dimension> dimensions = randomDimensions(chance, 1 + seed % 4);
    const Requests requests = nest(1000000, dimensions, 5);
    const std::size_t known = requests.size() / dimensions.back().count + 1;
    const AccessPatterns patterns =
        patternsIn(Requests(requests.begin(), requests.begin() + static_cast<long>(known)));
    EXPECT_EQ(predicted(patterns, requests.size() - known),
              Requests(requests.begin() + static_cast<long>(known), requests.end()))
        << "seed " << seed;
  }
}

TEST(AccessPatterns, PatternsExpandToTheAccesses) {
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
    const AccessPatterns patterns = patternsIn(requests);
    ASSERT_EQ(patterns.droppedAccesses(), 0U);
    EXPECT_EQ(expand(patterns), requests) << "seed " << seed;
  }
}

// The accesses that are left are the last ones that were added.
void expectTail(const AccessPatterns& patterns, const Requests& requests) {
  ASSERT_EQ(patterns.accesses(), requests.size());
  EXPECT_EQ(
      expand(patterns),
      Requests(requests.begin() + static_cast<long>(patterns.droppedAccesses()), requests.end()));
}

TEST(AccessPatterns, MemoryIsBoundedWhateverComes) {
  const auto test = [](const char* what, auto make) {
    std::mt19937 chance(7);
    AccessPatterns patterns;
    Requests requests;
    std::size_t most = 0;
    for (std::int64_t i = 0; i < 20000; ++i) {
      requests.push_back(make(i, chance));
      patterns.add(requests.back().offset, requests.back().bytes);
      most = std::max(most, patterns.memoryBytes());
    }
    EXPECT_LE(most, AccessPatterns::kMostBytes) << what;
    expectTail(patterns, requests);
  };
  test("offsets", [](std::int64_t, std::mt19937& chance) {
    return Request{static_cast<std::int64_t>(chance()) * 4096, 4096};
  });
  test("sizes", [](std::int64_t i, std::mt19937& chance) {
    return Request{i * 100000, chance() % 100000};
  });
  test("both", [](std::int64_t, std::mt19937& chance) {
    return Request{static_cast<std::int64_t>(chance() % 64), chance() % 3};
  });
  test("loops of any stride", [](std::int64_t i, std::mt19937& chance) {
    static std::int64_t stride = 0;
    if (i % 3 == 0) stride = static_cast<std::int64_t>(chance());
    return Request{i / 3 * 1000 + i % 3 * stride, 8};
  });
  test("bodies of any length", [](std::int64_t i, std::mt19937& chance) {
    static std::vector<std::int64_t> body;
    const std::int64_t period = 60;
    if (i % (3 * period) == 0) {
      body.clear();
      for (std::int64_t n = 0; n < period; ++n) body.push_back(static_cast<std::int64_t>(chance()));
    }
    return Request{body[static_cast<std::size_t>(i % period)] + i / period * 10, 8};
  });
}

TEST(AccessPatterns, AHeaderInBetweenIsMissedAlone) {
  Requests requests = nest(4096, {{16, 512}, {20, 65536}}, 512);
  requests.insert(requests.begin() + 200, {0, 96});
  requests.insert(requests.begin() + 300, {8, 24});
  AccessPatterns patterns;
  EXPECT_EQ(misses(patterns, requests), (std::vector<std::size_t>{0, 1, 16, 200, 300}));
}

TEST(AccessPatterns, OffsetsAtTheEndsOfTheirRangeAreTaken) {
  AccessPatterns patterns;
  for (int i = 0; i < 20; ++i) {
    for (const std::int64_t offset : {INT64_MIN, INT64_MAX, std::int64_t{0}}) {
      patterns.add(offset, UINT64_MAX);
      patterns.predict(4);
    }
  }
  EXPECT_EQ(patterns.accesses(), 60U);
}

TEST(AccessPatterns, NothingIsPredictedInRandomOffsets) {
  std::mt19937 chance(3);
  AccessPatterns patterns;
  std::size_t predictions = 0;
  for (int i = 0; i < 10000; ++i) {
    if (i >= 100 && patterns.next()) ++predictions;
    patterns.add(static_cast<std::int64_t>(chance()) * 4096, 4096);
  }
  EXPECT_LE(predictions, 10U);
}

}  // namespace
}  // namespace omnio::pattern::access
