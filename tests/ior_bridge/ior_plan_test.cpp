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

// The starts of IOR, and what is said of the first family.
struct Planned {
  std::vector<IorRun> runs;
  Sentences approximations;
};

Planned planOf(const PhaseModel& model, const PlanOptions& options = {}) {
  IorPlan plan = planFor(model, options);
  return {std::move(plan.runs), std::move(plan.families.at(0).approximations)};
}

std::string scriptOf(const IorPlan& plan, std::size_t index) {
  return scriptsOf(plan).at(index).text;
}

// Phases that follow the first one of the model, each `step` bytes further on in the file.
void repeat(PhaseModel& model, int phases, std::int64_t step) {
  for (int i = 1; i < phases; ++i) {
    model.phases.push_back(model.phases.back());
    ++model.phases.back().id;
    for (auto& o : model.phases.back().operations) o.init_offset.base += step;
  }
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
  const Planned plan = planOf(model);
  ASSERT_EQ(plan.runs.size(), 1U);
  EXPECT_EQ(plan.approximations, Sentences{});
  EXPECT_EQ(plan.runs[0].block_bytes, 8U * kMiB);
  EXPECT_EQ(plan.runs[0].segments, 1U);
  expectSameOffsets(model.phases[0], plan.runs[0]);
  EXPECT_EQ(argumentsOf(plan.runs[0]),
            "-a MPIIO -w -N 4 -t 1048576 -b 8388608 -s 1 -i 3 -g -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.json -O summaryFormat=JSON");
}

TEST(IorPlan, StrideOfAllProcesses) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, 4 * kMiB, kMiB)});
  model.phases[0].collective = true;
  const Planned plan = planOf(model);
  EXPECT_EQ(plan.approximations, Sentences{});
  EXPECT_EQ(plan.runs[0].block_bytes, static_cast<std::uint64_t>(kMiB));
  EXPECT_EQ(plan.runs[0].segments, 8U);
  EXPECT_TRUE(plan.runs[0].collective);
  expectSameOffsets(model.phases[0], plan.runs[0]);
}

TEST(IorPlan, AFileEach) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 0)}, false);
  model.phases[0].interface = model::Interface::kPosix;
  const Planned plan = planOf(model, {.fsync = Fsync::kNever});
  EXPECT_EQ(plan.approximations, Sentences{});
  EXPECT_TRUE(plan.runs[0].file_per_process);
  EXPECT_FALSE(plan.runs[0].fsync);
  EXPECT_EQ(plan.runs[0].api, Api::kPosix);
  expectSameOffsets(model.phases[0], plan.runs[0]);
}

TEST(IorPlan, InputIsMadeByTheScriptAndReadFromAColdCache) {
  const PhaseModel model = modelOf({operation(Operation::kRead, 8, kMiB, 8 * kMiB)});
  const IorPlan plan = planFor(model, {});
  ASSERT_EQ(plan.runs.size(), 1U);
  const IorRun& run = plan.runs[0];
  EXPECT_FALSE(run.writes);
  EXPECT_TRUE(run.cold && run.filled);
  EXPECT_EQ(argumentsOf(run),
            "-a MPIIO -r -N 4 -t 1048576 -b 8388608 -s 1 -i 3 -g -m -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.json -O summaryFormat=JSON");
  EXPECT_NE(scriptOf(plan, 0).find("for i in 0 1 2; do\n  fill phase-1.dat.\"$i\" 33554432\ndone\n"
                                   "cool 4\nrun 4 -a MPIIO -r"),
            std::string::npos)
      << scriptOf(plan, 0);
  expectSameOffsets(model.phases[0], run);
}

TEST(IorPlan, InputInAFileEach) {
  const PhaseModel model = modelOf({operation(Operation::kRead, 8, kMiB, 0)}, false);
  EXPECT_NE(scriptOf(planFor(model, {.iterations = 1}), 0)
                .find("for i in 0; do\n  for task in $(seq -f %08.f 0 3); do\n"
                      "    fill phase-1.dat.\"$task\".\"$i\" 8388608\n  done\ndone\n"),
            std::string::npos);
}

TEST(IorPlan, WhatTheApplicationWroteIsReadInTheSameStart) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 1, 0, kMiB)});
  repeat(model, 40, 4 * kMiB);
  model.phases.push_back(modelOf({operation(Operation::kRead, 40, 4 * kMiB, kMiB)}).phases[0]);
  model.phases.back().id = 41;
  const IorPlan plan = planFor(model, {});
  ASSERT_EQ(plan.families.size(), 2U);
  ASSERT_EQ(plan.runs.size(), 1U);
  EXPECT_EQ(argumentsOf(plan.runs[0]),
            "-a MPIIO -w -r -N 4 -t 1048576 -b 1048576 -s 40 -i 3 -g -o \"$DIR\"/phase-1.dat "
            "-O summaryFile=\"$RESULTS\"/phase-1.json -O summaryFormat=JSON");
  EXPECT_EQ(textOf(plan), "phase 1-40\n  ior " + argumentsOf(plan.runs[0]) +
                              "\nphase 41\n  in the start of phase-1\n"
                              "1 start of IOR for 2 families of phases\n"
                              "writes end with an fsync where the application had one (-e; -Y: "
                              "after each write)\n");
  expectSameOffsets(model.phases[40], plan.runs[0]);
}

TEST(IorPlan, AFamilyIsOneStart) {
  const auto runOf = [](const PhaseModel& model) {
    const Planned plan = planOf(model);
    EXPECT_EQ(plan.runs.size(), 1U);
    EXPECT_EQ(plan.approximations, Sentences{});
    return std::pair(plan.runs[0].block_bytes, plan.runs[0].segments);
  };
  using Shape = std::pair<std::uint64_t, std::uint64_t>;
  // A stride of all processes that goes on from phase to phase.
  PhaseModel strided = modelOf({operation(Operation::kWrite, 8, 4 * kMiB, kMiB)});
  repeat(strided, 3, 32 * kMiB);
  EXPECT_EQ(runOf(strided), (Shape{kMiB, 24}));
  // A block of each process in each phase.
  PhaseModel blocks = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  repeat(blocks, 3, 32 * kMiB);
  EXPECT_EQ(runOf(blocks), (Shape{8 * kMiB, 3}));
  // A region of each process, in which the phases follow each other.
  PhaseModel regions = modelOf({operation(Operation::kWrite, 8, kMiB, 24 * kMiB)});
  repeat(regions, 3, 8 * kMiB);
  EXPECT_EQ(runOf(regions), (Shape{24 * kMiB, 1}));
}

TEST(IorPlan, PhasesWithoutOneDistanceAreSaid) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 1, 0, kMiB)});
  repeat(model, 3, 4 * kMiB);
  model.phases[2].operations[0].init_offset.base += kMiB;
  EXPECT_EQ(planOf(model).approximations,
            Sentences{"the writes of a phase begin at no constant distance from those of the phase "
                      "before, IOR's 4194304"});
  model.phases[1].operations[0].init_offset.base = 8 * kMiB;
  model.phases[2].operations[0].init_offset.base = 16 * kMiB;
  EXPECT_EQ(planOf(model).approximations,
            Sentences{"the writes of a phase begin 8388608 bytes after those of the phase before, "
                      "IOR's 4194304"});
}

TEST(IorPlan, OverwritingIsSaid) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  model.phases.push_back(
      modelOf({operation(Operation::kWrite, 2, kMiB, 8 * kMiB, 6 * kMiB)}).phases[0]);
  model.phases.back().id = 2;
  const IorPlan plan = planFor(model, {});
  EXPECT_EQ(plan.families.at(1).approximations.at(0),
            "the writes replace what the application wrote before, IOR's make a file");
  model.phases[1].operations[0].init_offset.base = 7 * kMiB;
  EXPECT_NE(planFor(model, {}).families.at(1).approximations.at(0).find("process 0 begins"),
            std::string::npos)
      << "a part of it is new";
}

TEST(IorPlan, OneFileStandsForThoseOfAFamily) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 1, 0, kMiB)});
  model.files[0].path = "/data/step.0";
  repeat(model, 4, 4 * kMiB);
  model.files.push_back({.path = "/data/step.1", .shared = true, .size_bytes = 0});
  for (const std::size_t i : {2, 3}) {
    model.phases[i].file = 1;
    model.phases[i].operations[0].init_offset.base -= 8 * kMiB;
  }
  const Planned plan = planOf(model);
  ASSERT_EQ(plan.runs.size(), 1U);
  EXPECT_EQ(plan.runs[0].segments, 2U);
  EXPECT_EQ(
      plan.approximations,
      Sentences{"its 4 phases are of 2 files; IOR runs one file, whose time counts for each"});
}

TEST(IorPlan, SyncsAreThoseOfTheApplication) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 8 * kMiB)});
  const auto run = [&](std::uint64_t syncs, Fsync fsync = Fsync::kModel) {
    model.phases[0].calls = {{"MPI_File_sync", syncs}, {"MPI_File_write_at", 32}};
    return planOf(model, {.fsync = fsync}).runs.at(0);
  };
  EXPECT_FALSE(run(0).fsync || run(0).fsync_each);
  EXPECT_TRUE(run(4).fsync && !run(4).fsync_each);
  EXPECT_TRUE(!run(32).fsync && run(32).fsync_each);
  EXPECT_TRUE(run(0, Fsync::kAlways).fsync);
  EXPECT_FALSE(run(4, Fsync::kNever).fsync);
  EXPECT_TRUE(run(8).fsync);
  EXPECT_EQ(planOf(model).approximations, Sentences{"the processes sync 8 times, IOR 4 times"});
}

TEST(IorPlan, AMixedPhaseIsOneStartOfItsOperations) {
  // MADbench2's third phase: write 6, read 6 that lie two requests further on.
  const PhaseModel model = modelOf({operation(Operation::kWrite, 6, kMiB, 8 * kMiB),
                                    operation(Operation::kRead, 6, kMiB, 8 * kMiB, 2 * kMiB)});
  const Planned plan = planOf(model);
  ASSERT_EQ(plan.runs.size(), 1U);
  EXPECT_EQ(plan.runs[0].name, "phase-1");
  EXPECT_TRUE(plan.runs[0].writes && plan.runs[0].reads);
  EXPECT_EQ(plan.approximations,
            (Sentences{"its 2 operations take turns; IOR runs one after the other, and their times "
                       "add",
                       "process 1 begins to write at offset 8388608, IOR's task 1 at 6291456",
                       "process 0 begins to read at offset 2097152, IOR's task 0 at 0"}));
}

TEST(IorPlan, AStartOfItsOwnSaysWhy) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 6, kMiB, 8 * kMiB),
                              operation(Operation::kRead, 3, 2 * kMiB, 8 * kMiB)});
  model.phases[0].operations[1].request_bytes = 2 * kMiB;
  const IorPlan plan = planFor(model, {});
  ASSERT_EQ(plan.runs.size(), 2U);
  EXPECT_EQ(plan.runs[1].name, "phase-1-2");
  EXPECT_EQ(plan.families[0].remarks,
            Sentences{"its read is a start of its own: -t is 2097152, and 1048576 in phase-1"});
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
  const Planned plan = planOf(odd);
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
  const Planned plan = planOf(lines);
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
  model.files[0].size_bytes = 100 * kMiB;
  Planned plan = planOf(model);
  EXPECT_TRUE(plan.runs[0].random && plan.runs[0].filled && plan.runs[0].cold);
  EXPECT_EQ(plan.runs[0].block_bytes, 100U * kMiB);
  EXPECT_EQ(plan.runs[0].transfers_of_task, 8U);
  EXPECT_EQ(plan.approximations,
            Sentences{"the reads are at random over the 104857600 bytes of the file; IOR deals out "
                      "by lot which of them a task does, none of them twice, and in which order"});
  model.files[0].shared = true;
  plan = planOf(model);
  EXPECT_EQ(plan.runs[0].block_bytes, 25U * kMiB);
  EXPECT_EQ(plan.runs[0].transfers_of_task, 8U);
}

TEST(IorPlan, RandomReadsOfWhatWasWrittenAreInTheSameStart) {
  PhaseModel model =
      modelOf({operation(Operation::kWrite, 8, kMiB, 0), operation(Operation::kRead, 8, kMiB, 0)});
  model.phases[0].mode = model::AccessMode::kRandom;
  model.files[0].size_bytes = 100 * kMiB;
  const Planned shared = planOf(model);
  ASSERT_EQ(shared.runs.size(), 1U);
  EXPECT_TRUE(shared.runs[0].writes && shared.runs[0].reads && !shared.runs[0].filled);
  model.files[0].shared = false;
  const Planned each = planOf(model);
  ASSERT_EQ(each.runs.size(), 2U);
  EXPECT_TRUE(each.runs[1].filled && !each.runs[1].cold);
}

// IOR refuses -c with -z.
TEST(IorPlan, CollectiveCallsHaveNoRandomOrder) {
  PhaseModel model = modelOf({operation(Operation::kWrite, 8, kMiB, 0)});
  model.phases[0].mode = model::AccessMode::kRandom;
  model.phases[0].collective = true;
  const Planned plan = planOf(model);
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
  const FamilyPlan plan = planFor(model, {}).families.at(1);
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
  const FamilyPlan plan = planFor(model, {.iterations = 1}).families.at(0);
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
  const std::string script = scriptOf(plan, 0);
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
  const std::string words = argumentsOf(plan.runs[0]);
  EXPECT_NE(script.find("\nrun 4 " + words + "\n"), std::string::npos) << script;
  EXPECT_NE(
      script.find("\n# approximation of 1: the writes of a process begin 6291456 bytes apart, "
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
  const std::string script = scriptOf(plan, 0);
  EXPECT_NE(script.find("\nexport IOR_HINT__MPI__cb_nodes='2'\n"
                        "export IOR_HINT__MPI__romio_ds_write='it'\\''s'\n"),
            std::string::npos)
      << script;
  EXPECT_EQ(script.find("odd key"), std::string::npos);
  plan = planFor(model, {.api = Api::kPosix});
  EXPECT_EQ(scriptOf(plan, 0).find("IOR_HINT"), std::string::npos);
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
