#include "core/model/schedule_event_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/call_values.hpp"
#include "core/model/schedule_words.hpp"
#include "core/printable.hpp"

namespace omnio::model {
namespace {

using Kind = JsonNode::Kind;
using Verdict = JsonUnits::Verdict;
using Complaint = JsonUnits::Complaint;

// Reads the members of one object; the first complaint is kept, and what comes after it is idle.
class Members {
 public:
  explicit Members(const JsonNode& node, std::int64_t turn = 0) : node_(node), turn_(turn) {
    if (node.kind != Kind::kObject) refuse(node, "has to be an object");
    if (const JsonNode* step = take("step", Kind::kObject)) step_ = step;
  }

  Verdict verdict() {
    if (complaint_) return complaint_;
    for (const auto& [name, value] : node_.members) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        return Complaint{fmt::format("\"{}\" has no place here", inBrief(name)), value.place};
      }
    }
    if (step_ != nullptr) {
      for (const auto& [name, value] : step_->members) {
        if (node_.find(name) == nullptr || value.kind != Kind::kInteger) {
          return Complaint{fmt::format("no step for \"{}\"", inBrief(name)), value.place};
        }
      }
    }
    return std::nullopt;
  }
  bool failed() const { return complaint_.has_value(); }
  void refuse(const JsonNode& where, std::string reason) {
    if (!complaint_) complaint_ = Complaint{std::move(reason), where.place};
  }
  void refuse(std::string reason) { refuse(node_, std::move(reason)); }

  // The member, of that kind; nullptr when there is none, or it is of another kind.
  const JsonNode* take(std::string_view key, Kind kind) {
    known_.push_back(key);
    const JsonNode* value = node_.find(key);
    if (value == nullptr) return nullptr;
    const bool fits = value->kind == kind || (kind == Kind::kReal && value->kind == Kind::kInteger);
    if (!fits) {
      refuse(*value, fmt::format("\"{}\" has to be {}, not {}", key, JsonNode::nameOf(kind),
                                 JsonNode::nameOf(value->kind)));
      return nullptr;
    }
    return value;
  }
  const JsonNode* require(std::string_view key, Kind kind) {
    const JsonNode* value = take(key, kind);
    if (value == nullptr) refuse(fmt::format("\"{}\" is missing", key));
    return value;
  }

  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

  // With the step of a repeated event.
  std::int64_t integer(std::string_view key, std::int64_t least, bool required = true,
                       std::int64_t fallback = 0) {
    const JsonNode* value = required ? require(key, Kind::kInteger) : take(key, Kind::kInteger);
    if (value == nullptr) return fallback;
    std::int64_t number = value->integer;
    const JsonNode* step = step_ == nullptr ? nullptr : step_->find(key);
    std::int64_t advance = 0;
    if (step != nullptr && (__builtin_mul_overflow(step->integer, turn_, &advance) ||
                            __builtin_add_overflow(number, advance, &number))) {
      refuse(*value, fmt::format("\"{}\" grows beyond any number", key));
    }
    if (number < least) {
      refuse(*value, fmt::format("\"{}\" is {}; it has to be {} or more", key, number, least));
    }
    return number;
  }
  std::string text(std::string_view key) {
    const JsonNode* value = require(key, Kind::kString);
    return value == nullptr ? std::string() : value->text;
  }
  bool truth(std::string_view key, bool required) {
    const JsonNode* value = required ? require(key, Kind::kBool) : take(key, Kind::kBool);
    return value != nullptr && value->integer != 0;
  }
  // A word, or a number, that `parse` understands.
  template <typename Parse>
  std::int64_t word(std::string_view key, Parse parse) {
    const JsonNode* value = require(key, Kind::kString);
    if (value == nullptr) return 0;
    const std::optional<std::int64_t> number = parse(value->text);
    if (!number) {
      refuse(*value, fmt::format("unknown {} \"{}\"", key, inBrief(value->text)));
    }
    return number.value_or(0);
  }
  template <typename Value, std::size_t kCount>
  Value oneOf(std::string_view key, const std::pair<Value, std::string_view> (&words)[kCount]) {
    const JsonNode* value = require(key, Kind::kString);
    if (value == nullptr) return Value{};
    const std::optional<Value> found = valueOf(words, value->text);
    if (!found) refuse(*value, fmt::format("unknown {} \"{}\"", key, inBrief(value->text)));
    return found.value_or(Value{});
  }
  template <typename Number>
  std::vector<Number> numbers(std::string_view key, const JsonNode* list, std::int64_t least) {
    std::vector<Number> values;
    if (list == nullptr) return values;
    for (const JsonNode& item : list->items) {
      if (item.kind != Kind::kInteger || item.integer < least) {
        refuse(item, fmt::format("\"{}\" has to hold whole numbers from {} on", key, least));
        break;
      }
      values.push_back(static_cast<Number>(item.integer));
    }
    return values;
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> values;
    const JsonNode* list = take(key, Kind::kArray);
    if (list == nullptr) return values;
    for (const JsonNode& item : list->items) {
      if (item.kind != Kind::kString) refuse(item, fmt::format("\"{}\" has to hold texts", key));
      values.push_back(item.text);
    }
    return values;
  }
  double scale(std::string_view key) {
    const JsonNode* value = take(key, Kind::kReal);
    if (value == nullptr) return 1;
    if (!(value->real > 0) || !std::isfinite(value->real)) {
      refuse(*value, fmt::format("\"{}\" has to be above 0", key));
    }
    return value->real;
  }

 private:
  const JsonNode& node_;
  const std::int64_t turn_;
  const JsonNode* step_ = nullptr;
  std::vector<std::string_view> known_;
  Verdict complaint_;
};

void readArgument(Members& members, const ScheduleKey& key, const Locations& locations,
                  ScheduleEvent& event) {
  const auto location = [&]() {
    const JsonNode* value = members.require(key.key, Kind::kString);
    if (value == nullptr) return kNoFileNumber;
    const std::string bytes = bytesOf(value->text);
    const auto found = locations.find(bytes);
    if (found != locations.end()) return found->second;
    members.refuse(*value,
                   fmt::format("location \"{}\" is not in the list of files", inBrief(bytes)));
    return kNoFileNumber;
  };
  const auto descriptor = [&] { return Descriptor{members.integer(key.key, -1)}; };
  std::int64_t& number = event.arguments[key.argument];
  switch (key.kind) {
    case KeyKind::kFd:
      event.fd = descriptor();
      break;
    case KeyKind::kSource:
      event.source = descriptor();
      break;
    case KeyKind::kReplaced:
      event.replaced = descriptor();
      break;
    case KeyKind::kLocation:
      event.file = location();
      break;
    case KeyKind::kNewLocation:
      event.new_file = location();
      break;
    case KeyKind::kOpenFlags:
      number = members.word(key.key, openFlagsOf);
      break;
    case KeyKind::kOctal:
      number = members.word(key.key, numberIn);
      if (number < 0 || number > 07777) members.refuse("\"mode\" is beyond 07777");
      break;
    case KeyKind::kWhence:
      number = members.word(key.key, whenceOf);
      break;
    case KeyKind::kCommand:
      number = members.word(key.key, commandOf);
      break;
    case KeyKind::kNumber:
      number = members.integer(key.key, event.failed ? Members::kLeast : 0);
      break;
    case KeyKind::kSigned:
      number = members.integer(key.key, Members::kLeast);
      break;
    case KeyKind::kPosition:
      // A negative one is an error that the application made; what is to fail may be asked for.
      number = members.integer(key.key, event.failed ? Members::kLeast : -1);
      event.offset = number < 0 ? kUnknownOffset : number;
      break;
    case KeyKind::kPieces:
      event.pieces =
          members.numbers<std::uint64_t>(key.key, members.require(key.key, Kind::kArray), 0);
      if (event.pieces.size() > 1024) members.refuse("\"iov\" has more than 1024 pieces");
      break;
    case KeyKind::kOpenMode:
      event.open_mode = members.text(key.key);
      break;
  }
}

void readResult(Members& members, ScheduleEvent& event) {
  if (event.failed) {
    event.result = members.word("errno", [](std::string_view text) -> std::optional<std::int64_t> {
      return text == "EOF" ? std::optional<std::int64_t>(0) : errnoOf(text);
    });
    return;
  }
  if (makesDescriptor(event)) {
    event.new_fd = Descriptor{members.integer("result", 0)};
  } else if (event.row->result != calls::Result::kNone) {
    // Positions and counts are never negative where the call succeeded; a character is a byte.
    event.result = members.integer(
        "result", event.row->call_class == calls::Class::kMetadata ? Members::kLeast : 0);
  }
}

void checkRequest(Members& members, const ScheduleEvent& event) {
  const std::string& mode = event.open_mode;
  if (calls::has(*event.row, calls::Role::kOpenMode) &&
      (mode.find_first_not_of("rwabetcxm+,=UTF-8sC") != std::string::npos || mode.empty() ||
       mode.size() > 64)) {
    members.refuse(fmt::format("\"{}\" is not a mode that fopen takes", inBrief(mode)));
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 46;  // no call moves as much
  // What one file gives another needs no memory: cp asks for all there may be.
  const bool needs_memory = !calls::has(*event.row, calls::Role::kFdSource);
  if (event.request > kMost && needs_memory)
    members.refuse(fmt::format("{} bytes in one call", event.request));
}

void readCall(Members& members, const std::string& command, const Locations& locations,
              ScheduleEvent& event) {
  static const auto kRows = [] {
    std::unordered_map<std::string_view, const calls::Row*> rows;
    for (const calls::Row& row : calls::kTable) {
      if (row.number != 0) rows.emplace(row.name, &row);
    }
    return rows;
  }();
  const auto found = kRows.find(command);
  if (found == kRows.end() || !isSchedulable(*found->second)) {
    members.refuse(fmt::format("there is no call \"{}\"", inBrief(command)));
    return;
  }
  event.row = found->second;
  event.failed = members.take("errno", Kind::kString) != nullptr;
  for (const ScheduleKey& key : keysOf(*event.row)) readArgument(members, key, locations, event);
  if (usesPosition(*event.row)) {
    event.offset = members.integer("offset", 0, false, kUnknownOffset);
  }
  readResult(members, event);
  event.request = requestOf(event);
  // What failed may have been asked for anything.
  if (!event.failed) checkRequest(members, event);
}

}  // namespace

Verdict readGlobal(const JsonNode& node, ScheduleGlobal& global) {
  Members members(node);
  global.timing = members.oneOf("time_replay", kTimings);
  global.write_overwrite = members.truth("write_overwrite", false);
  global.size_scale = members.scale("size_scale");
  global.time_scale = members.scale("time_scale");
  const std::int64_t ranks = members.integer("ranks", 0);
  if (ranks > 16777216) members.refuse(fmt::format("{} ranks", ranks));
  global.ranks = static_cast<int>(ranks);
  const JsonNode* source = members.take("source", Kind::kObject);
  if (Verdict verdict = members.verdict()) return verdict;
  if (source == nullptr) return std::nullopt;
  Members origin(*source);
  global.source = bytesOf(origin.text("trace"));
  global.source_whole = origin.truth("whole", true);
  global.source_events_missing =
      static_cast<std::uint64_t>(origin.integer("events_missing", 0, false));
  global.command = origin.texts("command");
  for (std::string& word : global.command) word = bytesOf(word);
  global.left_out = origin.texts("left_out");
  return origin.verdict();
}

Verdict readFile(const JsonNode& node, ScheduleFile& file) {
  Members members(node);
  file.location = bytesOf(members.text("location"));
  file.role = members.oneOf("role", kRoles);
  file.exists = members.truth("exists", true);
  file.size = static_cast<std::uint64_t>(members.integer("size", 0, false));
  file.read_before_written =
      static_cast<std::uint64_t>(members.integer("read_before_written", 0, false));
  file.lines = members.truth("lines", false);
  if (const JsonNode* source = members.take("source", Kind::kString))
    file.source = bytesOf(source->text);
  if (file.read_before_written > file.size) {
    members.refuse(fmt::format("{} bytes are read before they are written, of {} that there are",
                               file.read_before_written, file.size));
  }
  return members.verdict();
}

Verdict readRepeat(const JsonNode& node, std::int64_t& times, const JsonNode*& body) {
  Members members(node);
  times = members.integer("repeat", 1);
  constexpr std::int64_t kMostTimes = 100'000'000;
  if (times > kMostTimes) members.refuse(fmt::format("\"repeat\" is beyond {}", kMostTimes));
  body = members.require("body", Kind::kArray);
  return members.verdict();
}

Verdict readEvent(const JsonNode& node, const Locations& locations, std::int64_t turn,
                  ScheduleEvent& event) {
  Members members(node, turn);
  event.start_ns = members.integer("start", 0);
  event.end_ns = members.integer("end", 0);
  if (event.end_ns < event.start_ns) members.refuse("it ends before it starts");
  constexpr std::int64_t kTenYears = std::int64_t{10} * 365 * 86400 * 1'000'000'000;
  if (event.end_ns > kTenYears) members.refuse("it ends more than ten years after the beginning");
  const std::string command = members.text("command");
  event.id = static_cast<std::uint64_t>(members.integer("id", 1, false));
  event.after = members.numbers<std::uint64_t>("after", members.take("after", Kind::kArray), 1);
  if (members.failed()) return members.verdict();
  const std::optional<Step> step = valueOf(kSteps, command);
  event.step = step.value_or(Step::kCall);
  switch (event.step) {
    case Step::kCall:
      readCall(members, command, locations, event);
      break;
    case Step::kPreopened:
      readArgument(members, {"location", KeyKind::kLocation, 0}, locations, event);
      readArgument(members, {"flags", KeyKind::kOpenFlags, 0}, locations, event);
      event.offset = members.integer("offset", 0);
      event.new_fd = Descriptor{members.integer("result", 0)};
      break;
    case Step::kInherited:
      event.fd = Descriptor{members.integer("fd", 0)};
      event.new_fd = Descriptor{members.integer("result", 0)};
      break;
    case Step::kDelay:
      break;
  }
  return members.verdict();
}

}  // namespace omnio::model
