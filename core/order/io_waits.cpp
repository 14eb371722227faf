#include "core/order/io_waits.hpp"

#include "core/event/io_time.hpp"
#include "core/order/matched_events.hpp"

namespace omnio::order {

class IoWaits::Collector final : public MpiPictureSink {
 public:
  explicit Collector(IoWaits& waits) : waits_(waits) {}

  void seen(std::uint64_t, const MpiEventRef&, const event::Event&) override {}
  void settled(const MatchedEvent& matched) override {
    const MpiEventRef& call = matched.event;
    waits_.states_.take(matched);
    if (!event::waitsForGroup(*call.row)) return;
    if (!matched.waited_ns) {
      ++waits_.unmatched_;
    } else if (*matched.waited_ns > 0) {
      waits_.waited_[{call.process, call.thread, call.start_ns}] = *matched.waited_ns;
    }
  }

 private:
  IoWaits& waits_;
};

IoWaits::IoWaits(const tracefile::Trace& trace) {
  const mpi::MpiGroups groups = mpiGroupsOf(trace);
  event::PathTable paths;
  Collector collector(*this);
  readMpiPicture(trace, groups, paths, collector);
}

std::int64_t IoWaits::waited(std::size_t process, std::uint32_t thread,
                             const event::Event& event) const {
  if (event.row->api != calls::Api::kMpi) return 0;
  const auto found = waited_.find({process, thread, event.start_ns});
  return found == waited_.end() ? 0 : found->second;
}

}  // namespace omnio::order
