// All local access patterns of one rank, from its accesses in the order of time.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "phase_model/lap_stream.hpp"

namespace omnio::phases {

// A local access pattern of the paper, with where it stands among its like.
struct Lap {
  int rank = 0;
  event::FileId file{0};
  std::uint32_t thread = 0;  // 0, 1, ... in the order in which threads came to the file
  Operations operations;     // one, or two that alternate
};

class RankPatterns {
 public:
  RankPatterns(int rank, std::uint64_t longest_gap) : rank_(rank), longest_gap_(longest_gap) {}

  void add(const Access& access);

  // In no order.
  std::vector<Lap> finish();

  // Files of which a thread has more than kMaxLaps patterns.
  const std::vector<event::FileId>& overflowed() const { return overflowed_; }

 private:
  using Key = std::pair<event::FileId, std::uint32_t>;  // file, thread
  struct Stream {
    LapStream laps;
    std::uint64_t last_use;
  };

  void close(const Key& key, Stream& stream);
  void closeOldHalf();

  int rank_;
  std::uint64_t longest_gap_;
  std::uint64_t accesses_ = 0;
  std::map<Key, Stream> streams_;
  std::map<Key, std::uint32_t> thread_numbers_;
  std::map<event::FileId, std::uint32_t> threads_;  // how many came to a file
  std::vector<Lap> laps_;
  std::vector<event::FileId> overflowed_;
};

}  // namespace omnio::phases
