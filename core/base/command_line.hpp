// The command line of a program: its commands, options, --help and --version, read by CLI11.
// CLI11's headers take longer to compile than any of our own sources, so one source includes them
// (command_line.cpp) and the programs use these handles. A handle is a pointer into the Program
// that made it, and the variables that options fill have to outlive Program::parse().
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/command_description.hpp"
#include "core/base/result.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace omnio::base {

// "10%" and "10" are 0.1. Nothing of another word, of one below 0, and of one above 1,000,000.
std::optional<double> shareOf(std::string word);

// Says why a word is refused; empty when it is taken.
using WordCheck = std::function<std::string(const std::string& word)>;

// Shared by a Program and its handles.
struct ProgramState;

class OptionHandle {
 public:
  OptionHandle(CLI::Option* option, ProgramState* state) : option_(option), state_(state) {}

  // Each returns the handle, so that calls can be chained.
  OptionHandle required(bool is_required = true) const;
  OptionHandle typeName(const std::string& name) const;
  OptionHandle check(WordCheck check) const;
  OptionHandle oneOf(std::vector<std::string> words) const;
  // Words that completion offers; another check decides which are taken.
  OptionHandle suggest(std::vector<std::string> words) const;
  // A whole number, and no other word.
  OptionHandle between(std::uint64_t minimum, std::uint64_t maximum) const;
  OptionHandle positive() const;
  OptionHandle notNegative() const;
  // See shareOf().
  OptionHandle percent() const;
  // --help names the value that the variable has before it is parsed.
  OptionHandle showDefault() const;
  OptionHandle excludes(OptionHandle other) const;
  // One word each time, and as often as one likes: all of them count, or the last one.
  OptionHandle repeatable() const;
  OptionHandle lastWins() const;
  // Left out of --help.
  OptionHandle hidden() const;

  // After parsing: how many words it was given.
  std::size_t count() const;

 private:
  CLI::Option* option_;
  ProgramState* state_;
};

class Command {
 public:
  Command(CLI::App* app, ProgramState* state) : app_(app), state_(state) {}

  // `names` is "-o,--output", "--rank", or "TRACE" for an argument without a name.
  // Values are texts, paths and numbers, optional numbers, and lists of texts or paths: the types
  // that command_line.cpp names.
  template <typename Value>
  OptionHandle option(const std::string& names, Value& value, const std::string& help) const;
  // "--verify,!--no-verify" has a way to switch it off.
  OptionHandle flag(const std::string& names, bool& value, const std::string& help) const;
  // "-v,--verbose": how often it was given, as "-v -v" or "-vv".
  OptionHandle countedFlag(const std::string& names, int& count, const std::string& help) const;
  // "--callstack" alone gives "true", and "--callstack=8" gives "8": the word behind it is not its
  // value.
  OptionHandle flagWithWord(const std::string& names, std::string& word,
                            const std::string& help) const;

  Command subcommand(const std::string& name, const std::string& help) const;
  void requireOneSubcommand() const;
  // Words after the first argument without a name belong to that argument, options too.
  void endOptionsAtFirstArgument() const;
  // Called when this command was chosen and its options are right. Returns the exit status.
  void callback(std::function<int()> work) const;
  // What --help and the manual page say of the exit status. A program has the usual ones (0 done, 1
  // failed, 2 wrong usage), and its subcommands have the same. One that has more adds them; one
  // that has others names all of them.
  void addExitStatus(const std::string& status, const std::string& meaning) const;
  void setExitStatuses(std::vector<ExitStatus> statuses) const;

 protected:
  CLI::App* app_;
  ProgramState* state_;
};

// Thrown by a callback: an option or argument that the options themselves do not require is
// missing.
[[noreturn]] void refuseMissing(const std::string& what);

// The outcome of reading the command line.
struct Parsed {
  enum class Outcome {
    kRun,     // the callback, if any, has run
    kShown,   // --help or --version was asked for: `text` is the answer
    kRefused  // wrong usage: `text` says why
  };
  Outcome outcome = Outcome::kRun;
  std::string text;
  std::string command;  // the subcommand that was chosen, if any: "stats", "schedule show"
  std::string meant;    // of kRefused: the name that is most like an unknown one; "" for none
  int exit_code = 0;    // of its callback
};

// With this word and a directory alone, a Program writes its manual pages there: the build makes
// them so. No help names it.
inline constexpr const char* kManualPagesOption = "--manual-pages";

class Program : public Command {
 public:
  Program(const std::string& help, const std::string& name);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  void setVersion(const std::string& text) const;
  // With a second name, whether that subcommand has one of its own of that name.
  bool hasSubcommand(const std::string& name, const std::string& nested = {}) const;
  bool hasNestedCommands(const std::string& name) const;
  CommandDescription description() const;
  Parsed parse(int argc, const char* const* argv) const;

 private:
  std::unique_ptr<ProgramState> shared_;
  std::unique_ptr<CLI::App> owned_;
};

// A line of a configuration file: an option and its value.
struct ConfigLine {
  std::string name;   // without "--"; the whole line where it names none
  std::string value;  // without its quotes; "true" where the line is a name alone
  std::size_t number = 0;
};

// Reads a file of lines `name = value`. A value stands as it is, blanks, commas and backslashes
// too, with or without quotes around it; a comment has a line of its own and begins with # or ;.
// Fails with the file, the line and the reason.
Result<std::vector<ConfigLine>> readConfigLines(const std::filesystem::path& path);

}  // namespace omnio::base
