#include "core/base/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/manual_page.hpp"
#include "core/base/printable.hpp"

namespace omnio::base {

struct ProgramState {
  int exit_code = 0;
  std::string version;
  std::map<const CLI::Option*, std::vector<std::string>> words;
  std::map<const CLI::App*, std::vector<ExitStatus>> statuses;
};

namespace {

// CLI11's checks of numbers let nan pass.
std::string isFinite(std::string& word) {
  return std::isfinite(std::strtod(word.c_str(), nullptr))
             ? std::string()
             : fmt::format("{} is not a number", printable(word));
}

// How many letters have to be put in, left out, changed, or changed with their neighbours, to make
// one word of the other (optimal string alignment).
std::size_t distanceOf(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before_last(other.size() + 1);
  std::vector<std::size_t> last(other.size() + 1);
  std::vector<std::size_t> now(other.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const bool is_same = one[i - 1] == other[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (is_same ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        now[j] = std::min(now[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, now);
  }
  return last[other.size()];
}

// The name that differs from the word in at most a third of its letters, and least; "" for none.
std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kMostLetters = 64;
  if (word.size() > kMostLetters) return {};
  std::string found;
  std::size_t least = word.size() / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = distanceOf(word, name);
    if (distance < least) {
      least = distance;
      found = name;
    }
  }
  return found;
}

// CLI11 keeps the options that one excludes in the order of their addresses, which differs from run
// to run. Help lists them by name.
class SortedFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string before_excluded = " " + get_label("Excludes") + ":";
    const std::size_t excluded = text.rfind(before_excluded);
    if (option->get_excludes().empty() || excluded == std::string::npos) return text;
    std::vector<std::string> names;
    for (const CLI::Option* other : option->get_excludes()) names.push_back(other->get_name());
    std::sort(names.begin(), names.end());
    text.resize(excluded + before_excluded.size());
    for (const std::string& name : names) text += " " + name;
    return text;
  }
};

// "-o" before "--output", as they were given.
std::vector<std::string> namesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

// The numbers are CLI11's names of types; all other values may name a file.
bool isNumber(const CLI::Option& option) {
  const std::string type = option.get_type_name().substr(0, option.get_type_name().find(':'));
  return type == "INT" || type == "UINT" || type == "FLOAT" || type == "NUMBER" ||
         type == "POSITIVE";
}

OptionDescription descriptionOf(const CLI::Option& option, const ProgramState& state) {
  OptionDescription description;
  description.names = namesOf(option);
  description.help = option.get_description();
  const bool has_value = option.get_type_size() != 0;
  if (option.get_positional()) {
    description.value = option.get_name(true);
  } else if (has_value) {
    // CLI11 appends what its own checks say of themselves, behind a colon.
    const std::string type = option.get_type_name();
    description.value = type.substr(0, type.find(':'));
  }
  if (has_value) description.default_value = option.get_default_str();
  description.is_required = option.get_required();
  description.is_list = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  description.is_number = has_value && isNumber(option);
  if (const auto words = state.words.find(&option); words != state.words.end()) {
    description.words = words->second;
  }
  return description;
}

// Its own, or those of the program.
std::vector<ExitStatus> statusesOf(const CLI::App& app, const ProgramState& state) {
  for (const CLI::App* above = &app; above != nullptr; above = above->get_parent()) {
    const auto statuses = state.statuses.find(above);
    if (statuses != state.statuses.end()) return statuses->second;
  }
  return {};
}

CommandDescription descriptionOf(const CLI::App& app, const ProgramState& state) {
  CommandDescription description;
  description.name = app.get_name();
  description.help = app.get_description();
  description.ends_with_command = app.get_positionals_at_end();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? description.arguments : description.options)
        .push_back(descriptionOf(*option, state));
  }
  description.exit_statuses = statusesOf(app, state);
  for (const CLI::App* command : app.get_subcommands({})) {
    description.subcommands.push_back(descriptionOf(*command, state));
  }
  return description;
}

std::vector<std::string> subcommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

const CLI::App* subcommandOf(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::vector<std::string> optionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

OptionHandle OptionHandle::required(bool is_required) const {
  option_->required(is_required);
  return *this;
}

std::optional<double> shareOf(std::string word) {
  if (word.ends_with('%')) word.pop_back();
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool is_number = error == std::errc{} && end == word.data() + word.size();
  if (!is_number || !(value >= 0) || value > 1e6) return {};
  return value / 100;
}

OptionHandle OptionHandle::typeName(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

OptionHandle OptionHandle::check(WordCheck check) const {
  option_->check(
      CLI::Validator([check = std::move(check)](std::string& word) { return check(word); }, ""));
  return *this;
}

OptionHandle OptionHandle::oneOf(std::vector<std::string> words) const {
  option_->check(CLI::IsMember(words));
  return suggest(std::move(words));
}

OptionHandle OptionHandle::suggest(std::vector<std::string> words) const {
  state_->words[option_] = std::move(words);
  return *this;
}

// CLI11's own check of a range takes fractions and prints the range of a double, and its conversion
// takes -1 for the largest number there is.
OptionHandle OptionHandle::between(std::uint64_t minimum, std::uint64_t maximum) const {
  return check([minimum, maximum](const std::string& word) {
    const auto number = wholeNumber<std::uint64_t>(word);
    return number && *number >= minimum && *number <= maximum
               ? std::string()
               : fmt::format("{} is not a whole number from {} to {}", printable(word), minimum,
                             maximum);
  });
}

OptionHandle OptionHandle::positive() const {
  option_->check(CLI::PositiveNumber)->check(CLI::Validator(isFinite, ""));
  return *this;
}

OptionHandle OptionHandle::notNegative() const {
  option_->check(CLI::NonNegativeNumber)->check(CLI::Validator(isFinite, ""));
  return *this;
}

OptionHandle OptionHandle::percent() const {
  return check([](const std::string& word) {
    return shareOf(word) ? std::string()
                         : fmt::format("{} is not a number of percent from 0 on", printable(word));
  });
}

OptionHandle OptionHandle::showDefault() const {
  option_->capture_default_str();
  return *this;
}

OptionHandle OptionHandle::excludes(OptionHandle other) const {
  option_->excludes(other.option_);
  return *this;
}

OptionHandle OptionHandle::repeatable() const {
  option_->expected(1)->take_all();
  return *this;
}

OptionHandle OptionHandle::lastWins() const {
  option_->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}

OptionHandle OptionHandle::hidden() const {
  option_->group("");
  return *this;
}

std::size_t OptionHandle::count() const { return option_->count(); }

template <typename Value>
OptionHandle Command::option(const std::string& names, Value& value,
                             const std::string& help) const {
  return {app_->add_option(names, value, help), state_};
}

using Text = const std::string&;
template OptionHandle Command::option(Text, std::string&, Text) const;
template OptionHandle Command::option(Text, std::filesystem::path&, Text) const;
template OptionHandle Command::option(Text, int&, Text) const;
template OptionHandle Command::option(Text, long&, Text) const;
template OptionHandle Command::option(Text, unsigned&, Text) const;
template OptionHandle Command::option(Text, std::uint64_t&, Text) const;
template OptionHandle Command::option(Text, double&, Text) const;
template OptionHandle Command::option(Text, std::optional<int>&, Text) const;
template OptionHandle Command::option(Text, std::optional<unsigned>&, Text) const;
template OptionHandle Command::option(Text, std::optional<std::uint64_t>&, Text) const;
template OptionHandle Command::option(Text, std::optional<double>&, Text) const;
template OptionHandle Command::option(Text, std::vector<std::string>&, Text) const;
template OptionHandle Command::option(Text, std::vector<std::filesystem::path>&, Text) const;

OptionHandle Command::flag(const std::string& names, bool& value, const std::string& help) const {
  return {app_->add_flag(names, value, help), state_};
}

OptionHandle Command::countedFlag(const std::string& names, int& count,
                                  const std::string& help) const {
  return {app_->add_flag(names, count, help), state_};
}

OptionHandle Command::flagWithWord(const std::string& names, std::string& word,
                                   const std::string& help) const {
  return {app_->add_flag(names, word, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast),
          state_};
}

Command Command::subcommand(const std::string& name, const std::string& help) const {
  return {app_->add_subcommand(name, help), state_};
}

void Command::requireOneSubcommand() const { app_->require_subcommand(1); }

void Command::endOptionsAtFirstArgument() const { app_->positionals_at_end(); }

void Command::callback(std::function<int()> work) const {
  app_->callback([work = std::move(work), to = state_] { to->exit_code = work(); });
}

void Command::addExitStatus(const std::string& status, const std::string& meaning) const {
  std::vector<ExitStatus> statuses = statusesOf(*app_, *state_);
  statuses.push_back({status, meaning});
  setExitStatuses(std::move(statuses));
}

void Command::setExitStatuses(std::vector<ExitStatus> statuses) const {
  std::string text = "Exit status:";
  for (const ExitStatus& status : statuses) {
    text += fmt::format("\n  {:<27} {}", status.status, status.meaning);
  }
  app_->footer(text);
  state_->statuses[app_] = std::move(statuses);
}

void refuseMissing(const std::string& what) { throw CLI::RequiredError(what); }

Program::Program(const std::string& help, const std::string& name)
    : Command(nullptr, nullptr),
      shared_(std::make_unique<ProgramState>()),
      owned_(std::make_unique<CLI::App>(help, name)) {
  app_ = owned_.get();
  state_ = shared_.get();
  app_->formatter(std::make_shared<SortedFormatter>());
  setExitStatuses({{"0", "the work is done"},
                   {"1", "the work failed; standard error says why"},
                   {"2", "wrong usage"}});
}

Program::~Program() = default;

void Program::setVersion(const std::string& text) const {
  app_->set_version_flag("--version", text);
  state_->version = text;
}

bool Program::hasSubcommand(const std::string& name, const std::string& nested) const {
  const CLI::App* command = subcommandOf(*app_, name);
  return command != nullptr && (nested.empty() || subcommandOf(*command, nested) != nullptr);
}

bool Program::hasNestedCommands(const std::string& name) const {
  const CLI::App* command = subcommandOf(*app_, name);
  return command != nullptr && !command->get_subcommands({}).empty();
}

CommandDescription Program::description() const { return descriptionOf(*app_, *state_); }

Parsed Program::parse(int argc, const char* const* argv) const {
  Parsed parsed;
  if (argc == 3 && std::string_view(argv[1]) == kManualPagesOption) {
    const Result<void> written = writeManualPages(description(), state_->version, argv[2]);
    parsed.outcome = written ? Parsed::Outcome::kShown : Parsed::Outcome::kRefused;
    if (!written) parsed.text = written.failure().sentence;
    return parsed;
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      std::ostringstream out;
      app_->exit(error, out, out);
      parsed.outcome = Parsed::Outcome::kShown;
      parsed.text = out.str();
      if (!parsed.text.ends_with('\n')) parsed.text += '\n';  // which CLI11 forgets behind a footer
    } else {
      parsed.outcome = Parsed::Outcome::kRefused;
      parsed.text = error.what();
    }
  }
  parsed.exit_code = state_->exit_code;
  const CLI::App* chosen = app_;
  for (auto below = chosen->get_subcommands(); !below.empty(); below = chosen->get_subcommands()) {
    chosen = below.front();
    parsed.command += (parsed.command.empty() ? "" : " ") + chosen->get_name();
  }
  if (parsed.outcome != Parsed::Outcome::kRefused) return parsed;
  if (chosen == app_) {
    if (argc > 1) parsed.meant = nearest(argv[1], subcommandsOf(*app_));
    return parsed;
  }
  const std::vector<std::string> rest = chosen->remaining();
  const std::vector<std::string> names = subcommandsOf(*chosen);
  if (!names.empty() && !rest.empty() && !rest.front().starts_with('-')) {
    parsed.text = fmt::format("unknown command `{} {}`", parsed.command, printable(rest.front()));
    const std::string meant = nearest(rest.front(), names);
    if (!meant.empty()) parsed.meant = parsed.command + ' ' + meant;
    return parsed;
  }
  for (const std::string& word : rest) {
    if (word.starts_with("--") && parsed.meant.empty()) {
      parsed.meant = nearest(word.substr(0, word.find('=')), optionsOf(*chosen));
    }
  }
  return parsed;
}

Result<std::vector<ConfigLine>> readConfigLines(const std::filesystem::path& path) {
  // No lists, and no comment behind a value: patterns have brackets, commas and # in them.
  CLI::ConfigBase reader;
  reader.arrayBounds('\1', '\1')->comment('\0');
  std::vector<ConfigLine> lines;
  std::ifstream in(path);
  std::string text;
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    CLI::detail::trim(text);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    std::istringstream line(text);
    const std::vector<CLI::ConfigItem> items = reader.from_config(line);
    // CLI11 gives more for a section, and nothing for one or two letters.
    if (items.size() != 1 || !items[0].parents.empty()) {
      lines.push_back({text, "", number});
      continue;
    }
    const std::string& value = items[0].inputs.front();
    const bool is_quoted = text.back() == '"' || text.back() == '\'';
    if (!is_quoted && (value.starts_with('[') || value.find(" #") != std::string::npos)) {
      return Failure{Code::kInvalid,
                     fmt::format("{}: line {}: {} looks like a list or has a comment behind it; a "
                                 "list has a line for each value, a comment a line of its own, and "
                                 "a value with these characters is quoted",
                                 printable(path.native()), number, printable(value))};
    }
    lines.push_back({items[0].name, value, number});
  }
  if (!in.eof()) return systemFailure(path, errno);
  return lines;
}

}  // namespace omnio::base
