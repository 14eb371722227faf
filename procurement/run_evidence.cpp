#include "procurement/run_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/json_reader.hpp"
#include "core/base/repeats.hpp"
#include "core/base/text_table.hpp"

namespace omnio::procurement {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;
using storage::MeasuredPart;
using storage::Moved;

constexpr std::size_t kMostParts = 200;

Moved movedIn(JsonObject& object) {
  return {.read_bytes = object.natural("read_bytes"),
          .written_bytes = object.natural("written_bytes")};
}

double numberAt(JsonObject& object, std::string_view key) {
  const JsonNode* const node = object.find(key);
  return node == nullptr ? 0 : node->number().value_or(0);
}

// Adds bytes that were moved evenly from one time to another.
void spread(const Moved& moved, double begin_s, double end_s, StorageCourse& into) {
  const double length = end_s - begin_s;
  if (!(length > 0) || into.moved.empty()) return;
  const auto last = into.moved.size() - 1;
  const auto part_of = [&](double s) {
    return std::min(last, static_cast<std::size_t>(std::max(s, 0.0) / into.part_s));
  };
  for (std::size_t part = part_of(begin_s); part <= part_of(end_s); ++part) {
    const double from =
        part == 0 ? begin_s : std::max(begin_s, into.part_s * static_cast<double>(part));
    const double to =
        part == last ? end_s : std::min(end_s, into.part_s * static_cast<double>(part + 1));
    const double share = std::max(to - from, 0.0) / length;
    into.moved[part] += {.read_bytes = static_cast<std::uint64_t>(
                             std::llround(share * static_cast<double>(moved.read_bytes))),
                         .written_bytes = static_cast<std::uint64_t>(
                             std::llround(share * static_cast<double>(moved.written_bytes)))};
  }
}

// A node's record of one target.
void takeNode(JsonReader& in, const JsonNode& node, bool is_first, RunEvidence& evidence) {
  JsonObject record(in, node, JsonObject::Others::kAllowed);
  if (is_first) {
    evidence.capacity_bytes = record.natural("capacity_bytes");
    evidence.free_begin_bytes = record.natural("free_begin_bytes");
    evidence.free_end_bytes = record.natural("free_end_bytes");
    evidence.mount = record.text("mount", "");
  }
  evidence.hosts.insert(record.text("host"));
  double begin_s = 0;
  for (const JsonNode& item : record.list("samples")) {
    JsonObject sample(in, item, JsonObject::Others::kAllowed);
    const double end_s = numberAt(sample, "end_s");
    spread(movedIn(sample), begin_s, end_s, evidence.course);
    begin_s = end_s;
  }
}

void takeTarget(JsonReader& in, const JsonNode& node, bool is_first, RunEvidence& evidence) {
  const storage::TargetStorage target = storage::targetStorageOf(in, node);
  evidence.device += target.moved;
  evidence.device_with_sync += target.moved;
  evidence.device_with_sync += target.synced;
  evidence.busy = std::max(evidence.busy, target.busy);
  evidence.dirty_bytes = std::max(evidence.dirty_bytes, target.dirty_bytes);
  if (target.calls) evidence.calls += *target.calls;
  JsonObject object(in, node, JsonObject::Others::kAllowed);
  const JsonNode::List& nodes = object.list("nodes");
  for (const JsonNode& item : nodes) {
    takeNode(in, item, is_first && &item == &nodes.front(), evidence);
  }
}

// The longest record, in seconds.
double lengthOf(const JsonNode& targets) {
  double length = 0;
  const auto* const list = targets.as<JsonNode::List>();
  if (list == nullptr) return length;
  for (const JsonNode& target : *list) {
    const JsonNode* const nodes = target.find("nodes");
    const auto* const records = nodes == nullptr ? nullptr : nodes->as<JsonNode::List>();
    if (records == nullptr) continue;
    for (const JsonNode& record : *records) {
      const JsonNode* const seconds = record.find("seconds");
      if (seconds != nullptr) length = std::max(length, seconds->number().value_or(0));
    }
  }
  return length;
}

MeasuredPart measuredIn(const RunEvidence& run, storage::MeasuredUntil until) {
  return until == storage::MeasuredUntil::kSync ? run.measured_with_sync : run.measured;
}

}  // namespace

base::Result<std::optional<RunEvidence>> readEvidence(const std::filesystem::path& path) {
  JsonReader in(path, base::kMostBytesHeld);
  const JsonNode root = in.value();
  if (const auto read = in.finish(); !read) return read.failure();
  const JsonNode* const targets = root.find("storage");
  if (targets == nullptr || root.find("measured") == nullptr) return std::optional<RunEvidence>();
  RunEvidence evidence;
  const double length = lengthOf(*targets);
  const double parts = std::clamp(std::ceil(length), 1.0, static_cast<double>(kMostParts));
  evidence.course.part_s = std::max(length, 1e-9) / parts;
  evidence.course.moved.resize(static_cast<std::size_t>(parts));
  {
    JsonObject document(in, root, JsonObject::Others::kAllowed);
    evidence.measured = document.oneOf("measured", storage::kMeasuredParts);
    evidence.measured_with_sync = document.oneOf("measured_with_sync", storage::kMeasuredParts);
    const JsonNode::List& list = document.list("storage");
    for (const JsonNode& target : list) takeTarget(in, target, &target == &list.front(), evidence);
    evidence.is_late = document.flag("late", false);
    if (const JsonNode* const share = document.find("stretch_share"))
      evidence.stretch_share = share->number();
    if (const JsonNode* const total = document.find("total")) {
      JsonObject counts(in, *total, JsonObject::Others::kAllowed);
      evidence.differences = counts.natural("differences");
      // Several targets do not tell their calls apart.
      evidence.calls = {.read_bytes = counts.natural("bytes_read"),
                        .written_bytes = counts.natural("bytes_written")};
    }
    evidence.platform = document.text("Machine", "");  // of omnio-phase-run
    if (document.find("runs") != nullptr) {
      std::uint64_t differences = 0;
      for (const JsonNode& item : document.list("runs")) {
        JsonObject one(in, item, JsonObject::Others::kAllowed);
        differences += one.natural("differences");
      }
      evidence.differences = differences;
    }
  }
  if (const auto read = in.finish(); !read) return read.failure();
  return std::optional(std::move(evidence));
}

storage::MeasuredPart measuredPartOf(const std::vector<RunEvidence>& runs,
                                     storage::MeasuredUntil until) {
  for (const MeasuredPart part : {MeasuredPart::kMemory, MeasuredPart::kStorage}) {
    if (std::ranges::any_of(runs,
                            [&](const RunEvidence& run) { return measuredIn(run, until) == part; }))
      return part;
  }
  return MeasuredPart::kUnknown;
}

std::string measuredSentence(const std::vector<RunEvidence>& runs, storage::MeasuredUntil until) {
  const MeasuredPart part = measuredPartOf(runs, until);
  if (part == MeasuredPart::kUnknown) {
    return "not known to be of storage: a kernel does not count it, or the calls moved no bytes";
  }
  Moved calls;
  Moved device;
  std::size_t of_it = 0;
  for (const RunEvidence& run : runs) {
    if (measuredIn(run, until) != part) continue;
    ++of_it;
    calls += run.calls;
    device += until == storage::MeasuredUntil::kSync ? run.device_with_sync : run.device;
  }
  const auto bytes = [&](std::uint64_t sum) {
    return base::humanBytes(static_cast<double>(sum) / static_cast<double>(of_it));
  };
  return fmt::format(
      "of {} in {} of {}: the calls wrote {} and read {}, and in the time {} reached the storage "
      "and {} came from it",
      base::wordOf(storage::kMeasuredParts, part), of_it, base::counted(runs.size(), "run", "runs"),
      bytes(calls.written_bytes), bytes(calls.read_bytes), bytes(device.written_bytes),
      bytes(device.read_bytes));
}

EvidenceMedians mediansOf(const std::vector<RunEvidence>& runs) {
  const auto median = [&](const auto& value) {
    std::vector<double> values;
    for (const RunEvidence& run : runs) values.push_back(static_cast<double>(value(run)));
    return base::medianOf(std::move(values));
  };
  const auto moved = [&](Moved RunEvidence::*part) {
    const auto bytes = [&](std::uint64_t Moved::*way) {
      return static_cast<std::uint64_t>(
          std::llround(median([&](const RunEvidence& run) { return run.*part.*way; })));
    };
    return Moved{.read_bytes = bytes(&Moved::read_bytes),
                 .written_bytes = bytes(&Moved::written_bytes)};
  };
  return {.calls = moved(&RunEvidence::calls),
          .device = moved(&RunEvidence::device),
          .device_with_sync = moved(&RunEvidence::device_with_sync),
          .busy = median([](const RunEvidence& run) { return run.busy; })};
}

namespace {

void putMoved(base::JsonWriter& json, std::string_view name, const Moved& moved) {
  json.object(name, [&] {
    json.put("read_bytes", moved.read_bytes);
    json.put("written_bytes", moved.written_bytes);
  });
}

}  // namespace

void putMedians(base::JsonWriter& json, const EvidenceMedians& medians) {
  putMoved(json, "calls", medians.calls);
  putMoved(json, "storage", medians.device);
  putMoved(json, "storage_with_sync", medians.device_with_sync);
  json.put("busy", medians.busy);
}

void putEvidence(base::JsonWriter& json, const RunEvidence& run) {
  json.put("measured", base::wordOf(storage::kMeasuredParts, run.measured));
  json.put("measured_with_sync", base::wordOf(storage::kMeasuredParts, run.measured_with_sync));
  putMoved(json, "calls", run.calls);
  putMoved(json, "storage", run.device);
  putMoved(json, "storage_with_sync", run.device_with_sync);
  json.put("busy", run.busy);
  json.put("dirty_bytes", run.dirty_bytes);
  json.put("capacity_bytes", run.capacity_bytes);
  json.put("free_begin_bytes", run.free_begin_bytes);
  json.put("free_end_bytes", run.free_end_bytes);
  json.put("late", run.is_late);
  json.put("stretch_share", run.stretch_share);
  json.put("differences", run.differences);
  json.object("course", [&] {
    json.put("part_s", run.course.part_s);
    json.list("read_bytes", run.course.moved,
              [&](const Moved& part) { json.value(part.read_bytes); });
    json.list("written_bytes", run.course.moved,
              [&](const Moved& part) { json.value(part.written_bytes); });
  });
}

}  // namespace omnio::procurement
