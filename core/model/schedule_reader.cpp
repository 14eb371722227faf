// Reads schedules piece by piece. The file is long because a value is checked where it is read:
// only there are its line and column known.
#include "core/model/schedule_reader.hpp"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/integers.hpp"
#include "core/base/json_reader.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"
#include "core/model/loop_numbers.hpp"
#include "core/model/repeat.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/times_file.hpp"
#include "core/model/work_share.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

using Locations = std::unordered_map<std::string, FileNumber>;

constexpr std::string_view kStartKey = "start";
constexpr std::string_view kShareKey = "share";

// Permissions are octal in schedules, with the 0 in front that C has.
std::optional<std::int64_t> octalIn(std::string_view text) {
  const bool is_octal = text.starts_with('0') && text.find_first_not_of("01234567") == text.npos;
  return is_octal ? calls::numberIn(text) : std::nullopt;
}

constexpr std::int64_t kTenYears = std::int64_t{10} * 365 * 86400 * 1'000'000'000;

// Where the times of a thread's events are.
struct ThreadTimes {
  std::int64_t previous_end_ns = 0;
  // Takes the place of the next event's own gap: that before a loop.
  std::optional<std::int64_t> gap_ns;
  // Where the next times are; nullptr: the document has them, as means in loops.
  TimesReader* exact = nullptr;
  // The document has none of the next event's times, `exact` has all.
  bool are_left_out = false;
};

// How many events each line with a "share" has stood for so far, by its place.
using ShareCounts = std::map<std::pair<std::size_t, std::size_t>, std::uint64_t>;

// Reads the members of one event.
class EventReader {
 public:
  // `mpi`: of the schedule; nullptr where it has no calls of MPI-IO.
  EventReader(JsonReader& in, const JsonNode& node, const Locations& locations,
              const MpiTables* mpi, ThreadTimes& times, ShareCounts* shares)
      : in_(in),
        object_(in, node),
        place_(node.place),
        locations_(locations),
        mpi_(mpi),
        times_(times),
        shares_(shares) {}

  ScheduleEvent read() {
    ScheduleEvent& event = event_;
    const std::string command = object_.text("command");
    object_.find("comment");
    object_.find(kTimesKey);  // of the item, which the reader of the thread takes
    event.step = base::valueOf(kSteps, command).value_or(Step::kCall);
    readTimes();
    event.id = static_cast<std::uint64_t>(object_.integer("id", {.least = 1}, 0));
    event.phase = static_cast<int>(object_.integer("phase", {.least = 1, .most = INT32_MAX}, 0));
    event.own = own();
    if (object_.find("after") != nullptr) {
      for (const JsonNode& item : object_.list("after")) takeWaits(item);
    }
    if (in_.failed()) return event;
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

  void readTimes() {
    ScheduleEvent& event = event_;
    if (times_.are_left_out) {
      const std::int64_t gap = nextTime(-kTenYears);
      takeTimes(gap, nextTime());
    } else if (object_.find("gap") == nullptr && object_.find("duration") == nullptr) {
      event.start_ns = object_.integer(kStartKey, {.least = 0});
      event.end_ns = object_.integer("end", {.least = 0});
      if (event.end_ns < event.start_ns) object_.refuse("it ends before it starts");
      times_.gap_ns.reset();
    } else {
      // A gap is negative where clocks were put right.
      std::int64_t gap = object_.integer("gap", {.least = -kTenYears, .most = kTenYears});
      std::int64_t duration = object_.integer("duration", {.least = 0, .most = kTenYears});
      const auto before_loop = std::exchange(times_.gap_ns, std::nullopt);
      if (times_.exact != nullptr) {
        gap = nextTime(-kTenYears);
        duration = nextTime();
      } else if (before_loop) {
        gap = *before_loop;
      }
      takeTimes(gap, duration);
    }
    if (event.end_ns > kTenYears) {
      object_.refuse("it ends more than ten years after the beginning");
    }
    const bool has_time =
        event.step != Step::kPreopened || event.start_ns != 0 || event.end_ns != 0;
    if (has_time) times_.previous_end_ns = event.end_ns;
  }

  void takeTimes(std::int64_t gap, std::int64_t duration) {
    // A descriptor that was open before leaves the time of the thread as it is.
    if (gap == 0 && duration == 0 && event_.step == Step::kPreopened) return;
    event_.start_ns = std::max<std::int64_t>(base::saturatingSum(times_.previous_end_ns, gap), 0);
    event_.end_ns = base::saturatingSum(event_.start_ns, std::max<std::int64_t>(duration, 0));
  }

  // The next one in the file of times. One that no event can have is refused.
  std::int64_t nextTime(std::int64_t least = 0, std::int64_t most = kTenYears) {
    const std::int64_t time = times_.exact->next();
    if (time >= least && time <= most) return time;
    object_.refuse(fmt::format("the file of times has {} for it; {}", time,
                               most == 1   ? "1 or 0 is wanted"
                               : least < 0 ? "a gap is at most ten years"
                                           : "a time is from 0 to ten years"));
    return 0;
  }

  // A line that was added to a loop with its start and end has no exact times.
  TimesReader* exact() {
    return times_.are_left_out || object_.find("gap") != nullptr ? times_.exact : nullptr;
  }

  std::optional<Work> own() {
    const bool has_compute = object_.find("compute") != nullptr;
    const bool has_any = object_.find("communication") != nullptr || has_compute;
    const bool has_share = hasShare(has_any);
    if (exact() == nullptr) {
      return has_any && has_share ? std::optional(work(object_, false)) : std::nullopt;
    }
    const bool has_work = nextTime(0, 1) != 0;
    const Work work = this->work(object_, true);
    return has_work ? std::optional(work) : std::nullopt;
  }

  // Whether this one of the events that the line stands for has its work. "share": so many of so
  // many events, spread evenly.
  bool hasShare(bool has_any) {
    if (object_.find(kShareKey) == nullptr) return true;
    const auto share =
        object_.integers<std::uint64_t>(kShareKey, {.least = 1, .most = INT64_MAX / 4});
    if (in_.failed()) return true;
    if (share.size() != 2 || share[0] > share[1] || !has_any) {
      object_.refuse(
          "\"share\" has to be two numbers, of events with \"compute\" and of all, beside "
          "\"compute\"");
      return true;
    }
    if (exact() != nullptr || shares_ == nullptr) return true;
    return WorkShare{.with_work = share[0], .all = share[1]}.has(
        (*shares_)[{place_.line, place_.column}]++);
  }

  // Where there are exact times, they are of both members. `are_left_out`: the object has neither.
  Work work(JsonObject& object, bool are_left_out) {
    if (are_left_out) {
      const std::int64_t compute_ns = nextTime();
      return {.compute_ns = compute_ns, .communication_ns = nextTime()};
    }
    constexpr base::JsonRange kAny{.least = 0, .most = kTenYears};
    Work work{.compute_ns = object.integer("compute", kAny, 0),
              .communication_ns = object.integer("communication", kAny, 0)};
    if (hasExactWork(object)) {
      work.compute_ns = nextTime();
      work.communication_ns = nextTime();
    }
    return work;
  }

  // Where the times of a line are left out, the exact ones are those of waits for communication
  // alone.
  bool hasExactWork(JsonObject& object) {
    return !times_.are_left_out && exact() != nullptr && object.find("compute") != nullptr;
  }

  // A number alone is the id of an event that uses the same file.
  void takeWaits(const JsonNode& item) {
    if (item.as<JsonNode::Members>() == nullptr) {
      event_.after.push_back(
          {.id = static_cast<std::uint64_t>(base::integerOf(in_, "after", item, {.least = 1}))});
      return;
    }
    JsonObject object(in_, item);
    const Wait wait{
        .id = object.natural("id"), .reason = object.oneOf("why", kReasons), .work = {}};
    const bool has_times = times_.are_left_out && isOfCommunication(wait.reason);
    if (object.find("repeat") == nullptr) {
      event_.after.push_back(wait);
      event_.after.back().work = work(object, has_times);
      return;
    }
    // Several, whose ids are `step` apart. Of all of them, computing comes first.
    const std::int64_t count = object.integer("repeat", {.least = 1, .most = kMostWaits});
    const std::int64_t step = object.integer("step");
    const bool is_exact = has_times || hasExactWork(object);
    const Work mean = is_exact ? Work{} : work(object, false);
    object.find("compute");
    object.find("communication");
    if (in_.failed()) return;
    const std::size_t first = event_.after.size();
    if (first + static_cast<std::size_t>(count) > kMostWaits) {
      return object.refuse(fmt::format("an event that is after more than {} others", kMostWaits));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      __extension__ const __int128 id =
          static_cast<__int128>(wait.id) + static_cast<__int128>(step) * i;
      if (id < 1 || id > INT64_MAX) return object.refuse("\"after\" with an id below 1");
      event_.after.push_back(
          {.id = static_cast<std::uint64_t>(id), .reason = wait.reason, .work = mean});
    }
    if (!is_exact) return;
    for (std::size_t i = first; i < event_.after.size(); ++i) {
      event_.after[i].work.compute_ns = nextTime();
    }
    for (std::size_t i = first; i < event_.after.size(); ++i) {
      event_.after[i].work.communication_ns = nextTime();
    }
  }
  static constexpr std::int64_t kMostWaits = 1 << 20;

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
        number = object_.word(key.key, octalIn);
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
  const base::TextPlace place_;
  const Locations& locations_;
  const MpiTables* const mpi_;
  ThreadTimes& times_;
  ShareCounts* const shares_;
  ScheduleEvent event_;
};

// How many times of an event are in the file of times. `are_left_out`: the line has none of them.
std::int64_t timesOf(const JsonNode& event, bool are_left_out) {
  if (!are_left_out && event.find("gap") == nullptr) return 0;
  std::int64_t times = kTimesOfEvent;
  const JsonNode* after = event.find("after");
  const auto* waits = after == nullptr ? nullptr : after->as<JsonNode::List>();
  if (waits == nullptr) return times;
  for (const JsonNode& wait : *waits) {
    const JsonNode* why = wait.find("why");
    const auto* word = why == nullptr ? nullptr : why->as<std::string>();
    const auto reason = word == nullptr ? std::nullopt : base::valueOf(kReasons, *word);
    const bool has_times =
        are_left_out ? reason && isOfCommunication(*reason) : wait.find("compute") != nullptr;
    if (!has_times) continue;
    const JsonNode* repeat = wait.find("repeat");
    const auto* count = repeat == nullptr ? nullptr : repeat->as<std::int64_t>();
    times = base::saturatingSum(
        times, kTimesOfWork * std::clamp<std::int64_t>(count == nullptr ? 1 : *count, 0,
                                                       std::int64_t{1} << 32));
  }
  return times;
}

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

// Makes of a loop what a sink may take, by events of some of its turns.
class LoopBuilder {
 public:
  // `has_exact`: the file of times has the times of the loop.
  LoopBuilder(JsonReader& in, TurnValues& values, const Locations& locations, const MpiTables* mpi,
              bool has_exact)
      : in_(in), values_(values), locations_(locations), mpi_(mpi), has_exact_(has_exact) {}

  // Nothing where only the events themselves tell what the loop does.
  std::unique_ptr<EventLoop> built(const Repeat& repeat) {
    goToFirstTurn(repeat);
    first_ = values_;
    // Each sample has all values.
    if (first_.size() > kMostValues) return nullptr;
    auto loop = std::make_unique<EventLoop>();
    return build(repeat, *loop) ? std::move(loop) : nullptr;
  }
  // Why an event of the loop, or one with some of its numbers, would be refused.
  const std::optional<base::Failure>& refusal() const { return refusal_; }

 private:
  static constexpr std::size_t kDeepest = 6;  // has 64 corners
  static constexpr std::int64_t kMostNames = 1 << 22;
  static constexpr std::size_t kMostValues = 1024;

  void goToFirstTurn(const Repeat& repeat) {
    values_[repeat.place()] = 0;
    for (std::size_t i = 0; i < repeat.lists().size(); ++i) {
      values_[repeat.place() + 1 + i] = repeat.lists()[i].front();
    }
    for (const Repeat::Part& part : repeat.body()) {
      if (part.loop) goToFirstTurn(*part.loop);
    }
  }

  bool build(const Repeat& repeat, EventLoop& loop) {
    loop.turns = repeat.turns();
    loop.place = repeat.place();
    for (const auto& list : repeat.lists()) loop.lists.push_back(&list);
    if (const JsonNode* gap = repeat.node().find("gap")) {
      const auto* number = gap->as<std::int64_t>();
      if (number == nullptr || *number < -kTenYears || *number > kTenYears) return false;
      loop.gap_ns = *number;
    }
    path_.push_back(&loop);
    if (path_.size() > kDeepest || !passesOf(path_)) return false;
    for (const Repeat::Part& part : repeat.body()) {
      EventLoop::Part& made = loop.body.emplace_back();
      if (part.loop) {
        made.loop = std::make_unique<EventLoop>();
        if (!build(*part.loop, *made.loop)) return false;
      } else {
        made.line = std::make_unique<LoopLine>();
        if (!build(*part.item, *made.line)) return false;
      }
    }
    path_.pop_back();
    // Turns without an event are not to be gone through.
    return std::ranges::any_of(loop.body, [](const EventLoop::Part& part) {
      return part.line != nullptr || part.loop != nullptr;
    });
  }

  bool build(TurnNode& item, LoopLine& line) {
    line.is_relative = isRelative(item.node());
    line.place = item.node().place;
    if (!sample(item, first_, line.samples)) return false;
    const ScheduleEvent& first = line.first();
    if (first.step != Step::kCall && first.step != Step::kDelay) return false;
    // Groups count how often their files are opened.
    if (first.step == Step::kCall && calls::isMpiIo(*first.row) &&
        first.row->call_class == calls::Class::kOpen) {
      return false;
    }
    LoopPath changing;
    for (const EventLoop* loop : path_) {
      bool is_used = loop->turns > 1 && item.dependsOn(loop->place);
      if (is_used && !sampleWith(item, loop->place, 1, line.samples)) return false;
      for (std::size_t i = 0; i < loop->lists.size(); ++i) {
        const std::size_t place = loop->place + 1 + i;
        if (!item.dependsOn(place)) continue;
        is_used = true;
        const auto [least, most] = std::ranges::minmax(*loop->lists[i]);
        if (!sampleWith(item, place, least, line.samples) ||
            !sampleWith(item, place, most, line.samples)) {
          return false;
        }
      }
      if (is_used) changing.push_back(loop);
    }
    if (!has_exact_) takeShare(item, line);
    return sampleCorners(item, changing, line) && sampleLists(item, changing, line) &&
           takeWaits(item, line) && areNamesAsTold(item, line);
  }

  // Which a sample would have refused where it is none.
  static void takeShare(const TurnNode& item, LoopLine& line) {
    const JsonNode* share = item.node().find(kShareKey);
    const auto* numbers = share == nullptr ? nullptr : share->as<JsonNode::List>();
    if (numbers == nullptr || numbers->size() != 2) return;
    const auto* with_work = (*numbers)[0].as<std::int64_t>();
    const auto* all = (*numbers)[1].as<std::int64_t>();
    if (with_work == nullptr || all == nullptr) return;
    line.share = WorkShare{.with_work = static_cast<std::uint64_t>(*with_work),
                           .all = static_cast<std::uint64_t>(*all)};
  }

  // Each event waits for as many, for the same reasons.
  static bool takeWaits(const TurnNode& item, LoopLine& line) {
    const std::vector<Wait>& waits = line.first().after;
    for (const auto* samples : {&line.samples, &line.corners}) {
      for (const auto& [values, event] : *samples) {
        const bool is_same =
            std::ranges::equal(event.after, waits, [](const Wait& a, const Wait& b) {
              return a.reason == b.reason && a.work == b.work && (a.id == 0) == (b.id == 0);
            });
        if (!is_same || event.own != line.first().own) return false;
      }
    }
    const JsonNode* after = item.node().find("after");
    const auto* list = after == nullptr ? nullptr : after->as<JsonNode::List>();
    if (list == nullptr) return true;
    std::uint32_t at = 0;
    for (const JsonNode& wait : *list) {
      const JsonNode* repeat = wait.find("repeat");
      const auto* number = repeat == nullptr ? nullptr : repeat->as<std::int64_t>();
      const auto count = static_cast<std::uint32_t>(number == nullptr ? 1 : *number);
      if (wait.find("compute") != nullptr) line.timed_waits.push_back({at, count});
      at += count;
    }
    return true;
  }

  static bool isRelative(const JsonNode& node) {
    return node.find("gap") != nullptr || node.find("duration") != nullptr;
  }

  bool sampleWith(TurnNode& item, std::size_t place, std::int64_t value,
                  std::vector<LoopLine::Sample>& samples) {
    if (value == first_[place]) return true;
    TurnValues values = first_;
    values[place] = value;
    return sample(item, values, samples);
  }

  bool sampleCorners(TurnNode& item, const LoopPath& changing, LoopLine& line) {
    for (std::size_t corner = 0; corner < std::size_t{1} << changing.size(); ++corner) {
      TurnValues values = first_;
      for (std::size_t i = 0; i < changing.size(); ++i) {
        if ((corner >> i & 1U) == 0) continue;
        const EventLoop& loop = *changing[i];
        values[loop.place] = loop.turns - 1;
        for (std::size_t k = 0; k < loop.lists.size(); ++k) {
          values[loop.place + 1 + k] = loop.lists[k]->back();
        }
      }
      if (!sample(item, values, line.corners)) return false;
    }
    return true;
  }

  // Numbers of lists go up and down: all of their turns are looked at, with the first and last
  // turns of the other loops. Those events stay that have the most of something.
  bool sampleLists(TurnNode& item, const LoopPath& changing, LoopLine& line) {
    LoopPath listed;
    LoopPath others;
    for (const EventLoop* loop : changing) {
      bool has_list = false;
      for (std::size_t i = 1; i <= loop->lists.size(); ++i) {
        has_list = has_list || item.dependsOn(loop->place + i);
      }
      (has_list ? listed : others).push_back(loop);
    }
    if (listed.empty()) return true;
    const auto passes = passesOf(listed);
    if (!passes || *passes > kMostNames >> others.size()) return false;
    const std::size_t count = numbersOf(line.first()).size();
    std::vector<TurnNumber> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = line.number([&](const ScheduleEvent& event) {
        const std::vector<std::int64_t> all = numbersOf(event);
        return all.size() == count ? all[i] : 0;
      });
      if (!number) return false;
      numbers.push_back(*number);
    }
    TurnValues turns = first_;
    std::vector<std::optional<LoopLine::Sample>> least(count);
    std::vector<std::optional<LoopLine::Sample>> most(count);
    const bool are_as_told = forTurnsWhile(listed, turns, [&](const TurnValues& now) {
      for (std::size_t corner = 0; corner < std::size_t{1} << others.size(); ++corner) {
        TurnValues values = now;
        for (std::size_t i = 0; i < others.size(); ++i) {
          if ((corner >> i & 1U) != 0) values[others[i]->place] = others[i]->turns - 1;
        }
        std::vector<LoopLine::Sample> one;
        if (!sample(item, values, one)) return false;
        const std::vector<std::int64_t> all = numbersOf(one.front().event);
        if (all.size() != count) return false;
        for (std::size_t i = 0; i < count; ++i) {
          if (numbers[i].at(values, first_) != all[i]) return false;
          if (numbers[i].steps.empty()) continue;
          const auto of = [&](const LoopLine::Sample& other) {
            return numbers[i].at(other.values, first_);
          };
          if (!least[i] || all[i] < of(*least[i])) least[i] = one.front();
          if (!most[i] || all[i] > of(*most[i])) most[i] = one.front();
        }
      }
      return true;
    });
    if (!are_as_told) return false;
    for (auto* samples : {&least, &most}) {
      for (auto& kept : *samples) {
        if (kept) line.corners.push_back(std::move(*kept));
      }
    }
    // The last one stays the last.
    std::swap(line.corners[(std::size_t{1} << changing.size()) - 1], line.corners.back());
    return true;
  }

  // All that changes of an event from turn to turn, and what counts of it besides.
  static std::vector<std::int64_t> numbersOf(const ScheduleEvent& event) {
    std::vector<std::int64_t> numbers(event.arguments.begin(), event.arguments.end());
    const auto add = [&numbers](auto... values) {
      (numbers.push_back(static_cast<std::int64_t>(values)), ...);
    };
    add(event.start_ns, event.end_ns, event.result, event.fd, event.source, event.replaced,
        event.new_fd, event.directory, event.new_directory, event.file, event.new_file,
        event.lookups, event.new_lookups, event.request, event.offset, event.phase, event.id,
        event.row == nullptr ? 0 : bytesMoved(event));
    std::uint64_t pieces = 0;
    for (const std::uint64_t piece : event.pieces) pieces += piece;
    add(pieces);
    for (const std::uint64_t piece : event.pieces) add(piece);
    for (const Wait& wait : event.after) add(wait.id);
    return numbers;
  }

  // False where such an event would be refused.
  bool sample(TurnNode& item, const TurnValues& values, std::vector<LoopLine::Sample>& samples) {
    values_ = values;
    std::optional<ScheduleEvent> event;
    const auto taken = in_.attempt([&] {
      const JsonNode& node = item.now();
      if (in_.failed()) return;
      ThreadTimes none;
      event = EventReader(in_, node, locations_, mpi_, none, nullptr).read();
      if (!isRelative(node) || in_.failed()) return;
      event->start_ns = base::integerOf(in_, "gap", *node.find("gap"), {});
      event->end_ns = base::integerOf(in_, "duration", *node.find("duration"), {});
    });
    if (!taken) {
      refusal_ = taken.failure();
      return false;
    }
    samples.push_back({.values = values, .event = std::move(*event)});
    return true;
  }

  // Names are no numbers: those of all turns are looked up.
  bool areNamesAsTold(TurnNode& item, const LoopLine& line) {
    LoopPath naming;
    for (const EventLoop* loop : path_) {
      bool is_named = false;
      for (std::size_t i = 0; i <= loop->lists.size(); ++i) {
        is_named = is_named || item.hasNameOf(loop->place + i);
      }
      if (is_named) naming.push_back(loop);
    }
    if (naming.empty()) return true;
    const auto passes = passesOf(naming);
    const auto file = line.number([](const ScheduleEvent& event) { return event.file; });
    const auto new_file = line.number([](const ScheduleEvent& event) { return event.new_file; });
    if (!passes || *passes > kMostNames || !file || !new_file) return false;
    TurnValues values = first_;
    const bool is_as_told = forTurnsWhile(naming, values, [&](const TurnValues& now) {
      values_ = now;
      const std::pair<FileNumber, FileNumber> names{
          static_cast<FileNumber>(file->at(now, first_)),
          static_cast<FileNumber>(new_file->at(now, first_))};
      return in_.attempt([&] { item.now(); }).ok() && isNamed(item, "location", names.first) &&
             isNamed(item, "newlocation", names.second);
    });
    return is_as_told;
  }

  bool isNamed(const TurnNode& item, std::string_view key, FileNumber file) const {
    const JsonNode* node = item.node().find(key);
    const auto* text = node == nullptr ? nullptr : node->as<std::string>();
    if (text == nullptr) return file == kNoFileNumber;
    const auto found = locations_.find(base::bytesOf(*text));
    return found == locations_.end() ? file == kNoFileNumber : found->second == file;
  }

  JsonReader& in_;
  TurnValues& values_;
  const Locations& locations_;
  const MpiTables* const mpi_;
  TurnValues first_;
  std::optional<base::Failure> refusal_;
  const bool has_exact_;
  LoopPath path_;
};

// The end of a loop's last event. With a loop's own gap before its first one.
class LoopEnd {
 public:
  // Nothing where its lines have times of several kinds, or times that change from turn to turn.
  static std::optional<std::int64_t> of(const EventLoop& loop, const ThreadTimes& times) {
    LoopEnd end;
    bool is_last_relative = false;
    forEachLine(loop, [&](const LoopLine& line, const LoopPath&) {
      const auto gap = line.number([](const ScheduleEvent& event) { return event.start_ns; });
      const auto duration = line.number([](const ScheduleEvent& event) { return event.end_ns; });
      if (!gap || !duration) end.is_known_ = false;
      if (line.is_relative && gap && duration &&
          (!gap->steps.empty() || !duration->steps.empty()) && times.exact == nullptr) {
        end.is_known_ = false;
      }
      (line.is_relative ? end.relative_ : end.absolute_) += 1;
      if (line.is_relative && gap && gap->first < 0) end.backwards_ns_ -= gap->first;
      is_last_relative = line.is_relative;
      end.last_ns_ = line.corners.back().event.end_ns;
    });
    if (!end.is_known_ || (end.relative_ > 0 && end.absolute_ > 0)) return {};
    if (end.relative_ + end.absolute_ == 0) return times.previous_end_ns;
    if (!is_last_relative)
      return times.exact == nullptr ? std::optional(end.last_ns_) : std::nullopt;
    if (times.exact != nullptr) return exactEnd(loop, times);
    std::optional<std::int64_t> gap = times.gap_ns;
    const Wide length = lengthOf(loop, gap);
    forEachLoop(loop, [&end](const EventLoop& one) {
      end.backwards_ns_ -= std::min<std::int64_t>(one.gap_ns.value_or(0), 0);
    });
    // No event begins before the run does.
    if (length < 0 || times.previous_end_ns < end.backwards_ns_) return {};
    return static_cast<std::int64_t>(
        std::clamp<Wide>(times.previous_end_ns + length, 0, INT64_MAX));
  }

 private:
  __extension__ using Wide = __int128;

  template <typename Visit>
  static void forEachLoop(const EventLoop& loop, Visit visit) {
    visit(loop);
    for (const EventLoop::Part& part : loop.body) {
      if (part.loop) forEachLoop(*part.loop, visit);
    }
  }

  static std::optional<std::int64_t> exactEnd(const EventLoop& loop, const ThreadTimes& times) {
    std::int64_t end_ns = times.previous_end_ns;
    const bool are_possible = passExact(loop, *times.exact, end_ns);
    if (!are_possible) return {};
    return end_ns;
  }

  // False where no event can have such times: the events one by one refuse them.
  static bool passExact(const EventLoop& loop, TimesReader& times, std::int64_t& end_ns) {
    const auto isPossible = [](std::int64_t time) { return time >= 0 && time <= kTenYears; };
    for (std::int64_t turn = 0; turn < loop.turns && !times.failure(); ++turn) {
      for (const EventLoop::Part& part : loop.body) {
        if (part.loop) {
          if (!passExact(*part.loop, times, end_ns)) return false;
          continue;
        }
        std::array<std::int64_t, kTimesOfEvent> of_event{};
        for (std::int64_t& time : of_event) time = times.next();
        const auto [gap, duration, has_work, compute, communication] = of_event;
        if (gap < -kTenYears || gap > kTenYears || (has_work != 0 && has_work != 1) ||
            !isPossible(duration) || !isPossible(compute) || !isPossible(communication)) {
          return false;
        }
        end_ns = std::max<std::int64_t>(base::saturatingSum(end_ns, gap), 0);
        end_ns = base::saturatingSum(end_ns, duration);
        for (const auto& waits : part.line->timed_waits) {
          for (std::uint32_t i = 0; i < 2 * waits.count; ++i) {
            if (!isPossible(times.next())) return false;
          }
        }
      }
    }
    return true;
  }

  // `gap`: takes the place of the next event's.
  static Wide lengthOf(const EventLoop& loop, std::optional<std::int64_t>& gap) {
    if (!gap) gap = loop.gap_ns;
    const Wide first = turnOf(loop, gap);
    if (loop.turns == 1) return first;
    return first + turnOf(loop, gap) * (loop.turns - 1);
  }

  static Wide turnOf(const EventLoop& loop, std::optional<std::int64_t>& gap) {
    Wide length = 0;
    for (const EventLoop::Part& part : loop.body) {
      if (part.loop) {
        length += lengthOf(*part.loop, gap);
      } else {
        const ScheduleEvent& event = part.line->first();
        length += std::exchange(gap, std::nullopt).value_or(event.start_ns);
        length += event.end_ns;
      }
    }
    return length;
  }

  std::int64_t last_ns_ = 0;
  Wide backwards_ns_ = 0;  // the sum of negative gaps
  int relative_ = 0;
  int absolute_ = 0;
  bool is_known_ = true;
};

class Reader {
 public:
  Reader(JsonReader& in, ScheduleSink& sink, const std::filesystem::path& path,
         std::filesystem::path times)
      : in_(in), sink_(sink), path_(placeOfSchedule(path)), times_path_(std::move(times)) {}

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
      checkWaitedRanges();
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
      targets_ = global.targets;
      if (mpi_) members_ = mpi_->groups;
      for (std::vector<int>& members : members_) std::ranges::sort(members);
      has_global_ = true;
      if (const JsonNode* times = node.find(kTimesKey)) openTimes(*times);
      pass([&] { return sink_.global(global); }, node.place);
    } else if (key == "files") {
      if (!has_global_) return in_.refuse("\"global\" has to come before \"files\"");
      has_files_ = true;
      in_.items([this] { readFiles(); });
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

  void openTimes(const JsonNode& node) {
    JsonObject object(in_, node);
    const std::string name = base::bytesOf(object.text("file"));
    const std::string digest = object.text("digest");
    if (in_.failed()) return;
    if (name.empty() || name == ".." || name.find('/') != std::string::npos) {
      return in_.refuse(node.place,
                        "\"file\" of \"times\" has to be a name in the directory of the schedule");
    }
    times_.emplace();
    if (times_path_.empty()) times_path_ = path_.parent_path() / name;
    times_digest_ = digest;
    const auto opened = times_->open(times_path_, digest);
    if (!opened) {
      in_.refuse(node.place,
                 fmt::format("{}; without \"times\" in \"global\", lines with \"gap\" and "
                             "\"duration\" have these mean times, and lines without are refused",
                             opened.failure().sentence));
    }
  }

  void readFiles() {
    const JsonNode node = in_.value();
    if (node.find("repeat") == nullptr) return readFile(node);
    Repeat loop(in_, node, scope_);
    loop.run(
        {.begin = [](const Repeat&) {}, .item = [this](const JsonNode& item) { readFile(item); }});
  }

  void readFile(const JsonNode& node) {
    if (in_.failed()) return;
    const ScheduleFile file = fileOf(in_, node);
    if (!targets_.empty() && !file.target.empty() &&
        std::ranges::find(targets_, file.target, &ScheduleTarget::name) == targets_.end()) {
      in_.refuse(node.place,
                 fmt::format("location \"{}\" names the target {}, which \"targets\" does not have",
                             base::inBrief(file.location), base::inBrief(file.target)));
    }
    const FileNumber number{static_cast<std::uint32_t>(locations_.size())};
    if (!locations_.emplace(file.location, number).second) {
      in_.refuse(node.place,
                 fmt::format("location \"{}\" appears twice", base::inBrief(file.location)));
    }
    pass([&] { return sink_.file(number, file); }, node.place);
  }

  void readRank() {
    bool is_known = false;
    std::optional<std::pair<int, int>> shared;  // first and last rank
    shares_.clear();
    in_.members([&](std::string_view key) {
      if (is_known && (key == "rank" || key == "ranks")) {
        return in_.refuse("\"rank\" and \"ranks\" together");
      }
      if (key == "rank") {
        takeRank(in_.value());
        is_known = true;
      } else if (key == "ranks") {
        shared = takeRanks(in_.value());
        is_known = true;
      } else if (key == "comment") {
        in_.value();
      } else if (key != "threads") {
        refuseUnknown(key);
      } else if (!is_known) {
        in_.refuse("\"rank\" has to come before \"threads\"");
      } else if (shared) {
        readShared(in_.value(), *shared);
      } else {
        in_.items([this] { readThread(); });
        endRank();
      }
    });
    if (!is_known) in_.refuse("a rank without \"rank\"");
  }

  void beginRank() {
    thread_ = -1;
    made_.clear();
    wanted_.clear();
  }

  void endRank() {
    if (wanted_.empty()) return;
    const auto& [descriptor, place] = *wanted_.begin();
    in_.refuse(place,
               fmt::format("fd {} is used, but no event of rank {} opens it", descriptor, rank_));
  }

  void takeRank(const JsonNode& node) {
    const auto* rank = node.as<std::int64_t>();
    if (rank == nullptr || *rank != rank_ + 1) {
      in_.refuse(node.place,
                 fmt::format("\"rank\" has to be {}: ranks are in order, from 0", rank_ + 1));
    } else if (++rank_ >= ranks_) {
      in_.refuse(node.place, fmt::format("rank {}, but \"global\" names {} ranks", rank_, ranks_));
    }
    beginRank();
  }

  // "0-63"
  std::pair<int, int> takeRanks(const JsonNode& node) {
    const std::string text = base::textOf(in_, "ranks", node);
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = base::wholeNumber<int>(std::string_view(text).substr(0, dash));
    const auto last = dash == text.size()
                          ? first
                          : base::wholeNumber<int>(std::string_view(text).substr(dash + 1));
    if (!first || !last || *first > *last) {
      in_.refuse(node.place, "\"ranks\" has to be like \"0-63\"");
    } else if (*first != rank_ + 1) {
      in_.refuse(
          node.place,
          fmt::format("\"ranks\" has to begin with {}: ranks are in order, from 0", rank_ + 1));
    } else if (*last >= ranks_) {
      in_.refuse(node.place, fmt::format("rank {}, but \"global\" names {} ranks", *last, ranks_));
    } else {
      return {*first, *last};
    }
    return {0, -1};
  }

  // One program, with the numbers of each of the ranks.
  void readShared(const JsonNode& threads, std::pair<int, int> ranks) {
    const auto* list = threads.as<JsonNode::List>();
    if (list == nullptr) {
      return in_.refuse(threads.place,
                        fmt::format("\"threads\" has to be a list, not {}", threads.kind()));
    }
    scope_.beginRanks();
    for (int rank = ranks.first; rank <= ranks.second && !in_.failed(); ++rank) {
      rank_ = rank;
      beginRank();
      scope_.setRank(rank);
      for (const JsonNode& node : *list) readSharedThread(node);
      endRank();
    }
    scope_.endRanks();
  }

  void readSharedThread(const JsonNode& node) {
    const auto* members = node.as<JsonNode::Members>();
    if (members == nullptr) {
      return in_.refuse(node.place,
                        fmt::format("a thread has to be an object, not {}", node.kind()));
    }
    ThreadHead head(rank_);
    bool has_events = false;
    for (const auto& [key, member] : *members) {
      if (in_.failed()) return;
      if (key != "events") {
        takeMember(head, key, member);
        continue;
      }
      const auto* events = member.as<JsonNode::List>();
      if (events == nullptr) {
        return in_.refuse(member.place,
                          fmt::format("\"events\" has to be a list, not {}", member.kind()));
      }
      has_events = true;
      beginEvents(head);
      for (const JsonNode& event : *events) takeItem(event);
      pass([&] { return sink_.endThread(); });
    }
    if (!has_events) in_.refuse(node.place, "a thread without \"events\"");
  }

  struct ThreadHead {
    explicit ThreadHead(int rank)
        : thread{.rank = rank, .thread = -1, .pid = 0, .tid = 0, .host = {}, .recorder_ns = 0} {}
    ScheduleThread thread;
    const TimesStream* stream = nullptr;
    std::size_t stream_number = 0;
  };

  void takeMember(ThreadHead& head, std::string_view key, const JsonNode& node) {
    ScheduleThread& thread = head.thread;
    const auto number = [&] {
      return base::integerOf(in_, key, node, {.least = 0, .most = INT32_MAX});
    };
    if (key == "thread") {
      thread.thread = static_cast<int>(number());
    } else if (key == "pid") {
      thread.pid = static_cast<std::uint32_t>(number());
    } else if (key == "tid") {
      thread.tid = static_cast<std::uint32_t>(number());
    } else if (key == "recorder") {
      thread.recorder_ns = number();
    } else if (key == "computing") {
      thread.computing = node.number();
      if (!thread.computing || !(*thread.computing >= 0 && *thread.computing <= 1)) {
        in_.refuse(node.place, "\"computing\" has to be a number from 0 to 1");
      }
    } else if (key == "host") {
      thread.host = base::bytesOf(base::textOf(in_, key, node));
    } else if (key == "times") {
      takeStream(head, node);
    } else if (key != "comment") {
      in_.refuse(node.place, fmt::format("\"{}\" has no place here", base::inBrief(key)));
    }
  }

  void takeStream(ThreadHead& head, const JsonNode& node) {
    TurnNode of_rank(
        in_, {.value = JsonNode::Members{{std::string(kTimesKey), node}}, .place = node.place},
        scope_);
    const JsonNode* value = of_rank.now().find(kTimesKey);
    const std::int64_t number = base::integerOf(in_, "times", *value, {});
    // Ranks that were added have no times of their own.
    head.stream = times_ ? times_->stream(number) : nullptr;
    head.stream_number = static_cast<std::size_t>(number);
  }

  void readThread() {
    ThreadHead head(rank_);
    bool has_events = false;
    in_.members([&](std::string_view key) {
      if (key != "events") return takeMember(head, key, in_.value());
      has_events = true;
      beginEvents(head);
      in_.items([this] { takeItem(in_.value()); });
      pass([&] { return sink_.endThread(); });
    });
    if (!has_events) in_.refuse("a thread without \"events\"");
  }

  void beginEvents(const ThreadHead& head) {
    wanted_here_.clear();
    stream_ = head.stream;
    stream_number_ = head.stream_number;
    thread_times_ = {};
    ScheduleThread thread = head.thread;
    if (thread.thread != thread_ + 1) {
      return in_.refuse(fmt::format(
          "\"thread\" has to be {}, before \"events\": threads are in order, from 0", thread_ + 1));
    }
    ++thread_;
    // A shared program has means for its threads, or what holds for the first rank.
    if (stream_ != nullptr && !scope_.isEmpty()) {
      thread.pid = stream_->thread.pid;
      thread.tid = stream_->thread.tid;
      thread.recorder_ns = stream_->thread.recorder_ns;
      thread.computing = stream_->thread.computing;
      thread.host = stream_->thread.host;
    }
    pass([&] { return sink_.beginThread(thread); });
  }

  // An event, or a loop.
  void takeItem(const JsonNode& node) {
    if (in_.failed()) return;
    if (node.find("repeat") != nullptr) {
      Repeat loop(in_, node, scope_);
      if (in_.failed()) return;
      std::int64_t times = 0;
      loop.forEachItem([&](const JsonNode& item, std::int64_t turns) {
        std::int64_t of_item = 0;
        if (__builtin_mul_overflow(timesOf(item, false), turns, &of_item)) of_item = INT64_MAX;
        times = base::saturatingSum(times, of_item);
      });
      beginTimes(loop.node(), times, node.find("repeat")->place.line);
      if (!passLoop(loop, node.place)) writeOut(loop, node.place);
    } else if (!scope_.isEmpty()) {
      TurnNode of_rank(in_, node, scope_);
      beginTimes(node, timesOf(node, false), node.place.line);
      takeEvent(of_rank.now());
    } else {
      beginTimes(node, timesOf(node, false));
      takeEvent(node);
    }
    thread_times_.exact = nullptr;
    thread_times_.are_left_out = false;
    thread_times_.gap_ns.reset();  // of a loop with an empty body
  }

  void writeOut(Repeat& loop, base::TextPlace place) {
    if (in_.failed()) return;
    if (loop.allTurns() > Repeat::kMostWrittenOut) {
      in_.refuse(place, fmt::format("loops with more than {} turns in all, that have to be "
                                    "written out",
                                    Repeat::kMostWrittenOut));
    }
    loop.run({.begin = [this](const Repeat& inner) { beginLoop(inner); },
              .item = [this](const JsonNode& item) { takeEvent(item); }});
    event_sink_ = &sink_;
  }

  // True when the sink has taken the loop, or it was refused.
  bool passLoop(const Repeat& repeat, base::TextPlace place) {
    constexpr std::int64_t kWorthwhile = 4;  // turns
    if (!sink_.takesLoops() || repeat.allTurns() < kWorthwhile) return false;
    LoopBuilder builder(in_, scope_.values(), locations_, mpi_ ? &*mpi_ : nullptr,
                        thread_times_.exact != nullptr);
    const auto loop = builder.built(repeat);
    const bool is_too_long = repeat.allTurns() > Repeat::kMostWrittenOut;
    if (!loop && is_too_long && builder.refusal()) in_.refuse(*builder.refusal());
    if (!loop) return in_.failed();
    forEachLine(*loop, [this](LoopLine& line, const LoopPath&) {
      if (line.share) line.share_first = shareCount(line);
    });
    std::int64_t passes = 0;
    forEachLine(*loop, [&passes](const LoopLine&, const LoopPath& path) {
      passes = base::saturatingSum(passes, passesOf(path).value_or(INT64_MAX));
    });
    constexpr std::int64_t kMostPasses = std::int64_t{1} << 60;
    if (passes > kMostPasses) return false;
    LoopDescriptors descriptors(made_);
    LoopIds ids(ids_);
    if (!descriptors.take(*loop) || !ids.take(*loop)) return false;
    std::optional<LoopTimes> times;
    if (thread_times_.exact != nullptr) {
      const JsonNode::List& range = *repeat.node().find(kTimesKey)->as<JsonNode::List>();
      times = LoopTimes{.path = times_path_,
                        .digest = times_digest_,
                        .stream = stream_number_,
                        .first = static_cast<std::uint64_t>(*range[0].as<std::int64_t>()),
                        .count = static_cast<std::uint64_t>(*range[1].as<std::int64_t>()),
                        .of_thread = stream_};
    }
    const auto end_ns = LoopEnd::of(*loop, thread_times_);
    if (!end_ns) {
      if (times) times_->seek(stream_number_, times->first);
      return false;
    }
    if (times_ && times_->failure()) {
      in_.refuse(place, times_->failure()->sentence);
      return true;
    }
    const PassedLoop passed{.loop = *loop,
                            .times = times,
                            .begin_ns = thread_times_.previous_end_ns,
                            .end_ns = *end_ns};
    ScheduleSink::Complaint complaint;
    ScheduleSink* const rest = sink_.loop(passed, complaint);
    if (complaint) in_.refuse(place, *complaint);
    if (in_.failed()) return true;
    if (rest != nullptr) {
      event_sink_ = rest;
      if (times) times_->seek(stream_number_, times->first);
      return false;
    }
    thread_times_.previous_end_ns = *end_ns;
    if (*end_ns > kTenYears) in_.refuse(place, "it ends more than ten years after the beginning");
    takeDescriptors(descriptors);
    takeIds(ids);
    forEachLine(*loop, [this](const LoopLine& line, const LoopPath& path) {
      if (line.share) shareCount(line) += static_cast<std::uint64_t>(passesOf(path).value_or(0));
    });
    return true;
  }

  std::uint64_t& shareCount(const LoopLine& line) {
    return shares_[{line.place.line, line.place.column}];
  }

  void takeIds(const LoopIds& ids) {
    for (const auto& [id, place] : ids.ids()) makeId(static_cast<std::uint64_t>(id), place);
    for (const auto& [made, place] : ids.ranges()) {
      const NumberRange& range = made;
      std::erase_if(waited_, [&range](const auto& one) {
        return range.contains(static_cast<std::int64_t>(one.first));
      });
      ids_.add(range);
    }
    for (const auto& [id, place] : ids.awaited()) awaitId(static_cast<std::uint64_t>(id), place);
    waited_ranges_.insert(waited_ranges_.end(), ids.awaitedRanges().begin(),
                          ids.awaitedRanges().end());
  }

  void makeId(std::uint64_t id, base::TextPlace place) {
    if (!ids_.add(static_cast<std::int64_t>(id))) {
      in_.refuse(place, fmt::format("id {} appears twice", id));
    }
    waited_.erase(id);
  }

  void awaitId(std::uint64_t id, base::TextPlace place) {
    if (id != 0 && !ids_.contains(static_cast<std::int64_t>(id))) waited_.emplace(id, place);
  }

  void takeDescriptors(const LoopDescriptors& descriptors) {
    for (const auto& [number, place] : descriptors.used()) useDescriptor(number, place);
    for (const auto& [number, place] : descriptors.made()) makeDescriptor(number, place);
    for (const auto& [made, place] : descriptors.ranges()) {
      const NumberRange& range = made;
      for (const auto& [number, early] : wanted_here_) {
        if (range.contains(number)) return refuseEarly(number, early);
      }
      std::erase_if(wanted_, [&range](const auto& one) { return range.contains(one.first); });
      made_.add(range);
    }
  }

  // The time before a loop is that before its first event, and none of the times in it.
  void beginLoop(const Repeat& loop) {
    const JsonNode* gap = loop.node().find("gap");
    if (gap == nullptr || thread_times_.gap_ns) return;
    thread_times_.gap_ns =
        base::integerOf(in_, "gap", *gap, {.least = -kTenYears, .most = kTenYears});
  }

  // Finds the exact times of an item that needs so many: "times" is the first one and how many were
  // recorded. Where these are not as many, the item was edited, and has its means.
  // `line`: where an item begins that stands for several events.
  void beginTimes(const JsonNode& node, std::int64_t times, std::optional<std::size_t> line = {}) {
    findTimes(node, times);
    const bool has_means = line && times > 0 && thread_times_.exact == nullptr;
    if (has_means && !in_.failed()) sink_.meanTimes(*line);
  }

  void findTimes(const JsonNode& node, std::int64_t times) {
    thread_times_.exact = nullptr;
    thread_times_.are_left_out = false;
    const JsonNode* place = node.find(kTimesKey);
    if (place == nullptr) return;
    const bool are_left_out = node.find("repeat") == nullptr && node.find("gap") == nullptr &&
                              node.find(kStartKey) == nullptr;
    const auto* range = place->as<JsonNode::List>();
    if (range == nullptr || range->size() != 2) {
      return in_.refuse(place->place, "\"times\" has to be a list of two numbers");
    }
    const std::int64_t first = base::integerOf(in_, "times", (*range)[0], {.least = 0});
    const std::int64_t count = base::integerOf(in_, "times", (*range)[1], {.least = 0});
    if (are_left_out) times = timesOf(node, true);
    if (in_.failed() || stream_ == nullptr || count != times ||
        static_cast<std::uint64_t>(base::saturatingSum(first, count)) > stream_->values) {
      if (are_left_out) {
        in_.refuse(place->place,
                   "its times cannot be found: a line that was changed needs \"gap\" and "
                   "\"duration\"");
      }
      return;
    }
    thread_times_.are_left_out = are_left_out;
    times_->seek(stream_number_, static_cast<std::uint64_t>(first));
    thread_times_.exact = &*times_;
  }

  void takeEvent(const JsonNode& node) {
    if (in_.failed()) return;
    const ScheduleEvent event =
        EventReader(in_, node, locations_, mpi_ ? &*mpi_ : nullptr, thread_times_, &shares_).read();
    if (times_ && times_->failure()) in_.refuse(node.place, times_->failure()->sentence);
    if (in_.failed()) return;
    for (const Descriptor used : descriptorsOf(event)) {
      if (used != kNoDescriptor) useDescriptor(static_cast<std::int64_t>(used), node.place);
    }
    if (event.step == Step::kCall && calls::isMpiIo(*event.row) &&
        event.row->call_class == calls::Class::kOpen) {
      takeOpenOfGroup(event, node.place);
    }
    if (makesDescriptor(event)) makeDescriptor(event, node.place);
    if (event.id != 0) makeId(event.id, node.place);
    for (const Wait& wait : event.after) awaitId(wait.id, node.place);
    pass([&] { return event_sink_->event(event); }, node.place);
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

  void checkWaitedRanges() {
    for (const auto& [range, place] : waited_ranges_) {
      if (!ids_.covers(range) &&
          !range.all([this](std::int64_t id) { return ids_.contains(id); })) {
        in_.refuse(place,
                   fmt::format("\"after\" names ids from {} on, and not all of them are there",
                               range.first()));
      }
    }
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

  void useDescriptor(std::int64_t number, base::TextPlace place) {
    if (made_.contains(number)) return;
    // Another thread of the rank, further down in the document, may be the one that makes it.
    wanted_.emplace(number, place);
    wanted_here_.emplace(number, place);
  }

  void makeDescriptor(const ScheduleEvent& event, base::TextPlace place) {
    makeDescriptor(static_cast<std::int64_t>(event.new_fd), place, event.step == Step::kPreopened);
  }
  // A preopened one is there before all events, wherever it stands.
  void makeDescriptor(std::int64_t number, base::TextPlace place, bool is_preopened = false) {
    if (!made_.add(number)) {
      in_.refuse(place, fmt::format("fd {} of rank {} is made twice", number, rank_));
    }
    wanted_.erase(number);
    const auto early = wanted_here_.find(number);
    if (early != wanted_here_.end() && !is_preopened) refuseEarly(number, early->second);
  }

  void refuseEarly(std::int64_t number, base::TextPlace place) {
    in_.refuse(place, fmt::format("fd {} is used before its own thread opens it", number));
  }

  JsonReader& in_;
  ScheduleSink& sink_;
  ScheduleSink* event_sink_ = &sink_;  // gets the events of a loop that is written out
  const std::filesystem::path path_;
  TurnScope scope_;
  std::optional<TimesReader> times_;
  std::filesystem::path times_path_;
  std::string times_digest_;
  const TimesStream* stream_ = nullptr;  // of the thread
  std::size_t stream_number_ = 0;
  ThreadTimes thread_times_;
  ShareCounts shares_;  // of a program, over all its ranks
  bool format_known_ = false;
  bool version_known_ = false;
  bool has_global_ = false;
  bool has_files_ = false;
  bool has_ranks_ = false;
  std::optional<MpiTables> mpi_;
  std::vector<ScheduleTarget> targets_;
  int ranks_ = 0;
  int rank_ = -1;
  int thread_ = -1;
  Locations locations_;
  Numbers made_;                                                   // of the rank
  std::map<std::int64_t, base::TextPlace> wanted_;                 // used, and not yet made
  std::unordered_map<std::int64_t, base::TextPlace> wanted_here_;  // those that the thread used
  Numbers ids_;                                                    // of the schedule
  std::map<std::uint64_t, base::TextPlace> waited_;  // named by `after`, and not yet met
  std::vector<PlacedRange> waited_ranges_;           // of loops
  struct OpensOfGroup {
    std::map<int, std::uint64_t> by_rank;
    base::TextPlace last{};
  };
  std::map<std::size_t, OpensOfGroup> opens_;  // by group
  std::vector<std::vector<int>> members_;      // the same, ascending
};

}  // namespace

base::Result<void> readSchedule(const std::filesystem::path& path, ScheduleSink& sink,
                                const std::filesystem::path& times) {
  JsonReader in(path);
  Reader(in, sink, path, times).read();
  return in.finish();
}

}  // namespace omnio::model
