#include "preprocess/mpi_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/mpi/datatype.hpp"
#include "core/order/matched_events.hpp"
#include "core/wire/info.hpp"

namespace omnio::preprocess {
namespace {

constexpr char kBetween = ';';  // hints, in a schedule

// The index in a list that holds each item once, as its key tells.
template <typename Item, typename Key>
std::int64_t indexIn(std::vector<Item>& list, std::map<Key, std::int64_t>& indices, Key key,
                     Item item) {
  const auto [index, is_new] =
      indices.try_emplace(std::move(key), static_cast<std::int64_t>(list.size()));
  if (is_new) list.push_back(std::move(item));
  return index->second;
}

}  // namespace

MpiTables::MpiTables(const tracefile::Trace& trace)
    : trace_(trace), groups_(order::mpiGroupsOf(trace)) {}

void MpiTables::opened(std::size_t process, int thread, std::uint64_t group, std::uint32_t handle) {
  group_of_.try_emplace({process, group}, -1);
  const mpi::OwnGroup* const own = groups_.own(static_cast<mpi::ProcessIndex>(process), group);
  if (own == nullptr) return;
  group_at_[{process, handle}] = own->group;
  if (thread != 0) threads_[own->group][own->rank] = thread;
  if (own->rank != 0) return;
  const auto told = [&](std::string_view when) {
    std::string hints = trace_.processes()[process]->info.text(
        fmt::format("{}{}{}", wire::info::kHintsPrefix, handle, when));
    std::ranges::replace(hints, wire::info::kBetweenHints, kBetween);
    return hints;
  };
  hints_[own->group] = told(".given");
  later_hints_[own->group] = told(".set");
}

bool MpiTables::openFailed(std::size_t process, std::uint64_t communicator) {
  if (ranksOf(process, communicator).empty()) return false;
  group_of_.try_emplace({process, communicator}, -1);
  return true;
}

// Of the job; empty where one of them is not known.
std::vector<int> MpiTables::ranksOf(std::size_t process, std::uint64_t number) const {
  std::vector<int> ranks;
  const mpi::OwnGroup* const own = groups_.own(static_cast<mpi::ProcessIndex>(process), number);
  if (own == nullptr) return ranks;
  const mpi::RankGroup& group = groups_.group(own->group);
  for (const mpi::ProcessIndex member : group.members[0]) {
    const std::optional<int> rank =
        member == mpi::kNoProcess ? std::nullopt : trace_.rankOf(*trace_.processes()[member]);
    if (!rank) return {};
    ranks.push_back(*rank);
  }
  return ranks;
}

void MpiTables::settle() {
  std::vector<std::pair<int, std::size_t>> by_rank;
  for (std::size_t i = 0; i < trace_.processes().size(); ++i) {
    by_rank.emplace_back(trace_.rankOf(*trace_.processes()[i]).value_or(-1), i);
  }
  std::ranges::stable_sort(by_rank);
  std::map<std::pair<std::vector<int>, Threads>, std::int64_t> groups;
  std::map<std::string, std::int64_t> types;
  for (const auto& [rank, process] : by_rank) {
    const auto ofProcess = [process = process](Numbers& numbers) {
      return std::ranges::subrange(numbers.lower_bound({process, 0}),
                                   numbers.lower_bound({process + 1, 0}));
    };
    for (auto& [number, place] : ofProcess(group_of_)) {
      std::vector<int> ranks = ranksOf(process, number.second);
      if (ranks.empty()) continue;
      const mpi::OwnGroup* const own =
          groups_.own(static_cast<mpi::ProcessIndex>(process), number.second);
      const auto threads = threads_.find(own->group);
      place =
          indexIn(tables_.groups, groups,
                  std::pair(ranks, threads == threads_.end() ? Threads() : threads->second), ranks);
    }
    for (auto& [number, place] : ofProcess(type_of_)) {
      std::string text = mpi::mpiTypeText(trace_.processes()[process]->info, number.second);
      if (!text.empty()) place = indexIn(tables_.types, types, text, text);
    }
  }
}

std::string MpiTables::hintsOf(std::size_t process, std::uint64_t group) const {
  const mpi::OwnGroup* const own = groups_.own(static_cast<mpi::ProcessIndex>(process), group);
  const auto found = own == nullptr ? hints_.end() : hints_.find(own->group);
  return found == hints_.end() ? std::string() : found->second;
}

std::string MpiTables::laterHintsOf(std::size_t process, std::uint32_t handle) const {
  const auto group = sharersOf(process, handle);
  if (!group) return {};
  const auto found = later_hints_.find(*group);
  return found == later_hints_.end() ? std::string() : found->second;
}

bool MpiTables::isWhole() const {
  const auto is_known = [](const auto& number) { return number.second >= 0; };
  return std::ranges::all_of(group_of_, is_known) && std::ranges::all_of(type_of_, is_known);
}

}  // namespace omnio::preprocess
