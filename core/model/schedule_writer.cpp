#include "core/model/schedule_writer.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_words.hpp"

namespace omnio::model {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void key(Json& json, std::string_view name) {
  json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}
void text(Json& json, std::string_view value) {
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}
void put(Json& json, std::string_view name, std::string_view value) {
  key(json, name);
  text(json, value);
}
void put(Json& json, std::string_view name, std::int64_t value) {
  key(json, name);
  json.Int64(value);
}
void putName(Json& json, std::string_view name, std::string_view bytes) {
  put(json, name, base::printable(bytes));
}

}  // namespace

struct ScheduleWriter::State {
  explicit State(std::filesystem::path path) : file(std::move(path)) {}

  // Writes what the JSON writer has put together.
  void flush(std::string_view before) {
    file.write(before);
    file.write({buffer.GetString(), buffer.GetSize()});
    buffer.Clear();
    json.Reset(buffer);
  }
  void putLocation(std::string_view name, FileNumber number) {
    if (number == kNoFileNumber) return;
    putName(json, name, locations[static_cast<std::size_t>(number)]);
  }
  void putArgument(const ScheduleEvent& event, const ScheduleKey& item);
  void putCall(const ScheduleEvent& event);
  void putResult(const ScheduleEvent& event);

  base::DocumentFile file;
  rapidjson::StringBuffer buffer;
  Json json{buffer};
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
  Json& json = state_->json;
  json.StartObject();
  put(json, "time_replay", wordOf(kTimings, global.timing));
  key(json, "write_overwrite");
  json.Bool(global.write_overwrite);
  key(json, "size_scale");
  json.Double(global.size_scale);
  key(json, "time_scale");
  json.Double(global.time_scale);
  put(json, "ranks", global.ranks);
  key(json, "source");
  json.StartObject();
  putName(json, "trace", global.source);
  key(json, "whole");
  json.Bool(global.source_whole);
  put(json, "events_missing", static_cast<std::int64_t>(global.source_events_missing));
  key(json, "command");
  json.StartArray();
  for (const std::string& word : global.command) text(json, base::printable(word));
  json.EndArray();
  key(json, "left_out");
  json.StartArray();
  for (const std::string& sentence : global.left_out) text(json, base::safeText(sentence));
  json.EndArray();
  json.EndObject();
  json.EndObject();
  state_->flush(fmt::format("{{\"format\":\"{}\",\"version\":{},\n\"global\":", kScheduleFormat,
                            kScheduleVersion));
}

void ScheduleWriter::file(const ScheduleFile& file) {
  Json& json = state_->json;
  json.StartObject();
  putName(json, "location", file.location);
  put(json, "role", wordOf(kRoles, file.role));
  key(json, "exists");
  json.Bool(file.exists);
  if (file.role != FileRole::kDirectory && file.role != FileRole::kAbsent) {
    put(json, "size", static_cast<std::int64_t>(file.size));
    put(json, "read_before_written", static_cast<std::int64_t>(file.read_before_written));
  }
  if (file.lines) {
    key(json, "lines");
    json.Bool(true);
  }
  putName(json, "source", file.source);
  json.EndObject();
  state_->flush(state_->locations.empty() ? ",\n\"files\":[\n" : ",\n");
  state_->locations.push_back(file.location);
}

void ScheduleWriter::beginThread(const ScheduleThread& thread) {
  State& state = *state_;
  std::string before;
  if (state.rank < 0) before = state.locations.empty() ? ",\n\"files\":[],\n" : "],\n";
  if (state.rank != thread.rank) {
    if (state.rank < 0) before += "\"ranks\":[\n";
    if (state.rank >= 0) before += "]},\n";
    // A rank that did nothing has its place all the same.
    for (int rank = state.rank + 1; rank < thread.rank; ++rank) {
      before += fmt::format("{{\"rank\":{},\"threads\":[]}},\n", rank);
    }
    before += fmt::format("{{\"rank\":{},\"threads\":[\n", thread.rank);
    state.rank = thread.rank;
    state.first_thread = true;
  }
  if (!state.first_thread) before += ",\n";
  state.first_thread = false;
  state.first_event = true;
  Json& json = state.json;
  text(json, base::printable(thread.host));
  state.flush(before +
              fmt::format("{{\"thread\":{},\"pid\":{},\"tid\":{},\"recorder\":{},\"host\":",
                          thread.thread, thread.pid, thread.tid, thread.recorder_ns));
  state.file.write(",\"events\":[\n");
}

void ScheduleWriter::State::putArgument(const ScheduleEvent& event, const ScheduleKey& item) {
  const std::int64_t number = event.arguments[item.argument];
  std::string word;
  switch (item.kind) {
    case KeyKind::kFd:
      put(json, item.key, static_cast<std::int64_t>(event.fd));
      return;
    case KeyKind::kSource:
      put(json, item.key, static_cast<std::int64_t>(event.source));
      return;
    case KeyKind::kReplaced:
      put(json, item.key, static_cast<std::int64_t>(event.replaced));
      return;
    case KeyKind::kLocation:
      putLocation(item.key, event.file);
      return;
    case KeyKind::kNewLocation:
      putLocation(item.key, event.new_file);
      return;
    case KeyKind::kOpenFlags:
      calls::appendOpenFlags(word, static_cast<std::uint64_t>(number));
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
      key(json, item.key);
      json.StartArray();
      for (const std::uint64_t piece : event.pieces) json.Uint64(piece);
      json.EndArray();
      return;
    case KeyKind::kNumber:
    case KeyKind::kSigned:
    case KeyKind::kPosition:
      put(json, item.key, number);
      return;
    case KeyKind::kNone:
      return;
  }
  put(json, item.key, word);
}

void ScheduleWriter::State::putResult(const ScheduleEvent& event) {
  if (event.failed) {
    std::string word;
    if (event.result == 0) {
      word = "EOF";
    } else {
      calls::appendErrno(word, event.result);
    }
    put(json, "errno", word);
  } else if (makesDescriptor(event)) {
    put(json, "result", static_cast<std::int64_t>(event.new_fd));
  } else if (event.row->result != calls::Result::kNone) {
    put(json, "result", event.result);
  }
}

void ScheduleWriter::State::putCall(const ScheduleEvent& event) {
  put(json, "command", event.row->name);
  for (const ScheduleKey& item : keysOf(*event.row)) putArgument(event, item);
  if (usesPosition(*event.row) && event.offset != kUnknownOffset) {
    put(json, "offset", event.offset);
  }
  putResult(event);
}

void ScheduleWriter::event(const ScheduleEvent& event) {
  State& state = *state_;
  Json& json = state.json;
  json.StartObject();
  put(json, "start", event.start_ns);
  put(json, "end", event.end_ns);
  if (event.step == Step::kCall) {
    state.putCall(event);
  } else {
    put(json, "command", wordOf(kSteps, event.step));
    if (event.step == Step::kInherited) put(json, "fd", static_cast<std::int64_t>(event.fd));
    if (event.step == Step::kPreopened) {
      state.putLocation("location", event.file);
      std::string flags;
      calls::appendOpenFlags(flags, static_cast<std::uint64_t>(event.arguments[0]));
      put(json, "flags", flags);
      put(json, "offset", event.offset);
    }
    if (makesDescriptor(event)) put(json, "result", static_cast<std::int64_t>(event.new_fd));
  }
  if (event.id != 0) put(json, "id", static_cast<std::int64_t>(event.id));
  if (!event.after.empty()) {
    key(json, "after");
    json.StartArray();
    for (const std::uint64_t id : event.after) json.Uint64(id);
    json.EndArray();
  }
  json.EndObject();
  state.flush(std::exchange(state.first_event, false) ? "" : ",\n");
}

void ScheduleWriter::endThread() { state_->file.write("]}"); }

std::optional<base::Failure> ScheduleWriter::finish() {
  State& state = *state_;
  if (state.rank < 0) {
    state.file.write(state.locations.empty() ? ",\n\"files\":[],\n\"ranks\":[\n"
                                             : "],\n\"ranks\":[\n");
  } else {
    state.file.write(state.rank + 1 < state.ranks ? "]},\n" : "]}");
  }
  for (int rank = state.rank + 1; rank < state.ranks; ++rank) {
    state.file.write(
        fmt::format("{{\"rank\":{},\"threads\":[]}}{}", rank, rank + 1 < state.ranks ? ",\n" : ""));
  }
  state.file.write("]}\n");
  return state.file.finish();
}

}  // namespace omnio::model
