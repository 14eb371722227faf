#include "procurement/evaluation_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/file_system.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "ior_bridge/ior/plan_results.hpp"

namespace omnio::procurement {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlanName = "evaluation.json";
constexpr const char* kFormat = "omnio-evaluation";
constexpr int kVersion = 1;
constexpr base::JsonRange kCounts{.least = 1, .most = 1000};

fs::path planOf(const fs::path& evaluation) { return evaluation / kPlanName; }

std::string nameOf(const fs::path& path) { return base::printable(path.native()); }

// "omnio-evaluate-1a2b3c4d" in the directory of the candidate.
bool isOwnDirectory(const PlannedCandidate& candidate) {
  const std::string name = candidate.target.filename().native();
  const std::string_view begin = kOwnDirectory;
  constexpr std::size_t kDigits = 8;
  return candidate.target.parent_path() == candidate.directory && name.starts_with(begin) &&
         name.size() == begin.size() + kDigits &&
         name.find_first_not_of("0123456789abcdef", begin.size()) == std::string::npos;
}

// Tells files and directories apart, whatever their names are.
using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identityOf(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return Identity(status.st_dev, status.st_ino);
}

// The path, links resolved, and the directories above it; of those alone that are there.
std::vector<Identity> above(const fs::path& path) {
  std::vector<Identity> result;
  std::error_code error;
  fs::path at = fs::weakly_canonical(path, error);
  if (error) at = fs::absolute(path, error);
  for (;; at = at.parent_path()) {
    if (const auto identity = identityOf(at)) result.push_back(*identity);
    if (at == at.parent_path()) return result;
  }
}

// Whether the first is the second or lies in it; the second is there.
bool liesIn(const fs::path& inner, const fs::path& outer) {
  const auto identity = identityOf(outer);
  const std::vector<Identity> directories = above(inner);
  return identity && std::ranges::find(directories, *identity) != directories.end();
}

}  // namespace

std::vector<std::size_t> EvaluationPlan::here() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].isElsewhere()) indices.push_back(i);
  }
  return indices;
}

bool hasPlan(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(planOf(directory), ignored);
}

base::Result<void> writePlan(const fs::path& evaluation, const EvaluationPlan& plan) {
  const base::JsonLayout layout{.indent = 1, .lists_on_one_line = true};
  return base::writeDocument(
      planOf(evaluation),
      base::jsonDocument(kFormat, kVersion, layout, [&](base::JsonWriter& json) {
        json.put("recording", plan.recording.native());
        json.put("kind", base::wordOf(kRecordingKinds, plan.kind));
        json.put("by", base::wordOf(kRunners, plan.runner));
        json.put("timing", plan.timing);
        json.put("criterion", base::wordOf(kCriteria, plan.criterion));
        json.put("rounds", plan.rounds.least);
        json.put("at_most", plan.rounds.most);
        json.put("keeps_traces", plan.keeps_traces);
        json.put("processes", plan.processes);
        json.put("launcher", plan.launcher);
        json.put("launcher_options", plan.launcher_options);
        json.put("words", plan.words);
        json.put("peaks", plan.peaks);
        json.put("ranks", plan.ranks);
        json.put("scale_words", plan.scale_words);
        json.put("projected_from", plan.projected_from);
        json.list("candidates", plan.candidates, [&](const PlannedCandidate& candidate) {
          json.object([&] {
            json.put("name", candidate.name);
            json.put("directory", candidate.directory.native());
            json.put("target", candidate.target.native());
            json.put("mount", candidate.mount);
            json.put("results", candidate.results);
          });
        });
      }));
}

base::Result<EvaluationPlan> readPlan(const fs::path& evaluation) {
  base::JsonReader in(planOf(evaluation), base::kMostBytesHeld);
  const base::JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  EvaluationPlan plan;
  {
    base::JsonObject document(in, root);
    document.format(kFormat, kVersion, "an evaluation");
    plan.recording = document.text("recording");
    plan.kind = document.oneOf("kind", kRecordingKinds);
    plan.runner = document.oneOf("by", kRunners);
    plan.timing = document.text("timing");
    plan.criterion = document.oneOf("criterion", kCriteria);
    plan.rounds.least = document.natural("rounds", kCounts);
    plan.rounds.most = document.natural("at_most", kCounts);
    plan.keeps_traces = document.flag("keeps_traces");
    plan.processes =
        static_cast<int>(document.integer("processes", {.least = 0, .most = 10000000}));
    plan.launcher = document.text("launcher");
    plan.launcher_options = document.texts("launcher_options");
    plan.words = document.texts("words");
    plan.peaks = document.texts("peaks");
    plan.ranks = document.integers<int>("ranks", {.least = 1, .most = 10000000});
    plan.scale_words = document.texts("scale_words");
    plan.projected_from =
        static_cast<int>(document.integer("projected_from", {.least = 0, .most = 10000000}));
    for (const base::JsonNode& item : document.list("candidates")) {
      base::JsonObject candidate(in, item);
      plan.candidates.push_back({.name = candidate.text("name"),
                                 .directory = candidate.text("directory"),
                                 .target = candidate.text("target"),
                                 .mount = candidate.text("mount"),
                                 .results = candidate.texts("results")});
    }
    for (const PlannedCandidate& candidate : plan.candidates) {
      if (candidate.isElsewhere() || candidate.target == candidate.directory ||
          isOwnDirectory(candidate)) {
        continue;
      }
      in.refuse(root.place, fmt::format("the target {} of a candidate is not a directory that an "
                                        "evaluation makes in {}",
                                        nameOf(candidate.target), nameOf(candidate.directory)));
    }
    if (plan.rounds.most < plan.rounds.least) {
      in.refuse(root.place, "\"at_most\" is less than \"rounds\"");
    }
  }
  if (const auto read = in.finish(); !read) return read.failure();
  return plan;
}

fs::path modelOf(const fs::path& evaluation, const EvaluationPlan& plan) {
  return plan.kind == RecordingKind::kPhaseModel ? plan.recording : evaluation / "app.phases.json";
}

fs::path scheduleOf(const fs::path& evaluation, const EvaluationPlan& plan) {
  if (plan.kind == RecordingKind::kSchedule) return plan.recording;
  const bool is_made = plan.kind == RecordingKind::kTrace && plan.runner == Runner::kReplay;
  if (is_made) return evaluation / "app.schedule.json";
  // The phase runner follows the schedule beside the model.
  const fs::path model = modelOf(evaluation, plan);
  const std::string beside = ior::memberOf(model, "schedule");
  return beside.empty() ? fs::path() : model.parent_path() / beside;
}

fs::path runOf(const fs::path& evaluation, std::size_t round, const std::string& candidate) {
  return evaluation / "runs" / fmt::format("{:03}-{}", round + 1, candidate);
}

std::size_t finishedRounds(const fs::path& evaluation, const EvaluationPlan& plan) {
  std::error_code ignored;
  const std::vector<std::size_t> here = plan.here();
  std::size_t rounds = 0;
  while (!here.empty() && rounds < plan.rounds.most &&
         std::ranges::all_of(here, [&](std::size_t i) {
           return fs::exists(runOf(evaluation, rounds, plan.candidates[i].name), ignored);
         })) {
    ++rounds;
  }
  return rounds;
}

base::Result<std::vector<std::string>> resultsIn(const fs::path& evaluation,
                                                 const std::string& candidate) {
  const base::Result<EvaluationPlan> plan = readPlan(evaluation);
  if (!plan) return plan.failure();
  std::vector<std::string> names;
  for (const std::size_t i : plan->here()) names.push_back(plan->candidates[i].name);
  std::string name = candidate;
  if (std::ranges::find(names, name) == names.end()) {
    if (names.size() != 1) {
      return base::failure(base::Code::kInvalid, "{}: an evaluation of {}, none of which is \"{}\"",
                           nameOf(evaluation),
                           base::printable(fmt::format("{}", fmt::join(names, ", "))),
                           base::printable(candidate));
    }
    name = names.front();
  }
  std::vector<std::string> results;
  for (std::size_t round = 0; round < finishedRounds(evaluation, *plan); ++round) {
    results.push_back(runOf(evaluation, round, name).native());
  }
  if (results.empty()) {
    return base::failure(base::Code::kInvalid, "{}: an evaluation without a finished round",
                         nameOf(evaluation));
  }
  return results;
}

base::Result<void> checkPlaces(const EvaluationPlan& plan, const fs::path& evaluation) {
  const auto refuse = [](const PlannedCandidate& candidate, std::string_view why) {
    return base::failure(base::Code::kInvalid, "{}={}: {}", base::printable(candidate.name),
                         nameOf(candidate.directory), why);
  };
  const std::vector<std::size_t> here = plan.here();
  for (const std::size_t i : here) {
    const PlannedCandidate& candidate = plan.candidates[i];
    std::error_code ignored;
    if (!fs::is_directory(candidate.directory, ignored)) {
      return refuse(candidate,
                    "no such directory; a candidate is a directory on it, or its results");
    }
    for (const char* const name : {"manifest.json", "replay.json", kPlanName}) {
      if (!fs::exists(candidate.directory / name, ignored)) continue;
      return refuse(candidate, fmt::format("it holds {}, so it is not a directory for runs", name));
    }
    if (const auto still = checkStillThere(candidate); !still) return still;
    for (const std::size_t j : here) {
      const PlannedCandidate& other = plan.candidates[j];
      if (i == j || !liesIn(candidate.directory, other.directory)) continue;
      return refuse(candidate,
                    liesIn(other.directory, candidate.directory)
                        ? fmt::format("the same directory as {}", base::printable(other.name))
                        : fmt::format("in the directory of {}, {}", base::printable(other.name),
                                      nameOf(other.directory)));
    }
    for (const auto& [path, role] : {std::pair(plan.recording, "the recording"),
                                     std::pair(evaluation, "the directory of the evaluation")}) {
      if (liesIn(path, candidate.directory)) {
        return refuse(candidate, fmt::format("{} lies in it, {}", role, nameOf(path)));
      }
      if (liesIn(candidate.directory, path)) {
        return refuse(candidate, fmt::format("it lies in {}, {}", role, nameOf(path)));
      }
    }
  }
  return {};
}

base::Result<void> checkStillThere(const PlannedCandidate& candidate) {
  std::error_code ignored;
  const bool is_there = fs::is_directory(candidate.directory, ignored);
  const std::string mount = is_there ? base::mountOf(candidate.directory) : "";
  if (is_there && mount == candidate.mount) return {};
  return base::failure(base::Code::kInvalid, "{}={}: {}", base::printable(candidate.name),
                       nameOf(candidate.directory),
                       is_there
                           ? fmt::format("it was on the mount {}, and is on {} now",
                                         base::printable(candidate.mount), base::printable(mount))
                           : "the directory is gone");
}

std::vector<std::string> sharedMounts(const EvaluationPlan& plan) {
  std::map<std::string, std::vector<std::string>> by_mount;
  for (const std::size_t i : plan.here()) {
    const PlannedCandidate& candidate = plan.candidates[i];
    if (!candidate.mount.empty()) {
      by_mount[candidate.mount].push_back(base::printable(candidate.name));
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [mount, names] : by_mount) {
    if (names.size() < 2) continue;
    sentences.push_back(
        fmt::format("{} lie on one mount, {}", fmt::join(names, " and "), base::printable(mount)));
  }
  return sentences;
}

}  // namespace omnio::procurement
