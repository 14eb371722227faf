#include "procurement/run_evidence.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/core/temporary_directory.hpp"

namespace omnio::procurement {
namespace {

using storage::MeasuredPart;
using storage::MeasuredUntil;

constexpr std::uint64_t kOneMiB = 1 << 20;

RunEvidence runOf(MeasuredPart measured, std::uint64_t reached) {
  RunEvidence run;
  run.measured = measured;
  run.measured_with_sync = MeasuredPart::kStorage;
  run.calls.written_bytes = 8 * kOneMiB;
  run.device.written_bytes = reached;
  run.device_with_sync.written_bytes = 8 * kOneMiB;
  return run;
}

TEST(RunEvidence, OneRunOfMemoryDecides) {
  const std::vector<RunEvidence> runs = {runOf(MeasuredPart::kStorage, 8 * kOneMiB),
                                         runOf(MeasuredPart::kMemory, kOneMiB),
                                         runOf(MeasuredPart::kUnknown, 0)};
  EXPECT_EQ(measuredPartOf(runs, MeasuredUntil::kLastCall), MeasuredPart::kMemory);
  EXPECT_EQ(measuredSentence(runs, MeasuredUntil::kLastCall),
            "of memory in 1 of 3 runs: the calls wrote 8.00 MiB and read 0 B, and in the time "
            "1.00 MiB reached the storage and 0 B came from it");
  EXPECT_EQ(measuredPartOf(runs, MeasuredUntil::kSync), MeasuredPart::kStorage);
  EXPECT_EQ(measuredSentence(runs, MeasuredUntil::kSync),
            "of storage in 3 of 3 runs: the calls wrote 8.00 MiB and read 0 B, and in the time "
            "8.00 MiB reached the storage and 0 B came from it");
  EXPECT_EQ(mediansOf(runs).device.written_bytes, kOneMiB);
}

TEST(RunEvidence, WhatNoKernelCountsIsNotKnown) {
  const std::vector<RunEvidence> runs = {runOf(MeasuredPart::kUnknown, 0)};
  EXPECT_EQ(measuredPartOf(runs, MeasuredUntil::kLastCall), MeasuredPart::kUnknown);
  EXPECT_EQ(measuredSentence(runs, MeasuredUntil::kLastCall),
            "not known to be of storage: a kernel does not count it, or the calls moved no bytes");
  EXPECT_EQ(measuredPartOf({}, MeasuredUntil::kLastCall), MeasuredPart::kUnknown);
}

// Of a run of phases, which does not know of lateness.
TEST(RunEvidence, IsReadFromResultsOfPhases) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "results.json";
  std::ofstream(path) << R"({"Machine": "Linux node7 6.1", "measured": "storage",
    "measured_with_sync": "storage", "runs": [{"differences": 2}, {"differences": 1}],
    "storage": [{"known": true, "in_memory": false,
      "read_bytes": 0, "written_bytes": 4, "read_bytes_with_sync": 0,
      "written_bytes_with_sync": 6, "busy": 0.5, "dirty_bytes": 2,
      "calls": {"read_bytes": 0, "written_bytes": 6},
      "nodes": [{"host": "node7", "mount": "/scratch ext4 /dev/sda1", "seconds": 2,
        "capacity_bytes": 100, "free_begin_bytes": 50, "free_end_bytes": 40,
        "samples": [{"end_s": 2, "read_bytes": 0, "written_bytes": 4}]}]}]})";
  const auto read = readEvidence(path);
  ASSERT_TRUE(read) << read.failure().sentence;
  ASSERT_TRUE(*read);
  const RunEvidence& run = **read;
  EXPECT_EQ(run.differences, 3);
  EXPECT_FALSE(run.stretch_share);
  EXPECT_EQ(run.platform, "Linux node7 6.1");
  EXPECT_EQ(run.hosts, std::set<std::string>{"node7"});
  EXPECT_EQ(run.mount, "/scratch ext4 /dev/sda1");
  EXPECT_EQ(run.calls.written_bytes, 6);
  ASSERT_EQ(run.course.moved.size(), 2);
  EXPECT_EQ(run.course.moved[0].written_bytes, 2);
}

}  // namespace
}  // namespace omnio::procurement
