#include "core/model/schedule_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json_units.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/model/schedule_words.hpp"

namespace omnio::model {
namespace {

using Kind = base::JsonNode::Kind;
using Verdict = base::JsonUnits::Verdict;
using Complaint = base::JsonUnits::Complaint;

// Reads the members of one object; the first complaint is kept, and what comes after it is idle.
class Members {
 public:
  explicit Members(const base::JsonNode& node, std::int64_t turn = 0) : node_(node), turn_(turn) {
    if (node.kind != Kind::kObject) refuse(node, "has to be an object");
    if (const base::JsonNode* step = take("step", Kind::kObject)) step_ = step;
  }

  Verdict verdict() {
    if (complaint_) return complaint_;
    for (const auto& [name, value] : node_.members) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        return Complaint{fmt::format("\"{}\" has no place here", base::inBrief(name)), value.place};
      }
    }
    if (step_ != nullptr) {
      for (const auto& [name, value] : step_->members) {
        if (node_.find(name) == nullptr || value.kind != Kind::kInteger) {
          return Complaint{fmt::format("no step for \"{}\"", base::inBrief(name)), value.place};
        }
      }
    }
    return std::nullopt;
  }
  bool failed() const { return complaint_.has_value(); }
  void refuse(const base::JsonNode& where, std::string reason) {
    if (!complaint_) complaint_ = Complaint{std::move(reason), where.place};
  }
  void refuse(std::string reason) { refuse(node_, std::move(reason)); }

  // The member, of that kind; nullptr when there is none, or it is of another kind.
  const base::JsonNode* take(std::string_view key, Kind kind) {
    known_.push_back(key);
    const base::JsonNode* value = node_.find(key);
    if (value == nullptr) return nullptr;
    const bool fits = value->kind == kind || (kind == Kind::kReal && value->kind == Kind::kInteger);
    if (!fits) {
      refuse(*value, fmt::format("\"{}\" has to be {}, not {}", key, base::JsonNode::nameOf(kind),
                                 base::JsonNode::nameOf(value->kind)));
      return nullptr;
    }
    return value;
  }
  const base::JsonNode* require(std::string_view key, Kind kind) {
    const base::JsonNode* value = take(key, kind);
    if (value == nullptr) refuse(fmt::format("\"{}\" is missing", key));
    return value;
  }

  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

  // With the step of a repeated event.
  std::int64_t integer(std::string_view key, std::int64_t least, bool required = true,
                       std::int64_t fallback = 0) {
    const base::JsonNode* value =
        required ? require(key, Kind::kInteger) : take(key, Kind::kInteger);
    if (value == nullptr) return fallback;
    std::int64_t number = value->integer;
    const base::JsonNode* step = step_ == nullptr ? nullptr : step_->find(key);
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
    const base::JsonNode* value = require(key, Kind::kString);
    return value == nullptr ? std::string() : value->text;
  }
  bool truth(std::string_view key, bool required) {
    const base::JsonNode* value = required ? require(key, Kind::kBool) : take(key, Kind::kBool);
    return value != nullptr && value->integer != 0;
  }
  // A word, or a number, that `parse` understands.
  template <typename Parse>
  std::int64_t word(std::string_view key, Parse parse) {
    const base::JsonNode* value = require(key, Kind::kString);
    if (value == nullptr) return 0;
    const std::optional<std::int64_t> number = parse(value->text);
    if (!number) {
      refuse(*value, fmt::format("unknown {} \"{}\"", key, base::inBrief(value->text)));
    }
    return number.value_or(0);
  }
  template <typename Value, std::size_t kCount>
  Value oneOf(std::string_view key, const std::pair<Value, std::string_view> (&words)[kCount]) {
    const base::JsonNode* value = require(key, Kind::kString);
    if (value == nullptr) return Value{};
    const std::optional<Value> found = valueOf(words, value->text);
    if (!found) refuse(*value, fmt::format("unknown {} \"{}\"", key, base::inBrief(value->text)));
    return found.value_or(Value{});
  }
  template <typename Number>
  std::vector<Number> numbers(std::string_view key, const base::JsonNode* list,
                              std::int64_t least) {
    std::vector<Number> values;
    if (list == nullptr) return values;
    for (const base::JsonNode& item : list->items) {
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
    const base::JsonNode* list = take(key, Kind::kArray);
    if (list == nullptr) return values;
    for (const base::JsonNode& item : list->items) {
      if (item.kind != Kind::kString) refuse(item, fmt::format("\"{}\" has to hold texts", key));
      values.push_back(item.text);
    }
    return values;
  }
  double scale(std::string_view key) {
    const base::JsonNode* value = take(key, Kind::kReal);
    if (value == nullptr) return 1;
    if (!(value->real > 0) || !std::isfinite(value->real)) {
      refuse(*value, fmt::format("\"{}\" has to be above 0", key));
    }
    return value->real;
  }

 private:
  const base::JsonNode& node_;
  const std::int64_t turn_;
  const base::JsonNode* step_ = nullptr;
  std::vector<std::string_view> known_;
  Verdict complaint_;
};

void readArgument(Members& members, const ScheduleKey& key, const Locations& locations,
                  ScheduleEvent& event) {
  const auto location = [&]() {
    const base::JsonNode* value = members.require(key.key, Kind::kString);
    if (value == nullptr) return kNoFileNumber;
    const std::string bytes = base::bytesOf(value->text);
    const auto found = locations.find(bytes);
    if (found != locations.end()) return found->second;
    members.refuse(
        *value, fmt::format("location \"{}\" is not in the list of files", base::inBrief(bytes)));
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
      number = members.word(key.key, calls::openFlagsOf);
      break;
    case KeyKind::kOctal:
      number = members.word(key.key, calls::numberIn);
      if (number < 0 || number > 07777) members.refuse("\"mode\" is beyond 07777");
      break;
    case KeyKind::kWhence:
      number = members.word(key.key, calls::whenceOf);
      break;
    case KeyKind::kCommand:
      number = members.word(key.key, calls::commandOf);
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
    case KeyKind::kNone:
      break;
  }
}

void readResult(Members& members, ScheduleEvent& event) {
  if (event.failed) {
    event.result = members.word("errno", [](std::string_view text) -> std::optional<std::int64_t> {
      return text == "EOF" ? std::optional<std::int64_t>(0) : calls::errnoOf(text);
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
    members.refuse(fmt::format("\"{}\" is not a mode that fopen takes", base::inBrief(mode)));
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
    members.refuse(fmt::format("there is no call \"{}\"", base::inBrief(command)));
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

Verdict readGlobal(const base::JsonNode& node, ScheduleGlobal& global) {
  Members members(node);
  global.timing = members.oneOf("time_replay", kTimings);
  global.write_overwrite = members.truth("write_overwrite", false);
  global.size_scale = members.scale("size_scale");
  global.time_scale = members.scale("time_scale");
  const std::int64_t ranks = members.integer("ranks", 0);
  if (ranks > 16777216) members.refuse(fmt::format("{} ranks", ranks));
  global.ranks = static_cast<int>(ranks);
  const base::JsonNode* source = members.take("source", Kind::kObject);
  if (Verdict verdict = members.verdict()) return verdict;
  if (source == nullptr) return std::nullopt;
  Members origin(*source);
  global.source = base::bytesOf(origin.text("trace"));
  global.source_whole = origin.truth("whole", true);
  global.source_events_missing =
      static_cast<std::uint64_t>(origin.integer("events_missing", 0, false));
  global.command = origin.texts("command");
  for (std::string& word : global.command) word = base::bytesOf(word);
  global.left_out = origin.texts("left_out");
  return origin.verdict();
}

Verdict readFile(const base::JsonNode& node, ScheduleFile& file) {
  Members members(node);
  file.location = base::bytesOf(members.text("location"));
  file.role = members.oneOf("role", kRoles);
  file.exists = members.truth("exists", true);
  file.size = static_cast<std::uint64_t>(members.integer("size", 0, false));
  file.read_before_written =
      static_cast<std::uint64_t>(members.integer("read_before_written", 0, false));
  file.lines = members.truth("lines", false);
  if (const base::JsonNode* source = members.take("source", Kind::kString))
    file.source = base::bytesOf(source->text);
  if (file.read_before_written > file.size) {
    members.refuse(fmt::format("{} bytes are read before they are written, of {} that there are",
                               file.read_before_written, file.size));
  }
  return members.verdict();
}

Verdict readRepeat(const base::JsonNode& node, std::int64_t& times, const base::JsonNode*& body) {
  Members members(node);
  times = members.integer("repeat", 1);
  constexpr std::int64_t kMostTimes = 100'000'000;
  if (times > kMostTimes) members.refuse(fmt::format("\"repeat\" is beyond {}", kMostTimes));
  body = members.require("body", Kind::kArray);
  return members.verdict();
}

Verdict readEvent(const base::JsonNode& node, const Locations& locations, std::int64_t turn,
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

namespace {

constexpr std::string_view kFiles = "/files";
constexpr std::string_view kRank = "/ranks/[]";
constexpr std::string_view kThread = "/ranks/[]/threads/[]";
constexpr std::string_view kEvents = "/ranks/[]/threads/[]/events";

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

class Reader final : public base::JsonUnits {
 public:
  explicit Reader(ScheduleSink& sink) : sink_(sink) {}

  bool isWalked(std::string_view path) const override {
    return path.empty() || path == kFiles || path == "/ranks" || path == kRank ||
           path == "/ranks/[]/threads" || path == kThread || path == kEvents;
  }

  Verdict unit(std::string_view path, const base::JsonNode& node) override {
    if (path.empty()) return Complaint{"not an object", node.place};
    if (path == "/format") return takeFormat(node);
    if (!format_known_) return Complaint{"not a schedule: \"format\" has to come first"};
    if (path == "/version") return takeVersion(node);
    if (!version_known_) return Complaint{"\"version\" has to come after \"format\""};
    if (path == "/global") return takeGlobal(node);
    if (path == "/files/[]") return takeFile(node);
    if (path == "/ranks/[]/rank") return takeRank(node);
    if (path.starts_with(kEvents) && path != kEvents) return takeEvent(node);
    if (path.starts_with(kThread) && path != kThread && path != kEvents) {
      return takeOfThread(path, node);
    }
    return Complaint{fmt::format("unknown: {}", base::inBrief(path)), node.place};
  }

  Verdict enter(std::string_view path) override {
    if (path.empty()) return std::nullopt;
    if (!version_known_) return Complaint{"not a schedule: \"format\" has to come first"};
    if (path == kFiles) {
      if (!has_global_) return Complaint{"\"global\" has to come before \"files\""};
      if (std::exchange(has_files_, true)) return Complaint{"\"files\" appears twice"};
    }
    if (path == "/ranks") {
      if (!has_files_) return Complaint{"\"files\" has to come before \"ranks\""};
      if (std::exchange(has_ranks_, true)) return Complaint{"\"ranks\" appears twice"};
    }
    if (path == kRank) {
      rank_known_ = false;
      thread_ = -1;
      made_.clear();
      wanted_.clear();
    }
    if (path == "/ranks/[]/threads" && !rank_known_) {
      return Complaint{"\"rank\" has to come before \"threads\""};
    }
    if (path == kThread) {
      thread_header_ = {
          .rank = rank_, .thread = -1, .pid = 0, .tid = 0, .host = {}, .recorder_ns = 0};
      has_events_ = false;
      wanted_here_.clear();
    }
    if (path == kEvents) return beginThread();
    return std::nullopt;
  }

  Verdict leave(std::string_view path) override {
    if (path == kEvents) return pass(sink_.endThread());
    if (path == kThread && !has_events_) return Complaint{"a thread without \"events\""};
    if (path == kRank) {
      if (!rank_known_) return Complaint{"a rank without \"rank\""};
      if (!wanted_.empty()) {
        const auto& [descriptor, place] = *wanted_.begin();
        return Complaint{
            fmt::format("fd {} is used, but no event of rank {} opens it", descriptor, rank_),
            place};
      }
    }
    if (path.empty()) return finish();
    return std::nullopt;
  }

 private:
  static Verdict pass(ScheduleSink::Complaint complaint,
                      std::optional<base::TextPlace> place = {}) {
    if (!complaint) return std::nullopt;
    return Complaint{std::move(*complaint), place};
  }

  Verdict takeFormat(const base::JsonNode& node) {
    if (node.kind != base::JsonNode::Kind::kString || node.text != kScheduleFormat) {
      return Complaint{fmt::format("not a schedule: \"format\" is not \"{}\"", kScheduleFormat),
                       node.place};
    }
    format_known_ = true;
    return std::nullopt;
  }

  Verdict takeVersion(const base::JsonNode& node) {
    if (node.kind != base::JsonNode::Kind::kInteger || node.integer != kScheduleVersion) {
      return Complaint{node.kind == base::JsonNode::Kind::kInteger
                           ? fmt::format("schedule version {}, but this omnio reads version {}",
                                         node.integer, kScheduleVersion)
                           : std::string("\"version\" has to be a whole number"),
                       node.place};
    }
    version_known_ = true;
    return std::nullopt;
  }

  Verdict takeGlobal(const base::JsonNode& node) {
    if (std::exchange(has_global_, true)) return Complaint{"\"global\" appears twice", node.place};
    ScheduleGlobal global;
    if (auto complaint = readGlobal(node, global)) return complaint;
    ranks_ = global.ranks;
    return pass(sink_.global(global), node.place);
  }

  Verdict takeFile(const base::JsonNode& node) {
    ScheduleFile file;
    if (auto complaint = readFile(node, file)) return complaint;
    const std::string why = whyNotBelow(file.location, file.role);
    if (!why.empty()) {
      return Complaint{fmt::format("location \"{}\" {}", base::inBrief(file.location), why),
                       node.place};
    }
    const FileNumber number{static_cast<std::uint32_t>(locations_.size())};
    if (!locations_.emplace(file.location, number).second) {
      return Complaint{fmt::format("location \"{}\" appears twice", base::inBrief(file.location)),
                       node.place};
    }
    return pass(sink_.file(number, file), node.place);
  }

  Verdict takeRank(const base::JsonNode& node) {
    if (node.kind != base::JsonNode::Kind::kInteger || node.integer != rank_ + 1) {
      return Complaint{fmt::format("\"rank\" has to be {}: ranks are in order, from 0", rank_ + 1),
                       node.place};
    }
    if (++rank_ >= ranks_) {
      return Complaint{fmt::format("rank {}, but \"global\" names {} ranks", rank_, ranks_),
                       node.place};
    }
    rank_known_ = true;
    return std::nullopt;
  }

  Verdict takeOfThread(std::string_view path, const base::JsonNode& node) {
    const std::string_view name = path.substr(kThread.size() + 1);
    if (name == "host") {
      if (node.kind != base::JsonNode::Kind::kString)
        return Complaint{"\"host\" has to be a text", node.place};
      thread_header_.host = base::bytesOf(node.text);
      return std::nullopt;
    }
    if (name != "thread" && name != "pid" && name != "tid" && name != "recorder") {
      return Complaint{fmt::format("unknown: \"{}\" of a thread", base::inBrief(name)), node.place};
    }
    if (node.kind != base::JsonNode::Kind::kInteger || node.integer < 0 ||
        node.integer > INT32_MAX) {
      return Complaint{fmt::format("\"{}\" has to be a number from 0 on", name), node.place};
    }
    if (name == "thread") thread_header_.thread = static_cast<int>(node.integer);
    if (name == "pid") thread_header_.pid = static_cast<std::uint32_t>(node.integer);
    if (name == "recorder") thread_header_.recorder_ns = node.integer;
    if (name == "tid") thread_header_.tid = static_cast<std::uint32_t>(node.integer);
    return std::nullopt;
  }

  Verdict beginThread() {
    if (std::exchange(has_events_, true)) return Complaint{"\"events\" appears twice"};
    if (thread_header_.thread != thread_ + 1) {
      return Complaint{fmt::format(
          "\"thread\" has to be {}, before \"events\": threads are in order, from 0", thread_ + 1)};
    }
    ++thread_;
    return pass(sink_.beginThread(thread_header_));
  }

  Verdict takeEvent(const base::JsonNode& node) {
    if (node.find("repeat") == nullptr) return takeOne(node, 0);
    std::int64_t times = 0;
    const base::JsonNode* body = nullptr;
    if (auto complaint = readRepeat(node, times, body)) return complaint;
    for (std::int64_t i = 0; i < times; ++i) {
      for (const base::JsonNode& item : body->items) {
        if (item.find("id") != nullptr || item.find("repeat") != nullptr) {
          return Complaint{"an event that is repeated has neither \"id\" nor \"repeat\"",
                           item.place};
        }
        if (auto complaint = takeOne(item, i)) return complaint;
      }
    }
    return std::nullopt;
  }

  Verdict takeOne(const base::JsonNode& node, std::int64_t turn) {
    ScheduleEvent event;
    if (auto complaint = readEvent(node, locations_, turn, event)) return complaint;
    for (const Descriptor used : {event.fd, event.source, event.replaced}) {
      const auto number = static_cast<std::int64_t>(used);
      if (used == kNoDescriptor || made_.contains(number)) continue;
      // Another thread of the rank, further down in the document, may be the one that makes it.
      wanted_.emplace(number, node.place);
      wanted_here_.emplace(number, node.place);
    }
    if (makesDescriptor(event)) {
      const auto number = static_cast<std::int64_t>(event.new_fd);
      if (!made_.insert(number).second) {
        return Complaint{fmt::format("fd {} of rank {} is made twice", number, rank_), node.place};
      }
      wanted_.erase(number);
      // A preopened one is there before all events, wherever it stands.
      const auto early = wanted_here_.find(number);
      if (early != wanted_here_.end() && event.step != Step::kPreopened) {
        return Complaint{fmt::format("fd {} is used before its own thread opens it", number),
                         early->second};
      }
    }
    if (event.id != 0) {
      if (!ids_.insert(event.id).second) {
        return Complaint{fmt::format("id {} appears twice", event.id), node.place};
      }
      waited_.erase(event.id);
    }
    for (const std::uint64_t id : event.after) {
      if (!ids_.contains(id)) waited_.emplace(id, node.place);
    }
    return pass(sink_.event(event), node.place);
  }

  Verdict finish() {
    if (!version_known_) return Complaint{"not a schedule: it has no \"format\" and \"version\""};
    if (!has_ranks_) return Complaint{"it has no \"ranks\""};
    if (rank_ + 1 != ranks_) {
      return Complaint{fmt::format("it has {} ranks, but \"global\" names {}", rank_ + 1, ranks_)};
    }
    if (!waited_.empty()) {
      const auto& [id, place] = *waited_.begin();
      return Complaint{fmt::format("\"after\" names id {}, which no event has", id), place};
    }
    return std::nullopt;
  }

  ScheduleSink& sink_;
  bool format_known_ = false;
  bool version_known_ = false;
  bool has_global_ = false;
  bool has_files_ = false;
  bool has_ranks_ = false;
  bool rank_known_ = false;
  bool has_events_ = false;
  int ranks_ = 0;
  int rank_ = -1;
  int thread_ = -1;
  ScheduleThread thread_header_;
  Locations locations_;
  std::unordered_set<std::int64_t> made_;                          // descriptors of the rank
  std::map<std::int64_t, base::TextPlace> wanted_;                 // used, and not yet made
  std::unordered_map<std::int64_t, base::TextPlace> wanted_here_;  // those that the thread used
  std::unordered_set<std::uint64_t> ids_;                          // of the schedule
  std::map<std::uint64_t, base::TextPlace> waited_;  // named by `after`, and not yet met
};

}  // namespace

std::optional<base::Failure> readSchedule(const std::filesystem::path& path, ScheduleSink& sink) {
  Reader reader(sink);
  return base::readJsonUnits(path, reader);
}

}  // namespace omnio::model
