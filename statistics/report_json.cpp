#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "statistics/report.hpp"

namespace omnio::stats {
namespace {

using Buffer = rapidjson::StringBuffer;
using Writer = rapidjson::Writer<Buffer>;

constexpr int kVersion = 1;
constexpr int kDecimals = 3;

void key(Writer& out, std::string_view name) {
  out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

void text(Writer& out, std::string_view value) {
  out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void number(Writer& out, std::string_view name, std::uint64_t value) {
  key(out, name);
  out.Uint64(value);
}

void summary(Writer& out, std::string_view name, const Summary& s) {
  key(out, name);
  out.StartObject();
  number(out, "count", s.count);
  number(out, "total", s.total);
  number(out, "min", s.least);
  number(out, "max", s.most);
  key(out, "average");
  out.Double(s.average());
  out.EndObject();
}

void transfer(Writer& out, std::string_view name, const Transfer& t) {
  key(out, name);
  out.StartObject();
  summary(out, "size_bytes", t.size_bytes);
  summary(out, "time_ns", t.time_ns);
  number(out, "begins", t.begins);
  key(out, "bandwidth_mib_s");
  out.Double(t.bandwidthMibS());
  out.EndObject();
}

void group(Writer& out, const Group& g) {
  out.StartObject();
  key(out, "name");
  text(out, g.name);
  key(out, "operations");
  out.StartObject();
  for (int c = 0; c < calls::kClassCount; ++c) {
    number(out, calls::className(static_cast<calls::Class>(c)),
           g.operations[static_cast<std::size_t>(c)]);
  }
  out.EndObject();
  number(out, "failed", g.failed);
  transfer(out, "read", g.read);
  transfer(out, "write", g.write);
  summary(out, "time_ns", g.time_ns);
  summary(out, "mpi_sync_ns", g.mpi_sync_ns);
  number(out, "mpi_sync_failed", g.mpi_sync_failed);
  out.EndObject();
}

void wholeness(Writer& out, const Report& report) {
  const tracefile::Wholeness& w = report.wholeness;
  key(out, "trace");
  out.StartObject();
  key(out, "path");
  text(out, base::printable(report.trace));
  key(out, "whole");
  out.Bool(w.whole);
  key(out, "reasons");
  out.StartArray();
  for (const std::string& reason : w.reasons) text(out, base::safeText(reason));
  out.EndArray();
  key(out, "notes");
  out.StartArray();
  for (const std::string& note : w.notes) text(out, base::safeText(note));
  out.EndArray();
  number(out, "ranks_expected", static_cast<std::uint64_t>(w.ranks_expected));
  number(out, "ranks_reporting", static_cast<std::uint64_t>(w.ranks_reporting));
  number(out, "processes", w.processes);
  number(out, "events", w.events);
  number(out, "stalled_ns", w.stalled_ns);
  number(out, "events_missing", w.events_missing);
  key(out, "events_missing_at_least");
  out.Bool(w.at_least);
  out.EndObject();
}

// What is not known is null.
void orNull(Writer& out, std::string_view name, std::optional<double> value) {
  key(out, name);
  if (value) {
    out.Double(*value);
  } else {
    out.Null();
  }
}

void clock(Writer& out, const tracefile::HostClock& c) {
  out.StartObject();
  key(out, "host");
  text(out, base::printable(c.host));
  key(out, "ranks");
  out.StartArray();
  for (const int rank : c.ranks) out.Int(rank);
  out.EndArray();
  key(out, "method");
  text(out, tracefile::nameOf(c.method));
  key(out, "offset_ns");
  out.Int64(c.offset_ns);
  orNull(out, "drift_ppm", c.drift ? std::optional(c.drift->ppm) : std::nullopt);
  orNull(out, "drift_error_ppm", c.drift ? std::optional(c.drift->error_ppm) : std::nullopt);
  key(out, "error_ns");
  if (c.error_ns) {
    out.Int64(*c.error_ns);
  } else {
    out.Null();
  }
  if (c.moved_receives > 0) {
    key(out, "moved_receives");
    out.Uint64(c.moved_receives);
    key(out, "moved_most_ns");
    out.Int64(c.moved_most_ns);
  }
  if (c.early_receives > 0) {
    key(out, "early_receives");
    out.Uint64(c.early_receives);
  }
  out.EndObject();
}

}  // namespace

std::string jsonOf(const Report& report) {
  Buffer buffer;
  Writer out(buffer);
  out.SetMaxDecimalPlaces(kDecimals);
  out.StartObject();
  key(out, "format");
  text(out, "omnio-stats");
  key(out, "version");
  out.Int(kVersion);
  wholeness(out, report);
  key(out, "clocks");
  out.StartArray();
  for (const tracefile::HostClock& c : report.clocks) clock(out, c);
  out.EndArray();
  key(out, "by");
  text(out, nameOf(report.by));
  key(out, "rank");
  if (report.rank) {
    out.Int(*report.rank);
  } else {
    out.Null();
  }
  number(out, "events_below", report.events_below);
  key(out, "recording_ns");
  out.Double(report.recording_ns);
  key(out, "total");
  group(out, report.total);
  key(out, "groups");
  out.StartArray();
  for (const Group& g : report.groups) group(out, g);
  out.EndArray();
  out.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace omnio::stats
