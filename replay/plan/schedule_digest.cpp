#include "replay/plan/schedule_digest.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/base/integers.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::replay {

using model::ScheduleSink;

void DigestingSink::add(std::uint64_t value) { state_ = base::mixed(state_, value); }

void DigestingSink::add(std::string_view text) {
  add(text.size());
  add(wire::checksum(text.data(), text.size()));
}

void DigestingSink::add(const std::vector<std::uint64_t>& list) {
  add(list.size());
  for (const std::uint64_t value : list) add(value);
}

ScheduleSink::Complaint DigestingSink::global(const model::ScheduleGlobal& global) {
  addAll(global.timing, global.write_overwrite, std::bit_cast<std::uint64_t>(global.size_scale),
         std::bit_cast<std::uint64_t>(global.time_scale), global.ranks);
  return next_.global(global);
}

ScheduleSink::Complaint DigestingSink::file(model::FileNumber number,
                                            const model::ScheduleFile& file) {
  addAll(file.location, file.role, (file.exists ? 1U : 0U) | (file.lines ? 2U : 0U), file.size,
         file.read_before_written);
  return next_.file(number, file);
}

ScheduleSink::Complaint DigestingSink::beginThread(const model::ScheduleThread& thread) {
  addAll(thread.rank, thread.thread, thread.recorder_ns);
  return next_.beginThread(thread);
}

ScheduleSink::Complaint DigestingSink::event(const model::ScheduleEvent& event) {
  addAll(event.step);
  if (event.row != nullptr) add(wire::checksum(event.row->name.data(), event.row->name.size()));
  addAll(event.start_ns, event.end_ns, event.failed, event.result);
  for (const std::int64_t argument : event.arguments) addAll(argument);
  addAll(event.fd, event.source, event.replaced, event.new_fd, event.file, event.new_file,
         event.open_mode, event.request, event.offset, event.pieces, event.after, event.id);
  return next_.event(event);
}

ScheduleSink::Complaint DigestingSink::endThread() {
  add(std::uint64_t{0});
  return next_.endThread();
}

std::string DigestingSink::text() const { return fmt::format("{:016x}", state_); }

}  // namespace omnio::replay
