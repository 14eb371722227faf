#include "cli/trace/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <string_view>
#include <system_error>

#include "core/base/document_file.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/wire/info.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;
namespace info = wire::info;
using base::JsonWriter;

constexpr base::JsonLayout kLayout{.indent = 4};
constexpr double kNsPerS = 1e9;

struct Lifetime {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

Lifetime lifetimeOf(const tracefile::Process& process) {
  const auto at = [&process](std::uint64_t ticks) {
    return process.clock->segmentOf(ticks).ns(ticks);
  };
  Lifetime life{.begin_ns = at(process.begin.ticks), .end_ns = at(process.begin.ticks)};
  // The account of a killed process ends at the moment it was collected.
  if (process.account && process.account->state != wire::AccountState::kCollected) {
    life.end_ns = std::max(life.end_ns, at(process.account->end.ticks));
  }
  for (const tracefile::StoredChunk& chunk : process.chunks) {
    life.end_ns = std::max(life.end_ns, at(chunk.header.base_ticks));
  }
  return life;
}

}  // namespace

double LogGrowth::bytesPerHour() const {
  constexpr double kSecondsPerHour = 3600;
  return recorded_s > 0 ? static_cast<double>(bytes) / recorded_s * kSecondsPerHour : 0;
}

LogGrowth growthOf(const tracefile::Trace& trace) {
  LogGrowth growth;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  double lived_ns = 0;
  double stopped_ns = 0;
  for (const auto& process : trace.processes()) {
    std::error_code error;
    const auto size = std::filesystem::file_size(process->container, error);
    if (!error) growth.bytes += size;
    // One that could create no file tells no times.
    if (process->clock == nullptr || process->begin.ticks == 0) continue;
    const Lifetime life = lifetimeOf(*process);
    first = std::min(first, life.begin_ns);
    last = std::max(last, life.end_ns);
    lived_ns += static_cast<double>(life.end_ns - life.begin_ns);
    stopped_ns += static_cast<double>(tracefile::stopsOf(*process).total_ns);
  }
  if (lived_ns > 0 && last > first) {
    const double share = std::max(0.0, 1 - stopped_ns / lived_ns);
    growth.recorded_s = static_cast<double>(last - first) / kNsPerS * share;
  }
  return growth;
}

std::string growthText(const LogGrowth& growth) {
  const std::string size = base::humanBytes(static_cast<double>(growth.bytes));
  if (growth.recorded_s < 1) return size;
  return fmt::format("{} in {:.1f} s, {} an hour", size, growth.recorded_s,
                     base::humanBytes(growth.bytesPerHour()));
}

namespace {

// Names from outside, one behind the other.
void putNames(JsonWriter& json, std::string_view key, std::string_view names, char separator) {
  json.key(key);
  json.beginList();
  for (const auto part : std::views::split(names, separator)) {
    const std::string name = base::printable(std::string_view(part.begin(), part.end()));
    if (!name.empty()) json.value(name);
  }
  json.endList();
}

void putSentences(JsonWriter& json, std::string_view key,
                  const std::vector<std::string>& sentences) {
  json.list(key, sentences,
            [&json](const std::string& sentence) { json.value(base::safeText(sentence)); });
}

using tracefile::Life;

constexpr base::Word<Life> kLives[] = {
    {Life::kEnded, "ended"},   {Life::kReplaced, "replaced by exec"}, {Life::kAborted, "aborted"},
    {Life::kKilled, "killed"}, {Life::kRunning, "running"},           {Life::kUnknown, "unknown"}};

void putProcess(JsonWriter& json, const tracefile::Process& process) {
  const tracefile::ProcessInfo& facts = process.info;
  const auto put_text = [&](std::string_view key, std::string_view fact) {
    json.put(key, base::printable(facts.text(fact)));
  };
  json.put("container", base::printable(process.container.filename().native()));
  put_text("host", info::kHost);
  json.put("pid", process.pid);
  json.put("parent_pid", facts.number(info::kParent).value_or(0));
  if (const auto rank = facts.rank()) json.put("rank", *rank);
  put_text("rank_source", info::kRankSource);
  put_text("program", info::kProgram);
  putNames(json, "command", facts.text(info::kCommand), '\x01');
  put_text("directory", info::kDirectory);
  put_text("flavour", info::kFlavour);
  put_text("flavour_reason", info::kFlavourReason);
  put_text("library", info::kLibrary);
  if (!facts.text(info::kMpiLibrary).empty()) put_text("mpi_library", info::kMpiLibrary);
  if (!facts.text(info::kMpiRefused).empty()) put_text("mpi_refused", info::kMpiRefused);
  put_text("rings", info::kRingPlace);
  if (const auto limit = facts.number(info::kMaxLogSize)) json.put("max_log_size", *limit);
  if (const tracefile::Stops stops = tracefile::stopsOf(process); stops.count > 0) {
    json.put("stops", stops.count);
    json.put("stopped_ns", stops.total_ns);
    json.list("stopped", stops.known, [&json](const tracefile::Stop& stop) {
      json.value(std::array{stop.begin_ns, stop.end_ns});
    });
  }
  json.put("end", base::wordOf(kLives, process.life));
  json.put("logs", process.logs.size());
  if (process.account) {
    json.put("events_written", process.account->events_written);
    json.put("events_lost", process.account->events_lost);
  }
}

void putClock(JsonWriter& json, const tracefile::HostClock& clock) {
  json.put("method", tracefile::nameOf(clock.method));
  json.put("offset_ns", clock.offset_ns);
  if (clock.drift) {
    json.put("drift_ppm", clock.drift->ppm);
    json.put("drift_error_ppm", clock.drift->error_ppm);
  }
  if (clock.error_ns) json.put("error_ns", *clock.error_ns);
  if (clock.moved_receives > 0) {
    json.put("moved_receives", clock.moved_receives);
    json.put("moved_most_ns", clock.moved_most_ns);
  }
  if (clock.early_receives > 0) json.put("early_receives", clock.early_receives);
}

void putHost(JsonWriter& json, const tracefile::Trace& trace, const tracefile::HostClock& host) {
  const tracefile::Process& first = *trace.processes()[host.processes.front()];
  json.put("name", base::printable(host.host));
  json.put("ranks", host.ranks);
  json.put("realtime_minus_monotonic_ns",
           static_cast<std::int64_t>(first.begin.realtime_ns - first.begin.monotonic_ns));
  json.object("clock", [&] { putClock(json, host); });
  // Told by the first process of a node.
  std::string_view mounts;
  for (const std::size_t number : host.processes) {
    if (mounts.empty()) mounts = trace.processes()[number]->info.text(info::kMounts);
  }
  putNames(json, "mounts", mounts, '\n');
}

}  // namespace

base::Result<void> writeLaunch(const fs::path& directory, const Launch& launch) {
  const std::string text = base::jsonDocument("omnio-launch", 1, kLayout, [&](auto& json) {
    json.list("command", launch.command,
              [&json](const std::string& word) { json.value(base::printable(word)); });
    json.put("host", base::printable(launch.host));
    json.put("pid", launch.pid);
    json.put("flavour", launch.flavour);
    json.put("library", base::printable(launch.library));
    json.put("started_unix_ns", launch.started_ns);
    json.put("ended_unix_ns", launch.ended_ns);
    json.put("exit_code", launch.exit_code);
    json.put("signal", launch.signal);
    json.put("events_collected", launch.events_collected);
    putSentences(json, "troubles", launch.troubles);
  });
  return base::writeDocument(directory / fmt::format("launch-{}-{}.json", launch.host, launch.pid),
                             text);
}

base::Result<void> writeManifest(const tracefile::Trace& trace,
                                 const tracefile::Wholeness& wholeness) {
  const LogGrowth growth = growthOf(trace);
  // The patterns are the same in all processes of a job; the first speaks for them.
  const tracefile::ProcessInfo none;
  const tracefile::ProcessInfo& facts =
      trace.processes().empty() ? none : trace.processes().front()->info;
  const std::string text = base::jsonDocument("omnio-manifest", 1, kLayout, [&](auto& json) {
    json.put("whole", wholeness.whole);
    putSentences(json, "reasons", wholeness.reasons);
    json.put("ranks_expected", wholeness.ranks_expected);
    json.put("ranks_reporting", wholeness.ranks_reporting);
    json.put("events", wholeness.events);
    json.put("events_missing", wholeness.events_missing);
    putSentences(json, "notes", tracefile::allNotes(wholeness));
    json.put("log_bytes", growth.bytes);
    json.put("recorded_s", growth.recorded_s);
    json.put("log_bytes_per_hour", growth.bytesPerHour());
    json.put("job", base::printable(facts.text(info::kJob)));
    json.object("filters", [&] {
      putNames(json, "exclude", facts.text(info::kExclude), ':');
      putNames(json, "include", facts.text(info::kInclude), ':');
      putNames(json, "default_exclude", facts.text(info::kDefaultExclude), ':');
      json.list("left_out", wholeness.left_out, [&json](const tracefile::LeftOut& one) {
        json.object([&] {
          json.put("pattern", base::printable(one.pattern));
          json.put("calls", one.calls);
          json.put("bytes_read", one.moved.read);
          json.put("bytes_written", one.moved.written);
        });
      });
    });
    // A host whose processes have several clocks stands there once for each.
    json.list("hosts", trace.clocks(), [&](const tracefile::HostClock& host) {
      json.object([&] { putHost(json, trace, host); });
    });
    json.list("processes", trace.processes(),
              [&json](const auto& process) { json.object([&] { putProcess(json, *process); }); });
  });
  return base::writeDocument(trace.directory() / "manifest.json", text);
}

}  // namespace omnio::cli
