// The bandwidth of a family of phases by what one start of IOR measured: weight over
//
//   weight / bandwidth of the transfers + opens * time of an open + closes * time of a close
//
// where opens and closes are those that a process of the application made in the family, and the
// rest are IOR's own columns. So the opens and closes that IOR makes and the application does not
// are taken off, and the times of all phases of a family add up to the time of the family.
#pragma once
#include <cstdint>
#include <vector>

#include "core/model/phase_series.hpp"
#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::ior {

// Calls of all processes in the phases of a family. 0 in a model that does not have them.
struct FamilyCalls {
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
  std::uint64_t syncs = 0;
};
FamilyCalls callsOf(const model::Series& family);

// Bandwidths of an operation of the phases, by iteration, in MiB/s. Taken over IOR's total time
// where IOR does not say its parts, or the model lacks the calls of the phases.
std::vector<double> bandwidthsOf(const model::Series& family, std::size_t operation,
                                 const SummaryTest& measured);

}  // namespace omnio::ior
