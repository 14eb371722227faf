#include "core/model/schedule_writer.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"

namespace omnio::model {
namespace {

std::string flagsOf(std::int64_t flags) {
  std::string words;
  calls::appendOpenFlags(words, static_cast<std::uint64_t>(flags));
  return words;
}

}  // namespace

ScheduleWriter::ScheduleWriter(std::filesystem::path path) : file_(std::move(path)) {}

void ScheduleWriter::flush() {
  file_.write(text_);
  text_.clear();
}

void ScheduleWriter::putLocation(std::string_view name, FileNumber number) {
  if (number == kNoFileNumber) return;
  json_.put(name, base::printable(locations_[static_cast<std::size_t>(number)]));
}

void ScheduleWriter::global(const ScheduleGlobal& global) {
  ranks_ = global.ranks;
  text_ = fmt::format("{{\"format\":\"{}\",\"version\":{},\n\"global\":", kScheduleFormat,
                      kScheduleVersion);
  json_.object([&] {
    json_.put("time_replay", base::wordOf(kTimings, global.timing));
    json_.put("write_overwrite", global.write_overwrite);
    json_.put("size_scale", global.size_scale);
    if (!global.size_scales.empty()) {
      json_.list("size_scales", global.size_scales, [&](const SizeScale& scale) {
        json_.object([&] {
          json_.put("pattern", base::printable(scale.pattern));
          json_.put("factor", scale.factor);
        });
      });
    }
    if (global.keep_below > 0) json_.put("keep_below", global.keep_below);
    json_.put("time_scale", global.time_scale);
    json_.put("ranks", global.ranks);
    json_.object("source", [&] {
      json_.put("trace", base::printable(global.source));
      json_.put("whole", global.source_whole);
      json_.put("events_missing", global.source_events_missing);
      json_.list("command", global.command,
                 [&](const std::string& word) { json_.value(base::printable(word)); });
      json_.put("left_out", global.left_out);
    });
    if (global.mpi) {
      json_.object("mpi", [&] {
        json_.put("groups", global.mpi->groups);
        json_.put("types", global.mpi->types);
      });
    }
  });
  flush();
}

void ScheduleWriter::file(const ScheduleFile& file) {
  text_ = locations_.empty() ? ",\n\"files\":[\n" : ",\n";
  json_.object([&] {
    json_.put("location", base::printable(file.location));
    json_.put("role", base::wordOf(kRoles, file.role));
    json_.put("exists", file.exists);
    if (file.role != FileRole::kDirectory && file.role != FileRole::kAbsent) {
      json_.put("size", file.size);
      json_.put("read_before_written", file.read_before_written);
    }
    if (file.lines) json_.put("lines", true);
    if (!file.holes.empty()) {
      json_.list("holes", file.holes, [&](const Hole& hole) {
        json_.object([&] {
          json_.put("begin", hole.begin);
          json_.put("end", hole.end);
        });
      });
    }
    if (!file.target.empty()) json_.put("target", base::printable(file.target));
    json_.put("source", base::printable(file.source));
  });
  flush();
  locations_.push_back(file.location);
}

void ScheduleWriter::beginRank(int next) {
  if (rank_ < 0) text_ += locations_.empty() ? ",\n\"files\":[],\n" : "],\n";
  text_ += rank_ < 0 ? "\"ranks\":[\n" : rank_ + 1 < ranks_ ? "]},\n" : "]}";
  for (int idle = rank_ + 1; idle < next; ++idle) {
    text_ += fmt::format("{{\"rank\":{},\"threads\":[]}}{}", idle, idle + 1 < ranks_ ? ",\n" : "");
  }
  if (next < ranks_) text_ += fmt::format("{{\"rank\":{},\"threads\":[\n", next);
  rank_ = next;
  first_thread_ = true;
}

void ScheduleWriter::beginThread(const ScheduleThread& thread) {
  if (rank_ != thread.rank) beginRank(thread.rank);
  if (!std::exchange(first_thread_, false)) text_ += ",\n";
  first_event_ = true;
  text_ +=
      fmt::format("{{\"thread\":{},\"pid\":{},\"tid\":{},\"recorder\":{},\"host\":", thread.thread,
                  thread.pid, thread.tid, thread.recorder_ns);
  json_.value(base::printable(thread.host));
  if (thread.computing) text_ += fmt::format(",\"computing\":{:.2f}", *thread.computing);
  text_ += ",\"events\":[\n";
  flush();
}

void ScheduleWriter::putArgument(const ScheduleEvent& event, const ScheduleKey& item) {
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

void ScheduleWriter::putName(std::string_view key, const ScheduleEvent& event, FileNumber number) {
  if (number == kNoFileNumber && event.failed) return json_.put(key, "");
  putLocation(key, number);
}

void ScheduleWriter::putDirectory(std::string_view key, Descriptor directory) {
  if (directory != kNoDescriptor) json_.put(key, static_cast<std::int64_t>(directory));
}

void ScheduleWriter::putLookups(std::string_view key, std::uint16_t lookups) {
  if (lookups != kAllLookups) json_.put(key, std::uint64_t{lookups});
}

void ScheduleWriter::putResult(const ScheduleEvent& event) {
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
    json_.put("result", event.result);
  }
}

void ScheduleWriter::putWork(const Work& work) {
  json_.put("compute", work.compute_ns);
  if (work.communication_ns != 0) json_.put("communication", work.communication_ns);
}

void ScheduleWriter::putWait(const Wait& wait) {
  if (wait == Wait{.id = wait.id}) return json_.value(wait.id);
  json_.object([&] {
    json_.put("id", wait.id);
    json_.put("why", base::wordOf(kReasons, wait.reason));
    if (wait.work != Work{}) putWork(wait.work);
  });
}

void ScheduleWriter::putCall(const ScheduleEvent& event) {
  json_.put("command", event.row->name);
  for (const ScheduleKey& item : keysOf(*event.row)) putArgument(event, item);
  if (const auto key = positionKey(event); key && event.offset != kUnknownOffset) {
    json_.put(*key, event.offset);
  }
  putResult(event);
}

void ScheduleWriter::event(const ScheduleEvent& event) {
  if (!std::exchange(first_event_, false)) text_ = ",\n";
  json_.object([&] {
    json_.put("start", event.start_ns);
    json_.put("end", event.end_ns);
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
    if (event.own) putWork(*event.own);
    if (!event.after.empty()) {
      json_.list("after", event.after, [&](const Wait& wait) { putWait(wait); });
    }
  });
  flush();
}

base::Result<void> ScheduleWriter::finish() {
  beginRank(ranks_);
  text_ += "]}\n";
  flush();
  return file_.finish();
}

}  // namespace omnio::model
