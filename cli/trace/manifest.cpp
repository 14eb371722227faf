#include "cli/trace/manifest.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <string_view>
#include <system_error>

#include "cli/trace/log_growth.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/wire/info.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;
namespace info = wire::info;
using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

// Under another name first: it appears whole or not at all.
base::Result<fs::path> writeDocument(const fs::path& path, const rapidjson::StringBuffer& text) {
  fs::path draft = path;
  draft += fmt::format(".{}.tmp", getpid());
  std::error_code error;
  {
    std::ofstream out(draft, std::ios::binary);
    out.write(text.GetString(), static_cast<std::streamsize>(text.GetSize()));
    out << '\n';
    out.close();
    if (!out) {
      const int reason = errno;
      fs::remove(draft, error);
      return base::Failure{
          base::Code::kSystem,
          fmt::format("cannot write {}: {}", base::printable(path.native()), strerror(reason))};
    }
  }
  fs::rename(draft, path, error);
  if (error) {
    return base::Failure{
        base::Code::kSystem,
        fmt::format("cannot write {}: {}", base::printable(path.native()), error.message())};
  }
  return path;
}

void put(Writer& json, const char* key, std::string_view value) {
  json.Key(key);
  const std::string text = base::printable(value);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void put(Writer& json, const char* key, std::uint64_t value) {
  json.Key(key);
  json.Uint64(value);
}

void putList(Writer& json, const char* key, std::string_view text, char separator) {
  json.Key(key);
  json.StartArray();
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    const std::string item = base::printable(text.substr(0, end));
    if (!item.empty()) json.String(item.data(), static_cast<rapidjson::SizeType>(item.size()));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  json.EndArray();
}

const char* nameOf(tracefile::Life life) {
  switch (life) {
    case tracefile::Life::kEnded:
      return "ended";
    case tracefile::Life::kReplaced:
      return "replaced by exec";
    case tracefile::Life::kAborted:
      return "aborted";
    case tracefile::Life::kKilled:
      return "killed";
    case tracefile::Life::kRunning:
      return "running";
    case tracefile::Life::kUnknown:
      break;
  }
  return "unknown";
}

void putStops(Writer& json, const tracefile::Stops& stops) {
  put(json, "stops", stops.count);
  put(json, "stopped_ns", static_cast<std::uint64_t>(stops.total_ns));
  json.Key("stopped");
  json.StartArray();
  for (const tracefile::Stop& stop : stops.known) {
    json.StartArray();
    json.Int64(stop.begin_ns);
    json.Int64(stop.end_ns);
    json.EndArray();
  }
  json.EndArray();
}

void putGrowth(Writer& json, const tracefile::Trace& trace) {
  const LogGrowth growth = growthOf(trace);
  put(json, "log_bytes", growth.bytes);
  json.Key("recorded_s");
  json.Double(growth.recorded_s);
  json.Key("log_bytes_per_hour");
  json.Double(growth.bytesPerHour());
}

void putProcess(Writer& json, const tracefile::Process& process) {
  const tracefile::ProcessInfo& facts = process.info;
  json.StartObject();
  put(json, "container", process.container.filename().native());
  put(json, "host", facts.text(info::kHost));
  put(json, "pid", process.pid);
  put(json, "parent_pid", facts.number(info::kParent).value_or(0));
  if (const auto rank = facts.rank()) put(json, "rank", static_cast<std::uint64_t>(*rank));
  put(json, "rank_source", facts.text(info::kRankSource));
  put(json, "program", facts.text(info::kProgram));
  putList(json, "command", facts.text(info::kCommand), '\x01');
  put(json, "directory", facts.text(info::kDirectory));
  put(json, "flavour", facts.text(info::kFlavour));
  put(json, "flavour_reason", facts.text(info::kFlavourReason));
  put(json, "library", facts.text(info::kLibrary));
  if (!facts.text(info::kMpiLibrary).empty()) {
    put(json, "mpi_library", facts.text(info::kMpiLibrary));
  }
  if (!facts.text(info::kMpiRefused).empty()) {
    put(json, "mpi_refused", facts.text(info::kMpiRefused));
  }
  put(json, "rings", facts.text(info::kRingPlace));
  if (const auto limit = facts.number(info::kMaxLogSize)) put(json, "max_log_size", *limit);
  if (const tracefile::Stops stops = tracefile::stopsOf(process); stops.count > 0)
    putStops(json, stops);
  put(json, "end", nameOf(process.life));
  put(json, "logs", process.logs.size());
  if (process.account) {
    put(json, "events_written", process.account->events_written);
    put(json, "events_lost", process.account->events_lost);
  }
  json.EndObject();
}

void putClock(Writer& json, const tracefile::HostClock& clock) {
  put(json, "method", tracefile::nameOf(clock.method));
  json.Key("offset_ns");
  json.Int64(clock.offset_ns);
  if (clock.drift) {
    json.Key("drift_ppm");
    json.Double(clock.drift->ppm);
    json.Key("drift_error_ppm");
    json.Double(clock.drift->error_ppm);
  }
  if (clock.error_ns) {
    json.Key("error_ns");
    json.Int64(*clock.error_ns);
  }
  if (clock.moved_receives > 0) put(json, "moved_receives", clock.moved_receives);
  if (clock.early_receives > 0) put(json, "early_receives", clock.early_receives);
}

// A host whose processes have several clocks stands there once for each.
void putHosts(Writer& json, const tracefile::Trace& trace) {
  json.Key("hosts");
  json.StartArray();
  for (const tracefile::HostClock& host : trace.clocks()) {
    const tracefile::Process& first = *trace.processes()[host.processes.front()];
    json.StartObject();
    put(json, "name", host.host);
    json.Key("ranks");
    json.StartArray();
    for (const int rank : host.ranks) json.Int(rank);
    json.EndArray();
    json.Key("realtime_minus_monotonic_ns");
    json.Int64(static_cast<std::int64_t>(first.begin.realtime_ns - first.begin.monotonic_ns));
    json.Key("clock");
    json.StartObject();
    putClock(json, host);
    json.EndObject();
    // Told by the first process of a node.
    std::string_view mounts;
    for (const std::size_t number : host.processes) {
      if (mounts.empty()) mounts = trace.processes()[number]->info.text(info::kMounts);
    }
    putList(json, "mounts", mounts, '\n');
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

base::Result<fs::path> writeLaunch(const fs::path& directory, const Launch& launch) {
  rapidjson::StringBuffer text;
  Writer json(text);
  json.StartObject();
  put(json, "format", "omnio-launch");
  put(json, "version", 1);
  json.Key("command");
  json.StartArray();
  for (const std::string& word : launch.command) {
    const std::string readable = base::printable(word);
    json.String(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
  }
  json.EndArray();
  put(json, "host", launch.host);
  put(json, "pid", static_cast<std::uint64_t>(launch.pid));
  put(json, "flavour", launch.flavour);
  put(json, "library", launch.library);
  put(json, "started_unix_ns", static_cast<std::uint64_t>(launch.started_ns));
  put(json, "ended_unix_ns", static_cast<std::uint64_t>(launch.ended_ns));
  put(json, "exit_code", static_cast<std::uint64_t>(launch.exit_code));
  put(json, "signal", static_cast<std::uint64_t>(launch.signal));
  put(json, "events_collected", launch.events_collected);
  json.Key("troubles");
  json.StartArray();
  for (const std::string& trouble : launch.troubles) {
    const std::string readable = base::safeText(trouble);
    json.String(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
  }
  json.EndArray();
  json.EndObject();
  return writeDocument(directory / fmt::format("launch-{}-{}.json", launch.host, launch.pid), text);
}

base::Result<fs::path> writeManifest(const tracefile::Trace& trace,
                                     const tracefile::Wholeness& wholeness) {
  rapidjson::StringBuffer text;
  Writer json(text);
  json.StartObject();
  put(json, "format", "omnio-manifest");
  put(json, "version", 1);
  json.Key("whole");
  json.Bool(wholeness.whole);
  json.Key("reasons");
  json.StartArray();
  for (const std::string& reason : wholeness.reasons) {
    const std::string readable = base::safeText(reason);
    json.String(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
  }
  json.EndArray();
  put(json, "ranks_expected", static_cast<std::uint64_t>(wholeness.ranks_expected));
  put(json, "ranks_reporting", static_cast<std::uint64_t>(wholeness.ranks_reporting));
  put(json, "events", wholeness.events);
  put(json, "events_missing", wholeness.events_missing);
  json.Key("notes");
  json.StartArray();
  for (const std::string& note : wholeness.notes) {
    const std::string readable = base::safeText(note);
    json.String(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
  }
  json.EndArray();
  putGrowth(json, trace);

  // The patterns are the same in all processes of a job; the first speaks for them.
  const tracefile::ProcessInfo none;
  const tracefile::ProcessInfo& facts =
      trace.processes().empty() ? none : trace.processes().front()->info;
  put(json, "job", facts.text(info::kJob));
  json.Key("filters");
  json.StartObject();
  putList(json, "exclude", facts.text(info::kExclude), ':');
  putList(json, "include", facts.text(info::kInclude), ':');
  putList(json, "default_exclude", facts.text(info::kDefaultExclude), ':');
  json.EndObject();
  putHosts(json, trace);
  json.Key("processes");
  json.StartArray();
  for (const auto& process : trace.processes()) putProcess(json, *process);
  json.EndArray();
  json.EndObject();
  return writeDocument(trace.directory() / "manifest.json", text);
}

}  // namespace omnio::cli
