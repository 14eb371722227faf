#include "replay/run/mpi_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/calls/mpi_errors.hpp"
#include "core/event/event.hpp"
#include "core/event/io_time.hpp"
#include "replay/issue/libc.hpp"
#include "replay/run/pieces.hpp"

namespace omnio::replay {
namespace {

using calls::CallId;
using calls::Role;

std::int64_t argumentOf(const Instruction& instruction, Role role) {
  const int index = calls::indexOf(calls::kTable[instruction.op.row], role);
  return index < 0 ? 0 : instruction.arguments[static_cast<std::size_t>(index)];
}

// A file that is deleted when it is closed may be closed in the first tree (MpiFiles::finish).
constexpr Names::Wanted kMpiNames{.path = true, .from_first_tree = true};

// Libraries take what stands before a colon for the name of a file system, and ROMIO leaves it out:
// behind "ufs:" may be an absolute path. Our names are relative, and stay it; those in other trees
// than the first are not, and have no colon (TreeChoice, checkNamesForMpi).
std::string nameIn(const IssueContext& context) {
  const std::string_view name = context.names.path();
  const bool needs_dot = name.find(':') != std::string_view::npos && !name.starts_with('/');
  return fmt::format("{}{}", needs_dot ? "./" : "", name);
}

Outcome notIssued() { return {.substitute = Substitute::kNotIssued, .issued = false}; }

#ifdef OPEN_MPI
#define OMNIO_SAME_ERROR(NAME, OPEN, OTHER) static_assert(MPI_ERR_##NAME == (OPEN));
OMNIO_MPI_ERRORS(OMNIO_SAME_ERROR)
#undef OMNIO_SAME_ERROR
#elif defined(MPICH)
#define OMNIO_SAME_ERROR(NAME, OPEN, OTHER) static_assert(MPI_ERR_##NAME == (OTHER));
OMNIO_MPI_ERRORS(OMNIO_SAME_ERROR)
#undef OMNIO_SAME_ERROR
#endif

// In the numbers that schedules have.
std::int64_t errorClassOf(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  switch (error_class) {
#define OMNIO_ERROR_CASE(NAME, OPEN, OTHER) \
  case MPI_ERR_##NAME:                      \
    return OPEN;
    OMNIO_MPI_ERRORS(OMNIO_ERROR_CASE)
#undef OMNIO_ERROR_CASE
    default:
      return error_class;
  }
}

// Runs the call between two readings of the clock, when it is due.
template <typename Call>
Outcome timed(const IssueContext& context, Call call) {
  Outcome outcome;
  if (context.is_timed) {
    outcome.start_ns = nowNs();
    while (outcome.start_ns < context.due_ns) outcome.start_ns = nowNs();
  }
  const int code = call();
  outcome.end_ns = context.is_timed ? nowNs() : 0;
  outcome.failed = code != MPI_SUCCESS;
  if (outcome.failed) outcome.result = errorClassOf(code);
  return outcome;
}

// Ranks may leave a collective call before others have come, who were not waited for. `last`: when
// the last came to each meeting; becomes that of those that came before this rank left. All of the
// group call it.
void leaveOutLater(MPI_Comm group, const std::vector<Meeting>& meetings,
                   std::vector<std::int64_t>& last) {
  std::vector<std::uint8_t> are_left_early;
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    are_left_early.push_back(meetings[i].left_ns < last[i] ? 1 : 0);
  }
  forEachPiece(meetings.size(), largestPiece(), [&](std::uint64_t first, int count) {
    MPI_Allreduce(MPI_IN_PLACE, are_left_early.data() + first, count, MPI_UINT8_T, MPI_MAX, group);
  });
  int members = 0;
  MPI_Comm_size(group, &members);
  // So many at a time that 8 MiB are enough.
  const std::size_t most = std::max<std::size_t>((1U << 20) / static_cast<unsigned>(members), 1);
  std::vector<std::size_t> numbers;
  std::vector<std::int64_t> own;
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i <= meetings.size(); ++i) {
    const bool is_end = i == meetings.size();
    if (!is_end && are_left_early[i] != 0) {
      numbers.push_back(i);
      own.push_back(meetings[i].came_ns);
    }
    if (numbers.size() < most && !(is_end && !numbers.empty())) continue;
    all.resize(own.size() * static_cast<std::size_t>(members));
    MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_INT64_T, all.data(),
                  static_cast<int>(own.size()), MPI_INT64_T, group);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::int64_t latest = own[k];
      for (std::size_t at = k; at < all.size(); at += own.size()) {
        if (all[at] <= meetings[numbers[k]].left_ns) latest = std::max(latest, all[at]);
      }
      last[numbers[k]] = latest;
    }
    numbers.clear();
    own.clear();
  }
}

}  // namespace

TransferMemory::TransferMemory(IssueContext& context, std::uint64_t number, std::uint64_t bytes,
                               bool reads)
    : pool_(*context.requests) {
  // Operations of aio.h have small numbers there.
  constexpr std::uint64_t kOfMpi = std::uint64_t{1} << 63;
  const Requests::Key key{context.process, kOfMpi | number};
  if (pool_.begin(key, static_cast<std::size_t>(bytes)) != nullptr) own_ = pool_.take(key);
  if (own_ == nullptr) {
    data_ = reads ? context.buffers->forRead(false)
                  : context.buffers->forWrite(static_cast<std::size_t>(bytes), false).data();
    return;
  }
  data_ = own_->memory.data();
  for (std::span<char> left = own_->memory.first(static_cast<std::size_t>(bytes));
       !reads && !left.empty();) {
    const std::span<char> content = context.buffers->forWrite(left.size(), false);
    if (content.empty()) break;
    std::ranges::copy(content, left.begin());
    left = left.subspan(content.size());
  }
}

TransferMemory::~TransferMemory() {
  if (own_ != nullptr) pool_.giveBack(std::move(own_));
}

MpiFiles::~MpiFiles() {
  for (MPI_Comm& group : groups_) {
    if (group != MPI_COMM_NULL) MPI_Comm_free(&group);
  }
}

base::Result<void> MpiFiles::prepare(MPI_Comm world) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(world, &all);
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  groups_.resize(plan_.global.mpi->groups.size(), MPI_COMM_NULL);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::vector<int>& members = plan_.global.mpi->groups[i];
    if (std::find(members.begin(), members.end(), rank) == members.end()) continue;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group);
    MPI_Comm_create_group(world, group, static_cast<int>(i % INT16_MAX), &groups_[i]);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&all);
  for (const std::string& text : plan_.global.mpi->types) {
    base::Result<OwnType> type = makeMpiType(text);
    if (!type) return type.failure();
    types_.push_back(std::move(*type));
  }
  return {};
}

MpiFiles::File* MpiFiles::find(std::uint32_t slot) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(slot);
  return found == files_.end() || found->second.handle == MPI_FILE_NULL ? nullptr : &found->second;
}

Outcome MpiFiles::issue(const Instruction& instruction, IssueContext& context) {
  const calls::Row& row = calls::kTable[instruction.op.row];
  if (calls::has(row, Role::kDone)) return wait(instruction, context);
  if (row.call_class == calls::Class::kOpen) return open(instruction, context);
  if (calls::has(row, Role::kPath)) {
    context.names.find(instruction.op, kMpiNames, context.descriptors);
    const std::string name = nameIn(context);
    return timed(context, [&] { return MPI_File_delete(name.c_str(), MPI_INFO_NULL); });
  }
  File* const file = find(instruction.op.fd);
  if (file == nullptr) return notIssued();
  const std::int32_t group = event::waitsForGroup(row) ? file->group : -1;
  const bool transfers = event::transfersData(row) || calls::does(row, calls::Effect::kSplitEnd);
  // See `turn_`. A call that ranks meet in lasts as long as the slowest of them takes to come.
  const bool is_close = row.call_class == calls::Class::kClose;
  // What no step waits for is over before the file is closed: libraries want the file for it.
  if (is_close) completeAll(instruction.op.fd);
  const bool has_request = calls::has(row, Role::kRequest);
  const bool begins = has_request || calls::does(row, calls::Effect::kSplitBegin);
  std::optional<OwnTurn> own;
  if (begins || hasPending()) {
    if (is_alone_ || has_request || row.sync != calls::Sync::kAll) own.emplace(turn_);
  }
  Outcome outcome = is_close    ? close(instruction, context)
                    : transfers ? transfer(instruction, context, *file)
                                : other(instruction, context, *file);
  outcome.group = group;
  return outcome;
}

Outcome MpiFiles::open(const Instruction& instruction, IssueContext& context) {
  const auto group = static_cast<std::size_t>(argumentOf(instruction, Role::kNewComm));
  if (group >= groups_.size() || groups_[group] == MPI_COMM_NULL) return notIssued();
  context.names.find(instruction.op, kMpiNames, context.descriptors);
  const std::string name = nameIn(context);
  const OwnInfo hints(instruction.text);
  const auto amode = static_cast<int>(argumentOf(instruction, Role::kAmode));
  MPI_File handle = MPI_FILE_NULL;
  Outcome outcome = timed(context, [&] {
    return MPI_File_open(groups_[group], name.c_str(), amode, hints.get(), &handle);
  });
  outcome.group = static_cast<std::int32_t>(group);
  if (instruction.op.new_fd == kNoSlot) {
    // It failed in the recording. Here, all of the group have it open.
    if (!outcome.failed) MPI_File_close(&handle);
    return outcome;
  }
  const std::lock_guard lock(mutex_);
  files_[instruction.op.new_fd] = {.handle = outcome.failed ? MPI_FILE_NULL : handle,
                                   .group = outcome.group};
  return outcome;
}

Outcome MpiFiles::close(const Instruction& instruction, const IssueContext& context) {
  File* const file = find(instruction.op.fd);
  if (file == nullptr) return notIssued();
  MPI_File handle = file->handle;
  const Outcome outcome = timed(context, [&] { return MPI_File_close(&handle); });
  const std::lock_guard lock(mutex_);
  files_.erase(instruction.op.fd);
  return outcome;
}

Outcome MpiFiles::transfer(const Instruction& instruction, IssueContext& context, File& file) {
  const calls::Row& row = calls::kTable[instruction.op.row];
  const bool reads = row.call_class == calls::Class::kRead;
  const std::uint64_t bytes = instruction.op.request;
  const MPI_Offset offset = argumentOf(instruction, Role::kOffset);
  Pending pending;
  MPI_Datatype type = MPI_BYTE;
  int count = static_cast<int>(bytes);
  if (bytes > INT_MAX) {
    pending.type = makeBytes(bytes);
    type = pending.type.get();
    count = 1;
  }
  const bool begins = calls::does(row, calls::Effect::kSplitBegin);
  // 0: in the recording it was complete at once, and no later call waits for it.
  const auto number = static_cast<std::uint64_t>(argumentOf(instruction, Role::kRequest));
  std::unique_ptr<TransferMemory> memory;
  void* buffer = file.split;
  if (begins || number != 0) {
    memory = std::make_unique<TransferMemory>(context, ++transfers_, bytes, reads);
    buffer = memory->data();
  } else if (!calls::does(row, calls::Effect::kSplitEnd)) {
    buffer = reads ? context.buffers->forRead(false)
                   : context.buffers->forWrite(static_cast<std::size_t>(bytes), false).data();
  }
  MPI_Status status{};  // libraries leave it alone where nothing is moved
  const MPI_File handle = file.handle;
  Outcome outcome;

#define OMNIO_NOW(NAME)                                                                        \
  case CallId::MPI_File_##NAME:                                                                \
    outcome =                                                                                  \
        timed(context, [&] { return MPI_File_##NAME(handle, buffer, count, type, &status); }); \
    break;
#define OMNIO_NOW_AT(NAME)                                                                       \
  case CallId::MPI_File_##NAME:                                                                  \
    outcome = timed(                                                                             \
        context, [&] { return MPI_File_##NAME(handle, offset, buffer, count, type, &status); }); \
    break;
#define OMNIO_LATER(NAME)                                                                         \
  case CallId::MPI_File_##NAME:                                                                   \
    outcome = timed(                                                                              \
        context, [&] { return MPI_File_##NAME(handle, buffer, count, type, &pending.request); }); \
    break;
#define OMNIO_LATER_AT(NAME)                                                         \
  case CallId::MPI_File_##NAME:                                                      \
    outcome = timed(context, [&] {                                                   \
      return MPI_File_##NAME(handle, offset, buffer, count, type, &pending.request); \
    });                                                                              \
    break;
#define OMNIO_SPLIT(NAME)                                                                     \
  case CallId::MPI_File_##NAME##_begin:                                                       \
    outcome =                                                                                 \
        timed(context, [&] { return MPI_File_##NAME##_begin(handle, buffer, count, type); }); \
    break;                                                                                    \
  case CallId::MPI_File_##NAME##_end:                                                         \
    outcome = timed(context, [&] { return MPI_File_##NAME##_end(handle, buffer, &status); }); \
    break;
#define OMNIO_SPLIT_AT(NAME)                                                                       \
  case CallId::MPI_File_##NAME##_begin:                                                            \
    outcome = timed(context,                                                                       \
                    [&] { return MPI_File_##NAME##_begin(handle, offset, buffer, count, type); }); \
    break;                                                                                         \
  case CallId::MPI_File_##NAME##_end:                                                              \
    outcome = timed(context, [&] { return MPI_File_##NAME##_end(handle, buffer, &status); });      \
    break;

  switch (row.id()) {
    OMNIO_NOW(read)
    OMNIO_NOW(write)
    OMNIO_NOW(read_all)
    OMNIO_NOW(write_all)
    OMNIO_NOW(read_shared)
    OMNIO_NOW(write_shared)
    OMNIO_NOW(read_ordered)
    OMNIO_NOW(write_ordered)
    OMNIO_NOW_AT(read_at)
    OMNIO_NOW_AT(write_at)
    OMNIO_NOW_AT(read_at_all)
    OMNIO_NOW_AT(write_at_all)
    OMNIO_LATER(iread)
    OMNIO_LATER(iwrite)
    OMNIO_LATER(iread_all)
    OMNIO_LATER(iwrite_all)
    OMNIO_LATER(iread_shared)
    OMNIO_LATER(iwrite_shared)
    OMNIO_LATER_AT(iread_at)
    OMNIO_LATER_AT(iwrite_at)
    OMNIO_LATER_AT(iread_at_all)
    OMNIO_LATER_AT(iwrite_at_all)
    OMNIO_SPLIT(read_all)
    OMNIO_SPLIT(write_all)
    OMNIO_SPLIT(read_ordered)
    OMNIO_SPLIT(write_ordered)
    OMNIO_SPLIT_AT(read_at_all)
    OMNIO_SPLIT_AT(write_at_all)
    default:
      return notIssued();
  }
#undef OMNIO_NOW
#undef OMNIO_NOW_AT
#undef OMNIO_LATER
#undef OMNIO_LATER_AT
#undef OMNIO_SPLIT
#undef OMNIO_SPLIT_AT

  file.split = begins ? buffer : nullptr;
  // That of a split call that has ended is not needed any more.
  if (begins) file.split_memory = std::move(memory);
  if (calls::does(row, calls::Effect::kSplitEnd)) file.split_memory.reset();
  if (outcome.failed) return outcome;
  const bool is_later = calls::has(row, Role::kRequest);
  if (begins || is_later) {
    outcome.result = static_cast<std::int64_t>(bytes);  // what it asks for
  } else {
    MPI_Count moved = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &moved);
    outcome.result = moved == MPI_UNDEFINED ? 0 : static_cast<std::int64_t>(moved);
  }
  if (!is_later) return outcome;
  if (number == 0) {
    MPI_Wait(&pending.request, MPI_STATUS_IGNORE);
    if (context.is_timed) outcome.end_ns = nowNs();
    return outcome;
  }
  pending.slot = instruction.op.fd;
  pending.memory = std::move(memory);
  const std::lock_guard lock(mutex_);
  pending_[number] = std::move(pending);
  return outcome;
}

bool MpiFiles::hasPending() {
  const std::lock_guard lock(mutex_);
  return !pending_.empty() ||
         std::ranges::any_of(files_, [](const auto& file) { return file.second.split != nullptr; });
}

// Its turn is another's between two looks.
int MpiFiles::waitForAll(std::span<MPI_Request> requests) {
  for (;;) {
    int done = 0;
    {
      const OwnTurn own(turn_);
      const int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                   MPI_STATUSES_IGNORE);
      if (code != MPI_SUCCESS) return code;
    }
    if (done != 0) return MPI_SUCCESS;
    sched_yield();
  }
}

Outcome MpiFiles::wait(const Instruction& instruction, const IssueContext& context) {
  std::vector<Pending> ended;
  std::vector<MPI_Request> requests;
  {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < instruction.op.piece_count; ++i) {
      const auto found = pending_.extract(instruction.pieces[i]);
      if (found.empty()) continue;
      requests.push_back(found.mapped().request);
      ended.push_back(std::move(found.mapped()));
    }
  }
  if (requests.empty()) return notIssued();
  return timed(context, [&] { return waitForAll(requests); });
}

// What sets or asks for something of an open file.
Outcome MpiFiles::other(const Instruction& instruction, IssueContext& context, File& file) {
  const MPI_File handle = file.handle;
  const MPI_Offset offset = argumentOf(instruction, Role::kOffset);
  const MPI_Offset length = argumentOf(instruction, Role::kLength);
  const auto whence = static_cast<int>(argumentOf(instruction, Role::kWhence));
  // SEEK_SET and its like, as recorded, in the library's numbers.
  const int mpi_whence = whence == SEEK_CUR   ? MPI_SEEK_CUR
                         : whence == SEEK_END ? MPI_SEEK_END
                                              : MPI_SEEK_SET;
  MPI_Offset found = 0;
  switch (calls::kTable[instruction.op.row].id()) {
    case CallId::MPI_File_seek:
      return timed(context, [&] { return MPI_File_seek(handle, offset, mpi_whence); });
    case CallId::MPI_File_seek_shared:
      return timed(context, [&] { return MPI_File_seek_shared(handle, offset, mpi_whence); });
    case CallId::MPI_File_set_size:
      return timed(context, [&] { return MPI_File_set_size(handle, length); });
    case CallId::MPI_File_preallocate:
      return timed(context, [&] { return MPI_File_preallocate(handle, length); });
    case CallId::MPI_File_sync:
      return timed(context, [&] { return MPI_File_sync(handle); });
    case CallId::MPI_File_get_size:
      return timed(context, [&] { return MPI_File_get_size(handle, &found); });
    case CallId::MPI_File_get_position_shared:
      return timed(context, [&] { return MPI_File_get_position_shared(handle, &found); });
    case CallId::MPI_File_set_atomicity: {
      const auto flag = static_cast<int>(argumentOf(instruction, Role::kNumber));
      return timed(context, [&] { return MPI_File_set_atomicity(handle, flag); });
    }
    case CallId::MPI_File_set_info: {
      const OwnInfo hints(instruction.text);
      return timed(context, [&] { return MPI_File_set_info(handle, hints.get()); });
    }
    case CallId::MPI_File_set_view: {
      const auto etype = static_cast<std::size_t>(argumentOf(instruction, Role::kEtype));
      const auto filetype = static_cast<std::size_t>(argumentOf(instruction, Role::kFiletype));
      if (etype >= types_.size() || filetype >= types_.size()) return notIssued();
      MPI_Count etype_bytes = 0;
      MPI_Type_size_x(types_[etype].get(), &etype_bytes);
      if (etype_bytes <= 0) return notIssued();  // libraries divide by it
      const MPI_Offset begin = argumentOf(instruction, Role::kDisp);
      return timed(context, [&] {
        return MPI_File_set_view(handle, begin, types_[etype].get(), types_[filetype].get(),
                                 "native", MPI_INFO_NULL);
      });
    }
    default:
      return notIssued();
  }
}

std::vector<std::vector<std::int64_t>> MpiFiles::lastArrivals(
    std::vector<std::vector<Meeting>> meetings) const {
  meetings.resize(groups_.size());
  std::vector<std::vector<std::int64_t>> last(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i] == MPI_COMM_NULL) continue;
    // Where a rank failed, it may have come to fewer.
    std::uint64_t least = meetings[i].size();
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_UINT64_T, MPI_MIN, groups_[i]);
    meetings[i].resize(least);
    for (const Meeting& meeting : meetings[i]) last[i].push_back(meeting.came_ns);
    forEachPiece(least, largestPiece(), [&](std::uint64_t first, int count) {
      MPI_Allreduce(MPI_IN_PLACE, last[i].data() + first, count, MPI_INT64_T, MPI_MAX, groups_[i]);
    });
    leaveOutLater(groups_[i], meetings[i], last[i]);
  }
  return last;
}

void MpiFiles::completeAll(std::uint32_t slot) {
  std::vector<Pending> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = pending_.begin(); at != pending_.end();) {
      const auto here = at++;
      if (here->second.slot != slot) continue;
      ended.push_back(std::move(here->second));
      pending_.erase(here);
    }
  }
  for (Pending& pending : ended) waitForAll({&pending.request, 1});
}

void MpiFiles::finish() {
  // A file to be deleted when it is closed is deleted by the name that it was opened by, from here.
  const int before = raw::openAt(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (before < 0 || chdir(paths_.trees().first().path().c_str()) != 0) return;
  for (auto& [slot, file] : files_) {
    completeAll(slot);
    if (file.handle != MPI_FILE_NULL) MPI_File_close(&file.handle);
  }
  files_.clear();
  // Results may be asked for by a relative name.
  [[maybe_unused]] const int failed = fchdir(before);
  raw::closeFd(before);
}

}  // namespace omnio::replay
