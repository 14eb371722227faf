#include "core/storage/target_storage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text_table.hpp"

namespace omnio::storage {
namespace {

std::string bytesText(std::uint64_t bytes) { return base::humanBytes(static_cast<double>(bytes)); }

std::string othersText(const TargetStorage& storage) {
  if (!storage.own) return {};
  const Moved others = storage.moved.since(*storage.own);
  return fmt::format("; of these {} read and {} written outside the run's control group",
                     bytesText(others.read_bytes), bytesText(others.written_bytes));
}

std::string lineOf(const TargetStorage& storage) {
  std::string line =
      storage.target.empty() ? "Storage: " : fmt::format("Storage of {}: ", storage.target);
  if (storage.is_memory) return line + "the memory of the node\n";
  if (!storage.is_known) {
    return line +
           (storage.why_unknown.empty() ? "a node does not count what it did"
                                        : storage.why_unknown) +
           '\n';
  }
  if (storage.calls) {
    line += fmt::format("calls read {} and wrote {}; ", bytesText(storage.calls->read_bytes),
                        bytesText(storage.calls->written_bytes));
  }
  line += fmt::format("{} came from storage and {} reached it in the time",
                      bytesText(storage.moved.read_bytes), bytesText(storage.moved.written_bytes));
  line += othersText(storage);
  if (storage.synced.written_bytes > 0) {
    line +=
        fmt::format("; {} more reached it in the sync", bytesText(storage.synced.written_bytes));
  }
  if (storage.busy > 0) {
    line += fmt::format("; the busiest device worked for {:.0f} % of the time", 100 * storage.busy);
  }
  return line + '\n';
}

}  // namespace

TargetStorage sumOf(std::span<const TargetStorage> runs) {
  if (runs.empty()) return {};
  TargetStorage sum = runs.front();
  sum.nodes.clear();
  for (const TargetStorage& run : runs.subspan(1)) {
    sum.is_known = sum.is_known && run.is_known;
    sum.is_memory = sum.is_memory && run.is_memory;
    for (const auto part : {&TargetStorage::calls, &TargetStorage::own}) {
      if (sum.*part && run.*part) *(sum.*part) += *(run.*part);
      if (!(run.*part)) (sum.*part).reset();
    }
    sum.moved += run.moved;
    sum.synced += run.synced;
    sum.busy = std::max(sum.busy, run.busy);
    sum.dirty_bytes = std::max(sum.dirty_bytes, run.dirty_bytes);
  }
  return sum;
}

MeasuredPart measuredPart(const Moved& calls, std::span<const TargetStorage> targets,
                          MeasuredUntil until) {
  const std::uint64_t by_calls = calls.read_bytes + calls.written_bytes;
  if (by_calls == 0 || targets.empty()) return MeasuredPart::kUnknown;
  Moved moved;
  for (const TargetStorage& target : targets) {
    if (target.is_memory) continue;
    if (!target.is_known) return MeasuredPart::kUnknown;
    moved += target.moved;
    if (until == MeasuredUntil::kSync) moved += target.synced;
  }
  const std::uint64_t crossed = std::min(moved.read_bytes, calls.read_bytes) +
                                std::min(moved.written_bytes, calls.written_bytes);
  return crossed < by_calls - crossed ? MeasuredPart::kMemory : MeasuredPart::kStorage;
}

void putMeasuredParts(base::JsonWriter& json, const Moved& calls,
                      std::span<const TargetStorage> targets) {
  json.put("measured", base::wordOf(kMeasuredParts, measuredPart(calls, targets)));
  json.put("measured_with_sync",
           base::wordOf(kMeasuredParts, measuredPart(calls, targets, MeasuredUntil::kSync)));
}

void putStorage(base::JsonWriter& json, std::span<const TargetStorage> targets) {
  const auto put_moved = [&json](std::string_view name, const std::optional<Moved>& moved) {
    if (!moved) return;
    json.object(name, [&] {
      json.put("read_bytes", moved->read_bytes);
      json.put("written_bytes", moved->written_bytes);
    });
  };
  json.list("storage", targets, [&](const TargetStorage& storage) {
    json.object([&] {
      if (!storage.target.empty()) json.put("target", storage.target);
      json.put("known", storage.is_known);
      json.put("in_memory", storage.is_memory);
      put_moved("calls", storage.calls);
      json.put("read_bytes", storage.moved.read_bytes);
      json.put("written_bytes", storage.moved.written_bytes);
      json.put("read_bytes_with_sync", storage.moved.read_bytes + storage.synced.read_bytes);
      json.put("written_bytes_with_sync",
               storage.moved.written_bytes + storage.synced.written_bytes);
      put_moved("own", storage.own);
      json.put("busy", storage.busy);
      json.put("dirty_bytes", storage.dirty_bytes);
      json.list("nodes", storage.nodes, [&](const std::string& node) { json.verbatim(node); });
    });
  });
}

TargetStorage targetStorageOf(base::JsonReader& in, const base::JsonNode& node) {
  using base::JsonObject;
  TargetStorage storage;
  JsonObject object(in, node, JsonObject::Others::kAllowed);
  const auto moved_in = [&](std::string_view name) -> std::optional<Moved> {
    const base::JsonNode* const member = object.find(name);
    if (member == nullptr) return std::nullopt;
    JsonObject parts(in, *member);
    return Moved{.read_bytes = parts.natural("read_bytes"),
                 .written_bytes = parts.natural("written_bytes")};
  };
  storage.target = object.text("target", "");
  storage.is_known = object.flag("known");
  storage.is_memory = object.flag("in_memory");
  storage.calls = moved_in("calls");
  storage.moved = {.read_bytes = object.natural("read_bytes"),
                   .written_bytes = object.natural("written_bytes")};
  const Moved all{.read_bytes = object.natural("read_bytes_with_sync"),
                  .written_bytes = object.natural("written_bytes_with_sync")};
  storage.synced = all.since(storage.moved);
  storage.own = moved_in("own");
  storage.busy = object.require("busy").number().value_or(0);
  storage.dirty_bytes = object.natural("dirty_bytes");
  return storage;
}

std::string storageText(const Moved& calls, std::span<const TargetStorage> targets) {
  std::string text;
  for (const TargetStorage& target : targets) text += lineOf(target);
  const bool is_said = std::ranges::all_of(targets, &TargetStorage::is_memory);
  if (is_said || measuredPart(calls, targets) != MeasuredPart::kMemory) return text;
  const bool is_synced =
      measuredPart(calls, targets, MeasuredUntil::kSync) == MeasuredPart::kStorage;
  return text + fmt::format(
                    "Less than half of the bytes of the calls came from storage or reached it in "
                    "the time: it is the time of memory{}\n",
                    is_synced ? ", and with the final sync that of the storage" : "");
}

}  // namespace omnio::storage
