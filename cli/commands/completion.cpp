// omnio completion: a script that completes omnio's commands, options and words in a shell.
#include "cli/completion.hpp"

#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"

namespace omnio::cli {

void addCompletionCommand(const base::Program& program) {
  const auto shell = std::make_shared<std::string>();
  const base::Command command =
      program.subcommand("completion", "A script that completes omnio's words in a shell");
  command.option("SHELL", *shell, "The shell").oneOf({"bash", "zsh", "fish"}).required();
  command.callback([shell, &program] {
    const base::CommandDescription omnio = program.description();
    if (*shell == "zsh") return printAll(zshCompletionOf(omnio));
    if (*shell == "fish") return printAll(fishCompletionOf(omnio));
    return printAll(bashCompletionOf(omnio));
  });
}

}  // namespace omnio::cli
