// Which calls of a trace a command is about: TRACE, --rank, --thread, --path, --window; and what
// the trace lacks.
#pragma once
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "core/tracefile/completeness.hpp"
#include "statistics/selection.hpp"

namespace omnio::cli {

struct CallSelection : TraceSelection {
  std::vector<std::string> paths;
  std::string window;

  // Adds the options to a command; the selection has to outlive it.
  void addTo(base::Command command);

  stats::Selection chosen() const;
};

// On standard error: what the trace lacks, and why. Nothing where it is whole.
void sayWhatIsMissing(const std::string& trace, const tracefile::Wholeness& wholeness);

}  // namespace omnio::cli
