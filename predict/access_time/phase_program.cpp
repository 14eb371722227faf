#include "predict/access_time/phase_program.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/calls/words/names.hpp"
#include "predict/access_time/call_accesses.hpp"

namespace omnio::access_time {

namespace {

using model::AccessMode;
using model::Operation;
using model::Phase;
using model::PhaseOperation;

class PhaseCounter {
 public:
  explicit PhaseCounter(const model::PhaseModel& model) : model_(model) {
    program_.rank_count = model.processes;
    program_.source = model.source;
    program_.ranks.resize(static_cast<std::size_t>(std::max(model.processes, 1)));
  }

  void add(const Phase& phase) {
    double written = 0;
    for (const PhaseOperation& operation : phase.operations) {
      const auto bytes = static_cast<double>(model::weightOf(phase, operation));
      const auto requests = static_cast<double>(model::requestsOf(phase, operation));
      if (requests <= 0) continue;
      program_.moved_bytes += bytes;
      program_.events += requests;
      if (operation.operation == Operation::kWrite) written += bytes;
      count(phase, accessOf(phase, operation, bytes / requests), requests);
    }
    if (written > 0) written_.insert(phase.file);
    if (phase.interface == model::Interface::kMpiIo) {
      program_.mpi_calls +=
          phase.isMetadata()
              ? phase.metadata.operations
              : static_cast<std::uint64_t>(model::requestsOf(phase, phase.operations[0]));
    }
    addCalls(phase, written);
  }

  Program take() { return std::move(program_); }

 private:
  Access accessOf(const Phase& phase, const PhaseOperation& operation, double bytes) {
    const bool is_shared = model_.files[static_cast<std::size_t>(phase.file)].shared;
    Access access{
        .operation =
            operation.operation == Operation::kWrite ? CellOperation::kWrite : CellOperation::kRead,
        .order = AccessOrder::kRandom,
        .sharing = is_shared ? FileSharing::kShared : FileSharing::kOwn,
        // What was written before is there.
        .extends = operation.operation == Operation::kWrite && !written_.contains(phase.file),
        .bytes = bytes,
        .delta_offset =
            operation.displacement_bytes - static_cast<std::int64_t>(operation.request_bytes)};
    if (phase.mode == AccessMode::kSequential) {
      access.order = AccessOrder::kSequential;
      access.delta_offset = 0;
    } else if (phase.mode == AccessMode::kStrided && is_shared && access.delta_offset > 0) {
      access.order = AccessOrder::kStrided;
    } else if (access.delta_offset == 0) {
      access.delta_offset = static_cast<std::int64_t>(operation.request_bytes);
    }
    // As in the calibration: a file grows at its end.
    if (access.extends) {
      access.order = is_shared ? AccessOrder::kStrided : AccessOrder::kSequential;
    }
    return access;
  }

  void addCalls(const Phase& phase, double written) {
    double syncs = 0;
    for (const auto& [name, number] : phase.calls) {
      const auto access = accessOfName(name);
      if (access && predict::isSync(access->operation)) syncs += static_cast<double>(number);
    }
    auto creates = static_cast<double>(phase.metadata.creates);
    for (const auto& [name, number] : phase.calls) {
      auto access = accessOfName(name);
      if (!access) continue;
      auto times = static_cast<double>(number);
      program_.events += times;
      if (access->operation == CellOperation::kOpen && creates > 0) {
        const double made = std::min(times, creates);
        Access create = *access;
        create.operation = CellOperation::kCreate;
        count(phase, create, made);
        creates -= made;
        times -= made;
        if (times <= 0) continue;
      }
      if (access->operation == CellOperation::kOpen && written > 0 &&
          opened_.insert(phase.file).second) {
        access->operation = CellOperation::kCreate;
      }
      if (predict::isSync(access->operation)) access->bytes = written / syncs;
      if (access->operation == CellOperation::kClose && syncs == 0) access->bytes = written / times;
      count(phase, *access, times);
    }
  }

  static std::optional<Access> accessOfName(const std::string& name) {
    for (const calls::Row& row : calls::kTable) {
      if (row.number == 0 || !calls::isNamed(row, name)) continue;
      const bool moves =
          row.call_class == calls::Class::kRead || row.call_class == calls::Class::kWrite;
      return moves ? std::nullopt : accessOfCall(row);
    }
    return {};
  }

  // `times` in all processes of the phase, which share them.
  void count(const Phase& phase, const Access& access, double times) {
    const auto number = static_cast<std::uint32_t>(program_.accesses.size());
    program_.accesses.push_back(access);
    const auto processes = static_cast<double>(phase.ranks.size());
    for (const int rank : phase.ranks) {
      program_.ranks[static_cast<std::size_t>(rank)].counts.push_back(
          {.access = number, .count = times / processes, .processes = processes});
    }
  }

  const model::PhaseModel& model_;
  Program program_;
  std::set<int> written_;  // files
  std::set<int> opened_;
};

}  // namespace

Program programOf(const model::PhaseModel& model) {
  PhaseCounter counter(model);
  for (const Phase& phase : model.phases) counter.add(phase);
  return counter.take();
}

}  // namespace omnio::access_time
