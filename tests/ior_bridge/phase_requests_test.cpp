#include "ior_bridge/runner/phase_requests.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::ior {
namespace {

using model::Operation;
using model::PhaseModel;
using test::kMiB;
using test::modelOf;
using test::operation;

using One = std::tuple<Operation, std::int64_t, std::uint64_t>;
std::vector<One> requestsOf(const model::Phase& phase, int rank) {
  std::vector<One> result;
  PhaseRequests requests(phase, rank);
  while (const auto r = requests.next()) result.emplace_back(r->operation, r->offset, r->bytes);
  return result;
}

TEST(PhaseRequests, StridedFromTheInitialOffset) {
  const PhaseModel model = modelOf({operation(Operation::kWrite, 3, 4 * kMiB, kMiB, 16)});
  EXPECT_EQ(requestsOf(model.phases[0], 2),
            (std::vector<One>{{Operation::kWrite, 2 * kMiB + 16, kMiB},
                              {Operation::kWrite, 6 * kMiB + 16, kMiB},
                              {Operation::kWrite, 10 * kMiB + 16, kMiB}}));
  const RequestExtent extent = extentOf(model.phases[0], 2);
  EXPECT_EQ(extent.begin, 2 * kMiB + 16);
  EXPECT_EQ(extent.end, 11 * kMiB + 16);
  EXPECT_EQ(extent.read_end, extent.read_begin);
  EXPECT_EQ(extent.requests, 3U);
}

TEST(PhaseRequests, NestedOnesAreAsEachProcessHasThem) {
  PhaseModel model = modelOf({operation(Operation::kRead, 4, 10, 1000)});
  model.phases[0].mode = model::AccessMode::kNested;
  const auto rows = [](std::int64_t distance) {
    return pattern::loopOf(0, 2, distance, {pattern::loopOf(0, 2, 10, {pattern::requestAt(0, 5)})});
  };
  model.phases[0].operations[0].nested = {{.ranks = {0, 2}, .part = rows(100)},
                                          {.ranks = {1, 3}, .part = rows(-50)}};
  EXPECT_EQ(requestsOf(model.phases[0], 2), (std::vector<One>{{Operation::kRead, 2000, 5},
                                                              {Operation::kRead, 2010, 5},
                                                              {Operation::kRead, 2100, 5},
                                                              {Operation::kRead, 2110, 5}}));
  EXPECT_EQ(requestsOf(model.phases[0], 3).back(), (One{Operation::kRead, 2960, 5}));
  const RequestExtent extent = extentOf(model.phases[0], 3);
  EXPECT_EQ(extent.read_begin, 2950);
  EXPECT_EQ(extent.read_end, 3015);
  EXPECT_EQ(extent.largest_bytes, 5U);
  EXPECT_EQ(extent.requests, 4U);
}

TEST(PhaseRequests, OperationsTakeTurnsAndTheLongerOneGoesOn) {
  const PhaseModel model = modelOf({operation(Operation::kWrite, 3, kMiB, 8 * kMiB),
                                    operation(Operation::kRead, 2, kMiB, 8 * kMiB, kMiB)});
  EXPECT_EQ(requestsOf(model.phases[0], 0),
            (std::vector<One>{{Operation::kWrite, 0, kMiB},
                              {Operation::kRead, kMiB, kMiB},
                              {Operation::kWrite, kMiB, kMiB},
                              {Operation::kRead, 2 * kMiB, kMiB},
                              {Operation::kWrite, 2 * kMiB, kMiB}}));
  EXPECT_EQ(extentOf(model.phases[0], 1).read_begin, 9 * kMiB);
  EXPECT_EQ(extentOf(model.phases[0], 1).read_end, 11 * kMiB);
}

TEST(PhaseRequests, VaryingSizesMoveTheWeightToTheByte) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 3, 33, 0)}, false);
  model::PhaseOperation& o = model.phases[0].operations[0];
  o.request_bytes = 33;
  o.varying = true;
  o.smallest_bytes = 1;
  o.largest_bytes = 100;
  o.requests = 13;
  o.weight_bytes = 431;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t position = 0;
    for (const auto& [kind, offset, size] : requestsOf(model.phases[0], rank)) {
      EXPECT_EQ(offset, position);
      EXPECT_TRUE(size >= 26 && size <= 36) << size;
      position += static_cast<std::int64_t>(size);
      ++requests;
    }
    EXPECT_EQ(extentOf(model.phases[0], rank).end, position);
    bytes += static_cast<std::uint64_t>(position);
  }
  EXPECT_EQ(bytes, 431U);
  EXPECT_EQ(requests, 13U);
}

TEST(PhaseRequests, RandomOnesAreTheStoredOnes) {
  PhaseModel model = modelOf({operation(Operation::kRead, 4, 0, 0)});
  model.phases[0].mode = model::AccessMode::kRandom;
  model.phases[0].random = {
      {.rank = 1, .operation = 0, .requests = {{70, 5}, {3, 9}}, .left_out = 0}};
  EXPECT_EQ(requestsOf(model.phases[0], 1),
            (std::vector<One>{{Operation::kRead, 70, 5}, {Operation::kRead, 3, 9}}));
  EXPECT_EQ(extentOf(model.phases[0], 1).read_begin, 3);
  EXPECT_EQ(extentOf(model.phases[0], 1).read_end, 75);
}

TEST(PhaseRequests, RandomOnesThatAreNotStoredVisitEachPlaceOnce) {
  PhaseModel model = modelOf({operation(Operation::kRead, 1000, 0, 1000 * kMiB)});
  model.phases[0].mode = model::AccessMode::kRandom;
  std::set<std::int64_t> offsets;
  std::int64_t ascending = 0;
  std::int64_t last = -1;
  for (const auto& [kind, offset, size] : requestsOf(model.phases[0], 1)) {
    offsets.insert(offset);
    ascending += offset > last ? 1 : 0;
    last = offset;
  }
  EXPECT_EQ(offsets.size(), 1000U);
  EXPECT_EQ(*offsets.begin(), 1000 * kMiB);
  EXPECT_EQ(*offsets.rbegin(), 1999 * kMiB);
  EXPECT_GT(ascending, 400);
  EXPECT_LT(ascending, 600);
  EXPECT_EQ(requestsOf(model.phases[0], 1), requestsOf(model.phases[0], 1));
}

TEST(PhaseRequests, UnknownOffsetsAreRegionsOneBehindAnother) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 2, kMiB, 0)});
  model.phases[0].operations[0].init_offset.known = false;
  EXPECT_EQ(extentOf(model.phases[0], 0).begin, 0);
  EXPECT_EQ(extentOf(model.phases[0], 3).begin, 6 * kMiB);
  EXPECT_EQ(extentOf(model.phases[0], 3).end, 8 * kMiB);
}

TEST(PhaseRequests, ABillionRequestsTakeNoTimeToMeasure) {
  PhaseModel model = modelOf({operation(Operation::kWrite, std::uint64_t{1} << 38, kMiB, 0)});
  EXPECT_EQ(extentOf(model.phases[0], 3).end, std::int64_t{1} << 58);
  model.phases[0].operations[0].displacement_bytes = std::int64_t{1} << 60;  // leads beyond int64
  EXPECT_EQ(extentOf(model.phases[0], 3).end, std::numeric_limits<std::int64_t>::max());
}

TEST(PhaseRequests, PaddedForCollectiveCalls) {
  const PhaseModel model = modelOf({operation(Operation::kWrite, 2, kMiB, kMiB)});
  PhaseRequests requests(model.phases[0], 0);
  requests.padTo({3});
  std::vector<std::uint64_t> sizes;
  while (const auto request = requests.next()) sizes.push_back(request->bytes);
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{kMiB, kMiB, 0}));
}

}  // namespace
}  // namespace omnio::ior
