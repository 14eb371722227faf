// Takes a loop into the clock of a thread. Where the thread is as late at the end of a turn as at
// its beginning, the turns that follow have the same times, only later: those up to there are gone
// through, and the others are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/model/schedule_reader.hpp"
#include "replay/thread_clock.hpp"

namespace omnio::replay {

class LoopClock {
 public:
  using WorkNs = std::function<std::int64_t(const model::Work&)>;

  // The clock after a loop that has no exact times; `work_ns`: how long the work of an event takes.
  // Nothing where only the single events tell: times that go backwards, or lie in front of the run;
  // very many turns whose times follow lists, or no common step; and lines some of whose events
  // have work, where the time of those without it changes from turn to turn.
  static std::optional<ThreadClock> after(const ThreadClock& before,
                                          const model::PassedLoop& passed, const WorkNs& work_ns);

 private:
  struct Line {
    const model::LoopLine* line = nullptr;
    model::LoopPath path;
    TimedStep step;           // without its times
    model::TurnNumber start;  // the gap, where times are relative
    model::TurnNumber end;    // the duration
    // Where some of the events have work: what the one in the first turn takes without it, what
    // the others do, and what those take that have it.
    std::uint64_t visits = 0;
    std::int64_t first_ns = 0;
    std::int64_t other_ns = 0;
    std::int64_t with_work_ns = 0;
  };

  LoopClock(const ThreadClock& before, const model::PassedLoop& passed, const WorkNs& work_ns);
  bool pass(const model::EventLoop& loop, std::size_t first, std::size_t& end);
  bool take(Line& line);
  bool noteShare(Line& line, const TimedStep& step);
  std::optional<std::int64_t> stepOf(const model::EventLoop& loop, std::size_t first,
                                     std::size_t end) const;
  void repeatTurn(const ThreadClock& before, std::int64_t turns, std::int64_t step_ns,
                  bool has_call);
  void addShares();
  static model::WideNumber shareNs(const Line& line, std::uint64_t events);
  static std::uint64_t passesBehind(const Line& last, const Line& line);

  ThreadClock now_;
  std::vector<Line> lines_;
  model::TurnValues values_;
  std::int64_t previous_end_ns_;
  std::optional<std::int64_t> gap_ns_;  // of the next event, in place of its own
  std::int64_t taken_ = 0;              // events
  bool is_known_ = true;
};

}  // namespace omnio::replay
