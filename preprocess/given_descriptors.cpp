// Where descriptors come from that a process has without a recorded call that made them: over fork,
// over exec, and from before the recording.
#include <fcntl.h>

#include <algorithm>
#include <iterator>

#include "core/wire/info.hpp"
#include "preprocess/analysis.hpp"

namespace omnio::preprocess {

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

const calls::Row* rowNamed(std::string_view symbol) {
  return std::find_if(std::begin(calls::kTable), std::end(calls::kTable),
                      [symbol](const calls::Row& row) { return row.name == symbol; });
}

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
  const std::uint32_t description = opens_.makeDescription((flags & O_APPEND) != 0, 0, UINT32_MAX);
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
  const std::uint32_t description = opens_.makeDescription((flags & O_APPEND) != 0, 0, UINT32_MAX);
  const InstanceId instance = makeInstance(thread.header.rank, description, content, made);
  ExtraStep extra;
  extra.behind = static_cast<std::int64_t>(ref.sequence) - 1;
  model::ScheduleEvent& open = extra.event;
  open.row = rowNamed("open64");
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
