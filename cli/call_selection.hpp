// Which calls of a trace a command is about: TRACE, --rank, --thread, --path, --window.
#pragma once
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "statistics/selection.hpp"

namespace omnio::cli {

struct CallSelection : TraceSelection {
  std::vector<std::string> paths;
  std::string window;

  // Adds the options to a command; the selection has to outlive it.
  void addTo(base::Command command);

  stats::Selection chosen() const;
};

}  // namespace omnio::cli
