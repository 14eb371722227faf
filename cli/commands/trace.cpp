// omnio trace: runs a command with the tracer preloaded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/trace/recording.hpp"
#include "cli/trace/setting_values.hpp"
#include "core/wire/path_pattern.hpp"
#include "core/wire/settings.hpp"

namespace omnio::cli {
namespace {

// A setting as it may stand on the command line.
struct GivenOption {
  std::optional<base::OptionHandle> option;
  std::vector<std::string> words;
  bool is_on = false;  // of a switch
  std::string word;    // of one that may have a value
};

struct Request {
  std::array<GivenOption, std::size(wire::kSettings)> given;
  std::string config;
  bool no_config = false;
  bool dump_config = false;
  bool list_filters = false;
  int verbosity = 0;  // of -v and -vv
  bool prefetch = false;
  std::vector<std::string> command;
  SettingValues values;  // in force
};

// Brings the values together, the lowest first. Returns the exit status when one is refused.
std::optional<int> settle(Request& request) {
  SettingValues& values = request.values;
  if (const auto path = request.no_config ? std::nullopt : findConfig(request.config)) {
    const auto taken = values.takeFile(*path);
    if (!taken) return fail(taken.failure(), kWrongUsage);
  }
  const auto taken = values.takeEnvironment();
  if (!taken) return fail(taken.failure(), kOwnTrouble);
  for (const wire::Setting& setting : wire::kSettings) {
    GivenOption& given = request.given[static_cast<std::size_t>(setting.id)];
    if (given.option->count() == 0) continue;
    if (setting.type == wire::SettingType::kSwitch) given.words = {given.is_on ? "yes" : "no"};
    if (setting.type == wire::SettingType::kFrames) given.words = {given.word};
    values.take(setting.id, given.words, setting.option);
  }
  return std::nullopt;
}

int listFilters() {
  std::string text(wire::kDefaultExclude);
  std::replace(text.begin(), text.end(), ':', '\n');
  return printAll(text + '\n');
}

int runTrace(Request& request) {
  if (request.list_filters) return listFilters();
  if (const std::optional<int> refused = settle(request)) return *refused;
  if (request.dump_config) return printAll(request.values.fileText());
  return record({.command = request.command,
                 .values = request.values,
                 .verbosity = request.verbosity,
                 .prefetch = request.prefetch ? std::optional<PrefetchRequest>(std::in_place)
                                              : std::nullopt});
}

// How --help names the value of a setting.
constexpr base::Word<wire::SettingType> kPlaceholders[] = {
    {wire::SettingType::kPath, "DIR"},
    {wire::SettingType::kPatterns, "GLOB"},
    {wire::SettingType::kFlavour, "auto|serial|openmp|mpi|hybrid"},
    {wire::SettingType::kSignal, "SIGNAL"},
    {wire::SettingType::kSize, "SIZE"},
    {wire::SettingType::kWhenSlow, "wait|drop"},
    {wire::SettingType::kModules, "NAMES"}};

// The words that a placeholder names.
std::vector<std::string> wordsOf(wire::SettingType type) {
  std::istringstream split{std::string(base::wordOf(kPlaceholders, type))};
  std::vector<std::string> words;
  for (std::string word; std::getline(split, word, '|');) words.push_back(word);
  return words;
}

void addSetting(base::Command command, const wire::Setting& setting, GivenOption& given) {
  const std::string name = setting.option;  // "--exclude"
  if (setting.type == wire::SettingType::kSwitch) {
    given.option =
        command.flag(fmt::format("{},!--no-{}", name, name.substr(2)), given.is_on, setting.help);
    return;
  }
  if (setting.type == wire::SettingType::kFrames) {
    given.option =
        command.flagWithWord(name, given.word, setting.help)
            .check([&setting](const std::string& word) { return complaintAbout(setting, word); });
    return;
  }
  const bool is_output = setting.id == wire::SettingId::kOutput;
  given.option =
      command.option(is_output ? "-o," + name : name, given.words, setting.help)
          .typeName(std::string(base::wordOf(kPlaceholders, setting.type)))
          .check([&setting](const std::string& word) { return complaintAbout(setting, word); });
  const std::vector<std::string> words = wordsOf(setting.type);
  if (words.size() > 1) given.option->suggest(words);
  if (setting.type == wire::SettingType::kPatterns) {
    given.option->repeatable();
  } else {
    given.option->lastWins();
  }
}

}  // namespace

void addTraceCommand(base::Command program) {
  const auto request = std::make_shared<Request>();
  const base::Command command = program.subcommand(
      "trace", "Run COMMAND and record its I/O; exits with the status of COMMAND");
  for (const wire::Setting& setting : wire::kSettings) {
    addSetting(command, setting, request->given[static_cast<std::size_t>(setting.id)]);
  }
  const base::OptionHandle config =
      command
          .option("--config", request->config,
                  "Configuration file (default: omnio/config.ini in the usual folders)")
          .typeName("FILE");
  command.flag("--no-config", request->no_config, "Read no configuration file").excludes(config);
  command.flag("--dump-config", request->dump_config,
               "Print the settings in force as a configuration file, and do nothing else");
  command.flag("--list-filters", request->list_filters,
               "Print the patterns of what is left out by default, and do nothing else");
  command.flag("--prefetch", request->prefetch,
               "Fetch what the command will read next, as `omnio prefetch` does");
  command.countedFlag("-v,--verbose", request->verbosity,
                      "Say on standard error what it does; -vv: all of it");
  command.option("COMMAND", request->command, "The command and its arguments, after --");
  command.endOptionsAtFirstArgument();
  command.setExitStatuses({{"0 to 255", "the status of COMMAND; 128+N when signal N ended it"},
                           {"2", "wrong usage"},
                           {fmt::format("{}", kOwnTrouble), "COMMAND could not be traced"},
                           {"126, 127", "COMMAND could not be run, or was not found"}});
  command.callback([request] {
    if (request->command.empty() && !request->list_filters && !request->dump_config) {
      base::refuseMissing("a COMMAND to run");
    }
    return runTrace(*request);
  });
}

}  // namespace omnio::cli
