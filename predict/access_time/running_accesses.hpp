// Accesses that are under way at once, and when each of them ends.
//
// The number of all accesses that are under way decides how fast each comes on: with n at once, an
// access that takes t(n) does 1/t(n) of itself in a second. Accesses with the same number in the
// list come on alike: they end in the order of their begins, each when its number has done one
// whole access more than at its begin (virtual time, as in fair queueing: A. Demers, S. Keshav,
// S. Shenker, SIGCOMM 1989). While n stays about the same, so do the ends of the first access of
// each number, and an event costs a step in a heap of them.
//
// Accesses by turns stand in a queue, all in the same one. Of q in it, the first takes t(n)/q, and
// the others wait: if all come again as soon as they have ended, each takes t(n), as it was
// measured, and where all begin at once, the first is done long before the last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "predict/access_time/access.hpp"

namespace omnio::access_time {

class RunningAccesses {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // Both arguments outlive this. Each of so many threads has at most one access under way.
  RunningAccesses(const std::vector<Access>& accesses, const SecondsOf& seconds_of,
                  std::size_t threads);

  double now() const { return now_s_; }
  // Time goes on: not back, and not past nextEnd().
  void moveTo(double time_s);

  void begin(std::size_t thread, std::uint32_t access);

  // The end of the first one to end, if nothing else begins before; kNever: none is under way.
  double nextEnd() const { return std::min(firstEnd(), turn_.endsAt()); }

  struct Ended {
    std::size_t thread = 0;
    double seconds = 0;
    double at_once = 1;  // with this one, the mean over its time
  };
  // Ends it, now. There is one.
  Ended endFirst();

 private:
  // n is exact below 128. From there on it is about the nearest one of 64 numbers in each doubling:
  // of thousands of accesses, each that begins or ends would change how long all others take, and
  // each of their numbers would need thousands of times.
  static constexpr std::size_t kInDoubling = 64;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // The use of an access by a thread.
  struct Use {
    double ends_at = 0;  // in what its number has done
    double began_s = 0;
    double at_once_s = 0;  // at its begin
    std::size_t next = 0;  // the thread that began the same access after it
  };
  // A number of the list that is under way.
  struct Kind {
    std::uint32_t access = kNone;  // none: it is free for another
    double done = 0;               // accesses, at `since_s`
    double since_s = 0;
    double takes_s = 0;               // since then
    std::size_t first = 0, last = 0;  // threads
  };
  using End = std::pair<double, std::uint32_t>;  // when, and the kind

  // The one whose turn it is.
  struct Turn {
    double left = 0;  // of it, at `since_s`
    double since_s = kNever;
    double takes_s = 0;  // the whole of it
    double endsAt() const { return since_s + left * takes_s; }
  };

  double firstEnd() const { return ends_.empty() ? kNever : ends_.front().first; }
  Ended endTurn();
  void rateTurn();
  Ended endedUse(std::size_t thread);
  double doneOf(const Kind& kind) const;
  End endOf(std::uint32_t kind) const;
  bool changeNumber();
  double secondsOf(std::uint32_t access);

  const std::vector<Access>& accesses_;
  const SecondsOf& seconds_of_;
  std::unordered_map<std::uint64_t, double> asked_;  // by access and n
  std::vector<Use> uses_;                            // by thread
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> free_;     // of kinds
  std::vector<std::uint32_t> kind_of_;  // by number in the list
  std::vector<End> ends_;               // a heap: of the first access of each kind
  std::deque<std::pair<std::size_t, std::uint32_t>> queue_;  // thread, access: by turns
  Turn turn_;                                                // of the first in the queue
  std::size_t count_ = 0;                                    // under way
  std::size_t number_ = 0;                                   // n
  double now_s_ = 0;
  double at_once_s_ = 0;  // the count, summed over time
};

}  // namespace omnio::access_time
