#include "core/model/schedule_writer.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/base/interruption.hpp"
#include "core/base/printable.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

// Takes the place of the digest of the times until it is known.
constexpr std::string_view kNoDigest = "................";

constexpr std::size_t kAtOnce = std::size_t{1} << 16;  // bytes that are written out together

}  // namespace

ScheduleWriter::ScheduleWriter(const std::filesystem::path& path, ScheduleForm form)
    : path_(placeOfSchedule(path)), is_output_(path == "-"), form_(form), file_(path_) {
  const bool has_times = form_.is_compact && form_.has_exact_times;
  if (has_times && !file_.failed()) times_.emplace(timesPath(path_));
}

ScheduleWriter::~ScheduleWriter() = default;

base::Result<void> ScheduleWriter::begun() {
  if (is_output_) {
    return base::fileFailure("-", base::Code::kInvalid,
                             "a schedule cannot go to standard output: name a file");
  }
  if (const auto begun = file_.state(); !begun) return begun;
  return timesCanBeWritten();
}

base::Result<void> ScheduleWriter::timesCanBeWritten() {
  if (!times_) return {};
  if (isForeign(timesPath(path_))) {
    return base::fileFailure(timesPath(path_), base::Code::kInvalid,
                             "not a file of times, and the times of the schedule would replace it");
  }
  return times_->state();
}

void ScheduleWriter::flush() {
  file_.write(text_);
  text_.clear();
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
    if (global.repeat_scale != 1) json_.put("repeat_scale", global.repeat_scale);
    json_.put("ranks", global.ranks);
    if (times_) {
      json_.object("times", [&] {
        json_.put("file", base::printable(timesPath(path_).filename().native()));
        json_.put("digest", kNoDigest);
      });
      digest_place_ = text_.size() - kNoDigest.size() - std::string_view("\"}").size();
    }
    if (!global.targets.empty()) {
      json_.list("targets", global.targets, [&](const ScheduleTarget& target) {
        json_.object([&] {
          json_.put("name", base::printable(target.name));
          if (!target.directory.empty()) json_.put("directory", base::printable(target.directory));
        });
      });
    }
    json_.object("source", [&] {
      json_.put("trace", base::printable(global.source));
      json_.put("whole", global.source_whole);
      json_.put("events_missing", global.source_events_missing);
      json_.list("command", global.command,
                 [&](const std::string& word) { json_.value(base::printable(word)); });
      json_.put("left_out", global.left_out);
      if (global.in_memory.files > 0) {
        json_.object("in_memory", [&] {
          json_.put("files", global.in_memory.files);
          json_.put("bytes", global.in_memory.bytes);
        });
      }
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
  text_.clear();
  if (!form_.is_compact) text_ = locations_.empty() ? ",\n\"files\":[\n" : ",\n";
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
  locations_.push_back(file.location);
  if (form_.is_compact) {
    file_lines_.push_back(text_);
  } else {
    flush();
  }
}

void ScheduleWriter::endFiles() {
  if (std::exchange(files_ended_, true)) return;
  if (form_.is_compact) {
    text_ = ",\n\"files\":[";
    if (!file_lines_.empty()) text_.append("\n").append(compactFiles(file_lines_));
    file_lines_ = {};
    compact_ = std::make_unique<CompactRanks>(file_, times_ ? &*times_ : nullptr, ranks_);
  } else {
    text_ = locations_.empty() ? ",\n\"files\":[" : "";
  }
  text_ += "],\n\"ranks\":[\n";
  flush();
}

void ScheduleWriter::beginRank(int next) {
  if (rank_ >= 0) text_ += rank_ + 1 < ranks_ ? "]},\n" : "]}";
  for (int idle = rank_ + 1; idle < next; ++idle) {
    text_ += fmt::format("{{\"rank\":{},\"threads\":[]}}{}", idle, idle + 1 < ranks_ ? ",\n" : "");
  }
  if (next < ranks_) text_ += fmt::format("{{\"rank\":{},\"threads\":[\n", next);
  rank_ = next;
  first_thread_ = true;
}

void ScheduleWriter::beginThread(const ScheduleThread& thread) {
  endFiles();
  previous_end_ns_ = 0;
  if (compact_) return compact_->beginThread(thread);
  if (rank_ != thread.rank) beginRank(thread.rank);
  if (!std::exchange(first_thread_, false)) text_ += ",\n";
  first_event_ = true;
  text_ +=
      fmt::format("{{\"thread\":{},\"pid\":{},\"tid\":{},\"recorder\":{},\"host\":", thread.thread,
                  thread.pid, thread.tid, thread.recorder_ns);
  json_.value(base::printable(thread.host));
  if (thread.computing) {
    text_ += fmt::format(",\"computing\":{:.2f}", computingWritten(*thread.computing));
  }
  text_ += ",\"events\":[\n";
  flush();
}

void ScheduleWriter::event(const ScheduleEvent& event) {
  ++events_;
  if (compact_) {
    line_.clear();
    // A descriptor that was open before leaves the time of the thread as it is.
    const bool has_time =
        event.step != Step::kPreopened || event.start_ns != 0 || event.end_ns != 0;
    event_line_.appendAfter(event, has_time ? previous_end_ns_ : 0);
    if (has_time) previous_end_ns_ = event.end_ns;
    return compact_->event(line_);
  }
  if (!std::exchange(first_event_, false)) text_ += ",\n";
  event_json_.append(event);
  if (text_.size() >= kAtOnce) flush();
}

void ScheduleWriter::endThread() {
  if (compact_) return compact_->endThread();
  text_ += "]}";
  flush();
}

WrittenSchedule ScheduleWriter::written() const {
  return {.events = events_,
          .lines = compact_ ? compact_->lines() : events_,
          .bytes = file_.bytes(),
          .times_bytes = times_ ? times_->bytes() : 0};
}

base::Result<void> ScheduleWriter::complete() {
  if (std::exchange(is_complete_, true)) return {};
  endFiles();
  if (compact_) {
    compact_->finish();
    text_.clear();
  } else {
    beginRank(ranks_);
  }
  text_ += "]}\n";
  flush();
  if (const auto possible = timesCanBeWritten(); !possible) return possible;
  // Both are complete before the first one gets its name: a full disk leaves the old ones.
  if (times_) {
    const auto digest = times_->complete();
    if (!digest) return digest.failure();
    file_.overwrite(digest_place_, *digest);
  }
  return file_.complete();
}

base::Result<void> ScheduleWriter::readBack(ScheduleSink& sink) const {
  return readSchedule(file_.draft(), sink, times_ ? times_->draft() : std::filesystem::path());
}

base::Result<void> ScheduleWriter::finish() {
  if (const auto done = complete(); !done) return done.failure();
  std::error_code ignored;
  const bool takes_place = std::filesystem::exists(path_, ignored);
  base::StopsHeld held;
  if (times_) {
    if (const auto named = times_->finish(); !named) return named.failure();
  }
  if (const auto named = file_.finish(); !named) return named.failure();
  // Those of the schedule whose place it has taken.
  if (!times_ && takes_place && !isForeign(timesPath(path_))) {
    std::filesystem::remove(timesPath(path_), ignored);
  }
  held.allIsWritten();
  return {};
}

}  // namespace omnio::model
