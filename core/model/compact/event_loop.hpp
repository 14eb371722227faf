// A loop of a schedule as a sink may take it (schedule_reader.hpp): each of its lines once. The
// numbers of a line are sums of a constant and of multiples of values of the loops around it, so
// that its events in a few turns tell those of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/schedule.hpp"
#include "core/model/work_share.hpp"

namespace omnio::model {

// The numbers of a line depend on these. Each loop has a place for its turn, and behind it one for
// each of its lists; other places are the same in all turns.
using TurnValues = std::vector<std::int64_t>;

// A number of a line as a function of the values.
struct TurnNumber {
  std::int64_t first = 0;                                   // in the first turn of all loops
  std::vector<std::pair<std::size_t, std::int64_t>> steps;  // place of the value, factor; no 0

  // `at_first`: the values of the first turn. In 64 bits that run over: where a number is one, it
  // is so in between too.
  std::int64_t at(const TurnValues& values, const TurnValues& at_first) const;
  std::int64_t stepAt(std::size_t place) const;
  bool operator==(const TurnNumber&) const = default;
};

struct LoopLine {
  struct Sample {
    TurnValues values;
    ScheduleEvent event;
  };
  // The first one has the values of the first turn of all loops, each other one has one value that
  // is another: there is at least one of each value that the line depends on.
  std::vector<Sample> samples;
  // Events of the first and last turns of the loops, in all combinations.
  std::vector<Sample> corners;
  base::TextPlace place{};
  // The events that have work, among all that the line stands for in all ranks; without it, those
  // all have what they say. Where there are exact times, these tell.
  std::optional<WorkShare> share{};
  std::uint64_t share_first = 0;  // number of the loop's first event among those
  // The events' `start_ns` is the time from the end of the thread's event before, `end_ns` how long
  // they take.
  bool is_relative = false;
  // Each event waits for as many others. Those of them that have exact times, in the order of the
  // times: how many these are of each item of `after`, and their places among the waits.
  struct TimedWaits {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::vector<TimedWaits> timed_waits;

  const ScheduleEvent& first() const { return samples.front().event; }
  const TurnValues& firstValues() const { return samples.front().values; }
  // The number that `get` takes from a sample. Nothing where it is another function of the
  // values, as far as samples and corners tell.
  template <typename Get>
  std::optional<TurnNumber> numberOfSample(Get get) const {
    TurnNumber result{.first = get(samples.front()), .steps = {}};
    for (std::size_t i = 1; i < samples.size(); ++i) {
      if (!addStep(result, samples[i].values, get(samples[i]))) return std::nullopt;
    }
    for (const Sample& corner : corners) {
      if (result.at(corner.values, firstValues()) != get(corner)) return std::nullopt;
    }
    std::erase_if(result.steps, [](const auto& step) { return step.second == 0; });
    return result;
  }
  // The same of an event.
  template <typename Get>
  std::optional<TurnNumber> number(Get get) const {
    return numberOfSample(
        [&get](const Sample& sample) { return static_cast<std::int64_t>(get(sample.event)); });
  }

 private:
  // By a sample with these values, where it is `number`.
  bool addStep(TurnNumber& result, const TurnValues& values, std::int64_t number) const;
};

struct EventLoop {
  struct Part {  // one of the two
    std::unique_ptr<LoopLine> line;
    std::unique_ptr<EventLoop> loop;
  };
  std::int64_t turns = 0;
  std::size_t place = 0;                                  // of its turn among the values
  std::vector<const std::vector<std::int64_t>*> lists{};  // each as long as there are turns
  // The gap of the first event of the loop, in place of its own.
  std::optional<std::int64_t> gap_ns{};
  std::vector<Part> body{};

  // Whether the value of that place is its turn's, or one of its lists'.
  bool owns(std::size_t at) const { return at >= place && at <= place + lists.size(); }
};

// The exact times of a loop: a part of a stream of the file of times. In the order of the events
// these are of each: gap, duration, whether it has work, the work; and the work of each wait that
// has times.
struct LoopTimes {
  std::filesystem::path path;
  std::string digest;
  std::size_t stream = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  const TimesStream* of_thread = nullptr;
};

// The loops around a line, from the outermost.
using LoopPath = std::vector<const EventLoop*>;

// How often the innermost of them is passed; nothing beyond 2^60.
std::optional<std::int64_t> passesOf(const LoopPath& path);

// Calls `visit(line, path)` for each line, in their order.
template <typename Loop, typename Visit>
void forEachLine(Loop& loop, Visit visit, LoopPath path = {}) {
  path.push_back(&loop);
  for (auto& part : loop.body) {
    if (part.line) {
      visit(*part.line, path);
    } else {
      forEachLine(*part.loop, visit, path);
    }
  }
}

// Calls `take(values)` with the values of all turns of these loops, as long as it answers with
// true; the other values stay as they are. False when it has answered with false.
template <typename Take>
bool forTurnsWhile(const LoopPath& loops, TurnValues& values, Take take, std::size_t from = 0) {
  if (from == loops.size()) return take(values);
  const EventLoop& loop = *loops[from];
  for (std::int64_t turn = 0; turn < loop.turns; ++turn) {
    values[loop.place] = turn;
    for (std::size_t i = 0; i < loop.lists.size(); ++i) {
      values[loop.place + 1 + i] = (*loop.lists[i])[static_cast<std::size_t>(turn)];
    }
    if (!forTurnsWhile(loops, values, take, from + 1)) return false;
  }
  return true;
}

// The same to the end: of turns of which there are not too many.
template <typename Take>
void forEachTurn(const LoopPath& loops, TurnValues& values, Take take) {
  forTurnsWhile(loops, values, [&take](const TurnValues& now) {
    take(now);
    return true;
  });
}

// Those of the loops that the number depends on.
LoopPath loopsOf(const TurnNumber& number, const LoopPath& path);

// The sum over all turns of the loops. Of a number that is at least 0 in each of them, or at most
// 0. Its steps by other values count as they are in the first turn.
__extension__ using WideNumber = __int128;
WideNumber sumOverTurns(const TurnNumber& number, const LoopPath& path, const TurnValues& at_first);

}  // namespace omnio::model
