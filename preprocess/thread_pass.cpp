#include "preprocess/thread_pass.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/calls/mpi_errors.hpp"
#include "core/event/event_text.hpp"
#include "core/model/schedule_keys.hpp"
#include "preprocess/files/location.hpp"
#include "preprocess/files/size_scale.hpp"

namespace omnio::preprocess {

using calls::Role;
using model::ScheduleEvent;

namespace {

class ThreadPass {
 public:
  explicit ThreadPass(const ThreadPassInput& input)
      : thread_(input.thread),
        place_(input.place),
        analysis_(input.analysis),
        notes_(input.analysis.threads()[input.place]),
        mounts_(input.mounts),
        order_(input.order),
        steps_(input.order.steps()[input.place]),
        ids_(input.ids),
        own_ids_(input.ids, input.place),
        waiting_(input.waiting),
        own_meetings_(input.order.meetingsOf(input.place)),
        settings_(input.settings),
        changes_sizes_(input.sizes.changesSizes()),
        time_scale_(input.settings.time_scale) {
    for (const double factor : input.sizes.factors()) {
      unknown_.emplace(factor, ScaleMap(factor));
      unknown_pages_.emplace(factor, ScaleMap(factor)).first->second.keepPages();
    }
    plain_ = &unknown_.at(input.sizes.plain());
  }

  // Returns how many events of the trace it wrote.
  std::uint64_t write(event::PathTable& paths, WritingThread& writer) {
    std::uint64_t written = 0;
    writeExtras(-1, writer);
    const auto events = thread_.open(paths, {.layer = settings_.layer});
    for (std::uint64_t sequence = 0; const event::Event* event = events->next(); ++sequence) {
      EventNote note{.sequence = sequence};
      if (next_note_ < notes_.notes.size() && notes_.notes[next_note_].sequence == sequence) {
        note = notes_.notes[next_note_++];
      }
      const std::uint64_t id = own_ids_.at(sequence);
      if (!note.dropped && isKnown(*event)) {
        ScheduleEvent out =
            event->row->api == calls::Api::kMpi ? convertedMpi(*event) : converted(*event, note);
        out.id = id;
        order(sequence, out);
        if (settings_.phases != nullptr) {
          out.phase = settings_.phases->phaseOf(thread_.process_index,
                                                thread_.lanes.front()->thread, sequence, *event);
        }
        put(out, writer);
        ++written;
      } else if (id != 0) {
        // What was done below it for MPI-IO is waited for.
        ScheduleEvent delay;
        delay.step = model::Step::kDelay;
        delay.start_ns = timeOf(event->start_ns);
        delay.end_ns = std::max(timeOf(event->end_ns), delay.start_ns);
        delay.id = id;
        put(delay, writer);
      }
      writeExtras(static_cast<std::int64_t>(sequence), writer);
    }
    return written;
  }

  // Waits for events that it wrote.
  std::uint64_t edges() const { return edges_; }
  // That its calls moved, and move in the schedule.
  std::uint64_t bytesRecorded() const { return bytes_recorded_; }
  std::uint64_t bytesScaled() const { return bytes_scaled_; }

 private:
  void put(ScheduleEvent& event, WritingThread& writer) {
    for (const model::Wait& wait : event.after) edges_ += wait.id != 0 ? 1 : 0;
    writer.event(std::move(event));
  }

  // What the event of that sequence waits for because of files; nullptr when it does not wait.
  const std::vector<model::Wait>* waitsOf(std::uint64_t sequence) {
    while (next_waiting_ < waiting_.size() && waiting_[next_waiting_].sequence < sequence) {
      ++next_waiting_;
    }
    const bool is_it =
        next_waiting_ < waiting_.size() && waiting_[next_waiting_].sequence == sequence;
    return is_it ? waiting_[next_waiting_].waits : nullptr;
  }

  std::int64_t timeOf(std::int64_t ns) const {
    return std::llround(
        static_cast<double>(std::max<std::int64_t>(ns - analysis_.firstStart(), 0)) * time_scale_);
  }

  // Not when the first pass could not read what this one can.
  bool isKnown(const event::Event& event) const {
    return !hasHandle(*event.row) || event.handle == nullptr ||
           analysis_.opens().instanceOf(thread_.process_index, event.handle->definition.handle,
                                        event.start_ns) != kNoInstance;
  }

  bool keepsFileOrder() const { return model::keepsFiles(settings_.order); }

  // The order that communication puts the event of that sequence into; nullptr when it has none.
  const StepOrder* orderOf(std::uint64_t sequence) {
    if (has_recent_order_ && recent_order_.sequence == sequence) return &recent_order_;
    while (next_order_ != nullptr && next_order_->sequence < sequence) next_order_ = steps_.next();
    if (next_order_ == nullptr || next_order_->sequence != sequence) return nullptr;
    recent_order_ = *next_order_;
    has_recent_order_ = true;
    return &recent_order_;
  }

  void writeExtras(std::int64_t behind, WritingThread& writer) {
    for (; next_meeting_ < own_meetings_.size() &&
           order_.meetings().behindOf(own_meetings_[next_meeting_]) == behind;
         ++next_meeting_) {
      const std::uint64_t number = own_meetings_[next_meeting_];
      const Meeting meeting = order_.meetings().at(number);
      ScheduleEvent event;
      event.step = model::Step::kDelay;
      event.start_ns = event.end_ns = timeOf(meeting.at_ns);
      event.id = ids_.ofMeeting(number);
      takeOrder(meeting.own, meeting.after, event);
      put(event, writer);
    }
    for (; next_extra_ < notes_.extras.size() && notes_.extras[next_extra_].behind == behind;
         ++next_extra_) {
      ScheduleEvent event = notes_.extras[next_extra_].event;
      if (event.start_ns != 0) event.start_ns = event.end_ns = timeOf(event.start_ns);
      event.offset = std::max<std::int64_t>(event.offset, 0);
      if (event.step == model::Step::kPreopened) {
        event.offset =
            static_cast<std::int64_t>(scaleOf(notes_.extras[next_extra_].content)
                                          .position(static_cast<std::uint64_t>(event.offset)));
      }
      if (!keepsFileOrder()) {
        // Only what it waits for makes a delay worth a step.
        if (event.step == model::Step::kDelay) continue;
        event.after.clear();
      }
      const auto next = static_cast<std::uint64_t>(behind + 1);
      const StepOrder* const order = orderOf(next);
      const bool takes_order = takesOrder(notes_.extras[next_extra_]) && order != nullptr;
      if (takes_order) dropImplied(event);
      takeFinalIds(event.after);
      if (event.id != 0) event.id = ids_.ofDependency(event.id);
      if (takes_order) {
        takeOrder(*order, event);
        given_away_ = next;
      }
      put(event, writer);
    }
  }

  // Files need not order what communication orders already, here or further ahead in the thread.
  // Its waits have the ids of Dependencies.
  void dropImplied(ScheduleEvent& out) const {
    if (!has_recent_order_ || out.after.empty()) return;
    std::erase_if(out.after, [&](const model::Wait& wait) {
      const auto& event = analysis_.dependencies().named(wait.id);
      return event && comeAfter(recent_order_.after, *event, order_.meetings());
    });
  }

  // Ids of Dependencies become those of the schedule.
  void takeFinalIds(std::vector<model::Wait>& waits) const {
    for (model::Wait& wait : waits) {
      if (wait.id != 0) wait.id = ids_.ofDependency(wait.id);
    }
  }

  void takeOrder(const StepOrder& order, ScheduleEvent& out) const {
    if (given_away_ == order.sequence) {
      out.own = Work{};
    } else {
      takeOrder(order.own, order.after, out);
    }
  }

  // Gives the event the thread's own work before it, and the steps that it waits for.
  void takeOrder(const Work& own, const std::vector<Predecessor>& after, ScheduleEvent& out) const {
    out.own = scaled(own);
    for (const Predecessor& before : after) {
      std::uint64_t id = 0;
      if (before.step.thread == kMeeting) {
        id = ids_.ofMeeting(before.step.sequence);
      } else if (before.step.thread != kBeginning) {
        id = ids_.ofEvent(before.step);
      }
      out.after.push_back({id, before.reason, scaled(before.work)});
    }
  }

  Work scaled(const Work& work) const {
    return {std::llround(static_cast<double>(work.compute_ns) * time_scale_),
            std::llround(static_cast<double>(work.communication_ns) * time_scale_)};
  }

  model::Descriptor descriptorOf(InstanceId instance) const {
    return instance == kNoInstance ? model::kNoDescriptor : analysis_.opens()[instance].descriptor;
  }

  // Whether the last names of the file's location lead to it from the directory that is open. Where
  // one of them is on a node, the directory may lie in another place of the tree than its file.
  bool leadsFrom(InstanceId directory, model::FileNumber file, std::uint16_t names) const {
    if (directory == kNoInstance || file == model::kNoFileNumber) return true;
    const model::FileNumber opened = analysis_.opens()[directory].file;
    if (opened == model::kNoFileNumber) return true;
    const std::string_view from = analysis_.files().locationOf(opened);
    std::string_view at = analysis_.files().locationOf(file);
    if (!model::isOnNode(from) && !model::isOnNode(at)) return true;
    for (; names > 0 && at != "."; --names) {
      const std::size_t slash = at.rfind('/');
      at = slash == at.npos ? std::string_view(".") : at.substr(0, slash);
    }
    return at == from;
  }

  void takeNumbers(const event::Event& event, ScheduleEvent& out) const {
    for (const model::ScheduleKey& key : model::keysOf(*event.row)) {
      if (calls::isNumber(key.kind)) out.arguments[key.argument] = event.arguments[key.argument];
    }
    const int mode = calls::indexOf(*event.row, Role::kMode);
    if (mode >= 0 && !event::modeMatters(event)) out.arguments[static_cast<std::size_t>(mode)] = 0;
  }

  // A call on shared memory becomes what the C library makes of it: a replay has its files in a
  // directory, which shm_open cannot name.
  static void takeFileCall(ScheduleEvent& out) {
    const bool opens = out.row->call_class == calls::Class::kOpen;
    if (opens) {
      const int flags = calls::indexOf(*out.row, Role::kFlags);
      out.arguments[static_cast<std::size_t>(flags)] |= O_NOFOLLOW | O_CLOEXEC;
    }
    out.row = &calls::rowOf(opens ? calls::CallId::open64 : calls::CallId::unlink);
  }

  ScheduleEvent converted(const event::Event& event, const EventNote& note) {
    ScheduleEvent out;
    out.row = event.row;
    out.start_ns = timeOf(event.start_ns);
    out.end_ns = std::max(timeOf(event.end_ns), out.start_ns);
    out.failed = event.failed;
    out.result = event.result;
    out.at_least = event.at_least;
    takeNumbers(event, out);
    if (calls::does(*event.row, calls::Effect::kInSharedMemory)) takeFileCall(out);
    if (const event::Text* path = pathOf(event)) {
      out.file = analysis_.fileOf(path->absolute, place_);
      out.lookups = lookupsOf(path->raw, analysis_.files().locationOf(out.file), mounts_);
    }
    if (descriptorLinkedBy(event)) {
      const model::FileNumber opened = note.directory == kNoInstance
                                           ? model::kNoFileNumber
                                           : analysis_.opens()[note.directory].file;
      // Which name it has matters not: none is looked up.
      out.file =
          opened != model::kNoFileNumber ? opened : analysis_.fileOf(otherPathOf(event), place_);
      out.lookups = 0;
    }
    const std::string other = otherPathOf(event);
    if (!other.empty()) out.new_file = analysis_.fileOf(other, place_);
    if (const int second = calls::indexOf(*event.row, Role::kPathNew);
        second >= 0 && out.new_file != model::kNoFileNumber) {
      out.new_lookups = lookupsOf(event.texts[static_cast<std::size_t>(second)].raw,
                                  analysis_.files().locationOf(out.new_file), mounts_);
    }
    if (const int link = calls::indexOf(*event.row, Role::kLinkText); link >= 0) {
      const std::string_view text = event.texts[static_cast<std::size_t>(link)].raw;
      out.new_lookups = linkLookups(text);
    }
    for (const Role role : {Role::kOpenMode, Role::kAttribute}) {
      const int text = calls::indexOf(*event.row, role);
      if (text < 0) continue;
      out.text = event.texts[static_cast<std::size_t>(text)].raw.substr(0, model::kLongestText);
    }
    if (calls::has(*event.row, Role::kIov)) out.pieces = event::pieceSizes(event);
    WorkedAt at;
    const ScaleMap* scale = &scaleWithout(*event.row, note.content, out.file);
    const ScaleMap* source_scale = nullptr;
    bool reads_foreign_lines = false;
    if (event.handle != nullptr && hasHandle(*event.row)) {
      const InstanceId instance = analysis_.opens().instanceOf(
          thread_.process_index, event.handle->definition.handle, event.start_ns);
      out.fd = descriptorOf(instance);
      const Instance& used = analysis_.opens()[instance];
      scale = &scaleOf(used.content);
      reads_foreign_lines =
          readsLines(*event.row) && !analysis_.files().isNative(used.content, used.file);
      event::FileSize not_followed;
      event::OpenFile& open = positionOf(used.description);
      const auto transfer = event::follow(event, open, not_followed).value_or(event::Transfer{});
      const bool is_certain = !event::isAtPosition(event) ||
                              !analysis_.opens().description(used.description).of_many_threads;
      if (transfer.fixedOffset() && is_certain) out.offset = transfer.offset;
      at = workedAt(event, transfer, open, used.content);
      at.is_guess = !is_certain || !transfer.fixedOffset();
    }
    if (note.source != kNoInstance && !event.failed) {
      event::FileSize not_followed;
      const Instance& source = analysis_.opens()[note.source];
      event::followSource(event, positionOf(source.description), not_followed);
      source_scale = &scaleOf(source.content);
      // A call that copies to something that is not recorded, such as a socket.
      if (event.handle == nullptr) scale = &unknown_.at(source_scale->factor());
    }
    if (source_scale == nullptr) source_scale = &unknown_.at(scale->factor());
    out.new_fd = descriptorOf(note.made);
    out.replaced = descriptorOf(note.replaced);
    out.source = descriptorOf(note.source);
    out.directory = descriptorOf(note.directory);
    out.new_directory = descriptorOf(note.new_directory);
    if (!descriptorLinkedBy(event) && !leadsFrom(note.directory, out.file, out.lookups)) {
      out.directory = model::kNoDescriptor;
    }
    if (!leadsFrom(note.new_directory, out.new_file, out.new_lookups)) {
      out.new_directory = model::kNoDescriptor;
    }
    out.request = model::requestOf(out);
    const std::uint64_t recorded = model::bytesMoved(out);
    bytes_recorded_ += recorded;
    if (changes_sizes_) {
      scaleSizes(out, at, *scale, *source_scale, settings_.keep_below);
      bytes_scaled_ += model::bytesMoved(out);
    } else {
      bytes_scaled_ += recorded;
    }
    // By offset and name, a replay learns where lines have to end. Those of a file that took the
    // name over later would spoil the one that has it first.
    if (reads_foreign_lines) out.offset = model::kUnknownOffset;
    return out;
  }

  // A call of MPI-IO, or one that found requests of it complete.
  ScheduleEvent convertedMpi(const event::Event& event) {
    ScheduleEvent out;
    out.start_ns = timeOf(event.start_ns);
    out.end_ns = std::max(timeOf(event.end_ns), out.start_ns);
    const std::size_t process = thread_.process_index;
    if (!calls::isMpiIo(*event.row)) {
      requests_.take(event);
      out.row = &calls::rowOf(calls::CallId::MPI_Waitall);
      out.pieces = requests_.done();
      return out;
    }
    requests_.take(event);
    out.row = &calls::rowOf(event.row->plain);
    out.failed = event.failed;
    if (event.failed) out.result = calls::mpiErrorClass(event.result);
    takeNumbers(event, out);
    const auto number = [&event](Role role) {
      return static_cast<std::uint64_t>(event::argumentOf(event, role));
    };
    const auto put_number = [&out](Role role, std::int64_t value) {
      const int index = calls::indexOf(*out.row, role);
      if (index >= 0) out.arguments[static_cast<std::size_t>(index)] = value;
    };
    const MpiTables& tables = analysis_.mpiTables();
    if (out.row->call_class == calls::Class::kOpen) {
      const event::Handle& made = *event.handle;
      out.file = analysis_.fileOf(made.path.absolute, place_);
      out.lookups = lookupsOf(made.path.raw, analysis_.files().locationOf(out.file), mounts_);
      // No group shares a file that was not opened.
      const std::uint64_t group = number(event.failed ? Role::kComm : Role::kNewComm);
      put_number(Role::kNewComm, tables.groupOf(process, group));
      if (!event.failed) {
        out.new_fd = descriptorOf(
            analysis_.opens().instanceOf(process, made.definition.handle, event.start_ns));
        out.text = tables.hintsOf(process, group);
      }
    } else if (event.handle != nullptr) {
      out.fd = descriptorOf(
          analysis_.opens().instanceOf(process, event.handle->definition.handle, event.start_ns));
    } else if (const event::Text* path = pathOf(event)) {
      out.file = analysis_.fileOf(path->absolute, place_);
    }
    if (calls::has(*out.row, Role::kFiletype)) {
      put_number(Role::kEtype, tables.typeOf(process, number(Role::kEtype)));
      put_number(Role::kFiletype, tables.typeOf(process, number(Role::kFiletype)));
    }
    if (out.row->id() == calls::CallId::MPI_File_set_info && event.handle != nullptr) {
      out.text = tables.laterHintsOf(process, event.handle->definition.handle);
    }
    if (event::transfersData(*out.row)) {
      out.request = event.request;
      if (!event.failed) out.result = static_cast<std::int64_t>(event.bytes);
      bytes_recorded_ += event.bytes;
      bytes_scaled_ += event.bytes;
    }
    return out;
  }

  // Puts it behind the steps that it waits for.
  void order(std::uint64_t sequence, ScheduleEvent& out) {
    const std::vector<model::Wait>* const waits = waitsOf(sequence);
    if (keepsFileOrder() && waits != nullptr) out.after = *waits;
    const StepOrder* const order = orderOf(sequence);
    dropImplied(out);
    takeFinalIds(out.after);
    if (order != nullptr) takeOrder(*order, out);
  }

  ContentId contentOf(model::FileNumber file) const {
    return file == model::kNoFileNumber
               ? kNoContent
               : analysis_.files().contentOf(analysis_.files().followed(file));
  }

  const ScaleMap& scaleOf(ContentId content) const {
    return content == kNoContent ? *plain_ : analysis_.files().content(content).scale.map();
  }
  // For a call without a descriptor. `content`: that it is about, as far as that is known.
  const ScaleMap& scaleWithout(const calls::Row& row, ContentId content,
                               model::FileNumber file) const {
    if (calls::has(row, Role::kMapping)) return unknown_pages_.at(scaleOf(content).factor());
    if (content == kNoContent) content = contentOf(file);
    if (content != kNoContent || file == model::kNoFileNumber) return scaleOf(content);
    return unknown_.at(analysis_.files().factorOf(file));
  }

  // Where it worked, as far as this thread's events tell: appended bytes are behind those that the
  // thread has written or read.
  WorkedAt workedAt(const event::Event& event, const event::Transfer& transfer,
                    const event::OpenFile& open, ContentId content) {
    WorkedAt at;
    if (!changes_sizes_) return at;
    if (event.row->call_class == calls::Class::kSeek) {
      const bool told = event.row->result == calls::Result::kPosition;
      if (told && event.result >= 0) at.sought = static_cast<std::uint64_t>(event.result);
      if (!told && open.is_known && open.position >= 0) {
        at.sought = static_cast<std::uint64_t>(open.position);
      }
      return at;
    }
    std::uint64_t& end = ends_[content];
    if (transfer.fixedOffset()) {
      at.offset = transfer.fixedOffset();
    } else if (transfer.at_end) {
      at.offset = end;
    }
    if (at.offset) end = std::max(end, *at.offset + transfer.bytes);
    return at;
  }

  // As the first pass found it at its beginning; moved by this thread's events alone.
  event::OpenFile& positionOf(std::uint32_t description) {
    const Description& first = analysis_.opens().description(description);
    return positions_
        .try_emplace(description, event::OpenFile{.appends = first.appended_at_first,
                                                  .position = first.first_position})
        .first->second;
  }

  const SourceThread& thread_;
  const std::uint32_t place_;
  Analysis& analysis_;
  const ThreadNotes& notes_;
  const MountPoints& mounts_;
  const CommunicationOrder& order_;
  StepOrders::Reader steps_;  // of this thread
  const StepIds& ids_;
  StepIds::Cursor own_ids_;
  const std::vector<Dependencies::Waiting>& waiting_;  // of this thread
  const std::vector<std::uint64_t>& own_meetings_;     // numbers of those in this thread
  const Settings& settings_;
  // By factor, for files that nothing is known about; the second where such a file is mapped.
  std::map<double, ScaleMap> unknown_;
  std::map<double, ScaleMap> unknown_pages_;
  const ScaleMap* plain_ = nullptr;  // in unknown_
  const bool changes_sizes_;
  const double time_scale_;
  std::uint64_t edges_ = 0;
  std::uint64_t bytes_recorded_ = 0;
  std::uint64_t bytes_scaled_ = 0;
  std::size_t next_note_ = 0;
  std::size_t next_waiting_ = 0;
  std::size_t next_extra_ = 0;
  std::size_t next_meeting_ = 0;
  const StepOrder* next_order_ = steps_.next();  // that the events come to
  StepOrder recent_order_;                       // that they came to last
  bool has_recent_order_ = false;
  std::optional<std::uint64_t> given_away_;  // the event whose order a step in front of it has
  event::IoRequests requests_;
  std::unordered_map<std::uint32_t, event::OpenFile> positions_;
  std::unordered_map<ContentId, std::uint64_t> ends_;  // bytes, where sizes are scaled
};

}  // namespace

ThreadWritten writeThread(const ThreadPassInput& input, event::PathTable& paths,
                          WritingThread& writer) {
  ThreadPass pass(input);
  const std::uint64_t events = pass.write(paths, writer);
  return {.events = events,
          .edges = pass.edges(),
          .bytes_recorded = pass.bytesRecorded(),
          .bytes_scaled = pass.bytesScaled()};
}

}  // namespace omnio::preprocess
