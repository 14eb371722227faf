#include "core/tracefile/stack_breaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

// The path of "LOAD BUILD_ID PATH".
std::string pathOf(const std::string& fact) {
  const std::size_t id = fact.find(' ');
  const std::size_t path = id == std::string::npos ? id : fact.find(' ', id + 1);
  return path == std::string::npos ? "a file that the trace does not name" : fact.substr(path + 1);
}

}  // namespace

std::string StackBreak::sentence() const {
  return fmt::format(
      "in {} call stacks go no further than {}, since {}",
      base::counted(processes, "process", "processes"),
      module.empty() ? "code that the program made while it ran" : base::printable(module),
      base::safeText(why));
}

std::vector<StackBreak> stackBreaksOf(const Trace& trace) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  const std::string_view prefix = wire::info::kStackBreakPrefix;
  for (const auto& process : trace.processes()) {
    const auto& facts = process->info.all();
    for (auto fact = facts.lower_bound(prefix);
         fact != facts.end() && std::string_view(fact->first).starts_with(prefix); ++fact) {
      const std::string number = fact->first.substr(prefix.size());
      const std::string path = number == "0"
                                   ? std::string()
                                   : pathOf(process->info.text(wire::info::kModulePrefix + number));
      ++counts[{path, fact->second}];
    }
  }
  std::vector<StackBreak> result;
  for (const auto& [what, processes] : counts) {
    result.push_back({.module = what.first, .why = what.second, .processes = processes});
  }
  std::ranges::stable_sort(result, std::ranges::greater{}, &StackBreak::processes);
  return result;
}

}  // namespace omnio::tracefile
