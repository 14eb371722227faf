#include "cli/trace/untraceable.hpp"

#include <stdlib.h>
#include <unistd.h>

#include "core/wire/program_file.hpp"

namespace omnio::cli {
namespace {

std::string inPath(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* variable = getenv("PATH");
  std::string rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string candidate = rest.substr(0, end) + "/" + command;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return command;
}

}  // namespace

CommandCheck checkCommand(const std::string& command) {
  CommandCheck result{.program = inPath(command), .check = {}};
  result.check = tracefile::checkProgram(result.program);
  return result;
}

void prepareEnvironmentFor(const CommandCheck& command) {
  if (!command.check.wants_asan) return;
  const char* before = getenv(wire::kAsanVariable);
  std::string options = before == nullptr ? "" : before;
  if (options.find("verify_asan_link_order") != std::string::npos) return;
  if (!options.empty()) options += ':';
  options += wire::kAsanOption;
  setenv(wire::kAsanVariable, options.c_str(), 1);
}

}  // namespace omnio::cli
