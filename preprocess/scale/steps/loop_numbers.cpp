#include "preprocess/scale/steps/loop_numbers.hpp"

#include <algorithm>
#include <span>

#include "core/base/integers.hpp"

namespace omnio::preprocess::scale {

void LoopNumbers::take(RecordedSchedule& schedule, const EventRecord& event, std::size_t place,
                       Previous& previous) {
  Place& taken = places_[place];
  const bool is_first = taken.numbers.empty();
  // Where numbers in names have leading zeros in some turns, these are as wide in all.
  if (is_first ||
      schedule.lines().paddedNumbers(event.kind) > schedule.lines().paddedNumbers(taken.kind)) {
    taken.kind = event.kind;
  }
  if (is_first) taken.numbers.resize(event.numbers.size());
  taken.has_id = taken.has_id || event.id != 0;
  const std::vector<std::string>& keys = schedule.factsOf(event.kind).keys;
  const bool has_previous = !previous.descriptors.empty();
  previous.descriptors.resize(event.numbers.size());
  for (std::size_t i = 0; i < event.numbers.size(); ++i) {
    taken.numbers[i].add(event.numbers[i]);
    if (!isDescriptorKey(keys[i])) continue;
    if (has_previous && previous.descriptors[i] == event.numbers[i]) {
      same_descriptors_.insert({place, i});
    }
    previous.descriptors[i] = event.numbers[i];
  }
  std::vector<std::uint64_t> waits;
  std::vector<model::Wait> all = event.waits;
  for (const EventRecord& delay : event.delays) {
    // Without the delay, the event is waited for.
    taken.has_id = taken.has_id || delay.id != 0;
    all.insert(all.end(), delay.waits.begin(), delay.waits.end());
  }
  for (const model::Wait& wait : all) {
    if (wait.id == 0) continue;
    if (std::ranges::find(previous.waits, wait.id) != previous.waits.end()) {
      same_events_.insert({place, wait.id});
    }
    waits.push_back(wait.id);
  }
  previous.waits = std::move(waits);
}

LoopNumbers::LoopNumbers(RecordedSchedule& schedule, const std::vector<ThreadLayout>& layouts,
                         std::uint32_t thread, std::size_t loop_index) {
  const TurnLoop& loop = layouts[thread].loops()[loop_index];
  places_.resize(loop.in_turn);
  std::vector<Previous> previous(loop.in_turn);
  std::vector<std::uint64_t> marks(loop.turns);
  std::uint64_t place = schedule.threads()[thread].spooled;
  EventRecord event;
  for (std::uint64_t i = 0; i < loop.begin; ++i) schedule.spool().read(place, event);
  for (std::uint64_t turn = 0; turn < loop.turns; ++turn) {
    spooled_.push_back(place);
    std::uint64_t mark = 0;
    for (std::size_t p = 0; p < loop.in_turn; ++p) {
      schedule.spool().read(place, event);
      if (schedule.spool().failed()) return;
      take(schedule, event, p, previous[p]);
      for (const model::Wait& wait : event.waits) {
        if (wait.id == 0) continue;
        const EventPlace& target = schedule.eventOf(wait.id);
        const PlaceInThread at = layouts[target.thread].locate(target.event);
        const bool is_fixed = at.loop == PlaceInThread::kOutside || waitsForSame(p, wait.id);
        mark =
            base::mixed(mark, p, target.thread, at.loop, is_fixed ? 0 : turn - at.turn, at.place);
      }
    }
    marks[turn] = mark;
  }
  for (Place& each : places_) {
    for (pattern::NumberSeries& number : each.numbers) number.settle();
  }
  constexpr std::size_t kFirst = 2;  // they may differ
  period_ = pattern::periodOf(std::span(marks).subspan(std::min(kFirst, marks.size())));
}

}  // namespace omnio::preprocess::scale
