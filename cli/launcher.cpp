#include "cli/launcher.hpp"

#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "core/base/threads.hpp"

namespace omnio::cli {
namespace {

// mpirun knows options that its likes do not: it is asked who it is.
bool isOpenMpi(const std::string& launcher) {
  FILE* pipe = popen((launcher + " --version 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return false;
  std::string text;
  char part[256];
  while (const std::size_t bytes = fread(part, 1, sizeof part, pipe)) text.append(part, bytes);
  pclose(pipe);
  return text.find("Open MPI") != std::string::npos || text.find("OpenRTE") != std::string::npos;
}

}  // namespace

std::vector<std::string> launcherWords(const std::string& launcher,
                                       const std::vector<std::string>& more, int processes) {
  std::vector<std::string> words;
  if (!launcher.empty()) {
    std::istringstream split(launcher);
    for (std::string word; split >> word;) words.push_back(word);
  } else {
    words = {"mpirun"};
    if (isOpenMpi("mpirun")) {
      // Recorded threads of a rank are threads here too: bound to one processor they would wait for
      // each other.
      words.insert(words.end(), {"--bind-to", "none"});
      if (processes > static_cast<int>(base::usableProcessors()))
        words.emplace_back("--oversubscribe");
      if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
    }
    words.insert(words.end(), {"-n", std::to_string(processes)});
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace omnio::cli
