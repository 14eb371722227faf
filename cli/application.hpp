// The command line as a function, so that tests call what main() calls.
#pragma once

namespace omnio::cli {

// Parses the arguments, runs the subcommand, and returns the exit status.
int run(int argc, const char* const* argv);

}  // namespace omnio::cli
