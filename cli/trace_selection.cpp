#include "cli/trace_selection.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/order/host_offsets.hpp"

namespace omnio::cli {
namespace {

// CLI11's own check would print the range of a double.
std::string notANumber(const std::string& word) {
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && number >= 0 ? std::string()
                              : fmt::format("{} is not a whole number from 0 to {}",
                                            base::printable(word), std::numeric_limits<int>::max());
}

}  // namespace

base::OptionHandle TraceSelection::addTrace(base::Command command) {
  return command.option("TRACE", trace, "The directory that `omnio trace -o` made").required();
}

void TraceSelection::addRank(base::Command command) {
  command.option("--rank", rank, "Only this rank").check(notANumber);
}

void TraceSelection::addThread(base::Command command) {
  command
      .option("--thread", thread,
              "Only this thread of each process, from 0 in order of first event")
      .check(notANumber);
}

std::optional<tracefile::Trace> TraceSelection::open() const {
  base::Result<tracefile::Trace> opened = order::openWithClocks(trace);
  if (opened) return std::move(*opened);
  printFailure(opened.failure().sentence);
  return {};
}

}  // namespace omnio::cli
