// The work of `omnio evaluate`: makes the schedule and the phase model of the recording, looks at
// all candidates before anything runs, and runs round after round until the plan has enough
// (procurement/rounds.hpp). Each step is a command of omnio in a process of its own, whose words,
// status and time stand in the evaluation's commands.txt, so that any step can be made again by
// hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "procurement/comparison.hpp"
#include "procurement/evaluation_plan.hpp"
#include "procurement/projection.hpp"
#include "procurement/replay_report.hpp"

namespace omnio::cli {

// The answer as a document, in the directory of the evaluation.
inline constexpr const char* kAnswerName = "comparison.json";

// The room and the time that a run on a candidate needs, by a dry run of the replay.
struct RunNeeds {
  std::string candidate;
  std::uint64_t needed_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  // nothing where the file system does not tell
  std::int64_t expected_ns = 0;             // with the storage of the recording
};

class EvaluationRun {
 public:
  // The plan is written already, and outlives this.
  EvaluationRun(std::filesystem::path directory, const procurement::EvaluationPlan& plan);

  // The documents that the runs need, where they are not there yet.
  base::Result<void> makeDocuments();
  // Reads the results that came back from elsewhere. Fails where they are of another recording, or
  // were made in another way.
  base::Result<void> readElsewhere();
  // Whether runs are missing. After readElsewhere().
  base::Result<bool> wantsRuns();
  // Fails where a candidate has no room, or would refuse the runs for another reason.
  base::Result<std::vector<RunNeeds>> lookAhead();
  // Fails where the traces of the least rounds, each as large as the recording, have no room.
  base::Result<void> checkRoomForTraces() const;
  // Runs the rounds that are missing. Says on stderr how far it is.
  base::Result<void> runRounds();
  // All whole rounds, and the results that came back from elsewhere.
  base::Result<procurement::Comparison> compared() const;
  // The evaluations at other numbers of ranks, each in a directory of its own. Needs the answer at
  // the recorded number (comparison.json).
  base::Result<procurement::Projections> project();
  // Takes away what the runs left on the candidates.
  void removeData() const;

  // The signal that asked for an end meanwhile, or 0.
  int stoppedBy() const { return stopped_by_; }

 private:
  // Runs a command, with what it prints in that file. Fails with its own sentence, unless it ends
  // with one of the statuses that mean done.
  base::Result<void> command(const std::vector<std::string>& words,
                             const std::filesystem::path& printed, bool shows_errors = false);
  base::Result<void> scaleTo(int ranks);
  base::Result<procurement::BriefAnswer> answerAt(int ranks, int recorded);
  std::vector<std::string> replayWords(const procurement::PlannedCandidate& candidate) const;
  base::Result<void> runOnce(std::size_t round, const procurement::PlannedCandidate& candidate);
  // Fails where a replay did other work than the recording, or is not a result.
  base::Result<void> checkReplay(const std::filesystem::path& directory) const;
  // "round 3 of 5 to 20: flash, I/O time 6.09 s; 3 min to 12 min left", after that run.
  std::string progressText(std::size_t round, const procurement::PlannedCandidate& candidate,
                           double time_s, double run_takes_s) const;
  // Whether the verdict of so many rounds is open, and more of them are to be run.
  base::Result<bool> wantsMore(std::size_t rounds);
  base::Result<model::PhaseModel> model() const;
  // Its finished runs in so many rounds, or its results that came back.
  std::vector<std::string> resultsOf(const procurement::PlannedCandidate& candidate,
                                     std::size_t rounds) const;

  const std::filesystem::path directory_;
  const procurement::EvaluationPlan& plan_;
  const std::string omnio_;                        // this program
  std::optional<procurement::ReplayedWork> work_;  // of a replay, by the dry run
  std::map<std::string, procurement::Candidate> elsewhere_;
  std::map<std::string, std::vector<double>> times_;  // of finished runs, by candidate and round
  std::optional<int> recorded_processes_;
  int stopped_by_ = 0;
};

}  // namespace omnio::cli
