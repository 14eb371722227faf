// How many bytes the run adds to each file, at the least: what writes of known place leave in it at
// the end, beside what is prepared. A target without room for that is refused before the replay
// begins, so nothing is counted that may be gone by then, or may lie in the same blocks as what is
// counted already: a file that is removed, replaced, cut after it was written or named by a link.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "replay/plan/plan.hpp"
#include "replay/plan/written_pieces.hpp"

namespace omnio::replay {

// Gathers while the schedule is read, thread by thread. Memory is bounded: of very many pieces
// apart from each other, only the first count.
class AddedBytes {
 public:
  // A call on the file of that number; whether its descriptor appends.
  void note(const model::ScheduleEvent& event, std::uint32_t file, bool appends);
  // A length that the file is given, or emptied to; note() does so too.
  void noteLength(const model::ScheduleEvent& event, std::uint32_t file);
  // Whether it writes bytes of its own into the file.
  static bool writesData(const model::ScheduleEvent& event);
  // Such a write that has succeeded; `offset` is negative where it is not known.
  void write(std::uint32_t file, std::int64_t start_ns, std::int64_t offset, std::uint64_t bytes,
             bool appends);
  // After the whole schedule.
  void moveInto(std::vector<PlannedFile>& files, bool write_overwrite);

 private:
  struct Growth {
    WrittenPieces written;
    std::uint64_t appended = 0;
    std::int64_t first_write_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_cut_ns = std::numeric_limits<std::int64_t>::min();  // to nothing
    // Other lengths that it was given, and when that was last.
    std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
    std::int64_t last_length_ns = std::numeric_limits<std::int64_t>::min();
    bool does_not_count = false;
    std::optional<std::uint32_t> renamed_to{};
    int replaced = 0;  // by a rename, so many times
  };

  Growth& of(std::uint32_t file);
  void noteNames(const model::ScheduleEvent& event, std::uint32_t file);
  // How many pieces the file may have: others hold the rest.
  std::size_t mostPieces(const Growth& growth) const;
  void add(Growth& growth, std::uint64_t begin, std::uint64_t end);
  bool keepsItsBytes(std::uint32_t file, const std::vector<PlannedFile>& files) const;

  std::vector<Growth> growths_;       // by file
  std::size_t pieces_ = 0;            // of all files
  std::vector<std::uint32_t> moved_;  // directories that were renamed, and links, by file
};

}  // namespace omnio::replay
