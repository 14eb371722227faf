#include "core/model/event_json.hpp"

#include <fmt/format.h>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/model/compact/line_splitter.hpp"

namespace omnio::model {
namespace {

std::string flagsOf(std::int64_t flags) {
  std::string words;
  calls::appendOpenFlags(words, static_cast<std::uint64_t>(flags));
  return words;
}

}  // namespace

template <typename Json>
void EventJson<Json>::putLocation(std::string_view name, FileNumber number) {
  if (number == kNoFileNumber) return;
  json_.put(name, base::printable(locations_[static_cast<std::size_t>(number)]));
}

template <typename Json>
void EventJson<Json>::putArgument(const ScheduleEvent& event, const ScheduleKey& item) {
  const std::int64_t number = event.arguments[item.argument];
  std::string word;
  switch (item.kind) {
    case KeyKind::kFd:
      return json_.put(item.key, static_cast<std::int64_t>(event.fd));
    case KeyKind::kSourceFd:
      return json_.put(item.key, static_cast<std::int64_t>(event.source));
    case KeyKind::kReplaced:
      return json_.put(item.key, static_cast<std::int64_t>(event.replaced));
    case KeyKind::kDirectory:
      return putDirectory(item.key, event.directory);
    case KeyKind::kNewDirectory:
      return putDirectory(item.key, event.new_directory);
    case KeyKind::kLookups:
      return putLookups(item.key, event.lookups);
    case KeyKind::kNewLookups:
      return putLookups(item.key, event.new_lookups);
    case KeyKind::kLocation:
      return putName(item.key, event, event.file);
    case KeyKind::kNewLocation:
      return putName(item.key, event, event.new_file);
    case KeyKind::kOpenFlags:
      word = flagsOf(number);
      break;
    case KeyKind::kOctal:
      word = fmt::format("{:#o}", number & modeBits(*event.row));
      break;
    case KeyKind::kWhence:
      calls::appendWhence(word, number);
      break;
    case KeyKind::kCommand:
      calls::appendCommand(word, number);
      break;
    case KeyKind::kLockType:
      calls::appendLockType(word, number);
      break;
    case KeyKind::kAmode:
      calls::appendAmode(word, static_cast<std::uint64_t>(number));
      break;
    case KeyKind::kText:
      if (event.text.empty() && calls::isMpiIo(*event.row)) return;  // no hints
      word = base::printable(event.text);
      break;
    case KeyKind::kPieces:
    case KeyKind::kRequests:
      return json_.put(item.key, event.pieces);
    case KeyKind::kGroup:
    case KeyKind::kType:
    case KeyKind::kNumber:
    case KeyKind::kSigned:
    case KeyKind::kTransferOffset:
      return json_.put(item.key, number);
    case KeyKind::kNone:
      return;
  }
  json_.put(item.key, word);
}

template <typename Json>
void EventJson<Json>::putName(std::string_view key, const ScheduleEvent& event, FileNumber number) {
  if (number == kNoFileNumber && event.failed) return json_.put(key, "");
  putLocation(key, number);
}

template <typename Json>
void EventJson<Json>::putDirectory(std::string_view key, Descriptor directory) {
  if (directory != kNoDescriptor) json_.put(key, static_cast<std::int64_t>(directory));
}

template <typename Json>
void EventJson<Json>::putLookups(std::string_view key, std::uint16_t lookups) {
  if (lookups != kAllLookups) json_.put(key, std::uint64_t{lookups});
}

template <typename Json>
void EventJson<Json>::putResult(const ScheduleEvent& event) {
  if (event.failed) {
    std::string word;
    if (event.result == 0) {
      word = "EOF";
    } else {
      calls::appendError(word, *event.row, event.result);
    }
    json_.put("errno", word);
  } else if (makesDescriptor(event)) {
    json_.put("result", static_cast<std::int64_t>(event.new_fd));
  } else if (event.row->result != calls::Result::kNone) {
    json_.put(event.at_least ? "at_least" : "result", event.result);
  }
}

template <typename Json>
void EventJson<Json>::putWork(const Work& work) {
  json_.put("compute", work.compute_ns);
  if (work.communication_ns != 0 || is_relative_) {
    json_.put("communication", work.communication_ns);
  }
}

template <typename Json>
void EventJson<Json>::putWait(const Wait& wait) {
  if (wait == Wait{.id = wait.id}) return json_.value(wait.id);
  json_.object([&] {
    json_.put("id", wait.id);
    json_.put("why", base::wordOf(kReasons, wait.reason));
    if (wait.work != Work{} || (is_relative_ && isOfCommunication(wait.reason))) {
      putWork(wait.work);
    }
  });
}

template <typename Json>
void EventJson<Json>::putCall(const ScheduleEvent& event) {
  json_.put("command", event.row->name);
  for (const ScheduleKey& item : keysOf(*event.row)) putArgument(event, item);
  if (const auto key = positionKey(event); key && event.offset != kUnknownOffset) {
    json_.put(*key, event.offset);
  }
  putResult(event);
}

// Waits for the same reason, for ids at one distance: how many there are at the begin of `waits`.
std::size_t runOf(std::span<const Wait> waits) {
  std::size_t length = 1;
  if (waits[0].id == 0) return length;  // no event has it: the beginning
  while (length < waits.size() && waits[length].id != 0 &&
         waits[length].reason == waits[0].reason &&
         waits[length].id - waits[length - 1].id == waits[1].id - waits[0].id &&
         (isOfCommunication(waits[0].reason) ||
          (waits[length].work == Work{} && waits[0].work == Work{}))) {
    ++length;
  }
  return length;
}

template <typename Json>
void EventJson<Json>::putWaits(const std::vector<Wait>& waits) {
  constexpr std::size_t kShortestRun = 4;
  json_.beginList();
  for (std::span<const Wait> rest(waits); !rest.empty();) {
    const std::size_t length = is_relative_ ? runOf(rest) : 1;
    if (length >= kShortestRun) {
      putRun(rest.first(length));
      rest = rest.subspan(length);
    } else {
      putWait(rest.front());
      rest = rest.subspan(1);
    }
  }
  json_.endList();
}

template <typename Json>
void EventJson<Json>::putRun(std::span<const Wait> run) {
  json_.object([&] {
    json_.put("id", run[0].id);
    json_.put("repeat", run.size());
    json_.put("step", static_cast<std::int64_t>(run[1].id - run[0].id));
    json_.put("why", base::wordOf(kReasons, run[0].reason));
    if (!isOfCommunication(run[0].reason)) return;
    json_.list("compute", run, [&](const Wait& wait) { json_.value(wait.work.compute_ns); });
    json_.list("communication", run,
               [&](const Wait& wait) { json_.value(wait.work.communication_ns); });
  });
}

template <typename Json>
void EventJson<Json>::append(const ScheduleEvent& event) {
  is_relative_ = false;
  json_.object([&] {
    json_.put("start", event.start_ns);
    json_.put("end", event.end_ns);
    putRest(event);
  });
}

template <typename Json>
void EventJson<Json>::appendAfter(const ScheduleEvent& event, std::int64_t previous_end_ns) {
  is_relative_ = true;
  json_.object([&] {
    json_.put("gap", event.start_ns - previous_end_ns);
    json_.put("duration", event.end_ns - event.start_ns);
    putRest(event);
  });
}

template <typename Json>
void EventJson<Json>::putRest(const ScheduleEvent& event) {
  if (event.step == Step::kCall) {
    putCall(event);
  } else {
    json_.put("command", base::wordOf(kSteps, event.step));
    if (event.step == Step::kInherited) json_.put("fd", static_cast<std::int64_t>(event.fd));
    if (event.step == Step::kPreopened) {
      putLocation("location", event.file);
      json_.put("flags", flagsOf(event.arguments[0]));
      json_.put("offset", event.offset);
    }
    if (makesDescriptor(event)) json_.put("result", static_cast<std::int64_t>(event.new_fd));
  }
  if (event.phase != 0) json_.put("phase", event.phase);
  if (event.id != 0) json_.put("id", event.id);
  if (is_relative_) json_.put("work", event.own ? 1 : 0);
  if (event.own || is_relative_) putWork(event.own.value_or(Work{}));
  if (!event.after.empty()) {
    json_.key("after");
    putWaits(event.after);
  }
}

template class EventJson<base::JsonWriter>;
template class EventJson<LineSplitter>;

}  // namespace omnio::model
