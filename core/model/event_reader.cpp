#include "core/model/event_reader.hpp"

#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/work_share.hpp"

namespace omnio::model {
namespace {

using base::JsonNode;
using base::JsonObject;
using base::JsonReader;

// Permissions are octal in schedules, with the 0 in front that C has.
std::optional<std::int64_t> octalIn(std::string_view text) {
  const bool is_octal = text.starts_with('0') && text.find_first_not_of("01234567") == text.npos;
  return is_octal ? calls::numberIn(text) : std::nullopt;
}

// Reads the members of one event.
class EventReader {
 public:
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
      if (event_.row->result == calls::Result::kLine) {
        event_.result = object_.integer("at_least", {.least = 0}, -1);
        event_.at_least = event_.result >= 0;
        if (event_.at_least) return;
      }
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

}  // namespace

ScheduleEvent readEvent(JsonReader& in, const JsonNode& node, const Locations& locations,
                        const MpiTables* mpi, ThreadTimes& times, ShareCounts* shares) {
  return EventReader(in, node, locations, mpi, times, shares).read();
}

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

}  // namespace omnio::model
