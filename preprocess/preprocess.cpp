#include "preprocess/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/threads.hpp"
#include "core/calls/mpi_errors.hpp"
#include "core/event/event_text.hpp"
#include "core/model/flat_digest.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/model/schedule_writer.hpp"
#include "core/wire/info.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/analysis_progress.hpp"
#include "preprocess/circles.hpp"
#include "preprocess/communication.hpp"
#include "preprocess/schedule_chain.hpp"
#include "preprocess/shared_pointers.hpp"
#include "preprocess/size_rules.hpp"
#include "preprocess/size_scale.hpp"
#include "preprocess/step_ids.hpp"
#include "preprocess/writing_thread.hpp"

namespace omnio::preprocess {

using calls::Role;
using model::ScheduleEvent;

namespace {

// The working directory of the first process.
std::string runDirectory(const SourceThreads& sources) {
  const std::string& directory = sources.threads.front().process->info.text(wire::info::kDirectory);
  return directory.empty() ? "/" : directory;
}

// What it lacks comes first.
std::vector<std::string> leftOut(const SourceThreads& sources, Analysis& analysis,
                                 const tracefile::Wholeness& wholeness) {
  std::vector<std::string> words;
  for (const std::string& reason : tracefile::reasonsInBrief(wholeness)) {
    words.push_back(fmt::format("the trace is not whole: {}", reason));
  }
  if (wholeness.events_missing > 0 || wholeness.at_least) {
    words.push_back(
        fmt::format("what the trace has lost: {}", tracefile::missingSentence(wholeness)));
  }
  if (sources.processes_without_rank > 0) {
    words.push_back(fmt::format("the calls of {} processes that are not ranks of the job",
                                sources.processes_without_rank));
  }
  if (analysis.dropped() > 0) {
    words.push_back(fmt::format(
        "{} calls without effect, or on descriptors or paths that the trace does not name",
        analysis.dropped()));
  }
  if (const auto unknown = analysis.files().unknownSizes(); unknown.files > 0) {
    words.push_back(fmt::format(
        "the sizes of {} files before the run, {} the first: the trace does not tell them, and the "
        "files are prepared as long as calls show them",
        unknown.files, base::printable(unknown.first)));
  }
  const FileHistory::OtherFactors& others = analysis.files().otherFactors();
  if (others.renamed > 0) {
    words.push_back(
        fmt::format("the factors that --size-scale gives to later names of {} files, {} the first: "
                    "a file keeps the factor of its first name",
                    others.renamed, base::printable(others.first_renamed)));
  }
  if (others.copied > 0) {
    words.push_back(
        fmt::format("the factors that --size-scale gives to {} files, {} the first: calls copied "
                    "bytes between files of different factors, and all of these have that of the "
                    "file that was used first",
                    others.copied, base::printable(others.first_copied)));
  }
  return words;
}

// Begins the work in another thread; the result is not valid where the process may use one
// processor alone, or the system has no thread to give.
template <typename Task>
auto startedBeside(Task task) {
  std::future<decltype(task())> started;
  if (base::usableProcessors() == 1) return started;
  try {
    const base::SignalsBlocked blocked;  // in the thread that it makes
    started = std::async(std::launch::async, std::move(task));
  } catch (const std::system_error&) {
    // It is done in this one.
  }
  return started;
}

// Whether the first two passes may read at the same time. They have up to five files open for each
// log: each has two readers of the calls, one of them to look ahead, and one of the two has a
// reader of the messages. One after the other they have three.
bool mayReadTwice(const tracefile::Trace& trace) {
  constexpr std::uint64_t kEach = 5;
  constexpr std::uint64_t kOthers = 64;
  std::uint64_t logs = 0;
  for (const auto& process : trace.processes()) logs += process->logs.size();
  return base::openFileLimit() >= kEach * logs + kOthers;
}

// Writes a schedule, and computes what its digest has to be, and its chain, where that is asked
// for.
class CheckedWriter : public ThreadSink {
 public:
  // `chain` may be nullptr.
  CheckedWriter(const std::filesystem::path& path, const Settings& settings, ScheduleChain* chain)
      : path_(path), writer_(path, settings.form), is_checked_(settings.check), chain_(chain) {}

  void global(const model::ScheduleGlobal& global) {
    writer_.global(global);
    if (is_checked_) digest_.global(global);
  }
  void file(const model::ScheduleFile& file) {
    writer_.file(file);
    if (is_checked_) digest_.file(model::FileNumber{files_++}, file);
  }
  void beginThread(const model::ScheduleThread& thread) override {
    writer_.beginThread(thread);
    if (is_checked_) digest_.beginThread(thread);
    if (chain_ != nullptr) chain_->beginThread(thread);
  }
  void event(const ScheduleEvent& event) override {
    writer_.event(event);
    if (is_checked_) digest_.event(event);
    if (chain_ != nullptr) chain_->take(event);
  }
  void endThread() override { writer_.endThread(); }

  base::Result<model::WrittenSchedule> finish() {
    if (const auto checked = check(); !checked) return checked.failure();
    if (const auto written = writer_.finish(); !written) return written.failure();
    return writer_.written();
  }

 private:
  // Before it takes the place of an earlier one.
  base::Result<void> check() {
    if (!is_checked_) return {};
    if (const auto written = writer_.complete(); !written) return written.failure();
    const base::ProgressStage stage("reading the schedule again", "events",
                                    writer_.written().events);
    model::FlatDigest read;
    if (const auto done = writer_.readBack(read); !done) return done.failure();
    if (read.value() == digest_.value()) return {};
    return base::failure(base::Code::kDamaged,
                         "{}: read again, it does not say what was written: a defect of omnio",
                         base::printable(path_.native()));
  }

  const std::filesystem::path path_;
  model::ScheduleWriter writer_;
  const bool is_checked_;
  ScheduleChain* const chain_;
  std::uint32_t files_ = 0;
  model::FlatDigest digest_;
};

// The last pass: the events of one thread as a schedule has them.
class ThreadPass {
 public:
  // The thread at `place` in the sources. `mounts`: those of its node. `waiting`: its events that
  // wait for others because of files.
  ThreadPass(const SourceThread& thread, std::uint32_t place, Analysis& analysis,
             const MountPoints& mounts, const CommunicationOrder& order, const StepIds& ids,
             const std::vector<Dependencies::Waiting>& waiting, const Settings& settings,
             const SizeRules& sizes)
      : thread_(thread),
        place_(place),
        analysis_(analysis),
        notes_(analysis.threads()[place]),
        mounts_(mounts),
        order_(order),
        steps_(order.steps()[place]),
        ids_(ids),
        own_ids_(ids, place),
        waiting_(waiting),
        own_meetings_(order.meetingsOf(place)),
        settings_(settings),
        changes_sizes_(sizes.changesSizes()),
        time_scale_(settings.time_scale) {
    for (const double factor : sizes.factors()) {
      unknown_.emplace(factor, ScaleMap(factor));
      unknown_pages_.emplace(factor, ScaleMap(factor)).first->second.keepPages();
    }
    plain_ = &unknown_.at(sizes.plain());
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

  ScheduleEvent converted(const event::Event& event, const EventNote& note) {
    ScheduleEvent out;
    out.row = event.row;
    out.start_ns = timeOf(event.start_ns);
    out.end_ns = std::max(timeOf(event.end_ns), out.start_ns);
    out.failed = event.failed;
    out.result = event.result;
    takeNumbers(event, out);
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

base::Result<Summary> preprocess(const tracefile::Trace& trace,
                                 const tracefile::Wholeness& wholeness, const Settings& settings,
                                 const std::filesystem::path& schedule) {
  SourceThreads sources = sourceThreads(trace);
  const auto nothing = [&trace] {
    return base::failure(base::Code::kInvalid, "{}: holds no I/O on files that could be replayed",
                         base::printable(trace.directory().native()));
  };
  if (sources.threads.empty()) return nothing();
  std::optional<Filter> filter;
  if (!settings.filters.isEmpty()) {
    const FilterRule* const splits = settings.filters.firstThatSplitsGroups();
    if (settings.layer == event::IoLayer::kMpi && splits != nullptr) {
      return base::failure(base::Code::kInvalid,
                           "'{}': ranks meet in calls of MPI-IO (--layer mpi), and this could keep "
                           "those of some ranks; --include and --exclude can name paths, calls, "
                           "classes and sizes of files there",
                           base::printable(splits->text));
    }
    filter.emplace(settings.filters, trace, sources, settings.layer);
    for (SourceThread& thread : sources.threads) thread.filter = &*filter;
  }
  const LocationMap locations(settings.map, runDirectory(sources));
  const NodeMounts mounts(sources.nodes, settings.shared);
  event::PathTable paths;
  MpiTables mpi(trace);
  const SizeRules sizes(settings.size_scale, settings.size_scales, settings.keep_below);
  AnalysisProgress progress(sources.threads.size());
  Analysis analysis(sources, locations, mounts, sizes, settings.layer, mpi, progress);
  const bool keeps_mpi = model::keepsMpi(settings.order);
  std::future<Communication> beside;
  {
    const base::ProgressStage stage("ordering calls on files", "events", trace.storedEvents());
    if (keeps_mpi && mayReadTwice(trace)) {
      beside = startedBeside([&] {
        return readCommunication(trace, sources, progress, settings.layer,
                                 order::PictureProgress::kNone);
      });
    }
    analysis.run(paths);
    if (beside.valid()) beside.wait();
  }
  mpi.settle();
  if (analysis.events() == 0 && analysis.filtered().left_out > 0) {
    return base::failure(base::Code::kInvalid, "{}: {} leaves out all of its {} calls",
                         base::printable(trace.directory().native()), settings.filters.text(),
                         analysis.filtered().left_out);
  }
  if (analysis.events() == 0) return nothing();
  if (!mpi.tables().groups.empty()) {
    const auto refuse = [&trace](std::string_view why) {
      return base::failure(base::Code::kInvalid,
                           "{}: {}: a schedule can have the calls below those of MPI-IO (--layer "
                           "posix), and not these",
                           base::printable(trace.directory().native()), why);
    };
    if (!wholeness.whole) {
      return refuse("the trace is not whole, and ranks would wait in calls that others lack");
    }
    if (!mpi.isWhole()) {
      return refuse(
          "the view of a file is not told (its data are not as in memory, it is sequential, or the "
          "type has too many parts)");
    }
    if (settings.write_overwrite) {
      return refuse("files of MPI-IO are not there before they are written (--write-overwrite)");
    }
  }

  if (settings.layer == event::IoLayer::kMpi && model::keepsFiles(settings.order)) {
    orderSharedPointers(trace, sources, mpi, paths, analysis.dependencies());
  }

  const Communication communication =
      beside.valid() ? beside.get()
      : keeps_mpi    ? readCommunication(trace, sources, progress, settings.layer,
                                         order::PictureProgress::kStage)
                  : Communication{.order = {std::vector<std::int64_t>(sources.threads.size()), 0}};
  if (keeps_mpi && (communication.steps != analysis.events() ||
                    communication.undecodable != analysis.undecodable())) {
    return base::failure(base::Code::kSystem,
                         "{}: {} events could be read and {} could not the first time, {} and {} "
                         "the second: it changes, or is of more processes than files may be open "
                         "here",
                         base::printable(trace.directory().native()), analysis.events(),
                         analysis.undecodable(), communication.steps, communication.undecodable);
  }
  if (communication.unmatched_waits > 0 && settings.timing == model::Timing::kDelta &&
      !settings.partial) {
    return base::failure(
        base::Code::kInvalid,
        "{}: {} of {} MPI calls have no counterpart in the trace; {} of these may have waited, and "
        "I/O follows them: a replay would wait for as long as in the recording. Use --partial to "
        "make the schedule anyway",
        base::printable(trace.directory().native()), communication.unmatched, communication.events,
        communication.unmatched_waits);
  }
  // The order from files alone has none.
  const std::uint64_t dropped =
      settings.order == model::Order::kAll ? breakCircles(analysis, communication.order) : 0;

  Summary summary;
  summary.mpi_events = communication.events;
  summary.mpi_unmatched = communication.unmatched;
  summary.early = communication.early;
  summary.early_most_ns = communication.early_most_ns;
  summary.ranks = sources.ranks;
  summary.threads = sources.threads.size();
  summary.left_out = leftOut(sources, analysis, wholeness);
  if (filter) summary.unused_rules = filter->unused(analysis.filtered());
  if (const FilterCounts& counts = analysis.filtered(); counts.left_out > 0) {
    summary.left_out.push_back(
        fmt::format("{} calls, by {}", counts.left_out, settings.filters.text()));
    if (counts.on_descriptors > 0) {
      summary.left_out.back() += fmt::format(
          "; {} of them since the open of their descriptor is left out", counts.on_descriptors);
    }
  }
  if (dropped > 0) {
    summary.left_out.push_back(
        fmt::format("{} waits for files that contradict the order of messages, because the clocks "
                    "of the hosts differ",
                    dropped));
  }
  const std::vector<model::ScheduleFile> files = analysis.files().files();
  if (const auto unused = analysis.files().unusedPattern(files)) {
    return base::failure(base::Code::kInvalid,
                         "{}: no file of the run matches the pattern {} of --size-scale",
                         base::printable(trace.directory().native()), base::printable(*unused));
  }
  const StepIds ids(analysis, communication.order);
  const auto waiting = analysis.dependencies().waiting(sources.threads.size());
  std::optional<ScheduleChain> chain;
  if (settings.chain) chain.emplace();
  CheckedWriter writer(schedule, settings, chain ? &*chain : nullptr);
  writer.global(
      {.timing = settings.timing,
       .write_overwrite = settings.write_overwrite,
       .size_scale = sizes.plain(),
       .size_scales = sizes.patterns(),
       .keep_below = sizes.keepBelow(),
       .time_scale = settings.time_scale,
       .ranks = sources.ranks,
       .source = trace.directory().native(),
       .source_whole = wholeness.whole,
       .source_events_missing = wholeness.events_missing,
       .command = sources.threads.front().process->info.command(),
       .left_out = summary.left_out,
       .mpi = settings.layer == event::IoLayer::kMpi ? std::optional(mpi.tables()) : std::nullopt});
  for (const model::ScheduleFile& file : files) {
    writer.file(file);
    ++summary.files;
    summary.files_on_nodes += model::isOnNode(file.location) ? 1 : 0;
  }
  WritingThread writing(writer);
  const base::ProgressStage stage("writing the schedule", "events", trace.storedEvents());
  for (std::uint32_t place = 0; place < sources.threads.size(); ++place) {
    model::ScheduleThread header = sources.threads[place].header;
    header.computing = analysis.threads()[place].think.computing();
    header.recorder_ns =
        std::llround(static_cast<double>(header.recorder_ns) * settings.time_scale);
    writing.beginThread(header);
    ThreadPass pass(sources.threads[place], place, analysis, mounts.of(sources.threads[place].node),
                    communication.order, ids, waiting[place], settings, sizes);
    summary.events += pass.write(paths, writing);
    summary.edges += pass.edges();
    summary.bytes_recorded += pass.bytesRecorded();
    summary.bytes_scaled += pass.bytesScaled();
    writing.endThread();
  }
  writing.finish();
  if (summary.events + analysis.dropped() != analysis.events()) {
    return base::failure(base::Code::kSystem,
                         "{}: {} events could be read the first time, {} the last: it "
                         "changes, or is of more processes than files may be open here",
                         base::printable(trace.directory().native()), analysis.events(),
                         summary.events + analysis.dropped());
  }
  const base::Result<model::WrittenSchedule> written = writer.finish();
  if (!written) return written.failure();
  summary.written = *written;
  if (chain) summary.chain_ns = chain->longest();
  return summary;
}

}  // namespace omnio::preprocess
