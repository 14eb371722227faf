// The text and the JSON document of an overview: docs/commands/schedule.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_keys.hpp"
#include "replay/overview.hpp"
#include "replay/plan/descriptor_use.hpp"
#include "replay/target/prepare.hpp"

namespace omnio::replay {
namespace {

using base::counted;
using base::JsonWriter;

// The files of a role, and what they need on the target.
struct RoleFiles {
  model::FileRole role;
  std::uint64_t files = 0;
  std::uint64_t exist_before = 0;  // when the replay begins
  RoomNeeded room;
  Traffic traffic;
};

std::vector<RoleFiles> rolesOf(const Overview& overview) {
  const std::vector<PlannedFile>& files = overview.plan.files;
  std::vector<RoleFiles> roles;
  for (const auto& [role, word] : model::kRoles) {
    RoleFiles row{.role = role, .room = {}, .traffic = {}};
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].role != role) continue;
      ++row.files;
      if (files[i].exists || wantedSize(overview.plan, files[i])) ++row.exist_before;
      row.traffic.add(overview.by_file[i]);
    }
    if (row.files == 0) continue;
    row.room = roomNeeded(overview.plan,
                          [&, wanted = role](std::size_t i) { return files[i].role == wanted; });
    roles.push_back(row);
  }
  return roles;
}

RoomNeeded roomOf(const Overview& overview) {
  return roomNeeded(overview.plan, [](std::size_t) { return true; });
}

using Named = std::pair<std::string, Traffic>;

// Ranks by number; files and calls by time.
std::vector<Named> groupsOf(const Overview& overview, OverviewBy by) {
  std::vector<Named> groups;
  switch (by) {
    case OverviewBy::kRank:
      for (std::size_t rank = 0; rank < overview.by_rank.size(); ++rank) {
        groups.emplace_back(fmt::format("{}", rank), overview.by_rank[rank]);
      }
      return groups;
    case OverviewBy::kFile:
      for (std::size_t i = 0; i < overview.by_file.size(); ++i) {
        if (overview.by_file[i].operations == 0) continue;
        groups.emplace_back(base::printable(overview.plan.files[i].location), overview.by_file[i]);
      }
      if (overview.without_file.operations > 0) {
        groups.emplace_back("(no file)", overview.without_file);
      }
      break;
    case OverviewBy::kCall:
      for (const auto& [call, traffic] : overview.by_call) groups.emplace_back(call, traffic);
      break;
  }
  // Those that take as long by name: files are in another order where loops list them.
  std::ranges::sort(groups, [](const Named& a, const Named& b) {
    return std::tie(b.second.time_ns, a.first) < std::tie(a.second.time_ns, b.first);
  });
  return groups;
}

std::string bytesText(std::uint64_t bytes) { return base::humanBytes(static_cast<double>(bytes)); }
std::string timeText(std::uint64_t ns) { return base::humanNs(static_cast<double>(ns)); }
std::string timeText(std::int64_t ns) { return base::humanNs(static_cast<double>(ns)); }

std::vector<std::string> rowOf(const Traffic& traffic, std::string name) {
  return {fmt::format("{}", traffic.operations),
          fmt::format("{}", traffic.reads),
          bytesText(traffic.read_bytes),
          fmt::format("{}", traffic.writes),
          bytesText(traffic.written_bytes),
          timeText(traffic.time_ns),
          std::move(name)};
}

void appendTraffic(std::string& out, const std::vector<Named>& groups, std::string_view what,
                   const Traffic* total) {
  std::vector<std::vector<std::string>> rows = {
      {"operations", "reads", "bytes read", "writes", "bytes written", "time", std::string(what)}};
  for (const auto& [name, traffic] : groups) rows.push_back(rowOf(traffic, name));
  if (total != nullptr) rows.push_back(rowOf(*total, "(all)"));
  base::appendTable(out, rows, base::Align::kRight);
}

std::string commandText(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(base::printable(base::shellWord(word)));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string sourceText(const model::ScheduleGlobal& global) {
  std::vector<std::string> parts;
  if (!global.source.empty()) parts.push_back(base::printable(global.source));
  if (!global.source_whole) {
    parts.emplace_back("not whole");
  } else if (!parts.empty()) {
    parts.emplace_back("whole");
  }
  if (global.source_events_missing > 0) {
    parts.push_back(
        fmt::format("{} missing", counted(global.source_events_missing, "event is", "events are")));
  }
  std::string text;
  if (!parts.empty()) text += fmt::format("Source: {}\n", fmt::join(parts, ", "));
  if (!global.command.empty()) text += fmt::format("Command: {}\n", commandText(global.command));
  for (const std::string& words : global.left_out) {
    text += fmt::format("Left out: {}\n", base::safeText(words));
  }
  return text;
}

std::string sizeText(const Overview& overview) {
  return fmt::format("{}, {} on {}, {} on {}", counted(overview.plan.ranks.size(), "rank", "ranks"),
                     counted(overview.plan.threads.size(), "thread", "threads"),
                     counted(overview.hosts.size(), "host", "hosts"),
                     counted(overview.events, "event", "events"),
                     counted(overview.plan.files.size(), "file", "files"));
}

void putTraffic(JsonWriter& json, const Traffic& traffic) {
  json.put("operations", traffic.operations);
  json.put("reads", traffic.reads);
  json.put("read_bytes", traffic.read_bytes);
  json.put("writes", traffic.writes);
  json.put("written_bytes", traffic.written_bytes);
  json.put("time_ns", traffic.time_ns);
}

void putRoom(JsonWriter& json, const RoomNeeded& room) {
  json.put("prepared_bytes", room.prepared);
  json.put("at_end_bytes", room.at_end);
}

void putHead(JsonWriter& json, const Overview& overview, const std::filesystem::path& schedule) {
  const model::ScheduleGlobal& global = overview.plan.global;
  json.put("schedule", base::printable(schedule.native()));
  json.put("time_replay", base::wordOf(model::kTimings, global.timing));
  json.put("write_overwrite", global.write_overwrite);
  json.put("size_scale", global.size_scale);
  json.put("time_scale", global.time_scale);
  json.object("source", [&] {
    json.put("trace", base::printable(global.source));
    json.put("whole", global.source_whole);
    json.put("events_missing", global.source_events_missing);
    json.list("command", global.command,
              [&](const std::string& word) { json.value(base::printable(word)); });
    json.list("left_out", global.left_out,
              [&](const std::string& words) { json.value(base::safeText(words)); });
  });
  json.put("mpi_io", global.mpi.has_value());
  json.put("ranks", overview.plan.ranks.size());
  json.put("threads", overview.plan.threads.size());
  json.list("hosts", overview.hosts,
            [&](const std::string& host) { json.value(base::printable(host)); });
  json.put("events", overview.events);
}

void putWaits(JsonWriter& json, const Overview& overview) {
  json.object("order", [&] {
    json.put("waiting_events", overview.waiting_events);
    for (const auto& [reason, word] : model::kReasons) {
      json.put(word, overview.waits[static_cast<std::size_t>(reason)]);
    }
  });
}

}  // namespace

std::string waitsText(const Overview& overview) {
  std::string text = fmt::format("Order: {} for others",
                                 counted(overview.waiting_events, "event waits", "events wait"));
  std::vector<std::string> parts;
  for (const auto& [reason, word] : model::kReasons) {
    const std::uint64_t waits = overview.waits[static_cast<std::size_t>(reason)];
    if (waits > 0) parts.push_back(fmt::format("{} {}", word, waits));
  }
  if (!parts.empty()) text += fmt::format(" ({})", fmt::join(parts, ", "));
  return text + '\n';
}

std::string textOf(const Overview& overview, const std::filesystem::path& schedule, OverviewBy by) {
  const model::ScheduleGlobal& global = overview.plan.global;
  std::string text =
      fmt::format("Schedule {}: {}\n", base::printable(schedule.native()), sizeText(overview));
  text += fmt::format("Timing: {}{}\n", base::wordOf(model::kTimings, global.timing),
                      global.write_overwrite ? "; files that the run made exist before" : "");
  if (global.size_scale != 1 || global.time_scale != 1) {
    text += fmt::format("Scaled when it was made: sizes by {}, times by {}\n", global.size_scale,
                        global.time_scale);
  }
  text += sourceText(global);
  text += waitsText(overview);
  text += fmt::format("Recorded: {} from the first start to the last end\n",
                      timeText(overview.recordedNs()));
  text += fmt::format("Without I/O: dt takes at least {}", timeText(overview.longest_work_ns));
  if (const auto& worker = overview.longest_worker) {
    text += fmt::format(", which rank {}, thread {} needs by itself", worker->rank, worker->thread);
  }
  text += '\n';
  const RoomNeeded room = roomOf(overview);
  text += fmt::format(
      "Room in the target: at least {}; {} for files that are prepared, {} at the end\n",
      bytesText(room.bytes()), bytesText(room.prepared), bytesText(room.at_end));
  if (const std::vector<RoleFiles> roles = rolesOf(overview); !roles.empty()) {
    std::vector<std::vector<std::string>> rows = {
        {"files", "exist before", "prepared", "at the end", "bytes read", "bytes written", "role"}};
    for (const RoleFiles& row : roles) {
      rows.push_back({fmt::format("{}", row.files), fmt::format("{}", row.exist_before),
                      bytesText(row.room.prepared), bytesText(row.room.at_end),
                      bytesText(row.traffic.read_bytes), bytesText(row.traffic.written_bytes),
                      std::string(base::wordOf(model::kRoles, row.role))});
    }
    text += '\n';
    base::appendTable(text, rows, base::Align::kRight);
  }
  text += '\n';
  appendTraffic(text, groupsOf(overview, by), base::wordOf(kOverviewBys, by), &overview.total);
  const bool has_phases =
      std::ranges::any_of(overview.by_phase, [](const auto& phase) { return phase.first != 0; });
  if (has_phases) {
    std::vector<Named> phases;
    for (const auto& [phase, traffic] : overview.by_phase) {
      phases.emplace_back(phase == 0 ? "(none)" : fmt::format("{}", phase), traffic);
    }
    text += '\n';
    appendTraffic(text, phases, "phase", nullptr);
  }
  return text;
}

std::string jsonOf(const Overview& overview, const std::filesystem::path& schedule, OverviewBy by) {
  return base::jsonDocument("omnio-schedule-overview", 1, {.indent = 2}, [&](JsonWriter& json) {
    putHead(json, overview, schedule);
    putWaits(json, overview);
    json.object("duration", [&] {
      json.put("recorded_ns", overview.recordedNs());
      json.put("without_io_ns", overview.longest_work_ns);
      const auto& worker = overview.longest_worker;
      json.put("rank", worker ? std::optional(worker->rank) : std::nullopt);
      json.put("thread", worker ? std::optional(worker->thread) : std::nullopt);
    });
    json.object("room", [&] {
      const RoomNeeded room = roomOf(overview);
      json.put("bytes", room.bytes());
      putRoom(json, room);
    });
    json.list("files", rolesOf(overview), [&](const RoleFiles& row) {
      json.object([&] {
        json.put("role", base::wordOf(model::kRoles, row.role));
        json.put("files", row.files);
        json.put("exist_before", row.exist_before);
        putRoom(json, row.room);
        json.put("read_bytes", row.traffic.read_bytes);
        json.put("written_bytes", row.traffic.written_bytes);
      });
    });
    json.object("total", [&] { putTraffic(json, overview.total); });
    json.put("by", base::wordOf(kOverviewBys, by));
    json.list("groups", groupsOf(overview, by), [&](const Named& group) {
      json.object([&] {
        json.put("name", group.first);
        putTraffic(json, group.second);
      });
    });
    json.list("phases", overview.by_phase, [&](const auto& phase) {
      json.object([&] {
        json.put("phase", phase.first);
        putTraffic(json, phase.second);
      });
    });
  });
}

namespace {

// The first few of a list, and how many more there are.
template <typename Items, typename Text>
std::string firstOf(const Items& items, Text text) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(items.size(), kMost); ++i) shown.push_back(text(items[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     items.size() > kMost ? fmt::format(" and {} more", items.size() - kMost) : "");
}

}  // namespace

std::vector<std::string> warningsOf(const Overview& overview) {
  const model::ScheduleGlobal& global = overview.plan.global;
  std::vector<std::string> warnings;
  if (!global.source_whole) {
    warnings.emplace_back(
        "the trace was not whole, so the schedule lacks data; a replay ends with status 3 without "
        "--partial");
  }
  for (const std::string& words : global.left_out) {
    warnings.push_back("left out: " + base::safeText(words));
  }
  for (const auto& [key, scale] :
       {std::pair("size_scale", global.size_scale), std::pair("time_scale", global.time_scale)}) {
    if (scale == 1) continue;
    warnings.push_back(fmt::format(
        "{} is {}: the events were scaled when the schedule was made; editing it changes nothing",
        key, scale));
  }
  if (std::string sentence = unalignedSentence(overview.plan); !sentence.empty()) {
    warnings.push_back(std::move(sentence));
  }
  std::vector<std::uint32_t> unused;
  for (const std::uint32_t file : overview.unused_files) {
    // Directories are listed for what lies in them.
    if (overview.plan.files[file].role != model::FileRole::kDirectory) unused.push_back(file);
  }
  // The forms of a schedule have their files in different orders.
  std::ranges::sort(unused, {}, [&](std::uint32_t file) -> const std::string& {
    return overview.plan.files[file].location;
  });
  if (!unused.empty()) {
    warnings.push_back(fmt::format("no event names {}: {}",
                                   counted(unused.size(), "file of the list", "files of the list"),
                                   firstOf(unused, [&](std::uint32_t file) {
                                     return base::printable(overview.plan.files[file].location);
                                   })));
  }
  if (overview.overlaps > 0) {
    warnings.push_back(fmt::format(
        "{} before the recorded end of an earlier one of the same thread, and a replay starts "
        "them one after another; the first is in rank {}, thread {}",
        counted(overview.overlaps, "event starts", "events start"),
        overview.first_overlap_thread.rank, overview.first_overlap_thread.thread));
  }
  if (!overview.mean_lines.empty()) {
    const std::vector<std::size_t> lines(overview.mean_lines.begin(), overview.mean_lines.end());
    warnings.push_back(
        fmt::format("{} for several events, with their mean times in place of exact ones: line {}",
                    counted(lines.size(), "loop or line stands", "loops and lines stand"),
                    firstOf(lines, [](std::size_t line) { return fmt::format("{}", line); })));
  }
  if (!overview.unordered_ranks.empty()) {
    warnings.push_back(fmt::format(
        "several ranks use {} that the run writes, and no wait orders {} with other ranks: {}",
        counted(overview.shared_files, "file", "files"),
        counted(overview.unordered_ranks.size(), "rank", "ranks"),
        firstOf(overview.unordered_ranks, [](int rank) { return fmt::format("{}", rank); })));
  }
  return warnings;
}

std::string checkTextOf(const Overview& overview, const std::filesystem::path& schedule) {
  std::string text =
      fmt::format("{}: a replay takes it: {}, timing {}\n", base::printable(schedule.native()),
                  sizeText(overview), base::wordOf(model::kTimings, overview.plan.global.timing));
  text += waitsText(overview);
  for (const std::string& warning : warningsOf(overview)) {
    text += fmt::format("Warning: {}\n", warning);
  }
  return text;
}

std::string checkJsonOf(const Overview& overview, const std::filesystem::path& schedule) {
  return base::jsonDocument("omnio-schedule-check", 1, {.indent = 2}, [&](JsonWriter& json) {
    putHead(json, overview, schedule);
    putWaits(json, overview);
    json.list("warnings", warningsOf(overview),
              [&](const std::string& warning) { json.value(base::safeText(warning)); });
  });
}

}  // namespace omnio::replay
