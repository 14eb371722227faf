// A command line as data, for documents that are made from it: manual pages and completion.
// Program::description() (command_line.hpp) makes it of the same definitions as --help.
#pragma once

#include <string>
#include <vector>

namespace omnio::base {

struct ExitStatus {
  std::string status;  // "0", or "125, 126, 127"
  std::string meaning;
};

struct OptionDescription {
  std::vector<std::string> names;  // "-o", "--output"; none of an argument without a name
  std::string help;
  std::string value;  // how --help names the value, or the argument; empty: a flag
  std::string default_value;
  std::vector<std::string> words;  // those to choose from; empty: any
  bool is_required = false;
  bool is_list = false;    // takes more than one
  bool is_number = false;  // else a text, which may be the name of a file
};

struct CommandDescription {
  std::string name;
  std::string help;
  std::vector<OptionDescription> options;
  std::vector<OptionDescription> arguments;
  bool ends_with_command = false;  // its arguments are another command, and the arguments of that
  std::vector<ExitStatus> exit_statuses;
  std::vector<CommandDescription> subcommands;
};

}  // namespace omnio::base
