#include "preprocess/scale/ranks/rank_event_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/integers.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_keys.hpp"
#include "preprocess/scale/scaled_document.hpp"

namespace omnio::preprocess::scale {

bool isTableKey(std::string_view key) {
  return key == "group" || key == "etype" || key == "filetype";
}

RankEventReader::RankEventReader(RecordedSchedule& schedule, const RankOrder& order,
                                 std::uint32_t thread)
    : schedule_(schedule),
      order_(order),
      thread_(thread),
      place_(schedule.threads()[thread].spooled) {}

bool RankEventReader::next(FullEvent& event, bool with_labels) {
  const RecordedThread& thread = schedule_.threads()[thread_];
  if (next_ == thread.events) return false;
  schedule_.spool().read(place_, event.record);
  if (schedule_.spool().failed()) return false;
  takeDelays(event.record);
  const KindFacts& facts = schedule_.factsOf(event.record.kind);
  event.numbers = event.record.numbers;
  event.labels.clear();
  if (with_labels) event.labels = facts.keys;
  event.shape = fmt::format("{}", facts.symbol);
  event.names.clear();
  event.types.clear();
  takeNames(event);
  takeTables(event);
  takeWaits(event);
  ++next_;
  if (with_labels) event.labels.resize(event.numbers.size());
  return true;
}

// Delays are made anew: the time of those before the event is its own.
void RankEventReader::takeDelays(EventRecord& event) {
  if (!delays_.empty()) {
    EventTimes times = EventTimes::of(event);
    const model::Work own = times.workBefore();
    model::Work work = own;
    for (const EventRecord& delay : delays_) {
      const EventTimes before = EventTimes::of(delay);
      times.gap_ns =
          base::saturatingSum(times.gap_ns, base::saturatingSum(before.gap_ns, before.duration_ns));
      times.has_work = times.has_work || before.has_work;
      // Its gap may be time that it waited for others.
      if (before.has_work || delay.waits.empty()) work = work + before.workBefore();
      work.compute_ns = base::saturatingSum(work.compute_ns, before.duration_ns);
    }
    if (times.has_work) times.work = work;
    times.store(event);
  }
  delays_ = event.delays;
}

void RankEventReader::takeNames(FullEvent& event) {
  fields_.resize(event.record.numbers.size());
  for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i].base = event.record.numbers[i];
  line_.clear();
  schedule_.lines().append(line_, event.record.kind, fields_, {.sums = event.record.measures}, {});
  forEachName(line_, [&](std::string_view, const std::string& name) {
    event.names.push_back(name);
    const model::ScheduleFile* const file = schedule_.fileAt(name);
    if (file == nullptr) return;
    event.shape +=
        fmt::format("|{}{}{}", base::wordOf(model::kRoles, file->role), file->exists, file->lines);
    event.numbers.push_back(static_cast<std::int64_t>(file->size));
    event.numbers.push_back(static_cast<std::int64_t>(file->read_before_written));
    if (event.labels.empty()) return;
    event.labels.push_back("the size before the run");
    event.labels.push_back("what is read before it is written");
  });
}

void RankEventReader::takeTables(FullEvent& event) {
  if (!schedule_.global().mpi) return;
  const model::MpiTables& tables = *schedule_.global().mpi;
  const KindFacts& facts = schedule_.factsOf(event.record.kind);
  for (std::size_t i = 0; i < facts.keys.size(); ++i) {
    if (!facts.is_mpi || !isTableKey(facts.keys[i])) continue;
    const auto index = static_cast<std::size_t>(event.numbers[i]);
    event.numbers[i] = 0;
    std::string text;
    const auto put = [&](std::int64_t number) {
      event.numbers.push_back(number);
      if (!event.labels.empty()) event.labels.push_back(facts.keys[i]);
      text += FullEvent::kTypeNumber;
    };
    if (facts.keys[i] == "group") {
      const std::vector<int>& ranks = tables.groups[index];
      // The same ranks come again where several threads of them open files together.
      const auto before = std::count(
          tables.groups.begin(), tables.groups.begin() + static_cast<std::ptrdiff_t>(index), ranks);
      if (before > 0)
        text += fmt::format("{}#", std::string(static_cast<std::size_t>(before), '+'));
      const int step = ranks.size() > 1 ? ranks[1] - ranks[0] : 1;
      bool is_regular = true;
      for (std::size_t r = 1; r < ranks.size(); ++r) {
        is_regular = is_regular && ranks[r] - ranks[r - 1] == step;
      }
      if (is_regular) {
        for (const std::int64_t number : {std::int64_t{ranks[0]}, std::int64_t{step},
                                          static_cast<std::int64_t>(ranks.size())}) {
          put(number);
        }
      } else {
        for (const int rank : ranks) put(rank);
        text += "irregular";
      }
    } else {
      const std::string& type = tables.types[index];
      for (std::size_t at = 0; at < type.size();) {
        const std::size_t begin = at;
        while (at < type.size() && std::isdigit(static_cast<unsigned char>(type[at])) != 0) ++at;
        const auto number =
            base::wholeNumber<std::int64_t>(std::string_view(type).substr(begin, at - begin));
        if (number) {
          put(*number);
        } else {
          text += type[at++];
        }
      }
    }
    event.shape += "|" + text;
    event.types.push_back(std::move(text));
  }
}

void RankEventReader::takeWaits(FullEvent& event) {
  const RankOrder::Waits* const waits = order_.of(thread_, next_);
  event.runs = waits == nullptr ? 0 : waits->runs.size();
  event.shape += fmt::format("|{}", event.runs);
  event.from_start.reset();
  if (waits == nullptr) return;
  event.from_start = waits->from_start;
  event.start_reason = waits->start_reason;
  event.reason = waits->reason;
  event.work = waits->work;
  for (const RankRun& run : waits->runs) {
    event.numbers.insert(event.numbers.end(), {run.first, run.last, run.thread, run.event});
    if (event.labels.empty()) continue;
    event.labels.insert(event.labels.end(),
                        {"the first rank that is waited for", "the last rank that is waited for",
                         "the thread that is waited for", "the event that is waited for"});
  }
}

}  // namespace omnio::preprocess::scale
