#include "core/model/schedule_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

double scaleOf(JsonReader& in, JsonObject& object, std::string_view key) {
  const JsonNode* node = object.find(key);
  if (node == nullptr) return 1;
  const double scale = node->number().value_or(0);
  if (!(scale > 0) || !std::isfinite(scale)) {
    in.refuse(node->place, fmt::format("\"{}\" has to be a number above 0", key));
  }
  return scale;
}

SizeScale sizeScaleOf(JsonReader& in, const JsonNode& node) {
  JsonObject object(in, node);
  SizeScale scale{.pattern = base::bytesOf(object.text("pattern"))};
  if (object.find("factor") == nullptr) object.refuse("\"factor\" is missing");
  scale.factor = scaleOf(in, object, "factor");
  return scale;
}

MpiTables mpiOf(JsonReader& in, const JsonNode& node, int ranks) {
  MpiTables tables;
  JsonObject object(in, node);
  for (const JsonNode& item : object.list("groups")) {
    const auto* members = item.as<JsonNode::List>();
    if (members == nullptr || members->empty()) {
      in.refuse(item.place, "a group has to be a list of ranks");
      return tables;
    }
    std::vector<int>& group = tables.groups.emplace_back();
    std::unordered_set<std::int64_t> once;
    for (const JsonNode& member : *members) {
      const std::int64_t rank =
          base::integerOf(in, "groups", member, {.least = 0, .most = std::int64_t{ranks} - 1});
      if (!once.insert(rank).second) {
        in.refuse(member.place, fmt::format("rank {} is in the group twice", rank));
      }
      group.push_back(static_cast<int>(rank));
    }
  }
  tables.types = object.texts("types");
  return tables;
}

// `before`: those that the list has in front of it.
ScheduleTarget targetOf(JsonReader& in, const JsonNode& node,
                        const std::vector<ScheduleTarget>& before) {
  constexpr std::size_t kLongestPath = 4096;
  ScheduleTarget target;
  JsonObject object(in, node);
  object.find("comment");
  target.name = base::bytesOf(object.text("name"));
  if (!isTargetName(target.name)) {
    object.refuse(fmt::format("\"name\" is \"{}\", and the name of a target has no /, = or :",
                              base::inBrief(target.name)));
  }
  if (std::ranges::find(before, target.name, &ScheduleTarget::name) != before.end()) {
    object.refuse(fmt::format("the target {} appears twice", base::inBrief(target.name)));
  }
  if (object.find("directory") != nullptr) {
    target.directory = base::bytesOf(object.text("directory"));
    if (!target.directory.starts_with('/') || target.directory.size() >= kLongestPath ||
        target.directory.find('\0') != std::string::npos) {
      object.refuse(fmt::format("\"directory\" is \"{}\", and has to be an absolute path",
                                base::inBrief(target.directory)));
    }
  }
  return target;
}

}  // namespace

ScheduleGlobal globalOf(JsonReader& in, const JsonNode& node) {
  constexpr std::int64_t kMostRanks = 16777216;
  ScheduleGlobal global;
  JsonObject object(in, node);
  global.timing = object.oneOf("time_replay", kTimings);
  global.write_overwrite = object.flag("write_overwrite", false);
  global.size_scale = scaleOf(in, object, "size_scale");
  if (object.find("size_scales") != nullptr) {
    for (const JsonNode& item : object.list("size_scales")) {
      global.size_scales.push_back(sizeScaleOf(in, item));
    }
  }
  global.keep_below = static_cast<std::uint64_t>(object.integer("keep_below", {.least = 0}, 0));
  global.time_scale = scaleOf(in, object, "time_scale");
  global.repeat_scale = scaleOf(in, object, "repeat_scale");
  global.ranks = static_cast<int>(object.integer("ranks", {.least = 0, .most = kMostRanks}));
  if (object.find("targets") != nullptr) {
    for (const JsonNode& item : object.list("targets")) {
      global.targets.push_back(targetOf(in, item, global.targets));
    }
  }
  object.find("comment");
  object.find(kTimesKey);  // opened by the reader of the document
  if (const JsonNode* source = object.find("source")) {
    JsonObject origin(in, *source);
    global.source = base::bytesOf(origin.text("trace"));
    global.source_whole = origin.flag("whole");
    global.source_events_missing =
        static_cast<std::uint64_t>(origin.integer("events_missing", {.least = 0}, 0));
    if (origin.find("command") != nullptr) global.command = origin.texts("command");
    for (std::string& word : global.command) word = base::bytesOf(word);
    if (origin.find("left_out") != nullptr) global.left_out = origin.texts("left_out");
    if (const JsonNode* in_memory = origin.find("in_memory")) {
      JsonObject use(in, *in_memory);
      global.in_memory = {.files = use.natural("files"), .bytes = use.natural("bytes")};
    }
  }
  if (const JsonNode* mpi = object.find("mpi")) global.mpi = mpiOf(in, *mpi, global.ranks);
  return global;
}

namespace {

// Why a location cannot be one below the target; empty when it can. One that was only asked for in
// vain may be longer than any file's: that is why it was in vain, and is so again.
std::string whyNotBelow(std::string_view location, FileRole role) {
  constexpr std::size_t kLongestText = 16384;
  constexpr std::size_t kLongestPath = 3500;  // which leaves room for that of the target
  constexpr std::size_t kLongestName = 255;
  const bool is_file = role != FileRole::kAbsent;
  if (location.empty()) return "is empty";
  if (location.find('\0') != std::string_view::npos) return "has a NUL in it";
  if (location.front() == '/') return "leads out of the target: it begins with /";
  // A name behind "//" would be an absolute path where names are looked up from inside.
  if (location.find("//") != std::string_view::npos) return "has an empty name in it";
  if (location.size() >= (is_file ? kLongestPath : kLongestText))
    return "is longer than a path may be";
  for (std::size_t at = 0; at <= location.size();) {
    const std::size_t end = std::min(location.find('/', at), location.size());
    const std::string_view part = location.substr(at, end - at);
    if (part == "..") return "leads out of the target: it has .. in it";
    if (is_file && part.size() > kLongestName) return "has a name of more than 255 bytes";
    at = end + 1;
  }
  return {};
}

// After the one before, if any.
Hole holeOf(JsonReader& in, const JsonNode& node, const std::vector<Hole>& before) {
  JsonObject object(in, node);
  const Hole hole{.begin = object.natural("begin"), .end = object.natural("end")};
  if (in.failed()) return hole;
  if (hole.begin >= hole.end) {
    object.refuse(fmt::format("a hole from {} to {}", hole.begin, hole.end));
  } else if (!before.empty() && hole.begin <= before.back().end) {
    object.refuse(
        fmt::format("a hole from {}, behind one that ends at {}: they have to be in order, "
                    "and apart from each other",
                    hole.begin, before.back().end));
  }
  return hole;
}

}  // namespace

ScheduleFile fileOf(JsonReader& in, const JsonNode& node) {
  ScheduleFile file;
  JsonObject object(in, node);
  object.find("comment");
  file.location = base::bytesOf(object.text("location"));
  file.role = object.oneOf("role", kRoles);
  file.exists = object.flag("exists");
  file.size = static_cast<std::uint64_t>(object.integer("size", {.least = 0}, 0));
  file.read_before_written =
      static_cast<std::uint64_t>(object.integer("read_before_written", {.least = 0}, 0));
  file.lines = object.flag("lines", false);
  file.source = base::bytesOf(object.text("source", ""));
  if (object.find("holes") != nullptr) {
    for (const JsonNode& item : object.list("holes")) {
      file.holes.push_back(holeOf(in, item, file.holes));
    }
  }
  if (object.find("target") != nullptr) {
    file.target = base::bytesOf(object.text("target"));
    if (!isTargetName(file.target)) {
      object.refuse(fmt::format("\"target\" is \"{}\", and the name of a target has no /, = or :",
                                base::inBrief(file.target)));
    }
  }
  if (file.read_before_written > file.size) {
    object.refuse(fmt::format("{} bytes are read before they are written, of {} that there are",
                              file.read_before_written, file.size));
  }
  const std::string why = whyNotBelow(file.location, file.role);
  if (!why.empty()) {
    object.refuse(fmt::format("location \"{}\" {}", base::inBrief(file.location), why));
  }
  return file;
}

}  // namespace omnio::model
