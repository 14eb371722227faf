// The parts of one file that the time steps use, and where they come to lie when there are more of
// these or fewer.
#pragma once

#include <cstdint>
#include <vector>

namespace omnio::preprocess::scale {

struct FileRegion {
  std::int64_t begin = 0;
  std::int64_t end = 0;         // one past the last byte
  std::int64_t last = 0;        // where the last time step begins in it
  std::int64_t scaled_end = 0;  // with the other number of steps
};

class FileRegions {
 public:
  // The work of one call in all turns of its loop.
  void add(const FileRegion& region) { regions_.push_back(region); }
  // Once all are there. Regions that overlap are one: ranks take turns in it. One that another one
  // grows into moves on, and with fewer steps one that touches another one moves back: blocks of
  // ranks, one after the other.
  void settle();

  // How far a place moves that calls in time steps, or before them, use.
  std::int64_t shiftAt(std::int64_t place) const;
  // The same of calls after them: the place of the last step, or one behind all steps, keeps its
  // distance from the end.
  std::int64_t shiftBehind(std::int64_t place) const;

 private:
  struct Moved {
    FileRegion region;
    std::int64_t shift = 0;
    std::int64_t growth() const { return region.scaled_end - region.end; }
    // Whether what begins there has to move as its end does.
    bool pushes(std::int64_t place) const;
  };
  std::vector<FileRegion> regions_;
  std::vector<Moved> moved_;  // in order, apart from each other
};

}  // namespace omnio::preprocess::scale
