#include "procurement/form.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::procurement {
namespace {

using model::Operation;
using storage::MeasuredPart;
using test::kMiB;
using test::modelOf;
using test::operation;

constexpr std::uint64_t kGiB = 1024 * kMiB;

// 16 MiB written, and 100 metadata calls.
model::PhaseModel modelWithMetadata() {
  model::PhaseModel model = modelOf({operation(Operation::kWrite, 4, kMiB, 8 * kMiB)});
  model::Phase metadata;
  metadata.id = 2;
  metadata.metadata.operations = 100;
  model.phases.push_back(metadata);
  return model;
}

Candidate candidateWith(const std::string& name, const std::vector<double>& times) {
  Candidate made;
  made.name = name;
  made.io_s = times;
  made.phases[1] = {.all_s = times, .write_s = times, .read_s = {}};
  return made;
}

RunEvidence evidence() {
  return {.measured = MeasuredPart::kMemory,
          .measured_with_sync = MeasuredPart::kStorage,
          .calls = {.read_bytes = 0, .written_bytes = 16 * kMiB},
          .device = {.read_bytes = 0, .written_bytes = kMiB},
          .device_with_sync = {.read_bytes = 0, .written_bytes = 16 * kMiB},
          .busy = 0.5,
          .capacity_bytes = 10 * kGiB,
          .free_begin_bytes = 8 * kGiB,
          .free_end_bytes = 8 * kGiB,
          .course = {},
          .is_late = false,
          .stretch_share = 0.01,
          .differences = 0,
          .hosts = {"node7"},
          .mount = "/scratch ext4 /dev/sda1",
          .platform = {}};
}

std::map<std::string, std::vector<std::string>> fieldsOf(const Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> fields;
  for (const FormRow& row : formOf(comparison)) fields[row.field] = row.cells;
  return fields;
}

using Cells = std::vector<std::string>;

TEST(Form, HasWhatIsKnown) {
  Candidate fast = candidateWith("fast", {1, 1, 1.04});
  fast.phases[2] = {.all_s = {0.25, 0.25, 0.25}, .write_s = {}, .read_s = {}};
  fast.target = "/scratch/me (ext4)";
  fast.run_s = {2, 2, 2};
  fast.peak = {.write_mib_s = 32, .read_mib_s = 1, .source = {}};
  fast.evidence = {evidence(), evidence(), evidence()};
  fast.evidence.back().free_end_bytes = 5 * kGiB;
  fast.evidence.back().is_late = true;
  fast.evidence.back().differences = 3;
  const auto fields = fieldsOf(compare(
      modelWithMetadata(), {candidateWith("slow, \"old\"", {2, 3, 2}), fast}, Rounds{3, 20}));
  EXPECT_EQ(fields.at("Candidate"), (Cells{"fast", "slow, \"old\""}));
  EXPECT_EQ(fields.at("Mount point, file system, source"), (Cells{"/scratch ext4 /dev/sda1", ""}));
  EXPECT_EQ(fields.at("Nodes"), (Cells{"node7", ""}));
  EXPECT_EQ(fields.at("Capacity, GiB"), (Cells{"10", ""}));
  EXPECT_EQ(fields.at("Load: fill at the begin, %"), (Cells{"20", ""}));
  EXPECT_EQ(fields.at("Load: fill at the end, %"), (Cells{"50", ""}));
  EXPECT_EQ(fields.at("Bytes read and written"), (Cells{"16777216", "16777216"}));
  EXPECT_EQ(fields.at("Calls on files"), (Cells{"116", "116"}));
  EXPECT_EQ(fields.at("Rounds"), (Cells{"3", "3"}));
  EXPECT_EQ(fields.at("I/O time, s"), (Cells{"1.01316", "2.28943"}));
  EXPECT_EQ(fields.at("Run time, s"), (Cells{"2", ""}));
  EXPECT_EQ(fields.at("Run time, 95 % from, s"), (Cells{"2", ""}));
  EXPECT_EQ(fields.at("Metadata calls a second"), (Cells{"400", ""}));
  EXPECT_EQ(fields.at("Spread: largest distance of a run from the median, %"), (Cells{"4", "50"}));
  EXPECT_EQ(fields.at("Spread within 5 %"), (Cells{"yes", "no"}));
  EXPECT_EQ(fields.at("Share of the peak, writes, %"), (Cells{"49.3506", ""}));
  EXPECT_EQ(fields.at("Share of the peak, reads, %"), (Cells{"", ""}));
  EXPECT_EQ(fields.at("Measured: storage or memory"), (Cells{"memory", ""}));
  EXPECT_EQ(fields.at("Late runs"), (Cells{"1 of 3 runs", ""}));
  EXPECT_EQ(fields.at("Results of calls that differ"), (Cells{"3", ""}));
  EXPECT_EQ(fields.at("Explanation of projections"), (Cells{"", ""}));
}

TEST(Form, RunTimesAreNoIoTimes) {
  Candidate each = candidateWith("a", {2});
  each.kind = TimeKind::kRun;
  each.run_s = {2};
  each.evidence = {evidence()};
  each.evidence[0].stretch_share.reset();
  each.evidence[0].differences.reset();
  const auto fields = fieldsOf(compare(modelWithMetadata(), {each}));
  EXPECT_EQ(fields.at("Times by"), Cells{"run times"});
  EXPECT_EQ(fields.at("Rounds"), Cells{""});
  EXPECT_EQ(fields.at("Runs"), Cells{"1"});
  EXPECT_EQ(fields.at("I/O time, s"), Cells{""});
  EXPECT_EQ(fields.at("Bandwidth, MiB/s"), Cells{""});
  EXPECT_EQ(fields.at("Run time, s"), Cells{"2"});
  EXPECT_EQ(fields.at("Run time, 95 % from, s"), Cells{""}) << "one run";
  EXPECT_EQ(fields.at("Spread within 5 %"), Cells{""}) << "one run";
  EXPECT_EQ(fields.at("Measured: storage or memory"), Cells{"storage"}) << "with the sync";
  EXPECT_EQ(fields.at("Late runs"), Cells{""});
  EXPECT_EQ(fields.at("Results of calls that differ"), Cells{""});
}

TEST(Form, AsCommaSeparatedValues) {
  EXPECT_EQ(csvOf({{.field = "Candidate", .cells = {"a", "b, \"old\""}},
                   {.field = "I/O time, s", .cells = {"1", ""}}}),
            "Candidate,a,\"b, \"\"old\"\"\"\n\"I/O time, s\",1,\n");
}

}  // namespace
}  // namespace omnio::procurement
