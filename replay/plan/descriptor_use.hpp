// What the calls of a schedule ask of the descriptors of a target's system: how many a rank has
// open at once, and which requests of files opened with O_DIRECT are of a size or at an offset that
// many file systems refuse.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"
#include "replay/plan/placement.hpp"
#include "replay/plan/plan.hpp"

namespace omnio::replay {

// Gathers while the schedule is read: one instance for a rank after the other.
class DescriptorUse {
 public:
  void beginRank();
  // As a replay makes the event, `times` times in a row (in a loop). `file` is its number, or
  // kNoFile.
  void note(const model::ScheduleEvent& event, std::uint32_t file, std::int64_t times,
            PlannedRank& rank, UnalignedRequests& unaligned);

 private:
  std::int64_t open_ = 0;
  std::set<model::Descriptor> direct_;  // opened with O_DIRECT
};

// Fails where a process of the replay would have more descriptors open at once than its limit
// allows. Threads of a rank are taken to run one after the other, and so may need more than this
// finds.
base::Result<void> checkDescriptorLimit(const Plan& plan, const Placement& placement,
                                        std::uint64_t limit);

// "12 requests of files opened with O_DIRECT ...", or nothing where all are aligned.
std::string unalignedSentence(const Plan& plan);

}  // namespace omnio::replay
