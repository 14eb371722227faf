#include "report/csv.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "core/base/csv.hpp"
#include "core/calls/words/names.hpp"

namespace omnio::report {

CsvSink::CsvSink(Write write) : write_(std::move(write)) {
  base::appendCsvLine(line_, {"rank", "host", "pid", "thread", "start_ns", "end_ns", "call",
                              "class", "depth", "bytes", "failed", "arguments"});
  write_(line_);
}

void CsvSink::process(const TimelineProcess& process) {
  process_ = fmt::format("{},{},{}", process.rank ? fmt::format("{}", *process.rank) : "",
                         base::csvCell(process.host), process.pid_on_host);
}

void CsvSink::track(const TimelineTrack& /*track*/) {}

bool CsvSink::slice(const TimelineTrack& track, const event::Event& event, const Flows& /*flows*/,
                    std::int64_t start_ns, std::int64_t end_ns) {
  std::string arguments;
  for (const Argument& each : argumentsOf(event)) {
    if (!arguments.empty()) arguments += ' ';
    fmt::format_to(std::back_inserter(arguments), "{}=", each.key);
    if (each.is_number) {
      fmt::format_to(std::back_inserter(arguments), "{}", each.number);
    } else {
      arguments += each.text;
    }
  }
  line_.clear();
  fmt::format_to(
      std::back_inserter(line_), "{},{},{},{},{},{},{},{},{},{}{}", process_, track.thread,
      start_ns, end_ns, event.row->name, calls::className(event.row->call_class), event.depth,
      event::countsBytes(*event.row) ? event.bytes : 0, event.failed && !event.endOfFile() ? 1 : 0,
      base::csvCell(arguments), base::kCsvLineEnd);
  return write_(line_);
}

bool CsvSink::end(const TimelineTrack& /*track*/) { return true; }

}  // namespace omnio::report
