#include "tests/trace/recorded.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::test {
namespace {

RecordedEvent copyOf(const event::Event& event, const tracefile::Process& process,
                     const tracefile::Log& log) {
  RecordedEvent copy;
  copy.call = event.row->name;
  copy.log = log.number;
  copy.pid = process.pid;
  copy.failed = event.failed;
  copy.result = event.new_handle != nullptr ? 0 : event.result;  // a slot says nothing to others
  copy.request = event.request;
  copy.start_ns = event.start_ns;
  copy.end_ns = event.end_ns;
  copy.recorder_ns = event.recorder_ns;
  const wire::RecordLayout& layout = wire::kRecordLayouts[event.row->number];
  copy.numbers.resize(event.row->argument_count);
  for (unsigned i = 0; i < layout.count; ++i) {
    const std::uint8_t at = layout.argument[i];
    if (layout.field[i] == wire::Field::kText) {
      copy.texts[at] = event.texts[at].absolute;
      copy.raw_texts[at] = event.texts[at].raw;
    } else if (layout.field[i] != wire::Field::kHandle) {
      copy.numbers[at] = event.arguments[at];
    }
  }
  if (event.handle != nullptr) {
    copy.handle = event.handle->path.absolute;
    copy.fd = event.handle->definition.fd;
  }
  if (event.new_handle != nullptr) copy.new_handle = event.new_handle->path.absolute;
  const char* at = event.pieces.data();
  const char* const end = at + event.pieces.size();
  while (at != nullptr && at < end) {
    std::uint64_t size = 0;
    at = wire::getVarint(at, end, size);
    if (at != nullptr) copy.pieces.push_back(size);
  }
  return copy;
}

}  // namespace

std::size_t RecordedTrace::count(const std::string& call) const {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(),
                    [&call](const RecordedEvent& event) { return event.call == call; }));
}

std::string RecordedTrace::trouble() const {
  std::string text;
  for (const std::string& reason : wholeness.reasons) text += reason + "\n";
  return text;
}

RecordedTrace readTrace(const std::filesystem::path& path) {
  const auto trace = tracefile::Trace::open(path);
  if (!trace) throw std::runtime_error(trace.failure().sentence);
  RecordedTrace result;
  result.wholeness = tracefile::assess(*trace);
  result.processes = trace->processes().size();
  for (const auto& process : trace->processes()) {
    for (const tracefile::Log& log : process->logs) {
      event::PathTable paths;
      tracefile::LogReader reader(*process, log, paths);
      while (const event::Event* event = reader.next()) {
        result.events.push_back(copyOf(*event, *process, log));
      }
      tracefile::addUndecodable(result.wholeness, reader.undecodable());
    }
  }
  return result;
}

void removeRings(const std::filesystem::path& path) {
  const auto trace = tracefile::Trace::open(path);
  if (!trace) return;
  for (const auto& process : trace->processes()) {
    for (const tracefile::RingContent& ring : process->rings) std::filesystem::remove(ring.path);
  }
}

}  // namespace omnio::test
