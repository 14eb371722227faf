#include "ior_bridge/runner/phase_description.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnio::ior {
namespace {

using model::Operation;

// In what the run differs from the phase.
std::vector<std::string> notesOf(const model::Phase& phase) {
  std::vector<std::string> notes;
  const bool random = phase.mode == model::AccessMode::kRandom;
  for (const model::PhaseOperation& o : phase.operations) {
    if (o.varying && !random) {
      notes.push_back(fmt::format("{}s of {} to {} bytes were run with {}",
                                  model::nameOf(o.operation), o.smallest_bytes, o.largest_bytes,
                                  o.request_bytes));
    }
    if (!o.init_offset.known) {
      notes.push_back(fmt::format(
          "where the {}s go is not known: processes were given regions one behind another",
          model::nameOf(o.operation)));
    }
  }
  if (random && (phase.random.empty() ||
                 std::any_of(phase.random.begin(), phase.random.end(),
                             [](const auto& access) { return access.left_out > 0; }))) {
    notes.emplace_back("requests that the model has not stored were run in a shuffled order");
  }
  return notes;
}

}  // namespace

bool has(const model::Phase& phase, Operation operation) {
  return std::any_of(phase.operations.begin(), phase.operations.end(),
                     [&](const model::PhaseOperation& o) { return o.operation == operation; });
}

bool isShared(const model::PhaseModel& model, const model::Phase& phase) {
  return model.files[static_cast<std::size_t>(phase.file)].shared;
}

RunApi apiOf(const model::Phase& phase, const RunnerOptions& options) {
  if (options.api) return *options.api;
  if (phase.interface == model::Interface::kMpiIo) return RunApi::kMpiIo;
  return phase.interface == model::Interface::kPosix ? RunApi::kPosix : RunApi::kStdio;
}

PhaseTest describe(const model::PhaseModel& model, const model::Phase& phase,
                   const RunnerOptions& options) {
  const model::PhaseOperation& first = phase.operations.front();
  PhaseTest test;
  test.phase = phase.id;
  test.api = nameOf(apiOf(phase, options));
  test.tasks = static_cast<int>(phase.ranks.size());
  test.iterations = options.iterations;
  test.shared = isShared(model, phase);
  test.collective = phase.collective && apiOf(phase, options) == RunApi::kMpiIo;
  test.random = phase.mode == model::AccessMode::kRandom;
  test.fsync = options.fsync && has(phase, Operation::kWrite);
  test.cold = options.cold && has(phase, Operation::kRead);
  test.request_bytes = first.request_bytes;
  test.block_bytes = model::weightOf(phase, first) / phase.ranks.size();
  test.notes = notesOf(phase);
  return test;
}

}  // namespace omnio::ior
