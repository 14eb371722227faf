#include "phase_model/growth.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace omnio::phases {
namespace {

using model::PhaseModel;

constexpr std::int64_t kRequest = 1000;

// Each rank writes two requests behind a header of 40 bytes a rank, in turns with the others.
PhaseModel ofRanks(int ranks) {
  PhaseModel model;
  model.processes = ranks;
  model.files = {{.path = "/data/out", .shared = true, .size_bytes = 0}};
  model::Phase phase;
  phase.ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(phase.ranks.begin(), phase.ranks.end(), 0);
  phase.mode = model::AccessMode::kStrided;
  model::PhaseOperation operation;
  operation.request_bytes = kRequest;
  operation.repetitions = 2;
  operation.displacement_bytes = kRequest * ranks;
  operation.init_offset.base = 100 + 40 * ranks;
  operation.init_offset.per_rank = kRequest;
  phase.operations = {operation};
  phase.weight_bytes = static_cast<std::uint64_t>(kRequest * 2 * ranks);
  model.phases = {phase};
  return model;
}

std::string refusal(const std::vector<PhaseModel>& models, int ranks,
                    Scaling scaling = Scaling::kWeak) {
  const auto grown = growModel(models, ranks, scaling);
  return grown ? "(grown)" : grown.failure().sentence;
}

TEST(Growth, TwoModelsDecideStridesAndHeaders) {
  const auto grown = growModel({ofRanks(4), ofRanks(6)}, 10, Scaling::kWeak);
  ASSERT_TRUE(grown) << grown.failure().sentence;
  PhaseModel wanted = ofRanks(10);
  wanted.files[0].size_bytes = 500 + 10 * kRequest + 10 * kRequest;
  wanted.left_out = grown->left_out;
  EXPECT_EQ(jsonOf(*grown), jsonOf(wanted));
  EXPECT_EQ(grown->left_out.back(),
            "times: the model is of 10 processes, of which 4 and 6 were traced (weak scaling)");
}

TEST(Growth, OneModelDoesNotTellAStrideOfFourFromOneOfAllRanks) {
  EXPECT_EQ(refusal({ofRanks(4)}, 8),
            "phase 1 (/data/out): disp is 4000, which may be a matter of the 4 processes; a model "
            "of another number of processes decides it");
  EXPECT_EQ(refusal({ofRanks(4)}, 8, Scaling::kStrong),
            "strong scaling: one model does not tell whether requests become smaller or fewer; two "
            "are needed");
}

TEST(Growth, WhatFollowsNoLawIsRefusedByName) {
  PhaseModel other = ofRanks(16);
  other.phases[0].operations[0].request_bytes = 2 * kRequest;
  EXPECT_EQ(refusal({ofRanks(4), other}, 64),
            "phase 1 (/data/out): rs is 1000 with 4 processes and 2000 with 16, and that does not "
            "say what it is with 64");
  other = ofRanks(16);
  other.phases[0].operations[0].displacement_bytes += 1;
  EXPECT_EQ(refusal({ofRanks(4), other}, 64),
            "phase 1 (/data/out): disp is 4000 with 4 processes and 16001 with 16, and that does "
            "not say what it is with 64");
  other = ofRanks(16);
  other.phases[0].mode = model::AccessMode::kRandom;
  EXPECT_EQ(refusal({ofRanks(4), other}, 64),
            "phase 1 (/data/out): it is made in another way with 4 processes than with 16");
  other = ofRanks(16);
  other.phases.push_back(other.phases[0]);
  EXPECT_EQ(refusal({ofRanks(4), other}, 64), "there are 1 phases with 4 processes, and 2 with 16");
  other = ofRanks(16);
  other.phases[0].ranks = {0, 1, 3};
  EXPECT_EQ(refusal({ofRanks(4), other}, 64),
            "phase 1 (/data/out): it does not tell which ranks take part");
}

TEST(Growth, EveryFourthRankStaysEveryFourth) {
  PhaseModel a = ofRanks(4);
  PhaseModel b = ofRanks(16);
  a.phases[0].ranks = {0};
  b.phases[0].ranks = {0, 4, 8, 12};
  for (PhaseModel* model : {&a, &b}) {
    model->phases[0].operations[0].displacement_bytes = kRequest;
    model->phases[0].operations[0].init_offset = {};
    model->phases[0].operations[0].init_offset.per_rank = 500;
  }
  EXPECT_EQ(refusal({a, b}, 32), "phase 1 (/data/out): it does not tell which ranks take part");
  a = ofRanks(8);
  a.phases[0].ranks = {0, 4};
  a.phases[0].operations[0] = b.phases[0].operations[0];
  const auto grown = growModel({a, b}, 32, Scaling::kWeak);
  ASSERT_TRUE(grown) << grown.failure().sentence;
  EXPECT_EQ(grown->phases[0].ranks, (std::vector<int>{0, 4, 8, 12, 16, 20, 24, 28}));
}

}  // namespace
}  // namespace omnio::phases
