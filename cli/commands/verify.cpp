// omnio verify: a replay against its schedule, operation by operation.
#include "replay/verify.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/trace_selection.hpp"
#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"

namespace omnio::cli {
namespace {

struct Options {
  std::string schedule;
  TraceSelection selection;
  bool json = false;
};

std::string jsonOf(const replay::Verification& result, const Options& options) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(buffer);
  const auto put = [&json](const char* key, std::uint64_t number) {
    json.Key(key);
    json.Uint64(number);
  };
  json.StartObject();
  json.Key("format");
  json.String("omnio-verification");
  put("version", 1);
  json.Key("schedule");
  json.String(base::printable(options.schedule).c_str());
  json.Key("trace");
  json.String(base::printable(options.selection.trace).c_str());
  put("compared", result.compared);
  put("substituted", result.substituted);
  put("differences", result.differences);
  json.Key("first_differences");
  json.StartArray();
  for (const std::string& difference : result.first)
    json.String(base::safeText(difference).c_str());
  json.EndArray();
  json.EndObject();
  return buffer.GetString() + std::string("\n");
}

std::string textOf(const replay::Verification& result) {
  std::string text;
  for (const std::string& difference : result.first) text += difference + "\n";
  if (result.differences > result.first.size()) {
    text += fmt::format("and {} more\n", result.differences - result.first.size());
  }
  text += fmt::format("{} operations compared, {} differences; {} done otherwise on purpose\n",
                      result.compared, result.differences, result.substituted);
  return text;
}

int work(const Options& options) {
  const std::optional<tracefile::Trace> trace = options.selection.open();
  if (!trace) return kFailed;
  const auto identity = replay::readReplayIdentity(trace->directory());
  if (!identity) {
    printFailure(identity.failure().sentence);
    return kFailed;
  }
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  if (!wholeness.whole) {
    printFailure(fmt::format("{}: the trace is not whole: {}; {}",
                             base::printable(options.selection.trace), wholeness.reasons.front(),
                             tracefile::missingSentence(wholeness)));
  }
  const auto result = replay::verify(options.schedule, *trace, *identity);
  if (!result) {
    printFailure(result.failure().sentence);
    return kFailed;
  }
  const int printed =
      options.json ? printJson(jsonOf(*result, options)) : printAll(textOf(*result));
  if (printed != kDone) return printed;
  return result->differences > 0 ? kDifferences : kDone;
}

}  // namespace

void addVerifyCommand(base::Command program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  const base::Command command = program.subcommand(
      "verify", "Compare a replay with its schedule; exits with 3 where they differ");
  command.option("SCHEDULE", options->schedule, "The schedule that was replayed").required();
  options->selection.addTrace(command);
  command.flag("--json", options->json, "As a JSON document");
  command.callback([options, &exit_code] { exit_code = work(*options); });
}

}  // namespace omnio::cli
