#include "preprocess/analysis.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "core/tracefile/log_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::preprocess {

using calls::Class;
using calls::Role;
using model::Step;

namespace {

const event::Text* textAt(const event::Event& event, Role role) {
  const int index = calls::indexOf(*event.row, role);
  if (index < 0) return nullptr;
  const event::Text& text = event.texts[static_cast<std::size_t>(index)];
  return text.absolute.empty() ? nullptr : &text;
}

bool hasHandle(const calls::Row& row) {
  return calls::has(row, Role::kFd) || calls::has(row, Role::kStream);
}

bool duplicates(const event::Event& event) {
  if (event.failed || !calls::has(*event.row, Role::kCommand)) return false;
  const std::int64_t command = event::argumentOf(event, Role::kCommand);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

}  // namespace

std::string otherPathOf(const event::Event& event) {
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
  tracefile::MergedReader merged;
  for (const SourceThread& thread : sources_.threads) merged.add(thread.open(paths));
  std::vector<std::uint64_t> sequences(sources_.threads.size(), 0);
  while (const event::Event* event = merged.next()) {
    const auto thread = static_cast<std::uint32_t>(merged.source());
    if (!first_start_) first_start_ = event->start_ns;
    take(*event, {thread, sequences[thread]++});
    ++events_;
  }
  flushAtExit();
  for (ThreadNotes& thread : threads_) {
    std::stable_sort(thread.extras.begin(), thread.extras.end(),
                     [](const ExtraStep& a, const ExtraStep& b) { return a.behind < b.behind; });
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

void Analysis::take(const event::Event& event, EventRef ref) {
  const PastEvent when{ref, event.end_ns};
  last_[ref.thread] = when;
  const SourceThread& thread = sources_.threads[ref.thread];
  EventNote note{.sequence = ref.sequence};
  if (!isUsable(event)) {
    note.dropped = true;
    ++dropped_;
    threads_[ref.thread].notes.push_back(note);
    return;
  }
  InstanceId instance = kNoInstance;
  if (event.handle != nullptr && hasHandle(*event.row)) {
    instance = resolve(*event.handle, ref, event.start_ns);
    useInstance(event, when, instance);
    takeLock(event, when, instance);
    const Instance& used = opens_[instance];
    Description& description = opens_.description(used.description);
    const bool moves = event.row->call_class == Class::kSeek ||
                       (event::transfersData(event) && !calls::has(*event.row, Role::kOffset));
    if (moves) {
      orderByPosition(event, when, used.description);
      if (!description.first_thread) description.first_thread = ref.thread;
      if (description.first_thread != ref.thread) description.of_many_threads = true;
    }
    const auto transfer = event::follow(event, description.open, files_.content(used.content).size);
    takeData(event, when, instance, transfer.value_or(event::Transfer{}));
  }
  ContentId content = kNoContent;
  const event::Text* path = textAt(event, Role::kPath);
  if (path == nullptr) path = textAt(event, Role::kPathTemplate);
  if (path != nullptr) {
    const std::string other = otherPathOf(event);
    content = files_.named(event, when, fileOf(*path),
                           other.empty() ? model::kNoFileNumber : files_.numberOf(other));
  }
  if (calls::has(*event.row, Role::kFdSource)) {
    note.source = opens_.atNumber(thread.process_index,
                                  static_cast<int>(event::argumentOf(event, Role::kFdSource)));
    if (note.source != kNoInstance) takeSource(event, when, note.source);
  }
  takeMaker(event, when, instance, content, note);
  if (event.row->call_class == Class::kClose && event.handle != nullptr) {
    opens_.clearNumber(thread.process_index, event.handle->definition.fd);
    lives_[static_cast<std::size_t>(instance)].is_open = false;
  }
  if (note.made != kNoInstance || note.replaced != kNoInstance || note.source != kNoInstance ||
      note.dropped) {
    threads_[ref.thread].notes.push_back(note);
  }
}

InstanceId Analysis::makeInstance(int rank, std::uint32_t description, ContentId content,
                                  const PastEvent& made, bool before_run) {
  const InstanceId instance = opens_.make(rank, description);
  opens_[instance].content = content;
  lives_.push_back({.made = made, .before_run = before_run, .step_id = 0, .used = {}});
  return instance;
}

// What the call made, if it made a descriptor.
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
    ++dropped_;
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
  }
  note.made = makeInstance(thread.header.rank, description, content, when);
  const event::Text* path = textAt(event, Role::kPath);
  if (path == nullptr) path = textAt(event, Role::kPathTemplate);
  opens_[note.made].access =
      shares ? opens_[from].access : std::optional(flags & (O_ACCMODE | O_APPEND));
  opens_[note.made].file = shares            ? opens_[from].file
                           : path == nullptr ? model::kNoFileNumber
                                             : fileOf(*path);
  int number = -1;
  if (is_dup) {
    number = static_cast<int>(event.result);
    unbound_.emplace_back(process, note.made);
  } else if (event.new_handle != nullptr) {
    number = event.new_handle->definition.fd;
    opens_.bind(process, event.new_handle->definition.handle, event.end_ns, note.made);
  } else {
    unbound_.emplace_back(process, note.made);
  }
  if (number < 0) return;
  // Who wishes for a number closes what has it.
  const InstanceId before = opens_.atNumber(process, number);
  // freopen closes its stream first, and the new one gets the number that has become free.
  const bool replaces = calls::does(*event.row, calls::Effect::kReplacesDescriptor);
  if (replaces && before != kNoInstance) note.replaced = before;
  opens_.setNumber(process, number, note.made);
}

// Threads of one process that share a descriptor: it is made before it is used, and used before it
// is closed.
void Analysis::useInstance(const event::Event& event, const PastEvent& when, InstanceId instance) {
  InstanceLife& life = lives_[static_cast<std::size_t>(instance)];
  if (life.step_id != 0) {
    const bool is_first = !life.used.contains(when.ref.thread);
    if (is_first && life.made.ref.thread != when.ref.thread) {
      dependencies_.requireId(when.ref, life.step_id);
    }
  } else if (!life.before_run) {
    dependencies_.require(when.ref, event.start_ns, life.made);
  }
  if (event.row->call_class == Class::kClose) {
    for (const auto& [thread, use] : life.used) {
      dependencies_.require(when.ref, event.start_ns, use);
    }
  }
  life.used[when.ref.thread] = when;
  if (opens_[instance].content != kNoContent) files_.touched(opens_[instance].content, when);
}

// Threads that take turns on one file offset: a seek or read finds it where the other thread left
// it. Writes of several threads may come in any order, unless one of them was told where to write.
void Analysis::orderByPosition(const event::Event& event, const PastEvent& when,
                               std::uint32_t description) {
  if (movers_.size() <= description) movers_.resize(description + 1);
  Mover& mover = movers_[description];
  const bool writes = event.row->call_class == Class::kWrite;
  if (mover.any) dependencies_.require(when.ref, event.start_ns, mover.last_seek);
  if (writes && mover.any) {
    mover.writes[when.ref.thread] = when;
    return;
  }
  // The writers are in no order among themselves: it has to wait for each of them.
  for (const auto& [thread, write] : mover.writes) {
    dependencies_.require(when.ref, event.start_ns, write);
  }
  mover.writes.clear();
  mover.last_seek = when;
  mover.any = true;
}

// A lock is free once those who had it before have let go of it.
void Analysis::takeLock(const event::Event& event, const PastEvent& when, InstanceId instance) {
  InstanceLife& life = lives_[static_cast<std::size_t>(instance)];
  const ContentId content = opens_[instance].content;
  const bool is_lock_call = event.row->plain == calls::CallId::flock;
  const bool releases = event.row->call_class == Class::kClose ||
                        (is_lock_call && (event::argumentOf(event, Role::kNumber) & LOCK_UN) != 0);
  if (releases && life.has_lock) {
    files_.unlocks(content, when);
    life.has_lock = false;
  } else if (is_lock_call && !releases) {
    files_.locks(content, when, event.start_ns);
    life.has_lock = life.has_lock || !event.failed;
  }
}

// What stood in a stream's buffer is in the file now.
void Analysis::publish(std::uint32_t description, ContentId content, const PastEvent& when) {
  const auto found = buffered_.find({content, description});
  if (found == buffered_.end()) return;
  conflicts_.wrote(content, found->second.range, when);
  if (!opens_.description(description).open.appends) files_.writtenInPlace(content, when);
  buffered_.erase(found);
}

void Analysis::noteEarlyReads(ContentId content, const Range& range, EventRef ref,
                              std::int64_t start_ns) {
  const tracefile::Process* process = sources_.threads[ref.thread].process;
  for (auto at = buffered_.lower_bound({content, 0});
       at != buffered_.end() && at->first.first == content; ++at) {
    const Buffered& buffered = at->second;
    if (buffered.range.begin >= range.end) continue;
    if (sources_.threads[buffered.thread].process == process) continue;
    early_reads_.try_emplace({content, at->first.second, ref.thread}, EarlyRead{ref, start_ns});
  }
}

// A process that ends writes out the buffers of its streams, which no call tells of.
void Analysis::flushAtExit() {
  std::map<std::pair<ContentId, std::uint32_t>, std::uint64_t> flushed;  // the step's id
  for (const auto& [key, read] : early_reads_) {
    const std::pair buffer(std::get<0>(key), std::get<1>(key));
    const auto found = buffered_.find(buffer);
    if (found == buffered_.end()) continue;
    const Buffered& buffered = found->second;
    const PastEvent& last = last_[buffered.thread];
    if (last.end_ns > read.start_ns) continue;  // it was still at work
    std::uint64_t& id = flushed[buffer];
    if (id == 0) {
      id = dependencies_.newId();
      ExtraStep extra;
      extra.behind = static_cast<std::int64_t>(last.ref.sequence);
      extra.event.row = &calls::rowOf(calls::CallId::fflush);
      extra.event.fd = opens_[buffered.stream].descriptor;
      extra.event.start_ns = extra.event.end_ns = last.end_ns;
      extra.event.id = id;
      threads_[buffered.thread].extras.push_back(std::move(extra));
    }
    dependencies_.requireId(read.ref, id);
  }
}

void Analysis::takeData(const event::Event& event, const PastEvent& when, InstanceId instance,
                        const event::Transfer& transfer) {
  const Instance used = opens_[instance];
  const calls::Row& row = *event.row;
  const bool is_stream = row.api == calls::Api::kStdio;
  if (is_stream && (row.call_class == Class::kSync || row.call_class == Class::kClose ||
                    row.call_class == Class::kSeek)) {
    publish(used.description, used.content, when);
  }
  if (event.failed && !event.endOfFile()) return;
  // Where the offset is not known, it may be anywhere.
  constexpr std::uint64_t kAll = UINT64_MAX;
  const std::optional<std::uint64_t> offset = transfer.fixedOffset();
  const Range range =
      offset ? Range{*offset, *offset + transfer.bytes} : Range{0, transfer.bytes == 0 ? 0 : kAll};
  if (row.call_class == Class::kRead) {
    // A read that finds the end of the file depends on who made it that long, too.
    const Range asked =
        offset ? Range{*offset, *offset + std::max<std::uint64_t>(transfer.bytes, 1)} : range;
    files_.needsLength(used.content, when, event.start_ns, false);
    conflicts_.reads(used.content, asked, when.ref, event.start_ns);
    noteEarlyReads(used.content, asked, when.ref, event.start_ns);
    files_.read(used.content, event, when, transfer);
  } else if (row.call_class == Class::kWrite) {
    files_.needsLength(used.content, when, event.start_ns, transfer.at_end);
    if (transfer.at_end) noteEarlyReads(used.content, {0, kAll}, when.ref, event.start_ns);
    if (!transfer.at_end) files_.writtenInPlace(used.content, when);
    files_.write(used.content, when, transfer);
    conflicts_.wrote(used.content, range, when);
    if (is_stream && range.begin < range.end) {
      const auto made = buffered_.try_emplace({used.content, used.description},
                                              Buffered{range, instance, when.ref.thread});
      Buffered& buffered = made.first->second;
      buffered.range = {std::min(buffered.range.begin, range.begin),
                        std::max(buffered.range.end, range.end)};
      buffered.thread = when.ref.thread;
    }
  } else if (calls::does(row, calls::Effect::kReservesSpace)) {
    files_.extended(used.content, when);
  } else if (calls::does(row, calls::Effect::kSetsLength)) {
    files_.resized(used.content, when, event.start_ns, event::argumentOf(event, Role::kLength));
  } else if (row.call_class == Class::kSeek && calls::has(row, Role::kWhence) &&
             event::argumentOf(event, Role::kWhence) == SEEK_END) {
    files_.needsLength(used.content, when, event.start_ns, false);
    conflicts_.reads(used.content, {0, kAll}, when.ref, event.start_ns);
    noteEarlyReads(used.content, {0, kAll}, when.ref, event.start_ns);
    if (row.result == calls::Result::kPosition && event::argumentOf(event, Role::kOffset) == 0) {
      files_.measured(used.content, event.result);
    }
  }
}

// What sendfile and copy_file_range read from: a descriptor besides the one they work on.
void Analysis::takeSource(const event::Event& event, const PastEvent& when, InstanceId source) {
  useInstance(event, when, source);
  const Instance used = opens_[source];
  orderByPosition(event, when, used.description);
  if (event.failed) return;
  const event::Transfer access = event::followSource(
      event, opens_.description(used.description).open, files_.content(used.content).size);
  const std::uint64_t begin = access.fixedOffset().value_or(0);
  conflicts_.reads(used.content, {begin, begin + std::max<std::uint64_t>(event.bytes, 1)}, when.ref,
                   event.start_ns);
  files_.read(used.content, event, when, access);
}

// Where descriptors come from that a process has without a recorded call that made them: over fork,
// over exec, and from before the recording.
using calls::Role;
using model::Step;

namespace {

int accessOf(std::uint32_t open_flags) {
  return static_cast<int>(open_flags) & (O_ACCMODE | O_APPEND);
}

// Those that still mean something once the file is open; the kernel shows O_LARGEFILE by itself.
int keptFlags(std::uint32_t open_flags) {
  constexpr int kLargeFile = 0100000;
  return static_cast<int>(open_flags) & ~(O_CREAT | O_EXCL | O_TRUNC | kLargeFile);
}

}  // namespace

InstanceId Analysis::unboundOf(const event::Handle& handle, std::size_t process) {
  for (auto at = unbound_.rbegin(); at != unbound_.rend(); ++at) {
    if (at->first != process) continue;
    const InstanceId instance = at->second;
    const bool fits = opens_.atNumber(process, handle.definition.fd) == instance ||
                      handle.definition.origin == wire::Origin::kOpened;
    if (!fits) continue;
    unbound_.erase(std::next(at).base());
    return instance;
  }
  return kNoInstance;
}

// The instance a handle stands for, which is made up where no event told of it.
InstanceId Analysis::resolve(const event::Handle& handle, EventRef ref, std::int64_t time_ns) {
  const SourceThread& thread = sources_.threads[ref.thread];
  const std::size_t process = thread.process_index;
  const wire::HandleDefinition& definition = handle.definition;
  InstanceId instance = opens_.instanceOf(process, definition.handle, time_ns);
  if (instance != kNoInstance) return instance;
  instance = definition.birth_pid == 0 ? unboundOf(handle, process) : kNoInstance;
  if (instance == kNoInstance && definition.birth_pid != 0) {
    // Inherited over fork: the parent's handle has the same number.
    for (const SourceThread& other : sources_.threads) {
      if (other.process->pid != definition.birth_pid) continue;
      const InstanceId base = opens_.instanceOf(other.process_index, definition.handle, time_ns);
      if (base == kNoInstance || opens_[base].rank != thread.header.rank) continue;
      instance = copyOf(base);
      break;
    }
  }
  if (instance == kNoInstance && definition.origin == wire::Origin::kDuplicated) {
    const InstanceId base = opens_.instanceOf(process, definition.description, time_ns);
    if (base != kNoInstance) instance = copyOf(base);
  }
  if (instance == kNoInstance && definition.origin == wire::Origin::kInherited) {
    const InstanceId base = keptOverExec(handle, thread);
    if (base != kNoInstance) instance = copyOf(base);
  }
  if (instance == kNoInstance) instance = preopened(handle, ref, time_ns);
  opens_.bind(process, definition.handle, time_ns, instance);
  opens_.setNumber(process, definition.fd, instance);
  return instance;
}

// What the program had open that this one took the place of, or that began it. The number may be
// another: what a child does between vfork and exec is not recorded.
InstanceId Analysis::keptOverExec(const event::Handle& handle, const SourceThread& thread) {
  const model::FileNumber file = fileOf(handle.path);
  const int access = accessOf(handle.definition.open_flags);
  const auto parent = thread.process->info.number(wire::info::kParent);
  const auto fits = [&](InstanceId instance) {
    return opens_[instance].file == file && opens_[instance].access.value_or(access) == access;
  };
  InstanceId found = kNoInstance;
  InstanceId elsewhere = kNoInstance;
  for (const SourceThread& other : sources_.threads) {
    if (other.process == thread.process || other.header.rank != thread.header.rank) continue;
    const bool same = other.process->pid == thread.process->pid;
    const bool is_parent = parent && other.process->pid == *parent;
    const InstanceId at_number = opens_.atNumber(other.process_index, handle.definition.fd);
    if ((same || is_parent) && at_number != kNoInstance && fits(at_number)) {
      found = at_number;
      if (same) break;
      continue;
    }
    // A process between the two may be one that is not recorded, such as a shell. What is only read
    // it may as well have opened anew.
    const bool may_be_of_others = (access & O_ACCMODE) != O_RDONLY;
    for (const InstanceId instance : opens_.openOrClosed(other.process_index)) {
      const bool is_open = lives_[static_cast<std::size_t>(instance)].is_open;
      if ((!is_parent && !is_open) || !fits(instance)) continue;
      if (is_parent && found == kNoInstance) found = instance;
      if (elsewhere == kNoInstance && is_open && may_be_of_others) elsewhere = instance;
      break;
    }
  }
  return found != kNoInstance ? found : elsewhere;
}

// A copy that is taken as soon as the original is there, so that it can be closed in the meantime.
InstanceId Analysis::copyOf(InstanceId base) {
  const InstanceLife origin = lives_[static_cast<std::size_t>(base)];
  const Instance original = opens_[base];
  const InstanceId copy = makeInstance(original.rank, original.description, original.content,
                                       origin.made, origin.before_run);
  opens_[copy].file = original.file;
  opens_[copy].access = original.access;
  ExtraStep extra;
  extra.behind = origin.before_run ? -1 : static_cast<std::int64_t>(origin.made.ref.sequence);
  extra.event.step = Step::kInherited;
  extra.event.fd = original.descriptor;
  extra.event.new_fd = opens_[copy].descriptor;
  extra.event.start_ns = extra.event.end_ns = origin.before_run ? 0 : origin.made.end_ns;
  extra.event.id = dependencies_.newId();
  lives_[static_cast<std::size_t>(copy)].step_id = extra.event.id;
  threads_[origin.made.ref.thread].extras.push_back(std::move(extra));
  return copy;
}

// A descriptor that no recorded call made.
InstanceId Analysis::preopened(const event::Handle& handle, EventRef ref, std::int64_t start_ns) {
  const SourceThread& thread = sources_.threads[ref.thread];
  const wire::HandleDefinition& definition = handle.definition;
  const model::FileNumber file = fileOf(handle.path);
  const int access = accessOf(definition.open_flags);
  // Processes that write to it most likely have one open in common, as a job's output is. Of those
  // that read, each most likely has its own: else the second would find nothing.
  const bool is_shared = (access & O_ACCMODE) != O_RDONLY;
  const auto key = std::tuple(thread.header.rank, definition.device, definition.inode, access);
  const auto given = is_shared ? given_.find(key) : given_.end();
  if (given != given_.end() && opens_[given->second].file == file) return copyOf(given->second);
  const bool is_of_the_run = files_.isOfTheRun(file);
  const InstanceId instance =
      is_of_the_run ? openedUnseen(handle, ref, start_ns) : openBefore(handle, ref);
  opens_[instance].file = file;
  opens_[instance].access = access;
  if (is_shared) given_[key] = instance;
  return instance;
}

// It was there before the run.
InstanceId Analysis::openBefore(const event::Handle& handle, EventRef ref) {
  const SourceThread& thread = sources_.threads[ref.thread];
  const model::FileNumber file = fileOf(handle.path);
  const int flags = keptFlags(handle.definition.open_flags);
  const std::uint32_t description = opens_.makeDescription(flags);
  const InstanceId instance =
      makeInstance(thread.header.rank, description, files_.inherited(file), {ref, 0}, true);
  ExtraStep extra;
  extra.event.step = Step::kPreopened;
  extra.event.file = file;
  extra.event.arguments[0] = flags;
  extra.event.offset = 0;
  extra.event.new_fd = opens_[instance].descriptor;
  threads_[ref.thread].extras.push_back(std::move(extra));
  return instance;
}

// Something that is not recorded, such as a shell, opened a file that the run made: an open in
// front of the first event that uses it does the same.
InstanceId Analysis::openedUnseen(const event::Handle& handle, EventRef ref,
                                  std::int64_t start_ns) {
  const SourceThread& thread = sources_.threads[ref.thread];
  const model::FileNumber file = fileOf(handle.path);
  int flags = keptFlags(handle.definition.open_flags);
  // "> file" of a shell. It is not told whether it was "1<> file", which nobody writes.
  if ((flags & O_ACCMODE) == O_WRONLY) flags |= O_CREAT;
  if ((flags & O_ACCMODE) == O_WRONLY && (flags & O_APPEND) == 0) flags |= O_TRUNC;
  const PastEvent made{ref, start_ns};
  const ContentId content = files_.openedUnseen(file, made, start_ns, flags);
  const std::uint32_t description = opens_.makeDescription(flags);
  const InstanceId instance = makeInstance(thread.header.rank, description, content, made);
  ExtraStep extra;
  extra.behind = static_cast<std::int64_t>(ref.sequence) - 1;
  model::ScheduleEvent& open = extra.event;
  open.row = &calls::rowOf(calls::CallId::open64);
  open.file = file;
  open.arguments[static_cast<std::size_t>(calls::indexOf(*open.row, Role::kFlags))] = flags;
  if ((flags & O_CREAT) != 0) {
    open.arguments[static_cast<std::size_t>(calls::indexOf(*open.row, Role::kMode))] = 0644;
  }
  open.new_fd = opens_[instance].descriptor;
  open.start_ns = open.end_ns = start_ns;
  open.after = dependencies_.takeBefore(ref);
  open.id = dependencies_.newId();
  lives_[static_cast<std::size_t>(instance)].step_id = open.id;
  threads_[ref.thread].extras.push_back(std::move(extra));
  return instance;
}

}  // namespace omnio::preprocess
