// Runs of IOR that find the most that a storage system can do: its peak bandwidth for writes and
// for reads.
//
// Mendez, Rexachs, Luque (2012), equations 3 and 4: the peak of an I/O node is the highest
// bandwidth of several runs of IOR, BW_PK(ION) = max BW(ION). Where files are spread over several
// I/O nodes, as in a parallel file system, the peak is the sum over them. Each I/O node is measured
// through a directory whose files are on this node alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "ior_bridge/ior/plan.hpp"

namespace omnio::ior {

inline constexpr std::string_view kPeakFormat = "omnio-ior-peak";
inline constexpr int kPeakVersion = 2;

struct IoNode {
  std::string name;  // ASCII letters, digits, - and _; empty: the target as a whole
  std::filesystem::path directory{};  // below the target, unless absolute; empty: the target itself
};
// From "NAME=DIR". Fails with a sentence for another form.
base::Result<IoNode> ioNodeOf(const std::string& word);

struct PeakOptions {
  Api api = Api::kPosix;
  int tasks = 1;
  std::uint64_t task_bytes = std::uint64_t{1} << 30;  // what a task transfers in a run, at least
  int iterations = 3;
  std::vector<IoNode> nodes{};  // none: the target as a whole
};

struct PeakNode {
  IoNode node;
  // A write and then the read of the same files, for each size of transfers and each kind of file.
  std::vector<IorRun> runs;
};

struct PeakPlan {
  PeakOptions options;
  std::vector<PeakNode> nodes;  // at least one
};

PeakPlan peakPlanFor(const PeakOptions& options);

}  // namespace omnio::ior
