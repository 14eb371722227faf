// Phases of three kinds for tests: 4 processes, requests of 1 MiB.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::test {

inline constexpr std::int64_t kMiB = 1 << 20;

inline model::PhaseOperation operation(model::Operation kind, std::uint64_t repetitions,
                                       std::int64_t displacement, std::int64_t per_rank,
                                       std::int64_t base = 0) {
  model::PhaseOperation o;
  o.operation = kind;
  o.request_bytes = kMiB;
  o.repetitions = repetitions;
  o.displacement_bytes = displacement;
  o.init_offset.base = base;
  o.init_offset.per_rank = per_rank;
  return o;
}

// One phase over all four processes; its weight follows from its operations.
inline model::PhaseModel modelOf(std::vector<model::PhaseOperation> operations,
                                 bool shared = true) {
  model::PhaseModel model;
  model.source = "app.trace";
  model.processes = 4;
  model.files = {{.path = "/data/file", .shared = shared, .size_bytes = 0}};
  model::Phase phase;
  phase.operations = std::move(operations);
  phase.ranks = {0, 1, 2, 3};
  for (const model::PhaseOperation& o : phase.operations) {
    phase.weight_bytes += model::weightOf(phase, o);
  }
  model.phases = {phase};
  return model;
}

// A metadata phase over all four processes, each in a directory of its own or all in one.
inline model::Phase metadataPhase(model::PhaseModel& model,
                                  std::vector<std::pair<std::string, std::uint64_t>> calls,
                                  std::uint64_t creates = 0, bool shared = false) {
  model.files.push_back({.path = shared ? "/data/all" : "/data/rank.{rank}",
                         .shared = shared,
                         .size_bytes = 0,
                         .directory = true});
  model::Phase phase;
  phase.id = model.phases.empty() ? 1 : model.phases.back().id + 1;
  phase.file = static_cast<int>(model.files.size()) - 1;
  phase.interface = model::Interface::kPosix;
  phase.ranks = {0, 1, 2, 3};
  phase.calls = std::move(calls);
  phase.metadata = {.creates = creates, .directories = shared ? 1U : 4U};
  for (const auto& [name, count] : phase.calls) phase.metadata.operations += count;
  return phase;
}

}  // namespace omnio::test
