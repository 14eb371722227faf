#include <gtest/gtest.h>

#include "ior_bridge/ior/emit.hpp"
#include "ior_bridge/ior/plan.hpp"
#include "ior_bridge/runner/phase_requests.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/ior_bridge/sample_model.hpp"

namespace omnio::ior {
namespace {

using model::Operation;
using model::PhaseModel;
using test::kMiB;
using test::modelOf;
using test::operation;
using Sentences = std::vector<std::string>;

PhasePlan planOf(const PhaseModel& model, const PlanOptions& options = {}) {
  return planFor(model, options).phases.at(0);
}

// IOR's parameters mean what the model says, request by request and process by process.
void expectSameOffsets(const model::Phase& phase, const IorRun& run) {
  for (std::size_t task = 0; task < phase.ranks.size(); ++task) {
    PhaseRequests requests(phase, phase.ranks[task]);
    std::uint64_t n = 0;
    while (const auto request = requests.next()) {
      EXPECT_EQ(static_cast<std::uint64_t>(request->offset),
                offsetOf(run, static_cast<int>(task), n++));
      EXPECT_EQ(request->bytes, run.transfer_bytes);
    }
    EXPECT_EQ(n, transfersOf(run));
  }
}

TEST(IorPlan, ContiguousInASharedFile) {
  const PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  const PhasePlan plan = planOf(model);
  ASSERT_EQ(plan.runs.size(), 1U);
  EXPECT_EQ(plan.approximations, Sentences{});
  EXPECT_EQ(plan.runs[0].block_bytes, 8U * kMiB);
  EXPECT_EQ(plan.runs[0].segments, 1U);
  expectSameOffsets(model.phases[0], plan.runs[0]);
  EXPECT_EQ(commandLineOf(plan.runs[0]),
            "ior -a MPIIO -w -N 4 -t 1048576 -b 8388608 -s 1 -i 3 -e -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.json -O summaryFormat=JSON");
}

TEST(IorPlan, StrideOfAllProcesses) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, 4 * kMiB, kMiB)});
  model.phases[0].collective = true;
  const PhasePlan plan = planOf(model);
  EXPECT_EQ(plan.approximations, Sentences{});
  EXPECT_EQ(plan.runs[0].block_bytes, static_cast<std::uint64_t>(kMiB));
  EXPECT_EQ(plan.runs[0].segments, 8U);
  EXPECT_TRUE(plan.runs[0].collective);
  expectSameOffsets(model.phases[0], plan.runs[0]);
}

TEST(IorPlan, AFileEach) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 0)}, false);
  model.phases[0].interface = model::Interface::kPosix;
  const PhasePlan plan = planOf(model, {.fsync = false});
  EXPECT_EQ(plan.approximations, Sentences{});
  EXPECT_TRUE(plan.runs[0].file_per_process);
  EXPECT_FALSE(plan.runs[0].fsync);
  EXPECT_EQ(plan.runs[0].api, Api::kPosix);
  expectSameOffsets(model.phases[0], plan.runs[0]);
}

TEST(IorPlan, AReadFindsItsFile) {
  const PhaseModel model = modelOf({operation(Operation::kRead, 8, kMiB, 8 * kMiB)});
  const PhasePlan plan = planOf(model);
  ASSERT_EQ(plan.runs.size(), 2U);
  EXPECT_FALSE(plan.runs[0].measured);
  EXPECT_EQ(plan.runs[0].operation, Operation::kWrite);
  EXPECT_TRUE(plan.runs[0].keep);
  EXPECT_EQ(plan.runs[0].iterations, 1);
  EXPECT_EQ(plan.runs[1].operation, Operation::kRead);
  EXPECT_TRUE(plan.runs[1].keep);
  EXPECT_TRUE(plan.runs[1].cold);
  EXPECT_EQ(commandLineOf(plan.runs[1]),
            "ior -a MPIIO -r -N 4 -t 1048576 -b 8388608 -s 1 -i 1 -k -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.$i.json -O summaryFormat=JSON");
  EXPECT_NE(scriptOf(plan, {.source = {}, .model = {}, .options = {}, .phases = {}})
                .find("for i in 1 2 3; do\n  cool 4\n  run 4 -a MPIIO -r"),
            std::string::npos);
  EXPECT_FALSE(plan.runs[1].fsync);
  expectSameOffsets(model.phases[0], plan.runs[1]);
}

TEST(IorPlan, AMixedPhaseIsTwoRunsOfItsOperations) {
  // MADbench2's third phase: write 6, read 6 that lie two requests further on.
  const PhaseModel model = modelOf({operation(Operation::kWrite, 6, kMiB, 8 * kMiB),
                                    operation(Operation::kRead, 6, kMiB, 8 * kMiB, 2 * kMiB)});
  const PhasePlan plan = planOf(model);
  ASSERT_EQ(plan.runs.size(), 3U);
  EXPECT_EQ(plan.runs[0].name, "phase-1-write");
  EXPECT_EQ(plan.runs[1].name, "phase-1-read");
  EXPECT_FALSE(plan.runs[1].measured);
  EXPECT_EQ(plan.runs[2].name, "phase-1-read");
  EXPECT_EQ(plan.approximations,
            (Sentences{"its 2 operations take turns; IOR runs one after the other, and their times "
                       "add",
                       "process 1 begins to write at offset 8388608, IOR's task 1 at 6291456",
                       "process 0 begins to read at offset 2097152, IOR's task 0 at 0"}));
}

TEST(IorPlan, WhatIorCannotExpressIsSaid) {
  const auto said = [](const PhaseModel& model, const PlanOptions& options = {}) {
    return planOf(model, options).approximations;
  };
  PhaseModel other_stride = modelOf({operation(Operation::kWrite, 8, 6 * kMiB, kMiB)});
  EXPECT_EQ(said(other_stride),
            Sentences{"the writes of a process begin 6291456 bytes apart, IOR's 4194304"});

  PhaseModel backwards = modelOf({operation(Operation::kRead, 8, -kMiB, 8 * kMiB, 7 * kMiB)});
  EXPECT_EQ(said(backwards),
            (Sentences{"the reads of a process begin -1048576 bytes apart, IOR's 1048576",
                       "process 0 begins to read at offset 7340032, IOR's task 0 at 0"}));

  PhaseModel subset = modelOf({operation(Operation::kWrite, 1, kMiB, kMiB)});
  subset.phases[0].ranks = {0, 1};
  subset.phases[0].weight_bytes = 2 * kMiB;
  EXPECT_EQ(said(subset), Sentences{"2 of 4 processes take part; IOR starts 2 tasks, wherever the "
                                    "launcher puts them"});

  PhaseModel view = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  view.phases[0].has_view = true;
  view.phases[0].blocking = false;
  view.phases[0].pointer = model::PointerKind::kShared;
  EXPECT_EQ(said(view),
            (Sentences{"its nonblocking calls are run as blocking ones",
                       "its shared file pointer is run with the offsets that IOR gives each task",
                       "its file view is run with offsets given in each call"}));

  PhaseModel unknown = modelOf({operation(Operation::kWrite, 8, kMiB, 0)});
  unknown.phases[0].operations[0].init_offset.known = false;
  EXPECT_EQ(said(unknown), Sentences{"where the writes go in the file is not known; IOR's tasks do "
                                     "theirs one behind another"});

  PhaseModel collective = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  collective.phases[0].collective = true;
  EXPECT_EQ(said(collective, {.api = Api::kPosix}),
            (Sentences{"the phase's MPI-IO calls are run as POSIX calls",
                       "its collective calls are run by themselves"}));
}

TEST(IorPlan, SizesThatIorRefuses) {
  PhaseModel odd = modelOf({operation(Operation::kWrite, 3, 1001, 3003)});
  odd.phases[0].operations[0].request_bytes = 1001;
  odd.phases[0].weight_bytes = 12012;
  const PhasePlan plan = planOf(odd);
  EXPECT_EQ(plan.runs[0].transfer_bytes, 1008U);
  EXPECT_EQ(plan.runs[0].block_bytes, 3024U);
  EXPECT_EQ(plan.approximations,
            (Sentences{"requests of 1001 bytes are run as 1008: IOR takes multiples of 8",
                       "process 1 begins to write at offset 3003, IOR's task 1 at 3024",
                       "the processes write 12012 bytes, IOR 12096"}));
}

TEST(IorPlan, StreamsReachTheStorageABufferAtATime) {
  PhaseModel lines = modelOf({operation(Operation::kWrite, 1000, 40, 0)}, false);
  lines.phases[0].interface = model::Interface::kStdio;
  model::PhaseOperation& o = lines.phases[0].operations[0];
  o.request_bytes = 40;
  o.varying = true;
  o.smallest_bytes = 20;
  o.largest_bytes = 60;
  o.requests = 4000;
  o.weight_bytes = lines.phases[0].weight_bytes = 160000;
  const PhasePlan plan = planOf(lines);
  EXPECT_EQ(plan.runs[0].transfer_bytes, 4096U);
  EXPECT_EQ(plan.runs[0].block_bytes, 40960U);
  EXPECT_EQ(plan.approximations,
            (Sentences{"buffered streams are run as the unbuffered calls that they end in",
                       "the writes are of 20 to 60 bytes, IOR's all of one size",
                       "requests of 40 bytes reach the storage a buffer at a time: IOR transfers "
                       "4096 bytes",
                       "the processes write 160000 bytes, IOR 163840"}));
}

TEST(IorPlan, RandomOrder) {
  PhaseModel model = modelOf({operation(Operation::kRead, 8, kMiB, 0)}, false);
  model.phases[0].mode = model::AccessMode::kRandom;
  PhasePlan plan = planOf(model);
  EXPECT_TRUE(plan.runs[1].random);
  EXPECT_FALSE(plan.runs[0].random);
  EXPECT_EQ(plan.approximations,
            Sentences{"the reads come in another random order than the application's"});
  model.files[0].shared = true;
  plan = planOf(model);
  EXPECT_EQ(plan.approximations,
            Sentences{"IOR deals the reads of all tasks out by lot, over one region without gaps"});
}

// IOR refuses -c with -z.
TEST(IorPlan, CollectiveCallsHaveNoRandomOrder) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 0)});
  model.phases[0].mode = model::AccessMode::kRandom;
  model.phases[0].collective = true;
  const PhasePlan plan = planOf(model);
  EXPECT_TRUE(plan.runs[0].collective);
  EXPECT_FALSE(plan.runs[0].random);
  EXPECT_EQ(plan.approximations,
            Sentences{"its order is random, and IOR's collective calls have none"});
}

// The words that mdtest gets for a metadata phase, and what it cannot express.
std::pair<std::string, Sentences> mdtestOf(std::vector<std::pair<std::string, std::uint64_t>> calls,
                                           std::uint64_t creates = 0, bool shared = false) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  model.phases.push_back(test::metadataPhase(model, std::move(calls), creates, shared));
  const PhasePlan plan = planFor(model, {}).phases.at(1);
  return {commandLineOf(plan.mdtest.value()), plan.approximations};
}

TEST(Mdtest, FilesThatAreMade) {
  EXPECT_EQ(mdtestOf({{"close", 4000}, {"open", 4000}}, 4000),
            (std::pair<std::string, Sentences>(
                R"(mdtest -F -C -r -n 1000 -u -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)", {})));
}

TEST(Mdtest, StepsInOneDirectory) {
  EXPECT_EQ(mdtestOf({{"stat", 4000}}, 0, true).first,
            R"(mdtest -F -C -T -r -n 1000 -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)");
  EXPECT_EQ(mdtestOf({{"close", 6}, {"open", 6}}, 0, true).first,
            R"(mdtest -F -C -E -r -n 2 -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)");
  EXPECT_EQ(mdtestOf({{"unlink", 40}}, 0, true).first,
            R"(mdtest -F -C -r -n 10 -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)");
  EXPECT_EQ(mdtestOf({{"mkdir", 40}}, 0, true).first,
            R"(mdtest -D -C -r -n 10 -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)");
  EXPECT_EQ(mdtestOf({{"rename", 40}}, 0, true).first,
            R"(mdtest -D -C -U -r -n 10 -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)");
}

TEST(Mdtest, WhatItCannotExpressIsSaid) {
  const auto [command, sentences] = mdtestOf(
      {{"access", 8}, {"close", 40}, {"mkdir", 4}, {"open", 40}, {"readdir", 9}, {"symlink", 4}},
      40);
  EXPECT_EQ(command, R"(mdtest -C -T -r -n 11 -u -i 3 -d "$DIR" > "$RESULTS"/phase-2.txt)");
  EXPECT_EQ(sentences,
            (Sentences{"its 3 steps may take turns; mdtest runs one after the other, and their "
                       "times add",
                       "4 symlink: run as the creation of files", "8 access: run as stat",
                       "9 readdir: not run"}));
}

TEST(Mdtest, ATreeOfDirectories) {
  PhaseModel model = modelOf({});
  model.phases.clear();
  model::Phase phase = test::metadataPhase(model, {{"stat", 4000}});
  phase.metadata.directories = 40;
  model.phases = {phase};
  const PhasePlan plan = planOf(model, {.iterations = 1});
  EXPECT_EQ(
      commandLineOf(plan.mdtest.value()),
      R"(mdtest -F -C -T -r -b 10 -z 1 -L -I 100 -u -i 1 -d "$DIR" > "$RESULTS"/phase-1.txt)");
  EXPECT_EQ(
      plan.approximations,
      Sentences{"its 40 directories are leaves of a tree of depth 1, with as many items each"});
}

TEST(Mdtest, TheScriptLeavesNoResultOfARunThatFailed) {
  PhaseModel model = modelOf({});
  model.phases.clear();
  model.phases = {test::metadataPhase(model, {{"stat", 4000}})};
  const IorPlan plan = planFor(model, {});
  const std::string script = scriptOf(plan.phases[0], plan);
  EXPECT_NE(script.find("\nset -eu\n"), std::string::npos) << script;
  EXPECT_NE(script.find("\nmetadata 4 -F -C -T -r -n 1000 -u -i 3 -d \"$DIR\" > "
                        "\"$RESULTS\"/phase-1.txt.part\n"
                        "mv \"$RESULTS\"/phase-1.txt.part \"$RESULTS\"/phase-1.txt\n"),
            std::string::npos)
      << script;
}

TEST(IorEmit, ScriptsAndPlanAgreeWithTheRuns) {
  const PhaseModel model = modelOf({operation(Operation::kWrite, 8, 6 * kMiB, kMiB)});
  const IorPlan plan = planFor(model, {});
  const test::TemporaryDirectory directory;
  EXPECT_TRUE(emit(plan, directory / "runs"));
  const std::string script = test::readAll(directory / "runs/phase-1.sh");
  const std::string words = commandLineOf(plan.phases[0].runs[0]).substr(4);
  EXPECT_NE(script.find("\nrun 4 " + words + "\n"), std::string::npos) << script;
  EXPECT_NE(script.find("\n# approximation: the writes of a process begin 6291456 bytes apart, "
                        "IOR's 4194304\n"),
            std::string::npos)
      << script;
  EXPECT_NE(test::readAll(directory / "runs/run-all.sh").find("sh \"$here\"/phase-1.sh\n"),
            std::string::npos);
  EXPECT_EQ(test::readAll(directory / "runs/ior-plan.json"), jsonOf(plan));
}

TEST(IorEmit, HintsOfTheApplicationAreGivenToIor) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  model.phases[0].opened.hints = {{"cb_nodes", "2"}, {"romio_ds_write", "it's"}, {"odd key", "x"}};
  IorPlan plan = planFor(model, {});
  const std::string script = scriptOf(plan.phases[0], plan);
  EXPECT_NE(script.find("\nexport IOR_HINT__MPI__cb_nodes='2'\n"
                        "export IOR_HINT__MPI__romio_ds_write='it'\\''s'\n"),
            std::string::npos)
      << script;
  EXPECT_EQ(script.find("odd key"), std::string::npos);
  plan = planFor(model, {.api = Api::kPosix});
  EXPECT_EQ(scriptOf(plan.phases[0], plan).find("IOR_HINT"), std::string::npos);
}

TEST(IorEmit, ADirectoryThatCannotBeMadeIsNamed) {
  const test::TemporaryDirectory directory;
  test::writeAll(directory / "file", "x");
  const auto emitted = emit(IorPlan{}, directory / "file/below");
  ASSERT_FALSE(emitted);
  EXPECT_EQ(emitted.failure().sentence,
            "cannot make " + (directory / "file/below").native() + ": Not a directory");
}

}  // namespace
}  // namespace omnio::ior
