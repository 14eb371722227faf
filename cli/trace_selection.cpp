#include "cli/trace_selection.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/failure.hpp"

namespace omnio::cli {

void TraceSelection::addTrace(CLI::App& command) {
  command.add_option("TRACE", trace, "The directory that `omnio trace -o` made")->required();
}

void TraceSelection::addRank(CLI::App& command) {
  command.add_option("--rank", rank, "Only this rank")->check(CLI::NonNegativeNumber);
}

void TraceSelection::addThread(CLI::App& command) {
  command.add_option("--thread", thread, "Only this thread of each process, counted from 0")
      ->check(CLI::NonNegativeNumber);
}

std::optional<Trace> TraceSelection::open() const {
  Result<Trace> opened = Trace::open(trace);
  if (opened) return std::move(*opened);
  printFailure(opened.failure().sentence);
  return {};
}

}  // namespace omnio::cli
