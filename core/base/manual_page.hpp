// Manual pages, in the man macros of roff, from the description of a command line.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/command_description.hpp"
#include "core/base/result.hpp"

namespace omnio::base {

// Writes PROGRAM.1, and PROGRAM-SUBCOMMAND.1 of each subcommand, into a directory that is made
// where there is none. `version` is the line of --version. The pages have no date, so that the same
// source makes the same bytes.
Result<void> writeManualPages(const CommandDescription& program, const std::string& version,
                              const std::filesystem::path& directory);

// The page of a program, or of its subcommand.
std::string manualPageOf(const CommandDescription& program, const std::string& version);
std::string manualPageOf(const CommandDescription& program, const CommandDescription& subcommand,
                         const std::string& version);

// Text as roff prints it: no character in it is an instruction.
std::string roffText(const std::string& text);

}  // namespace omnio::base
