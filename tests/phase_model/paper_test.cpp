// The phase model against the tables of Mendez et al.: MADbench2 (Table VIII) and BT-IO (Table XI),
// from accesses as the programs make them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "phase_model/grouping.hpp"
#include "phase_model/phase_table.hpp"
#include "tests/phase_model/accesses.hpp"

namespace omnio::phases {
namespace {

using test::kGib;
using test::kMib;

constexpr int kProcesses = 16;

struct Expected {
  std::string operations;
  std::string f;
  std::uint64_t repetitions;
  std::int64_t weight;
};

void expectOperation(const model::Phase& phase, std::size_t index, const Expected& expected) {
  const model::PhaseOperation& operation = phase.operations.at(index);
  EXPECT_EQ(fmt::format("{} {}", phase.ranks.size(), nameOf(operation.operation)),
            expected.operations);
  EXPECT_EQ(textOf(operation.init_offset, operation.request_bytes), expected.f);
  EXPECT_EQ(operation.repetitions, expected.repetitions);
  EXPECT_EQ(static_cast<std::int64_t>(weightOf(phase, operation)), expected.weight);
}

class Madbench2 : public testing::Test {
 protected:
  static constexpr std::int64_t kBins = 8;
  static constexpr std::int64_t kRequest = 32 * kMib;

  // W x 8, R x 2, (W R) x 6, W x 2, R x 8 over the bins of a process.
  static void run(ModelBuilder& builder) {
    for (int rank = 0; rank < kProcesses; ++rank) {
      test::Process process(builder, rank, test::kMpiIndividual);
      const auto bin = [rank](std::int64_t number) { return (rank * kBins + number) * kRequest; };
      for (int i = 0; i < 8; ++i) process.write(bin(i), kRequest);
      for (int i = 0; i < 2; ++i) process.read(bin(i), kRequest);
      for (int i = 0; i < 6; ++i) process.write(bin(i), kRequest).read(bin(i + 2), kRequest);
      for (int i = 6; i < 8; ++i) process.write(bin(i), kRequest);
      for (int i = 0; i < 8; ++i) process.read(bin(i), kRequest);
    }
  }

  static model::PhaseModel make() {
    event::PathTable paths;
    paths.idOf("/scratch/data");
    ModelBuilder builder({});
    run(builder);
    model::PhaseModel model;
    model.processes = kProcesses;
    builder.finish(paths, {}, 0, model);
    return model;
  }
};

TEST_F(Madbench2, HasThePapersFivePhases) {
  const model::PhaseModel model = make();
  ASSERT_EQ(model.phases.size(), 5U);
  expectOperation(model.phases[0], 0, {"16 write", "idP * 8 * 32 MiB", 8, 4 * kGib});
  expectOperation(model.phases[1], 0, {"16 read", "idP * 8 * 32 MiB", 2, 1 * kGib});
  ASSERT_EQ(model.phases[2].operations.size(), 2U);
  expectOperation(model.phases[2], 0, {"16 write", "idP * 8 * 32 MiB", 6, 3 * kGib});
  expectOperation(model.phases[2], 1, {"16 read", "idP * 8 * 32 MiB + 2 * 32 MiB", 6, 3 * kGib});
  expectOperation(model.phases[3], 0, {"16 write", "idP * 8 * 32 MiB + 6 * 32 MiB", 2, 1 * kGib});
  expectOperation(model.phases[4], 0, {"16 read", "idP * 8 * 32 MiB", 8, 4 * kGib});
  EXPECT_EQ(model.phases[2].weight_bytes, static_cast<std::uint64_t>(6 * kGib));
  for (const model::Phase& phase : model.phases) {
    EXPECT_EQ(phase.mode, model::AccessMode::kSequential);
    EXPECT_FALSE(phase.collective);
    EXPECT_EQ(phase.operations.front().displacement_bytes, kRequest);
  }
}

TEST_F(Madbench2, IsOfOneSharedFile) {
  const model::PhaseModel model = make();
  ASSERT_EQ(model.files.size(), 1U);
  EXPECT_TRUE(model.files[0].shared);
  EXPECT_EQ(model.files[0].size_bytes, static_cast<std::uint64_t>(4 * kGib));
}

TEST_F(Madbench2, IsPrintedAsInThePaper) {
  const std::string text = textOf(make());
  EXPECT_NE(text.find("3      0    16 write    6    32 MiB        3 GiB   0.0000 s  "
                      "idP * 8 * 32 MiB\n"
                      "            16 read     6    32 MiB        3 GiB             "
                      "idP * 8 * 32 MiB + 2 * 32 MiB\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mpi-io, individual pointers, non-collective, blocking, sequential  "
                      "1; 2; 3; 4; 5\n"),
            std::string::npos)
      << text;
}

// Table VIII, process by process: idP * 8 * 32 MiB, and what the order of the program adds to it.
TEST_F(Madbench2, HasTheLocalAccessPatternsOfTheTable) {
  const std::vector<LocalPattern> patterns = localPatternsOf(make(), Together::kEqual);
  struct Wanted {
    model::Operation operation;
    std::uint64_t repetitions;
    std::int64_t requests_on;  // of the first one, behind idP * 8
    std::vector<int> phases;
  };
  const auto kWrite = model::Operation::kWrite;
  const auto kRead = model::Operation::kRead;
  const std::vector<Wanted> table = {{kWrite, 8, 0, {1}}, {kRead, 2, 0, {2}},  {kWrite, 6, 0, {3}},
                                     {kRead, 6, 2, {3}},  {kWrite, 2, 6, {4}}, {kRead, 8, 0, {5}}};
  ASSERT_EQ(patterns.size(), table.size() * kProcesses);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const LocalPattern& p = patterns[i];
    const Wanted& wanted = table[i / kProcesses];
    const int rank = static_cast<int>(i % kProcesses);
    EXPECT_EQ(p.ranks, std::vector<int>{rank});
    EXPECT_EQ(p.operation, wanted.operation);
    EXPECT_EQ(p.repetitions, wanted.repetitions);
    EXPECT_EQ(p.request_bytes, static_cast<std::uint64_t>(kRequest));
    EXPECT_EQ(p.displacement, kRequest);
    EXPECT_FALSE(p.etype_bytes);
    EXPECT_EQ(p.init_offset.at(rank), (rank * kBins + wanted.requests_on) * kRequest);
    EXPECT_EQ(p.phases, wanted.phases);
  }
}

TEST_F(Madbench2, SimilarPatternsAreOneWithAFunction) {
  const std::vector<LocalPattern> patterns = localPatternsOf(make(), Together::kSimilar);
  ASSERT_EQ(patterns.size(), 6U);
  const std::vector<std::vector<std::string>> rows = localPatternRows(patterns);
  EXPECT_EQ(rows[4],
            (std::vector<std::string>{"0-15", "0", "read", "6", "33554432", "33554432",
                                      "idP * 268435456 + 67108864", "byte", "11-22", "3"}));
}

// Class C on 16 processes: 40 writes 122 ticks apart, 40 reads 3 ticks apart, rs 10612080 bytes.
class BtIo : public testing::Test {
 protected:
  static constexpr std::int64_t kRequest = 10612080;
  static constexpr int kRepetitions = 40;
  static constexpr std::uint64_t kEtype = 40;

  static model::PhaseModel make(std::uint64_t longest_gap = kUsualGap) {
    event::PathTable paths;
    paths.idOf("/scratch/btio.full.out");
    ModelBuilder builder({.longest_gap = longest_gap});
    for (int rank = 0; rank < kProcesses; ++rank) {
      test::Process process(builder, rank,
                            {.interface = model::Interface::kMpiIo,
                             .collective = true,
                             .has_view = true,
                             .etype_bytes = kEtype});
      const auto at = [rank](int i) { return kRequest * (rank + std::int64_t{kProcesses} * i); };
      process.others(147);
      // Inner processes of the grid have more neighbours, and so more events.
      const std::uint64_t between = 121 + static_cast<std::uint64_t>(rank % 3);
      const auto in_view = [](int i) { return kRequest / std::int64_t{kEtype} * i; };
      for (int i = 0; i < kRepetitions; ++i) {
        process.inView(in_view(i)).write(at(i), kRequest).others(between);
      }
      for (int i = 0; i < kRepetitions; ++i) {
        process.inView(in_view(i)).read(at(i), kRequest).others(2);
      }
    }
    model::PhaseModel model;
    model.processes = kProcesses;
    builder.finish(paths, {}, 0, model);
    return model;
  }
};

TEST_F(BtIo, HasFortyPhasesOfOneWriteAndOneOfFortyReads) {
  const model::PhaseModel model = make();
  ASSERT_EQ(model.phases.size(), 41U);
  for (int i = 0; i < kRepetitions; ++i) {
    const model::Phase& phase = model.phases[static_cast<std::size_t>(i)];
    ASSERT_EQ(phase.operations.size(), 1U);
    const model::PhaseOperation& operation = phase.operations.front();
    EXPECT_EQ(operation.operation, model::Operation::kWrite);
    EXPECT_EQ(operation.repetitions, 1U);
    EXPECT_EQ(operation.request_bytes, static_cast<std::uint64_t>(kRequest));
    EXPECT_EQ(phase.ranks.size(), 16U);
    EXPECT_EQ(phase.weight_bytes, static_cast<std::uint64_t>(kRequest * kProcesses));
    // rs * idP + rs * (ph - 1) + rs * (np - 1) * (ph - 1)
    for (const int rank : phase.ranks) {
      EXPECT_EQ(operation.init_offset.at(rank),
                kRequest * rank + kRequest * i + kRequest * (kProcesses - 1) * i);
    }
  }
  const model::Phase& reads = model.phases.back();
  ASSERT_EQ(reads.operations.size(), 1U);
  expectOperation(reads, 0, {"16 read", "idP * 10612080 B", 40, kRequest * kProcesses * 40});
  EXPECT_EQ(reads.operations.front().displacement_bytes, kRequest * kProcesses);
  EXPECT_EQ(reads.mode, model::AccessMode::kStrided);
  EXPECT_TRUE(reads.collective);
  EXPECT_TRUE(reads.has_view);
  EXPECT_EQ(reads.etype_bytes, kEtype);
}

TEST_F(BtIo, FortyPhasesAreOneLineOfTheTable) {
  const model::PhaseModel model = make();
  const std::vector<Series> all = seriesOf(model);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(idsOf(all[0]), "1-40");
  EXPECT_EQ(offsetText(all[0], 0, kProcesses), "idP * 10612080 B + (ph - 1) * np * 10612080 B");
  EXPECT_EQ(idsOf(all[1]), "41");
}

// Figure 3: "0 1 MPI_File_write_at_all 40 10612080 265302 0", and the same of the reads. disp is in
// etypes of 40 bytes. All processes have this one pattern.
TEST_F(BtIo, HasTheLocalAccessPatternsOfThePaper) {
  const std::vector<std::vector<std::string>> rows =
      localPatternRows(localPatternsOf(make(), Together::kEqual));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1], (std::vector<std::string>{"0-15", "0", "write", "40", "10612080", "265302",
                                               "0", "etype 40", "148-4984", "1-40"}));
  EXPECT_EQ(rows[2], (std::vector<std::string>{"0-15", "0", "read", "40", "10612080", "265302", "0",
                                               "etype 40", "5028-5225", "41"}));
}

TEST_F(BtIo, EachProcessHasItsTicks) {
  const model::Phase last_write = make().phases[39];
  EXPECT_EQ(last_write.first_tick, 148U + 39 * 122);
  EXPECT_EQ(last_write.last_tick, 148U + 39 * 124);
  for (const int rank : last_write.ranks) {
    const std::uint64_t tick = 148 + 39 * (122 + static_cast<std::uint64_t>(rank % 3));
    EXPECT_EQ(model::ticksOf(last_write, rank).first, tick);
    EXPECT_EQ(model::ticksOf(last_write, rank).last, tick);
  }
}

TEST_F(BtIo, TheGapIsTheCallersToChoose) {
  EXPECT_EQ(make(1).phases.size(), 80U);
  EXPECT_EQ(make(1000).phases.size(), 2U);
}

}  // namespace
}  // namespace omnio::phases
