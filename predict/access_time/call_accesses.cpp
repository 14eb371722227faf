#include "predict/access_time/call_accesses.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "core/calls/table.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::access_time {

using calls::CallId;
using calls::Class;
using calls::Effect;
using calls::Role;
using model::Descriptor;
using model::ScheduleEvent;

namespace {

// The buffer of a stream, as the C library makes it on most file systems.
constexpr double kStreamBuffer = 4096;
constexpr double kPage = 4096;  // of the kernel's cache

enum class Meaning : std::uint8_t { kExact, kAlike };

bool setsLength(const calls::Row& row) {
  return calls::does(row, Effect::kSetsLength) || row.plain == CallId::MPI_File_set_size;
}

bool removesName(const calls::Row& row) {
  return calls::does(row, Effect::kRemovesName) || row.plain == CallId::MPI_File_delete;
}

// The operation of a calibration that is a metadata call, or is most like it.
std::optional<std::pair<CellOperation, Meaning>> metadataOperation(const calls::Row& row) {
  const auto does = [&row](Effect effect) { return calls::does(row, effect); };
  const auto exact = [](CellOperation operation) { return std::pair(operation, Meaning::kExact); };
  const auto alike = [](CellOperation operation) { return std::pair(operation, Meaning::kAlike); };
  if (setsLength(row)) return exact(CellOperation::kFtruncate);
  if (does(Effect::kReservesSpace)) return alike(CellOperation::kFtruncate);
  if (does(Effect::kRenames)) return exact(CellOperation::kRename);
  if (does(Effect::kMakesDirectory)) return exact(CellOperation::kMkdir);
  if (does(Effect::kRemovesDirectory)) return exact(CellOperation::kRmdir);
  if (removesName(row)) return exact(CellOperation::kUnlink);
  if (does(Effect::kMakesName)) return alike(CellOperation::kCreate);
  if (does(Effect::kSeesSize)) return exact(CellOperation::kStat);
  if (row.plain == CallId::readdir || row.plain == CallId::scandir) {
    return exact(CellOperation::kReaddir);
  }
  // Attributes, access, links: a look-up of a name, as stat does.
  if (row.call_class == Class::kMetadata) return alike(CellOperation::kStat);
  return {};
}

}  // namespace

std::optional<Access> accessOfCall(const calls::Row& row) {
  switch (row.call_class) {
    case Class::kOpen:
      return Access{.operation = CellOperation::kOpen};
    case Class::kClose:
      return Access{.operation = CellOperation::kClose};
    case Class::kSync:
      if (row.api == calls::Api::kStdio) return {};
      return Access{.operation = row.plain == CallId::fdatasync ? CellOperation::kFdatasync
                                                                : CellOperation::kFsync};
    case Class::kMetadata: {
      const auto operation = metadataOperation(row);
      const bool is_of_storage =
          operation && (operation->second == Meaning::kExact || calls::has(row, Role::kPath));
      if (!is_of_storage) return {};
      return Access{.operation = operation->first,
                    .stands_for_another = operation->second == Meaning::kAlike};
    }
    default:
      return {};
  }
}

void Pauses::mark(const ScheduleEvent& event, std::vector<Access>& accesses) {
  // Far longer than calls need that do not wait for storage: something else was done.
  constexpr std::int64_t kLeastPauseNs = 100'000;
  if (event.step == model::Step::kPreopened) return;
  const bool is_delay = event.step == model::Step::kDelay;
  if ((is_delay ? event.end_ns : event.start_ns) - end_ns_ >= kLeastPauseNs) done_.reset();
  for (Access& access : accesses) {
    const auto operation = static_cast<std::size_t>(access.operation);
    access.is_paused = !done_[operation];
    done_.set(operation);
  }
  end_ns_ = std::max(end_ns_, event.end_ns);
}

CallAccesses::CallAccesses(const std::vector<FileFacts>& files) : files_(files) {
  states_.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto size = static_cast<double>(files[i].size);
    states_[i] = {.exists = files[i].exists, .size = size, .before = size, .there = size};
  }
}

void CallAccesses::beginRank() {
  opens_.clear();
  mappings_.clear();
  of_mappings_.clear();
  for (const std::uint32_t file : touched_) states_[file].dirty_bytes = 0;
  for (const std::uint32_t file : made_) states_[file].is_new = false;
  // A rank that takes turns with others in a file writes what is not there, wherever they have
  // been.
  for (const std::uint32_t file : changed_) {
    FileState& state = states_[file];
    state.there = state.before;
    state.written.clear();
    state.read_end = 0;
    state.is_changed = false;
  }
  touched_.clear();
  made_.clear();
  changed_.clear();
}

// The file has no more than so many bytes.
void CallAccesses::cut(model::FileNumber file, double length) {
  FileState* const state = stateOf(file);
  if (state == nullptr) return;
  state->size = length;
  state->before = std::min(state->before, length);
  state->written.cut(static_cast<std::uint64_t>(std::max(length, 0.0)));
  state->read_end = std::min(state->read_end, length);
  setThere(file, std::min(state->there, length));
}

void CallAccesses::setThere(model::FileNumber file, double end) {
  FileState* const state = stateOf(file);
  if (state == nullptr || state->there == end) return;
  noteChanged(file, *state);
  state->there = end;
}

void CallAccesses::noteChanged(model::FileNumber file, FileState& state) {
  if (!std::exchange(state.is_changed, true)) changed_.push_back(static_cast<std::uint32_t>(file));
}

CallAccesses::FileState* CallAccesses::stateOf(model::FileNumber file) {
  const auto number = static_cast<std::size_t>(file);
  return number < states_.size() ? &states_[number] : nullptr;
}

CallAccesses::Open& CallAccesses::openOf(Descriptor descriptor) {
  auto& open = opens_[static_cast<std::int64_t>(descriptor)];
  if (!open) open = std::make_shared<Open>();
  return *open;
}

void CallAccesses::add(CellOperation operation, model::FileNumber file, double bytes,
                       bool stands_for_another) {
  const auto number = static_cast<std::size_t>(file);
  const bool is_shared = number < files_.size() && files_[number].is_in_shared_folder;
  found_.push_back({.operation = operation,
                    .sharing = is_shared ? FileSharing::kShared : FileSharing::kOwn,
                    .bytes = bytes,
                    .stands_for_another = stands_for_another});
}

// A new file's name is not data, and still has to be written, or the data could not be found.
void CallAccesses::addSync(CellOperation operation, model::FileNumber file, double bytes) {
  FileState* const state = stateOf(file);
  const bool is_new = state != nullptr && std::exchange(state->is_new, false);
  add(is_new ? CellOperation::kFsync : operation, file, bytes);
  found_.back().is_new = is_new;
  // The sync of a file of several ranks writes what the others have written too. They need not.
  const auto number = static_cast<std::size_t>(file);
  const bool is_shared = !is_new && number < files_.size() && files_[number].is_shared;
  found_.back().sharing = is_shared ? FileSharing::kShared : FileSharing::kOwn;
}

const std::vector<Access>& CallAccesses::of(const ScheduleEvent& event) {
  found_.clear();
  if (event.step == model::Step::kDelay) return found_;
  if (event.step == model::Step::kInherited) {
    opens_[static_cast<std::int64_t>(event.new_fd)] = opens_[static_cast<std::int64_t>(event.fd)];
    return found_;
  }
  if (event.step == model::Step::kPreopened) {
    Open& open = openOf(event.new_fd);
    open = {.file = event.file};
    open.position = std::max<std::int64_t>(event.offset, 0);
    return found_;
  }
  const MovedBytes moved_before = moved_;
  const bool is_in_memory = isInMemory(event);
  switch (event.row->call_class) {
    case Class::kOpen:
      open(event);
      break;
    case Class::kClose:
      close(event);
      break;
    case Class::kRead:
    case Class::kWrite:
      transfer(event);
      break;
    case Class::kSync:
      sync(event);
      break;
    case Class::kMetadata:
    case Class::kMpiFile:
      metadata(event);
      break;
    case Class::kMapping:
      if (event.row->plain == CallId::mmap && !event.failed) {
        mappings_[{pid_, model::argumentOf(event, Role::kMapping)}] = openOf(event.fd).file;
      }
      break;
    case Class::kSeek:
    case Class::kAsync:
    case Class::kMpiSync:
    case Class::kThreadSync:
      break;
  }
  if (is_in_memory) {
    found_.clear();
    moved_ = moved_before;
  }
  if (event.file != model::kNoFileNumber && !found_.empty() && !found_.front().movesData()) {
    found_.front().look_ups = lookUpsOf(event);
  }
  return found_;
}

model::FileNumber CallAccesses::fileOf(const ScheduleEvent& event) const {
  if (event.file != model::kNoFileNumber) return event.file;
  const auto open = opens_.find(static_cast<std::int64_t>(event.fd));
  return open != opens_.end() && open->second ? open->second->file : model::kNoFileNumber;
}

bool CallAccesses::isInMemory(const ScheduleEvent& event) const {
  const auto number = static_cast<std::size_t>(fileOf(event));
  return number < files_.size() && files_[number].is_in_memory;
}

double CallAccesses::lookUpsOf(const ScheduleEvent& event) const {
  if (event.lookups != model::kAllLookups) return event.lookups;
  const auto number = static_cast<std::size_t>(event.file);
  return number < files_.size() ? files_[number].names : 0;
}

void CallAccesses::open(const ScheduleEvent& event) {
  if (event.failed) return add(CellOperation::kStat, event.file);
  FileState* const state = stateOf(event.file);
  const bool is_mpi = event.row->api == calls::Api::kMpi;
  const int flags = is_mpi ? O_CREAT : model::openFlags(event);
  const bool makes = (flags & O_CREAT) != 0 || calls::does(*event.row, Effect::kChoosesName);
  const bool is_new = makes && state != nullptr && !state->exists;
  add(is_new ? CellOperation::kCreate : CellOperation::kOpen, event.file);
  if (!is_new && (flags & O_TRUNC) != 0 && state != nullptr && state->size > 0) {
    add(CellOperation::kFtruncate, event.file);
    cut(event.file, 0);
  }
  if (state != nullptr) state->exists = true;
  if (is_new) {
    cut(event.file, 0);
    state->is_new = true;
    made_.push_back(static_cast<std::uint32_t>(event.file));
  }
  auto& open = opens_[static_cast<std::int64_t>(event.new_fd)];
  open = std::make_shared<Open>();
  open->file = event.file;
  open->is_direct = (flags & O_DIRECT) != 0;
  open->syncs = (flags & O_DSYNC) != 0;
  open->appends = (flags & O_APPEND) != 0;
}

void CallAccesses::close(const ScheduleEvent& event) {
  if (event.fd == model::kNoDescriptor) return;
  if (of_mappings_.erase(static_cast<std::int64_t>(event.fd)) > 0) {
    // The application has unmapped, and closed nothing.
    opens_.erase(static_cast<std::int64_t>(event.fd));
    return;
  }
  const auto found = opens_.find(static_cast<std::int64_t>(event.fd));
  if (found == opens_.end() || !found->second) return add(CellOperation::kClose, event.file);
  Open& open = *found->second;
  flush(open);
  add(CellOperation::kClose, open.file, std::exchange(open.unsynced_bytes, 0));
  opens_.erase(found);
}

void CallAccesses::transfer(const ScheduleEvent& event) {
  const auto bytes = static_cast<double>(model::bytesMoved(event));
  const CellOperation operation =
      event.row->call_class == Class::kRead ? CellOperation::kRead : CellOperation::kWrite;
  if (calls::has(*event.row, Role::kMapping)) return touchPages(event, bytes);
  if (event.row->api == calls::Api::kMpi) ++mpi_calls_;
  Open& open = openOf(event.fd);
  moved_.by_calls += bytes;
  if (open.is_direct) moved_.direct += bytes;
  if (calls::does(*event.row, Effect::kEndsTransfer)) moved_.asynchronous += bytes;
  if (calls::usesStream(*event.row)) {
    // It does less than the buffer at once; a large item passes by it.
    double& held = operation == CellOperation::kWrite ? open.buffered_bytes : open.read_ahead_bytes;
    if (operation == CellOperation::kWrite) {
      held += bytes;
      if (held < kStreamBuffer) return;
      const double whole = std::floor(held / kStreamBuffer) * kStreamBuffer;
      held -= whole;
      return data(operation, open, whole, model::kUnknownOffset);
    }
    if (held >= bytes) {
      held -= bytes;
      return;
    }
    const double wanted = std::ceil((bytes - held) / kStreamBuffer) * kStreamBuffer;
    held += wanted - bytes;
    return data(operation, open, wanted, model::kUnknownOffset);
  }
  data(operation, open, bytes, event.offset);
}

void CallAccesses::touchPages(const ScheduleEvent& event, double bytes) {
  moved_.mapped += bytes;
  if (event.fd == model::kNoDescriptor) return;
  of_mappings_.insert(static_cast<std::int64_t>(event.fd));
  if (event.row->call_class != Class::kWrite) return;
  Open& open = openOf(event.fd);
  makeDirty(open, bytes);
  FileState* const state = stateOf(open.file);
  if (state == nullptr || event.offset == model::kUnknownOffset) return;
  const double end = static_cast<double>(event.offset) + bytes;
  state->size = std::max(state->size, end);
  noteWritten(open.file, *state, end - bytes, end);
  setThere(open.file, std::max(state->there, end));
}

void CallAccesses::makeDirty(Open& open, double bytes) {
  FileState* const state = stateOf(open.file);
  if (state == nullptr) return;
  if (state->dirty_bytes == 0) touched_.push_back(static_cast<std::uint32_t>(open.file));
  state->dirty_bytes += bytes * dirty_scale_;
}

void CallAccesses::data(CellOperation operation, Open& open, double bytes, std::int64_t offset) {
  FileState* const state = stateOf(open.file);
  if (operation == CellOperation::kWrite && open.appends && state != nullptr) {
    offset = open.position = static_cast<std::int64_t>(state->there);
  } else if (offset == model::kUnknownOffset) {
    offset = open.position;
  }
  const auto file = static_cast<std::size_t>(open.file);
  const bool is_shared = file < files_.size() && files_[file].is_shared;
  Access access{.operation = operation,
                .order = AccessOrder::kSequential,
                .sharing = is_shared ? FileSharing::kShared : FileSharing::kOwn,
                .bytes = std::max(bytes, 1.0),
                .delta_offset = offset - open.position};
  if (access.delta_offset != 0) {
    // Ranks that take turns in a file are as far behind each other each time.
    const bool is_constant = open.delta_offset == 0 || open.delta_offset == access.delta_offset;
    access.order = is_shared && access.delta_offset > 0 && is_constant ? AccessOrder::kStrided
                                                                       : AccessOrder::kRandom;
    open.delta_offset = access.delta_offset;
  }
  open.position = offset + static_cast<std::int64_t>(bytes);
  const double end = static_cast<double>(open.position);
  if (operation == CellOperation::kWrite && state != nullptr) {
    access.extends = end > state->there;
    // A file grows at its end, by one process or by several in turn.
    if (access.extends) {
      access.order = is_shared ? AccessOrder::kStrided : AccessOrder::kSequential;
    }
    if (access.extends && !is_shared && !open.is_direct && bytes < kPage) {
      // Small writes one after another, as calibrations have them, mostly find the page of the one
      // before. A write that needs a new page takes as long as one of a page.
      const bool has_page = std::ceil(end / kPage) == std::ceil(state->there / kPage);
      if (has_page) {
        access.extends = false;
      } else {
        access.bytes = kPage;
      }
    }
    state->size = std::max(state->size, end);
    noteWritten(open.file, *state, static_cast<double>(offset), end);
    makeDirty(open, bytes);
    open.unsynced_bytes += bytes * dirty_scale_;
  }
  if (operation == CellOperation::kRead && state != nullptr) {
    noteChanged(open.file, *state);
    noteRead(*state, access, static_cast<double>(offset), bytes);
  }
  if (state != nullptr) setThere(open.file, std::max(state->there, std::min(end, state->size)));
  found_.push_back(access);
  if (operation == CellOperation::kWrite && open.syncs) {
    addSync(CellOperation::kFdatasync, open.file, bytes);
    if (state != nullptr) state->dirty_bytes = 0;
    open.unsynced_bytes = 0;
  }
}

void CallAccesses::noteWritten(model::FileNumber file, FileState& state, double begin, double end) {
  if (begin < 0) return;  // a call that failed for it
  noteChanged(file, state);
  state.written.add({static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)});
}

// Whether it is the first read of what this rank has added to the file. Data from before the run,
// or from other ranks, may lie on another node. A stream fills its buffer also at the file's end,
// so bytes behind that do not count.
void CallAccesses::noteRead(FileState& state, Access& access, double begin, double bytes) {
  const double end = std::min(begin + bytes, state.size);
  if (begin < 0 || begin >= end) return;
  const double unread = std::max(state.read_end, state.before);
  // After going back to the first of it, it is read in order too.
  const bool is_in_order = access.order != AccessOrder::kRandom || begin == unread;
  access.is_new = is_in_order && begin >= unread &&
                  state.written.lastUncovered(
                      {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)}) == 0;
  if (access.is_new && access.order == AccessOrder::kRandom) {
    access.order = AccessOrder::kSequential;
  }
  state.read_end = std::max(state.read_end, end);
}

void CallAccesses::flush(Open& open) {
  if (open.buffered_bytes == 0) return;
  data(CellOperation::kWrite, open, open.buffered_bytes, model::kUnknownOffset);
  open.buffered_bytes = 0;
}

void CallAccesses::sync(const ScheduleEvent& event) {
  // fflush writes the buffer of a stream out, to the file and not to storage.
  if (event.row->api == calls::Api::kStdio) return flush(openOf(event.fd));
  if (calls::has(*event.row, Role::kMapping)) return syncMapping(event);
  const bool is_of_file = event.fd != model::kNoDescriptor;
  const bool is_of_data = event.row->plain == CallId::fdatasync;
  const CellOperation operation = is_of_data ? CellOperation::kFdatasync : CellOperation::kFsync;
  if (is_of_file && event.row->plain != CallId::syncfs) {
    Open& open = openOf(event.fd);
    open.unsynced_bytes = 0;
    FileState* const state = stateOf(open.file);
    addSync(operation, open.file, state != nullptr ? state->dirty_bytes : 0);
    if (state != nullptr) state->dirty_bytes = 0;
    return;
  }
  double dirty_bytes = 0;
  for (const std::uint32_t file : touched_) {
    dirty_bytes += states_[file].dirty_bytes;
    states_[file].dirty_bytes = 0;
  }
  for (const std::uint32_t file : made_) states_[file].is_new = false;
  touched_.clear();
  made_.clear();
  add(operation, event.file, dirty_bytes, true);
}

// Linux syncs the data of the range, as fdatasync does that of the file, and does nothing at all
// where it shall not wait.
void CallAccesses::syncMapping(const ScheduleEvent& event) {
  if ((model::argumentOf(event, Role::kFlags) & MS_SYNC) == 0) return;
  const auto mapping = mappings_.find({pid_, model::argumentOf(event, Role::kMapping)});
  const auto file = mapping != mappings_.end() ? mapping->second : model::kNoFileNumber;
  FileState* const state = stateOf(file);
  double bytes = 0;
  if (state != nullptr) {
    const auto length = static_cast<double>(model::argumentOf(event, Role::kLength));
    bytes = std::min(state->dirty_bytes, length * dirty_scale_);
    state->dirty_bytes -= bytes;
  }
  addSync(CellOperation::kFdatasync, file, bytes);
}

void CallAccesses::rename(model::FileNumber from, model::FileNumber to, bool exchanges) {
  FileState* const old = stateOf(from);
  FileState* const renamed = stateOf(to);
  FileState moved = old != nullptr ? *old : FileState{};
  moved.exists = true;
  if (old != nullptr) *old = exchanges && renamed != nullptr ? *renamed : FileState{};
  if (renamed != nullptr) *renamed = moved;
  for (const auto& [file, state] : {std::pair(from, old), std::pair(to, renamed)}) {
    if (state == nullptr) continue;
    const auto number = static_cast<std::uint32_t>(file);
    if (state->dirty_bytes > 0) touched_.push_back(number);
    if (state->is_new) made_.push_back(number);
    if (state->is_changed) changed_.push_back(number);
  }
  const auto follow = [&](model::FileNumber& file) {
    if (file == from) {
      file = to;
    } else if (file == to && exchanges) {
      file = from;
    }
  };
  std::set<const Open*> followed;  // descriptors may share one
  for (auto& [descriptor, open] : opens_) {
    if (open && followed.insert(open.get()).second) follow(open->file);
  }
  for (auto& [mapping, file] : mappings_) follow(file);
}

void CallAccesses::metadata(const ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  const auto does = [&row](Effect effect) { return calls::does(row, effect); };
  const bool names = event.file != model::kNoFileNumber;
  const model::FileNumber file =
      names || event.fd == model::kNoDescriptor ? event.file : openOf(event.fd).file;
  FileState* const state = stateOf(file);
  if (event.new_fd != model::kNoDescriptor) {  // dup, fdopen
    opens_[static_cast<std::int64_t>(event.new_fd)] = opens_[static_cast<std::int64_t>(event.fd)];
    return;
  }
  if (event.failed) {
    if (names) add(CellOperation::kStat, file);
    return;
  }
  if (setsLength(row) || does(Effect::kReservesSpace)) {
    if (state != nullptr) {
      const auto length = static_cast<double>(model::argumentOf(event, Role::kLength));
      // Where the file becomes longer, no data is there yet.
      cut(file, setsLength(row) ? length : std::max(state->size, length));
    }
  } else if (does(Effect::kRenames)) {
    rename(file, event.new_file, (model::argumentOf(event, Role::kFlags) & RENAME_EXCHANGE) != 0);
  } else if (removesName(row)) {
    if (state != nullptr) *state = {};
  } else if (const auto flags = model::flagsSet(event)) {
    Open& open = openOf(event.fd);
    open.appends = (*flags & O_APPEND) != 0;
    open.is_direct = (*flags & O_DIRECT) != 0;
  }
  // A listing reads many entries at a time: the last call asks the system, as does the first.
  if (row.plain == CallId::readdir && event.result != 0) return;
  const auto operation = metadataOperation(row);
  if (operation && (names || operation->second == Meaning::kExact)) {
    add(operation->first, file, 0, operation->second == Meaning::kAlike);
  }
}

}  // namespace omnio::access_time
