// A timeline in the JSON of Chrome's trace viewer (the "Trace Event Format" document of the
// Chromium project), which many tools read. They keep all of it in memory: for small traces.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json_writer.hpp"
#include "report/timeline.hpp"

namespace omnio::report {

inline constexpr std::uint64_t kMostChromeSlices = 1'000'000;

class ChromeSink final : public TimelineSink {
 public:
  explicit ChromeSink(Write write);

  void process(const TimelineProcess& process) override;
  void track(const TimelineTrack& track) override;
  bool slice(const TimelineTrack& track, const event::Event& event, const Flows& flows,
             std::int64_t start_ns, std::int64_t end_ns) override;
  bool end(const TimelineTrack& track) override;

  // Writes the rest. False where there were more slices than such a file may have.
  bool finish();

 private:
  template <typename Body>
  void put(Body body);
  void putName(std::string_view what, std::uint32_t pid, std::uint32_t tid,
               const std::string& name);

  Write write_;
  bool goes_on_ = true;
  std::string text_;
  base::JsonWriter json_{text_};
  std::uint64_t slices_ = 0;
  bool has_any_ = false;
};

}  // namespace omnio::report
