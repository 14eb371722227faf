// omnio diff: two traces side by side.
#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/page_file.hpp"
#include "cli/progress_line.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "report/difference.hpp"

namespace omnio::cli {
namespace {

struct DiffOptions {
  std::vector<std::string> traces;
  std::vector<std::string> with;
  std::string phases = "auto";
  std::string page;
  std::vector<std::string> map;
  std::string layer = "application";
  std::string tolerance;
  bool all = false;
  bool json = false;
};

int judge(const report::Difference& difference, double tolerance) {
  const std::vector<report::Excess> found = report::beyond(difference, tolerance);
  for (const report::Excess& excess : found) {
    printFailure(fmt::format("{} differ{} by {:+.1f} %: {:.0f} and {:.0f}", excess.what,
                             excess.what.starts_with("I/O") ? "s" : "", 100 * excess.relative(),
                             excess.a, excess.b));
  }
  return found.empty() ? kDone : kDifferences;
}

// The words of both sides. `A B` are two traces, and `A... --with B...` repeats of both.
base::Result<void> takeSides(const DiffOptions& options, std::vector<std::string>& a,
                             std::vector<std::string>& b) {
  a = options.traces;
  b = options.with;
  if (b.empty() && a.size() == 2) {
    b.push_back(a.back());
    a.pop_back();
  }
  if (b.empty()) {
    return base::failure(base::Code::kInvalid,
                         "{}: give two traces, A and B, or repeats of both, A... --with B...",
                         base::counted(a.size(), "trace is given", "traces are given"));
  }
  if (!options.tolerance.empty() && (a.size() == 1) != (b.size() == 1)) {
    return base::failure(base::Code::kInvalid,
                         "--tolerance: one run of a side does not say how much its runs vary; give "
                         "one trace of each side, or several of both");
  }
  return {};
}

base::Result<std::vector<tracefile::Trace>> openAll(const std::vector<std::string>& words) {
  std::vector<tracefile::Trace> traces;
  for (const std::string& word : words) {
    TraceSelection selection;
    selection.trace = word;
    base::Result<tracefile::Trace> trace = selection.open();
    if (!trace) return trace.failure();
    traces.push_back(std::move(*trace));
  }
  return traces;
}

report::Traces pointersTo(const std::vector<tracefile::Trace>& traces) {
  report::Traces pointers;
  for (const tracefile::Trace& trace : traces) pointers.push_back(&trace);
  return pointers;
}

// The command that prints all lines of the difference.
std::string allCommand(const DiffOptions& options) {
  std::vector<std::string> words = {"omnio", "diff"};
  words.insert(words.end(), options.traces.begin(), options.traces.end());
  if (!options.with.empty()) words.emplace_back("--with");
  words.insert(words.end(), options.with.begin(), options.with.end());
  for (const std::string& pair : options.map) words.insert(words.end(), {"--map", pair});
  words.insert(words.end(), {"--layer", options.layer, "--phases", options.phases, "--all"});
  return shellLine(words);
}

// A folder of --map as text, without a "/" at its end: what lies below it is joined with one.
std::string folderOf(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return base::printable(path);
}

int runDiff(const DiffOptions& options) {
  const ProgressLine progress;
  report::DifferenceOptions chosen;
  if (options.layer == "posix") chosen.layer = stats::Layer::kPosix;
  if (options.phases == "auto") chosen.phases = report::Phases::kAuto;
  if (options.phases == "yes") chosen.phases = report::Phases::kYes;
  for (const std::string& pair : options.map) {
    const std::size_t at = pair.find('=');
    if (at == std::string::npos || at == 0) {
      return fail(
          {base::Code::kInvalid, fmt::format("--map {}: has to be FROM=TO", base::printable(pair))},
          kWrongUsage);
    }
    chosen.map.emplace_back(folderOf(pair.substr(0, at)), folderOf(pair.substr(at + 1)));
  }
  std::vector<std::string> words_a;
  std::vector<std::string> words_b;
  if (const auto taken = takeSides(options, words_a, words_b); !taken) {
    return fail(taken.failure(), kWrongUsage);
  }
  const auto a = openAll(words_a);
  if (!a) return fail(a.failure());
  const auto b = openAll(words_b);
  if (!b) return fail(b.failure());
  const base::Result<report::Difference> difference =
      report::differenceOf(pointersTo(*a), pointersTo(*b), chosen);
  if (!difference) return fail(difference.failure());
  if (!options.page.empty()) {
    const report::DifferenceAbout about = {
        .made = timeNow(), .version = OMNIO_VERSION, .all_command = allCommand(options)};
    const base::Result<std::size_t> written = writePage(options.page, report::PageKind::kComparison,
                                                        report::pageDataOf(*difference, about));
    if (!written) return fail(written.failure());
  }
  constexpr std::size_t kUsualLines = 20;
  const int printed =
      options.json
          ? printJson(report::jsonOf(*difference))
          : printAll(report::textOf(
                *difference, options.all ? std::numeric_limits<std::size_t>::max() : kUsualLines));
  if (printed != kDone || options.tolerance.empty()) return printed;
  return judge(*difference, *base::shareOf(options.tolerance));
}

}  // namespace

void addDiffCommand(base::Command program) {
  const auto options = std::make_shared<DiffOptions>();
  const base::Command command = program.subcommand(
      "diff", "Two traces side by side: an application and its replay, before and after a change");
  command
      .option("TRACE", options->traces,
              "A and B, two traces; or, with --with, one or more traces of A, repeats of one run")
      .required();
  command
      .option("--with", options->with,
              "One or more traces of B, where A and B are given as repeats")
      .typeName("TRACE...");
  command
      .option("--map", options->map,
              "What lies below FROM in A lies below TO in B; may be given more than once")
      .typeName("FROM=TO")
      .repeatable();
  command
      .option("--layer", options->layer,
              "The application's own calls, or POSIX calls, those that MPI-IO makes too")
      .oneOf({"application", "posix"})
      .showDefault();
  command
      .option("--tolerance", options->tolerance,
              "Ends with status 3 where I/O time, or calls or bytes of a class, differ by more; of "
              "repeats, where they surely differ")
      .typeName("PERCENT")
      .percent();
  command
      .option("--phases", options->phases,
              "Whether I/O phases are compared; auto: of traces that are not too large")
      .oneOf({"auto", "yes", "no"})
      .showDefault();
  command.option("--page", options->page, "Writes a page for the browser too").typeName("PAGE");
  command.flag("--all", options->all, "All lines, in place of the 20 that differ most in time");
  command.flag("--json", options->json, "A JSON document instead of tables");
  command.addExitStatus(fmt::format("{}", kDifferences),
                        "the traces differ by more than --tolerance");
  command.callback([options] { return runDiff(*options); });
}

}  // namespace omnio::cli
