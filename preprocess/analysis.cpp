#include "preprocess/analysis.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/merged_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::preprocess {

using calls::Class;
using calls::Role;
using model::Step;

namespace {

std::int64_t argument(const Event& event, Role role) {
  const int index = calls::indexOf(*event.row, role);
  return index < 0 ? 0 : event.arguments[static_cast<std::size_t>(index)];
}

const Text* textAt(const Event& event, Role role) {
  const int index = calls::indexOf(*event.row, role);
  if (index < 0) return nullptr;
  const Text& text = event.texts[static_cast<std::size_t>(index)];
  return text.absolute.empty() ? nullptr : &text;
}

bool hasHandle(const calls::Row& row) {
  return calls::has(row, Role::kFd) || calls::has(row, Role::kStream);
}

bool duplicates(const Event& event) {
  if (event.failed || !calls::has(*event.row, Role::kCommand)) return false;
  const std::int64_t command = argument(event, Role::kCommand);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

}  // namespace

std::string otherPathOf(const Event& event) {
  if (const Text* path = textAt(event, Role::kPathNew)) return std::string(path->absolute);
  const int index = calls::indexOf(*event.row, Role::kLinkText);
  const Text* link = textAt(event, Role::kPath);
  if (index < 0 || link == nullptr) return {};
  const std::string_view text = event.texts[static_cast<std::size_t>(index)].raw;
  if (text.empty() || text.front() == '/') return std::string(text);
  // A relative one is resolved from where the link stands.
  return std::string(link->absolute.substr(0, link->absolute.rfind('/') + 1)).append(text);
}

void Analysis::run(PathTable& paths) {
  MergedReader merged;
  for (const SourceThread& thread : sources_.threads) merged.add(thread.open(paths));
  std::vector<std::uint64_t> sequences(sources_.threads.size(), 0);
  while (const Event* event = merged.next()) {
    const auto thread = static_cast<std::uint32_t>(merged.source());
    if (!first_start_) first_start_ = event->start_ns;
    take(*event, {thread, sequences[thread]++});
    ++events_;
  }
  for (ThreadNotes& thread : threads_) {
    std::stable_sort(thread.extras.begin(), thread.extras.end(),
                     [](const ExtraStep& a, const ExtraStep& b) { return a.behind < b.behind; });
  }
}

// A call that names nothing the replay could name cannot be part of the schedule.
bool Analysis::isUsable(const Event& event) const {
  if (hasHandle(*event.row) && event.handle == nullptr) return false;
  for (const Role role : {Role::kPath, Role::kPathTemplate, Role::kPathNew}) {
    if (calls::has(*event.row, role) && textAt(event, role) == nullptr) return false;
  }
  return true;
}

void Analysis::take(const Event& event, EventRef ref) {
  const PastEvent when{ref, event.end_ns};
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
    const Instance& used = opens_[instance];
    Description& description = opens_.description(used.description);
    const bool moves = event.row->call_class == Class::kSeek ||
                       (movesData(event) && !calls::has(*event.row, Role::kOffset));
    if (moves) orderByPosition(event, when, used.description);
    if (moves && description.first_thread != ref.thread) {
      if (description.first_thread == UINT32_MAX)
        description.first_thread = ref.thread;
      else
        description.of_many_threads = true;
    }
    const DataAccess access = follow(event, description);
    takeData(event, when, instance, access);
  }
  ContentId content = kNoContent;
  const Text* path = textAt(event, Role::kPath);
  if (path == nullptr) path = textAt(event, Role::kPathTemplate);
  if (path != nullptr) {
    const std::string other = otherPathOf(event);
    content = files_.named(event, when, fileOf(*path),
                           other.empty() ? model::kNoFileNumber : files_.numberOf(other));
  }
  if (calls::has(*event.row, Role::kFdSource)) {
    note.source =
        opens_.atNumber(thread.process_index, static_cast<int>(argument(event, Role::kFdSource)));
  }
  takeMaker(event, when, instance, content, note);
  if (event.row->call_class == Class::kClose && event.handle != nullptr) {
    opens_.clearNumber(thread.process_index, event.handle->definition.fd);
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
void Analysis::takeMaker(const Event& event, const PastEvent& when, InstanceId from,
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
  std::uint32_t description = 0;
  if (shares) {
    description = opens_[from].description;
    content = opens_[from].content;
  } else {
    if (content == kNoContent) content = files_.anonymous();
    const int flags = static_cast<int>(argument(event, Role::kFlags));
    const int mode = calls::indexOf(*event.row, Role::kOpenMode);
    const bool append = mode >= 0 ? event.texts[static_cast<std::size_t>(mode)].raw.starts_with('a')
                                  : (flags & O_APPEND) != 0;
    description = opens_.makeDescription(append, 0, UINT32_MAX);
    if ((flags & O_DIRECT) != 0) files_.content(content).direct = true;
  }
  note.made = makeInstance(thread.header.rank, description, content, when);
  const Text* path = textAt(event, Role::kPath);
  if (path == nullptr) path = textAt(event, Role::kPathTemplate);
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
  if (calls::has(*event.row, Role::kFdNew) && before != kNoInstance) note.replaced = before;
  opens_.setNumber(process, number, note.made);
}

InstanceId Analysis::unboundOf(const Handle& handle, std::size_t process) {
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
InstanceId Analysis::resolve(const Handle& handle, EventRef ref, std::int64_t time_ns) {
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
  if (instance == kNoInstance) instance = preopened(handle, ref);
  opens_.bind(process, definition.handle, time_ns, instance);
  opens_.setNumber(process, definition.fd, instance);
  return instance;
}

// What the program had open that this one took the place of, or that began it.
InstanceId Analysis::keptOverExec(const Handle& handle, const SourceThread& thread) {
  const model::FileNumber file = fileOf(handle.path);
  const auto parent = thread.process->info.number(wire::info::kParent);
  InstanceId found = kNoInstance;
  for (const SourceThread& other : sources_.threads) {
    if (other.process == thread.process || other.header.rank != thread.header.rank) continue;
    const bool same = other.process->pid == thread.process->pid;
    if (!same && (!parent || other.process->pid != *parent)) continue;
    const InstanceId base = opens_.atNumber(other.process_index, handle.definition.fd);
    if (base == kNoInstance || opens_[base].file != file) continue;
    found = base;
    if (same) break;
  }
  return found;
}

// A copy that is taken as soon as the original is there, so that it can be closed in the meantime.
InstanceId Analysis::copyOf(InstanceId base) {
  const InstanceLife origin = lives_[static_cast<std::size_t>(base)];
  const Instance original = opens_[base];
  const InstanceId copy = makeInstance(original.rank, original.description, original.content,
                                       origin.made, origin.before_run);
  opens_[copy].file = original.file;
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

InstanceId Analysis::preopened(const Handle& handle, EventRef ref) {
  const SourceThread& thread = sources_.threads[ref.thread];
  const wire::HandleDefinition& definition = handle.definition;
  const auto key = std::tuple(thread.header.rank, definition.device, definition.inode);
  const auto given = given_.find(key);
  if (given != given_.end()) return copyOf(given->second);
  const model::FileNumber file = fileOf(handle.path);
  const ContentId content = files_.inherited(file);
  const bool append = (definition.open_flags & O_APPEND) != 0;
  const std::uint32_t description = opens_.makeDescription(append, 0, UINT32_MAX);
  const InstanceId instance =
      makeInstance(thread.header.rank, description, content, {ref, 0}, true);
  opens_[instance].file = file;
  ExtraStep extra;
  extra.event.step = Step::kPreopened;
  extra.event.file = file;
  extra.event.arguments[0] =
      definition.open_flags & ~static_cast<unsigned>(O_CREAT | O_EXCL | O_TRUNC);
  extra.event.offset = 0;
  extra.event.new_fd = opens_[instance].descriptor;
  threads_[ref.thread].extras.push_back(std::move(extra));
  given_.emplace(key, instance);
  return instance;
}

// Threads of one process that share a descriptor: it is made before it is used, and used before it
// is closed.
void Analysis::useInstance(const Event& event, const PastEvent& when, InstanceId instance) {
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
void Analysis::orderByPosition(const Event& event, const PastEvent& when,
                               std::uint32_t description) {
  if (movers_.size() <= description) movers_.resize(description + 1);
  Mover& mover = movers_[description];
  const bool writes = event.row->call_class == Class::kWrite;
  if (mover.any) {
    dependencies_.require(when.ref, event.start_ns, writes ? mover.last_seek : mover.last);
  }
  mover.last = when;
  if (!writes || !mover.any) mover.last_seek = when;
  mover.any = true;
}

// What stood in a stream's buffer is in the file now.
void Analysis::publish(std::uint32_t description, ContentId content, const PastEvent& when) {
  const auto found = buffered_.find(description);
  if (found == buffered_.end()) return;
  conflicts_.wrote(content, found->second, when);
  buffered_.erase(found);
}

void Analysis::takeData(const Event& event, const PastEvent& when, InstanceId instance,
                        const DataAccess& access) {
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
  const Range range = access.offset ? Range{*access.offset, *access.offset + access.bytes}
                                    : Range{0, access.bytes == 0 ? 0 : kAll};
  if (row.call_class == Class::kRead) {
    // A read that finds the end of the file depends on who made it that long, too.
    const Range asked =
        access.offset
            ? Range{*access.offset, *access.offset + std::max<std::uint64_t>(access.bytes, 1)}
            : range;
    conflicts_.reads(used.content, asked, when.ref, event.start_ns);
    files_.read(used.content, event, when, access);
  } else if (row.call_class == Class::kWrite) {
    files_.write(used.content, when, access);
    conflicts_.wrote(used.content, range, when);
    if (is_stream && range.begin < range.end) {
      const auto [at, is_first] = buffered_.emplace(used.description, range);
      if (!is_first) {
        at->second = {std::min(at->second.begin, range.begin), std::max(at->second.end, range.end)};
      }
    }
  } else if (calls::has(row, Role::kLength) && row.variant_of == "ftruncate") {
    files_.resized(
        used.content, when, event.start_ns,
        static_cast<std::uint64_t>(std::max<std::int64_t>(argument(event, Role::kLength), 0)));
  } else if (row.call_class == Class::kSeek && row.result == calls::Result::kPosition &&
             calls::has(row, Role::kWhence) && argument(event, Role::kWhence) == SEEK_END &&
             argument(event, Role::kOffset) == 0) {
    files_.measured(used.content, static_cast<std::uint64_t>(event.result));
  }
}

}  // namespace omnio::preprocess
