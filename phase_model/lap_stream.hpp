// Turns what one thread does with one file into local access patterns (LAP): each is one operation,
// or two that alternate (W R W R ..., as in the third phase of MADbench2).
//
// A LAP ends where the operation changes, or at a gap: more than a given number of events that are
// no file operations between one request and the next. So the 40 writes of BT-IO, 122 ticks apart,
// are 40 LAPs, and its 40 reads with 3 ticks between them are one; the mere presence of another MPI
// event ends nothing. A file that is opened anew begins a LAP too, unless it goes on where it
// ended: POSIX calls have no ticks, and a checkpoint that is written again is another phase.
//
// Memory is bounded: see kMaxSection and kMaxLaps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "phase_model/request_run.hpp"

namespace omnio::phases {

// Events that are no file operations between two requests of one LAP, at most.
inline constexpr std::uint64_t kUsualGap = 16;

// LAPs between two gaps: when there are more, the short ones become a random LAP per operation.
inline constexpr std::size_t kMaxSection = 16;

// LAPs of a stream: when there are more, they become a random LAP per operation.
inline constexpr std::size_t kMaxLaps = 4096;

// One operation, or two in the order of their first requests.
using Operations = std::vector<Pattern>;

class LapStream {
 public:
  explicit LapStream(std::uint64_t longest_gap) : longest_gap_(longest_gap) {}

  void add(const Access& access);

  // All LAPs by the time they began. The stream is over.
  std::vector<Operations> finish();

  // Whether there were more than kMaxLaps.
  bool overflowed() const { return overflowed_; }

 private:
  // Random patterns that LAPs became, by what has to be equal of them.
  using Remainders = std::map<std::tuple<model::Operation, Manner, bool>, std::optional<Pattern>>;

  bool isBehindGap(const Access& access) const;
  void closeBurst();
  void closeSection();
  void push(Pattern pattern);
  bool takesTurn(Pattern& pattern);
  bool beginTurns(const Pattern& pattern);
  void release();
  static void fold(std::vector<Operations>& laps, std::size_t count, std::uint64_t long_run,
                   Remainders& into);
  static void drain(Remainders& from, std::vector<Operations>& into);

  std::uint64_t longest_gap_;
  std::uint64_t others_ = 0;   // of the last access
  std::uint64_t session_ = 0;  // the newest so far
  std::optional<Burst> burst_;
  std::vector<Operations> section_;
  // The last LAP of the section is of two that alternate: its first operation had its turn again,
  // and whether the second follows is not known yet.
  std::optional<Pattern> held_;
  std::uint64_t turn_[2] = {0, 0};  // requests of a turn of each
  Remainders section_remainders_;
  std::vector<Operations> laps_;
  Remainders remainders_;
  bool overflowed_ = false;
};

// A local access pattern of the paper, with where it stands among its like.
struct Lap {
  int rank = 0;
  event::FileId file{0};
  std::uint32_t thread = 0;  // 0, 1, ... in the order in which threads came to the file
  std::uint32_t source = 0;  // Access::thread
  Operations operations;     // one, or two that alternate
};

// All local access patterns of one rank, from its accesses in the order of time.
class RankPatterns {
 public:
  RankPatterns(int rank, std::uint64_t longest_gap) : rank_(rank), longest_gap_(longest_gap) {}

  void add(const Access& access);

  int rank() const { return rank_; }
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
