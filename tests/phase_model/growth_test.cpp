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
  ASSERT_EQ(grown->left_out.size(), 3U);
  EXPECT_EQ(grown->left_out[0],
            "times: the model is of 10 processes, of which 4 and 6 were traced (weak scaling)");
  EXPECT_EQ(grown->left_out[1],
            "how these grow between the models' numbers of processes: f(initOffset) of rank 0 of "
            "phase 1, as a + b * np");
  EXPECT_EQ(grown->left_out[2],
            "how these grow between the models' numbers of processes: disp of phase 1, as np");
}

// MPI_Dims_create makes 2 x 2 of 4, 4 x 2 of 8, and 4 x 4 of 16.
TEST(Growth, GridsAreRefused) {
  PhaseModel a = ofRanks(4);
  PhaseModel b = ofRanks(8);
  for (PhaseModel* model : {&a, &b}) {
    model->phases[0].operations[0].init_offset.per_rank = 0;
    model->phases[0].operations[0].init_offset.grid = {
        {2, 1000}, {static_cast<std::uint64_t>(model->processes) / 2, 16000}};
  }
  EXPECT_EQ(
      refusal({a, b}, 16),
      "phase 1 (/data/out): its ranks make a grid, of which two models do not tell the sides");
}

TEST(Growth, OneModelTellsNoHeaderAndNoPartOfTheRanks) {
  PhaseModel model = ofRanks(8);
  model::PhaseOperation& operation = model.phases[0].operations[0];
  operation.displacement_bytes = kRequest;
  operation.init_offset = {};
  operation.init_offset.per_rank = 2 * kRequest;
  EXPECT_EQ(refusal({model}, 16), "(grown)");
  operation.init_offset.base = 8100;
  EXPECT_EQ(refusal({model}, 16),
            "phase 1 (/data/out): f(initOffset) of rank 0 is 8100, which may be a matter of the 8 "
            "processes; a model of another number of processes decides it");
  operation.init_offset.base = 0;
  operation.init_offset.per_rank = -1000;
  EXPECT_NE(refusal({model}, 16).find("the distance of ranks in f(initOffset) is -1000"),
            std::string::npos);
  model.phases[0].ranks = {0};
  EXPECT_NE(refusal({model}, 16).find("only some of the 8 processes take part"), std::string::npos);
}

// A header of rank 0 for all ranks.
TEST(Growth, AHeaderMayGrowWithTheProcesses) {
  PhaseModel a = ofRanks(4);
  PhaseModel b = ofRanks(8);
  for (PhaseModel* model : {&a, &b}) {
    model::Phase& phase = model->phases[0];
    phase.ranks = {0};
    phase.operations[0].request_bytes = static_cast<std::uint64_t>(64 * model->processes);
    phase.operations[0].repetitions = 1;
    phase.operations[0].displacement_bytes = 64 * model->processes;
    phase.operations[0].init_offset = {};
  }
  const auto grown = growModel({a, b}, 64, Scaling::kWeak);
  ASSERT_TRUE(grown) << grown.failure().sentence;
  EXPECT_EQ(grown->phases[0].ranks, std::vector<int>{0});
  EXPECT_EQ(grown->phases[0].operations[0].request_bytes, 64U * 64);
  EXPECT_EQ(grown->files[0].size_bytes, 64U * 64);
}

// Shares of 1200000 bytes behind 512 bytes each: two numbers do not decide a + b / np.
TEST(Growth, SharesWithGapsAreRefusedInStrongScaling) {
  const auto ofShares = [](int ranks) {
    PhaseModel model = ofRanks(ranks);
    model::PhaseOperation& operation = model.phases[0].operations[0];
    operation.request_bytes = static_cast<std::uint64_t>(1200000 / ranks);
    operation.repetitions = 1;
    operation.displacement_bytes = 1200000 / ranks;
    operation.init_offset = {};
    operation.init_offset.per_rank = 1200000 / ranks + 512;
    model.phases[0].weight_bytes = 1200000;
    return model;
  };
  EXPECT_EQ(
      refusal({ofShares(2), ofShares(4)}, 8, Scaling::kStrong),
      "phase 1 (/data/out): the distance of ranks in f(initOffset) is 600512 with 2 processes "
      "and 300512 with 4, and that does not say what it is with 8");
}

TEST(Growth, ASizeThatIsNotOfWholeItemsIsRefused) {
  const auto ofRows = [](int ranks) {
    PhaseModel model = ofRanks(ranks);
    model::PhaseOperation& operation = model.phases[0].operations[0];
    operation.request_bytes = static_cast<std::uint64_t>(800 / ranks);
    operation.displacement_bytes = 800;
    operation.init_offset = {};
    operation.init_offset.per_rank = 800 / ranks;
    model.phases[0].weight_bytes = 1600;
    return model;
  };
  EXPECT_EQ(refusal({ofRows(2), ofRows(4)}, 8, Scaling::kStrong),
            "phase 1 (/data/out): rs would be 100 bytes, which are not whole items of 8");
}

// Which of two files came first was chance.
TEST(Growth, FilesGoByTheirNames) {
  PhaseModel a = ofRanks(4);
  PhaseModel b = ofRanks(8);
  for (PhaseModel* model : {&a, &b}) {
    const bool first = model == &a;
    model->files = {{.path = first ? "/x/A" : "/y/B", .shared = true, .size_bytes = 0},
                    {.path = first ? "/x/B" : "/y/A", .shared = true, .size_bytes = 0}};
    model->phases.push_back(model->phases[0]);
    model->phases[1].id = 2;
    model->phases[1].file = 1;
    for (model::Phase& phase : model->phases) {
      const bool is_a = model->files[static_cast<std::size_t>(phase.file)].path.back() == 'A';
      phase.operations[0].init_offset.base = is_a ? 0 : 4096;
    }
  }
  const auto grown = growModel({a, b}, 16, Scaling::kWeak);
  ASSERT_TRUE(grown) << grown.failure().sentence;
  EXPECT_EQ(grown->phases[0].operations[0].init_offset.base, 0);
  EXPECT_EQ(grown->phases[1].operations[0].init_offset.base, 4096);
  b.files[0].path = "/y/C";
  EXPECT_EQ(refusal({a, b}, 16), "/x/B: the model of 8 processes has no file of this name");
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
            "phase 1 (/data/out): the model of 16 processes has no phase that is made in the same "
            "way");
  other = ofRanks(16);
  other.phases.push_back(other.phases[0]);
  EXPECT_EQ(refusal({ofRanks(4), other}, 64), "there are 1 phases with 4 processes, and 2 with 16");
  other = ofRanks(16);
  other.phases[0].ranks = {0, 1, 3};
  PhaseModel some = ofRanks(4);
  some.phases[0].ranks = {0, 1};
  EXPECT_EQ(refusal({some, other}, 64),
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

// Each rank makes `files` files in a directory of its own.
PhaseModel metadataOfRanks(int ranks, std::uint64_t files) {
  PhaseModel model;
  model.processes = ranks;
  model.files = {{.path = "/data/rank.{rank}", .shared = false, .directory = true}};
  model::Phase phase;
  phase.ranks.resize(static_cast<std::size_t>(ranks));
  std::iota(phase.ranks.begin(), phase.ranks.end(), 0);
  phase.interface = model::Interface::kPosix;
  const std::uint64_t all = files * static_cast<std::uint64_t>(ranks);
  phase.calls = {{"close", all}, {"open", all}};
  phase.metadata = {
      .operations = 2 * all, .creates = all, .directories = static_cast<std::uint64_t>(ranks)};
  model.phases = {phase};
  return model;
}

TEST(Growth, MetadataCallsGrowWithTheRanks) {
  for (const auto& models : {std::vector{metadataOfRanks(2, 10), metadataOfRanks(4, 10)},
                             std::vector{metadataOfRanks(4, 10)}}) {
    const auto grown = growModel(models, 4096, Scaling::kWeak);
    ASSERT_TRUE(grown) << grown.failure().sentence;
    PhaseModel wanted = metadataOfRanks(4096, 10);
    wanted.left_out = grown->left_out;
    EXPECT_EQ(jsonOf(*grown), jsonOf(wanted));
  }
  const auto strong =
      growModel({metadataOfRanks(2, 40), metadataOfRanks(4, 20)}, 8, Scaling::kStrong);
  ASSERT_TRUE(strong) << strong.failure().sentence;
  EXPECT_EQ(strong->phases[0].metadata.operations, 160U);
  EXPECT_EQ(strong->phases[0].metadata.directories, 8U);
}

TEST(Growth, MetadataCallsThatDoNotScaleAreRefused) {
  EXPECT_EQ(refusal({metadataOfRanks(2, 10), metadataOfRanks(4, 20)}, 8),
            "phase 1 (/data/rank.{rank}): the number of its close calls is 20 with 2 processes and "
            "80 with 4, and that does not say what it is with 8");
  EXPECT_EQ(refusal({metadataOfRanks(2, 10), metadataOfRanks(4, 10)}, 8, Scaling::kStrong),
            "phase 1 (/data/rank.{rank}): it does not scale strongly: 20 calls of close with 2 "
            "processes, and 40 with 4");
  PhaseModel some = metadataOfRanks(4, 10);
  some.phases[0].ranks = {0};
  EXPECT_EQ(refusal({some}, 8),
            "phase 1 (/data/rank.{rank}): only some of the 4 processes take part, and what they do "
            "may be a matter of their number; a model of another number of processes decides it");
}

}  // namespace
}  // namespace omnio::phases
