#include "ior_bridge/runner/phase_results.hpp"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>

#include "core/base/printable.hpp"

namespace omnio::ior {
namespace {

using Buffer = rapidjson::StringBuffer;
using Writer = rapidjson::PrettyWriter<Buffer>;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kKiB = 1024.0;
// A clock tick: no measured time is less, and a bandwidth has to be finite.
constexpr double kLeastSeconds = 1e-9;

void text(Writer& out, const char* key, std::string_view value) {
  const std::string clean = base::printable(value);
  out.Key(key);
  out.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void number(Writer& out, const char* key, std::uint64_t value) {
  out.Key(key);
  out.Uint64(value);
}

void real(Writer& out, const char* key, double value) {
  out.Key(key);
  out.Double(value);
}

bool has(const PhaseTest& test, model::Operation operation) {
  return std::any_of(test.measurements.begin(), test.measurements.end(),
                     [&](const PhaseMeasurement& m) { return m.operation == operation; });
}

void parametersOf(Writer& out, const PhaseTest& test) {
  out.Key("Parameters");
  out.StartObject();
  text(out, "api", test.api);
  number(out, "numTasks", static_cast<std::uint64_t>(test.tasks));
  number(out, "repetitions", static_cast<std::uint64_t>(test.iterations));
  number(out, "writeFile", has(test, model::Operation::kWrite));
  number(out, "readFile", has(test, model::Operation::kRead));
  number(out, "filePerProc", !test.shared);
  number(out, "collective", test.collective);
  number(out, "randomOffset", test.random);
  number(out, "fsync", test.fsync);
  number(out, "transferSize", test.request_bytes);
  number(out, "blockSize", test.block_bytes);
  number(out, "segmentCount", 1);
  out.Key("coldReads");
  out.Bool(test.cold);
  if (test.resident_percent >= 0) real(out, "residentPercent", test.resident_percent);
  out.EndObject();
}

void resultOf(Writer& out, const PhaseTest& test, const PhaseMeasurement& m) {
  const double transfer = std::max(m.transfer_s, kLeastSeconds);
  out.StartObject();
  text(out, "access", m.operation == model::Operation::kWrite ? "write" : "read");
  real(out, "bwMiB", bandwidthMibS(m));
  real(out, "blockKiB", static_cast<double>(test.block_bytes) / kKiB);
  real(out, "xferKiB", static_cast<double>(test.request_bytes) / kKiB);
  real(out, "iops", static_cast<double>(m.requests) / transfer);
  real(out, "latency",
       m.requests > 0 ? transfer * test.tasks / static_cast<double>(m.requests) : 0);
  real(out, "openTime", m.open_s);
  real(out, "wrRdTime", m.transfer_s);
  real(out, "closeTime", m.close_s);
  real(out, "totalTime", m.total_s);
  number(out, "bytes", m.bytes);
  out.EndObject();
}

}  // namespace

double bandwidthMibS(const PhaseMeasurement& measurement) {
  return static_cast<double>(measurement.bytes) / kMiB /
         std::max(measurement.total_s, kLeastSeconds);
}

std::string jsonOf(const PhaseResults& results) {
  Buffer buffer;
  Writer out(buffer);
  out.SetIndent(' ', 2);
  out.SetMaxDecimalPlaces(9);
  out.StartObject();
  text(out, "format", kPhaseResultsFormat);
  out.Key("version");
  out.Int(kPhaseResultsVersion);
  text(out, "Version", "omnio " + results.version);
  text(out, "Command line", results.command);
  text(out, "Machine", results.machine);
  out.Key("tests");
  out.StartArray();
  int id = 0;
  for (const PhaseTest& test : results.tests) {
    out.StartObject();
    out.Key("TestID");
    out.Int(id++);
    out.Key("phase");
    out.Int(test.phase);
    text(out, "Path", results.target);
    parametersOf(out, test);
    out.Key("Notes");
    out.StartArray();
    for (const std::string& note : test.notes) out.String(note.c_str());
    out.EndArray();
    out.Key("Results");
    out.StartArray();
    for (const PhaseMeasurement& m : test.measurements) resultOf(out, test, m);
    out.EndArray();
    out.EndObject();
  }
  out.EndArray();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace omnio::ior
