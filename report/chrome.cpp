#include "report/chrome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/calls/words/names.hpp"

namespace omnio::report {
namespace {

constexpr double kNsPerUs = 1e3;  // times are in us there

}  // namespace

ChromeSink::ChromeSink(Write write) : write_(std::move(write)) {
  write_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

template <typename Body>
void ChromeSink::put(Body body) {
  text_ = std::exchange(has_any_, true) ? ",\n" : "\n";
  json_.object(body);
  goes_on_ = write_(text_) && goes_on_;
  text_.clear();
}

void ChromeSink::putName(std::string_view what, std::uint32_t pid, std::uint32_t tid,
                         const std::string& name) {
  put([&] {
    json_.put("ph", "M");
    json_.put("name", what);
    json_.put("pid", pid);
    json_.put("tid", tid);
    json_.object("args", [&] { json_.put("name", name); });
  });
}

void ChromeSink::process(const TimelineProcess& process) {
  putName("process_name", process.pid, 0, process.name);
}

void ChromeSink::track(const TimelineTrack& track) {
  putName("thread_name", track.pid, track.tid, track.name);
}

bool ChromeSink::slice(const TimelineTrack& track, const event::Event& event, const Flows& flows,
                       std::int64_t start_ns, std::int64_t end_ns) {
  if (++slices_ > kMostChromeSlices) return false;
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / kNsPerUs; };
  const auto place = [&](std::string_view phase, std::string_view category, double at_us) {
    json_.put("ph", phase);
    json_.put("cat", category);
    json_.put("pid", track.pid);
    json_.put("tid", track.tid);
    json_.put("ts", at_us);
  };
  put([&] {
    place("X", calls::className(event.row->call_class), us(start_ns));
    json_.put("dur", us(end_ns - start_ns));
    json_.put("name", event.row->name);
    json_.object("args", [&] {
      for (const Argument& each : argumentsOf(event)) {
        if (each.is_number) {
          json_.put(each.key, each.number);
        } else {
          json_.put(each.key, each.text);
        }
      }
    });
  });
  const auto message = [&](std::string_view phase, std::uint64_t flow, std::int64_t at_ns) {
    put([&] {
      place(phase, "message", us(at_ns));
      json_.put("name", "message");
      json_.put("id", flow);
      if (phase == "f") json_.put("bp", "e");  // it ends in the slice that is there
    });
  };
  for (const std::uint64_t flow : flows.out) message("s", flow, start_ns);
  // Inside of the call, and not before the message was sent.
  for (const std::uint64_t flow : flows.in) message("f", flow, std::max(start_ns, end_ns - 1));
  return goes_on_;
}

bool ChromeSink::end(const TimelineTrack& /*track*/) { return goes_on_; }

bool ChromeSink::finish() {
  write_("\n]}\n");
  return slices_ <= kMostChromeSlices;
}

}  // namespace omnio::report
