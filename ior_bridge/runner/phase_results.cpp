#include "ior_bridge/runner/phase_results.hpp"

#include <algorithm>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

using model::kMiB;
constexpr double kKiB = 1024.0;
// A clock tick: no measured time is less, and a bandwidth has to be finite.
constexpr double kLeastSeconds = 1e-9;

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

bool tested(const PhaseTest& test, model::Operation operation) {
  return std::any_of(
      test.measurements.begin(), test.measurements.end(),
      [&](const PhaseMeasurement& m) { return !m.is_metadata && m.operation == operation; });
}

void putParameters(base::JsonWriter& json, const PhaseTest& test) {
  // IOR writes 0 and 1.
  const auto flag = [&](std::string_view name, bool value) { json.put(name, value ? 1 : 0); };
  json.object("Parameters", [&] {
    json.put("api", test.api);
    json.put("numTasks", test.tasks);
    json.put("repetitions", test.iterations);
    flag("writeFile", tested(test, model::Operation::kWrite));
    flag("readFile", tested(test, model::Operation::kRead));
    flag("filePerProc", !test.shared);
    flag("collective", test.collective);
    flag("randomOffset", test.random);
    flag("fsync", test.fsync);
    // Metadata has none, and IOR's are never 0.
    if (test.request_bytes > 0) json.put("transferSize", test.request_bytes);
    if (test.block_bytes > 0) json.put("blockSize", test.block_bytes);
    json.put("segmentCount", 1);
    json.put("coldReads", test.cold);
    if (test.beyond_cache_turns > 0) json.put("beyondCache", test.beyond_cache_turns);
    if (test.resident_percent >= 0) json.put("residentPercent", test.resident_percent);
  });
}

void putMetadataResult(base::JsonWriter& json, const PhaseTest& test, const PhaseMeasurement& m) {
  const auto calls = static_cast<double>(m.requests);
  json.object([&] {
    json.put("access", model::kMetadataName);
    json.put("operationsPerSecond", operationsPerSecond(m));
    json.put("latency", m.requests > 0 ? m.total_s * test.tasks / calls : 0.0);
    json.put("openTime", m.metadata_s);
    json.put("wrRdTime", m.transfer_s);
    json.put("closeTime", m.sync_s);
    json.put("waitingTime", m.waiting_s);
    json.put("totalTime", m.total_s);
    json.put("operations", m.requests);
  });
}

void putResult(base::JsonWriter& json, const PhaseTest& test, const PhaseMeasurement& m) {
  if (m.is_metadata) return putMetadataResult(json, test, m);
  const double transfer_s = std::max(m.transfer_s, kLeastSeconds);
  const auto requests = static_cast<double>(m.requests);
  json.object([&] {
    json.put("access", model::nameOf(m.operation));
    json.put("bwMiB", bandwidthMibS(m));
    json.put("blockKiB", static_cast<double>(test.block_bytes) / kKiB);
    json.put("xferKiB", static_cast<double>(test.request_bytes) / kKiB);
    json.put("iops", requests / transfer_s);
    json.put("latency", m.requests > 0 ? transfer_s * test.tasks / requests : 0.0);
    json.put("openTime", m.metadata_s);
    json.put("wrRdTime", m.transfer_s);
    json.put("closeTime", m.sync_s);
    json.put("waitingTime", m.waiting_s);
    json.put("totalTime", m.total_s);
    json.put("bytes", m.bytes);
    json.put("requests", m.requests);
  });
}

}  // namespace

namespace {

void putTime(base::JsonWriter& json, const event::IoTime& time) {
  json.put("io_s", seconds(time.total()));
  json.put("data_s", seconds(time.data_ns));
  json.put("metadata_s", seconds(time.metadata_ns));
  json.put("sync_s", seconds(time.sync_ns));
  json.put("waiting_s", seconds(time.waiting_ns));
}

void putRun(base::JsonWriter& json, const WholeRun& run) {
  json.object([&] {
    putTime(json, run.io);
    json.put("slowest_rank", run.slowest_rank);
    json.object("outside", [&] { putTime(json, run.outside); });
    json.put("sum_s", seconds(run.sum_ns));
    json.put("chain_s", seconds(run.chain_ns));
    json.put("makespan_s", seconds(run.makespan_ns));
    json.put("operations", run.operations);
    json.put("differences", run.differences);
    json.put("not_issued", run.not_issued);
    if (run.differences > 0) json.put("first_difference", run.first_difference);
    json.put("lateness_mean_s", run.lateness_mean_ns / 1e9);
  });
}

void putIdentity(base::JsonWriter& json, const PhaseResults& results) {
  const ResultsIdentity& of = results.identity;
  json.object("of", [&] {
    json.put("model", of.model_digest);
    if (!of.schedule_digest.empty()) json.put("schedule", of.schedule_digest);
    json.put("target", base::printable(results.target));
    json.put("mount", base::printable(of.mount));
    json.put("target_bytes", of.target_bytes);
    json.put("hosts", of.hosts);
    json.put("mpi", of.mpi);
    json.put("memory_bytes", of.memory_bytes);
    json.put("written_bytes", of.written_bytes);
    json.put("date", of.date);
  });
}

}  // namespace

storage::Moved movedBy(const std::vector<PhaseTest>& tests) {
  storage::Moved moved;
  for (const PhaseTest& test : tests) {
    for (const PhaseMeasurement& m : test.measurements) {
      if (m.is_metadata) continue;
      (m.operation == model::Operation::kRead ? moved.read_bytes : moved.written_bytes) += m.bytes;
    }
  }
  return moved;
}

double bandwidthMibS(const PhaseMeasurement& measurement) {
  return static_cast<double>(measurement.bytes) / kMiB /
         std::max(measurement.total_s, kLeastSeconds);
}

double operationsPerSecond(const PhaseMeasurement& measurement) {
  return static_cast<double>(measurement.requests) / std::max(measurement.total_s, kLeastSeconds);
}

std::string jsonOf(const PhaseResults& results) {
  constexpr base::JsonLayout kLayout{.indent = 2, .decimals = 9};
  return base::jsonDocument(kPhaseResultsFormat, kPhaseResultsVersion, kLayout, [&](auto& json) {
    json.put("Version", "omnio " + results.version);
    json.put("Command line", base::printable(results.command));
    json.put("Machine", base::printable(results.machine));
    putIdentity(json, results);
    if (!results.runs.empty()) {
      json.list("runs", results.runs, [&](const WholeRun& run) { putRun(json, run); });
    }
    storage::putHeldBytes(json, results.held);
    if (!results.storage.empty()) {
      const storage::Moved calls = storage::sumOf(results.storage).calls.value_or(storage::Moved());
      storage::putMeasuredParts(json, calls, results.storage);
      storage::putStorage(json, results.storage);
    }
    int id = 0;
    json.list("tests", results.tests, [&](const PhaseTest& test) {
      json.object([&] {
        json.put("TestID", id++);
        json.put("phase", test.phase);
        json.put("Path", base::printable(results.target));
        putParameters(json, test);
        json.put("Notes", test.notes);
        json.list("Results", test.measurements,
                  [&](const PhaseMeasurement& m) { putResult(json, test, m); });
      });
    });
  });
}

}  // namespace omnio::ior
