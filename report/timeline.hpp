// A trace as a timeline: each thread has a track, on which its calls are slices.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/event/event.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/selection.hpp"

namespace omnio::report {

struct TimelineProcess {
  std::uint64_t number = 0;  // from 1
  std::uint32_t pid = 0;     // no other process of the trace has it: made up where hosts share one
  std::uint32_t pid_on_host = 0;
  std::optional<int> rank;
  std::string host;  // printable
  std::string name;  // "rank 3 (node1)"
};

struct TimelineTrack {
  std::uint64_t number = 0;  // from 1
  std::uint64_t process = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;     // no other track has it
  std::uint32_t thread = 0;  // of the process
  std::string name;          // "thread 0"
};

// Messages between ranks, by numbers: those that begin in a call, and those that end there.
struct Flows {
  std::span<const std::uint64_t> out;
  std::span<const std::uint64_t> in;
};

// An argument or result of a call, as a number or as text.
struct Argument {
  std::string_view key;
  bool is_number = true;
  std::int64_t number = 0;
  std::string text;  // printable
};
std::vector<Argument> argumentsOf(const event::Event& event);

// Takes the bytes of a file, in order. False: it cannot take more.
using Write = std::function<bool(std::string_view)>;

class TimelineSink {
 public:
  TimelineSink() = default;
  TimelineSink(const TimelineSink&) = delete;
  TimelineSink& operator=(const TimelineSink&) = delete;
  virtual ~TimelineSink() = default;

  // The process comes before its tracks, and a track before its slices.
  virtual void process(const TimelineProcess& process) = 0;
  virtual void track(const TimelineTrack& track) = 0;
  // The calls of a track, by the time they ended: those that were made inside of a call come before
  // it. Times are from the start of the run. False to stop.
  virtual bool slice(const TimelineTrack& track, const event::Event& event, const Flows& flows,
                     std::int64_t start_ns, std::int64_t end_ns) = 0;
  // Nothing more comes on that track. False to stop.
  virtual bool end(const TimelineTrack& track) = 0;
};

// How much was shown, and what could not be.
struct TimelineEnd {
  std::uint64_t tracks = 0;
  std::uint64_t slices = 0;
  std::uint64_t flows = 0;
  bool has_all_flows = true;  // false: there were more than kMostFlows
  std::uint64_t undecodable = 0;
};
inline constexpr std::uint64_t kMostFlows = 5'000'000;

// Reads the selected calls, thread by thread. Memory is for the messages alone, and without
// `with_flows` one chunk of a log. Fails where the rank or thread does not exist.
base::Result<TimelineEnd> readTimeline(const tracefile::Trace& trace,
                                       const stats::Selection& selection, bool with_flows,
                                       TimelineSink& sink);

}  // namespace omnio::report
