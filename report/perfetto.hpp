// A timeline as a file of Perfetto (ui.perfetto.dev), in its own format of track events.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/timeline.hpp"

namespace omnio::report {

// Field numbers and the rules of nesting are those of Perfetto's protos/perfetto/trace/
// trace_packet.proto and track_event/{track_event,track_descriptor,process_descriptor,
// thread_descriptor,debug_annotation}.proto, interned_data/interned_data.proto.
class PerfettoSink final : public TimelineSink {
 public:
  // `write` takes the bytes of the file, in order.
  explicit PerfettoSink(Write write);

  void process(const TimelineProcess& process) override;
  void track(const TimelineTrack& track) override;
  bool slice(const TimelineTrack& track, const event::Event& event, const Flows& flows,
             std::int64_t start_ns, std::int64_t end_ns) override;
  bool end(const TimelineTrack& track) override;

 private:
  // A slice with all that is inside of it, not yet written: calls come by their end, and the call
  // around one may follow.
  struct Pending {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::string packets;
  };
  enum class Interned { kCategory, kName, kArgument };

  std::uint64_t idOf(Interned kind, std::string_view name);
  std::uint64_t trackBeside(const TimelineTrack& track, std::int64_t start_ns, std::int64_t end_ns);
  void flush();

  void write(std::string_view bytes) { goes_on_ = write_(bytes) && goes_on_; }

  Write write_;
  bool goes_on_ = true;
  bool has_begun_ = false;
  std::unordered_map<std::string, std::uint64_t> ids_[3];
  std::vector<Pending> pending_;  // of the track that is written
  // Slices of a track nest. Calls of a thread that are under way at once, which only damage can
  // make, have more tracks: when the last call on each ended.
  std::vector<std::int64_t> more_tracks_;
};

}  // namespace omnio::report
