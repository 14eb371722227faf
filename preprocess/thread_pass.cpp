#include "preprocess/thread_pass.hpp"

#include <fcntl.h>

#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/event/event_text.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::preprocess {

using calls::Role;
using model::ScheduleEvent;

namespace {

class ThreadPass {
 public:
  ThreadPass(const SourceThread& thread, std::uint32_t place, Analysis& analysis,
             const PassSettings& settings)
      : thread_(thread),
        place_(place),
        analysis_(analysis),
        notes_(analysis.threads()[place]),
        settings_(settings) {}

  std::uint64_t write(event::EventSource& events, model::ScheduleWriter& writer) {
    std::uint64_t written = 0;
    writeExtras(-1, writer);
    for (std::uint64_t sequence = 0; const event::Event* event = events.next(); ++sequence) {
      EventNote note{.sequence = sequence};
      if (next_note_ < notes_.notes.size() && notes_.notes[next_note_].sequence == sequence) {
        note = notes_.notes[next_note_++];
      }
      if (!note.dropped && isKnown(*event)) {
        writer.event(converted(*event, note));
        ++written;
      }
      writeExtras(static_cast<std::int64_t>(sequence), writer);
    }
    return written;
  }

 private:
  std::int64_t timeOf(std::int64_t ns) const {
    return std::llround(
        static_cast<double>(std::max<std::int64_t>(ns - analysis_.firstStart(), 0)) *
        settings_.time_scale);
  }

  // Not when the first pass could not read what this one can.
  bool isKnown(const event::Event& event) const {
    const bool needs_handle =
        calls::has(*event.row, Role::kFd) || calls::has(*event.row, Role::kStream);
    return !needs_handle || event.handle == nullptr ||
           analysis_.opens().instanceOf(thread_.process_index, event.handle->definition.handle,
                                        event.start_ns) != kNoInstance;
  }

  void writeExtras(std::int64_t behind, model::ScheduleWriter& writer) {
    for (; next_extra_ < notes_.extras.size() && notes_.extras[next_extra_].behind == behind;
         ++next_extra_) {
      ScheduleEvent event = notes_.extras[next_extra_].event;
      if (event.start_ns != 0) event.start_ns = event.end_ns = timeOf(event.start_ns);
      event.offset = std::max<std::int64_t>(event.offset, 0);
      writer.event(event);
    }
  }

  model::Descriptor descriptorOf(InstanceId instance) const {
    return instance == kNoInstance ? model::kNoDescriptor : analysis_.opens()[instance].descriptor;
  }

  model::FileNumber fileAt(const event::Event& event, Role role) {
    const int index = calls::indexOf(*event.row, role);
    if (index < 0) return model::kNoFileNumber;
    const event::Text& text = event.texts[static_cast<std::size_t>(index)];
    return text.absolute.empty() ? model::kNoFileNumber : analysis_.files().numberOf(text.absolute);
  }

  void takeNumbers(const event::Event& event, ScheduleEvent& out) const {
    for (const model::ScheduleKey& key : model::keysOf(*event.row)) {
      if (calls::isNumber(key.kind)) out.arguments[key.argument] = event.arguments[key.argument];
    }
    // The mode of an open that makes no file is whatever stood in a register.
    const int mode = calls::indexOf(*event.row, Role::kMode);
    const int flags = calls::indexOf(*event.row, Role::kFlags);
    if (mode >= 0 && flags >= 0 && event.row->result == calls::Result::kNewFd) {
      const std::int64_t wanted = event.arguments[static_cast<std::size_t>(flags)];
      if ((wanted & O_CREAT) == 0 && (wanted & O_TMPFILE) != O_TMPFILE) {
        out.arguments[static_cast<std::size_t>(mode)] = 0;
      }
    }
  }

  ScheduleEvent converted(const event::Event& event, const EventNote& note) {
    ScheduleEvent out;
    out.row = event.row;
    out.start_ns = timeOf(event.start_ns);
    out.end_ns = std::max(timeOf(event.end_ns), out.start_ns);
    out.failed = event.failed;
    out.result = event.result;
    takeNumbers(event, out);
    out.file = fileAt(event, Role::kPath);
    if (out.file == model::kNoFileNumber) out.file = fileAt(event, Role::kPathTemplate);
    const std::string other = otherPathOf(event);
    if (!other.empty()) out.new_file = analysis_.files().numberOf(other);
    const int mode = calls::indexOf(*event.row, Role::kOpenMode);
    if (mode >= 0) out.open_mode = event.texts[static_cast<std::size_t>(mode)].raw;
    if (calls::has(*event.row, Role::kIov)) out.pieces = event::pieceSizes(event);
    bool aligned = false;
    bool reads_foreign_lines = false;
    if (event.handle != nullptr &&
        (calls::has(*event.row, Role::kFd) || calls::has(*event.row, Role::kStream))) {
      const InstanceId instance = analysis_.opens().instanceOf(
          thread_.process_index, event.handle->definition.handle, event.start_ns);
      out.fd = descriptorOf(instance);
      const Instance& used = analysis_.opens()[instance];
      aligned = std::as_const(analysis_).files().content(used.content).direct;
      reads_foreign_lines = readsLines(*event.row) &&
                            !std::as_const(analysis_).files().isNative(used.content, used.file);
      event::FileSize not_followed;
      const auto transfer = event::follow(event, positionOf(used.description), not_followed)
                                .value_or(event::Transfer{});
      const bool is_certain = calls::has(*event.row, Role::kOffset) ||
                              !analysis_.opens().description(used.description).of_many_threads;
      if (transfer.fixedOffset() && is_certain) out.offset = transfer.offset;
    }
    if (note.source != kNoInstance && !event.failed) {
      event::FileSize not_followed;
      event::followSource(event, positionOf(analysis_.opens()[note.source].description),
                          not_followed);
    }
    out.new_fd = descriptorOf(note.made);
    out.replaced = descriptorOf(note.replaced);
    out.source = descriptorOf(note.source);
    out.request = model::requestOf(out);
    settings_.size_scale.apply(out, aligned);
    // By offset and name, a replay learns where lines have to end. Those of a file that took the
    // name over later would spoil the one that has it first.
    if (reads_foreign_lines) out.offset = model::kUnknownOffset;
    const EventRef ref{place_, note.sequence};
    out.id = analysis_.dependencies().idOf(ref);
    out.after = analysis_.dependencies().before(ref);
    return out;
  }

  // As the first pass found it at its beginning; moved by this thread's events alone.
  event::OpenFile& positionOf(std::uint32_t description) {
    const bool appends = analysis_.opens().description(description).appended_at_first;
    return positions_.try_emplace(description, event::OpenFile{.appends = appends}).first->second;
  }

  const SourceThread& thread_;
  const std::uint32_t place_;
  Analysis& analysis_;
  const ThreadNotes& notes_;
  const PassSettings& settings_;
  std::size_t next_note_ = 0;
  std::size_t next_extra_ = 0;
  std::unordered_map<std::uint32_t, event::OpenFile> positions_;
};

}  // namespace

std::uint64_t writeThread(const SourceThreads& sources, std::uint32_t place, Analysis& analysis,
                          const PassSettings& settings, event::PathTable& paths,
                          model::ScheduleWriter& writer) {
  const SourceThread& thread = sources.threads[place];
  const auto events = thread.open(paths);
  return ThreadPass(thread, place, analysis, settings).write(*events, writer);
}

}  // namespace omnio::preprocess
