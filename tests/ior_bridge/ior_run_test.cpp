#include <gtest/gtest.h>

#include <vector>

#include "ior_bridge/ior/plan.hpp"

namespace omnio::ior {
namespace {

std::vector<std::uint64_t> offsetsOf(const IorRun& run, int task) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t n = 0; n < transfersOf(run); ++n) offsets.push_back(offsetOf(run, task, n));
  return offsets;
}

IorRun runOf(std::uint64_t transfer, std::uint64_t block, std::uint64_t segments) {
  IorRun run;
  run.tasks = 3;
  run.transfer_bytes = transfer;
  run.block_bytes = block;
  run.segments = segments;
  run.name = "phase-1";
  return run;
}

using Offsets = std::vector<std::uint64_t>;

TEST(IorRun, OneSegmentOfASharedFileIsABlockAfterAnother) {
  EXPECT_EQ(offsetsOf(runOf(8, 24, 1), 0), (Offsets{0, 8, 16}));
  EXPECT_EQ(offsetsOf(runOf(8, 24, 1), 2), (Offsets{48, 56, 64}));
}

TEST(IorRun, BlocksOfOneTransferAreStridedByTheTasks) {
  EXPECT_EQ(offsetsOf(runOf(8, 8, 4), 0), (Offsets{0, 24, 48, 72}));
  EXPECT_EQ(offsetsOf(runOf(8, 8, 4), 1), (Offsets{8, 32, 56, 80}));
}

TEST(IorRun, SegmentsOfLargerBlocks) {
  EXPECT_EQ(offsetsOf(runOf(8, 16, 2), 1), (Offsets{16, 24, 64, 72}));
}

TEST(IorRun, AFileOfItsOwnHasNoGaps) {
  IorRun run = runOf(8, 16, 2);
  run.file_per_process = true;
  EXPECT_EQ(offsetsOf(run, 0), (Offsets{0, 8, 16, 24}));
  EXPECT_EQ(offsetsOf(run, 2), offsetsOf(run, 0));
  EXPECT_EQ(transfersOf(run), 4U);
}

TEST(IorRun, CommandLine) {
  IorRun run = runOf(8, 16, 2);
  run.writes = true;
  EXPECT_EQ(argumentsOf(run),
            "-a MPIIO -w -N 3 -t 8 -b 16 -s 2 -i 1 -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.json -O summaryFormat=JSON");
  run.api = Api::kPosix;
  run.reads = run.file_per_process = run.collective = run.random = run.fsync = run.fsync_each =
      run.barriers = run.keep = run.reordered = run.several_files = true;
  run.iterations = 3;
  run.transfers_of_task = 3;
  EXPECT_EQ(argumentsOf(run),
            "-a POSIX -w -r -N 3 -t 8 -b 16 -s 2 -i 3 -F -c -z -e -Y -g -k -C -m "
            "-O stoneWallingWearOutIterations=3 -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.json -O summaryFormat=JSON");
  EXPECT_EQ(transfersOf(run), 3U);
}

}  // namespace
}  // namespace omnio::ior
