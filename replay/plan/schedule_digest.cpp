#include "replay/plan/schedule_digest.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/base/hash_mix.hpp"
#include "core/wire/checksum.hpp"

namespace omnio::replay {

using model::ScheduleSink;

void DigestingSink::add(std::uint64_t value) { state_ = base::mixed(state_, value); }

void DigestingSink::add(const std::string& value) {
  add(value.size());
  add(wire::checksum(value.data(), value.size()));
}

ScheduleSink::Complaint DigestingSink::global(const model::ScheduleGlobal& global) {
  add(static_cast<std::uint64_t>(global.timing));
  add(global.write_overwrite ? 1 : 0);
  add(std::bit_cast<std::uint64_t>(global.size_scale));
  add(std::bit_cast<std::uint64_t>(global.time_scale));
  add(static_cast<std::uint64_t>(global.ranks));
  return next_.global(global);
}

ScheduleSink::Complaint DigestingSink::file(model::FileNumber number,
                                            const model::ScheduleFile& file) {
  add(file.location);
  add(static_cast<std::uint64_t>(file.role));
  add((file.exists ? 1U : 0U) | (file.lines ? 2U : 0U));
  add(file.size);
  add(file.read_before_written);
  return next_.file(number, file);
}

ScheduleSink::Complaint DigestingSink::beginThread(const model::ScheduleThread& thread) {
  add(static_cast<std::uint64_t>(thread.rank));
  add(static_cast<std::uint64_t>(thread.thread));
  add(static_cast<std::uint64_t>(thread.recorder_ns));
  return next_.beginThread(thread);
}

ScheduleSink::Complaint DigestingSink::event(const model::ScheduleEvent& event) {
  add(static_cast<std::uint64_t>(event.step));
  if (event.row != nullptr) add(wire::checksum(event.row->name.data(), event.row->name.size()));
  add(static_cast<std::uint64_t>(event.start_ns));
  add(static_cast<std::uint64_t>(event.end_ns));
  add(event.failed ? 1 : 0);
  add(static_cast<std::uint64_t>(event.result));
  for (const std::int64_t argument : event.arguments) add(static_cast<std::uint64_t>(argument));
  for (const model::Descriptor one : {event.fd, event.source, event.replaced, event.new_fd}) {
    add(static_cast<std::uint64_t>(one));
  }
  add(static_cast<std::uint64_t>(event.file));
  add(static_cast<std::uint64_t>(event.new_file));
  add(event.open_mode);
  add(event.request);
  add(static_cast<std::uint64_t>(event.offset));
  for (const auto* list : {&event.pieces, &event.after}) {
    add(list->size());
    for (const std::uint64_t value : *list) add(value);
  }
  add(event.id);
  return next_.event(event);
}

ScheduleSink::Complaint DigestingSink::endThread() {
  add(0);
  return next_.endThread();
}

std::string DigestingSink::text() const { return fmt::format("{:016x}", state_); }

}  // namespace omnio::replay
