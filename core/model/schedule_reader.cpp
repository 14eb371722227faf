// Reads schedules piece by piece. The file is long because a value is checked where it is read:
// only there are its line and column known.
#include "core/model/schedule_reader.hpp"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

using Locations = std::unordered_map<std::string, FileNumber>;

constexpr std::int64_t kTenYears = std::int64_t{10} * 365 * 86400 * 1'000'000'000;

// Reads the members of one event.
class EventReader {
 public:
  // `mpi`: of the schedule; nullptr where it has no calls of MPI-IO.
  EventReader(JsonReader& in, const JsonNode& node, const Locations& locations,
              const MpiTables* mpi)
      : in_(in), object_(in, node), locations_(locations), mpi_(mpi) {}

  ScheduleEvent read() {
    ScheduleEvent& event = event_;
    event.start_ns = object_.integer("start", {.least = 0});
    event.end_ns = object_.integer("end", {.least = 0});
    if (event.end_ns < event.start_ns) object_.refuse("it ends before it starts");
    if (event.end_ns > kTenYears) {
      object_.refuse("it ends more than ten years after the beginning");
    }
    const std::string command = object_.text("command");
    event.id = static_cast<std::uint64_t>(object_.integer("id", {.least = 1}, 0));
    event.phase = static_cast<int>(object_.integer("phase", {.least = 1, .most = INT32_MAX}, 0));
    if (object_.find("compute") != nullptr || object_.find("communication") != nullptr) {
      event.own = work(object_);
    }
    if (object_.find("after") != nullptr) {
      for (const JsonNode& item : object_.list("after")) event.after.push_back(wait(item));
    }
    if (in_.failed()) return event;
    event.step = base::valueOf(kSteps, command).value_or(Step::kCall);
    switch (event.step) {
      case Step::kCall:
        readCall(command);
        break;
      case Step::kPreopened:
        readArgument({"location", KeyKind::kLocation, 0});
        readArgument({"flags", KeyKind::kOpenFlags, 0});
        event.offset = object_.integer("offset", {.least = 0});
        event.new_fd = descriptor("result", 0);
        break;
      case Step::kInherited:
        event.fd = descriptor("fd", 0);
        event.new_fd = descriptor("result", 0);
        break;
      case Step::kDelay:
        break;
    }
    return event;
  }

 private:
  Descriptor descriptor(std::string_view key, std::int64_t least) {
    return Descriptor{object_.integer(key, {.least = least})};
  }

  // The working directory, where there is none.
  Descriptor directory(std::string_view key) {
    return Descriptor{object_.integer(key, {.least = -1}, std::int64_t{-1})};
  }

  std::uint16_t lookups(std::string_view key) {
    constexpr std::int64_t kNotGiven = kAllLookups;
    return static_cast<std::uint16_t>(
        object_.integer(key, {.least = 0, .most = kMostLookups}, kNotGiven));
  }

  static Work work(JsonObject& object) {
    constexpr base::JsonRange kAny{.least = 0, .most = kTenYears};
    return {.compute_ns = object.integer("compute", kAny, 0),
            .communication_ns = object.integer("communication", kAny, 0)};
  }

  // A number alone is the id of an event that uses the same file.
  Wait wait(const JsonNode& item) {
    if (item.as<JsonNode::Members>() == nullptr) {
      return {.id = static_cast<std::uint64_t>(base::integerOf(in_, "after", item, {.least = 1}))};
    }
    JsonObject object(in_, item);
    Wait wait{
        .id = object.natural("id"), .reason = object.oneOf("why", kReasons), .work = work(object)};
    return wait;
  }

  FileNumber location(std::string_view key) {
    const JsonNode& value = object_.require(key);
    const std::string bytes = base::bytesOf(base::textOf(in_, key, value));
    if (bytes.empty() && event_.failed) return kNoFileNumber;
    const auto found = locations_.find(bytes);
    if (found != locations_.end()) return found->second;
    in_.refuse(value.place,
               fmt::format("location \"{}\" is not in the list of files", base::inBrief(bytes)));
    return kNoFileNumber;
  }

  void readArgument(const ScheduleKey& key) {
    std::int64_t& number = event_.arguments[key.argument];
    switch (key.kind) {
      case KeyKind::kFd:
        event_.fd = descriptor(key.key, -1);
        break;
      case KeyKind::kSourceFd:
        event_.source = descriptor(key.key, -1);
        break;
      case KeyKind::kReplaced:
        event_.replaced = descriptor(key.key, -1);
        break;
      case KeyKind::kDirectory:
        event_.directory = directory(key.key);
        break;
      case KeyKind::kNewDirectory:
        event_.new_directory = directory(key.key);
        break;
      case KeyKind::kLookups:
        event_.lookups = lookups(key.key);
        break;
      case KeyKind::kNewLookups:
        event_.new_lookups = lookups(key.key);
        break;
      case KeyKind::kLocation:
        event_.file = location(key.key);
        break;
      case KeyKind::kNewLocation:
        event_.new_file = location(key.key);
        break;
      case KeyKind::kOpenFlags:
        number = object_.word(key.key, calls::openFlagsOf);
        break;
      case KeyKind::kOctal: {
        number = object_.word(key.key, calls::numberIn);
        const std::int64_t most = modeBits(*event_.row);
        if (number < 0 || number > most) {
          object_.refuse(fmt::format("\"mode\" is beyond {:#o}", most));
        }
        break;
      }
      case KeyKind::kWhence:
        number = object_.word(key.key, calls::whenceOf);
        break;
      case KeyKind::kCommand:
        number = object_.word(key.key, calls::has(*event_.row, calls::Role::kLockType)
                                           ? calls::lockCommandOf
                                           : calls::commandOf);
        break;
      case KeyKind::kLockType:
        number = object_.word(key.key, calls::lockTypeOf);
        break;
      case KeyKind::kNumber:
        number = event_.row->arguments[key.argument] == calls::Role::kOwnBuffer
                     ? object_.integer(key.key, {.least = 0}, 0)
                     : asked(key.key, 0);
        break;
      case KeyKind::kSigned:
        number = event_.row->arguments[key.argument] == calls::Role::kSourceOffset
                     ? object_.integer(key.key, event_.failed ? kAny : kPositionOrMore, -1)
                     : object_.integer(key.key, signedRange(event_.row->arguments[key.argument]));
        break;
      case KeyKind::kTransferOffset:
        // A negative one is an error that the application made. The end of an
        // asynchronous operation tells.
        number = event_.row->call_class == calls::Class::kAsync
                     ? object_.integer(key.key)
                     : asked(key.key, calls::does(*event_.row, kMinusOne) ? -1 : 0);
        event_.offset = number < 0 ? kUnknownOffset : number;
        break;
      case KeyKind::kPieces:
        event_.pieces = object_.integers<std::uint64_t>(key.key, {.least = 0});
        if (event_.pieces.size() > kMostPieces)
          object_.refuse(fmt::format("\"iov\" has more than {} pieces", kMostPieces));
        break;
      case KeyKind::kRequests:
        event_.pieces = object_.integers<std::uint64_t>(key.key, {.least = 1});
        break;
      case KeyKind::kText:
        event_.text = base::bytesOf(calls::isMpiIo(*event_.row) ? object_.text(key.key, "")
                                                                : object_.text(key.key));
        if (calls::isMpiIo(*event_.row) && event_.text.size() > kLongestHints)
          object_.refuse(fmt::format("\"hints\" has more than {} bytes", kLongestHints));
        break;
      case KeyKind::kAmode:
        number = object_.word(key.key, calls::amodeOf);
        if (!event_.failed) checkAmode(number);
        break;
      case KeyKind::kGroup:
        number = object_.integer(key.key, placeIn(mpi_->groups.size()));
        break;
      case KeyKind::kType:
        number = object_.integer(key.key, placeIn(mpi_->types.size()));
        break;
      case KeyKind::kNone:
        break;
    }
  }

  static constexpr base::JsonRange kAny{};
  static constexpr base::JsonRange kPositionOrMore{.least = -1};
  static constexpr calls::Effect kMinusOne = calls::Effect::kMinusOneIsThePosition;

  // The range of values with which a call can succeed: a lock may lie in front of its offset, and
  // a seek may go back, but a file cannot have a negative length.
  base::JsonRange signedRange(calls::Role role) const {
    const calls::Row& row = *event_.row;
    const bool is_of_lock =
        calls::has(row, calls::Role::kLockType) || row.plain == calls::CallId::lockf;
    const bool is_size = (role == calls::Role::kLength && !is_of_lock) ||
                         (role == calls::Role::kOffset &&
                          (calls::does(row, kReserves) || event::transfersData(row))) ||
                         role == calls::Role::kDisp;
    return is_size && !event_.failed ? base::JsonRange{.least = 0} : kAny;
  }
  static constexpr calls::Effect kReserves = calls::Effect::kReservesSpace;

  // MPI-3.1, section 13.2.1.
  void checkAmode(std::int64_t amode) {
    const auto has = [amode](std::int64_t bits) { return (amode & bits) != 0; };
    const int ways = (has(calls::kModeReadOnly) ? 1 : 0) + (has(calls::kModeWriteOnly) ? 1 : 0) +
                     (has(calls::kModeReadWrite) ? 1 : 0);
    if (ways != 1) {
      object_.refuse(fmt::format(
          "\"amode\" has {} of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR; it has to have "
          "one",
          ways));
    } else if (has(calls::kModeReadOnly) && has(calls::kModeCreate | calls::kModeExclusive)) {
      object_.refuse("\"amode\" has MPI_MODE_RDONLY, and MPI_MODE_CREATE or MPI_MODE_EXCL");
    } else if (has(calls::kModeReadWrite) && has(calls::kModeSequential)) {
      object_.refuse("\"amode\" has MPI_MODE_RDWR and MPI_MODE_SEQUENTIAL");
    }
  }

  static base::JsonRange placeIn(std::size_t length) {
    return {.least = 0, .most = static_cast<std::int64_t>(length) - 1};
  }

  // A call that failed may have asked for anything.
  std::int64_t asked(std::string_view key, std::int64_t least) {
    return object_.integer(key,
                           event_.failed ? base::JsonRange{} : base::JsonRange{.least = least});
  }

  void readResult() {
    if (event_.failed) {
      event_.result =
          object_.word("errno", [this](std::string_view text) -> std::optional<std::int64_t> {
            return text == "EOF" ? std::optional<std::int64_t>(0)
                                 : calls::errorOf(text, *event_.row);
          });
    } else if (makesDescriptor(event_)) {
      event_.new_fd = descriptor("result", 0);
    } else if (event_.row->result != calls::Result::kNone) {
      // Positions and counts are never negative where the call succeeded; a character is a byte.
      const bool may_be_negative = event_.row->call_class == calls::Class::kMetadata;
      event_.result = object_.integer(
          "result", may_be_negative ? base::JsonRange{} : base::JsonRange{.least = 0});
    }
  }

  void checkRequest() {
    const std::string& mode = event_.text;
    if (calls::has(*event_.row, calls::Role::kOpenMode) &&
        (mode.find_first_not_of("rwabetcxm+,=UTF-8sC") != std::string::npos || mode.empty() ||
         mode.size() > kLongestMode)) {
      object_.refuse(fmt::format("\"{}\" is not a mode that fopen takes", base::inBrief(mode)));
    }
    if (calls::has(*event_.row, calls::Role::kAttribute) &&
        (event_.text.size() > kLongestAttribute || event_.text.find('\0') != std::string::npos)) {
      object_.refuse(
          fmt::format("\"{}\" cannot be the name of an attribute", base::inBrief(event_.text)));
    }
    if (event_.row->api == calls::Api::kPosix && event_.row->call_class == calls::Class::kSeek &&
        argumentOf(event_, calls::Role::kWhence) == SEEK_SET &&
        argumentOf(event_, calls::Role::kOffset) < 0) {
      object_.refuse(fmt::format("a seek to offset {}", argumentOf(event_, calls::Role::kOffset)));
    }
    constexpr std::uint64_t kMost = std::uint64_t{1} << 46;  // no call moves as much
    // A copy from file to file needs no memory: cp asks for all there may be.
    const bool needs_memory = !calls::has(*event_.row, calls::Role::kFdSource);
    if (event_.request > kMost && needs_memory) {
      object_.refuse(fmt::format("{} bytes in one call", event_.request));
    }
  }

  void readCall(const std::string& command) {
    static const auto kRows = [] {
      std::unordered_map<std::string_view, const calls::Row*> rows;
      for (const calls::Row& row : calls::kTable) {
        if (row.number != 0) rows.emplace(row.name, &row);
      }
      return rows;
    }();
    const auto found = kRows.find(command);
    if (found == kRows.end() || !isSchedulable(*found->second)) {
      object_.refuse(fmt::format("no call has the name \"{}\"", base::inBrief(command)));
      return;
    }
    if (mpi_ == nullptr && !calls::isIo(*found->second)) {
      object_.refuse(fmt::format("{} in a schedule whose \"global\" has no \"mpi\"", command));
      return;
    }
    event_.row = found->second;
    event_.failed = object_.find("errno") != nullptr;
    for (const ScheduleKey& key : keysOf(*event_.row)) readArgument(key);
    if (const auto key = positionKey(event_)) {
      event_.offset = object_.integer(*key, {.least = 0}, kUnknownOffset);
    }
    readResult();
    event_.request = requestOf(event_);
    if (!event_.failed) checkRequest();
  }

  JsonReader& in_;
  JsonObject object_;
  const Locations& locations_;
  const MpiTables* const mpi_;
  ScheduleEvent event_;
};

// An event of a repeat's body, whose numbers advance with each turn.
class RepeatedEvent {
 public:
  RepeatedEvent(JsonReader& in, JsonNode node) : in_(in), node_(std::move(node)) {
    if (node_.find("id") != nullptr || node_.find("repeat") != nullptr) {
      in_.refuse(node_.place, "an event that is repeated has neither \"id\" nor \"repeat\"");
    }
    auto* members = std::get_if<JsonNode::Members>(&node_.value);
    if (members == nullptr) return;  // refused as an event
    const auto found = std::ranges::find(*members, "step", &JsonNode::Members::value_type::first);
    if (found == members->end()) return;
    const JsonNode steps = std::move(found->second);
    members->erase(found);
    if (steps.as<JsonNode::Members>() == nullptr) {
      in_.refuse(steps.place, fmt::format("\"step\" has to be an object, not {}", steps.kind()));
      return;
    }
    for (const auto& [key, step] : *steps.as<JsonNode::Members>()) {
      const auto* by = step.as<std::int64_t>();
      const auto target = std::ranges::find(*members, key, &JsonNode::Members::value_type::first);
      auto* number =
          target == members->end() ? nullptr : std::get_if<std::int64_t>(&target->second.value);
      if (by == nullptr || number == nullptr) {
        in_.refuse(step.place, fmt::format("no step for \"{}\"", base::inBrief(key)));
        return;
      }
      steps_.push_back({key, number, *by, target->second.place});
    }
  }

  const JsonNode& node() const { return node_; }

  void advance() {
    for (const Step& step : steps_) {
      if (__builtin_add_overflow(*step.number, step.by, step.number)) {
        in_.refuse(step.place, fmt::format("\"{}\" grows beyond any number", step.key));
      }
    }
  }

 private:
  struct Step {
    std::string key;
    std::int64_t* number;  // in node_
    std::int64_t by;
    base::TextPlace place;
  };

  JsonReader& in_;
  JsonNode node_;
  std::vector<Step> steps_;
};

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
  global.ranks = static_cast<int>(object.integer("ranks", {.least = 0, .most = kMostRanks}));
  if (const JsonNode* source = object.find("source")) {
    JsonObject origin(in, *source);
    global.source = base::bytesOf(origin.text("trace"));
    global.source_whole = origin.flag("whole");
    global.source_events_missing =
        static_cast<std::uint64_t>(origin.integer("events_missing", {.least = 0}, 0));
    if (origin.find("command") != nullptr) global.command = origin.texts("command");
    for (std::string& word : global.command) word = base::bytesOf(word);
    if (origin.find("left_out") != nullptr) global.left_out = origin.texts("left_out");
  }
  if (const JsonNode* mpi = object.find("mpi")) global.mpi = mpiOf(in, *mpi, global.ranks);
  return global;
}

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

ScheduleFile fileOf(JsonReader& in, const JsonNode& node) {
  ScheduleFile file;
  JsonObject object(in, node);
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

class Reader {
 public:
  Reader(JsonReader& in, ScheduleSink& sink) : in_(in), sink_(sink) {}

  void read() {
    in_.members([this](std::string_view key) { readPart(key); });
    if (in_.failed()) return;
    if (!version_known_) {
      in_.refuse("not a schedule: it has no \"format\" and \"version\"");
    } else if (!has_ranks_) {
      in_.refuse("it has no \"ranks\"");
    } else if (rank_ + 1 != ranks_) {
      in_.refuse(fmt::format("it has {} ranks, but \"global\" names {}", rank_ + 1, ranks_));
    } else if (!waited_.empty()) {
      const auto& [id, place] = *waited_.begin();
      in_.refuse(place, fmt::format("\"after\" names id {}, which no event has", id));
    } else {
      checkOpensOfGroups();
    }
  }

 private:
  void readPart(std::string_view key) {
    if (key == "format") return readFormat();
    if (!format_known_) return in_.refuse("not a schedule: \"format\" has to come first");
    if (key == "version") return readVersion();
    if (!version_known_) return in_.refuse("\"version\" has to come after \"format\"");
    if (key == "global") {
      const JsonNode node = in_.value();
      const ScheduleGlobal global = globalOf(in_, node);
      ranks_ = global.ranks;
      mpi_ = global.mpi;
      if (mpi_) members_ = mpi_->groups;
      for (std::vector<int>& members : members_) std::ranges::sort(members);
      has_global_ = true;
      pass([&] { return sink_.global(global); }, node.place);
    } else if (key == "files") {
      if (!has_global_) return in_.refuse("\"global\" has to come before \"files\"");
      has_files_ = true;
      in_.items([this] { readFile(); });
    } else if (key == "ranks") {
      if (!has_files_) return in_.refuse("\"files\" has to come before \"ranks\"");
      has_ranks_ = true;
      in_.items([this] { readRank(); });
    } else {
      refuseUnknown(key);
    }
  }

  void refuseUnknown(std::string_view key) {
    in_.refuse(fmt::format("\"{}\" has no place here", base::inBrief(key)));
  }

  // Gives the sink its part, unless something was refused before.
  template <typename Give>
  void pass(Give give, std::optional<base::TextPlace> place = {}) {
    if (in_.failed()) return;
    const ScheduleSink::Complaint complaint = give();
    if (complaint) in_.refuse(place.value_or(in_.lastPlace()), *complaint);
  }

  void readFormat() {
    const JsonNode node = in_.value();
    const auto* format = node.as<std::string>();
    format_known_ = format != nullptr && *format == kScheduleFormat;
    if (format_known_) return;
    in_.refuse(node.place,
               fmt::format("not a schedule: \"format\" is not \"{}\"", kScheduleFormat));
  }

  void readVersion() {
    const JsonNode node = in_.value();
    const std::int64_t version = base::integerOf(in_, "version", node, {});
    version_known_ = version == kScheduleVersion;
    if (version_known_) return;
    in_.refuse(node.place, fmt::format("schedule version {}, but this omnio reads version {}",
                                       version, kScheduleVersion));
  }

  void readFile() {
    const JsonNode node = in_.value();
    const ScheduleFile file = fileOf(in_, node);
    const FileNumber number{static_cast<std::uint32_t>(locations_.size())};
    if (!locations_.emplace(file.location, number).second) {
      in_.refuse(node.place,
                 fmt::format("location \"{}\" appears twice", base::inBrief(file.location)));
    }
    pass([&] { return sink_.file(number, file); }, node.place);
  }

  void readRank() {
    bool is_known = false;
    thread_ = -1;
    made_.clear();
    wanted_.clear();
    in_.members([&](std::string_view key) {
      if (key == "rank") {
        takeRank();
        is_known = true;
      } else if (key != "threads") {
        refuseUnknown(key);
      } else if (!is_known) {
        in_.refuse("\"rank\" has to come before \"threads\"");
      } else {
        in_.items([this] { readThread(); });
      }
    });
    if (!is_known) in_.refuse("a rank without \"rank\"");
    if (wanted_.empty()) return;
    const auto& [descriptor, place] = *wanted_.begin();
    in_.refuse(place,
               fmt::format("fd {} is used, but no event of rank {} opens it", descriptor, rank_));
  }

  void takeRank() {
    const JsonNode node = in_.value();
    const auto* rank = node.as<std::int64_t>();
    if (rank == nullptr || *rank != rank_ + 1) {
      in_.refuse(node.place,
                 fmt::format("\"rank\" has to be {}: ranks are in order, from 0", rank_ + 1));
    } else if (++rank_ >= ranks_) {
      in_.refuse(node.place, fmt::format("rank {}, but \"global\" names {} ranks", rank_, ranks_));
    }
  }

  void readThread() {
    ScheduleThread thread{
        .rank = rank_, .thread = -1, .pid = 0, .tid = 0, .host = {}, .recorder_ns = 0};
    bool has_events = false;
    wanted_here_.clear();
    const auto number = [this](std::string_view key) {
      return base::integerOf(in_, key, in_.value(), {.least = 0, .most = INT32_MAX});
    };
    const auto share = [this](std::string_view key) {
      const JsonNode node = in_.value();
      const std::optional<double> number = node.number();
      if (!number || !(*number >= 0 && *number <= 1)) {
        in_.refuse(node.place, fmt::format("\"{}\" has to be a number from 0 to 1", key));
      }
      return number;
    };
    in_.members([&](std::string_view key) {
      if (key == "thread") {
        thread.thread = static_cast<int>(number(key));
      } else if (key == "pid") {
        thread.pid = static_cast<std::uint32_t>(number(key));
      } else if (key == "tid") {
        thread.tid = static_cast<std::uint32_t>(number(key));
      } else if (key == "recorder") {
        thread.recorder_ns = number(key);
      } else if (key == "computing") {
        thread.computing = share(key);
      } else if (key == "host") {
        thread.host = base::bytesOf(base::textOf(in_, key, in_.value()));
      } else if (key == "events") {
        has_events = true;
        readEvents(thread);
      } else {
        refuseUnknown(key);
      }
    });
    if (!has_events) in_.refuse("a thread without \"events\"");
  }

  void readEvents(const ScheduleThread& thread) {
    if (thread.thread != thread_ + 1) {
      return in_.refuse(fmt::format(
          "\"thread\" has to be {}, before \"events\": threads are in order, from 0", thread_ + 1));
    }
    ++thread_;
    pass([&] { return sink_.beginThread(thread); });
    in_.items([this] {
      JsonNode node = in_.value();
      if (node.find("repeat") == nullptr) {
        takeEvent(node);
      } else {
        repeat(node);
      }
    });
    pass([&] { return sink_.endThread(); });
  }

  void repeat(const JsonNode& node) {
    constexpr std::int64_t kMostTimes = 100'000'000;
    std::int64_t times = 0;
    std::vector<std::unique_ptr<RepeatedEvent>> body;
    {
      JsonObject object(in_, node);
      times = object.integer("repeat", {.least = 1, .most = kMostTimes});
      for (const JsonNode& item : object.list("body")) {
        body.push_back(std::make_unique<RepeatedEvent>(in_, item));
      }
    }
    for (std::int64_t i = 0; i < times && !in_.failed(); ++i) {
      for (const auto& event : body) {
        if (i > 0) event->advance();
        takeEvent(event->node());
      }
    }
  }

  void takeEvent(const JsonNode& node) {
    if (in_.failed()) return;
    const ScheduleEvent event = EventReader(in_, node, locations_, mpi_ ? &*mpi_ : nullptr).read();
    if (in_.failed()) return;
    for (const Descriptor used :
         {event.fd, event.source, event.replaced, event.directory, event.new_directory}) {
      const auto number = static_cast<std::int64_t>(used);
      if (used == kNoDescriptor || made_.contains(number)) continue;
      // Another thread of the rank, further down in the document, may be the one that makes it.
      wanted_.emplace(number, node.place);
      wanted_here_.emplace(number, node.place);
    }
    if (event.step == Step::kCall && calls::isMpiIo(*event.row) &&
        event.row->call_class == calls::Class::kOpen) {
      takeOpenOfGroup(event, node.place);
    }
    if (makesDescriptor(event)) takeMade(event, node.place);
    if (event.id != 0) {
      if (!ids_.insert(event.id).second) {
        in_.refuse(node.place, fmt::format("id {} appears twice", event.id));
      }
      waited_.erase(event.id);
    }
    for (const Wait& wait : event.after) {
      if (wait.id != 0 && !ids_.contains(wait.id)) waited_.emplace(wait.id, node.place);
    }
    pass([&] { return sink_.event(event); }, node.place);
  }

  // All ranks of a group open a file together: a rank that did not come would be waited for.
  void takeOpenOfGroup(const ScheduleEvent& event, base::TextPlace place) {
    const auto group = static_cast<std::size_t>(argumentOf(event, calls::Role::kNewComm));
    if (!std::ranges::binary_search(members_[group], rank_)) {
      return in_.refuse(
          place, fmt::format("rank {} is not in group {}, which opens the file", rank_, group));
    }
    OpensOfGroup& opens = opens_[group];
    ++opens.by_rank[rank_];
    opens.last = place;
  }

  void checkOpensOfGroups() {
    for (const auto& [group, opens] : opens_) {
      const auto [most_rank, most] = *std::ranges::max_element(
          opens.by_rank, {}, [](const auto& count) { return count.second; });
      for (const int member : mpi_->groups[group]) {
        const auto found = opens.by_rank.find(member);
        const std::uint64_t count = found == opens.by_rank.end() ? 0 : found->second;
        if (count == most) continue;
        return in_.refuse(opens.last, fmt::format("all ranks of group {} open its files together, "
                                                  "but rank {} opens {}, and rank {} opens {}",
                                                  group, most_rank, most, member, count));
      }
    }
  }

  void takeMade(const ScheduleEvent& event, base::TextPlace place) {
    const auto number = static_cast<std::int64_t>(event.new_fd);
    if (!made_.insert(number).second) {
      in_.refuse(place, fmt::format("fd {} of rank {} is made twice", number, rank_));
    }
    wanted_.erase(number);
    // A preopened one is there before all events, wherever it stands.
    const auto early = wanted_here_.find(number);
    if (early != wanted_here_.end() && event.step != Step::kPreopened) {
      in_.refuse(early->second,
                 fmt::format("fd {} is used before its own thread opens it", number));
    }
  }

  JsonReader& in_;
  ScheduleSink& sink_;
  bool format_known_ = false;
  bool version_known_ = false;
  bool has_global_ = false;
  bool has_files_ = false;
  bool has_ranks_ = false;
  std::optional<MpiTables> mpi_;
  int ranks_ = 0;
  int rank_ = -1;
  int thread_ = -1;
  Locations locations_;
  std::unordered_set<std::int64_t> made_;                          // descriptors of the rank
  std::map<std::int64_t, base::TextPlace> wanted_;                 // used, and not yet made
  std::unordered_map<std::int64_t, base::TextPlace> wanted_here_;  // those that the thread used
  std::unordered_set<std::uint64_t> ids_;                          // of the schedule
  std::map<std::uint64_t, base::TextPlace> waited_;  // named by `after`, and not yet met
  struct OpensOfGroup {
    std::map<int, std::uint64_t> by_rank;
    base::TextPlace last{};
  };
  std::map<std::size_t, OpensOfGroup> opens_;  // by group
  std::vector<std::vector<int>> members_;      // the same, ascending
};

}  // namespace

base::Result<void> readSchedule(const std::filesystem::path& path, ScheduleSink& sink) {
  JsonReader in(path);
  Reader(in, sink).read();
  return in.finish();
}

}  // namespace omnio::model
