// Where a thread is in the file of a slot, and where the file has room.
//
// Libraries that manage the space of a file, as HDF5 does, put what is new at the highest end of
// the file, or into a hole: a part that was left out when the file grew, or that was given free
// when what was there has moved. Metadata that is written last fills such holes in the order of
// their offsets. Holes are learnt from the writes of the thread alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/event/event.hpp"

namespace omnio::predict {

// Ranges of a file that were not written, in order; they do not touch each other. Of more than
// kMaxHoles the smallest is forgotten.
class Holes {
 public:
  static constexpr std::size_t kMaxHoles = 128;

  void add(std::int64_t begin, std::int64_t end);
  void remove(std::int64_t begin, std::int64_t end);
  void clear() { holes_.clear(); }
  bool isEmpty() const { return holes_.empty(); }
  struct Hole {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  // The first one from an offset on that has room for so many bytes; and of all that have, the
  // smallest. nullptr where none has.
  const Hole* first(std::int64_t from, std::int64_t bytes) const;
  const Hole* tightest(std::int64_t bytes) const;
  std::size_t memoryBytes() const { return holes_.capacity() * sizeof(Hole); }

 private:
  std::vector<Hole> holes_;
};

struct FilePlace {
  event::FileId file = event::kNoFile;
  std::int64_t end = 0;            // of its last transfer since the open
  std::int64_t previous_end = 0;   // of the transfer before
  std::int64_t continued_end = 0;  // of its last transfer
  std::int64_t offset = 0;         // of its last transfer
  std::int64_t bytes = 0;
  std::int64_t highest_end = 0;  // of all transfers since the file was empty
  Holes holes;                   // below that
  std::uint64_t used = 0;        // when it was used last, counted in operations

  void open(event::FileId opened, bool empties = false);
  void transfer(event::FileId used_file, std::int64_t offset, std::int64_t bytes, bool writes);
};

}  // namespace omnio::predict
