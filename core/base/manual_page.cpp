#include "core/base/manual_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <system_error>
#include <vector>

#include "core/base/document_file.hpp"

namespace omnio::base {

namespace {

std::string upperCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

// "-o, --output DIR", with names in bold and the value in italics.
std::string headOf(const OptionDescription& option) {
  std::string value;
  if (!option.value.empty()) {
    value = option.words.empty() ? fmt::format("\\fI{}\\fR", roffText(option.value))
                                 : roffText(fmt::format("{}", fmt::join(option.words, "|")));
  }
  if (option.names.empty()) return value;
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\\fB{}\\fR", roffText(name)));
  }
  return fmt::format("{}{}{}", fmt::join(names, ", "), value.empty() ? "" : " ", value);
}

std::string synopsisOf(const std::string& name, const CommandDescription& command) {
  std::string line = fmt::format("\\fB{}\\fR", roffText(name));
  for (const OptionDescription& option : command.options) {
    if (!option.is_required) continue;
    line += fmt::format(" \\fB{}\\fR \\fI{}\\fR", roffText(option.names.front()),
                        roffText(option.value));
  }
  line += " [\\fIOPTIONS\\fR]";
  if (!command.subcommands.empty()) line += " \\fICOMMAND\\fR";
  for (const OptionDescription& argument : command.arguments) {
    const std::string value =
        fmt::format("\\fI{}\\fR{}", roffText(argument.value), argument.is_list ? "..." : "");
    line += argument.is_required ? ' ' + value : " [" + value + ']';
  }
  return line + '\n';
}

std::string itemOf(const OptionDescription& option) {
  std::string text = roffText(option.help);
  if (!option.default_value.empty()) {
    text += fmt::format(" (default: {})", roffText(option.default_value));
  }
  if (!text.empty()) text += '.';
  return fmt::format(".TP\n{}\n{}\n", headOf(option), text);
}

std::string itemsOf(const char* title, const std::vector<OptionDescription>& options) {
  if (options.empty()) return {};
  std::string text = fmt::format(".SH {}\n", title);
  for (const OptionDescription& option : options) text += itemOf(option);
  return text;
}

// `also` are the names of the pages that this one points to.
std::string pageOf(const std::string& title, const std::string& call,
                   const CommandDescription& command, const std::string& version,
                   std::vector<std::string> also) {
  std::string page = fmt::format(
      ".\\\" Made from the definitions of the command line when the program was built.\n"
      ".TH {} 1 \"\" \"{}\" \"User Commands\"\n"
      ".ad l\n",  // without blanks between words that make lines equally long
      upperCase(title), roffText(version));
  page += fmt::format(".SH NAME\n{} \\- {}\n", roffText(title), roffText(command.help));
  page += ".SH SYNOPSIS\n" + synopsisOf(call, command);
  page += fmt::format(".SH DESCRIPTION\n{}{}\n", roffText(command.help),
                      command.help.ends_with('.') ? "" : ".");
  page += itemsOf("ARGUMENTS", command.arguments);
  page += itemsOf("OPTIONS", command.options);
  if (!command.subcommands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CommandDescription& one : command.subcommands) {
      page += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", roffText(one.name), roffText(one.help));
    }
  }
  // The commands of the program have pages of their own; those of a command are on its page.
  if (call != title) {
    for (const CommandDescription& one : command.subcommands) {
      page += fmt::format(".SH {}\n", roffText(upperCase(call + ' ' + one.name)));
      page += synopsisOf(call + ' ' + one.name, one);
      for (const auto* options : {&one.arguments, &one.options}) {
        for (const OptionDescription& option : *options) page += itemOf(option);
      }
    }
  }
  if (!command.exit_statuses.empty()) {
    page += ".SH EXIT STATUS\n";
    for (const ExitStatus& status : command.exit_statuses) {
      page += fmt::format(".TP\n{}\n{}.\n", roffText(status.status), roffText(status.meaning));
    }
  }
  if (!also.empty()) {
    for (std::string& name : also) name = fmt::format("\\fB{}\\fR(1)", roffText(name));
    page += fmt::format(".SH SEE ALSO\n{}\n", fmt::join(also, ",\n"));
  }
  return page;
}

}  // namespace

std::string roffText(const std::string& text) {
  std::string out;
  // A dot or an apostrophe is a request where a line begins with it.
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char letter : text) {
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";  // else a hyphen, which cannot be copied into a shell
    } else if (letter == '\'') {
      out += "\\(aq";
    } else if (letter == '`') {
      out += "\\(ga";
    } else if (letter == '^') {
      out += "\\(ha";
    } else if (letter == '~') {
      out += "\\(ti";
    } else if (letter == '"') {
      out += "\\(dq";
    } else {
      out += letter == '\n' ? ' ' : letter;
    }
  }
  return out;
}

std::string manualPageOf(const CommandDescription& program, const std::string& version) {
  std::vector<std::string> also;
  for (const CommandDescription& one : program.subcommands) {
    also.push_back(program.name + '-' + one.name);
  }
  return pageOf(program.name, program.name, program, version, also);
}

std::string manualPageOf(const CommandDescription& program, const CommandDescription& subcommand,
                         const std::string& version) {
  return pageOf(program.name + '-' + subcommand.name, program.name + ' ' + subcommand.name,
                subcommand, version, {program.name});
}

Result<void> writeManualPages(const CommandDescription& program, const std::string& version,
                              const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return systemFailure(directory, error.value(), "cannot create");
  auto written = writeDocument(directory / (program.name + ".1"), manualPageOf(program, version));
  for (const CommandDescription& one : program.subcommands) {
    if (!written) break;
    written = writeDocument(directory / fmt::format("{}-{}.1", program.name, one.name),
                            manualPageOf(program, one, version));
  }
  return written;
}

}  // namespace omnio::base
