#include "phase_model/grouping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/integers.hpp"
#include "core/pattern/rank_function.hpp"

namespace omnio::phases {

model::OffsetFunction fitOffsets(std::vector<std::pair<int, std::int64_t>> offsets) {
  if (const auto f = pattern::fitRanks(offsets)) return {*f, true, {}};
  return {{}, true, std::move(offsets)};
}

std::string exactSize(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr std::uint64_t kStep = 1024;
  std::size_t unit = 0;
  while (bytes > 0 && bytes % kStep == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string inRequests(std::int64_t bytes, std::uint64_t request_bytes) {
  const bool negative = bytes < 0;
  const std::uint64_t size =
      negative ? -static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
  const std::string sign = negative ? "-" : "";
  if (request_bytes == 0 || size % request_bytes != 0 || size == 0) return sign + exactSize(size);
  const std::uint64_t times = size / request_bytes;
  return sign + (times == 1 ? exactSize(request_bytes)
                            : fmt::format("{} * {}", times, exactSize(request_bytes)));
}

std::string textOf(const model::OffsetFunction& f, std::optional<std::uint64_t> request_bytes) {
  const auto sizeOf = [&](std::int64_t bytes) {
    return request_bytes ? exactSize(static_cast<std::uint64_t>(bytes)) : fmt::format("{}", bytes);
  };
  const auto timesSize = [&](std::int64_t bytes) {
    return request_bytes ? inRequests(bytes, *request_bytes) : fmt::format("{}", bytes);
  };
  if (!f.known) return "not known";
  if (!f.table.empty()) {
    const auto [rank, offset] = f.table.front();
    return fmt::format("a table: rank {} at {}, ...", rank, sizeOf(offset));
  }
  std::vector<std::pair<bool, std::string>> terms;  // whether it is negative
  const auto add = [&](std::string_view factor, std::int64_t bytes) {
    std::string size = timesSize(bytes < 0 ? -bytes : bytes);
    if (bytes != 0) terms.emplace_back(bytes < 0, std::string(factor) + size);
  };
  if (f.per_rank != 0) terms.emplace_back(false, "idP * " + timesSize(f.per_rank));
  std::uint64_t below = 1;  // ranks for which the digit stays the same
  for (const pattern::Dimension& dimension : f.grid) {
    const bool last = &dimension == &f.grid.back();
    const std::string quotient = below == 1 ? "idP" : fmt::format("idP / {}", below);
    if (last) {
      add(below == 1 ? "idP * " : quotient + " * ", dimension.stride);
    } else if (below == 1) {
      add(fmt::format("idP mod {} * ", dimension.count), dimension.stride);
    } else {
      add(fmt::format("({}) mod {} * ", quotient, dimension.count), dimension.stride);
    }
    below *= dimension.count;
  }
  if (terms.empty()) {
    return f.base == 0 ? "0" : sizeOf(f.base);
  }
  add("", f.base);
  std::string text;
  for (const auto& [negative, term] : terms) {
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    text += term;
  }
  return text;
}

namespace {

// Similar patterns are equal in this, operation by operation. Patterns without a constant stride
// are alike in that they have none.
struct LikeOperation {
  model::Operation operation;
  Shape shape;
  bool offset_known;
  std::uint64_t size = 0;
  std::uint64_t requests = 0;
  std::int64_t displacement = 0;

  explicit LikeOperation(const Pattern& pattern)
      : operation(pattern.operation), shape(pattern.shape), offset_known(pattern.offset_known) {
    if (shape != Shape::kConstant) return;
    size = pattern.size;
    requests = pattern.requests;
    displacement = pattern.displacement;
  }
  auto operator<=>(const LikeOperation&) const = default;
};

struct Likeness {
  int file;
  std::uint32_t thread;
  Manner manner;
  std::vector<LikeOperation> operations;

  auto operator<=>(const Likeness&) const = default;
};

using Group = std::vector<const Lap*>;  // one of each rank, by rank

Likeness likenessOf(const Lap& lap, int file) {
  Likeness likeness{.file = file,
                    .thread = lap.thread,
                    .manner = lap.operations.front().manner,
                    .operations = {}};
  for (const Pattern& pattern : lap.operations) likeness.operations.emplace_back(pattern);
  return likeness;
}

// The position of a pattern counts the patterns of its rank on the file that were made in the same
// manner: for collective calls, it is the same call of all processes.
using Kind = std::tuple<int, std::uint32_t, Manner, model::Operation>;  // file, thread, ...
using Positions = std::unordered_map<const Lap*, std::uint64_t>;

Kind kindOf(const Lap& lap, int file) {
  const Pattern& pattern = lap.operations.front();
  return {file, lap.thread, pattern.manner, pattern.operation};
}

Positions positionsOf(const std::vector<Lap>& laps, const std::vector<int>& file_of) {
  Positions positions;
  std::map<std::pair<int, Kind>, std::uint64_t> counts;
  for (std::size_t i = 0; i < laps.size(); ++i) {
    if (laps[i].operations.size() != 1) continue;
    positions[&laps[i]] = counts[{laps[i].rank, kindOf(laps[i], file_of[i])}]++;
  }
  return positions;
}

std::vector<Group> similarOnes(const std::vector<Lap>& laps, const std::vector<int>& file_of) {
  std::map<std::pair<Likeness, std::uint64_t>, Group> groups;
  std::map<std::pair<int, Likeness>, std::uint64_t> turns;
  for (std::size_t i = 0; i < laps.size(); ++i) {
    const Likeness likeness = likenessOf(laps[i], file_of[i]);
    groups[{likeness, turns[{laps[i].rank, likeness}]++}].push_back(&laps[i]);
  }
  std::vector<Group> result;
  for (auto& [what, group] : groups) result.push_back(std::move(group));
  return result;
}

// Whether a group may be one with others of another size.
bool mayBeUneven(const Group& group, const Positions& positions) {
  const Lap& first = *group.front();
  if (first.operations.size() != 1) return false;
  const Pattern& pattern = first.operations.front();
  return pattern.offset_known && pattern.isContiguous() &&
         std::all_of(group.begin(), group.end(),
                     [&](const Lap* lap) { return positions.at(lap) == positions.at(&first); });
}

// Sizes of a group's requests: means, of those that vary.
std::pair<double, double> sizesOf(const Group& group) {
  std::pair<double, double> range{0, 0};
  for (const Lap* lap : group) {
    const Pattern& pattern = lap->operations.front();
    const double mean = static_cast<double>(pattern.bytes) / static_cast<double>(pattern.requests);
    range.first = range.first == 0 ? mean : std::min(range.first, mean);
    range.second = std::max(range.second, mean);
  }
  return range;
}

bool sizesAreNear(const Group& a, const Group& b) {
  const auto [least_a, most_a] = sizesOf(a);
  const auto [least_b, most_b] = sizesOf(b);
  return std::max(most_a, most_b) <= 2 * std::min(least_a, least_b);
}

bool ranksDiffer(const Group& a, const Group& b) {
  std::set<int> ranks;
  for (const Lap* lap : a) ranks.insert(lap->rank);
  return std::none_of(b.begin(), b.end(),
                      [&ranks](const Lap* lap) { return ranks.contains(lap->rank); });
}

bool hasAsManyRequests(const Group& a, const Group& b) {
  const Pattern& one = a.front()->operations.front();
  const Pattern& other = b.front()->operations.front();
  if (one.shape == Shape::kVarying || other.shape == Shape::kVarying) return true;
  return one.requests == other.requests;
}

std::vector<Group> joinUneven(std::vector<Group> groups, const std::vector<Lap>& laps,
                              const std::vector<int>& file_of) {
  const Positions positions = positionsOf(laps, file_of);
  std::map<std::pair<Kind, std::uint64_t>, std::vector<std::size_t>> candidates;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!mayBeUneven(groups[i], positions)) continue;
    const Lap& lap = *groups[i].front();
    const auto index = static_cast<std::size_t>(&lap - laps.data());
    candidates[{kindOf(lap, file_of[index]), positions.at(&lap)}].push_back(i);
  }
  for (const auto& [key, members] : candidates) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      Group& into = groups[members.front()];
      Group& group = groups[members[i]];
      if (!hasAsManyRequests(into, group) || !sizesAreNear(into, group) ||
          !ranksDiffer(into, group)) {
        continue;
      }
      into.insert(into.end(), group.begin(), group.end());
      group.clear();
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.empty(); });
  for (Group& group : groups) {
    std::sort(group.begin(), group.end(),
              [](const Lap* a, const Lap* b) { return a->rank < b->rank; });
  }
  return groups;
}

// Equal for parts that are.
std::string keyOf(const pattern::Part& part) {
  std::string key = fmt::format("{},{},{},{}(", part.offset, part.bytes, part.count, part.stride);
  for (const pattern::Part& each : part.body) key += keyOf(each);
  return key + ')';
}

std::uint64_t roundedMean(std::uint64_t sum, std::uint64_t count) {
  return std::max<std::uint64_t>((sum + count / 2) / count, 1);
}

// Processes with the same requests share an entry.
void addNested(const Group& group, std::size_t index, model::PhaseOperation& operation) {
  if (group.front()->operations[index].shape != Shape::kNested) return;
  std::map<std::string, std::size_t> places;
  for (const Lap* lap : group) {
    const Pattern& pattern = lap->operations[index];
    std::string key = keyOf(pattern.part);
    const auto [place, is_new] = places.try_emplace(std::move(key), operation.nested.size());
    if (is_new) operation.nested.push_back({.ranks = {}, .part = pattern.part});
    operation.nested[place->second].ranks.push_back(lap->rank);
  }
  const std::vector<pattern::Dimension> dimensions =
      pattern::dimensionsOf(operation.nested.front().part);
  if (!dimensions.empty()) operation.displacement_bytes = dimensions.front().stride;
}

// Where the blocks of all processes fill a region: the offsets that whole requests would have, one
// process behind another (the paper's table XI). Whether it is so.
bool makeNominal(const Group& group, std::size_t index, model::PhaseOperation& operation) {
  const Pattern& first = group.front()->operations[index];
  std::int64_t begin = first.lowest;
  std::int64_t end = first.furthest;
  bool blocks = false;
  bool constant = true;
  BytePlaces places;
  for (const Lap* lap : group) {
    const Pattern& pattern = lap->operations[index];
    begin = std::min(begin, pattern.lowest);
    end = std::max(end, pattern.furthest);
    blocks = blocks || pattern.several_blocks;
    constant = constant && pattern.shape == Shape::kConstant;
    places.add(pattern.places);
  }
  BytePlaces region;
  region.add(static_cast<std::uint64_t>(begin), operation.weight_bytes);
  const bool once = operation.requests == group.size();
  const auto turn = static_cast<std::int64_t>(operation.request_bytes * group.size());
  if (!blocks || !constant || places != region ||
      end - begin != static_cast<std::int64_t>(operation.weight_bytes) ||
      (!once && (operation.varying || first.displacement != turn))) {
    return false;
  }
  std::vector<std::pair<int, std::int64_t>> offsets;
  std::int64_t next = begin;
  for (const Lap* lap : group) {
    const Pattern& pattern = lap->operations[index];
    offsets.emplace_back(lap->rank, next);
    next += static_cast<std::int64_t>(once ? pattern.bytes : pattern.size);
  }
  operation.nominal = true;
  operation.init_offset = fitOffsets(std::move(offsets));
  return true;
}

void addByProcess(const Group& group, std::size_t index, model::PhaseOperation& operation) {
  for (const Lap* lap : group) {
    const Pattern& p = lap->operations[index];
    const model::ProcessRequests own{.rank = lap->rank,
                                     .requests = p.requests,
                                     .bytes = p.bytes,
                                     .smallest_bytes = p.smallest,
                                     .largest_bytes = p.largest};
    std::vector<model::ProcessRequests>& all = operation.by_process;
    const bool is_same = !all.empty() && all.back().requests == own.requests &&
                         all.back().bytes == own.bytes &&
                         all.back().smallest_bytes == own.smallest_bytes &&
                         all.back().largest_bytes == own.largest_bytes;
    if (!is_same) all.push_back(own);
  }
}

// Where the operation is in the views, if all processes have one stride there.
void addInView(const Group& group, std::size_t index, model::PhaseOperation& operation) {
  std::vector<std::pair<int, std::int64_t>> offsets;
  const std::optional<ViewRun>& first = group.front()->operations[index].in_view;
  for (const Lap* lap : group) {
    const Pattern& pattern = lap->operations[index];
    const std::optional<ViewRun>& run = pattern.in_view;
    if (!run || run->displacement != first->displacement) return;
    // One place in a view that is set anew before each request is several in the file.
    const bool is_one_place = pattern.shape == Shape::kConstant && pattern.displacement == 0;
    if (pattern.requests > 1 && run->displacement == 0 && !is_one_place) return;
    offsets.emplace_back(lap->rank, run->first);
  }
  operation.in_view = {.init_offset = fitOffsets(std::move(offsets)),
                       .displacement = first->displacement};
}

model::PhaseOperation operationOf(const Group& group, std::size_t index) {
  const Pattern& first = group.front()->operations[index];
  model::PhaseOperation operation;
  operation.operation = first.operation;
  std::vector<std::pair<int, std::int64_t>> offsets;
  operation.smallest_bytes = first.smallest;
  bool same_count = true;
  for (const Lap* lap : group) {
    const Pattern& pattern = lap->operations[index];
    operation.several_blocks = operation.several_blocks || pattern.several_blocks;
    operation.requests += pattern.requests;
    operation.weight_bytes += pattern.bytes;
    operation.smallest_bytes = std::min(operation.smallest_bytes, pattern.smallest);
    operation.largest_bytes = std::max(operation.largest_bytes, pattern.largest);
    same_count = same_count && pattern.requests == first.requests;
    offsets.emplace_back(lap->rank, pattern.offset);
  }
  operation.varying = !same_count || operation.smallest_bytes != operation.largest_bytes;
  operation.request_bytes = roundedMean(operation.weight_bytes, operation.requests);
  operation.repetitions = roundedMean(operation.requests, group.size());
  if (operation.varying) addByProcess(group, index, operation);
  addInView(group, index, operation);
  addNested(group, index, operation);
  if (first.shape == Shape::kConstant && !operation.varying) {
    operation.displacement_bytes = first.displacement;
  } else if (first.isContiguous()) {
    operation.displacement_bytes = static_cast<std::int64_t>(operation.request_bytes);
  }
  if (first.offset_known) {
    if (!makeNominal(group, index, operation)) {
      operation.init_offset = fitOffsets(std::move(offsets));
    }
  } else {
    operation.init_offset.known = false;
  }
  return operation;
}

void addRandom(model::Phase& phase, const Lap& lap) {
  for (std::size_t i = 0; i < lap.operations.size(); ++i) {
    const Pattern& pattern = lap.operations[i];
    if (pattern.shape != Shape::kRandom || !pattern.offset_known) continue;
    phase.random.push_back({.rank = lap.rank,
                            .operation = static_cast<int>(i),
                            .requests = pattern.listed,
                            .left_out = pattern.requests - pattern.listed.size()});
  }
}

model::Phase phaseOf(const Group& group, int file, std::int64_t origin_ns) {
  const Lap& first = *group.front();
  model::Phase phase;
  static_cast<Manner&>(phase) = first.operations.front().manner;
  phase.file = file;
  phase.first_tick = first.operations.front().first_tick;
  phase.begin_ns = first.operations.front().begin_ns;
  phase.end_ns = phase.begin_ns;
  for (std::size_t i = 0; i < first.operations.size(); ++i) {
    phase.operations.push_back(operationOf(group, i));
    phase.weight_bytes += phase.operations.back().weight_bytes;
    phase.mode = std::max(phase.mode, first.operations[i].mode());  // the least regular
  }
  for (const Lap* lap : group) {
    phase.ranks.push_back(lap->rank);
    std::int64_t io_ns = 0;
    model::ProcessTicks own{.rank = lap->rank, .first = UINT64_MAX, .last = 0};
    for (const Pattern& pattern : lap->operations) {
      phase.first_tick = std::min(phase.first_tick, pattern.first_tick);
      phase.last_tick = std::max(phase.last_tick, pattern.last_tick);
      own.first = std::min(own.first, pattern.first_tick);
      own.last = std::max(own.last, pattern.last_tick);
      phase.begin_ns = std::min(phase.begin_ns, pattern.begin_ns);
      phase.end_ns = std::max(phase.end_ns, pattern.end_ns);
      io_ns = base::saturatingSum(io_ns, pattern.io_ns);
    }
    phase.io.data_ns = std::max(phase.io.data_ns, io_ns);
    if (phase.ticks.empty() || phase.ticks.back().first != own.first ||
        phase.ticks.back().last != own.last) {
      phase.ticks.push_back(own);
    }
    addRandom(phase, *lap);
  }
  if (phase.ticks.size() == 1) phase.ticks.clear();
  phase.begin_ns -= origin_ns;
  phase.end_ns -= origin_ns;
  return phase;
}

}  // namespace

std::vector<model::Phase> groupIntoPhases(const std::vector<Lap>& laps,
                                          const std::vector<int>& file_of, std::int64_t origin_ns,
                                          std::vector<int>& phase_of) {
  struct Found {
    model::Phase phase;
    Group group;
  };
  std::vector<Found> found;
  for (Group& group : joinUneven(similarOnes(laps, file_of), laps, file_of)) {
    const auto index = static_cast<std::size_t>(group.front() - laps.data());
    model::Phase phase = phaseOf(group, file_of[index], origin_ns);
    found.push_back({std::move(phase), std::move(group)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& x, const Found& y) {
    const model::Phase& a = x.phase;
    const model::Phase& b = y.phase;
    return std::tie(a.begin_ns, a.file, a.ranks) < std::tie(b.begin_ns, b.file, b.ranks);
  });
  std::vector<model::Phase> phases;
  phase_of.assign(laps.size(), 0);
  for (Found& one : found) {
    one.phase.id = static_cast<int>(phases.size()) + 1;
    for (const Lap* lap : one.group) {
      phase_of[static_cast<std::size_t>(lap - laps.data())] = one.phase.id;
    }
    phases.push_back(std::move(one.phase));
  }
  return phases;
}

}  // namespace omnio::phases
