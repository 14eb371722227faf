#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "core/base/printable.hpp"
#include "replay/report.hpp"

namespace omnio::replay {
namespace {

using Json = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void put(Json& json, const char* key, const std::string& text) {
  json.Key(key);
  json.String(base::printable(text).c_str());
}
void put(Json& json, const char* key, std::int64_t number) {
  json.Key(key);
  json.Int64(number);
}
void putCount(Json& json, const char* key, std::uint64_t number) {
  json.Key(key);
  json.Uint64(number);
}

void putCounts(Json& json, const RankCounts& counts) {
  putCount(json, "operations", counts.operations);
  putCount(json, "bytes_read", counts.bytes_read);
  putCount(json, "bytes_written", counts.bytes_written);
  put(json, "io_ns", counts.io_ns);
  put(json, "makespan_ns", counts.end_ns);
  putCount(json, "negative_gaps", counts.negative_gaps);
  putCount(json, "differences", counts.differences);
  putCount(json, "not_issued",
           counts.substitutes[static_cast<std::size_t>(Substitute::kNotIssued)]);
  json.Key("lateness_ns");
  json.StartObject();
  put(json, "max", counts.lateness.max());
  json.Key("mean");
  json.Double(counts.lateness.mean());
  put(json, "p99", counts.lateness.percentile(0.99));
  json.EndObject();
}

}  // namespace

std::string jsonOf(const Report& report) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.SetIndent(' ', 1);
  json.SetFormatOptions(rapidjson::kFormatSingleLineArray);
  json.StartObject();
  put(json, "format", std::string(kReportFormat));
  put(json, "version", std::int64_t{kReportVersion});
  put(json, "schedule", report.schedule);
  put(json, "target", report.target);
  put(json, "tree", report.tree);
  put(json, "time_replay", std::string(nameOf(report.timing)));
  json.Key("write_overwrite");
  json.Bool(report.write_overwrite);
  put(json, "cache", std::string(nameOf(report.cache)));
  put(json, "fence", report.fence);
  json.Key("traced");
  json.Bool(!report.trace.empty());
  put(json, "processes", std::int64_t{report.processes});
  put(json, "nodes", std::int64_t{report.nodes});
  json.Key("spins");
  json.Bool(report.spins);
  json.Key("preparation");
  json.StartObject();
  putCount(json, "files", report.prepared.files);
  putCount(json, "bytes", report.prepared.bytes);
  put(json, "time_ns", report.preparation_ns);
  json.EndObject();
  const RankCounts total = report.total();
  put(json, "makespan_ns", report.makespan_ns);
  put(json, "sync_ns", report.sync_ns);
  put(json, "makespan_with_sync_ns", report.makespan_ns + report.sync_ns);
  json.Key("total");
  json.StartObject();
  putCounts(json, total);
  json.EndObject();
  json.Key("ranks");
  json.StartArray();
  for (const RankCounts& rank : report.ranks) {
    json.StartObject();
    put(json, "rank", std::int64_t{rank.rank});
    putCounts(json, rank);
    json.EndObject();
  }
  json.EndArray();
  json.Key("substitutes");
  json.StartObject();
  for (int i = 1; i < kSubstituteCount; ++i) {
    const std::uint64_t count = total.substitutes[static_cast<std::size_t>(i)];
    if (count > 0) putCount(json, textOf(static_cast<Substitute>(i)), count);
  }
  json.EndObject();
  json.Key("first_differences");
  json.StartArray();
  for (const Difference& difference : report.differences) {
    json.StartObject();
    put(json, "rank", std::int64_t{difference.rank});
    put(json, "thread", std::int64_t{difference.thread});
    putCount(json, "event", difference.event);
    put(json, "call", difference.call);
    put(json, "location", difference.location);
    put(json, "expected", difference.expected);
    put(json, "got", difference.got);
    json.EndObject();
  }
  json.EndArray();
  json.Key("threads");
  json.StartArray();
  for (const ThreadPlace& thread : report.threads) {
    json.StartObject();
    put(json, "rank", std::int64_t{thread.rank});
    put(json, "thread", std::int64_t{thread.thread});
    put(json, "pid", std::int64_t{thread.pid});
    put(json, "tid", std::int64_t{thread.tid});
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return buffer.GetString() + std::string("\n");
}

}  // namespace omnio::replay
