// omnio verify: a replay against its schedule, operation by operation.
#include "replay/verify.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "replay/launch.hpp"

namespace omnio::cli {
namespace {

struct VerifyOptions {
  std::string schedule;
  TraceSelection selection;
  bool json = false;
  bool partial = false;
};

std::uint64_t sumOf(const std::map<std::string_view, std::uint64_t>& by_call) {
  std::uint64_t sum = 0;
  for (const auto& [call, times] : by_call) sum += times;
  return sum;
}

std::string jsonOf(const replay::Verification& result, bool is_whole,
                   const VerifyOptions& options) {
  return base::jsonDocument("omnio-verification", 1, {.indent = 4}, [&](auto& json) {
    json.put("schedule", base::printable(options.schedule));
    json.put("trace", base::printable(options.selection.trace));
    json.put("whole", is_whole);
    json.put("compared", result.compared);
    json.put("substituted", sumOf(result.substituted));
    json.object("substituted_calls", [&] {
      for (const auto& [call, times] : result.substituted) json.put(call, times);
    });
    json.put("differences", result.differences);
    json.list("first_differences", result.first,
              [&json](const std::string& difference) { json.value(base::safeText(difference)); });
  });
}

std::string textOf(const replay::Verification& result) {
  std::string text;
  for (const std::string& difference : result.first) text += difference + "\n";
  if (result.differences > result.first.size()) {
    text += fmt::format("and {} more\n", result.differences - result.first.size());
  }
  text += fmt::format("{} operations compared, {} differences; {} done otherwise on purpose",
                      result.compared, result.differences, sumOf(result.substituted));
  char before = ':';
  for (const auto& [call, times] : result.substituted) {
    text += fmt::format("{} {} {}", std::exchange(before, ','), times, call);
  }
  text += "\n";
  return text;
}

int runVerify(const VerifyOptions& options) {
  const ProgressLine progress;
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  const auto identity = replay::readReplayIdentity(trace->directory());
  if (!identity) return fail(identity.failure());
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  if (!wholeness.whole && !options.partial) {
    printFailure(fmt::format("{}: the trace is not whole: {}; {}",
                             base::printable(options.selection.trace), wholeness.reasons.front(),
                             tracefile::missingSentence(wholeness)));
  }
  const auto result = replay::verify(options.schedule, *trace, *identity);
  if (!result) return fail(result.failure());
  if (!result->source.source_whole && !options.partial) {
    printFailure(replay::lackSentence(options.schedule, result->source));
  }
  const bool is_whole = wholeness.whole && result->source.source_whole;
  const int printed =
      options.json ? printJson(jsonOf(*result, is_whole, options)) : printAll(textOf(*result));
  if (printed != kDone) return printed;
  return result->differences > 0 || (!is_whole && !options.partial) ? kDifferences : kDone;
}

}  // namespace

void addVerifyCommand(base::Command program) {
  const auto options = std::make_shared<VerifyOptions>();
  const base::Command command = program.subcommand(
      "verify", "Compare a replay with its schedule; exits with 3 where they differ, or lack data");
  command.option("SCHEDULE", options->schedule, "The schedule that was replayed").required();
  options->selection.addTrace(command);
  command.flag("--json", options->json, "As a JSON document");
  command.flag("--partial", options->partial,
               "Takes a schedule or a trace that lacks data as it is; else the status is 3");
  command.addExitStatus(fmt::format("{}", kDifferences),
                        "done, with differences or with data that is missing");
  command.callback([options] { return runVerify(*options); });
}

}  // namespace omnio::cli
