// The plan of an evaluation (omnio evaluate): which recording is made again on which candidates,
// how, and how often. It is fixed before the first run and lies in the directory of the evaluation
// beside the runs, so that what an interruption ended goes on as it began:
//
//   evaluation.json          the plan (docs/formats/evaluation.md)
//   runs/001-flash           a run that is finished: round 1, on the candidate flash
//   runs/001-flash.unfinished  one that is under way, or was
//
// A run gets its name when it is finished. A round counts when each candidate's run is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/text_table.hpp"
#include "procurement/rounds.hpp"

namespace omnio::procurement {

enum class RecordingKind : std::uint8_t { kTrace, kSchedule, kPhaseModel };
inline constexpr base::Word<RecordingKind> kRecordingKinds[] = {
    {RecordingKind::kTrace, "trace"},
    {RecordingKind::kSchedule, "schedule"},
    {RecordingKind::kPhaseModel, "phase model"}};

// The program that makes the recorded I/O again.
enum class Runner : std::uint8_t { kReplay, kPhaseRun };
inline constexpr base::Word<Runner> kRunners[] = {{Runner::kReplay, "replay"},
                                                  {Runner::kPhaseRun, "phase-run"}};

// The time by which candidates are told apart (docs/definitions.md).
enum class Criterion : std::uint8_t { kIoTime, kRunTime };
inline constexpr base::Word<Criterion> kCriteria[] = {{Criterion::kIoTime, "io"},
                                                      {Criterion::kRunTime, "run"}};

struct PlannedCandidate {
  std::string name;
  std::filesystem::path directory;   // of a candidate here, as given
  std::filesystem::path target;      // the directory in it, or itself, that the runs work in
  std::string mount;                 // "point type source"
  std::vector<std::string> results;  // of a candidate elsewhere

  bool isElsewhere() const { return !results.empty(); }
};

struct EvaluationPlan {
  std::filesystem::path recording;
  RecordingKind kind = RecordingKind::kTrace;
  Runner runner = Runner::kReplay;
  std::string timing = "dt";  // of replays
  Criterion criterion = Criterion::kIoTime;
  Rounds rounds;
  bool keeps_traces = true;  // of replays
  int processes = 0;         // 0: as many as were recorded
  std::string launcher;
  std::vector<std::string> launcher_options;
  std::vector<std::string> words;  // for the replays or the phase runner, as given
  std::vector<PlannedCandidate> candidates;
  std::vector<std::string> peaks;  // words of --peak
  // Numbers of ranks to project the recording to, and the words of `omnio preprocess` for that.
  std::vector<int> ranks;
  std::vector<std::string> scale_words;
  int projected_from = 0;  // the recorded number of ranks, of a schedule that was scaled; else 0

  // Indices of the candidates that are run here.
  std::vector<std::size_t> here() const;
};

base::Result<EvaluationPlan> readPlan(const std::filesystem::path& evaluation);
base::Result<void> writePlan(const std::filesystem::path& evaluation, const EvaluationPlan& plan);
// Whether an evaluation lies there.
bool hasPlan(const std::filesystem::path& directory);

// The phase model and the schedule of the evaluation: made from the recording, or the recording. A
// phase model made by hand has no schedule: then the path is empty.
std::filesystem::path modelOf(const std::filesystem::path& evaluation, const EvaluationPlan& plan);
std::filesystem::path scheduleOf(const std::filesystem::path& evaluation,
                                 const EvaluationPlan& plan);

// Where a run is once it is finished. Rounds count from 0.
std::filesystem::path runOf(const std::filesystem::path& evaluation, std::size_t round,
                            const std::string& candidate);
inline constexpr const char* kUnfinished = ".unfinished";
// How the directory on a candidate begins that an evaluation makes for its runs; eight digits
// follow.
inline constexpr const char* kOwnDirectory = "omnio-evaluate-";
// How many whole rounds are finished, from the first.
std::size_t finishedRounds(const std::filesystem::path& evaluation, const EvaluationPlan& plan);

// The results of a candidate in an evaluation that was made elsewhere: the finished runs of the
// candidate of that name, or of the only one.
base::Result<std::vector<std::string>> resultsIn(const std::filesystem::path& evaluation,
                                                 const std::string& candidate);

// Fails with a sentence where two candidates are one directory or one lies in the other, or where
// one and the recording or the evaluation do; by device and inode.
base::Result<void> checkPlaces(const EvaluationPlan& plan, const std::filesystem::path& evaluation);
// Fails where the directory of a candidate is gone, or lies on another mount than at the beginning.
base::Result<void> checkStillThere(const PlannedCandidate& candidate);
// Sentences about candidates that share a mount.
std::vector<std::string> sharedMounts(const EvaluationPlan& plan);

}  // namespace omnio::procurement
