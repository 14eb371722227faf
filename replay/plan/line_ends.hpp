// Where lines end in files that are read by lines, so that the made-up content has its newlines (or
// other delimiters) there and nowhere else: a replayed fgets then takes as many bytes as the
// recorded one did.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/model/schedule.hpp"
#include "replay/plan/plan.hpp"

namespace omnio::replay {

// Gathers while the schedule is read.
class LineEnds {
 public:
  // Of a call on the file of that number: notes the end of a line that it read, and how far it
  // wrote.
  void note(const model::ScheduleEvent& event, std::uint32_t number, PlannedFile& file);
  // At the end of each rank's last event: descriptors are numbered anew.
  void moveInto(std::vector<PlannedFile>& files);

 private:
  std::vector<std::vector<std::uint64_t>> ends_;  // by file
};

// Sets the bytes of a piece of a file's content that begins at `offset`: delimiters where lines
// end, and nowhere else; no NUL, which would end a string.
void setLineEnds(const PlannedFile& file, std::uint64_t offset, std::span<char> content);

}  // namespace omnio::replay
