#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "statistics/report.hpp"

namespace omnio::stats {
namespace {

using base::JsonWriter;

void putRange(JsonWriter& json, const Range& range) {
  json.put("count", range.count);
  json.put("total", range.total);
  json.put("min", range.least);
  json.put("max", range.most);
  json.put("average", range.average());
}

void putSummary(JsonWriter& json, std::string_view name, const Summary& s) {
  json.object(name, [&] {
    putRange(json, s);
    json.put("standard_deviation", s.moments.deviation());
    for (const Percentile& each : kPercentiles) json.put(each.name, s.quantile(each.part));
    json.list("histogram", s.histogram.powersOfTwo(), [&](const Histogram::Bin& bin) {
      json.object([&] {
        json.put("from", bin.from);
        json.put("to", bin.to);
        json.put("count", bin.count);
      });
    });
  });
}

void putTransfer(JsonWriter& json, std::string_view name, const Transfer& t) {
  json.object(name, [&] {
    putSummary(json, "size_bytes", t.size_bytes);
    putSummary(json, "time_ns", t.time_ns);
    if (t.at_least > 0) json.put("at_least", t.at_least);
    json.put("begins", t.begins);
    json.put("bandwidth_mib_s", t.bandwidthMibS());
    json.put("bandwidth_min_mib_s", t.least_mib_s);
    json.put("bandwidth_max_mib_s", t.most_mib_s);
  });
}

void putPattern(JsonWriter& json, const AccessPattern& pattern, bool has_reread_by_any) {
  const auto put = [&json](std::string_view name, std::uint64_t value) { json.put(name, value); };
  json.object("pattern", [&] {
    json.object("read", [&] { pattern.read.eachCounter(put); });
    json.object("write", [&] { pattern.write.eachCounter(put); });
    pattern.eachCounter(has_reread_by_any, put);
  });
}

void putGroup(JsonWriter& json, const Group& g, const Report& report, bool is_total = false) {
  json.object([&] {
    json.put("name", g.name);
    if (!g.other_names.empty()) {
      json.list("other_names", g.other_names, [&](const std::string& name) { json.value(name); });
    }
    if (report.by == By::kFile && !is_total) json.put("ranks", g.ranks);
    json.object("operations", [&] {
      for (int c = 0; c < calls::kClassCount; ++c) {
        const auto call_class = static_cast<calls::Class>(c);
        if (call_class == calls::Class::kThreadSync) continue;
        json.put(calls::className(call_class), g.of(call_class));
      }
    });
    json.put("failed", g.failed);
    putTransfer(json, "read", g.read);
    putTransfer(json, "write", g.write);
    putSummary(json, "time_ns", g.time_ns);
    json.object("time_by_kind_ns", [&] {
      for (int c = 0; c < calls::kClassCount; ++c) {
        const auto call_class = static_cast<calls::Class>(c);
        if (g.of(call_class) == 0 || !isOperation(call_class)) continue;
        json.object(calls::className(call_class), [&] { putRange(json, g.timesOf(call_class)); });
      }
    });
    json.put("metadata_ns", g.metadata_ns);
    json.put("sync_ns", g.sync_ns);
    putSummary(json, "mpi_sync_ns", g.mpi_sync_ns);
    json.put("mpi_sync_failed", g.mpi_sync_failed);
    if (report.hasPatterns()) {
      putPattern(json, g.pattern, report.hasRereadByAny() && !is_total);
    }
  });
}

void putWholeness(JsonWriter& json, const Report& report) {
  const tracefile::Wholeness& w = report.wholeness;
  const auto sentence = [&](const std::string& text) { json.value(base::safeText(text)); };
  json.object("trace", [&] {
    json.put("path", base::printable(report.trace));
    json.put("whole", w.whole);
    json.list("reasons", w.reasons, sentence);
    json.list("notes", tracefile::allNotes(w), sentence);
    json.put("ranks_expected", w.ranks_expected);
    json.put("ranks_reporting", w.ranks_reporting);
    json.put("processes", w.processes);
    json.put("events", w.events);
    json.put("stalled_ns", w.stalled_ns);
    json.put("stacks_not_kept", w.stacks_not_kept);
    json.put("processes_with_short_stacks", w.processes_with_short_stacks);
    json.list("stacks_break_off", w.stack_breaks, [&](const tracefile::StackBreak& at) {
      json.object([&] {
        json.put("module", base::printable(at.module));
        json.put("why", base::safeText(at.why));
        json.put("processes", at.processes);
      });
    });
    json.put("events_missing", w.events_missing);
    json.put("events_missing_at_least", w.at_least);
    const auto moved = [&json](std::string_view name, const wire::MovedBytes& bytes) {
      json.object(name, [&] {
        json.put("read", bytes.read);
        json.put("written", bytes.written);
      });
    };
    moved("bytes_seen", w.bytes.seen);
    moved("bytes_not_seen_at_least", w.bytes.unseen);
  });
}

void putSelection(JsonWriter& json, const Selection& selection) {
  json.put("rank", selection.rank);
  json.put("thread", selection.thread);
  json.list("paths", selection.patterns,
            [&](const std::string& pattern) { json.value(base::printable(pattern)); });
  json.put("window_from_ns",
           selection.window ? std::optional(selection.window->from_ns) : std::nullopt);
  json.put("window_to_ns", selection.window ? selection.window->to_ns : std::nullopt);
  json.put("layer", selection.layer == Layer::kPosix ? "posix" : "application");
  json.put("depth", selection.depth == 0 ? std::nullopt : std::optional(selection.depth));
}

void putRank(JsonWriter& json, const RankTime& rank) {
  json.object([&] {
    json.put("rank", rank.rank);
    json.put("io_ns", rank.io.total());
    json.put("data_ns", rank.io.data_ns);
    json.put("metadata_ns", rank.io.metadata_ns);
    json.put("sync_ns", rank.io.sync_ns);
    json.put("waiting_ns", rank.io.waiting_ns);
    json.put("run_ns", rank.run_ns);
  });
}

void putClock(JsonWriter& json, const tracefile::HostClock& c) {
  json.object([&] {
    json.put("host", base::printable(c.host));
    json.put("ranks", c.ranks);
    json.put("method", tracefile::nameOf(c.method));
    json.put("offset_ns", c.offset_ns);
    json.put("drift_ppm", c.drift ? std::optional(c.drift->ppm) : std::nullopt);
    json.put("drift_error_ppm", c.drift ? std::optional(c.drift->error_ppm) : std::nullopt);
    json.put("error_ns", c.error_ns);
    if (c.moved_receives > 0) {
      json.put("moved_receives", c.moved_receives);
      json.put("moved_most_ns", c.moved_most_ns);
    }
    if (c.early_receives > 0) json.put("early_receives", c.early_receives);
  });
}

}  // namespace

void appendJson(std::string& out, const Report& report, const std::function<void()>& drain,
                const std::function<void(JsonWriter&)>& more) {
  base::appendJsonDocument(out, "omnio-stats", 1, {.decimals = 3}, [&](auto& json) {
    putWholeness(json, report);
    json.list("clocks", report.clocks, [&](const auto& clock) { putClock(json, clock); });
    json.put("by", nameOf(report.by));
    putSelection(json, report.selection);
    json.put("alignment_bytes",
             report.hasPatterns() ? std::optional(report.patterns->alignment_bytes) : std::nullopt);
    json.put("events_below", report.events_below);
    json.put("recording_ns", report.recording_ns);
    json.list("ranks", report.ranks, [&](const RankTime& rank) { putRank(json, rank); });
    if (more) more(json);
    json.key("total");
    putGroup(json, report.total, report, true);
    json.list("groups", report.groups, [&](const Group& group) {
      putGroup(json, group, report);
      drain();
    });
  });
}

std::string jsonOf(const Report& report) {
  std::string out;
  appendJson(out, report, [] {});
  return out;
}

}  // namespace omnio::stats
