#include "preprocess/scale/ranks/rank_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_keys.hpp"
#include "preprocess/scale/ranks/rank_event_reader.hpp"
#include "preprocess/scale/scaled_document.hpp"
#include "preprocess/scale/scaled_files.hpp"

namespace omnio::preprocess::scale {
namespace {

// Texts and groups by the order in which they come.
template <typename Item>
class Interned {
 public:
  std::int64_t numberOf(const std::string& text, const Item& item) {
    const auto [place, is_new] = numbers_.try_emplace(text, items_.size());
    if (is_new) items_.push_back(item);
    return static_cast<std::int64_t>(place->second);
  }
  const std::vector<Item>& items() const { return items_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<Item> items_;
};

class RankWriter {
 public:
  RankWriter(RecordedSchedule& model, const std::vector<RankClass>& classes, int ranks,
             ScaledDocument& out)
      : schedule_(model),
        classes_(classes),
        ranks_(ranks),
        files_(model.files(), model.named()),
        out_(out) {}

  base::Result<void> run() {
    std::int64_t next = 0;
    std::uint64_t id = 1;
    for (const RankClass& each : classes_) {
      Placed placed;
      placed.of_class = &each;
      placed.first = each.first.at(ranks_).value_or(-1);
      placed.last = each.last.at(ranks_).value_or(-1);
      if (placed.first != next || placed.last < placed.first - 1) {
        return refuse(fmt::format("its ranks do {} different things, in more ranks than there are",
                                  classes_.size()));
      }
      next = placed.last + 1;
      pids_of_rank_ = std::max(pids_of_rank_, static_cast<std::uint32_t>(each.threads.size()));
      for (const RankThread& thread : each.threads) {
        placed.thread_ids.push_back(placed.ids);
        placed.ids += thread.events.size();
        placed.targets.emplace_back(thread.events.size(), false);
      }
      placed.first_id = id;
      id += placed.ids * static_cast<std::uint64_t>(placed.last - placed.first + 1);
      placed_.push_back(std::move(placed));
    }
    if (next != ranks_) return refuse("its ranks do other things than those of fewer ranks");
    next_id_ = id;
    findTargets();
    for (const Placed& placed : placed_) {
      for (std::int64_t rank = placed.first; rank <= placed.last; ++rank) {
        if (out_.failed()) return {};  // finish() says why
        if (const auto written = writeRank(placed, rank); !written) return written;
      }
    }
    return {};
  }

  std::uint64_t events() const { return events_; }
  std::vector<model::ScheduleFile> files() const { return files_.used(); }
  std::optional<model::MpiTables> tables() const {
    if (!schedule_.global().mpi) return {};
    return model::MpiTables{.groups = groups_.items(), .types = types_.items()};
  }

 private:
  // A class at the number of ranks.
  struct Placed {
    const RankClass* of_class = nullptr;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::uint64_t first_id = 0;
    std::uint64_t ids = 0;                   // of each rank
    std::vector<std::uint64_t> thread_ids;   // before each thread
    std::vector<std::vector<bool>> targets;  // by thread: events that are waited for
  };

  base::Failure refuse(std::string_view why) const {
    return base::failure(base::Code::kInvalid, "--ranks {}: {}", ranks_, why);
  }

  struct Run {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::size_t thread = 0;
    std::int64_t event = 0;
    auto operator<=>(const Run&) const = default;
  };

  // The runs of an event for a rank; nothing where one of them leads out of the job.
  std::optional<std::vector<Run>> runsOf(const RankEvent& event, std::int64_t rank) const {
    std::vector<Run> runs;
    for (std::size_t i = event.numbers.size() - event.runs * kNumbersOfRun;
         i < event.numbers.size(); i += kNumbersOfRun) {
      std::int64_t numbers[kNumbersOfRun] = {};
      for (std::size_t n = 0; n < kNumbersOfRun; ++n) {
        const auto number = event.numbers[i + n].at(rank, ranks_);
        if (!number || *number < 0) return {};
        numbers[n] = *number;
      }
      if (numbers[1] >= ranks_) return {};
      runs.push_back({numbers[0], numbers[1], static_cast<std::size_t>(numbers[2]), numbers[3]});
    }
    return runs;
  }

  // Runs are affine in the rank: those of the first and the last rank of a class, and what lies
  // between them, have all events that are waited for.
  void findTargets() {
    for (const Placed& placed : placed_) {
      for (const RankThread& thread : placed.of_class->threads) {
        for (const RankEvent& event : thread.events) {
          if (event.runs == 0 || placed.last < placed.first) continue;
          const auto low = runsOf(event, placed.first);
          const auto high = runsOf(event, placed.last);
          for (std::size_t i = 0; low && high && i < low->size(); ++i) {
            Run hull = (*low)[i];
            hull.first = std::min(hull.first, (*high)[i].first);
            hull.last = std::max(hull.last, (*high)[i].last);
            markTargets({hull});
          }
          for (const auto& runs : {low, high}) {
            if (!runs) continue;
            markTargets(*runs);
            for (const Run& run : *runs) addMeeting(run, event.reason);
          }
        }
      }
    }
  }

  // Where many wait for many, they meet in a delay of the first rank that is waited for, whose next
  // event waits for all of them anyway.
  void addMeeting(const Run& run, model::Reason reason) {
    constexpr std::int64_t kFew = 16;
    if (run.last - run.first < kFew || meetings_.contains({run, reason})) return;
    const auto placed = std::ranges::find_if(placed_, [&](const Placed& each) {
      return each.first <= run.first && run.first <= each.last;
    });
    if (placed == placed_.end() || run.thread >= placed->of_class->threads.size()) return;
    const std::vector<RankEvent>& events = placed->of_class->threads[run.thread].events;
    const auto next = static_cast<std::size_t>(run.event) + 1;
    if (next >= events.size() || events[next].runs == 0) return;
    const auto runs = runsOf(events[next], run.first);
    if (!runs || std::ranges::find(*runs, run) == runs->end()) return;
    meetings_.emplace(std::pair(run, reason), next_id_++);
  }

  // The meetings behind an event.
  void writeMeetings(std::int64_t rank, std::size_t thread, std::size_t event) {
    const Run first{.first = rank, .last = 0, .thread = 0, .event = 0};
    for (auto meeting = meetings_.lower_bound({first, model::Reason{}});
         meeting != meetings_.end() && meeting->first.first.first == rank; ++meeting) {
      const auto& [run, reason] = meeting->first;
      if (run.thread != thread || run.event != static_cast<std::int64_t>(event)) continue;
      line_ = fmt::format("{{\"gap\":0,\"duration\":0,\"command\":\"delay\",\"id\":{}",
                          meeting->second);
      RankEvent waits;
      waits.runs = 1;
      waits.reason = reason;
      putWaits(waits, {run}, rank, thread, false);
      line_ += '}';
      out_.event(line_);
      ++events_;
    }
  }

  void markTargets(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
      for (Placed& placed : placed_) {
        if (placed.last < run.first || placed.first > run.last) continue;
        if (run.thread >= placed.targets.size()) continue;
        std::vector<bool>& targets = placed.targets[run.thread];
        if (static_cast<std::size_t>(run.event) < targets.size()) {
          targets[static_cast<std::size_t>(run.event)] = true;
        }
      }
    }
  }

  std::uint64_t idOf(const Placed& placed, std::int64_t rank, std::size_t thread,
                     std::int64_t event) const {
    return placed.first_id + placed.ids * static_cast<std::uint64_t>(rank - placed.first) +
           placed.thread_ids[thread] + static_cast<std::uint64_t>(event);
  }

  base::Result<void> writeRank(const Placed& placed, std::int64_t rank) {
    // Mappings and asynchronous operations go by process, so each rank has numbers of its own.
    std::vector<std::uint32_t> pids;
    for (std::size_t t = 0; t < placed.of_class->threads.size(); ++t) {
      const RankThread& thread = placed.of_class->threads[t];
      model::ScheduleThread head = thread.head;
      const auto known = std::ranges::find(pids, head.pid);
      const auto process = static_cast<std::uint32_t>(known - pids.begin());
      if (known == pids.end()) pids.push_back(head.pid);
      head.rank = static_cast<int>(rank);
      head.pid = static_cast<std::uint32_t>(rank + 1) * pids_of_rank_ + process;
      head.tid =
          static_cast<std::uint32_t>(rank + 1) * pids_of_rank_ + static_cast<std::uint32_t>(t);
      out_.beginThread(head);
      for (std::size_t e = 0; e < thread.events.size(); ++e) {
        if (const auto written = writeEvent(placed, rank, t, e); !written) return written;
      }
      out_.endThread();
    }
    return {};
  }

  base::Result<void> writeEvent(const Placed& placed, std::int64_t rank, std::size_t t,
                                std::size_t e) {
    const RankEvent& event = placed.of_class->threads[t].events[e];
    const KindFacts& facts = schedule_.factsOf(event.kind);
    numbers_.clear();
    for (std::size_t i = 0; i < event.numbers.size(); ++i) {
      const auto number = event.numbers[i].at(rank, ranks_);
      if (!number) {
        return refuse(fmt::format(
            "{} of {}, call {} of rank {}, is a part of a total that {} ranks cannot share evenly",
            i < facts.keys.size() ? facts.keys[i] : "a number", facts.command, e, rank, ranks_));
      }
      numbers_.push_back(*number);
    }
    takeTables(event, facts);
    fields_.resize(facts.keys.size());
    for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i].base = numbers_[i];
    line_.clear();
    schedule_.lines().append(
        line_, event.kind, fields_,
        {.sums = event.measures, .count = event.ranks, .first_count = event.ranks}, {});
    if (const auto taken = takeFiles(event, facts, rank, e); !taken) return taken;
    line_.pop_back();
    if (placed.targets[t][e]) {
      line_ += fmt::format(",\"id\":{}", idOf(placed, rank, t, static_cast<std::int64_t>(e)));
    }
    if (event.runs > 0 || event.from_start) {
      const auto runs = runsOf(event, rank);
      if (!runs) {
        return refuse(fmt::format("{}, call {} of rank {}, would wait for a rank that there is not",
                                  facts.command, e, rank));
      }
      putWaits(event, *runs, rank, t, true);
    }
    line_ += '}';
    out_.event(line_);
    ++events_;
    writeMeetings(rank, t, e);
    return {};
  }

  // Types and groups of the line, which are made of their numbers.
  void takeTables(const RankEvent& event, const KindFacts& facts) {
    if (event.types.empty()) return;
    std::size_t next = facts.keys.size() + 2 * event.names.size();
    std::size_t type = 0;
    for (std::size_t i = 0; i < facts.keys.size(); ++i) {
      if (!isTableKey(facts.keys[i])) continue;
      std::string text;
      std::vector<std::int64_t> numbers;
      for (const char c : event.types[type]) {
        if (c != FullEvent::kTypeNumber) {
          text += c;
          continue;
        }
        numbers.push_back(numbers_[next++]);
        text += fmt::format("{}{}", facts.keys[i] == "group" ? "," : "", numbers.back());
      }
      ++type;
      if (facts.keys[i] != "group") {
        numbers_[i] = types_.numberOf(text, text);
        continue;
      }
      std::vector<int> ranks;
      if (text.ends_with("irregular")) {
        for (const std::int64_t rank : numbers) ranks.push_back(static_cast<int>(rank));
      } else {
        for (std::int64_t n = 0; n < numbers[2]; ++n) {
          ranks.push_back(static_cast<int>(numbers[0] + numbers[1] * n));
        }
      }
      numbers_[i] = groups_.numberOf(text, ranks);
    }
  }

  base::Result<void> takeFiles(const RankEvent& event, const KindFacts& facts, std::int64_t rank,
                               std::size_t e) {
    std::size_t next = facts.keys.size();
    std::size_t name_index = 0;
    std::string below;  // a file that would have fewer bytes than none
    forEachName(line_, [&](std::string_view, const std::string& name) {
      if (name_index >= event.names.size()) return;
      if (!files_.use(name)) files_.addLike(event.names[name_index], name);
      ++name_index;
      model::ScheduleFile* const file = files_.find(name);
      if (file == nullptr) return;
      const std::int64_t size = numbers_[next++];
      const std::int64_t read = numbers_[next++];
      if (size < 0 || read < 0) below = name;
      file->size = static_cast<std::uint64_t>(size);
      file->read_before_written = static_cast<std::uint64_t>(read);
    });
    if (below.empty()) return {};
    return refuse(
        fmt::format("the size before the run of {}, which {}, call {} of rank {}, names, would be "
                    "negative; where all ranks share a total, say --scaling strong",
                    base::printable(below), facts.command, e, rank));
  }

  // `meet`: by the delays where there are some.
  void putWaits(const RankEvent& event, const std::vector<Run>& runs, std::int64_t rank,
                std::size_t thread, bool meet) {
    bool is_first = true;
    const auto put_wait = [&](std::uint64_t id, std::int64_t count, std::uint64_t step,
                              model::Reason reason, const model::Work& work) {
      line_ += std::exchange(is_first, false) ? ",\"after\":[" : ",";
      line_ += fmt::format("{{\"id\":{}", id);
      if (count > 1) line_ += fmt::format(",\"repeat\":{},\"step\":{}", count, step);
      line_ += fmt::format(",\"why\":\"{}\"", base::wordOf(model::kReasons, reason));
      if (work != model::Work{}) {
        line_ += fmt::format(",\"compute\":{},\"communication\":{}", work.compute_ns,
                             work.communication_ns);
      }
      line_ += '}';
    };
    const auto put = [&](const Placed& placed, const Run& run, std::int64_t from, std::int64_t to) {
      if (from > to || run.thread >= placed.thread_ids.size()) return;
      put_wait(idOf(placed, from, run.thread, run.event), to - from + 1, placed.ids, event.reason,
               event.work);
    };
    if (event.from_start) put_wait(0, 1, 0, event.start_reason, *event.from_start);
    for (const Run& run : runs) {
      if (const auto meeting = meetings_.find({run, event.reason});
          meet && meeting != meetings_.end()) {
        put_wait(meeting->second, 1, 0, event.reason, event.work);
        continue;
      }
      for (const Placed& placed : placed_) {
        const std::int64_t from = std::max(run.first, placed.first);
        const std::int64_t to = std::min(run.last, placed.last);
        if (run.thread == thread && rank >= from && rank <= to) {
          put(placed, run, from, rank - 1);
          put(placed, run, rank + 1, to);
        } else {
          put(placed, run, from, to);
        }
      }
    }
    if (!is_first) line_ += ']';
  }

  RecordedSchedule& schedule_;
  const std::vector<RankClass>& classes_;
  const int ranks_;
  ScaledFiles files_;
  ScaledDocument& out_;
  std::vector<Placed> placed_;
  // Why they meet, and the ids of their delays.
  std::map<std::pair<Run, model::Reason>, std::uint64_t> meetings_;
  std::uint64_t next_id_ = 1;
  std::uint32_t pids_of_rank_ = 1000;  // at least
  Interned<std::string> types_;
  Interned<std::vector<int>> groups_;
  std::vector<std::int64_t> numbers_;
  std::vector<pattern::Field> fields_;
  std::string line_;
  std::uint64_t events_ = 0;
};

}  // namespace

namespace {

base::Result<std::vector<RankClass>> classesOf(
    const std::vector<std::unique_ptr<RecordedSchedule>>& schedules, const RankSettings& settings,
    bool keeps_files) {
  std::vector<std::unique_ptr<RankOrder>> orders;
  std::vector<RecordedJob> jobs;
  for (const auto& schedule : schedules) {
    orders.push_back(std::make_unique<RankOrder>(*schedule, keeps_files));
    jobs.push_back({.schedule = schedule.get(), .order = orders.back().get()});
    if (!orders.back()->isCircular()) continue;
    return base::failure(base::Code::kInvalid,
                         "--ranks {}: calls wait for each other in a circle with {} ranks",
                         settings.ranks, schedule->global().ranks);
  }
  return rankClassesOf(jobs, settings);
}

}  // namespace

std::string keptSizes(std::uint64_t files) {
  return fmt::format(
      "how the sizes of {} files from before the run depend on the number of ranks, which a trace "
      "at one number cannot tell: each is as long as recorded",
      files);
}

base::Result<RankSummary> scaleRanks(const std::vector<std::filesystem::path>& from,
                                     const std::filesystem::path& to, const RankSettings& settings,
                                     model::ScheduleForm form) {
  EventKinds kinds;
  std::vector<std::unique_ptr<RecordedSchedule>> schedules;
  RankSummary summary;
  for (const std::filesystem::path& path : from) {
    schedules.push_back(std::make_unique<RecordedSchedule>(to.parent_path(), kinds));
    if (const auto read = model::readSchedule(path, *schedules.back()); !read) {
      return read.failure();
    }
    if (const auto state = schedules.back()->spool().state(); !state) return state.failure();
    summary.recorded.push_back(schedules.back()->global().ranks);
  }
  if (summary.recorded.size() > 1 && summary.recorded[0] == summary.recorded[1]) {
    return base::failure(base::Code::kInvalid,
                         "--ranks {}: both traces are of {} ranks: they tell no more than one",
                         settings.ranks, summary.recorded[0]);
  }
  // The order of calls on a file may be a matter of chance.
  auto classes = classesOf(schedules, settings, true);
  if (!classes) {
    classes = classesOf(schedules, settings, false);
    summary.keeps_files = false;
  }
  for (const auto& schedule : schedules) {
    if (const auto state = schedule->spool().state(); !state) return state.failure();
  }
  if (!classes) return classes.failure();
  summary.classes = classes->size();
  ScaledDocument document(to);
  RecordedSchedule& model = *schedules.back();
  RankWriter writer(model, *classes, settings.ranks, document);
  if (const auto written = writer.run(); !written) return written.failure();
  summary.events = writer.events();
  model::ScheduleGlobal global = model.global();
  global.ranks = settings.ranks;
  global.source_events_missing = 0;
  for (const auto& schedule : schedules) {
    for (const std::string& words : schedule->global().left_out) {
      const bool is_known = std::ranges::find(global.left_out, words) != global.left_out.end();
      if (!is_known) global.left_out.push_back(words);
    }
    global.source_whole = global.source_whole && schedule->global().source_whole;
    global.source_events_missing += schedule->global().source_events_missing;
  }
  global.mpi = writer.tables();
  if (!summary.keeps_files) global.left_out.emplace_back(kNoFileOrder);
  if (schedules.size() == 1 && summary.recorded[0] != settings.ranks) {
    summary.kept_sizes = static_cast<std::uint64_t>(std::ranges::count_if(
        writer.files(), [](const auto& file) { return file.exists && file.size > 0; }));
  }
  if (summary.kept_sizes > 0) global.left_out.push_back(keptSizes(summary.kept_sizes));
  const auto written = document.finish(global, writer.files(), form);
  if (!written) return written.failure();
  summary.written = *written;
  return summary;
}

}  // namespace omnio::preprocess::scale
