#include "preprocess/scale/ranks/rank_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <ranges>
#include <tuple>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "preprocess/scale/ranks/rank_event_reader.hpp"

namespace omnio::preprocess::scale {
namespace {

using pattern::CountFunction;
using pattern::RankCountFunction;
using pattern::RankValues;

// Ranks of one job, from `first` to `last`.
struct RankRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t size() const { return last - first + 1; }
};

// By job.
using RangeByJob = std::vector<RankRange>;

std::string rangeText(const RankRange& range) {
  return range.size() == 1 ? fmt::format("rank {}", range.first)
                           : fmt::format("ranks {} to {}", range.first, range.last);
}

class ClassFinder {
 public:
  ClassFinder(const std::vector<RecordedJob>& jobs, const RankSettings& settings)
      : jobs_(jobs), settings_(settings) {
    for (const RecordedJob& job : jobs) {
      auto& threads = threads_.emplace_back(static_cast<std::size_t>(ranksOf(job)));
      const auto& all = job.schedule->threads();
      for (std::uint32_t t = 0; t < all.size(); ++t) {
        threads[static_cast<std::size_t>(all[t].head.rank)].push_back(t);
      }
    }
  }

  base::Result<std::vector<RankClass>> find() {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (const auto told = tellsOthersApart(j); !told) return told.failure();
    }
    std::vector<std::vector<RankRange>> ranges;  // by job
    std::vector<std::vector<std::uint64_t>> shapes;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      auto& of_job = ranges.emplace_back();
      auto& marks = shapes.emplace_back();
      for (int rank = 0; rank < ranksOf(jobs_[j]); ++rank) {
        const std::uint64_t mark = shapeOf(j, rank);
        if (!marks.empty() && marks.back() == mark) {
          of_job.back().last = rank;
        } else {
          of_job.push_back({rank, rank});
          marks.push_back(mark);
        }
      }
    }
    for (std::size_t i = 0; jobs_.size() > 1 && i < shapes[0].size(); ++i) {
      if (i < shapes[1].size() && shapes[1][i] == shapes[0][i]) continue;
      return firstDifference(ranges[0][i], ranges[1][std::min(i, ranges[1].size() - 1)]);
    }
    if (jobs_.size() > 1 && shapes[1].size() != shapes[0].size()) {
      return firstDifference(ranges[0].back(), ranges[1][ranges[0].size()]);
    }
    for (std::size_t i = 0; i < ranges[0].size(); ++i) {
      RangeByJob range;
      for (const auto& of_job : ranges) range.push_back(of_job[i]);
      if (const auto solved = solveWithEdges(range); !solved) return solved.failure();
    }
    if (jobs_.size() == 1) {
      if (const auto grown = letOneGrow(); !grown) return grown.failure();
    }
    lendToSingleRanks();
    if (jobs_.size() == 1) {
      if (const auto assumed = assumeStrides(); !assumed) return assumed.failure();
    }
    return std::move(classes_);
  }

 private:
  static int ranksOf(const RecordedJob& job) { return job.schedule->global().ranks; }
  std::int64_t countOf(std::size_t job) const { return ranksOf(jobs_[job]); }

  RankEventReader readerOf(std::size_t job, std::int64_t rank, std::size_t thread) const {
    return {*jobs_[job].schedule, *jobs_[job].order,
            threads_[job][static_cast<std::size_t>(rank)][thread]};
  }

  std::uint64_t shapeOf(std::size_t job, int rank) const {
    std::string all;
    std::uint64_t mark = 0;
    const auto& threads = threads_[job][static_cast<std::size_t>(rank)];
    for (std::size_t t = 0; t < threads.size(); ++t) {
      RankEventReader reader = readerOf(job, rank, t);
      mark = std::hash<std::string>()(fmt::format("{} thread", mark));
      for (FullEvent event; reader.next(event);) {
        mark = std::hash<std::string>()(fmt::format("{} {}", mark, event.shape));
      }
    }
    return mark;
  }

  // With two ranks, the other one may be all others, or the next one.
  base::Result<void> tellsOthersApart(std::size_t job) const {
    constexpr int kTwo = 2;
    if (ranksOf(jobs_[job]) != kTwo || settings_.ranks <= kTwo) return {};
    for (int rank = 0; rank < kTwo; ++rank) {
      for (std::size_t t = 0; t < threads_[job][static_cast<std::size_t>(rank)].size(); ++t) {
        RankEventReader reader = readerOf(job, rank, t);
        FullEvent event;
        for (std::uint64_t number = 0; reader.next(event); ++number) {
          const bool waits_for_rank =
              std::ranges::any_of(std::views::iota(std::size_t{0}, event.runs), [&](auto run) {
                const std::size_t first = event.numbers.size() - (run + 1) * kNumbersOfRun;
                // From this rank to that one.
                return event.numbers[first] != rank || event.numbers[first + 1] != rank;
              });
          if (!waits_for_rank) continue;
          return refusal(fmt::format(
              "call {} of rank {} ({}) waits for the other one of 2 ranks, which may be all "
              "others or the next one: give traces at 3 ranks or more, or --order none",
              number, rank, commandOf(event)));
        }
      }
    }
    return {};
  }

  base::Failure refusal(std::string_view sentence) const {
    return base::failure(base::Code::kInvalid, "--ranks {}: {}", settings_.ranks, sentence);
  }

  std::string commandOf(const FullEvent& event) const {
    return jobs_[0].schedule->factsOf(event.record.kind).command;
  }

  // Ranks at the same place among the classes of both jobs do other things.
  base::Failure firstDifference(const RankRange& one, const RankRange& other) const {
    const auto& mine = threads_[0][static_cast<std::size_t>(one.first)];
    const auto& theirs = threads_[1][static_cast<std::size_t>(other.first)];
    const std::string where = fmt::format("{} of {} and {} of {}", rangeText(one), countOf(0),
                                          rangeText(other), countOf(1));
    if (mine.size() != theirs.size()) {
      return refusal(
          fmt::format("{} have {} and {} threads: ranks that do the same could not be "
                      "found at both numbers",
                      where, mine.size(), theirs.size()));
    }
    for (std::size_t t = 0; t < mine.size(); ++t) {
      RankEventReader a = readerOf(0, one.first, t);
      RankEventReader b = readerOf(1, other.first, t);
      FullEvent first;
      FullEvent second;
      for (std::uint64_t number = 0;; ++number) {
        const bool has_first = a.next(first);
        const bool has_second = b.next(second);
        if (!has_first && !has_second) break;
        if (has_first && has_second && first.shape == second.shape) continue;
        const std::string mine_call = has_first ? commandOf(first) : "no call";
        const std::string their_call = has_second ? commandOf(second) : "no call";
        if (mine_call != their_call) {
          return refusal(fmt::format("call {} of {} is {} and {}{}", number, where, mine_call,
                                     their_call, turnsOfRanks(mine[t], theirs[t])));
        }
        const std::string file = fileOf(0, one.first, first);
        const std::string on = file.empty() ? "" : fmt::format(" on {}", base::printable(file));
        if (first.runs != second.runs) {
          return refusal(fmt::format(
              "call {} of {} ({}{}) waits for other ranks; with --order none, calls wait for none",
              number, where, mine_call, on));
        }
        return refusal(fmt::format("call {} of {} ({}{}) differs in {}", number, where, mine_call,
                                   on, differenceOf(first, second)));
      }
    }
    return refusal(fmt::format("{} do other things", where));
  }

  // Says it where the numbers of calls of two threads differ by as many for each rank.
  std::string turnsOfRanks(std::uint32_t one, std::uint32_t other) const {
    const auto calls = [this](std::size_t job, std::uint32_t thread) {
      return static_cast<std::int64_t>(jobs_[job].schedule->threads()[thread].events);
    };
    const std::int64_t more_ranks = countOf(1) - countOf(0);
    const std::int64_t more_calls = calls(1, other) - calls(0, one);
    if (more_calls / more_ranks <= 0 || more_calls % more_ranks != 0) return "";
    return fmt::format(
        ": they make {} and {} calls, {} more for each rank; loops with a turn for each rank "
        "cannot be scaled",
        calls(0, one), calls(1, other), more_calls / more_ranks);
  }

  // The key of a type or group that has another form, as far as that is why the shapes differ.
  std::string differenceOf(const FullEvent& first, const FullEvent& second) const {
    std::size_t type = 0;
    for (const std::string& key : jobs_[0].schedule->factsOf(first.record.kind).keys) {
      if (!isTableKey(key) || type >= std::min(first.types.size(), second.types.size())) continue;
      if (first.types[type] != second.types[type]) return fmt::format("the form of its {}", key);
      ++type;
    }
    return "more than its numbers";
  }

  // Where the first or the last rank has numbers of its own, as in a ring, it is a class of its
  // own.
  base::Result<void> solveWithEdges(const RangeByJob& range) {
    std::optional<base::Failure> first_failure;
    for (const auto& [low, high] : {std::pair(0, 0), {1, 0}, {0, 1}, {1, 1}}) {
      const bool has_room = std::ranges::all_of(range, [low = low, high = high](const auto& ranks) {
        return low + high == 0 || ranks.size() > low + high;
      });
      if (!has_room) continue;
      std::vector<RangeByJob> parts;
      RangeByJob middle = range;
      for (RankRange& ranks : middle) {
        ranks.first += low;
        ranks.last -= high;
      }
      if (low > 0) {
        parts.emplace_back();
        for (const RankRange& ranks : range) parts.back().push_back({ranks.first, ranks.first});
      }
      parts.push_back(middle);
      if (high > 0) {
        parts.emplace_back();
        for (const RankRange& ranks : range) parts.back().push_back({ranks.last, ranks.last});
      }
      std::vector<RankClass> solved;
      for (const RangeByJob& part : parts) {
        auto one = solve(part);
        if (!one) {
          if (!first_failure) first_failure = one.failure();
          break;
        }
        solved.push_back(std::move(*one));
      }
      if (solved.size() != parts.size()) continue;
      for (RankClass& each : solved) classes_.push_back(std::move(each));
      return {};
    }
    return *first_failure;
  }

  // One end of a class, at all numbers of ranks: the same rank, or as far from the last one.
  std::optional<CountFunction> endOf(const std::vector<std::int64_t>& ends) const {
    std::int64_t from_last = countOf(0) - ends[0];
    if (ends.size() == 1) {
      return ends[0] * 2 < countOf(0) ? CountFunction{.constant = ends[0]}
                                      : CountFunction{.constant = -from_last, .per_count = 1};
    }
    if (ends[0] == ends[1]) return CountFunction{.constant = ends[0]};
    if (from_last == countOf(1) - ends[1]) {
      return CountFunction{.constant = -from_last, .per_count = 1};
    }
    return {};
  }

  base::Result<RankClass> solve(const RangeByJob& range) {
    RankClass result;
    std::vector<std::int64_t> firsts;
    std::vector<std::int64_t> lasts;
    for (const RankRange& ranks : range) {
      firsts.push_back(ranks.first);
      lasts.push_back(ranks.last);
    }
    const auto first = endOf(firsts);
    const auto last = endOf(lasts);
    if (!first || !last) {
      return refusal(fmt::format(
          "{} of {} do the same, and {} of {}: it is not known which of {} do", rangeText(range[0]),
          countOf(0), rangeText(range[1]), countOf(1), settings_.ranks));
    }
    result.first = *first;
    result.last = *last;
    const std::size_t last_job = jobs_.size() - 1;
    const auto& threads = threads_[last_job][static_cast<std::size_t>(range[last_job].first)];
    for (std::size_t t = 0; t < threads.size(); ++t) {
      RankThread& thread = result.threads.emplace_back();
      thread.head = jobs_[last_job].schedule->threads()[threads[t]].head;
      if (const auto solved = solveThread(range, t, thread); !solved) return solved.failure();
    }
    return result;
  }

  base::Result<void> solveThread(const RangeByJob& range, std::size_t t, RankThread& thread) {
    std::vector<std::vector<RankEventReader>> readers(jobs_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      for (std::int64_t rank = range[j].first; rank <= range[j].last; ++rank) {
        readers[j].push_back(readerOf(j, rank, t));
      }
    }
    std::vector<std::vector<FullEvent>> now(jobs_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) now[j].resize(readers[j].size());
    for (std::uint64_t number = 0;; ++number) {
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        for (std::size_t r = 0; r < readers[j].size(); ++r) {
          if (!readers[j][r].next(now[j][r])) return {};
        }
      }
      RankEvent& event = thread.events.emplace_back();
      takeCommon(now, event);
      std::vector<RankValues> values(jobs_.size());
      for (std::size_t i = 0; i < now[0][0].numbers.size(); ++i) {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
          values[j].count = countOf(j);
          values[j].first = range[j].first;
          values[j].values.clear();
          for (const FullEvent& each : now[j]) values[j].values.push_back(each.numbers[i]);
        }
        const auto fitted = pattern::fitRanksAndCounts(values, settings_.scaling);
        // Ranks wait for the same thread and event of others, whichever rank they are.
        const std::size_t of_run = now[0][0].numbers.size() - i;
        const bool is_fixed = of_run <= now[0][0].runs * kNumbersOfRun &&
                              (of_run % kNumbersOfRun == 1 || of_run % kNumbersOfRun == 2);
        if (!fitted || (is_fixed && fitted->per_rank != CountFunction{}))
          return notAffine(range, t, number, i, values);
        if (fallsInWeak(event.kind, i, *fitted)) return falls(range, t, number, i, values);
        event.numbers.push_back(*fitted);
      }
    }
  }

  // A part of a rank that gets smaller does not stay as large as it is.
  bool fallsInWeak(std::uint32_t kind, std::size_t index, const RankCountFunction& number) const {
    const KindFacts& facts = jobs_[0].schedule->factsOf(kind);
    if (settings_.scaling != pattern::Scaling::kWeak || index >= facts.keys.size()) return false;
    const std::string& key = facts.keys[index];
    const bool is_bytes = key == "count" || key == "size" || key == "length" ||
                          (key == "result" && facts.counts_bytes && (facts.reads || facts.writes));
    return is_bytes && number.base.per_count < 0;
  }

  // "count of pwrite on out.dat, call 3 of rank 0, falls from 4096 with 4 ranks to 1024 with 16"
  base::Failure falls(const RangeByJob& range, std::size_t t, std::uint64_t number,
                      std::size_t index, const std::vector<RankValues>& values) const {
    RankEventReader reader = readerOf(0, range[0].first, t);
    FullEvent event;
    for (std::uint64_t i = 0; i <= number; ++i) {
      if (!reader.next(event, true)) return refusal("the recorded events cannot be read again");
    }
    const std::string file = fileOf(0, range[0].first, event);
    const bool is_up = values[0].count < values[1].count;
    const RankValues& few = values[is_up ? 0 : 1];
    const RankValues& many = values[is_up ? 1 : 0];
    return refusal(
        fmt::format("{} of {}{}, call {} of rank {}, falls from {} with {} ranks to {} with {}: "
                    "where all ranks "
                    "share a total, say --scaling strong",
                    event.labels[index], commandOf(event),
                    file.empty() ? "" : fmt::format(" on {}", base::printable(file)), number,
                    range[0].first, few.values[0], few.count, many.values[0], many.count));
  }

  // All that ranks of the class have in common, and the means of their times, at the last number of
  // ranks.
  void takeCommon(const std::vector<std::vector<FullEvent>>& now, RankEvent& event) const {
    const std::vector<FullEvent>& last = now.back();
    const FullEvent& first = last.front();
    event.kind = first.record.kind;
    event.names = first.names;
    event.types = first.types;
    event.runs = first.runs;
    event.reason = first.reason;
    event.ranks = last.size();
    event.measures.assign(first.record.measures.size(), 0);
    const model::LineKinds& lines = jobs_[0].schedule->lines();
    for (const auto& of_job : now) {
      for (const FullEvent& each : of_job) {
        if (lines.paddedNumbers(each.record.kind) > lines.paddedNumbers(event.kind)) {
          event.kind = each.record.kind;
        }
      }
    }
    model::Work from_start;
    std::int64_t waits_for_start = 0;
    for (const FullEvent& each : last) {
      if (each.from_start) {
        ++waits_for_start;
        from_start = from_start + *each.from_start;
        event.start_reason = each.start_reason;
      }
      for (std::size_t m = 0; m < event.measures.size() && m < each.record.measures.size(); ++m) {
        event.measures[m] = base::saturatingSum(event.measures[m], each.record.measures[m]);
      }
      event.work = event.work + each.work;
    }
    const auto ranks = static_cast<std::int64_t>(last.size());
    event.work = {.compute_ns = event.work.compute_ns / ranks,
                  .communication_ns = event.work.communication_ns / ranks};
    if (waits_for_start == 0) return;
    event.from_start =
        model::Work{.compute_ns = from_start.compute_ns / waits_for_start,
                    .communication_ns = from_start.communication_ns / waits_for_start};
  }

  // "offset of pwrite on out.dat, call 12 of ranks 0 to 15, is 0, 4096, ..."
  base::Failure notAffine(const RangeByJob& range, std::size_t t, std::uint64_t number,
                          std::size_t index, const std::vector<RankValues>& values) const {
    std::size_t job = 0;
    while (job + 1 < values.size() && values[job].step()) ++job;
    std::size_t at = 0;
    const std::vector<std::int64_t>& own = values[job].values;
    while (at + 2 < own.size() && own[at + 2] - own[at + 1] == own[1] - own[0]) ++at;
    const std::int64_t rank = values[job].step() || own.size() < 3
                                  ? range[job].first
                                  : range[job].first + static_cast<std::int64_t>(at) + 2;
    RankEventReader reader = readerOf(job, rank, t);
    FullEvent event;
    for (std::uint64_t i = 0; i <= number; ++i) {
      if (!reader.next(event, true)) return refusal("the recorded events cannot be read again");
    }
    const std::string file = fileOf(job, rank, event);
    std::string shown;
    for (std::size_t j = 0; j < values.size(); ++j) {
      constexpr std::size_t kMostShown = 5;
      const auto& all = values[j].values;
      shown += fmt::format(
          "{}{}{} in {} of {}", j == 0 ? "" : ", and ",
          fmt::join(all.begin(),
                    all.begin() + static_cast<std::ptrdiff_t>(std::min(kMostShown, all.size())),
                    ", "),
          all.size() > kMostShown ? ", ..." : "", rangeText(range[j]), values[j].count);
    }
    return refusal(fmt::format(
        "{} of {}{}, call {} of rank {}, is not affine in the rank and the number of ranks: {}",
        event.labels[index], commandOf(event),
        file.empty() ? "" : fmt::format(" on {}", base::printable(file)), number, rank, shown));
  }

  // The file that the event names, or that of its descriptor; empty: neither.
  std::string fileOf(std::size_t job, std::int64_t rank, const FullEvent& event) const {
    if (!event.names.empty()) return event.names.front();
    const RecordedSchedule& schedule = *jobs_[job].schedule;
    const std::vector<std::string>& keys = schedule.factsOf(event.record.kind).keys;
    const auto fd = std::ranges::find(keys, "fd");
    if (fd == keys.end()) return {};
    const auto* made = schedule.madeOf(
        static_cast<int>(rank), event.record.numbers[static_cast<std::size_t>(fd - keys.begin())]);
    if (made == nullptr || made->file == model::kNoFileNumber) return {};
    return schedule.files()[static_cast<std::size_t>(made->file)].location;
  }

  // From one number of ranks: more ranks are such of the largest class. Those before it are counted
  // from the first rank, and those behind it from the last one.
  base::Result<void> letOneGrow() {
    const std::int64_t count = countOf(0);
    const auto size = [count](const RankClass& each) {
      return each.last.at(count).value_or(0) - each.first.at(count).value_or(0) + 1;
    };
    const auto largest = std::ranges::max_element(
        classes_, [&](const RankClass& a, const RankClass& b) { return size(a) < size(b); });
    if (size(*largest) < 2) {
      return refusal(
          fmt::format("each of {} ranks does other things: give a trace at another "
                      "number of ranks",
                      count));
    }
    for (auto each = classes_.begin(); each != classes_.end(); ++each) {
      const std::int64_t first = each->first.at(count).value_or(0);
      const std::int64_t last = each->last.at(count).value_or(0);
      const CountFunction from_last{.constant = last - count, .per_count = 1};
      each->first = each <= largest ? CountFunction{.constant = first}
                                    : CountFunction{.constant = first - count, .per_count = 1};
      each->last = each < largest ? CountFunction{.constant = last} : from_last;
    }
    return {};
  }

  // The name of an event's file for the first rank of a class; where it has no name, by the
  // call that made the descriptor.
  std::string fileOfClass(const RankClass& of_class, const RankEvent& event) const {
    if (!event.names.empty()) return event.names.front();
    const std::int64_t count = countOf(0);
    const std::int64_t rank = of_class.first.at(count).value_or(0);
    const RecordedSchedule& schedule = *jobs_[0].schedule;
    const std::vector<std::string>& keys = schedule.factsOf(event.kind).keys;
    const auto fd = std::ranges::find(keys, "fd");
    if (fd == keys.end()) return {};
    const auto& descriptor = event.numbers[static_cast<std::size_t>(fd - keys.begin())];
    const auto* made =
        schedule.madeOf(static_cast<int>(rank), descriptor.at(rank, count).value_or(-1));
    if (made == nullptr) return {};
    if (made->file != model::kNoFileNumber) {
      return schedule.files()[static_cast<std::size_t>(made->file)].location;
    }
    return fmt::format("{}/{}", made->by.thread, made->by.event);
  }

  // From one number of ranks: places in files that ranks share.
  base::Result<void> assumeStrides() {
    const std::int64_t count = countOf(0);
    for (RankClass& of_class : classes_) {
      for (RankThread& thread : of_class.threads) {
        for (RankEvent& event : thread.events) {
          if (const auto taken = takeJob(event); !taken) return taken.failure();
        }
      }
    }
    for (RankClass& of_class : classes_) {
      for (RankThread& thread : of_class.threads) {
        // The first place of each call in each file: what lies before it does not repeat.
        std::map<std::tuple<std::uint32_t, std::size_t, std::string>, std::int64_t> begins;
        for (const bool is_second : {false, true}) {
          for (std::size_t e = 0; e < thread.events.size(); ++e) {
            RankEvent& event = thread.events[e];
            const KindFacts& facts = jobs_[0].schedule->factsOf(event.kind);
            const std::string file = fileOfClass(of_class, event);
            for (std::size_t i = 0; i < facts.keys.size(); ++i) {
              RankCountFunction& number = event.numbers[i];
              if (!isPlaceInFile(facts, i) || number.per_rank.constant == 0) continue;
              const auto begin =
                  begins.try_emplace({facts.symbol, i, file}, number.base.constant).first;
              begin->second = std::min(begin->second, number.base.constant);
              if (!is_second) continue;
              const std::int64_t behind = number.base.constant - begin->second;
              if (behind / count < std::abs(number.per_rank.constant)) continue;
              if (settings_.stride == Stride::kConstant) continue;
              if (settings_.stride == Stride::kByRanks && behind % count == 0) {
                number.base = {.constant = begin->second, .per_count = behind / count};
                continue;
              }
              const std::string what = fmt::format(
                  "{} of {}, call {} of rank {}, is {} behind the first one of these",
                  facts.keys[i], facts.command, e, of_class.first.at(count).value_or(0), behind);
              if (settings_.stride == Stride::kByRanks) {
                return refusal(
                    fmt::format("{}, which is not a multiple of {} ranks (--assume "
                                "strided-by-ranks)",
                                what, count));
              }
              return refusal(
                  fmt::format("{}: a trace at one number of ranks cannot tell whether that is {} "
                              "for each rank, "
                              "or a constant; give a trace at another number of ranks, or --assume "
                              "strided-by-ranks or --assume constant",
                              what, behind / count));
            }
          }
        }
      }
    }
    return {};
  }

  // Ranks that are waited for are as far from the first one or the last one, and groups of all
  // ranks stay such.
  base::Result<void> takeJob(RankEvent& event) {
    const KindFacts& facts = jobs_[0].schedule->factsOf(event.kind);
    const std::size_t runs = event.numbers.size() - event.runs * kNumbersOfRun;
    for (std::size_t i = runs; i < event.numbers.size(); i += kNumbersOfRun) {
      for (RankCountFunction* end : {&event.numbers[i], &event.numbers[i + 1]}) {
        if (end->per_rank == CountFunction{}) end->base = *endOf({end->base.constant});
      }
    }
    std::size_t next = facts.keys.size() + 2 * event.names.size();
    std::size_t type = 0;
    for (const std::string& key : facts.keys) {
      if (!facts.is_mpi || !isTableKey(key)) continue;
      const std::string& text = event.types[type++];
      const auto numbers =
          static_cast<std::size_t>(std::ranges::count(text, FullEvent::kTypeNumber));
      if (key == "group") {
        RankCountFunction& ranks = event.numbers[next + numbers - 1];
        if (ranks.base.constant == countOf(0)) ranks.base = {.per_count = 1};
      } else if (numbers > 1 && settings_.stride != Stride::kConstant) {
        return refusal(
            fmt::format("{} of {} is not a predefined type: a trace at one number of ranks cannot "
                        "tell how it depends on that; give a trace at another number of ranks, or "
                        "--assume constant",
                        key, facts.command));
      }
      next += numbers;
    }
    return {};
  }

  // The numbers of one rank alone are those of the class beside it, where they lie on its line:
  // that one tells what they have of the rank.
  void lendToSingleRanks() {
    const auto is_single = [this](const RankClass& each) {
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        if (each.first.at(countOf(j)) != each.last.at(countOf(j))) return false;
      }
      return true;
    };
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (!is_single(classes_[c])) continue;
      // The nearest ones of several ranks.
      std::size_t before = c;
      while (before > 0 && is_single(classes_[before])) --before;
      std::size_t behind = c;
      while (behind + 1 < classes_.size() && is_single(classes_[behind])) ++behind;
      for (const std::size_t other : {before, behind}) {
        if (!is_single(classes_[other])) lend(classes_[other], classes_[c]);
      }
    }
  }

  void lend(const RankClass& from, RankClass& to) const {
    const auto agree = [&](const RankCountFunction& mine, const RankCountFunction& other) {
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
        const std::int64_t rank = to.first.at(countOf(j)).value_or(0);
        if (mine.at(rank, countOf(j)) != other.at(rank, countOf(j))) return false;
      }
      return true;
    };
    for (std::size_t t = 0; t < to.threads.size() && t < from.threads.size(); ++t) {
      std::map<std::uint32_t, std::vector<const RankEvent*>> by_symbol;
      for (const RankEvent& event : from.threads[t].events) {
        by_symbol[jobs_[0].schedule->factsOf(event.kind).symbol].push_back(&event);
      }
      // Calls of one kind follow each other in the same order in both. The single rank may have
      // more of them, or fewer.
      std::map<std::uint32_t, std::size_t> next;
      for (RankEvent& event : to.threads[t].events) {
        const KindFacts& facts = jobs_[0].schedule->factsOf(event.kind);
        const auto& alike = by_symbol[facts.symbol];
        constexpr std::size_t kMostAhead = 64;
        const std::size_t first = next[facts.symbol];
        for (std::size_t n = first; n < std::min(alike.size(), first + kMostAhead); ++n) {
          bool all_agree = true;
          for (std::size_t i = 0; i < facts.keys.size() && all_agree; ++i) {
            all_agree = agree(event.numbers[i], alike[n]->numbers[i]);
          }
          if (!all_agree) continue;
          for (std::size_t i = 0; i < facts.keys.size(); ++i) {
            event.numbers[i] = alike[n]->numbers[i];
          }
          next[facts.symbol] = n + 1;
          break;
        }
      }
    }
  }

  const std::vector<RecordedJob>& jobs_;
  const RankSettings& settings_;
  std::vector<std::vector<std::vector<std::uint32_t>>> threads_;  // by job and rank
  std::vector<RankClass> classes_;
};

}  // namespace

base::Result<std::vector<RankClass>> rankClassesOf(const std::vector<RecordedJob>& jobs,
                                                   const RankSettings& settings) {
  return ClassFinder(jobs, settings).find();
}

}  // namespace omnio::preprocess::scale
