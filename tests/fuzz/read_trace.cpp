#include "tests/fuzz/read_trace.hpp"

#include <memory>
#include <string>

#include "core/event/event_text.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/report.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace omnio::fuzz {
namespace {

std::uint64_t readLogs(const tracefile::Trace& trace, std::uint64_t& undecodable) {
  event::PathTable paths;
  std::string text;
  std::uint64_t events = 0;
  for (const auto& process : trace.processes()) {
    for (const tracefile::Log& log : process->logs) {
      const auto reader =
          std::make_unique<tracefile::LogReader>(*process, log, paths, tracefile::Stacks::kRead);
      while (const event::Event* event = reader->next()) {
        ++events;
        text.clear();
        event::appendText(text, *event);
        require(text.find('\n') == text.size() - 1);
      }
      undecodable += reader->undecodable();
    }
  }
  return events;
}

std::uint64_t mergeLogs(const tracefile::Trace& trace) {
  event::PathTable paths;
  tracefile::MergedReader merged;
  for (const auto& process : trace.processes()) {
    for (const tracefile::Log& log : process->logs) {
      merged.addLog<tracefile::LogReader>(*process, log, paths);
    }
  }
  std::uint64_t events = 0;
  while (merged.next() != nullptr) ++events;
  const double computing = merged.thinkTime().computing().value_or(0);
  require(computing >= 0 && computing <= 1);
  return events;
}

std::uint64_t readPosix(const tracefile::Trace& trace) {
  event::PathTable paths;
  std::uint64_t events = 0;
  for (const auto& process : trace.processes()) {
    for (const tracefile::Log& log : process->logs) {
      const auto reader = std::make_unique<tracefile::IoReader>(*process, log, paths);
      while (reader->next() != nullptr) ++events;
      events += reader->leftOut();
    }
  }
  return events;
}

}  // namespace

std::uint64_t readTrace(const std::filesystem::path& directory) {
  const base::Result<tracefile::Trace> trace = tracefile::Trace::open(directory);
  if (!trace) {
    require(!trace.failure().sentence.empty());
    return 0;
  }
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  require(!tracefile::missingSentence(wholeness).empty());
  std::uint64_t undecodable = 0;
  const std::uint64_t events = readLogs(*trace, undecodable);
  require(events + undecodable >= wholeness.events);
  require(mergeLogs(*trace) == events);
  require(readPosix(*trace) <= events);
  const auto report = stats::makeReport(*trace, stats::By::kFile);
  require(report.ok());
  require(!stats::textOf(*report).empty() && !stats::jsonOf(*report).empty());
  return events;
}

}  // namespace omnio::fuzz
