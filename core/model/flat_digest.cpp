#include "core/model/flat_digest.hpp"

#include <fmt/format.h>

#include "core/base/integers.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::model {
namespace {

std::uint64_t digestOf(const std::string& text) { return wire::checksum(text.data(), text.size()); }

}  // namespace

ScheduleSink::Complaint FlatDigest::file(FileNumber /*number*/, const ScheduleFile& file) {
  locations_.push_back(file.location);
  text_ = fmt::format("{} {} {} {} {} {}\n{}\n{}", static_cast<int>(file.role), file.exists,
                      file.size, file.read_before_written, file.lines, file.holes.size(),
                      file.location, file.source);
  for (const Hole& hole : file.holes) text_ += fmt::format("\n{} {}", hole.begin, hole.end);
  files_ += digestOf(text_);
  return {};
}

ScheduleSink::Complaint FlatDigest::beginThread(const ScheduleThread& thread) {
  text_ = fmt::format("{} {} {} {} {} {:.2f} {}", thread.rank, thread.thread, thread.pid,
                      thread.tid, thread.recorder_ns, thread.computing.value_or(-1), thread.host);
  events_ = base::mixed(events_, digestOf(text_));
  return {};
}

ScheduleSink::Complaint FlatDigest::event(const ScheduleEvent& event) {
  text_.clear();
  json_.append(event);
  events_ = base::mixed(events_, digestOf(text_));
  return {};
}

std::uint64_t FlatDigest::value() const { return base::mixed(files_, events_); }

}  // namespace omnio::model
