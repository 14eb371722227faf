// One pass, in this order: descriptors and the data behind them, then what the result of each call
// says about names and sizes (FileScene), then steps that no event of the trace is. The pass is one
// class, and long, since what a call means depends on all that calls before it did to descriptors,
// files and names; dependencies and the history of files stand alone.
#include "preprocess/analysis.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/wire/info.hpp"
#include "preprocess/files/size_scale.hpp"

namespace omnio::preprocess {

using calls::Class;
using calls::Role;
using model::Step;

std::unique_ptr<event::EventSource> SourceThread::open(event::PathTable& paths,
                                                       tracefile::IoChoice choice,
                                                       FilterCounts* counts) const {
  auto all = openAll(paths, choice);
  return filter == nullptr ? std::move(all)
                           : filter->filtered(std::move(all), *this, paths, counts);
}

std::unique_ptr<event::EventSource> SourceThread::openAll(event::PathTable& paths,
                                                          tracefile::IoChoice choice) const {
  auto merged = std::make_unique<tracefile::MergedReader>();
  for (const tracefile::Log* lane : lanes)
    merged->addLog<tracefile::IoReader>(*process, *lane, paths, choice);
  return merged;
}

namespace {

// The part of the recorder's cost that lies between two events.
std::int64_t recorderNs(const tracefile::ProcessInfo& info) {
  return std::llround(std::max(0.0, info.eventCostNs() - info.clockCostNs()));
}

}  // namespace

SourceThreads sourceThreads(const tracefile::Trace& trace) {
  SourceThreads result;
  std::map<int, int> threads_of_rank;
  std::map<std::pair<std::string, std::string>, std::size_t> node_of_host;
  std::map<std::string, int> nodes_of_name;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    const tracefile::Process& process = *trace.processes()[i];
    const std::optional<int> rank = trace.rankOf(process);
    if (!rank) {
      ++result.processes_without_rank;
      continue;
    }
    result.ranks = std::max({result.ranks, *rank + 1, process.info.ranks()});
    const std::string& host = process.info.text(wire::info::kHost);
    const std::string& boot = process.info.text(wire::info::kBoot);
    const std::size_t node =
        node_of_host.emplace(std::pair(host, boot), result.nodes.size()).first->second;
    if (node == result.nodes.size()) {
      const int same = nodes_of_name[host]++;
      result.nodes.push_back(
          {.host = same == 0 ? host : fmt::format("{}.{}", host, same + 1), .boot = boot});
    }
    // Told by the first process of a node, and by what that executes: the last one is the
    // application, and may be in a container.
    const std::string& mounts = process.info.text(wire::info::kMounts);
    if (!mounts.empty()) result.nodes[node].mounts = mounts;
    std::map<std::uint32_t, std::vector<const tracefile::Log*>> threads;
    for (const tracefile::Log& log : process.logs) threads[log.thread].push_back(&log);
    for (auto& [number, lanes] : threads) {
      result.threads.push_back({.header = {.rank = *rank,
                                           .thread = threads_of_rank[*rank]++,
                                           .pid = process.pid,
                                           .tid = lanes.front()->tid,
                                           .host = host,
                                           .recorder_ns = recorderNs(process.info)},
                                .process = &process,
                                .process_index = i,
                                .node = node,
                                .lanes = std::move(lanes)});
    }
  }
  std::stable_sort(
      result.threads.begin(), result.threads.end(),
      [](const SourceThread& a, const SourceThread& b) { return a.header.rank < b.header.rank; });
  return result;
}

namespace {

const event::Text* textAt(const event::Event& event, Role role) {
  const int index = calls::indexOf(*event.row, role);
  if (index < 0) return nullptr;
  const event::Text& text = event.texts[static_cast<std::size_t>(index)];
  return text.absolute.empty() ? nullptr : &text;
}

// A call that is given an empty path fails for that reason, whatever its other name is. Where one
// succeeds, its descriptor is meant (AT_EMPTY_PATH).
bool hasEmptyName(const event::Event& event) {
  if (!event.failed) return false;
  const auto is_empty = [&event](Role role) {
    const event::Text* const path = textAt(event, role);
    return path != nullptr && path->raw.empty();
  };
  const int link = calls::indexOf(*event.row, Role::kLinkText);
  const bool has_empty_link = link >= 0 && event.texts[static_cast<std::size_t>(link)].raw.empty();
  return is_empty(Role::kPath) || is_empty(Role::kPathNew) || has_empty_link;
}

bool duplicates(const event::Event& event) {
  if (event.failed || !calls::has(*event.row, Role::kCommand)) return false;
  const std::int64_t command = event::argumentOf(event, Role::kCommand);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

}  // namespace

bool hasHandle(const calls::Row& row) {
  return calls::has(row, Role::kFd) || calls::has(row, Role::kStream);
}

std::optional<int> descriptorLinkedBy(const event::Event& event) {
  if (event.row->plain != calls::CallId::linkat) return std::nullopt;
  const int index = calls::indexOf(*event.row, Role::kPath);
  std::string_view path = event.texts[static_cast<std::size_t>(index)].raw;
  const std::int64_t flags = event::argumentOf(event, Role::kFlags);
  if (path.empty() && (flags & AT_EMPTY_PATH) != 0) {
    return static_cast<int>(event::argumentOf(event, Role::kDirFd));
  }
  constexpr std::string_view kOwn = "/proc/self/fd/";
  if (!path.starts_with(kOwn) || (flags & AT_SYMLINK_FOLLOW) == 0) return std::nullopt;
  path.remove_prefix(kOwn.size());
  int number = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  if (error != std::errc() || end != path.data() + path.size()) return std::nullopt;
  return number;
}

const event::Text* pathOf(const event::Event& event) {
  if (descriptorLinkedBy(event) || hasEmptyName(event)) return nullptr;
  const event::Text* path = textAt(event, Role::kPath);
  return path != nullptr ? path : textAt(event, Role::kPathTemplate);
}

std::string otherPathOf(const event::Event& event) {
  if (hasEmptyName(event)) return {};
  if (const event::Text* path = textAt(event, Role::kPathNew)) return std::string(path->absolute);
  const int index = calls::indexOf(*event.row, Role::kLinkText);
  const event::Text* link = textAt(event, Role::kPath);
  if (index < 0 || link == nullptr) return {};
  const std::string_view text = event.texts[static_cast<std::size_t>(index)].raw;
  if (text.empty() || text.front() == '/') return std::string(text);
  // A relative one is resolved from where the link stands.
  return std::string(link->absolute.substr(0, link->absolute.rfind('/') + 1)).append(text);
}

void Analysis::run(event::PathTable& paths) {
  readCalls(paths);
  flushAtExit();
  closeAtExit();
  files_.settle();
  addMadeUp();
  addMeetings();
  for (ThreadNotes& thread : threads_) {
    std::stable_sort(thread.extras.begin(), thread.extras.end(),
                     [](const ExtraStep& a, const ExtraStep& b) { return a.behind < b.behind; });
  }
}

void Analysis::readCalls(event::PathTable& paths) {
  const AnalysisProgress::Ending ending(progress_);
  std::vector<std::unique_ptr<event::EventSource>> events;
  for (const SourceThread& thread : sources_.threads) {
    events.push_back(thread.open(paths, {.layer = layer_, .below = true}, &filtered_));
  }
  EffectOrder order(*this, std::move(events));
  order_ = &order;
  first_start_ = order.firstStart();
  progress_.begin(first_start_);
  order.run();
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].think = order.thinkTime(i);
    undecodable_ += order.undecodable(i);
  }
  order_ = nullptr;
}

namespace {

// Bytes of a file that a step makes up are written in so many calls at the most.
constexpr std::uint64_t kMadeUpPieces = 16;

std::int64_t& argumentAt(model::ScheduleEvent& event, Role role) {
  return event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, role))];
}

}  // namespace

// What made them is not recorded. They stand in front of other steps that are no calls: an open
// that is made up, too, may need them.
void Analysis::addMadeUp() {
  std::map<std::uint32_t, std::vector<ExtraStep>> added;
  for (FileHistory::MadeUp& made : files_.takeMadeUp()) {
    if (made_up_.names++ == 0) made_up_.first_name = files_.locationOf(made.file);
    const EventRef ref = made.before.ref;
    const auto step = [&](calls::CallId call) -> model::ScheduleEvent& {
      ExtraStep& extra = added[ref.thread].emplace_back();
      extra.behind = static_cast<std::int64_t>(ref.sequence) - 1;
      extra.event.row = &calls::rowOf(call);
      extra.event.start_ns = extra.event.end_ns = made.before.start_ns;
      return extra.event;
    };
    const auto named = [&](model::ScheduleEvent& event, std::int64_t mode) {
      event.file = made.file;
      event.after = std::move(made.after);
      argumentAt(event, Role::kMode) = mode;
    };
    if (made.is_directory) {
      model::ScheduleEvent& event = step(calls::CallId::mkdir);
      named(event, 0755);
      event.id = made.id;
      continue;
    }
    const InstanceId instance = opens_.make({.rank = sources_.threads[ref.thread].header.rank,
                                             .description = opens_.makeDescription(O_WRONLY),
                                             .content = made.content,
                                             .made = made.before,
                                             .file = made.file});
    const model::Descriptor descriptor = opens_[instance].descriptor;
    model::ScheduleEvent& open = step(calls::CallId::open64);
    named(open, 0644);
    argumentAt(open, Role::kFlags) = O_WRONLY | O_CREAT;
    open.new_fd = descriptor;
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
    const std::uint64_t piece = std::max(kLeast, (made.bytes + kMadeUpPieces - 1) / kMadeUpPieces);
    for (std::uint64_t at = 0; at < made.bytes; at += piece) {
      const std::uint64_t bytes = std::min(piece, made.bytes - at);
      model::ScheduleEvent& write = step(calls::CallId::pwrite64);
      write.fd = descriptor;
      write.request = bytes;
      write.offset = static_cast<std::int64_t>(at);
      argumentAt(write, Role::kSize) = static_cast<std::int64_t>(bytes);
      argumentAt(write, Role::kOffset) = static_cast<std::int64_t>(at);
      write.result = static_cast<std::int64_t>(bytes);
    }
    model::ScheduleEvent& close = step(calls::CallId::close);
    close.fd = descriptor;
    close.id = made.id;
  }
  for (auto& [thread, extras] : added) {
    std::vector<ExtraStep>& all = threads_[thread].extras;
    all.insert(all.begin(), std::make_move_iterator(extras.begin()),
               std::make_move_iterator(extras.end()));
  }
}

// They stand in front of all other steps that are no calls: one of those may be what waits.
void Analysis::addMeetings() {
  std::map<std::uint32_t, std::vector<ExtraStep>> added;
  for (FileMeeting& meeting : dependencies_.takeMeetings()) {
    ExtraStep extra;
    extra.behind = static_cast<std::int64_t>(meeting.before.ref.sequence) - 1;
    extra.event.step = Step::kDelay;
    extra.event.start_ns = extra.event.end_ns = meeting.before.start_ns;
    extra.event.id = meeting.id;
    extra.event.after = std::move(meeting.after);
    added[meeting.before.ref.thread].push_back(std::move(extra));
  }
  for (auto& [thread, extras] : added) {
    std::vector<ExtraStep>& all = threads_[thread].extras;
    all.insert(all.begin(), std::make_move_iterator(extras.begin()),
               std::make_move_iterator(extras.end()));
  }
}

// A call that names nothing the replay could name cannot be part of the schedule.
bool Analysis::isUsable(const event::Event& event) const {
  if (hasHandle(*event.row) && event.handle == nullptr) return false;
  for (const Role role : {Role::kPath, Role::kPathTemplate, Role::kPathNew}) {
    if (calls::has(*event.row, role) && textAt(event, role) == nullptr) return false;
  }
  return true;
}

void Analysis::drop(EventNote note, EventRef ref) {
  if (is_below_) return;
  note.dropped = true;
  progress_.drop();
  ++dropped_;
  threads_[ref.thread].notes.push_back(note);
}

// Calls of MPI-IO read, write and name files by the calls below them alone.
void Analysis::takeMpiIo(const event::Event& event, const PastEvent& when) {
  if (!calls::isMpiIo(*event.row)) return;  // it found requests complete
  const SourceThread& thread = sources_.threads[when.ref.thread];
  const EventNote note{.sequence = when.ref.sequence};
  if (event.row->call_class == Class::kOpen) {
    if (event.handle == nullptr) return drop(note, when.ref);
    if (event.failed) {
      const auto communicator = static_cast<std::uint64_t>(event::argumentOf(event, Role::kComm));
      if (!mpi_.openFailed(thread.process_index, communicator)) return drop(note, when.ref);
      fileOf(event.handle->path.absolute, when.ref.thread);
      return;
    }
    const InstanceId made =
        opens_.make({.rank = thread.header.rank,
                     .description = opens_.makeDescription(0),
                     .content = kNoContent,
                     .made = when,
                     .file = fileOf(event.handle->path.absolute, when.ref.thread)});
    const std::uint32_t handle = event.handle->definition.handle;
    opens_.bind(thread.process_index, handle, event.start_ns, made);
    mpi_.opened(thread.process_index, thread.header.thread,
                static_cast<std::uint64_t>(event::argumentOf(event, Role::kNewComm)), handle);
    return;
  }
  if (const event::Text* path = textAt(event, Role::kPath)) {
    fileOf(path->absolute, when.ref.thread);
    return;
  }
  const bool is_open = event.handle != nullptr &&
                       opens_.instanceOf(thread.process_index, event.handle->definition.handle,
                                         event.start_ns) != kNoInstance;
  const bool is_view = calls::has(*event.row, Role::kFiletype);
  // Others that failed are made again: the ranks of the file may meet in them.
  if (!is_open || (event.failed && is_view)) return drop(note, when.ref);
  if (!is_view) return;
  for (const Role role : {Role::kEtype, Role::kFiletype}) {
    mpi_.viewed(thread.process_index, static_cast<std::uint64_t>(event::argumentOf(event, role)));
  }
}

void Analysis::take(const event::Event& event, EventRef ref) {
  takeCall(event, ref);
  if (event.outer == nullptr) progress_.take(ref);
}

void Analysis::takeCall(const event::Event& event, EventRef ref) {
  is_below_ = event.outer != nullptr;
  const event::Event& step = is_below_ ? *event.outer : event;
  const PastEvent when{ref, step.start_ns, step.end_ns, is_below_};
  if (!is_below_) {
    ++events_;
    last_[ref.thread] = when;
  }
  const SourceThread& thread = sources_.threads[ref.thread];
  if (event.row->api == calls::Api::kMpi) return takeMpiIo(event, when);
  EventNote note{.sequence = ref.sequence};
  if (!isUsable(event)) return drop(note, ref);
  InstanceId instance = kNoInstance;
  if (event.handle != nullptr && hasHandle(*event.row)) {
    instance = resolve(*event.handle, when);
    Instance& used = opens_[instance];
    // The library's own, made while the application waited for a request.
    if (!is_below_ && used.is_below) return drop(note, ref);
    useInstance(event, when, used);
    takeLock(event, when, instance);
    Description& description = opens_.description(used.description);
    const bool moves = event.row->call_class == Class::kSeek || event::isAtPosition(event);
    if (moves) {
      orderByPosition(event, when, description);
      if (!description.first_thread) description.first_thread = ref.thread;
      if (description.first_thread != ref.thread) {
        description.of_many_threads = true;
        files_.content(used.content).shared_position = true;
      }
    }
    event::FileSize& size = files_.content(used.content).size;
    const event::FileSize before = size;
    const auto transfer = event::follow(event, description.open, size);
    takeData(event, when, instance, transfer.value_or(event::Transfer{}), before);
    if (event::countsBytes(*event.row) && !event.failed &&
        opens_[instance].file != model::kNoFileNumber &&
        model::isInMemory(files_.locationOf(opens_[instance].file))) {
      bytes_in_memory_ += event.bytes;
    }
    if (moves) takePosition(event, used.content, transfer, description);
  }
  takeTwoCalls(event, when);
  note.content = contentWithout(event, ref.thread);
  if (calls::has(*event.row, Role::kMapping)) takeMapping(event, when, instance);
  takeReopened(event, when);
  ContentId content = kNoContent;
  if (const event::Text* path = pathOf(event)) {
    const std::string other = otherPathOf(event);
    const std::uint32_t at = when.ref.thread;
    const model::FileNumber file = fileOf(path->absolute, at);
    content =
        files_.named(event, when, file, other.empty() ? model::kNoFileNumber : fileOf(other, at));
    if (calls::does(*event.row, calls::Effect::kSetsLength) && !event.failed) {
      note.content = files_.contentOf(files_.followed(file));
    }
  }
  if (calls::has(*event.row, Role::kFdSource)) {
    note.source = opens_.atNumber(thread.process_index,
                                  static_cast<int>(event::argumentOf(event, Role::kFdSource)));
    if (note.source != kNoInstance) {
      takeSource(event, when, opens_[note.source]);
      if (instance != kNoInstance && !event.failed) {
        files_.copied(opens_[note.source].content, opens_[instance].content);
      }
    }
  }
  if (const std::optional<int> linked = descriptorLinkedBy(event)) {
    note.directory = opens_.atNumber(thread.process_index, *linked);
    takeLink(event, when, note.directory);
  } else {
    note.directory = takeDirectory(event, when, Role::kPath, Role::kDirFd);
  }
  note.new_directory = takeDirectory(event, when, Role::kPathNew, Role::kDirFdNew);
  takeMaker(event, when, instance, content, note);
  if (event.row->call_class == Class::kClose && event.handle != nullptr) {
    opens_.clearNumber(thread.process_index, event.handle->definition.fd);
    closeInstance(instance, when);
  }
  if (is_below_) return;
  if (note.made != kNoInstance || note.replaced != kNoInstance || note.source != kNoInstance ||
      note.directory != kNoInstance || note.new_directory != kNoInstance ||
      note.content != kNoContent || note.dropped) {
    threads_[ref.thread].notes.push_back(note);
  }
}

// The file of a descriptor has a name from now on.
void Analysis::takeLink(const event::Event& event, const PastEvent& when, InstanceId linked) {
  if (linked != kNoInstance) useInstance(event, when, opens_[linked]);
  // The last pass adds no names, also not that of a call that failed.
  const model::FileNumber made = fileOf(otherPathOf(event), when.ref.thread);
  if (event.failed) return;
  files_.linked(linked == kNoInstance ? files_.anonymous() : opens_[linked].content, made, when);
}

// The open directory that a path of the call is relative to, where it is named from there: a path
// that goes up leads elsewhere, once what it goes through is normalised.
InstanceId Analysis::takeDirectory(const event::Event& event, const PastEvent& when, Role path,
                                   Role number) {
  if (!calls::has(*event.row, number)) return kNoInstance;
  const std::string_view raw =
      event.texts[static_cast<std::size_t>(calls::indexOf(*event.row, path))].raw;
  const std::int64_t fd = event::argumentOf(event, number);
  if (fd < 0 || raw.starts_with('/') || raw.starts_with("..") ||
      raw.find("/..") != std::string_view::npos) {
    return kNoInstance;
  }
  const InstanceId directory =
      opens_.atNumber(sources_.threads[when.ref.thread].process_index, static_cast<int>(fd));
  if (directory != kNoInstance) useInstance(event, when, opens_[directory]);
  return directory;
}

// Takes in the descriptor that the call made, if it made one.
void Analysis::takeMaker(const event::Event& event, const PastEvent& when, InstanceId from,
                         ContentId content, EventNote& note) {
  const bool is_dup = duplicates(event);
  const bool makes =
      event.row->result == calls::Result::kNewFd || event.row->result == calls::Result::kNewStream;
  if (event.failed || (!makes && !is_dup)) return;
  const SourceThread& thread = sources_.threads[when.ref.thread];
  const std::size_t process = thread.process_index;
  const bool shares = from != kNoInstance;
  if (shares && event.new_handle != nullptr && event.row->result == calls::Result::kNewFd &&
      event.new_handle->definition.handle == event.handle->definition.handle) {
    note.dropped = true;  // dup2 of a descriptor to its own number does nothing
    dropped_ += is_below_ ? 0 : 1;
    return;
  }
  const int flags = event::openFlags(event);
  std::uint32_t description = 0;
  if (shares) {
    description = opens_[from].description;
    content = opens_[from].content;
    // fdopen for appending makes the descriptor append, too.
    if ((flags & O_APPEND) != 0) opens_.description(description).open.appends = true;
  } else {
    if (content == kNoContent) content = files_.anonymous();
    description = opens_.makeDescription(flags);
    if ((flags & O_DIRECT) != 0) files_.content(content).direct = true;
    if ((flags & O_ACCMODE) != O_RDONLY) files_.content(content).writable = true;
  }
  const event::Text* path = pathOf(event);
  note.made = opens_.make(
      {.rank = thread.header.rank,
       .description = description,
       .content = content,
       .made = when,
       .file = shares            ? opens_[from].file
               : path == nullptr ? model::kNoFileNumber
                                 : fileOf(path->absolute, when.ref.thread),
       .access = shares ? opens_[from].access : std::optional(flags & (O_ACCMODE | O_APPEND)),
       .is_below = is_below_});
  if (event.row->result == calls::Result::kNewStream) opens_[note.made].is_stream = true;
  if (shares && event.row->result == calls::Result::kNewStream) opens_.becomesStream(from);
  int number = -1;
  if (is_dup) {
    number = static_cast<int>(event.result);
    unbound_.push_back({process, note.made, number});
  } else if (event.new_handle != nullptr) {
    number = event.new_handle->definition.fd;
    opens_.bind(process, event.new_handle->definition.handle, event.end_ns, note.made);
  } else {
    unbound_.push_back({process, note.made});
  }
  if (number < 0) return;
  // A call that wishes for a number closes the descriptor that has it.
  const InstanceId before = opens_.atNumber(process, number);
  // freopen closes its stream first, and the new one gets the number that has become free.
  const bool replaces = calls::does(*event.row, calls::Effect::kReplacesDescriptor);
  if (replaces && before != kNoInstance) {
    note.replaced = before;
    closeInstance(before, when);
  }
  opens_.setNumber(process, number, note.made);
}

// Threads of one process that share a descriptor: it is made before it is used, and used before it
// is closed.
void Analysis::useInstance(const event::Event& event, const PastEvent& when, Instance& instance) {
  if (instance.step_id != 0) {
    const bool is_first = !instance.used.contains(when.ref.thread);
    if (is_first && instance.made.ref.thread != when.ref.thread) {
      dependencies_.requireId(when.ref, instance.step_id);
    }
  } else if (!instance.before_run) {
    dependencies_.require(when, instance.made);
  }
  if (event.row->call_class == Class::kClose) endUse(when, instance);
  instance.used[when.ref.thread] = when;
  if (instance.content != kNoContent) files_.touched(instance.content, when);
}

void Analysis::endUse(const PastEvent& when, const Instance& instance) {
  dependencies_.require(when, instance.used);
  if (instance.has_written) files_.closed(instance.content, when);
}

// Threads that take turns on one file offset: a seek or read finds it where the other thread left
// it. Writes of several threads may come in any order, unless one of them was told where to write.
void Analysis::orderByPosition(const event::Event& event, const PastEvent& when,
                               Description& description) {
  if (description.last_seek) {
    dependencies_.require(when, *description.last_seek);
    if (event.row->call_class == Class::kWrite) {
      description.writes[when.ref.thread] = when;
      return;
    }
  }
  // The writers are in no order among themselves: it has to wait for each of them.
  dependencies_.require(when, description.writes);
  description.writes.clear();
  description.last_seek = when;
}

void Analysis::takeLock(const event::Event& event, const PastEvent& when, InstanceId instance) {
  const auto [lock, subject] = lockOf(event, when.ref.thread, instance);
  if (!lock) return;
  if (lock->type == event::FileLock::Type::kNone) {
    locks_.unlocks(subject, when);
    return;
  }
  locks_.locks(subject, lock->type == event::FileLock::Type::kExclusive, when);
  if (!lock->is_of_process) opens_.description(opens_[instance].description).has_lock = true;
}

// The lock that the call took or gave up, if it did.
std::pair<std::optional<event::FileLock>, LockSubject> Analysis::lockOf(const event::Event& event,
                                                                        std::uint32_t thread,
                                                                        InstanceId id) {
  const Instance& instance = opens_[id];
  const auto lock = event::lockOf(event, opens_.description(instance.description).open,
                                  files_.content(instance.content).size);
  if (!lock) return {};
  return {lock,
          {.content = instance.content,
           .kind = event.row->plain == calls::CallId::flock ? LockKind::kWhole : LockKind::kRecord,
           .owner = lock->is_of_process
                        ? processOwner(thread)
                        : LockOwner{LockOwner::Kind::kDescription, instance.description},
           .range = {lock->begin, lock->end},
           .is_range_known = lock->is_range_known,
           .instance = id}};
}

// A process keeps its locks over exec.
LockOwner Analysis::processOwner(std::uint32_t thread) const {
  const SourceThread& source = sources_.threads[thread];
  const auto rank = static_cast<std::uint64_t>(static_cast<std::uint32_t>(source.header.rank));
  return {LockOwner::Kind::kProcess, rank << 32 | static_cast<std::uint32_t>(source.process->pid)};
}

void Analysis::closeInstance(InstanceId id, const PastEvent& when) {
  opens_.close(id);
  const Instance& instance = opens_[id];
  // A process loses its locks of a file with any descriptor of it that it closes (fcntl(2),
  // POSIX.1-2017), a description its own with the last.
  locks_.closed(instance.content, processOwner(when.ref.thread), when);
  const Description& description = opens_.description(instance.description);
  if (!description.has_lock || description.open_instances > 0) return;
  locks_.closed(instance.content, {LockOwner::Kind::kDescription, instance.description}, when);
}

// A process that ends closes its descriptors, which no call tells of. Whoever had its locks next
// waits for that. Of several threads with the descriptor, none is known to be the last.
void Analysis::closeAtExit() {
  std::map<std::size_t, std::int64_t> ends;  // of the last event of a process
  for (std::size_t i = 0; i < last_.size(); ++i) {
    std::int64_t& end = ends[sources_.threads[i].process_index];
    end = std::max(end, last_[i].end_ns);
  }
  for (const auto& [id, waiting] : locks_.lost()) {
    const Instance& instance = opens_[id];
    if (!instance.is_open || instance.is_below || instance.used.size() != 1) continue;
    const std::uint32_t thread = instance.used.begin()->first;
    const std::int64_t end = ends[sources_.threads[thread].process_index];
    std::uint64_t step = 0;
    for (const PastEvent& later : waiting) {
      if (end > later.end_ns) continue;  // it was still at work
      if (step == 0) {
        step = dependencies_.newId();
        addBehind(last_[thread], calls::CallId::close, instance.descriptor, step);
      }
      dependencies_.requireId(later.ref, step);
    }
  }
}

// The content of a stream's buffer is in the file now.
void Analysis::publish(std::uint32_t description, ContentId content, const PastEvent& when) {
  const auto found = buffered_.find({content, description});
  if (found == buffered_.end()) return;
  conflicts_.wrote(content, found->second.range, when);
  files_.writtenOut(content, found->second.first, when);
  if (!opens_.description(description).open.appends) files_.writtenInPlace(content, when);
  buffered_.erase(found);
}

void Analysis::noteEarlyReads(ContentId content, const Range& range, const PastEvent& when) {
  const tracefile::Process* process = sources_.threads[when.ref.thread].process;
  for (auto at = buffered_.lower_bound({content, 0});
       at != buffered_.end() && at->first.first == content; ++at) {
    const Buffered& buffered = at->second;
    if (buffered.range.begin >= range.end) continue;
    if (sources_.threads[buffered.thread].process == process) continue;
    early_reads_.try_emplace({content, at->first.second, when.ref.thread}, when);
  }
}

// A call that is not in the trace, right behind one that is.
void Analysis::addBehind(const PastEvent& past, calls::CallId call, model::Descriptor descriptor,
                         std::uint64_t id) {
  ExtraStep extra;
  extra.behind = static_cast<std::int64_t>(past.ref.sequence);
  extra.event.row = &calls::rowOf(call);
  extra.event.fd = descriptor;
  extra.event.start_ns = extra.event.end_ns = past.end_ns;
  extra.event.id = id;
  threads_[past.ref.thread].extras.push_back(std::move(extra));
}

// freopen writes out its old stream and closes it, before it opens the new one. dup2 leaves what
// the stream of a descriptor holds in its buffer.
void Analysis::takeReopened(const event::Event& event, const PastEvent& when) {
  const calls::Row& row = *event.row;
  if (event.failed || event.new_handle == nullptr || row.result != calls::Result::kNewStream ||
      !calls::does(row, calls::Effect::kReplacesDescriptor)) {
    return;
  }
  const InstanceId old = opens_.atNumber(sources_.threads[when.ref.thread].process_index,
                                         event.new_handle->definition.fd);
  if (old == kNoInstance) return;
  publish(opens_[old].description, opens_[old].content, when);
  endUse(when, opens_[old]);
}

// A process that ends writes out the buffers of its streams, which no call tells of.
void Analysis::flushAtExit() {
  std::map<std::pair<ContentId, std::uint32_t>, std::uint64_t> flushed;  // the step's id
  for (const auto& [key, read] : early_reads_) {
    const std::pair buffer(std::get<0>(key), std::get<1>(key));
    const auto found = buffered_.find(buffer);
    if (found == buffered_.end() || opens_[found->second.stream].is_below) continue;
    const Buffered& buffered = found->second;
    const PastEvent& last = last_[buffered.thread];
    if (last.end_ns > read.start_ns) continue;  // it was still at work
    std::uint64_t& id = flushed[buffer];
    if (id == 0) {
      id = dependencies_.newId();
      addBehind(last, calls::CallId::fflush, opens_[buffered.stream].descriptor, id);
    }
    dependencies_.requireId(read.ref, id);
  }
}

void Analysis::takeData(const event::Event& event, const PastEvent& when, InstanceId instance,
                        const event::Transfer& transfer, const event::FileSize& before) {
  Instance& used = opens_[instance];
  const calls::Row& row = *event.row;
  const bool is_stream = calls::usesStream(row);
  if (is_stream && (row.call_class == Class::kSync || row.call_class == Class::kClose ||
                    row.call_class == Class::kSeek)) {
    publish(used.description, used.content, when);
  }
  if (row.call_class == Class::kSeek && calls::has(row, Role::kWhence)) {
    takeHole(event, used.content);
  }
  keepSize(event, used.content, transfer);
  if (event.failed && !event.endOfFile()) return;
  // Where the offset is not known, it may be anywhere.
  constexpr std::uint64_t kAll = UINT64_MAX;
  const std::optional<std::uint64_t> offset = transfer.fixedOffset();
  const Range range =
      offset ? Range{*offset, *offset + transfer.bytes} : Range{0, transfer.bytes == 0 ? 0 : kAll};
  if (calls::does(row, calls::Effect::kBeginsRead)) {
    beginRead(event, when, used.content);
  } else if (row.call_class == Class::kAsync) {
    files_.needsLength(used.content, when, false);  // a write
  } else if (row.call_class == Class::kRead) {
    takeRead(event, when, used.content, transfer);
  } else if (row.call_class == Class::kWrite) {
    Content& content = files_.content(used.content);
    used.has_written = content.writable = true;
    if (is_stream) content.buffered = true;
    const std::uint64_t end = offset ? range.end : static_cast<std::uint64_t>(content.size.bytes);
    files_.reaches(used.content, when, static_cast<std::uint64_t>(before.bytes), end);
    files_.needsLength(used.content, when, transfer.at_end);
    const bool is_longer = end > static_cast<std::uint64_t>(before.bytes);
    if (!transfer.at_end && is_longer) files_.outgrows(used.content, when);
    if (transfer.at_end) noteEarlyReads(used.content, {0, kAll}, when);
    if (!transfer.at_end) files_.writtenInPlace(used.content, when);
    files_.write(used.content, when, transfer);
    conflicts_.wrote(used.content, range, when);
    if (is_stream && range.begin < range.end) {
      const auto made = buffered_.try_emplace({used.content, used.description},
                                              Buffered{range, instance, when.ref.thread, when});
      Buffered& buffered = made.first->second;
      buffered.range = {std::min(buffered.range.begin, range.begin),
                        std::max(buffered.range.end, range.end)};
      buffered.thread = when.ref.thread;
    }
  } else if (row.plain == calls::CallId::mmap) {
    files_.measured(used.content, event::argumentOf(event, Role::kFileSize));
  } else if (calls::does(row, calls::Effect::kReservesSpace)) {
    files_.needsLength(used.content, when, false);
    files_.outgrows(used.content, when);
    files_.reaches(used.content, when, static_cast<std::uint64_t>(before.bytes),
                   static_cast<std::uint64_t>(files_.content(used.content).size.bytes));
    files_.extended(used.content, when);
  } else if (calls::does(row, calls::Effect::kSetsLength)) {
    files_.resized(used.content, when, event::argumentOf(event, Role::kLength), before.bytes);
  } else if (row.call_class == Class::kSeek && calls::has(row, Role::kWhence) &&
             event::argumentOf(event, Role::kWhence) == SEEK_END) {
    takeSeek(event, when, used.content, before);
  } else if (calls::does(row, calls::Effect::kSeesSize)) {
    files_.sizeSeen(used.content, when);
  }
}

// Keeps the piece that the call is about from becoming empty where sizes are scaled.
void Analysis::keepSize(const event::Event& event, ContentId id, const event::Transfer& transfer) {
  const calls::Row& row = *event.row;
  Content& content = files_.content(id);
  if (row.plain == calls::CallId::mmap) content.scale.keepPages();
  std::optional<std::int64_t> offset;
  for (const Role role : {Role::kOffset, Role::kRangeOffset}) {
    if (calls::has(row, role)) offset = event::argumentOf(event, role);
  }
  std::uint64_t bytes = 0;
  if (event::asksForBytes(row)) {
    if (row.call_class != Class::kAsync) offset = transfer.offset;
    bytes = content.direct || event.bytes == 0 ? event.request : event.bytes;
  } else if (calls::has(row, Role::kLength) && !calls::has(row, Role::kLockType)) {
    bytes = static_cast<std::uint64_t>(
        std::max<std::int64_t>(event::argumentOf(event, Role::kLength), 0));
  }
  if (files_.keepBelow() > 0 && event::asksForBytes(row) && !event.failed) {
    const bool is_known = transfer.fixedOffset() || transfer.at_end;
    if (row.call_class == Class::kAsync || !is_known) {
      content.is_unplaced = true;
    } else if (countedBytes(row, event.request, event.bytes) < files_.keepBelow()) {
      content.scale.keepSame(static_cast<std::uint64_t>(std::max<std::int64_t>(transfer.offset, 0)),
                             event.bytes);
    } else {
      if (transfer.at_end) content.is_unplaced = true;
      if (event::isAtPosition(event)) content.large_at_position = true;
    }
  }
  if (bytes == 0 || !offset || *offset < 0) return;
  const auto from = static_cast<std::uint64_t>(*offset);
  if (content.direct) {
    content.scale.keepDirect(from, bytes);
  } else {
    content.scale.keep(from, bytes);
  }
}

namespace {

// One call moves no more than this, whatever it is asked for (Linux: MAX_RW_COUNT).
constexpr std::uint64_t kMostOfOneCall = 0x7FFFF000;

// Whether a read stopped because the file ended there.
bool stopsAtEnd(const event::Event& event) {
  const bool is_file =
      event.handle != nullptr && event.handle->definition.kind == wire::FileKind::kRegular;
  return is_file && event::countsBytes(*event.row) && event.bytes < event.request &&
         event.bytes != kMostOfOneCall;
}

}  // namespace

void Analysis::takeRead(const event::Event& event, const PastEvent& when, ContentId content,
                        const event::Transfer& transfer) {
  const std::optional<std::uint64_t> offset = transfer.fixedOffset();
  // A read that finds the end of the file depends on who made it that long, too.
  const Range asked = offset ? Range{*offset, *offset + std::max<std::uint64_t>(transfer.bytes, 1)}
                             : Range{0, transfer.bytes == 0 ? 0 : UINT64_MAX};
  files_.needsLength(content, when, false);
  const bool is_written = conflicts_.reads(content, asked, when);
  noteEarlyReads(content, asked, when);
  files_.read(content, event, when, transfer);
  if (!offset) return;
  if (transfer.bytes > 0) files_.foundBytes(content, when, asked.end, is_written);
  if (stopsAtEnd(event)) {
    files_.foundEnd(content, when, *offset + transfer.bytes, transfer.bytes > 0);
  }
}

// A seek of a stream does not return where the end is, an append not where it wrote, and fscanf not
// how far it read. A later call may tell (ftell, or lseek from the position).
void Analysis::takePosition(const event::Event& event, ContentId content,
                            const std::optional<event::Transfer>& transfer,
                            Description& description) {
  if (event.failed && !transfer) return;
  const calls::Row& row = *event.row;
  if (transfer && !transfer->bytes_known) {
    if (transfer->is_known) description.scanned_from = transfer->offset;
    description.sought_from_end.reset();
    description.has_just_appended = false;
    return;
  }
  const bool has_whence = calls::has(row, Role::kWhence);
  const std::int64_t whence = event::argumentOf(event, Role::kWhence);
  const bool tells =
      row.result == calls::Result::kPosition &&
      (!has_whence || (whence == SEEK_CUR && event::argumentOf(event, Role::kOffset) == 0));
  if (tells && description.sought_from_end) {
    files_.measured(content, event.result - *description.sought_from_end);
  } else if (tells && description.has_just_appended) {
    files_.measured(content, event.result);
  }
  // After fscanf, what is known is the least that the position can be.
  if (description.scanned_from && tells) {
    files_.scanned(content, *description.scanned_from, event.result);
  } else if (description.scanned_from && transfer && row.call_class == Class::kRead) {
    files_.scanned(content, *description.scanned_from,
                   transfer->offset + static_cast<std::int64_t>(transfer->bytes));
  }
  const bool stays_unknown = transfer && !transfer->is_known;
  if (!stays_unknown) description.scanned_from.reset();
  if (tells) return;  // the position stays where it is
  description.sought_from_end.reset();
  if (!transfer && has_whence && whence == SEEK_END && row.result != calls::Result::kPosition) {
    description.sought_from_end = event::argumentOf(event, Role::kOffset);
  }
  description.has_just_appended = transfer && transfer->at_end && transfer->bytes > 0;
}

// Calls that are about what an earlier one began: an asynchronous operation, a mapping. Another
// thread may have made that one.
void Analysis::takeTwoCalls(const event::Event& event, const PastEvent& when) {
  const calls::Row& row = *event.row;
  if (row.api != calls::Api::kPosix) return;
  const std::size_t process = sources_.threads[when.ref.thread].process_index;
  for (const Role role : {Role::kRequest, Role::kMapping, Role::kContext}) {
    if (!calls::has(row, role)) continue;
    const BegunKey key{process, role, event::argumentOf(event, role)};
    const bool begins = role == Role::kMapping   ? row.plain == calls::CallId::mmap
                        : role == Role::kContext ? row.plain == calls::CallId::io_setup
                                                 : row.call_class == Class::kAsync;
    if (begins) {
      begun_[key] = when;
      continue;
    }
    const auto found = begun_.find(key);
    if (found == begun_.end()) continue;
    dependencies_.require(when, found->second);
    // A mapping ends when all of it is unmapped (takeMapping).
    if (role == Role::kRequest || row.plain == calls::CallId::io_destroy) begun_.erase(found);
  }
}

// The file of a mapping that was made before, where the call is about one and files have different
// factors; else none.
ContentId Analysis::contentWithout(const event::Event& event, std::uint32_t thread) const {
  if (files_.haveOneFactor() || event.handle != nullptr) return kNoContent;
  if (!calls::has(*event.row, Role::kMapping)) return kNoContent;
  const auto found = mapped_.find(
      {sources_.threads[thread].process_index, event::argumentOf(event, Role::kMapping)});
  return found == mapped_.end() ? kNoContent : found->second.content;
}

// The descriptor that a mapping has in a replay is closed when the mapping is gone: an application
// may have thousands of mappings, one after the other.
void Analysis::takeMapping(const event::Event& event, const PastEvent& when, InstanceId instance) {
  if (event.failed) return;
  const std::pair key(sources_.threads[when.ref.thread].process_index,
                      event::argumentOf(event, Role::kMapping));
  if (event.row->plain == calls::CallId::mmap) {
    mapped_[key] = {.bytes = event::argumentOf(event, Role::kLength),
                    .content = instance == kNoInstance ? kNoContent : opens_[instance].content};
    return;
  }
  const auto found = mapped_.find(key);
  if (found == mapped_.end()) return;
  Mapped& mapped = found->second;
  if (instance != kNoInstance) mapped.instance = instance;
  if (event.row->plain == calls::CallId::mremap) {
    mapped.bytes = event::argumentOf(event, Role::kLength);
  }
  if (event.row->plain != calls::CallId::munmap) return;
  mapped.bytes -= event::argumentOf(event, Role::kLength);
  if (mapped.bytes > 0) return;
  if (mapped.instance != kNoInstance && !is_below_) {
    addBehind(when, calls::CallId::close, opens_[mapped.instance].descriptor, 0);
    opens_.close(mapped.instance);
  }
  begun_.erase({found->first.first, Role::kMapping, found->first.second});
  mapped_.erase(found);
}

// An asynchronous read may find its bytes at any time from now on, so whoever wrote them has to
// have done so.
void Analysis::beginRead(const event::Event& event, const PastEvent& when, ContentId content) {
  const std::int64_t offset = event::argumentOf(event, Role::kOffset);
  if (offset < 0) return;
  const auto begin = static_cast<std::uint64_t>(offset);
  files_.needsLength(content, when, false);
  const std::uint64_t most = UINT64_MAX - begin;
  conflicts_.reads(content, {begin, begin + std::clamp<std::uint64_t>(event.request, 1, most)},
                   when);
}

// A seek to data or to a hole, if it is one.
void Analysis::takeHole(const event::Event& event, ContentId content) {
  const std::int64_t whence = event::argumentOf(event, Role::kWhence);
  const std::int64_t from = event::argumentOf(event, Role::kOffset);
  const bool is_hole = whence == SEEK_HOLE;
  if ((!is_hole && whence != SEEK_DATA) || from < 0) return;
  if (event.failed && event.result != ENXIO) return;
  if (event.failed && is_hole) return;  // it looked behind the end
  files_.soughtHole(
      content, is_hole, static_cast<std::uint64_t>(from),
      event.failed ? std::nullopt : std::optional(static_cast<std::uint64_t>(event.result)));
}

// A seek to the end of the file.
void Analysis::takeSeek(const event::Event& event, const PastEvent& when, ContentId content,
                        const event::FileSize& before) {
  files_.needsLength(content, when, false);
  const std::int64_t size = event.result - event::argumentOf(event, Role::kOffset);
  const bool tells_size = event.row->result == calls::Result::kPosition && size >= 0;
  if (!tells_size || !before.is_known || before.bytes != size) {
    // Any of the writes before may have made it that long.
    conflicts_.reads(content, {0, UINT64_MAX}, when);
  }
  noteEarlyReads(content, {0, UINT64_MAX}, when);
  if (!tells_size) return;
  files_.measured(content, size);
  files_.foundEnd(content, when, static_cast<std::uint64_t>(size), true);
}

// The evidence of a call: its result says how names and sizes were when it took effect.
namespace {

// A subject is a name, the number of names in a directory, or the size of a content. The lower two
// bits say which.
enum class SubjectKind : std::uint8_t { kName = 1, kEntries, kContent };

Subject subjectOf(std::uint64_t number, SubjectKind kind) {
  return (number << 2) | static_cast<Subject>(kind);
}
Subject subjectOf(model::FileNumber file) {
  if (file == model::kNoFileNumber) return 0;
  return subjectOf(static_cast<std::uint64_t>(file), SubjectKind::kName);
}
// No result tells of a lock: nothing claims it.
constexpr Subject kLocks = 4;

Subject subjectOf(ContentId content) { return subjectOf(content, SubjectKind::kContent); }
Subject entriesOf(model::FileNumber directory) {
  return subjectOf(static_cast<std::uint64_t>(directory), SubjectKind::kEntries);
}
SubjectKind kindOf(Subject subject) { return SubjectKind(subject & 3); }
bool isName(Subject subject) { return kindOf(subject) == SubjectKind::kName; }
model::FileNumber fileOf(Subject subject) {
  return model::FileNumber{static_cast<std::uint32_t>(subject >> 2)};
}
ContentId contentOf(Subject subject) { return subject >> 2; }

constexpr std::uint64_t kOneLess = UINT64_MAX;  // added to a number

bool fits(const Claim& claim, std::uint64_t size) {
  switch (claim.kind) {
    case Claim::Kind::kSizeIs:
      return size == claim.size;
    case Claim::Kind::kSizeAtLeast:
      return size >= claim.size;
    default:
      return size <= claim.size;
  }
}

std::uint64_t sizeAfter(const Change& change, std::uint64_t size) {
  switch (change.kind) {
    case Change::Kind::kSetsSize:
      return change.size;
    case Change::Kind::kAddsSize:
      return size + change.size;
    default:
      return std::max(size, change.size);
  }
}

}  // namespace

void Analysis::gather(const event::Event& event, std::uint32_t thread, Evidence& evidence) {
  if (event.row->api == calls::Api::kMpi || !isUsable(event)) return;
  if (const event::Text* path = pathOf(event)) {
    const std::string other = otherPathOf(event);
    const model::FileNumber new_file = other.empty() ? model::kNoFileNumber : fileOf(other, thread);
    gatherName(event, fileOf(path->absolute, thread), new_file, evidence);
  } else if (descriptorLinkedBy(event)) {
    if (event.failed) return;
    const model::FileNumber made = fileOf(otherPathOf(event), thread);
    evidence.changes.push_back({subjectOf(made), Change::Kind::kMakes});
  } else if (event.handle != nullptr && !event.failed && hasHandle(*event.row)) {
    gatherData(event, thread, evidence);
    gatherLock(event, thread, evidence);
  }
}

void Analysis::gatherFailure(const event::Event& event, model::FileNumber file,
                             model::FileNumber new_file, Evidence& evidence) {
  using Kind = Claim::Kind;
  const calls::Row& row = *event.row;
  const Subject parent = subjectOf(files_.knownParent(file));
  const bool names_two =
      new_file != model::kNoFileNumber && !calls::does(row, calls::Effect::kMakesSymlink);
  const bool removes = calls::does(row, calls::Effect::kRemovesName) && !names_two;
  if (removes && (event.result == ENOTEMPTY || event.result == EEXIST)) {
    if (!files_.entriesOf(file)) return;
    evidence.claims.push_back({entriesOf(file), Claim::Kind::kSizeAtLeast, 1});
  } else if (findsTaken(event)) {
    evidence.claims.push_back({subjectOf(names_two ? new_file : file), Kind::kThere});
  } else if (event.result == ENOENT) {
    const bool makes = (event::openFlags(event) & O_CREAT) != 0 ||
                       (calls::does(row, calls::Effect::kMakesName) && !names_two);
    if (makes) {
      if (parent != 0) evidence.claims.push_back({parent, Kind::kAbsent});
      return;
    }
    const Subject other = names_two ? subjectOf(files_.knownParent(new_file)) : parent;
    evidence.claims.push_back({subjectOf(lookedUp(event, file)), Kind::kAbsent, 0, other});
  }
}

// The name that the call needs or takes: that behind a symbolic link, unless the call is about the
// link itself.
model::FileNumber Analysis::lookedUp(const event::Event& event, model::FileNumber file) const {
  const calls::Row& row = *event.row;
  const bool is_of_the_link = calls::does(row, calls::Effect::kStaysAtLink) ||
                              calls::does(row, calls::Effect::kRemovesName) ||
                              calls::does(row, calls::Effect::kMakesName) ||
                              (event::argumentOf(event, Role::kFlags) & AT_SYMLINK_NOFOLLOW) != 0;
  return is_of_the_link ? file : files_.followed(file);
}

void Analysis::gatherName(const event::Event& event, model::FileNumber file,
                          model::FileNumber new_file, Evidence& evidence) {
  if (event.failed) return gatherFailure(event, file, new_file, evidence);
  using calls::Effect;
  using Kind = Claim::Kind;
  const calls::Row& row = *event.row;
  const auto claims = [&](model::FileNumber name, Kind kind) {
    evidence.claims.push_back({subjectOf(name), kind});
  };
  const auto changes = [&](model::FileNumber name, Change::Kind kind) {
    evidence.changes.push_back({subjectOf(name), kind});
    const model::FileNumber directory = files_.directoryOf(name);
    if (directory == model::kNoFileNumber || !files_.entriesOf(directory)) return;
    const bool makes = kind == Change::Kind::kMakes;
    if (makes && files_.presence(name) == Presence::kThere) return;
    evidence.changes.push_back(
        {entriesOf(directory), Change::Kind::kAddsSize, makes ? 1 : kOneLess});
  };
  const auto setsSize = [&](model::FileNumber name, std::int64_t size) {
    const ContentId content = files_.contentOf(name);
    if (content == kNoContent) return;
    evidence.changes.push_back({subjectOf(content), Change::Kind::kSetsSize,
                                static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0))});
  };
  if (const model::FileNumber parent = files_.knownParent(file); parent != model::kNoFileNumber) {
    claims(parent, Kind::kThere);
  }
  const model::FileNumber target = lookedUp(event, file);
  if (row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream) {
    const int flags = event::openFlags(event);
    if ((flags & O_TMPFILE) == O_TMPFILE) return;
    const bool creates = (flags & O_CREAT) != 0;
    if (creates && (flags & O_EXCL) != 0) {
      claims(file, Kind::kAbsent);
      changes(file, Change::Kind::kMakes);
    } else if (!creates) {
      claims(target, Kind::kThere);
    } else if (files_.presence(target) != Presence::kThere) {
      changes(target, Change::Kind::kMakes);
    }
    if ((flags & O_TRUNC) != 0) setsSize(target, 0);
  } else if (calls::does(row, Effect::kRenames) && new_file != model::kNoFileNumber) {
    const std::int64_t flags = event::argumentOf(event, Role::kFlags);
    claims(file, Kind::kThere);
    if ((flags & RENAME_EXCHANGE) != 0) {
      claims(new_file, Kind::kThere);
      return;
    }
    if ((flags & RENAME_NOREPLACE) != 0) claims(new_file, Kind::kAbsent);
    changes(file, Change::Kind::kRemoves);
    changes(new_file, Change::Kind::kMakes);
  } else if (calls::does(row, Effect::kMakesLink) && new_file != model::kNoFileNumber) {
    claims(file, Kind::kThere);
    claims(new_file, Kind::kAbsent);
    changes(new_file, Change::Kind::kMakes);
  } else if (calls::does(row, Effect::kMakesName)) {
    claims(file, Kind::kAbsent);
    changes(file, Change::Kind::kMakes);
  } else if (calls::does(row, Effect::kRemovesName)) {
    claims(file, Kind::kThere);
    if (files_.entriesOf(file)) {
      evidence.claims.push_back({entriesOf(file), Kind::kSizeIs, 0});
    }
    changes(file, Change::Kind::kRemoves);
  } else {
    claims(target, Kind::kThere);
    if (calls::does(row, Effect::kSetsLength)) {
      setsSize(target, event::argumentOf(event, Role::kLength));
    }
  }
}

void Analysis::gatherData(const event::Event& event, std::uint32_t thread, Evidence& evidence) {
  const calls::Row& row = *event.row;
  const bool seeks_end = row.call_class == Class::kSeek && calls::has(row, Role::kWhence) &&
                         event::argumentOf(event, Role::kWhence) == SEEK_END;
  const bool sets_size = calls::does(row, calls::Effect::kSetsLength) ||
                         calls::does(row, calls::Effect::kReservesSpace);
  // Streams read ahead and write later, so their calls do not tell what was in the file.
  // Asynchronous operations took effect at some moment before their end.
  if (row.api == calls::Api::kStdio || calls::does(row, calls::Effect::kEndsTransfer)) return;
  if (!event::transfersData(row) && !seeks_end && !sets_size) return;
  const InstanceId instance = opens_.instanceOf(sources_.threads[thread].process_index,
                                                event.handle->definition.handle, event.start_ns);
  if (instance == kNoInstance) return;
  const Instance& used = opens_[instance];
  const Content& content = files_.content(used.content);
  if (!content.writable || content.buffered) return;
  event::OpenFile open = opens_.description(used.description).open;
  event::FileSize size = content.size;
  const Subject subject = subjectOf(used.content);
  const auto transfer = event::follow(event, open, size);
  if (sets_size) {
    if (calls::does(row, calls::Effect::kSetsLength) || size.bytes > content.size.bytes) {
      evidence.changes.push_back({subject,
                                  calls::does(row, calls::Effect::kSetsLength)
                                      ? Change::Kind::kSetsSize
                                      : Change::Kind::kReachesSize,
                                  static_cast<std::uint64_t>(size.bytes)});
    }
  } else if (seeks_end) {
    const std::int64_t end = event.result - event::argumentOf(event, Role::kOffset);
    if (row.result != calls::Result::kPosition || end < 0) return;
    evidence.claims.push_back({subject, Claim::Kind::kSizeIs, static_cast<std::uint64_t>(end)});
  } else if (row.call_class == Class::kWrite) {
    if (transfer->bytes == 0 || size.bytes <= content.size.bytes) return;
    const auto kind = transfer->at_end ? Change::Kind::kAddsSize : Change::Kind::kReachesSize;
    evidence.changes.push_back(
        {subject, kind,
         transfer->at_end ? transfer->bytes : static_cast<std::uint64_t>(size.bytes)});
  } else if (const auto offset = transfer->fixedOffset()) {
    const std::uint64_t end = *offset + transfer->bytes;
    if (stopsAtEnd(event)) {
      const auto kind = transfer->bytes > 0 ? Claim::Kind::kSizeIs : Claim::Kind::kSizeAtMost;
      evidence.claims.push_back({subject, kind, end});
    } else if (transfer->bytes > 0) {
      evidence.claims.push_back({subject, Claim::Kind::kSizeAtLeast, end});
    }
  }
}

// Whoever had to wait for a lock got it at the end of the call, after others had let go of it. That
// is so for those who did not have to wait, too: who had it before has let go before. Keeping less
// of a lock of one's own waits for no other, and others may get theirs before that call is over.
void Analysis::gatherLock(const event::Event& event, std::uint32_t thread, Evidence& evidence) {
  const InstanceId instance = opens_.instanceOf(sources_.threads[thread].process_index,
                                                event.handle->definition.handle, event.start_ns);
  if (instance == kNoInstance) return;
  const auto [lock, subject] = lockOf(event, thread, instance);
  if (!lock || lock->type == event::FileLock::Type::kNone) return;
  const bool keeps_less =
      lock->type == event::FileLock::Type::kShared && locks_.isExclusive(subject);
  if (!keeps_less) evidence.changes.push_back({kLocks, Change::Kind::kMakes, 0});
}

// The size of a file, or how many names a directory has.
event::FileSize Analysis::sizeOf(Subject subject) const {
  if (kindOf(subject) == SubjectKind::kContent) return files_.content(contentOf(subject)).size;
  const auto entries = files_.entriesOf(preprocess::fileOf(subject));
  return {static_cast<std::int64_t>(entries.value_or(0)), entries.has_value()};
}

Truth Analysis::holds(const Claim& claim) const {
  if (isName(claim.subject)) {
    const bool is_above_absent =
        claim.or_absent != 0 &&
        files_.presence(preprocess::fileOf(claim.or_absent)) == Presence::kAbsent;
    if (is_above_absent) return Truth::kYes;
    const Presence presence = files_.presence(preprocess::fileOf(claim.subject));
    if (presence == Presence::kUnknown) return Truth::kUnknown;
    return (presence == Presence::kThere) == (claim.kind == Claim::Kind::kThere) ? Truth::kYes
                                                                                 : Truth::kNo;
  }
  const event::FileSize size = sizeOf(claim.subject);
  const auto bytes = static_cast<std::uint64_t>(size.bytes);
  if (size.is_known) return fits(claim, bytes) ? Truth::kYes : Truth::kNo;
  // The file is at least as long as the furthest byte that was seen.
  if (claim.kind == Claim::Kind::kSizeAtLeast) {
    return bytes >= claim.size ? Truth::kYes : Truth::kUnknown;
  }
  return bytes > claim.size ? Truth::kNo : Truth::kUnknown;
}

bool Analysis::holdsAfter(const Claim& claim, const Change& change) const {
  if (isName(claim.subject)) {
    return (change.kind == Change::Kind::kMakes) == (claim.kind == Claim::Kind::kThere);
  }
  const auto bytes = static_cast<std::uint64_t>(sizeOf(claim.subject).bytes);
  return fits(claim, sizeAfter(change, bytes));
}

// sendfile and copy_file_range read from a descriptor besides the one they work on.
void Analysis::takeSource(const event::Event& event, const PastEvent& when, Instance& source) {
  useInstance(event, when, source);
  Description& description = opens_.description(source.description);
  if (event::isSourceAtPosition(event)) orderByPosition(event, when, description);
  if (event.failed) return;
  const event::Transfer access =
      event::followSource(event, description.open, files_.content(source.content).size);
  const std::uint64_t begin = access.fixedOffset().value_or(0);
  files_.content(source.content).scale.keep(begin, event.bytes);
  conflicts_.reads(source.content, {begin, begin + std::max<std::uint64_t>(event.bytes, 1)}, when);
  files_.read(source.content, event, when, access);
}

// Where descriptors come from that a process has without a recorded call that made them: over fork,
// over exec, and from before the recording.
namespace {

int accessOf(std::uint32_t open_flags) {
  return static_cast<int>(open_flags) & (O_ACCMODE | O_APPEND);
}

// Where the position of a descriptor was when it was found; 0 where that is not told.
std::int64_t foundAt(const wire::HandleDefinition& handle) {
  const bool appends = (handle.open_flags & O_APPEND) != 0;
  return appends ? 0 : std::max<std::int64_t>(handle.position, 0);
}

// Keeps the flags that matter once the file is open; the kernel shows O_LARGEFILE by itself.
int keptFlags(std::uint32_t open_flags) {
  constexpr int kLargeFile = 0100000;
  return static_cast<int>(open_flags) & ~(O_CREAT | O_EXCL | O_TRUNC | kLargeFile);
}

}  // namespace

// The duplicate that the handle stands for, if no call has named that handle so far. Of several
// that fit, all share one description.
InstanceId Analysis::unboundOf(const wire::HandleDefinition& handle, std::size_t process,
                               std::int64_t time_ns) {
  if (handle.origin != wire::Origin::kDuplicated) return kNoInstance;
  const InstanceId first = opens_.instanceOf(process, handle.description, time_ns);
  for (auto at = unbound_.rbegin(); at != unbound_.rend(); ++at) {
    const bool has_number = at->number < 0 || at->number == handle.fd;
    if (at->process != process || !has_number) continue;
    const InstanceId instance = at->instance;
    if (first != kNoInstance && opens_[first].description != opens_[instance].description) continue;
    unbound_.erase(std::next(at).base());
    return instance;
  }
  return kNoInstance;
}

// The instance of a process that another handle, of this process or of one that it forked, shares
// its description with; kNoInstance when that process has none. The handle's number may stand for
// another file there: after a fork, both processes go on numbering.
InstanceId Analysis::originalOf(const event::Handle& handle, std::size_t process,
                                std::int64_t time_ns) {
  const wire::HandleDefinition& definition = handle.definition;
  const InstanceId first = opens_.instanceOf(process, definition.description, time_ns);
  InstanceId same = opens_.instanceOf(process, definition.handle, time_ns);
  if (same == kNoInstance) {
    same = unboundOf(definition, process, time_ns);
    if (same != kNoInstance) opens_.bind(process, definition.handle, time_ns, same);
  }
  const bool is_other = first != kNoInstance && same != kNoInstance &&
                        opens_[first].description != opens_[same].description;
  return same == kNoInstance || is_other ? first : same;
}

// A copy of the instance that the handle shares its description with, over dup and fork.
InstanceId Analysis::sharedWithinProcesses(const event::Handle& handle, const PastEvent& when) {
  const SourceThread& thread = sources_.threads[when.ref.thread];
  const wire::HandleDefinition& definition = handle.definition;
  if (definition.birth_pid == 0) {
    if (definition.origin != wire::Origin::kDuplicated) return kNoInstance;
    const InstanceId base = originalOf(handle, thread.process_index, when.start_ns);
    return base == kNoInstance ? kNoInstance : copyOf(base);
  }
  for (const SourceThread& other : sources_.threads) {
    if (other.process->pid != definition.birth_pid) continue;
    const InstanceId base = originalOf(handle, other.process_index, when.start_ns);
    if (base == kNoInstance || opens_[base].rank != thread.header.rank) continue;
    return copyOf(base);
  }
  return kNoInstance;
}

// The instance a handle stands for, which is made up where no event told of it.
InstanceId Analysis::resolve(const event::Handle& handle, const PastEvent& when) {
  const SourceThread& thread = sources_.threads[when.ref.thread];
  const std::size_t process = thread.process_index;
  const wire::HandleDefinition& definition = handle.definition;
  InstanceId instance = opens_.instanceOf(process, definition.handle, when.start_ns);
  if (instance != kNoInstance) return instance;
  instance = unboundOf(definition, process, when.start_ns);
  if (instance == kNoInstance) instance = sharedWithinProcesses(handle, when);
  if (instance == kNoInstance && definition.origin == wire::Origin::kInherited) {
    const InstanceId base = givenBy(handle, thread);
    if (base != kNoInstance) instance = copyOf(base);
  }
  if (instance == kNoInstance) instance = preopened(handle, when);
  opens_.bind(process, definition.handle, when.start_ns, instance);
  if (definition.fd >= 0) opens_.setNumber(process, definition.fd, instance);  // not of a mapping
  return instance;
}

// Whether the handle can be one of the instance's description, as far as its position tells. What a
// stream has in its buffer moves the position later, or has moved it before.
Analysis::Position Analysis::positionAt(InstanceId id, const wire::HandleDefinition& handle) {
  const Instance& instance = opens_[id];
  const event::OpenFile& open = opens_.description(instance.description).open;
  if (handle.position == wire::kUnknownPosition || open.appends) return Position::kMayBe;
  if (open.is_known && open.position == handle.position) return Position::kIsIt;
  const bool has_buffer = instance.is_stream || files_.content(instance.content).buffered;
  // A process that ends writes out its buffers.
  const bool is_written_out =
      !has_buffer || (order_ != nullptr && !instance.used.empty() &&
                      std::ranges::all_of(instance.used, [this](const auto& use) {
                        return order_->isOver(use.first);
                      }));
  const bool is_certain = open.is_known && !open.is_at_end && is_written_out;
  return is_certain && handle.position == 0 ? Position::kIsNot : Position::kMayBe;
}

// Finds the instance that a process has been given by another one: over exec, by a parent between
// vfork and exec, by a message, by pidfd_getfd. The number may be another one.
InstanceId Analysis::givenBy(const event::Handle& handle, const SourceThread& thread) {
  const wire::HandleDefinition& definition = handle.definition;
  const model::FileNumber file = files_.numberOf(handle.path.absolute, thread.node);
  const int access = accessOf(definition.open_flags);
  const auto parent = thread.process->info.number(wire::info::kParent);
  // The better, the lower; what is found first of several that are alike.
  enum : unsigned { kSameNumber, kParentsNumber, kParents, kElsewhere, kNoGiver };
  unsigned best = kNoGiver * 2;
  InstanceId found = kNoInstance;
  const auto consider = [&](InstanceId instance, unsigned giver) {
    const bool is_file = instance != kNoInstance && opens_[instance].file == file &&
                         opens_[instance].access.value_or(access) == access;
    if (!is_file) return;
    const Position position = positionAt(instance, definition);
    if (position == Position::kIsNot) return;
    // What is only read, a process may as well have opened anew.
    const bool is_far = giver == kElsewhere && (access & O_ACCMODE) == O_RDONLY;
    if (is_far && (position != Position::kIsIt || definition.position == 0)) return;
    const unsigned rank = giver * 2 + (position == Position::kIsIt ? 0 : 1);
    if (rank >= best) return;
    best = rank;
    found = instance;
  };
  const tracefile::Process* last = nullptr;
  for (const SourceThread& other : sources_.threads) {
    if (other.header.rank != thread.header.rank || other.process == last) continue;
    last = other.process;
    const bool is_same = other.process->pid == thread.process->pid;
    const bool is_parent = parent && other.process->pid == *parent;
    if (other.process != thread.process && (is_same || is_parent)) {
      consider(opens_.atNumber(other.process_index, definition.fd),
               is_same ? kSameNumber : kParentsNumber);
    }
    for (const InstanceId instance : opens_.openOrClosed(other.process_index)) {
      if (is_parent || opens_[instance].is_open) {
        consider(instance, is_parent ? kParents : kElsewhere);
      }
    }
  }
  return found;
}

// A copy that is taken as soon as the original is there, so that it can be closed in the meantime.
InstanceId Analysis::copyOf(InstanceId base) {
  const Instance& original = opens_[base];
  const InstanceId copy = opens_.make({.rank = original.rank,
                                       .description = original.description,
                                       .content = original.content,
                                       .made = original.made,
                                       .before_run = original.before_run,
                                       .file = original.file,
                                       .access = original.access,
                                       .is_below = is_below_ || original.is_below});
  if (opens_[copy].is_below) return copy;
  ExtraStep extra;
  extra.behind = original.before_run ? -1 : static_cast<std::int64_t>(original.made.ref.sequence);
  extra.event.step = Step::kInherited;
  extra.event.fd = original.descriptor;
  extra.event.new_fd = opens_[copy].descriptor;
  extra.event.start_ns = extra.event.end_ns = original.before_run ? 0 : original.made.end_ns;
  extra.event.id = dependencies_.newId();
  opens_[copy].step_id = extra.event.id;
  threads_[original.made.ref.thread].extras.push_back(std::move(extra));
  return copy;
}

// A descriptor that no recorded call made.
InstanceId Analysis::preopened(const event::Handle& handle, const PastEvent& when) {
  const SourceThread& thread = sources_.threads[when.ref.thread];
  const int rank = thread.header.rank;
  const wire::HandleDefinition& definition = handle.definition;
  const model::FileNumber file = fileOf(handle.path.absolute, when.ref.thread);
  const int access = accessOf(definition.open_flags);
  const auto before = thread.filter == nullptr
                          ? std::nullopt
                          : thread.filter->before(thread.process_index, definition.handle);
  // Processes that write to it most likely have one open in common, as a job's output is. Of those
  // that read, each most likely has its own: else the second would find nothing.
  const bool is_shared = (!before || before->is_given) && (access & O_ACCMODE) != O_RDONLY;
  const auto key = std::tuple(rank, definition.device, definition.inode, access);
  const auto given = is_shared ? given_.find(key) : given_.end();
  if (given != given_.end() && opens_[given->second].file == file &&
      positionAt(given->second, definition) != Position::kIsNot) {
    return copyOf(given->second);
  }
  const auto shared = before ? shared_before_.find(before->state.key) : shared_before_.end();
  if (shared != shared_before_.end()) return copyOf(shared->second);
  int flags = keptFlags(before ? static_cast<std::uint32_t>(before->flags) : definition.open_flags);
  if (definition.kind != wire::FileKind::kDirectory) flags &= ~O_TMPFILE;
  if (before && before->state.appends) flags |= O_APPEND;
  if (definition.kind == wire::FileKind::kDirectory) flags |= O_DIRECTORY;
  if (is_below_) {
    return opens_.make({.rank = rank,
                        .description = opens_.makeDescription(flags),
                        .content = files_.inherited(file, flags),
                        .made = {when.ref},
                        .before_run = true,
                        .file = file,
                        .access = access,
                        .is_below = true});
  }
  const bool is_of_the_run = !before && files_.isOfTheRun(file);
  Instance opened =
      is_of_the_run ? openedUnseen(file, flags, definition, when)
                    : openBefore(file, flags, before ? before->state.position : foundAt(definition),
                                 when.ref);
  if (before && before->state.size_bytes) {
    files_.wasAtLeast(opened.content, static_cast<std::uint64_t>(*before->state.size_bytes));
  } else if (!before && !is_of_the_run) {
    files_.foundSize(opened.content, definition.size);
  }
  opened.rank = rank;
  opened.file = file;
  opened.access = access;
  const InstanceId instance = opens_.make(std::move(opened));
  threads_[when.ref.thread].extras.back().event.new_fd = opens_[instance].descriptor;
  if (is_of_the_run && foundAt(definition) > 0) seekUnseen(instance, foundAt(definition), when);
  if (is_shared) given_[key] = instance;
  if (before) shared_before_[before->state.key] = instance;
  return instance;
}

// It was there before the run.
Instance Analysis::openBefore(model::FileNumber file, int flags, std::int64_t position,
                              EventRef ref) {
  ExtraStep extra;
  extra.event.step = Step::kPreopened;
  extra.event.file = file;
  extra.event.arguments[0] = flags;
  extra.event.offset = position;
  extra.content = files_.inherited(file, flags);
  const ContentId content = extra.content;
  threads_[ref.thread].extras.push_back(std::move(extra));
  return {.description = opens_.makeDescription(flags, position),
          .content = content,
          .made = {ref},
          .before_run = true};
}

// Something that is not recorded, such as a shell, opened a file that the run made: an open in
// front of the first event that uses it does the same. It makes the file only where no call has,
// and empties it only where the application found it empty ("> file" of a shell): what is made up
// must not take bytes away that were there in the recording.
Instance Analysis::openedUnseen(model::FileNumber file, int flags,
                                const wire::HandleDefinition& definition, const PastEvent& when) {
  if (made_up_.opens++ == 0) made_up_.first_open = files_.locationOf(file);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  const bool is_there = files_.presence(files_.followed(file)) == Presence::kThere;
  if (writes && !is_there) flags |= O_CREAT;
  if (writes && is_there && definition.size == 0) flags |= O_TRUNC;
  const PastEvent made{when.ref, when.start_ns, when.start_ns};
  const ContentId content = files_.openedFile(file, made, flags);
  ExtraStep extra;
  extra.behind = static_cast<std::int64_t>(when.ref.sequence) - 1;
  model::ScheduleEvent& open = extra.event;
  open.row = &calls::rowOf(calls::CallId::open64);
  open.file = file;
  open.arguments[static_cast<std::size_t>(calls::indexOf(*open.row, Role::kFlags))] = flags;
  if ((flags & O_CREAT) != 0) {
    open.arguments[static_cast<std::size_t>(calls::indexOf(*open.row, Role::kMode))] = 0644;
  }
  open.start_ns = open.end_ns = when.start_ns;
  open.after = dependencies_.takeBefore(when.ref);
  const std::uint64_t id = open.id = dependencies_.newId();
  threads_[when.ref.thread].extras.push_back(std::move(extra));
  return {.description = opens_.makeDescription(flags, foundAt(definition)),
          .content = content,
          .made = made,
          .step_id = id};
}

// Goes to where the descriptor was found, right behind the open that was made up for it. Others
// wait for this in place of that.
void Analysis::seekUnseen(InstanceId instance, std::int64_t position, const PastEvent& when) {
  std::vector<ExtraStep>& extras = threads_[when.ref.thread].extras;
  model::ScheduleEvent& open = extras.back().event;
  ExtraStep extra;
  extra.behind = extras.back().behind;
  model::ScheduleEvent& seek = extra.event;
  seek.row = &calls::rowOf(calls::CallId::lseek64);
  seek.fd = opens_[instance].descriptor;
  seek.arguments[static_cast<std::size_t>(calls::indexOf(*seek.row, Role::kOffset))] = position;
  seek.arguments[static_cast<std::size_t>(calls::indexOf(*seek.row, Role::kWhence))] = SEEK_SET;
  seek.result = position;
  seek.start_ns = seek.end_ns = open.end_ns;
  seek.id = std::exchange(open.id, 0);
  extras.push_back(std::move(extra));
}

}  // namespace omnio::preprocess
