#include "ior_bridge/runner/schedule_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <system_error>

#include "core/base/printable.hpp"
#include "replay/issue/libc.hpp"
#include "replay/plan/compile.hpp"

namespace omnio::ior {
namespace {

namespace fs = std::filesystem;
constexpr double kNsPerSecond = 1e9;

double seconds(std::int64_t ns) { return static_cast<double>(ns) / kNsPerSecond; }

std::string_view apiOf(const model::Phase& phase) {
  switch (phase.interface) {
    case model::Interface::kMpiIo:
      return nameOf(RunApi::kMpiIo);
    case model::Interface::kStdio:
      return nameOf(RunApi::kStdio);
    default:
      return nameOf(RunApi::kPosix);
  }
}

// The schedule moves what the model says. Where it moves the same in other phases, since those of a
// thread take turns, or asks for more than there was to read, that is noted, by phase.
base::Result<std::map<std::int64_t, std::string>> checkBelongs(const model::PhaseModel& model,
                                                               const replay::Plan& plan,
                                                               const fs::path& schedule) {
  std::map<std::int64_t, std::string> notes;
  const auto refuse = [&](std::string_view why) {
    return base::failure(base::Code::kInvalid, "{}: it is not the schedule of the model: {}",
                         base::printable(schedule.native()), why);
  };
  if (plan.global.ranks != model.processes) {
    return refuse(
        fmt::format("it has {} ranks, the model {} processes", plan.global.ranks, model.processes));
  }
  std::map<std::int64_t, std::uint64_t> bytes;
  std::map<std::int64_t, std::uint64_t> calls;
  for (const replay::PhaseWork& work : plan.phase_work) {
    bytes[work.phase] = work.bytes;
    calls[work.phase] = work.operations;
  }
  std::uint64_t whole = 0;
  std::string first_difference;
  for (const model::Phase& phase : model.phases) {
    if (phase.isMetadata()) {
      if (calls[phase.id] == phase.metadata.operations) continue;
      if (calls[phase.id] == 0) {
        return refuse(fmt::format("phase {} has no calls there, and {} in the model", phase.id,
                                  phase.metadata.operations));
      }
      notes[phase.id] = fmt::format(
          "the schedule has {} calls in it and the model {}: its time is that of what was called",
          calls[phase.id], phase.metadata.operations);
      continue;
    }
    const std::uint64_t moved = bytes[phase.id];
    whole += phase.weight_bytes;
    if (moved == phase.weight_bytes) continue;
    std::string difference = fmt::format("phase {} moves {} bytes there, and {} in the model",
                                         phase.id, moved, phase.weight_bytes);
    if (first_difference.empty()) first_difference = difference;
    notes[phase.id] = fmt::format(
        "the schedule moves {} bytes in it and the model {}: its time is that of what was moved",
        moved, phase.weight_bytes);
  }
  std::uint64_t there = 0;
  for (const auto& [phase, moved] : bytes) {
    const bool is_known = phase == 0 || std::ranges::any_of(model.phases, [&](const auto& each) {
                            return each.id == phase;
                          });
    if (!is_known) return refuse(fmt::format("phase {} is not in the model", phase));
    there += moved;
  }
  constexpr double kMostDifference = 0.01;
  const double difference = std::abs(static_cast<double>(there) - static_cast<double>(whole));
  if (!first_difference.empty() && difference > kMostDifference * static_cast<double>(whole)) {
    return refuse(first_difference);
  }
  return notes;
}

base::Result<void> emptied(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    fs::remove_all(entry->path(), error);
    if (error) break;
  }
  if (error) return base::systemFailure(directory, error.value(), "cannot empty");
  return {};
}

// The slowest rank of a phase, and what all ranks moved in it.
struct PhaseSum {
  event::IoTime slowest;
  std::uint64_t bytes[2] = {0, 0};
  std::uint64_t requests[2] = {0, 0};
  double data_ns[2] = {0, 0};
  std::uint64_t calls = 0;
};

std::map<std::int32_t, PhaseSum> sumsOf(const replay::Report& report) {
  std::map<std::int32_t, PhaseSum> sums;
  for (const replay::PhaseIo& io : report.io) {
    PhaseSum& sum = sums[io.phase];
    if (io.time.total() > sum.slowest.total()) sum.slowest = io.time;
    sum.calls += io.moved.calls;
    for (int i = 0; i < 2; ++i) {
      sum.bytes[i] += io.moved.bytes[i];
      sum.requests[i] += io.moved.requests[i];
      sum.data_ns[i] += static_cast<double>(io.moved.data_ns[i]);
    }
  }
  return sums;
}

WholeRun wholeOf(const replay::Report& report, const std::map<std::int32_t, PhaseSum>& sums) {
  WholeRun run;
  std::map<std::uint32_t, event::IoTime> ranks;
  for (const replay::PhaseIo& io : report.io) ranks[io.rank] += io.time;
  for (const auto& [rank, time] : ranks) {
    if (time.total() <= run.io.total()) continue;
    run.io = time;
    run.slowest_rank = static_cast<int>(rank);
  }
  for (const auto& [phase, sum] : sums) run.sum_ns += sum.slowest.total();
  const auto outside = sums.find(0);
  if (outside != sums.end()) run.outside = outside->second.slowest;
  const replay::RankCounts total = report.total();
  run.chain_ns = report.chain_ns.value_or(0);
  run.makespan_ns = report.makespan_ns;
  run.operations = total.operations;
  run.not_issued = total.substitutes[static_cast<std::size_t>(replay::Substitute::kNotIssued)];
  // A call that could not be made went otherwise, too.
  run.differences = total.differences + run.not_issued;
  run.lateness_mean_ns = total.lateness.mean();
  if (!report.differences.empty()) {
    const replay::Difference& first = report.differences.front();
    run.first_difference =
        fmt::format("rank {}: {} of {}: {} was recorded, got {}", first.rank, first.call,
                    base::printable(first.location), first.expected, first.got);
  }
  if (run.not_issued > 0 && run.first_difference.empty()) {
    run.first_difference =
        fmt::format("{} calls could not be made, as their file was not open", run.not_issued);
  }
  return run;
}

// The phase's time is divided between its operations as the time in their calls was, so that
// weight / bandwidth of both adds up to it.
void addMeasurements(const model::Phase& phase, const PhaseSum& sum, PhaseTest& test) {
  if (phase.isMetadata()) {
    const event::IoTime& time = sum.slowest;
    test.measurements.push_back({.is_metadata = true,
                                 .requests = sum.calls,
                                 .metadata_s = seconds(time.metadata_ns),
                                 .transfer_s = seconds(time.data_ns),
                                 .sync_s = seconds(time.sync_ns),
                                 .waiting_s = seconds(time.waiting_ns),
                                 .total_s = seconds(time.total())});
    return;
  }
  const double data_ns = sum.data_ns[0] + sum.data_ns[1];
  for (const model::PhaseOperation& operation : phase.operations) {
    const int i = operation.operation == model::Operation::kRead ? 1 : 0;
    const double share = data_ns > 0 ? sum.data_ns[i] / data_ns : 1.0;
    const event::IoTime& time = sum.slowest;
    test.measurements.push_back({.operation = operation.operation,
                                 .bytes = sum.bytes[i],
                                 .requests = sum.requests[i],
                                 .metadata_s = share * seconds(time.metadata_ns),
                                 .transfer_s = share * seconds(time.data_ns),
                                 .sync_s = share * seconds(time.sync_ns),
                                 .waiting_s = share * seconds(time.waiting_ns),
                                 .total_s = share * seconds(time.total())});
  }
}

}  // namespace

base::Result<ScheduleRun> runSchedule(const model::PhaseModel& model, const fs::path& schedule,
                                      const fs::path& programs, const RunnerOptions& options,
                                      replay::Session& session, replay::Request& request,
                                      const WholeProgress& progress) {
  const PhaseTeam world(session.world());
  request.schedule = schedule;
  request.output = programs;
  request.targets = {{.directory = options.directory}};
  request.cache = options.cold ? replay::Cache::kCold : replay::Cache::kWarm;
  // What a run has left in the page cache would be written during the next one.
  request.sync = replay::Sync::kFinal;
  request.trace = false;
  request.changes.leave_out_syncs = !options.fsync;
  base::Result<void> ready;
  std::string digest;
  std::map<std::int64_t, std::string> notes;
  if (world.isFirst()) {
    const auto plan =
        replay::compileSchedule(schedule, replay::programsIn(programs), request.changes);
    if (!plan) {
      ready = plan.failure();
    } else {
      digest = plan->schedule_digest;
      auto checked = checkBelongs(model, *plan, schedule);
      if (checked) {
        notes = std::move(*checked);
        if (!options.ignores_room) {
          ready = replay::checkRoom(replay::roomNeeded(*plan, [](std::size_t) { return true; }),
                                    options.directory.parent_path());
        }
      } else {
        ready = checked.failure();
      }
    }
  }
  if (auto agreed = world.agreed(ready); !agreed) return agreed.failure();

  ScheduleRun result;
  result.schedule_digest = world.ofFirst(digest);
  for (const model::Phase& phase : model.phases) {
    PhaseTest& test = result.tests.emplace_back(
        PhaseTest{.phase = phase.id,
                  .api = std::string(apiOf(phase)),
                  .tasks = static_cast<int>(phase.ranks.size()),
                  .iterations = options.iterations,
                  .shared = model.files[static_cast<std::size_t>(phase.file)].shared,
                  .collective = phase.collective,
                  .random = phase.mode == model::AccessMode::kRandom,
                  .fsync = options.fsync,
                  .cold = options.cold});
    if (!phase.isMetadata()) {
      const model::PhaseOperation& first = phase.operations.front();
      test.request_bytes = first.request_bytes;
      test.block_bytes = first.request_bytes * first.repetitions;
    }
    if (const auto note = notes.find(phase.id); note != notes.end()) {
      test.notes.push_back(note->second);
    }
  }
  replay::raw::beginOwnWork();
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    progress(iteration);
    // The files lie as deep below the target as those of an application that has a directory there.
    base::Result<void> made;
    if (world.isFirst() && iteration > 0) made = emptied(options.directory);
    if (auto agreed = world.agreed(made); !agreed) return agreed.failure();
    replay::Replayed replayed = replay::replayOnce(session, request, options.directory);
    world.barrier();
    if (!world.isFirst()) continue;
    const auto sums = sumsOf(replayed.report);
    result.runs.push_back(wholeOf(replayed.report, sums));
    std::ranges::move(replayed.report.storage, std::back_inserter(result.storage));
    for (std::size_t i = 0; i < model.phases.size(); ++i) {
      const auto sum = sums.find(model.phases[i].id);
      addMeasurements(model.phases[i], sum == sums.end() ? PhaseSum() : sum->second,
                      result.tests[i]);
    }
  }
  replay::raw::endOwnWork();
  return result;
}

}  // namespace omnio::ior
