#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/estimate.hpp"

namespace omnio::ior {
namespace {

using Buffer = rapidjson::StringBuffer;
using Writer = rapidjson::PrettyWriter<Buffer>;

constexpr int kVersion = 1;

void text(Writer& out, std::string_view value) {
  const std::string clean = base::safeText(value);
  out.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void spread(Writer& out, const char* key, const Spread& value) {
  out.Key(key);
  out.StartObject();
  out.Key("median");
  out.Double(value.median);
  out.Key("min");
  out.Double(value.least);
  out.Key("max");
  out.Double(value.most);
  out.EndObject();
}

void optional(Writer& out, const char* key, std::optional<double> value) {
  out.Key(key);
  if (value) {
    out.Double(*value);
  } else {
    out.Null();
  }
}

std::optional<double> positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

void texts(Writer& out, const char* key, const std::vector<std::string>& values) {
  out.Key(key);
  out.StartArray();
  for (const std::string& value : values) text(out, value);
  out.EndArray();
}

void phaseOf(Writer& out, const PhaseEstimate& phase, std::optional<double> peak_mib_s) {
  out.StartObject();
  out.Key("phase");
  out.Int(phase.phase);
  out.Key("weight_bytes");
  out.Uint64(phase.weight_bytes);
  out.Key("iterations");
  out.Uint64(phase.iterations);
  out.Key("operations");
  out.StartArray();
  for (const OperationEstimate& o : phase.operations) {
    out.StartObject();
    out.Key("operation");
    text(out, model::nameOf(o.operation));
    out.Key("weight_bytes");
    out.Uint64(o.weight_bytes);
    spread(out, "bandwidth_mib_s", o.bandwidth_mib_s);
    spread(out, "time_io_s", o.time_s);
    out.EndObject();
  }
  out.EndArray();
  spread(out, "time_io_s", phase.time_s);
  optional(out, "measured_s", positive(phase.measured_s));
  optional(out, "time_error_percent", phase.timeErrorPercent());
  optional(out, "bandwidth_error_percent", phase.bandwidthErrorPercent());
  if (peak_mib_s) {
    const std::optional<double> own = phase.measuredBandwidth();
    optional(out, "usage_percent", own ? std::optional(100 * *own / *peak_mib_s) : std::nullopt);
  }
  texts(out, "results", phase.sources);
  texts(out, "notes", phase.notes);
  out.EndObject();
}

}  // namespace

std::string jsonOf(const Estimate& estimate, std::optional<double> peak_mib_s) {
  Buffer buffer;
  Writer out(buffer);
  out.SetIndent(' ', 2);
  out.StartObject();
  out.Key("format");
  out.String("omnio-estimate");
  out.Key("version");
  out.Int(kVersion);
  out.Key("source");
  text(out, estimate.source);
  out.Key("phases");
  out.StartArray();
  for (const PhaseEstimate& phase : estimate.phases) phaseOf(out, phase, peak_mib_s);
  out.EndArray();
  out.Key("missing");
  out.StartArray();
  for (const int phase : estimate.missing) out.Int(phase);
  out.EndArray();
  out.Key("total");
  out.StartObject();
  out.Key("weight_bytes");
  out.Uint64(estimate.weight_bytes);
  spread(out, "time_io_s", estimate.time_s);
  optional(out, "measured_s", positive(estimate.measured_s));
  out.EndObject();
  out.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace omnio::ior
