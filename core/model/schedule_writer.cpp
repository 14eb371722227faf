#include "core/model/schedule_writer.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

std::string flagsOf(std::int64_t flags) {
  std::string words;
  calls::appendOpenFlags(words, static_cast<std::uint64_t>(flags));
  return words;
}

}  // namespace

struct ScheduleWriter::State {
  explicit State(std::filesystem::path path) : file(std::move(path)) {}

  // Writes out what was put together.
  void flush() {
    file.write(text);
    text.clear();
  }
  void putLocation(std::string_view name, FileNumber number) {
    if (number == kNoFileNumber) return;
    json.put(name, base::printable(locations[static_cast<std::size_t>(number)]));
  }
  // The end of a rank and the beginning of the next one, and of those between that did nothing.
  void beginRank(int next);
  void putArgument(const ScheduleEvent& event, const ScheduleKey& item);
  void putCall(const ScheduleEvent& event);
  void putResult(const ScheduleEvent& event);

  base::DocumentFile file;
  std::string text;
  base::JsonWriter json{text};
  std::vector<std::string> locations;
  int ranks = 0;
  int rank = -1;  // whose threads are being written
  bool first_thread = true;
  bool first_event = true;
};

ScheduleWriter::ScheduleWriter(std::filesystem::path path)
    : state_(std::make_unique<State>(std::move(path))) {}
ScheduleWriter::~ScheduleWriter() = default;

void ScheduleWriter::global(const ScheduleGlobal& global) {
  state_->ranks = global.ranks;
  base::JsonWriter& json = state_->json;
  state_->text = fmt::format("{{\"format\":\"{}\",\"version\":{},\n\"global\":", kScheduleFormat,
                             kScheduleVersion);
  json.object([&] {
    json.put("time_replay", base::wordOf(kTimings, global.timing));
    json.put("write_overwrite", global.write_overwrite);
    json.put("size_scale", global.size_scale);
    json.put("time_scale", global.time_scale);
    json.put("ranks", global.ranks);
    json.object("source", [&] {
      json.put("trace", base::printable(global.source));
      json.put("whole", global.source_whole);
      json.put("events_missing", global.source_events_missing);
      json.list("command", global.command,
                [&](const std::string& word) { json.value(base::printable(word)); });
      json.put("left_out", global.left_out);
    });
  });
  state_->flush();
}

void ScheduleWriter::file(const ScheduleFile& file) {
  base::JsonWriter& json = state_->json;
  state_->text = state_->locations.empty() ? ",\n\"files\":[\n" : ",\n";
  json.object([&] {
    json.put("location", base::printable(file.location));
    json.put("role", base::wordOf(kRoles, file.role));
    json.put("exists", file.exists);
    if (file.role != FileRole::kDirectory && file.role != FileRole::kAbsent) {
      json.put("size", file.size);
      json.put("read_before_written", file.read_before_written);
    }
    if (file.lines) json.put("lines", true);
    json.put("source", base::printable(file.source));
  });
  state_->flush();
  state_->locations.push_back(file.location);
}

void ScheduleWriter::State::beginRank(int next) {
  if (rank < 0) text += locations.empty() ? ",\n\"files\":[],\n" : "],\n";
  text += rank < 0 ? "\"ranks\":[\n" : rank + 1 < ranks ? "]},\n" : "]}";
  for (int idle = rank + 1; idle < next; ++idle) {
    text += fmt::format("{{\"rank\":{},\"threads\":[]}}{}", idle, idle + 1 < ranks ? ",\n" : "");
  }
  if (next < ranks) text += fmt::format("{{\"rank\":{},\"threads\":[\n", next);
  rank = next;
  first_thread = true;
}

void ScheduleWriter::beginThread(const ScheduleThread& thread) {
  State& state = *state_;
  if (state.rank != thread.rank) state.beginRank(thread.rank);
  if (!std::exchange(state.first_thread, false)) state.text += ",\n";
  state.first_event = true;
  state.text +=
      fmt::format("{{\"thread\":{},\"pid\":{},\"tid\":{},\"recorder\":{},\"host\":", thread.thread,
                  thread.pid, thread.tid, thread.recorder_ns);
  state.json.value(base::printable(thread.host));
  state.text += ",\"events\":[\n";
  state.flush();
}

void ScheduleWriter::State::putArgument(const ScheduleEvent& event, const ScheduleKey& item) {
  const std::int64_t number = event.arguments[item.argument];
  std::string word;
  switch (item.kind) {
    case KeyKind::kFd:
      return json.put(item.key, static_cast<std::int64_t>(event.fd));
    case KeyKind::kSourceFd:
      return json.put(item.key, static_cast<std::int64_t>(event.source));
    case KeyKind::kReplaced:
      return json.put(item.key, static_cast<std::int64_t>(event.replaced));
    case KeyKind::kLocation:
      return putLocation(item.key, event.file);
    case KeyKind::kNewLocation:
      return putLocation(item.key, event.new_file);
    case KeyKind::kOpenFlags:
      word = flagsOf(number);
      break;
    case KeyKind::kOctal:
      word = fmt::format("{:#o}", number & 07777);
      break;
    case KeyKind::kWhence:
      calls::appendWhence(word, number);
      break;
    case KeyKind::kCommand:
      calls::appendCommand(word, number);
      break;
    case KeyKind::kOpenMode:
      word = base::printable(event.open_mode);
      break;
    case KeyKind::kPieces:
      return json.put(item.key, event.pieces);
    case KeyKind::kNumber:
    case KeyKind::kSigned:
    case KeyKind::kTransferOffset:
      return json.put(item.key, number);
    case KeyKind::kNone:
      return;
  }
  json.put(item.key, word);
}

void ScheduleWriter::State::putResult(const ScheduleEvent& event) {
  if (event.failed) {
    std::string word;
    if (event.result == 0) {
      word = "EOF";
    } else {
      calls::appendErrno(word, event.result);
    }
    json.put("errno", word);
  } else if (makesDescriptor(event)) {
    json.put("result", static_cast<std::int64_t>(event.new_fd));
  } else if (event.row->result != calls::Result::kNone) {
    json.put("result", event.result);
  }
}

void ScheduleWriter::State::putCall(const ScheduleEvent& event) {
  json.put("command", event.row->name);
  for (const ScheduleKey& item : keysOf(*event.row)) putArgument(event, item);
  if (usesPosition(*event.row) && event.offset != kUnknownOffset) {
    json.put("offset", event.offset);
  }
  putResult(event);
}

void ScheduleWriter::event(const ScheduleEvent& event) {
  State& state = *state_;
  base::JsonWriter& json = state.json;
  if (!std::exchange(state.first_event, false)) state.text = ",\n";
  json.object([&] {
    json.put("start", event.start_ns);
    json.put("end", event.end_ns);
    if (event.step == Step::kCall) {
      state.putCall(event);
    } else {
      json.put("command", base::wordOf(kSteps, event.step));
      if (event.step == Step::kInherited) json.put("fd", static_cast<std::int64_t>(event.fd));
      if (event.step == Step::kPreopened) {
        state.putLocation("location", event.file);
        json.put("flags", flagsOf(event.arguments[0]));
        json.put("offset", event.offset);
      }
      if (makesDescriptor(event)) json.put("result", static_cast<std::int64_t>(event.new_fd));
    }
    if (event.id != 0) json.put("id", event.id);
    if (!event.after.empty()) json.put("after", event.after);
  });
  state.flush();
}

void ScheduleWriter::endThread() { state_->file.write("]}"); }

std::optional<base::Failure> ScheduleWriter::finish() {
  state_->beginRank(state_->ranks);
  state_->text += "]}\n";
  state_->flush();
  return state_->file.finish();
}

}  // namespace omnio::model
