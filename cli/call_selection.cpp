#include "cli/call_selection.hpp"

#include <fmt/format.h>

#include "cli/output.hpp"
#include "core/base/printable.hpp"

namespace omnio::cli {

void CallSelection::addTo(base::Command command) {
  addTrace(command);
  addRank(command);
  addThread(command);
  command.option("--path", paths, "Only calls on files like this: `*` and `?` as in a shell")
      .typeName("PATTERN")
      .repeatable();
  command
      .option("--window", window,
              "Only calls that begin in this time, in seconds from the start of the run")
      .typeName("FROM..TO")
      .check([](const std::string& word) {
        const base::Result<stats::Window> read = stats::readWindow(word);
        return read ? std::string() : read.failure().sentence;
      });
}

stats::Selection CallSelection::chosen() const {
  stats::Selection selection{.rank = rank, .thread = thread, .patterns = paths};
  if (!window.empty()) selection.window = *stats::readWindow(window);
  return selection;
}

void sayWhatIsMissing(const std::string& trace, const tracefile::Wholeness& wholeness) {
  if (wholeness.whole) return;
  printFailure(fmt::format("{}: the trace is not whole; {}", base::printable(trace),
                           tracefile::missingSentence(wholeness)));
  for (const std::string& reason : tracefile::reasonsInBrief(wholeness)) printFailure(reason);
}

}  // namespace omnio::cli
