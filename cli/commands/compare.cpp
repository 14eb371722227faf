// omnio compare: candidates for the I/O of one application, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/progress_line.hpp"
#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/plan_results.hpp"
#include "procurement/candidate_results.hpp"
#include "procurement/comparison.hpp"
#include "procurement/form.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPhaseRows = 20;

struct CompareOptions {
  std::string model;
  std::vector<std::string> candidates;
  std::vector<std::string> peaks;
  std::size_t rounds = 0;  // 0: the n-th runs have nothing in common
  std::size_t at_most = 0;
  bool all = false;
  bool json = false;
  bool csv = false;
  std::string page;
  std::string form;
};

// The command that prints all phases of the comparison.
std::string allCommand(const CompareOptions& options) {
  std::vector<std::string> words = {"omnio", "compare", options.model};
  words.insert(words.end(), options.candidates.begin(), options.candidates.end());
  for (const std::string& peak : options.peaks) words.insert(words.end(), {"--peak", peak});
  words.emplace_back("--all");
  return shellLine(words);
}

int runCompare(const CompareOptions& options) {
  const ProgressLine progress;
  const base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  if (!model) return fail(model.failure());
  std::vector<procurement::Candidate> candidates;
  for (const std::string& word : options.candidates) {
    base::Result<procurement::Candidate> candidate = procurement::candidateOf(*model, word);
    if (!candidate) return fail(candidate.failure());
    if (std::ranges::find(candidates, candidate->name, &procurement::Candidate::name) !=
        candidates.end()) {
      return fail(base::failure(base::Code::kInvalid, "\"{}\" names two candidates",
                                base::printable(candidate->name)),
                  kWrongUsage);
    }
    candidates.push_back(std::move(*candidate));
  }
  if (candidates.size() < 2) {
    return fail(
        base::failure(base::Code::kInvalid, "one candidate has nothing to be compared with"),
        kWrongUsage);
  }
  if (const auto set = procurement::setBeside(*model, candidates); !set) return fail(set.failure());
  for (const std::string& peak : options.peaks) {
    if (const auto taken = procurement::takePeak(peak, candidates); !taken) {
      return fail(taken.failure(),
                  taken.failure().code == base::Code::kInvalid ? kWrongUsage : kFailed);
    }
  }
  std::optional<procurement::Rounds> rounds;
  if (options.rounds > 0) {
    rounds = {.least = options.rounds, .most = std::max(options.rounds, options.at_most)};
  }
  const procurement::Comparison comparison =
      procurement::compare(*model, std::move(candidates), rounds);
  if (!options.page.empty()) {
    const procurement::PageAbout about = {.made = timeNow(),
                                          .version = OMNIO_VERSION,
                                          .model = options.model,
                                          .all_command = allCommand(options)};
    const base::Result<std::size_t> written = writePage(options.page, report::PageKind::kComparison,
                                                        procurement::pageDataOf(comparison, about));
    if (!written) return fail(written.failure());
  }
  if (!options.form.empty()) {
    const auto written =
        base::writeDocument(options.form, procurement::csvOf(procurement::formOf(comparison)));
    if (!written) return fail(written.failure());
  }
  if (options.json) return printJson(procurement::jsonOf(comparison));
  if (options.csv) return printAll(procurement::csvOf(comparison));
  return printAll(options.all
                      ? procurement::textOf(comparison, comparison.phases.size(), /*is_each=*/true)
                      : procurement::textOf(comparison, kPhaseRows));
}

}  // namespace

void addCompareCommand(base::Command program) {
  const auto options = std::make_shared<CompareOptions>();
  const base::Command command = program.subcommand(
      "compare", "Candidates side by side: I/O times, how sure they are, and which is fastest");
  command.option("MODEL", options->model, "A phase model (omnio phases)").required();
  command
      .option("CANDIDATE", options->candidates,
              "NAME=RESULT,RESULT...: results of omnio-phase-run, traces of the application or of "
              "replays, or the ior-plan.json of omnio ior, beside its results")
      .required();
  command
      .option(
          "--peak", options->peaks,
          "NAME=WRITE,READ: what the candidate's system can do at most, in MiB/s; or NAME=FILE, "
          "the peak.json of omnio ior --peak; may be given more than once")
      .repeatable();
  constexpr std::uint64_t kMostRounds = 1000;
  command
      .option("--rounds", options->rounds,
              "The n-th runs of all candidates are those of the n-th round: at the least so many, "
              "as of "
              "omnio evaluate")
      .between(2, kMostRounds);
  command.option("--at-most", options->at_most, "With --rounds: at the most so many")
      .between(2, kMostRounds);
  command.flag("--all", options->all, "A row for each phase, not for the longest alone");
  command.flag("--json", options->json, "Prints a JSON document instead of tables");
  command.flag("--csv", options->csv, "Prints comma-separated values instead of tables");
  command.option("--page", options->page, "Writes a page for the browser too").typeName("PAGE");
  command
      .option("--form", options->form,
              "Writes the fields that rules of procurement ask for, as comma-separated values")
      .typeName("FILE");
  command.callback([options] { return runCompare(*options); });
}

}  // namespace omnio::cli
