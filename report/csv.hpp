// The calls of a timeline as lines of comma-separated values (core/base/csv.hpp), with their names
// first.
#pragma once
#include <string>
#include <string_view>

#include "report/timeline.hpp"

namespace omnio::report {

class CsvSink final : public TimelineSink {
 public:
  explicit CsvSink(Write write);

  void process(const TimelineProcess& process) override;
  void track(const TimelineTrack& track) override;
  bool slice(const TimelineTrack& track, const event::Event& event, const Flows& flows,
             std::int64_t start_ns, std::int64_t end_ns) override;
  bool end(const TimelineTrack& track) override;

 private:
  Write write_;
  std::string process_;  // its cells
  std::string line_;
};

}  // namespace omnio::report
