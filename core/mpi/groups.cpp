#include "core/mpi/groups.hpp"

#include <optional>

#include "core/base/integers.hpp"
#include "core/wire/info.hpp"

namespace omnio::mpi {
namespace {

// More than any job has, and few enough that a damaged fact costs no memory to speak of.
constexpr std::int64_t kMostRanks = 1 << 22;
// Numbers are dense but for facts that were lost; how many may be, for one that is left.
constexpr std::int64_t kLostForOne = 16;
constexpr std::int64_t kLostForNone = 4096;

std::optional<std::int64_t> numberIn(std::string_view word, std::int64_t limit) {
  const auto number = base::wholeNumber<std::int64_t>(word);
  return number >= 0 && number <= limit ? number : std::nullopt;
}

bool isId(std::string_view word) {
  constexpr std::size_t kMostDigits = 16;
  return !word.empty() && word.size() <= kMostDigits &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool isKind(std::string_view word) {
  return word == "comm" || word == "inter" || word == "window" || word == "file";
}

std::vector<std::int32_t> ranksIn(std::string_view text) {
  std::vector<std::int32_t> ranks;
  while (!text.empty()) {
    const auto rank = numberIn(nextWord(text), kMostRanks);
    if (rank) ranks.push_back(static_cast<std::int32_t>(*rank));
  }
  return ranks;
}

}  // namespace

void MpiGroups::add(const tracefile::ProcessInfo& info) {
  constexpr std::string_view kPrefix = wire::info::kGroupPrefix;
  constexpr std::string_view kSources = wire::info::kSourcesSuffix;
  const auto& facts = info.all();
  own_.emplace_back();
  const std::int64_t limit = static_cast<std::int64_t>(facts.size()) * kLostForOne + kLostForNone;
  for (auto fact = facts.lower_bound(kPrefix); fact != facts.end(); ++fact) {
    std::string_view key = fact->first;
    if (!key.starts_with(kPrefix)) break;
    key.remove_prefix(kPrefix.size());
    const bool of_sources = key.ends_with(kSources);
    if (of_sources) key.remove_suffix(kSources.size());
    const auto number = numberIn(key, limit);
    if (!number || *number == 0) continue;
    std::vector<OwnGroup>& groups = own_.back();
    const auto index = static_cast<std::size_t>(*number - 1);
    if (groups.size() <= index) groups.resize(index + 1);
    if (of_sources) {
      groups[index].sources = ranksIn(fact->second);
    } else {
      take(groups, static_cast<std::uint64_t>(*number), fact->second);
    }
  }
}

// "ID RANK SIZE SIDE REMOTE KIND"
void MpiGroups::take(std::vector<OwnGroup>& groups, std::uint64_t number, std::string_view fact) {
  const std::string_view id = nextWord(fact);
  const auto rank = numberIn(nextWord(fact), kMostRanks);
  const auto size = numberIn(nextWord(fact), kMostRanks);
  const auto side = numberIn(nextWord(fact), 1);
  const auto remote = numberIn(nextWord(fact), kMostRanks);
  const std::string_view kind = nextWord(fact);
  if (!isId(id) || !isKind(kind) || !rank || !size || !side || !remote || *rank >= *size) return;
  const auto own_side = static_cast<std::uint8_t>(*remote > 0 ? *side : 0);
  const auto [entry, is_new] =
      index_.try_emplace(std::string(id), static_cast<GroupIndex>(groups_.size()));
  if (is_new) {
    RankGroup& made = groups_.emplace_back();
    made.id = id;
    made.kind = kind;
    made.size[own_side] = static_cast<std::int32_t>(*size);
    made.size[1 - own_side] = static_cast<std::int32_t>(*remote);
  }
  RankGroup& group = groups_[entry->second];
  // Two facts that contradict each other: the first stands.
  if (*rank >= group.size[own_side]) return;
  std::vector<ProcessIndex>& members = group.members[own_side];
  const auto index = static_cast<std::size_t>(*rank);
  if (members.size() <= index) members.resize(index + 1, kNoProcess);
  if (members[index] == kNoProcess) {
    members[index] = static_cast<ProcessIndex>(own_.size() - 1);
    ++group.known;
  }
  OwnGroup& own = groups[number - 1];
  own.group = entry->second;
  own.rank = static_cast<std::int32_t>(*rank);
  own.side = own_side;
}

const OwnGroup* MpiGroups::own(ProcessIndex process, std::uint64_t number) const {
  if (process >= own_.size() || number == 0 || number > own_[process].size()) return nullptr;
  const OwnGroup& group = own_[process][number - 1];
  return group.group == kNoGroup ? nullptr : &group;
}

ProcessIndex MpiGroups::processOf(GroupIndex group, unsigned side, std::int64_t rank) const {
  if (group >= groups_.size() || side > 1 || rank < 0) return kNoProcess;
  const std::vector<ProcessIndex>& members = groups_[group].members[side];
  const auto index = static_cast<std::size_t>(rank);
  return index < members.size() ? members[index] : kNoProcess;
}

}  // namespace omnio::mpi
