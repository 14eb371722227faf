#include "cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace omnio::cli {

namespace {

constexpr std::string_view kNote =
    "# Made by `omnio completion {}` from the definitions of its command line.\n";

bool takesValue(const base::OptionDescription& option) { return !option.value.empty(); }

// All options' names in which `choose` is true, separated by `between`.
template <typename Choose>
std::string namesOf(const base::CommandDescription& command, std::string_view between,
                    Choose choose) {
  std::vector<std::string> names;
  for (const base::OptionDescription& option : command.options) {
    if (choose(option)) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("{}", fmt::join(names, between));
}

std::string allNamesOf(const base::CommandDescription& command) {
  return namesOf(command, " ", [](const auto&) { return true; });
}

std::string commandsOf(const base::CommandDescription& program) {
  std::vector<std::string> names;
  for (const base::CommandDescription& command : program.subcommands) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// A word in single quotes, as bash and zsh read it.
std::string shellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else {
      out += letter;
    }
  }
  return out + "'";
}

std::string withBackslashes(std::string_view text, std::string_view letters) {
  std::string out;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

// The branches of a case over an option of this command, and what completes its value.
std::string bashValuesOf(const base::CommandDescription& command) {
  std::string text;
  for (const base::OptionDescription& option : command.options) {
    if (!takesValue(option)) continue;
    std::string action = "_omnio_files";
    if (option.is_number) action = "true";
    if (!option.words.empty())
      action = fmt::format("_omnio_words '{}'", fmt::join(option.words, " "));
    text += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"), action);
  }
  return text;
}

std::string bashArgumentOf(const base::CommandDescription& command) {
  if (command.arguments.empty()) return "true";
  const std::vector<std::string>& words = command.arguments.front().words;
  return words.empty() ? "_omnio_files" : fmt::format("_omnio_words '{}'", fmt::join(words, " "));
}

// The branch of a case over commands.
std::string bashBranchOf(const base::CommandDescription& command) {
  std::string text = fmt::format("    {})\n", command.name);
  if (!command.subcommands.empty()) {
    text += fmt::format(
        "      _omnio_next\n"
        "      case $next in\n"
        "    '') _omnio_words '{} {}' ;;\n",
        commandsOf(command), allNamesOf(command));
    for (const base::CommandDescription& one : command.subcommands) text += bashBranchOf(one);
    return text + "      esac ;;\n";
  }
  if (command.ends_with_command) {
    text += fmt::format(
        "      _omnio_rest '{}'\n"
        "      if [[ -n $rest ]]; then _omnio_command; return; fi\n",
        namesOf(command, " ", takesValue));
  }
  const std::string values = bashValuesOf(command);
  if (!values.empty()) {
    text += fmt::format("      case $before in\n{}      esac\n", values);
  }
  return text + fmt::format("      if [[ $word == -* ]]; then _omnio_words '{}'; else {}; fi ;;\n",
                            allNamesOf(command), bashArgumentOf(command));
}

constexpr std::string_view kBashBegin = R"bash(
_omnio_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }

_omnio_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

# A command to be run, and then its own arguments.
_omnio_command() {
  if declare -F _command_offset >/dev/null; then
    _command_offset "$rest"
  elif ((rest == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  else
    _omnio_files
  fi
}

# Where the command to be run is: behind `--`, or the first word that is neither an option nor the
# value of one. The values are those of the options $1.
_omnio_rest() {
  local i
  rest=
  for ((i = at + 1; i <= COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) ((i < COMP_CWORD)) && rest=$((i + 1)); return ;;
      =) ((++i)) ;;
      -*) [[ " $1 " == *" ${COMP_WORDS[i]} "* && ${COMP_WORDS[i + 1]} != "=" ]] && ((++i)) ;;
      *) rest=$i; return ;;
    esac
  done
}

# The next word that is not an option: the command of a command that has commands.
_omnio_next() {
  while ((++at < COMP_CWORD)); do
    if [[ ${COMP_WORDS[at]} != -* ]]; then
      next=${COMP_WORDS[at]}
      return
    fi
  done
}

_omnio() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' at rest=''
  local next=''
  COMPREPLY=()
  # bash takes --by=file apart, at the equals sign.
  if [[ $word == "=" ]]; then
    word=''
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ ${COMP_WORDS[at]} != -* ]]; then
      command=${COMP_WORDS[at]}
      break
    fi
  done
  case $command in
)bash";

std::string zshAction(const base::OptionDescription& option) {
  const std::string name = withBackslashes(option.value, ":\\");
  if (!option.words.empty()) {
    return fmt::format(":{}:({})", name, fmt::join(option.words, " "));
  }
  return option.is_number ? fmt::format(":{}: ", name) : fmt::format(":{}:_files", name);
}

// The arguments of zsh's _arguments for the options and arguments of a command, one a line.
std::string zshSpecsOf(const base::CommandDescription& command) {
  std::string text;
  for (const base::OptionDescription& option : command.options) {
    const std::string help = withBackslashes(option.help, "[]:\\");
    for (const std::string& name : option.names) {
      // "=": the value may follow behind an equals sign too.
      const bool is_long = name.starts_with("--");
      const std::string value = takesValue(option) ? (is_long ? "=" : "+") : std::string();
      const std::string others =
          option.is_list ? "*" : fmt::format("({})", fmt::join(option.names, " "));
      text += " \\\n        " +
              shellQuoted(fmt::format("{}{}{}[{}]{}", others, name, value, help,
                                      takesValue(option) ? zshAction(option) : std::string()));
    }
  }
  if (command.ends_with_command) {
    return text + " \\\n        '(-):command:_command_names -e' \\\n        '*::argument:_normal'";
  }
  for (const base::OptionDescription& argument : command.arguments) {
    text +=
        " \\\n        " +
        shellQuoted(fmt::format("{}{}", argument.is_list ? "*" : (argument.is_required ? "" : ":"),
                                zshAction(argument)));
  }
  return text;
}

// The branch of a case over commands.
std::string zshBranchOf(const base::CommandDescription& command) {
  if (command.subcommands.empty()) {
    return fmt::format("    {})\n      _arguments -S{} ;;\n", command.name, zshSpecsOf(command));
  }
  std::string text = fmt::format(
      "    {})\n      _arguments -C -S{} \\\n        '1:command:({})' \\\n"
      "        '*::argument:->nested'\n"
      "      [[ $state == nested ]] || return\n"
      "      case $words[1] in\n",
      command.name, zshSpecsOf(command), commandsOf(command));
  for (const base::CommandDescription& one : command.subcommands) text += zshBranchOf(one);
  return text + "      esac ;;\n";
}

// In single quotes, as fish reads it.
std::string fishQuoted(std::string_view text) { return "'" + withBackslashes(text, "'\\") + "'"; }

}  // namespace

std::string bashCompletionOf(const base::CommandDescription& program) {
  std::string text = fmt::format(fmt::runtime(kNote), "bash");
  text += kBashBegin;
  text +=
      fmt::format("    '') _omnio_words '{} {}' ;;\n", commandsOf(program), allNamesOf(program));
  for (const base::CommandDescription& command : program.subcommands) {
    text += bashBranchOf(command);
  }
  text += "  esac\n}\n\ncomplete -F _omnio omnio\n";
  return text;
}

std::string zshCompletionOf(const base::CommandDescription& program) {
  std::string text = "#compdef omnio\n" + fmt::format(fmt::runtime(kNote), "zsh");
  text += "\n_omnio_commands() {\n  local -a commands=(\n";
  for (const base::CommandDescription& command : program.subcommands) {
    text += "    " +
            shellQuoted(fmt::format("{}:{}", command.name, withBackslashes(command.help, ":\\"))) +
            "\n";
  }
  text +=
      "  )\n  _describe -t commands 'omnio command' commands\n}\n\n"
      "_omnio() {\n"
      "  local curcontext=$curcontext state line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C" +
      zshSpecsOf(program) +
      " \\\n        '1:command:_omnio_commands' \\\n        '*::argument:->argument'\n"
      "  [[ $state == argument ]] || return\n"
      "  case $words[1] in\n";
  for (const base::CommandDescription& command : program.subcommands) {
    text += zshBranchOf(command);
  }
  // Autoloaded, the file is the function; read by `eval`, it has to be made known.
  text +=
      "  esac\n}\n\n"
      "if [[ $funcstack[1] == _omnio ]]; then\n  _omnio \"$@\"\nelse\n  compdef _omnio omnio\nfi\n";
  return text;
}

std::string fishCompletionOf(const base::CommandDescription& program) {
  std::string text = fmt::format(fmt::runtime(kNote), "fish");
  text += R"fish(
# Whether the command is the first argument, and that command's own one the second; '': there is
# none yet.
function __omnio_is
    set -l words (commandline -opc)
    set -e words[1]
    set -l found
    for word in $words
        string match -q -- '-*' $word; or set -a found $word
    end
    test "$found[1]" = "$argv[1]"; or return
    test (count $argv) -eq 1; or test "$found[2]" = "$argv[2]"
end

# The command behind `omnio trace ... --` and its arguments.
function __omnio_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words); or set at (count $words)
    set -e words[1..$at]
    set -l token (commandline -ct)
    complete -C (string join ' ' -- (string escape -- $words) "$token")
end

complete -c omnio -f
)fish";
  const auto addOptions = [&text](const base::CommandDescription& command, std::string_view when) {
    for (const base::OptionDescription& option : command.options) {
      text += fmt::format("complete -c omnio -n '{}'", when);
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        text += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
      }
      if (!option.words.empty()) {
        text += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
      } else if (takesValue(option)) {
        text += option.is_number ? " -x" : " -r -F";
      }
      text += fmt::format(" -d {}\n", fishQuoted(option.help));
    }
  };
  // The arguments of __omnio_is, in double quotes: the condition is in single ones.
  const auto addCommands = [&](const base::CommandDescription& of, const std::string& when) {
    addOptions(of, when + " \"\"");
    for (const base::CommandDescription& command : of.subcommands) {
      text += fmt::format("complete -c omnio -n '{} \"\"' -a {} -d {}\n", when, command.name,
                          fishQuoted(command.help));
    }
  };
  const auto addArguments = [&](const base::CommandDescription& command, const std::string& when) {
    addOptions(command, when);
    if (command.ends_with_command) {
      text += fmt::format("complete -c omnio -n '{}' -a '(__omnio_command)'\n", when);
    } else if (!command.arguments.empty() && !command.arguments.front().words.empty()) {
      text += fmt::format("complete -c omnio -n '{}' -a '{}'\n", when,
                          fmt::join(command.arguments.front().words, " "));
    } else if (!command.arguments.empty()) {
      text += fmt::format("complete -c omnio -n '{}' -F\n", when);
    }
  };
  addCommands(program, "__omnio_is");
  for (const base::CommandDescription& command : program.subcommands) {
    const std::string when = "__omnio_is " + command.name;
    if (command.subcommands.empty()) {
      addArguments(command, when);
      continue;
    }
    addCommands(command, when);
    for (const base::CommandDescription& one : command.subcommands) {
      addArguments(one, when + ' ' + one.name);
    }
  }
  return text;
}

}  // namespace omnio::cli
