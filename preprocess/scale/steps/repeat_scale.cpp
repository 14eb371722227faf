#include "preprocess/scale/steps/repeat_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_keys.hpp"
#include "preprocess/scale/recorded_schedule.hpp"
#include "preprocess/scale/scaled_document.hpp"
#include "preprocess/scale/scaled_files.hpp"
#include "preprocess/scale/steps/file_regions.hpp"
#include "preprocess/scale/steps/loop_numbers.hpp"
#include "preprocess/scale/steps/time_steps.hpp"
#include "preprocess/scale/steps/turn_plan.hpp"

namespace omnio::preprocess::scale {
namespace {

// The keys of numbers by which calls of a process name operations and mappings again.
bool isHandleKey(std::string_view key) {
  return key == "request" || key == "requests" || key == "mapping";
}

std::optional<std::size_t> indexOf(const std::vector<std::string>& keys, std::string_view key) {
  const auto found = std::ranges::find(keys, key);
  return found == keys.end() ? std::nullopt
                             : std::optional(static_cast<std::size_t>(found - keys.begin()));
}

// Writes a schedule with other numbers of turns.
class Repeater {
 public:
  Repeater(RecordedSchedule& schedule, const TimeSteps& steps, std::uint64_t scaled_turns,
           ScaledDocument& out)
      : schedule_(schedule),
        steps_(steps),
        growth_(static_cast<std::int64_t>(scaled_turns - steps.turns)),
        files_(schedule.files(), schedule.named()),
        out_(out) {
    for (std::size_t t = 0; t < schedule.threads().size(); ++t) {
      layouts_.emplace_back(steps.loops[t], schedule.threads()[t].events, growth_);
    }
  }

  // Ends early where events cannot be read or written: the spool or the document says why.
  void run() {
    survey();
    for (std::uint32_t t = 0; t < layouts_.size() && !failed(); ++t) writeThread(t);
  }

  std::uint64_t events() const { return events_; }
  // Files that were read as far as they were there are as long as they are read now.
  std::vector<model::ScheduleFile> files() {
    for (const auto& [number, ends] : ends_) {
      model::ScheduleFile& file = files_.file(number);
      if (!file.exists || ends.read == 0) continue;
      if (file.read_before_written != static_cast<std::uint64_t>(ends.read)) continue;
      file.read_before_written =
          static_cast<std::uint64_t>(std::max<std::int64_t>(ends.scaled_read, 0));
      file.size = std::max(file.size, file.read_before_written);
    }
    return files_.used();
  }
  // "count of write": numbers that followed no rule.
  const std::set<std::string>& irregular() const { return irregular_; }
  // Why there can be no schedule; empty: there can.
  const std::string& refusal() const { return refusal_; }

 private:
  bool failed() const { return schedule_.spool().failed() || out_.failed() || !refusal_.empty(); }

  // Where an event is that is written or looked at.
  struct Context {
    std::uint32_t thread = 0;
    PlaceInThread source;    // in the recording
    std::uint64_t turn = 0;  // in the schedule, of a loop
  };

  // Ends of what loops write and read, by file; regularity; who makes descriptors.
  void survey() {
    std::map<int, std::uint64_t> descriptors;  // of the threads of a rank so far
    std::uint64_t first_id = 1;
    for (std::uint32_t t = 0; t < layouts_.size(); ++t) {
      const RecordedThread& thread = schedule_.threads()[t];
      std::uint64_t place = thread.spooled;
      EventRecord event;
      for (std::uint64_t i = 0; i < thread.events; ++i) {
        schedule_.spool().read(place, event);
        const PlaceInThread at = layouts_[t].locate(i);
        if (schedule_.factsOf(event.kind).makes_descriptor) layouts_[t].addMaker(at);
      }
      first_ids_.push_back(first_id);
      first_id += layouts_[t].scaledEvents() * (thread.most_delays + 1);
      first_descriptors_.push_back(descriptors[thread.head.rank]);
      descriptors[thread.head.rank] += layouts_[t].makers();
    }
    for (std::uint32_t t = 0; t < layouts_.size(); ++t) {
      for (std::size_t loop = 0; loop < layouts_[t].loops().size(); ++loop) {
        const LoopNumbers numbers(schedule_, layouts_, t, loop);
        if (schedule_.spool().failed()) return;
        if (numbers.period() > 0 && numbers.period() <= steps_.turns) {
          const std::uint64_t both = std::lcm(period_, numbers.period());
          if (both <= steps_.turns / 2) period_ = both;
        }
        noteRegions(schedule_.threads()[t].head.rank, numbers);
        noteHandles(t, numbers);
      }
    }
    for (auto& [file, regions] : regions_) regions.settle();
  }

  // How far files are read in the time steps.
  struct Ends {
    std::int64_t read = 0;
    std::int64_t scaled_read = 0;
  };

  struct Handles {
    std::int64_t first = 0;  // in the last time step
    std::int64_t growth = 0;
  };

  std::optional<std::uint32_t> fileOf(int rank, std::int64_t descriptor) const {
    const auto* made = schedule_.madeOf(rank, descriptor);
    if (made == nullptr || made->file == model::kNoFileNumber) return {};
    return static_cast<std::uint32_t>(made->file);
  }

  // Offsets of calls of MPI-IO count in units of views, which are bytes where no call sets one.
  bool countsBytes(const KindFacts& facts) const { return !facts.is_mpi || !schedule_.setsViews(); }
  bool movesBytes(const KindFacts& facts) const {
    return (facts.reads || facts.writes) && countsBytes(facts);
  }

  // Bytes that a call moved, where its numbers are as `valueOf` says by index.
  template <typename Value>
  static std::int64_t bytesMoved(const KindFacts& facts, Value valueOf) {
    const auto result = indexOf(facts.keys, facts.counts_bytes ? "result" : "count");
    if (!result) return 0;
    const auto size = indexOf(facts.keys, "size");
    const bool counts_items = size && indexOf(facts.keys, "nmemb");
    std::int64_t bytes = 0;
    const bool is_beyond =
        __builtin_mul_overflow(valueOf(*result), counts_items ? valueOf(*size) : 1, &bytes);
    return is_beyond ? 0 : bytes;
  }

  static std::optional<std::size_t> offsetIndex(const KindFacts& facts) {
    const auto position = indexOf(facts.keys, "position");
    return position ? position : indexOf(facts.keys, "offset");
  }

  // The bytes that calls of the loop read and write in files that are the same in all turns.
  void noteRegions(int rank, const LoopNumbers& numbers) {
    for (const LoopNumbers::Place& place : numbers.places()) {
      const KindFacts& facts = schedule_.factsOf(place.kind);
      const auto fd = indexOf(facts.keys, "fd");
      const auto offset = offsetIndex(facts);
      if (!movesBytes(facts) || !fd || !offset) continue;
      const pattern::NumberSeries& offsets = place.numbers[*offset];
      const auto file = fileOf(rank, place.numbers[*fd].at(0));
      const std::uint64_t turns = offsets.turns();
      if (!file || file != fileOf(rank, place.numbers[*fd].at(turns - 1))) continue;
      const auto end = [&](std::uint64_t turn) {
        return base::saturatingSum(offsets.at(turn), bytesMoved(facts, [&](std::size_t i) {
                                     return place.numbers[i].at(turn);
                                   }));
      };
      FileRegion region{.begin = offsets.at(0), .end = 0, .last = offsets.at(turns - 1)};
      for (std::uint64_t turn = 0; turn < turns; ++turn) {
        region.begin = std::min(region.begin, offsets.at(turn));
        region.end = std::max(region.end, end(turn));
      }
      // A rule with a period may come to its furthest place some turns before the last one.
      const std::uint64_t scaled_turns = turns + static_cast<std::uint64_t>(growth_);
      const std::uint64_t period = std::max<std::uint64_t>(offsets.period(), 1);
      for (std::uint64_t back = 1; back <= std::min(period, scaled_turns); ++back) {
        region.scaled_end = std::max(region.scaled_end, end(scaled_turns - back));
      }
      regions_[*file].add(region);
      if (!facts.reads) continue;
      Ends& ends = ends_[*file];
      ends.read = std::max(ends.read, region.end);
      ends.scaled_read = std::max(ends.scaled_read, region.scaled_end);
    }
  }

  // Names of the last time step and of later calls have other numbers behind more time steps.
  void noteHandles(std::uint32_t thread, const LoopNumbers& numbers) {
    for (const LoopNumbers::Place& place : numbers.places()) {
      const KindFacts& facts = schedule_.factsOf(place.kind);
      for (std::size_t i = 0; i < place.numbers.size(); ++i) {
        const pattern::NumberSeries& series = place.numbers[i];
        if (!isHandleKey(facts.keys[i]) || series.period() != 1) continue;
        const std::int64_t last = series.at(series.turns() - 1);
        const std::uint64_t end = series.turns() + static_cast<std::uint64_t>(growth_);
        const Handles now{.first = last, .growth = series.at(end - 1) - last};
        Handles& handles = handles_.try_emplace({thread, facts.keys[i]}, now).first->second;
        if (now.growth != 0) handles.first = std::min(handles.first, last);
        if (now.growth != 0) handles.growth = now.growth;
      }
    }
  }

  // Where an event or the maker of a descriptor is in the scaled schedule; nothing: it is in a turn
  // that there is not.
  std::optional<PlaceInThread> moved(const Context& context, const EventPlace& target,
                                     bool is_same) const {
    PlaceInThread at = layouts_[target.thread].locate(target.event);
    if (at.loop == PlaceInThread::kOutside) return at;
    const ThreadLayout& of_target = layouts_[target.thread];
    const ThreadLayout& own = layouts_[context.thread];
    if (context.source.loop != PlaceInThread::kOutside) {
      // An event after all turns of a loop waits for the last one.
      const bool is_last = at.loop < context.source.loop && at.turn != context.source.turn &&
                           at.turn + 1 == of_target.loops()[at.loop].turns;
      if (is_last) {
        at.turn += static_cast<std::uint64_t>(growth_);
      } else if (!is_same) {
        at.turn += context.turn - context.source.turn;
      }
    } else if (own.loops().empty() ? at.turn >= of_target.loops()[at.loop].turns / 2
                                   : at.loop < own.loopsBefore(context.source.place)) {
      at.turn += static_cast<std::uint64_t>(growth_);  // as far from the last one
    }
    // Turns before the first one are beyond the last one, as unsigned numbers.
    if (at.turn >= of_target.scaledTurns(at.loop)) return {};
    return at;
  }

  std::uint64_t idOf(std::uint32_t thread, const PlaceInThread& at, std::uint64_t delay) const {
    const std::uint64_t each = schedule_.threads()[thread].most_delays + 1;
    return first_ids_[thread] + layouts_[thread].indexOf(at) * each + delay;
  }

  // The delay behind the event at that place, where the turn that this is like has it; else 0.
  std::uint64_t delayAt(const EventPlace& target, const PlaceInThread& at) const {
    if (target.delay == 0 || at.loop == PlaceInThread::kOutside) return target.delay;
    const TurnLoop& loop = layouts_[target.thread].loops()[at.loop];
    const std::uint64_t turn = TurnPlan(loop.turns, period_).sourceOf(at.turn);
    const EventPlace source{.thread = target.thread,
                            .event = loop.begin + turn * loop.in_turn + at.place,
                            .delay = target.delay};
    return schedule_.hasDelay(source) ? target.delay : 0;
  }

  std::int64_t descriptorOf(std::uint32_t thread, const PlaceInThread& at) const {
    return static_cast<std::int64_t>(first_descriptors_[thread] +
                                     layouts_[thread].makersBefore(at));
  }

  void writeThread(std::uint32_t t) {
    const RecordedThread& thread = schedule_.threads()[t];
    out_.beginThread(thread.head);
    std::uint64_t place = thread.spooled;
    EventRecord event;
    std::uint64_t next = 0;
    for (std::size_t loop = 0; loop <= layouts_[t].loops().size(); ++loop) {
      const bool is_end = loop == layouts_[t].loops().size();
      const std::uint64_t until = is_end ? thread.events : layouts_[t].loops()[loop].begin;
      for (; next < until; ++next) {
        schedule_.spool().read(place, event);
        if (failed()) return;
        write({.thread = t, .source = {.place = next}}, event, nullptr);
      }
      if (is_end) break;
      writeLoop(t, loop);
      next = layouts_[t].loops()[loop].end();
      // Behind the last recorded turn.
      for (std::uint64_t i = layouts_[t].loops()[loop].begin; i < next; ++i) {
        schedule_.spool().read(place, event);
      }
    }
    out_.endThread();
  }

  void writeLoop(std::uint32_t t, std::size_t loop) {
    const LoopNumbers numbers(schedule_, layouts_, t, loop);
    if (failed()) return;
    const std::uint64_t scaled_turns = layouts_[t].scaledTurns(loop);
    const TurnPlan plan(layouts_[t].loops()[loop].turns, period_);
    EventRecord event;
    positions_.clear();
    tracks_positions_ = std::ranges::any_of(numbers.places(), [this](const auto& place) {
      const auto offset = indexOf(schedule_.factsOf(place.kind).keys, "offset");
      return offset && !place.numbers[*offset].hasRule();
    });
    for (std::uint64_t turn = 0; turn < scaled_turns; ++turn) {
      const std::uint64_t source = plan.sourceOf(turn);
      std::uint64_t place = numbers.spooled(source);
      for (std::size_t p = 0; p < numbers.places().size(); ++p) {
        schedule_.spool().read(place, event);
        if (failed()) return;
        write({.thread = t, .source = {.loop = loop, .turn = source, .place = p}, .turn = turn},
              event, &numbers);
      }
    }
  }

  void write(const Context& context, const EventRecord& event, const LoopNumbers* numbers) {
    const LoopNumbers::Place* const place =
        numbers == nullptr ? nullptr : &numbers->places()[context.source.place];
    const std::uint32_t kind = place == nullptr ? event.kind : place->kind;
    const KindFacts& facts = schedule_.factsOf(kind);
    PlaceInThread at = context.source;
    at.turn = context.turn;
    fields_.resize(event.numbers.size());
    for (std::size_t i = 0; i < event.numbers.size(); ++i) {
      fields_[i].base = numberOf(context, event, numbers, i);
    }
    takePosition(context, numbers, facts);
    line_.clear();
    schedule_.lines().append(line_, kind, fields_, {.sums = event.measures}, {});
    takeNames(event, kind);
    line_.pop_back();
    const bool has_id = place == nullptr ? event.id != 0 : place->has_id;
    if (has_id) line_ += fmt::format(",\"id\":{}", idOf(context.thread, at, 0));
    putWaits(context, event, numbers);
    line_ += '}';
    out_.event(line_);
    ++events_;
    for (std::size_t i = 0; i < event.delays.size(); ++i) {
      const EventRecord& delay = event.delays[i];
      setFields(delay);
      line_.clear();
      schedule_.lines().append(line_, delay.kind, fields_, {.sums = delay.measures}, {});
      line_.pop_back();
      if (delay.id != 0) line_ += fmt::format(",\"id\":{}", idOf(context.thread, at, i + 1));
      putWaits(context, delay, numbers);
      line_ += '}';
      out_.event(line_);
      ++events_;
    }
  }

  void setFields(const EventRecord& event) {
    fields_.resize(event.numbers.size());
    for (std::size_t i = 0; i < event.numbers.size(); ++i) fields_[i].base = event.numbers[i];
  }

  std::int64_t numberOf(const Context& context, const EventRecord& event,
                        const LoopNumbers* numbers, std::size_t i) {
    const KindFacts& facts = schedule_.factsOf(event.kind);
    const std::string& key = facts.keys[i];
    const std::int64_t recorded = event.numbers[i];
    const int rank = schedule_.threads()[context.thread].head.rank;
    if (key == "result" && facts.makes_descriptor) {
      PlaceInThread at = context.source;
      at.turn = context.turn;
      return descriptorOf(context.thread, at);
    }
    if (isDescriptorKey(key)) {
      const auto* made = schedule_.madeOf(rank, recorded);
      if (made == nullptr) return recorded;
      const bool is_same = numbers != nullptr && numbers->usesSame(context.source.place, i);
      const auto at = moved(context, made->by, is_same);
      if (at) return descriptorOf(made->by.thread, *at);
      if (refusal_.empty()) {
        refusal_ = fmt::format(
            "{} in {} uses a descriptor that is made in time step {}: with other numbers of steps, "
            "it is not known which one it is",
            facts.command, nameOf(schedule_.threads()[context.thread]),
            layouts_[made->by.thread].locate(made->by.event).turn);
      }
      return recorded;
    }
    if (numbers == nullptr) return outsideNumber(context, event, i);
    const pattern::NumberSeries& series = numbers->places()[context.source.place].numbers[i];
    const FileRegions* regions = regionsOf(rank, event, i);
    const std::int64_t shift = regions == nullptr ? 0 : regions->shiftAt(recorded);
    if (context.turn < series.turns()) return recorded + shift;
    if (series.hasRule()) return series.at(context.turn) + shift;
    irregular_.insert(fmt::format("{} of {}", key, facts.command));
    return recorded + shift;
  }

  // Where the number is a place in a file that the time steps use.
  const FileRegions* regionsOf(int rank, const EventRecord& event, std::size_t i) const {
    const KindFacts& facts = schedule_.factsOf(event.kind);
    const auto fd =
        isPlaceInFile(facts, i) && countsBytes(facts) ? indexOf(facts.keys, "fd") : std::nullopt;
    const auto file = fd ? fileOf(rank, event.numbers[*fd]) : std::nullopt;
    const auto found = file ? regions_.find(*file) : regions_.end();
    return found == regions_.end() ? nullptr : &found->second;
  }

  // Behind the time steps, what lies behind their data in a file moves with these.
  std::int64_t outsideNumber(const Context& context, const EventRecord& event, std::size_t i) {
    const std::string& key = schedule_.factsOf(event.kind).keys[i];
    const std::int64_t recorded = event.numbers[i];
    const bool is_behind = layouts_[context.thread].loopsBefore(context.source.place) > 0;
    if (is_behind && isHandleKey(key)) {
      const auto found = handles_.find({context.thread, key});
      const bool is_later = found != handles_.end() && recorded >= found->second.first;
      return is_later ? recorded + found->second.growth : recorded;
    }
    const FileRegions* const regions =
        regionsOf(schedule_.threads()[context.thread].head.rank, event, i);
    if (regions == nullptr) return recorded;
    return recorded + (is_behind ? regions->shiftBehind(recorded) : regions->shiftAt(recorded));
  }

  // A position that is for information goes on from the call before, where it did so in the
  // recording and the sizes follow no rule.
  void takePosition(const Context& context, const LoopNumbers* numbers, const KindFacts& facts) {
    if (numbers == nullptr || !tracks_positions_ || !facts.is_positional) return;
    const auto fd = indexOf(facts.keys, "fd");
    const auto offset = indexOf(facts.keys, "offset");
    if (!fd || !offset) return;
    const auto [position, is_first] = positions_.try_emplace(fields_[*fd].base, 0);
    const pattern::NumberSeries& series = numbers->places()[context.source.place].numbers[*offset];
    if (!is_first && context.turn >= series.turns() && !series.hasRule()) {
      fields_[*offset].base = position->second;
    }
    position->second = base::saturatingSum(
        fields_[*offset].base, bytesMoved(facts, [&](std::size_t i) { return fields_[i].base; }));
  }

  // Files of turns beyond the recorded ones are as those of the turns that they are like.
  void takeNames(const EventRecord& event, std::uint32_t kind) {
    bool all_known = true;
    forEachName(line_, [&](std::string_view, const std::string& name) {
      all_known = files_.use(name) && all_known;
    });
    if (all_known) return;
    setFields(event);
    source_line_.clear();
    schedule_.lines().append(source_line_, kind, fields_, {.sums = event.measures}, {});
    std::vector<std::string> sources;
    forEachName(source_line_,
                [&](std::string_view, const std::string& name) { sources.push_back(name); });
    std::size_t next = 0;
    forEachName(line_, [&](std::string_view, const std::string& name) {
      files_.addLike(sources[next++], name);
    });
  }

  void putWaits(const Context& context, const EventRecord& event, const LoopNumbers* numbers) {
    bool is_first = true;
    for (const model::Wait& wait : event.waits) {
      std::uint64_t id = 0;
      if (wait.id != 0) {
        const EventPlace& target = schedule_.eventOf(wait.id);
        const bool is_same =
            numbers != nullptr && numbers->waitsForSame(context.source.place, wait.id);
        const auto at = moved(context, target, is_same);
        if (!at) continue;
        id = idOf(target.thread, *at, delayAt(target, *at));
      }
      line_ += std::exchange(is_first, false) ? ",\"after\":[" : ",";
      line_ +=
          fmt::format("{{\"id\":{},\"why\":\"{}\"", id, base::wordOf(model::kReasons, wait.reason));
      if (wait.work != model::Work{}) {
        line_ += fmt::format(",\"compute\":{},\"communication\":{}", wait.work.compute_ns,
                             wait.work.communication_ns);
      }
      line_ += '}';
    }
    if (!is_first) line_ += ']';
  }

  RecordedSchedule& schedule_;
  const TimeSteps& steps_;
  const std::int64_t growth_;
  std::uint64_t period_ = 1;
  ScaledFiles files_;
  ScaledDocument& out_;
  std::vector<ThreadLayout> layouts_;
  std::vector<std::uint64_t> first_ids_;                              // by thread
  std::vector<std::uint64_t> first_descriptors_;                      // by thread, in its rank
  std::unordered_map<std::uint32_t, Ends> ends_;                      // by file
  std::unordered_map<std::uint32_t, FileRegions> regions_;            // by file
  std::map<std::pair<std::uint32_t, std::string>, Handles> handles_;  // by thread and key
  // In the loop: whether there are positions without a rule, and by descriptor where they are.
  bool tracks_positions_ = false;
  std::unordered_map<std::int64_t, std::int64_t> positions_;
  std::set<std::string> irregular_;
  std::string refusal_;
  std::vector<pattern::Field> fields_;
  std::string line_;
  std::string source_line_;
  std::uint64_t events_ = 0;
};

// "12 calls a step in rank 0: open, 10 write, close"
std::string describe(RecordedSchedule& schedule, const RecordedThread& thread,
                     const TurnLoop& loop) {
  constexpr std::size_t kMostShown = 8;
  std::uint64_t place = thread.spooled;
  EventRecord event;
  std::vector<std::pair<std::string, std::uint64_t>> calls;
  for (std::uint64_t i = 0; i < loop.begin + loop.in_turn && calls.size() <= kMostShown; ++i) {
    schedule.spool().read(place, event);
    if (i < loop.begin) continue;
    const std::string& call = schedule.factsOf(event.kind).command;
    if (calls.empty() || calls.back().first != call) calls.emplace_back(call, 0);
    ++calls.back().second;
  }
  std::vector<std::string> words;
  for (const auto& [call, count] : calls) {
    words.push_back(words.size() == kMostShown ? "..."
                    : count == 1               ? call
                                               : fmt::format("{} {}", count, call));
  }
  return fmt::format("{} calls a step in {}: {}", loop.in_turn, nameOf(thread),
                     fmt::join(words, ", "));
}

std::string listed(const std::vector<std::string>& words) {
  constexpr std::size_t kMostShown = 4;
  if (words.size() <= kMostShown) return fmt::format("{}", fmt::join(words, ", "));
  return fmt::format("{} and {} more", fmt::join(words.begin(), words.begin() + kMostShown, ", "),
                     words.size() - kMostShown);
}

// In words: what has no time steps, and what followed no rule.
std::vector<std::string> leftOf(const RecordedSchedule& schedule, const TimeSteps& steps,
                                const std::set<std::string>& irregular) {
  std::vector<std::string> left;
  std::vector<std::string> threads;
  std::vector<std::string> loops;
  for (std::size_t t = 0; t < schedule.threads().size(); ++t) {
    const RecordedThread& thread = schedule.threads()[t];
    if (steps.loops[t].empty() && thread.events > 0) threads.push_back(nameOf(thread));
    if (steps.loops[t].empty()) continue;
    for (const TurnLoop& loop : thread.loops) {
      const bool is_scaled = std::ranges::any_of(
          steps.loops[t], [&](const TurnLoop& other) { return other.begin == loop.begin; });
      if (!is_scaled)
        loops.push_back(fmt::format("one of {} turns in {}", loop.turns, nameOf(thread)));
    }
  }
  if (!threads.empty()) {
    left.push_back(
        fmt::format("the calls of {}, where no loop has {} turns", listed(threads), steps.turns));
  }
  if (!loops.empty()) {
    left.push_back(fmt::format("loops that have not {} turns: {}", steps.turns, listed(loops)));
  }
  if (!irregular.empty()) {
    left.push_back(fmt::format("numbers that follow no rule, which are those of recorded steps: {}",
                               listed({irregular.begin(), irregular.end()})));
  }
  return left;
}

}  // namespace

base::Result<RepeatSummary> scaleRepetitions(const std::filesystem::path& from,
                                             const std::filesystem::path& to, double factor,
                                             model::ScheduleForm form) {
  EventKinds kinds;
  RecordedSchedule schedule(to.parent_path(), kinds);
  if (const auto read = model::readSchedule(from, schedule); !read) return read.failure();
  if (const auto state = schedule.spool().state(); !state) return state.failure();
  const base::Result<TimeSteps> steps = timeStepsOf(schedule);
  if (!steps) return steps.failure();
  const long double turns = static_cast<long double>(steps->turns) * factor;
  constexpr long double kMostTurns = 1e9;
  if (turns > kMostTurns) {
    return base::failure(base::Code::kInvalid, "{} time steps, {} times, are more than {}",
                         steps->turns, factor, kMostTurns);
  }
  RepeatSummary summary;
  summary.turns = steps->turns;
  summary.scaled_turns = static_cast<std::uint64_t>(std::max(1LL, std::llround(turns)));
  ScaledDocument document(to);
  Repeater repeater(schedule, *steps, summary.scaled_turns, document);
  repeater.run();
  if (const auto state = schedule.spool().state(); !state) return state.failure();
  if (!repeater.refusal().empty()) {
    return base::failure(base::Code::kInvalid, "{}", repeater.refusal());
  }
  summary.events = repeater.events();
  summary.left = leftOf(schedule, *steps, repeater.irregular());
  for (std::size_t t = 0; t < steps->loops.size() && summary.loop.empty(); ++t) {
    if (steps->loops[t].empty()) continue;
    summary.loop = describe(schedule, schedule.threads()[t], steps->loops[t].front());
  }
  model::ScheduleGlobal global = schedule.global();
  global.repeat_scale = factor;
  for (const std::string& words : summary.left) {
    global.left_out.push_back("not repeated: " + words);
  }
  const auto written = document.finish(global, repeater.files(), form);
  if (!written) return written.failure();
  summary.written = *written;
  return summary;
}

}  // namespace omnio::preprocess::scale
