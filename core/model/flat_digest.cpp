#include "core/model/flat_digest.hpp"

#include <fmt/format.h>

#include "core/base/integers.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::model {
namespace {

std::uint64_t digestOf(const std::string& text) { return wire::checksum(text.data(), text.size()); }

}  // namespace

ScheduleSink::Complaint FlatDigest::global(const ScheduleGlobal& global) {
  text_ =
      fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(global.timing),
                  global.write_overwrite, global.size_scale, global.keep_below, global.time_scale,
                  global.ranks, global.source_whole, global.source_events_missing);
  const auto add = [this](std::string_view text) { text_.append("\n").append(text); };
  add(global.source);
  for (const SizeScale& scale : global.size_scales) {
    add(fmt::format("{} {}", scale.factor, scale.pattern));
  }
  for (const ScheduleTarget& target : global.targets) {
    add(target.name);
    add(target.directory);
  }
  add("command");
  for (const std::string& word : global.command) add(word);
  add("left out");
  for (const std::string& words : global.left_out) add(words);
  if (global.mpi) {
    for (const std::vector<int>& group : global.mpi->groups)
      add(fmt::format("{}", fmt::join(group, " ")));
    add("types");
    for (const std::string& type : global.mpi->types) add(type);
  }
  global_ = digestOf(text_);
  return {};
}

ScheduleSink::Complaint FlatDigest::file(FileNumber /*number*/, const ScheduleFile& file) {
  locations_.push_back(file.location);
  text_ = fmt::format("{} {} {} {} {} {}\n{}\n{}\n{}", static_cast<int>(file.role), file.exists,
                      file.size, file.read_before_written, file.lines, file.holes.size(),
                      file.location, file.source, file.target);
  for (const Hole& hole : file.holes) text_ += fmt::format("\n{} {}", hole.begin, hole.end);
  files_ += digestOf(text_);
  return {};
}

ScheduleSink::Complaint FlatDigest::beginThread(const ScheduleThread& thread) {
  text_ =
      fmt::format("{} {} {} {} {} {:.2f} {}", thread.rank, thread.thread, thread.pid, thread.tid,
                  thread.recorder_ns, computingWritten(thread.computing.value_or(-1)), thread.host);
  events_ = base::mixed(events_, digestOf(text_));
  return {};
}

ScheduleSink::Complaint FlatDigest::event(const ScheduleEvent& event) {
  text_.clear();
  event_json_.append(event);
  events_ = base::mixed(events_, digestOf(text_));
  return {};
}

std::uint64_t FlatDigest::value() const {
  return base::mixed(base::mixed(global_, files_), events_);
}

}  // namespace omnio::model
