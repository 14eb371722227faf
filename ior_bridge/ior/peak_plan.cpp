#include "ior_bridge/ior/peak_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

// Large requests, which no system serves more slowly than small ones, around the sizes of the
// stripes and server buffers that are usual.
constexpr std::uint64_t kTransferMiB[] = {1, 4, 16};
constexpr std::uint64_t kBytesInMiB = std::uint64_t{1} << 20;

bool isNameCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_';
}

std::vector<IorRun> runsOn(const IoNode& node, const PeakOptions& options) {
  std::vector<IorRun> runs;
  for (const bool is_file_each : {false, true}) {
    for (const std::uint64_t mib : kTransferMiB) {
      IorRun write;
      write.api = options.api;
      write.tasks = options.tasks;
      write.transfer_bytes = mib * kBytesInMiB;
      write.block_bytes =
          roundedUp(std::max<std::uint64_t>(options.task_bytes, 1), write.transfer_bytes);
      write.file_per_process = is_file_each;
      write.iterations = options.iterations;
      write.several_files = true;
      write.data = fmt::format("peak{}{}-{}-{}m", node.name.empty() ? "" : "-", node.name,
                               is_file_each ? "files" : "shared", mib);
      IorRun read = write;
      write.name = write.data + "-write";
      write.writes = write.fsync = write.keep = true;
      // Neither the page cache of this node nor that of a task's own node has what it reads. The
      // read does not keep the file: IOR removes it.
      read.name = read.data + "-read";
      read.reads = read.cold = read.reordered = true;
      runs.push_back(std::move(write));
      runs.push_back(std::move(read));
    }
  }
  return runs;
}

}  // namespace

base::Result<IoNode> ioNodeOf(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
    return base::failure(base::Code::kInvalid, "\"{}\": an I/O node is given as NAME=DIR",
                         base::printable(word));
  }
  IoNode node{.name = word.substr(0, equals), .directory = word.substr(equals + 1)};
  if (!std::ranges::all_of(node.name, isNameCharacter)) {
    return base::failure(base::Code::kInvalid,
                         "\"{}\": the name of an I/O node has letters, digits, - and _ only",
                         base::printable(word));
  }
  return node;
}

PeakPlan peakPlanFor(const PeakOptions& options) {
  PeakPlan plan{.options = options, .nodes = {}};
  for (const IoNode& node : options.nodes) {
    plan.nodes.push_back({.node = node, .runs = runsOn(node, options)});
  }
  if (plan.nodes.empty()) plan.nodes.push_back({.node = {}, .runs = runsOn({}, options)});
  return plan;
}

}  // namespace omnio::ior
