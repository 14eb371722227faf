// Inputs that a replay reads where the application had them (--inputs in-place). No call of the
// schedule may do more to them than read: what could change content, attributes, names or locks
// that exclude others is refused, also where it failed in the recording.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/schedule.hpp"
#include "replay/plan/plan.hpp"

namespace omnio::replay {

// Whether the call cannot change a file that it names, or whose descriptor was opened for reading
// alone.
bool onlyReads(const model::ScheduleEvent& event);

// Takes the events of a schedule, rank by rank.
class InPlaceCheck {
 public:
  using Complaint = std::optional<std::string>;

  // `file`: that the event names, or that its descriptor stands for; kNoFile where neither is
  // known.
  Complaint event(const model::ScheduleEvent& event, std::uint32_t file,
                  const std::vector<PlannedFile>& files);
  // After all events of a rank. `file_of_slot`: by descriptor, all that the rank has made.
  Complaint endRank(const std::vector<std::uint32_t>& file_of_slot,
                    const std::vector<PlannedFile>& files);

 private:
  struct Unknown {
    std::uint64_t slot = 0;
    std::string_view call;
  };
  std::vector<Unknown> unknown_;  // calls that do more, on descriptors that a later thread makes
};

}  // namespace omnio::replay
