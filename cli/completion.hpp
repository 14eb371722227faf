// Scripts by which shells complete a command line, from its description. They offer commands and
// options, the words of an option with a fixed choice, nothing for a number, a command where one is
// to be run, and else names of files.
#pragma once

#include <string>

#include "core/base/command_description.hpp"

namespace omnio::cli {

// For bash 4 or later, with or without the package bash-completion.
std::string bashCompletionOf(const base::CommandDescription& program);
std::string zshCompletionOf(const base::CommandDescription& program);
// For fish 3 or later.
std::string fishCompletionOf(const base::CommandDescription& program);

}  // namespace omnio::cli
