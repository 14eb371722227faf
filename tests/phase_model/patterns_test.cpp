// Local access patterns and phases of everything that is not in the paper's tables.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/phase_model/accesses.hpp"

namespace omnio::phases {
namespace {

using model::AccessMode;
using test::kMib;

constexpr event::FileId kFile{0};

class Patterns : public testing::Test {
 protected:
  // The model of what each rank does on /data/f (file 0) and /data/f.0, /data/f.1, ... (from 1 on).
  static model::PhaseModel make(int ranks, const std::function<void(int, test::Process&)>& act,
                                Manner manner = test::kStreams) {
    event::PathTable paths;
    paths.idOf("/data/f");
    for (int rank = 0; rank < ranks; ++rank) paths.idOf("/data/f." + std::to_string(rank));
    ModelBuilder builder({});
    for (int rank = 0; rank < ranks; ++rank) {
      test::Process process(builder, rank, manner);
      act(rank, process);
    }
    model::PhaseModel model;
    model.processes = ranks;
    builder.finish(paths, {}, 0, model);
    return model;
  }

  static std::uint64_t weight(const model::PhaseModel& model) {
    std::uint64_t sum = 0;
    for (const model::Phase& phase : model.phases) {
      std::uint64_t of_phase = 0;
      for (const auto& operation : phase.operations) of_phase += weightOf(phase, operation);
      EXPECT_EQ(of_phase, phase.weight_bytes);
      sum += of_phase;
    }
    return sum;
  }
};

TEST_F(Patterns, HeaderBodyAndTailAreThreePhases) {
  const model::PhaseModel model = make(2, [](int rank, test::Process& process) {
    process.on(event::FileId(1 + static_cast<std::uint32_t>(rank))).write(0, 100);
    for (int i = 0; i < 1000; ++i) process.write(100 + i * kMib, kMib);
    process.write(100 + 1000 * kMib, 7);
  });
  ASSERT_EQ(model.phases.size(), 3U);
  EXPECT_EQ(model.phases[0].operations[0].request_bytes, 100U);
  EXPECT_EQ(model.phases[1].operations[0].request_bytes, static_cast<std::uint64_t>(kMib));
  EXPECT_EQ(model.phases[1].operations[0].repetitions, 1000U);
  EXPECT_FALSE(model.phases[1].operations[0].varying);
  EXPECT_EQ(model.phases[2].operations[0].init_offset.base, 100 + 1000 * kMib);
  ASSERT_EQ(model.files.size(), 1U);
  EXPECT_EQ(model.files[0].path, "/data/f.{rank}");
  EXPECT_EQ(weight(model), static_cast<std::uint64_t>(2 * (107 + 1000 * kMib)));
}

TEST_F(Patterns, ManySizesInARowAreOneVaryingPhase) {
  std::mt19937 chance(1);
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  const model::PhaseModel model = make(4, [&](int rank, test::Process& process) {
    process.on(event::FileId(1 + static_cast<std::uint32_t>(rank)));
    std::int64_t at = 0;
    for (int i = 0; i < 500 + rank; ++i) {
      const auto size = static_cast<std::int64_t>(chance() % 46 + 2);
      process.write(at, size);
      at += size;
      bytes += static_cast<std::uint64_t>(size);
      ++requests;
    }
  });
  ASSERT_EQ(model.phases.size(), 1U);
  const model::Phase& phase = model.phases[0];
  EXPECT_EQ(phase.mode, AccessMode::kSequential);
  EXPECT_EQ(phase.ranks.size(), 4U);
  EXPECT_EQ(phase.weight_bytes, bytes);
  const model::PhaseOperation& operation = phase.operations[0];
  EXPECT_TRUE(operation.varying);
  EXPECT_EQ(operation.requests, requests);
  EXPECT_EQ(operation.smallest_bytes, 2U);
  EXPECT_EQ(operation.largest_bytes, 47U);
  EXPECT_EQ(operation.request_bytes, (bytes + requests / 2) / requests);
  EXPECT_EQ(operation.init_offset.at(3), 0);
}

TEST_F(Patterns, RandomAccessesAreListedUpToTheLimitAndWeighedExactly) {
  std::mt19937 chance(2);
  constexpr int kCalls = 100000;
  const model::PhaseModel model = make(1, [&](int, test::Process& process) {
    for (int i = 0; i < kCalls; ++i) {
      process.read(static_cast<std::int64_t>(chance() % 1000000) * 4096, 4096);
    }
  });
  ASSERT_EQ(model.phases.size(), 1U);
  const model::Phase& phase = model.phases[0];
  EXPECT_EQ(phase.mode, AccessMode::kRandom);
  EXPECT_EQ(phase.weight_bytes, std::uint64_t{kCalls} * 4096);
  ASSERT_EQ(phase.random.size(), 1U);
  EXPECT_EQ(phase.random[0].requests.size(), kMaxListed);
  EXPECT_EQ(phase.random[0].left_out, kCalls - kMaxListed);
  std::mt19937 again(2);
  for (const auto& [offset, bytes] : phase.random[0].requests) {
    EXPECT_EQ(offset, static_cast<std::int64_t>(again() % 1000000) * 4096);
    EXPECT_EQ(bytes, 4096U);
  }
}

TEST_F(Patterns, RandomReadsAndWritesInTurnsAreAPhaseEach) {
  std::mt19937 chance(3);
  constexpr int kCalls = 20000;
  const model::PhaseModel model = make(1, [&](int, test::Process& process) {
    for (int i = 0; i < kCalls; ++i) {
      const auto at = static_cast<std::int64_t>(chance() % 1000000) * 4096;
      if (chance() % 2 == 0) {
        process.read(at, 4096);
      } else {
        process.write(at, 4096);
      }
    }
  });
  EXPECT_LE(model.phases.size(), 8U);
  EXPECT_EQ(weight(model), std::uint64_t{kCalls} * 4096);
}

TEST_F(Patterns, LongRunsStandOutAmongScatteredRequests) {
  const model::PhaseModel model = make(1, [&](int, test::Process& process) {
    for (int i = 0; i < 5; ++i) process.write(i * i * 1000, 8);
    for (int i = 0; i < 100; ++i) process.write(kMib * (i + 1), kMib);
    for (int i = 0; i < 5; ++i) process.write(i * i * 1000 + 500, 16);
  });
  ASSERT_EQ(model.phases.size(), 2U);
  EXPECT_EQ(model.phases[0].mode, AccessMode::kRandom);
  EXPECT_EQ(model.phases[0].weight_bytes, 5U * 8 + 5 * 16);
  EXPECT_EQ(model.phases[1].mode, AccessMode::kSequential);
  EXPECT_EQ(model.phases[1].operations[0].repetitions, 100U);
}

TEST_F(Patterns, ManyShortPatternsBetweenGapsStayWithinTheLimit) {
  constexpr int kCalls = 30000;
  std::mt19937 chance(4);
  const model::PhaseModel model = make(
      1,
      [&](int, test::Process& process) {
        for (int i = 0; i < kCalls; ++i) {
          process.write(static_cast<std::int64_t>(chance() % 1000000), 10).others(100);
        }
      },
      test::kMpiIndividual);
  EXPECT_LE(model.phases.size(), kMaxLaps + 1);
  EXPECT_EQ(weight(model), std::uint64_t{kCalls} * 10);
  ASSERT_EQ(model.left_out.size(), 1U);
  EXPECT_EQ(model.left_out[0],
            "the order of the accesses of /data/f: a process has more than 4096 patterns on it, "
            "which are given as random accesses");
}

TEST_F(Patterns, AStrideIsKeptWhenTheFirstRequestIsElsewhere) {
  const model::PhaseModel model = make(1, [&](int, test::Process& process) {
    process.write(0, 100);
    for (int i = 0; i < 10; ++i) process.write(5000 + i * 300, 100);
  });
  ASSERT_EQ(model.phases.size(), 2U);
  EXPECT_EQ(model.phases[1].mode, AccessMode::kStrided);
  EXPECT_EQ(model.phases[1].operations[0].repetitions, 10U);
  EXPECT_EQ(model.phases[1].operations[0].displacement_bytes, 300);
  EXPECT_EQ(model.phases[1].operations[0].init_offset.base, 5000);
}

// As BT-IO simple on 2 x 2 ranks: rows, planes, cells on a diagonal, steps.
TEST_F(Patterns, CellsOfACubeAreOneNestedPhase) {
  constexpr std::int64_t kEdge = 5;
  constexpr std::int64_t kRow = 40 * kEdge;
  const model::PhaseModel model = make(4, [](int rank, test::Process& process) {
    for (std::int64_t step = 0; step < 4; ++step) {
      for (std::int64_t cell = 0; cell < 2; ++cell) {
        const std::int64_t x = (rank % 2 + cell) % 2;
        const std::int64_t y = (rank / 2 + cell) % 2;
        for (std::int64_t i = 0; i < kEdge * kEdge; ++i) {
          const std::int64_t plane = (step * 2 + cell) * kEdge + i / kEdge;
          process.write(((plane * 2 + y) * kEdge + i % kEdge) * 2 * kRow + x * kRow, kRow);
        }
      }
    }
  });
  ASSERT_EQ(model.phases.size(), 1U);
  const model::Phase& phase = model.phases[0];
  EXPECT_EQ(phase.mode, AccessMode::kNested);
  EXPECT_EQ(phase.ranks.size(), 4U);
  const model::PhaseOperation& operation = phase.operations[0];
  EXPECT_FALSE(operation.varying);
  EXPECT_EQ(operation.repetitions, 200U);
  EXPECT_EQ(operation.displacement_bytes, 2 * kRow);
  EXPECT_EQ(operation.init_offset.grid,
            (std::vector<pattern::Dimension>{{2, kRow}, {2, 2 * kEdge * kRow}}));
  ASSERT_EQ(operation.nested.size(), 4U);  // the way to the second cell is each rank's own
  EXPECT_EQ(pattern::dimensionsOf(operation.nested[0].part).size(), 4U);
  EXPECT_EQ(weight(model), static_cast<std::uint64_t>(4 * 200 * kRow));
}

TEST_F(Patterns, PlacesThatComeAgainAreNestedToo) {
  const model::PhaseModel model = make(2, [](int rank, test::Process& process) {
    for (std::int64_t step = 0; step < 10; ++step) {
      for (const std::int64_t place : {0, 700, 300, 900}) {
        process.write(step * 10000 + rank * 5000 + place, place == 300 ? 20 : 8);
      }
    }
  });
  ASSERT_EQ(model.phases.size(), 1U);
  const model::PhaseOperation& operation = model.phases[0].operations[0];
  EXPECT_EQ(model.phases[0].mode, AccessMode::kNested);
  EXPECT_TRUE(operation.varying);
  ASSERT_EQ(operation.nested.size(), 1U);
  EXPECT_EQ(operation.nested[0].part.body.size(), 4U);
  EXPECT_EQ(operation.init_offset.per_rank, 5000);
}

// Cut off in the middle of a step, as at a kill.
TEST_F(Patterns, ANestThatWasCutOffIsNested) {
  const model::PhaseModel model = make(1, [](int, test::Process& process) {
    for (std::int64_t i = 0; i < 1003; ++i) {
      process.write(i % 10 * 100 + i / 10 % 10 * 3000 + i / 100 * 50000, 8);
    }
  });
  ASSERT_EQ(model.phases.size(), 1U);
  EXPECT_EQ(model.phases[0].mode, AccessMode::kNested);
  EXPECT_EQ(pattern::requestOf(model.phases[0].operations[0].nested[0].part, 1002).offset, 500200);
}

TEST_F(Patterns, AnotherNumberOfRepetitionsMakesAPhaseOfItsOwn) {
  const model::PhaseModel model = make(4, [&](int rank, test::Process& process) {
    const int repetitions = rank == 3 ? 5 : 8;
    for (int i = 0; i < repetitions; ++i) process.write((rank * 8 + i) * kMib, kMib);
  });
  ASSERT_EQ(model.phases.size(), 2U);
  EXPECT_EQ(model.phases[0].ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(model.phases[1].ranks, (std::vector<int>{3}));
  EXPECT_EQ(weight(model), static_cast<std::uint64_t>(29 * kMib));
}

TEST_F(Patterns, UnevenSharesAreOnePhase) {
  const std::vector<std::int64_t> shares = {1000, 1010, 990, 1004};
  const model::PhaseModel model = make(4, [&](int rank, test::Process& process) {
    std::int64_t at = 0;
    for (int i = 0; i < rank; ++i) at += shares[static_cast<std::size_t>(i)];
    process.write(at, shares[static_cast<std::size_t>(rank)]);
  });
  ASSERT_EQ(model.phases.size(), 1U);
  const model::PhaseOperation& operation = model.phases[0].operations[0];
  EXPECT_TRUE(operation.varying);
  EXPECT_EQ(operation.smallest_bytes, 990U);
  EXPECT_EQ(operation.largest_bytes, 1010U);
  EXPECT_EQ(operation.repetitions, 1U);
  EXPECT_EQ(model.phases[0].weight_bytes, 4004U);
  EXPECT_FALSE(operation.init_offset.table.empty());
  EXPECT_EQ(operation.init_offset.at(3), 3000);
}

TEST_F(Patterns, AHeaderOfOneRankIsNoShare) {
  const model::PhaseModel model = make(2, [&](int rank, test::Process& process) {
    if (rank == 0) process.write(0, 100);
    process.write(100 + rank * kMib, kMib);
  });
  EXPECT_EQ(weight(model), static_cast<std::uint64_t>(100 + 2 * kMib));
  ASSERT_EQ(model.phases.size(), 2U);
  EXPECT_EQ(model.phases[0].ranks, (std::vector<int>{0}));
  EXPECT_EQ(model.phases[1].ranks, (std::vector<int>{0, 1}));
}

TEST_F(Patterns, UnknownOffsetsAreRandomWithoutAList) {
  const model::PhaseModel model = make(2, [&](int, test::Process& process) {
    for (int i = 0; i < 10; ++i) process.writeSomewhere(64);
  });
  ASSERT_EQ(model.phases.size(), 1U);
  EXPECT_EQ(model.phases[0].mode, AccessMode::kRandom);
  EXPECT_FALSE(model.phases[0].operations[0].init_offset.known);
  EXPECT_TRUE(model.phases[0].random.empty());
  EXPECT_EQ(model.phases[0].weight_bytes, 1280U);
}

TEST_F(Patterns, ThreadsOfOneFileArePhasesEach) {
  const model::PhaseModel model = make(2, [&](int rank, test::Process& process) {
    for (int i = 0; i < 10; ++i) {
      for (std::uint32_t thread = 0; thread < 2; ++thread) {
        process.thread(thread).write(((rank * 2 + thread) * 10 + i) * kMib, kMib);
      }
    }
  });
  ASSERT_EQ(model.phases.size(), 2U);
  EXPECT_EQ(model.phases[0].ranks.size(), 2U);
  EXPECT_EQ(model.phases[0].operations[0].repetitions, 10U);
  EXPECT_EQ(model.phases[1].operations[0].init_offset.base, 10 * kMib);
}

TEST_F(Patterns, AlternatingTurnsOfSeveralRequestsAreOnePhase) {
  const model::PhaseModel model = make(1, [&](int, test::Process& process) {
    for (int turn = 0; turn < 100; ++turn) {
      for (int i = 0; i < 3; ++i) process.read((turn * 3 + i) * 100, 100);
      for (int i = 0; i < 2; ++i) process.write(1000000 + (turn * 2 + i) * 50, 50);
    }
  });
  ASSERT_EQ(model.phases.size(), 1U);
  ASSERT_EQ(model.phases[0].operations.size(), 2U);
  EXPECT_EQ(model.phases[0].operations[0].repetitions, 300U);
  EXPECT_EQ(model.phases[0].operations[1].repetitions, 200U);
  EXPECT_EQ(model.phases[0].weight_bytes, 40000U);
}

TEST_F(Patterns, TheTurnThatIsLeftOverIsAPhase) {
  const model::PhaseModel model = make(1, [&](int, test::Process& process) {
    for (int i = 0; i < 5; ++i) process.read(i * 100, 100).write(5000 + i * 100, 100);
    process.read(500, 100);
  });
  ASSERT_EQ(model.phases.size(), 2U);
  EXPECT_EQ(model.phases[0].operations.size(), 2U);
  EXPECT_EQ(model.phases[1].operations[0].repetitions, 1U);
  EXPECT_EQ(weight(model), 1100U);
}

// Whatever is done: no byte is lost, none is counted twice.
TEST_F(Patterns, WeightsAreExactWhateverIsDone) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 chance(seed);
    std::uint64_t bytes = 0;
    const model::PhaseModel model = make(
        3,
        [&](int, test::Process& process) {
          std::int64_t at = 0;
          const unsigned calls = chance() % 400;
          for (unsigned i = 0; i < calls; ++i) {
            const unsigned what = chance() % 16;
            const auto size = static_cast<std::int64_t>(1U << (chance() % 4));
            if (what == 0) at = static_cast<std::int64_t>(chance() % 10000);
            if (what == 1) process.others(chance() % 40);
            if (what == 2) process.on(chance() % 2 == 0 ? kFile : event::FileId(1));
            if (what == 3) process.thread(chance() % 2);
            bytes += static_cast<std::uint64_t>(size);
            if (what == 4) {
              process.writeSomewhere(size);
            } else if (what % 3 == 0) {
              process.read(at, size);
            } else {
              process.write(at, size);
            }
            at += size * (seed % 3);
          }
        },
        test::kMpiIndividual);
    EXPECT_EQ(weight(model), bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace omnio::phases
