#include "phase_model/local_patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/calls/words/names.hpp"
#include "phase_model/grouping.hpp"

namespace omnio::phases {
namespace {

using model::AccessMode;
using model::Phase;
using model::PhaseOperation;

// The function that made the requests, where the phase has one of that direction alone.
std::string callOf(const Phase& phase, model::Operation operation) {
  const auto wanted =
      operation == model::Operation::kRead ? calls::Class::kRead : calls::Class::kWrite;
  const std::string* found = nullptr;
  for (const auto& [name, count] : phase.calls) {
    const auto is_it = [&](const calls::Row& row) {
      return row.number != 0 && row.call_class == wanted && calls::isNamed(row, name);
    };
    if (!std::ranges::any_of(calls::kTable, is_it)) continue;
    if (found != nullptr) return std::string(nameOf(operation));
    found = &name;
  }
  return found != nullptr ? *found : std::string(nameOf(operation));
}

// Processes with equal values share an entry.
struct Share {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  std::size_t nested = 0;   // index in PhaseOperation::nested
  std::int64_t offset = 0;  // of equal patterns

  auto operator<=>(const Share&) const = default;
};

class OperationPatterns {
 public:
  OperationPatterns(const Phase& phase, const PhaseOperation& operation, Together together)
      : phase_(phase),
        operation_(operation),
        together_(together),
        f_(operation.in_view ? operation.in_view->init_offset : operation.init_offset) {}

  std::vector<LocalPattern> make() const {
    const bool are_alike = together_ == Together::kSimilar && operation_.by_process.empty() &&
                           operation_.nested.size() < 2;
    if (are_alike) return {patternOf(shareOf(phase_.ranks.front()), phase_.ranks)};
    std::map<Share, std::vector<int>> groups;
    for (const int rank : phase_.ranks) groups[shareOf(rank)].push_back(rank);
    std::vector<LocalPattern> patterns;
    for (auto& [share, ranks] : groups) patterns.push_back(patternOf(share, std::move(ranks)));
    std::ranges::sort(patterns, {}, [](const LocalPattern& p) { return p.ranks.front(); });
    return patterns;
  }

 private:
  Share shareOf(int rank) const {
    Share share{.requests = operation_.repetitions,
                .bytes = operation_.request_bytes * operation_.repetitions,
                .smallest = operation_.request_bytes,
                .largest = operation_.request_bytes};
    if (operation_.varying) {
      share.smallest = operation_.smallest_bytes;
      share.largest = operation_.largest_bytes;
    }
    if (const auto* own = model::entryOf(operation_.by_process, rank)) {
      share.requests = own->requests;
      share.bytes = own->bytes;
      share.smallest = own->smallest_bytes;
      share.largest = own->largest_bytes;
    }
    for (std::size_t i = 1; i < operation_.nested.size(); ++i) {
      if (std::ranges::binary_search(operation_.nested[i].ranks, rank)) share.nested = i;
    }
    if (together_ == Together::kEqual && f_.known) share.offset = f_.at(rank);
    return share;
  }

  LocalPattern patternOf(const Share& share, std::vector<int> ranks) const {
    LocalPattern pattern{.file = phase_.file,
                         .operation = operation_.operation,
                         .call = callOf(phase_, operation_.operation),
                         .repetitions = share.requests,
                         .request_bytes = (share.bytes + share.requests / 2) / share.requests,
                         .smallest_bytes = share.smallest,
                         .largest_bytes = share.largest,
                         .is_mean = operation_.varying && operation_.by_process.empty(),
                         .mode = phase_.mode,
                         .phases = {phase_.id}};
    const bool has_nested = !operation_.nested.empty();
    if (operation_.in_view) {
      pattern.etype_bytes = phase_.etype_bytes;
      pattern.displacement = operation_.in_view->displacement;
    } else if (has_nested) {
      pattern.nested = operation_.nested[share.nested].part;
    } else if (phase_.mode != AccessMode::kRandom && share.smallest == share.largest) {
      pattern.displacement = operation_.varying ? static_cast<std::int64_t>(share.smallest)
                                                : operation_.displacement_bytes;
    }
    pattern.init_offset = offsetsOf(ranks);
    pattern.first_tick = phase_.last_tick;
    for (const int rank : ranks) {
      const model::ProcessTicks own = model::ticksOf(phase_, rank);
      pattern.first_tick = std::min(pattern.first_tick, own.first);
      pattern.last_tick = std::max(pattern.last_tick, own.last);
    }
    pattern.ranks = std::move(ranks);
    return pattern;
  }

  model::OffsetFunction offsetsOf(const std::vector<int>& ranks) const {
    if (!f_.known || ranks.size() == phase_.ranks.size()) {
      if (!f_.known || together_ == Together::kSimilar) return f_;
    }
    std::vector<std::pair<int, std::int64_t>> offsets;
    for (const int rank : ranks) offsets.emplace_back(rank, f_.at(rank));
    return fitOffsets(std::move(offsets));
  }

  const Phase& phase_;
  const PhaseOperation& operation_;
  Together together_;
  const model::OffsetFunction& f_;
};

// Patterns in the order of the phases; one that carries on the last one of its processes on the
// file becomes part of it.
class Joiner {
 public:
  // `is_alone`: the phase has no other operation, between whose requests these lie. `in_file`:
  // where the operation begins in the file.
  void add(LocalPattern pattern, bool is_alone, std::int64_t in_file) {
    const std::size_t* const before = lastOfAll(pattern);
    if (is_alone && before != nullptr && ends_[*before].may_go_on &&
        join(all_[*before], pattern, ends_[*before].in_file != in_file)) {
      ends_[*before].in_file = in_file;
      return;
    }
    for (const int rank : pattern.ranks) last_[{pattern.file, rank}] = all_.size();
    all_.push_back(std::move(pattern));
    ends_.push_back({.may_go_on = is_alone, .in_file = in_file});
  }

  std::vector<LocalPattern> take() { return std::move(all_); }

 private:
  // The last pattern on the file of all of these processes, and of no others.
  const std::size_t* lastOfAll(const LocalPattern& pattern) const {
    const std::size_t* last = nullptr;
    for (const int rank : pattern.ranks) {
      const auto own = last_.find({pattern.file, rank});
      if (own == last_.end() || (last != nullptr && own->second != *last)) return nullptr;
      last = &own->second;
    }
    return all_[*last].ranks == pattern.ranks ? last : nullptr;
  }

  // `moves`: the next one is elsewhere in the file. One at the same place in the view is then in
  // another view.
  static bool join(LocalPattern& pattern, const LocalPattern& next, bool moves) {
    const model::OffsetFunction& from = pattern.init_offset;
    const model::OffsetFunction& to = next.init_offset;
    if (pattern.call != next.call || pattern.etype_bytes != next.etype_bytes ||
        pattern.smallest_bytes != pattern.largest_bytes || pattern.is_mean || next.is_mean ||
        pattern.smallest_bytes != next.smallest_bytes ||
        pattern.largest_bytes != next.largest_bytes || !pattern.displacement ||
        !next.displacement || !from.known || !to.known || !from.table.empty() ||
        !to.table.empty() || from.per_rank != to.per_rank || from.grid != to.grid) {
      return false;
    }
    // Models that were made by hand may have any numbers.
    const auto behind_first = static_cast<std::int64_t>(pattern.repetitions - 1);
    std::int64_t last = 0;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(behind_first, *pattern.displacement, &last) ||
        __builtin_add_overflow(last, from.base, &last) ||
        __builtin_sub_overflow(to.base, last, &step)) {
      return false;
    }
    if (pattern.repetitions > 1 && step != *pattern.displacement) return false;
    if (next.repetitions > 1 && step != *next.displacement) return false;
    if (step == 0 && moves) return false;
    pattern.displacement = step;
    pattern.repetitions += next.repetitions;
    pattern.first_tick = std::min(pattern.first_tick, next.first_tick);
    pattern.last_tick = std::max(pattern.last_tick, next.last_tick);
    pattern.phases.insert(pattern.phases.end(), next.phases.begin(), next.phases.end());
    return true;
  }

  std::vector<LocalPattern> all_;
  struct End {
    bool may_go_on = false;
    std::int64_t in_file = 0;  // where the last phase of the pattern begins
  };
  std::vector<End> ends_;                            // by index in `all_`
  std::map<std::pair<int, int>, std::size_t> last_;  // by idF and rank: index in `all_`
};

void putPattern(base::JsonWriter& json, const LocalPattern& p) {
  json.object([&] {
    json.put("ranks", p.ranks);
    json.put("file", p.file);
    json.put("operation", nameOf(p.operation));
    json.put("call", p.call);
    json.put("repetitions", p.repetitions);
    json.put("request_bytes", p.request_bytes);
    json.put("smallest_bytes", p.smallest_bytes);
    json.put("largest_bytes", p.largest_bytes);
    json.put("mean_of_processes", p.is_mean);
    json.put("etype_bytes", p.etype_bytes);
    json.put("displacement", p.displacement);
    json.put("mode", nameOf(p.mode));
    model::putInitOffset(json, p.init_offset);
    json.put("first_tick", p.first_tick);
    json.put("last_tick", p.last_tick);
    json.put("phases", p.phases);
  });
}

}  // namespace

std::vector<LocalPattern> localPatternsOf(const model::PhaseModel& model, Together together) {
  Joiner joiner;
  for (const Phase& phase : model.phases) {
    for (const PhaseOperation& operation : phase.operations) {
      for (LocalPattern& pattern : OperationPatterns(phase, operation, together).make()) {
        const std::int64_t in_file = operation.init_offset.at(pattern.ranks.front());
        joiner.add(std::move(pattern), phase.operations.size() == 1, in_file);
      }
    }
  }
  return joiner.take();
}

std::string localPatternJson(const model::PhaseModel& model) {
  constexpr base::JsonLayout kLayout{.indent = 1, .lists_on_one_line = true};
  return base::jsonDocument("omnio-local-patterns", 1, kLayout, [&](auto& json) {
    json.put("source", model.source);
    json.put("processes", model.processes);
    json.list("files", model.files, [&](const auto& file) { json.value(file.path); });
    json.list("patterns", localPatternsOf(model, Together::kSimilar),
              [&](const LocalPattern& pattern) { putPattern(json, pattern); });
    json.put("left_out", model.left_out);
  });
}

std::string numberListText(const std::vector<int>& numbers) {
  constexpr std::size_t kShown = 6;  // ranges
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < numbers.size(); ++ranges) {
    if (ranges == kShown) return fmt::format("{}, ... ({} in all)", text, numbers.size());
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text +=
        last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace omnio::phases
