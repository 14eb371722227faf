#include "preprocess/scale/scaled_document.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/compact/line_kinds.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"

namespace omnio::preprocess::scale {
namespace {

std::filesystem::path beside(const std::filesystem::path& path, std::string_view ending) {
  std::filesystem::path result = path;
  result += ending;
  return result;
}

// Passes the events on, with all that is said of the schedule and of its files.
class Completer final : public model::ScheduleSink {
 public:
  Completer(const model::ScheduleGlobal& global, const std::vector<model::ScheduleFile>& files,
            model::ScheduleWriter& writer)
      : global_(global), files_(files), writer_(writer) {}

  Complaint global(const model::ScheduleGlobal& /*global*/) override {
    writer_.global(global_);
    return {};
  }
  Complaint file(model::FileNumber number, const model::ScheduleFile& /*file*/) override {
    writer_.file(files_[static_cast<std::size_t>(number)]);
    return {};
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    writer_.beginThread(thread);
    return {};
  }
  Complaint event(const model::ScheduleEvent& event) override {
    writer_.event(event);
    return {};
  }
  Complaint endThread() override {
    writer_.endThread();
    return {};
  }

 private:
  const model::ScheduleGlobal& global_;
  const std::vector<model::ScheduleFile>& files_;
  model::ScheduleWriter& writer_;
};

}  // namespace

ScaledDocument::ScaledDocument(std::filesystem::path path)
    : path_(std::move(path)),
      ranks_path_(beside(path_, fmt::format(".{}.ranks", getpid()))),
      draft_path_(beside(path_, fmt::format(".{}.scaled", getpid()))),
      removed_ranks_(ranks_path_),
      removed_draft_(draft_path_),
      ranks_(ranks_path_) {}

ScaledDocument::~ScaledDocument() {
  std::error_code ignored;
  std::filesystem::remove(ranks_path_, ignored);
  std::filesystem::remove(draft_path_, ignored);
}

void ScaledDocument::beginThread(const model::ScheduleThread& thread) {
  std::string text;
  if (thread.rank != rank_) {
    if (rank_ >= 0) text += "]},\n";
    for (++rank_; rank_ < thread.rank; ++rank_) {
      text += fmt::format("{{\"rank\":{},\"threads\":[]}},\n", rank_);
    }
    text += fmt::format("{{\"rank\":{},\"threads\":[\n", rank_);
    is_first_thread_ = true;
  }
  text += std::exchange(is_first_thread_, false) ? "" : ",\n";
  base::JsonWriter json(text);
  json.beginObject();
  json.put("thread", thread.thread);
  json.put("pid", thread.pid);
  json.put("tid", thread.tid);
  json.put("recorder", thread.recorder_ns);
  json.put("host", base::printable(thread.host));
  if (thread.computing) json.put("computing", *thread.computing);
  text += ",\"events\":[\n";
  ranks_.write(text);
  is_first_event_ = true;
}

void ScaledDocument::event(std::string_view line) {
  if (!std::exchange(is_first_event_, false)) ranks_.write(",\n");
  ranks_.write(line);
}

void ScaledDocument::endThread() { ranks_.write("]}"); }

base::Result<model::WrittenSchedule> ScaledDocument::finish(
    const model::ScheduleGlobal& global, const std::vector<model::ScheduleFile>& files,
    model::ScheduleForm form) {
  std::string end;
  if (rank_ >= 0) end = "]}";
  for (++rank_; rank_ < global.ranks; ++rank_) {
    end += fmt::format("{}{{\"rank\":{},\"threads\":[]}}", rank_ > 0 ? ",\n" : "", rank_);
  }
  end += "]}\n";
  ranks_.write(end);
  if (const auto named = ranks_.finish(); !named) return named.failure();

  std::string begin;
  base::JsonWriter json(begin);
  json.beginObject();
  json.put("format", model::kScheduleFormat);
  json.put("version", model::kScheduleVersion);
  json.object("global", [&] {
    json.put("time_replay", base::wordOf(model::kTimings, global.timing));
    json.put("ranks", global.ranks);
    if (!global.mpi) return;
    json.object("mpi", [&] {
      json.put("groups", global.mpi->groups);
      json.put("types", global.mpi->types);
    });
  });
  json.list("files", files, [&](const model::ScheduleFile& file) {
    json.object([&] {
      json.put("location", base::printable(file.location));
      json.put("role", base::wordOf(model::kRoles, file.role));
      json.put("exists", file.exists);
    });
  });
  begin += ",\"ranks\":[\n";
  base::DocumentFile draft(draft_path_);
  draft.write(begin);
  begin.clear();
  std::ifstream ranks(ranks_path_, std::ios::binary);
  constexpr std::size_t kPiece = 1 << 20;
  std::string piece(kPiece, '\0');
  while (ranks.read(piece.data(), static_cast<std::streamsize>(piece.size())), ranks.gcount() > 0) {
    draft.write(std::string_view(piece).substr(0, static_cast<std::size_t>(ranks.gcount())));
  }
  ranks.close();
  if (const auto named = draft.finish(); !named) return named.failure();
  std::error_code ignored;
  std::filesystem::remove(ranks_path_, ignored);

  model::ScheduleWriter writer(path_, form);
  Completer completer(global, files, writer);
  if (const auto read = model::readSchedule(draft_path_, completer); !read) {
    return base::failure(read.failure().code, "the scaled schedule cannot be replayed: {}",
                         read.failure().sentence);
  }
  if (const auto done = writer.finish(); !done) return done.failure();
  return writer.written();
}

void forEachName(std::string_view line,
                 const std::function<void(std::string_view key, const std::string& name)>& take) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] != '"') continue;
    const std::size_t begin = ++at;
    while (at < line.size() && line[at] != '"') at += line[at] == '\\' ? 2 : 1;
    const std::string_view key = line.substr(begin, at - begin);
    if (at + 2 >= line.size() || line[at + 1] != ':' || line[at + 2] != '"') continue;
    std::string text;
    for (at += 3; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\') ++at;
      text += line[at];
    }
    if (model::isNameKey(key) && !text.empty()) take(key, base::bytesOf(text));
  }
}

}  // namespace omnio::preprocess::scale
