// Which process of a replay replays which recorded rank. Processes and ranks are numbered from 0.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/text_table.hpp"
#include "replay/plan/plan.hpp"

namespace omnio::replay {

// The ranks that share a process, where there are fewer processes than ranks.
enum class Place : std::uint8_t {
  kRoundRobin,  // processes take ranks in turn
  kBlock,       // neighbours
  kRecorded,    // neighbours among those that shared a node in the recording
};
inline constexpr base::Word<Place> kPlaces[] = {
    {Place::kRoundRobin, "round-robin"}, {Place::kBlock, "block"}, {Place::kRecorded, "recorded"}};

class Placement {
 public:
  Placement(int processes, std::vector<int> process_of_rank)
      : processes_(processes), process_of_rank_(std::move(process_of_rank)) {}

  int processes() const { return processes_; }
  int processOf(std::uint32_t rank) const { return process_of_rank_[rank]; }
  // By process; those without ranks are idle.
  std::vector<std::vector<std::uint32_t>> ranksByProcess() const;

 private:
  int processes_;
  std::vector<int> process_of_rank_;
};

// With as many processes as ranks or more, each rank has one: of its own number or, for
// Place::kRecorded, in the order of the nodes, so that those of a node follow each other. Ranks
// that make calls of MPI-IO together have the process of their number in any case.
Placement placementOf(const Plan& plan, int processes, Place place);

// Fails where calls of MPI-IO need a process for each rank, and there are fewer or more.
base::Result<void> checkProcesses(const Plan& plan, int processes);

// "0-3, 8": numbers in ascending order.
std::string rangesText(const std::vector<std::uint32_t>& numbers);

}  // namespace omnio::replay
