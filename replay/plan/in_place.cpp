#include "replay/plan/in_place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>

#include "core/base/printable.hpp"
#include "core/calls/lock_commands.hpp"
#include "core/model/schedule_keys.hpp"
#include "replay/plan/program.hpp"

namespace omnio::replay {
namespace {

using calls::CallId;
using calls::Class;
using calls::Effect;
using calls::Role;

// Calls on attributes, names and descriptors that change nothing of the file.
constexpr std::array kHarmless = {
    CallId::access,     CallId::faccessat,     CallId::euidaccess, CallId::statfs,
    CallId::fstatfs,    CallId::statvfs,       CallId::fstatvfs,   CallId::getxattr,
    CallId::lgetxattr,  CallId::fgetxattr,     CallId::listxattr,  CallId::llistxattr,
    CallId::flistxattr, CallId::dup,           CallId::dup2,       CallId::dup3,
    CallId::fcntl,      CallId::posix_fadvise, CallId::readahead,  CallId::chdir,
    CallId::fchdir,     CallId::readdir,       CallId::rewinddir,  CallId::scandir,
    CallId::fdopendir};

bool opensForReading(const model::ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  if (calls::has(row, Role::kOpenMode)) {
    return event.text.starts_with('r') && event.text.find('+') == std::string::npos;
  }
  if (row.plain == CallId::opendir) return true;
  if (!calls::has(row, Role::kFlags) || calls::has(row, Role::kPathTemplate)) return false;
  constexpr std::int64_t kMore = O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
  const std::int64_t flags = model::argumentOf(event, Role::kFlags);
  return (flags & O_ACCMODE) == O_RDONLY && (flags & kMore) == 0;
}

// Whether others that only read the file are not kept out.
bool sharesLock(const model::ScheduleEvent& event) {
  if (event.row->plain == CallId::flock) {
    return (model::argumentOf(event, Role::kNumber) & LOCK_EX) == 0;
  }
  return !calls::setsLock(model::argumentOf(event, Role::kCommand)) ||
         model::argumentOf(event, Role::kLockType) != F_WRLCK;
}

base::Failure refusal(std::string_view call, const PlannedFile& file) {
  return base::failure(
      base::Code::kInvalid,
      "{} on \"{}\", an input that --inputs in-place only reads; use --inputs copy "
      "or make",
      call, base::inBrief(file.location));
}

bool isInPlace(std::uint32_t file, const std::vector<PlannedFile>& files) {
  return file < files.size() && files[file].origin == Origin::kInPlace;
}

}  // namespace

bool onlyReads(const model::ScheduleEvent& event) {
  if (event.step == model::Step::kPreopened) {
    return (event.arguments[0] & (O_ACCMODE | O_TRUNC)) == O_RDONLY;
  }
  if (event.step != model::Step::kCall) return true;
  const calls::Row& row = *event.row;
  switch (row.call_class) {
    case Class::kOpen:
      return opensForReading(event);
    case Class::kMetadata:
      if (row.plain == CallId::flock || calls::has(row, Role::kLockType)) return sharesLock(event);
      return calls::does(row, Effect::kSeesSize) || calls::does(row, Effect::kReadsLink) ||
             calls::has(row, Role::kStream) || calls::has(row, Role::kOpenMode) ||
             std::ranges::find(kHarmless, row.plain) != kHarmless.end();
    default:
      return true;  // on a descriptor, which the system lets read alone
  }
}

InPlaceCheck::Complaint InPlaceCheck::event(const model::ScheduleEvent& event, std::uint32_t file,
                                            const std::vector<PlannedFile>& files) {
  const std::string_view call = event.row == nullptr ? "preopened" : event.row->name;
  // Another name, or a link by which a later call would come to the file.
  const auto new_file = static_cast<std::uint32_t>(event.new_file);
  if (isInPlace(new_file, files)) return refusal(call, files[new_file]).sentence;
  if (onlyReads(event)) return std::nullopt;
  if (isInPlace(file, files)) return refusal(call, files[file]).sentence;
  if (file == kNoFile && event.fd != model::kNoDescriptor) {
    unknown_.push_back({static_cast<std::uint64_t>(event.fd), call});
  }
  return std::nullopt;
}

InPlaceCheck::Complaint InPlaceCheck::endRank(const std::vector<std::uint32_t>& file_of_slot,
                                              const std::vector<PlannedFile>& files) {
  for (const auto& [slot, call] : unknown_) {
    const std::uint32_t file = slot < file_of_slot.size() ? file_of_slot[slot] : kNoFile;
    if (isInPlace(file, files)) return refusal(call, files[file]).sentence;
  }
  unknown_.clear();
  return std::nullopt;
}

}  // namespace omnio::replay
