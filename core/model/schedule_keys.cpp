#include "core/model/schedule_keys.hpp"

#include <fcntl.h>

#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"
#include "core/event/file_positions.hpp"

namespace omnio::model {
namespace {

using calls::Class;
using calls::Role;

ScheduleKey keyOf(const calls::Row& row, std::uint8_t index) {
  const Role role = row.arguments[index];
  const calls::ArgumentForm& form = calls::formOf(role);
  ScheduleKey key{form.schedule_key, form.schedule, index};
  if (role == Role::kFlags && calls::opensByFlags(row)) key.kind = KeyKind::kOpenFlags;
  if (role == Role::kSize && calls::sizeIsRoom(row)) key.key = calls::kRoomKey;
  if (role == Role::kOffset && event::transfersData(row) && row.api != calls::Api::kMpi) {
    key.kind = KeyKind::kTransferOffset;
  }
  return key;
}

std::vector<ScheduleKey> makeKeys(const calls::Row& row) {
  std::vector<ScheduleKey> keys;
  const bool opens_mpi_file = calls::isMpiIo(row) && row.call_class == Class::kOpen;
  if (opens_mpi_file) {
    keys.push_back({"location", KeyKind::kLocation, 0});
    keys.push_back({"lookups", KeyKind::kLookups, 0});
  }
  for (std::uint8_t i = 0; i < row.argument_count; ++i) {
    const Role role = row.arguments[i];
    const ScheduleKey key = keyOf(row, i);
    if (opens_mpi_file && key.kind == KeyKind::kFd) continue;  // it makes it
    if (key.kind != KeyKind::kNone) keys.push_back(key);
    if (key.kind == KeyKind::kLocation && calls::isIo(row))
      keys.push_back({"lookups", KeyKind::kLookups, 0});
    // The text of a link is not looked up when the link is made: it is told whether it is relative.
    if (role == Role::kPathNew || role == Role::kLinkText)
      keys.push_back({"newlookups", KeyKind::kNewLookups, 0});
  }
  // freopen works on a stream that its row does not name.
  if (calls::does(row, calls::Effect::kReplacesDescriptor) && !calls::has(row, Role::kFdNew)) {
    keys.push_back({"newfd", KeyKind::kReplaced, 0});
  }
  if (opens_mpi_file || row.plain == calls::CallId::MPI_File_set_info) {
    keys.push_back({"hints", KeyKind::kText, 0});
  }
  return keys;
}

}  // namespace

const std::vector<ScheduleKey>& keysOf(const calls::Row& row) {
  static const auto kKeys = calls::ofEachRow(makeKeys);
  return kKeys[row.number];
}

bool makesDescriptor(const ScheduleEvent& event) {
  if (event.step == Step::kPreopened || event.step == Step::kInherited) return true;
  if (event.step != Step::kCall || event.failed) return false;
  const calls::Row& row = *event.row;
  if (calls::isMpiIo(row)) return row.call_class == Class::kOpen;
  if (row.result == calls::Result::kNewFd || row.result == calls::Result::kNewStream) return true;
  const std::int64_t command = argumentOf(event, Role::kCommand, -1);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

bool isSchedulable(const calls::Row& row) {
  if (calls::isIo(row)) return true;
  if (row.id() != row.plain) return false;  // PMPI_X is reissued as MPI_X
  return calls::isMpiIo(row) || row.plain == calls::CallId::MPI_Waitall;
}

std::optional<std::string_view> positionKey(const ScheduleEvent& event) {
  const calls::Row& row = *event.row;
  if (!event::transfersData(row) || row.api == calls::Api::kMpi) return {};
  if (!calls::has(row, Role::kOffset)) return "offset";
  const bool is_there = calls::does(row, calls::Effect::kMinusOneIsThePosition) &&
                        argumentOf(event, Role::kOffset) == -1;
  if (!is_there) return {};
  return "position";
}

std::int64_t modeBits(const calls::Row& row) {
  return calls::does(row, calls::Effect::kMakesNode) ? 0177777 : 07777;
}

int openFlags(const ScheduleEvent& event) {
  return event::openFlags(*event.row, argumentOf(event, Role::kFlags), event.text);
}

std::optional<std::int64_t> flagsSet(const ScheduleEvent& event) {
  if (event.step != Step::kCall || event.failed) return {};
  return event::flagsSet(*event.row, argumentOf(event, Role::kCommand),
                         argumentOf(event, Role::kNumber));
}

std::uint64_t requestOf(const ScheduleEvent& event) {
  if (event.step != Step::kCall || !event::asksForBytes(*event.row)) return 0;
  const calls::Row& row = *event.row;
  const auto argument = [&](Role role) {
    return static_cast<std::uint64_t>(argumentOf(event, role));
  };
  if (calls::has(row, Role::kItemCount)) {
    std::uint64_t bytes = 0;
    const bool is_beyond =
        __builtin_mul_overflow(argument(Role::kItemCount), argument(Role::kItemSize), &bytes);
    return is_beyond ? UINT64_MAX : bytes;
  }
  if (calls::has(row, Role::kSize)) return argument(Role::kSize);
  if (calls::has(row, Role::kTextOut)) return argument(Role::kTextOut);
  if (calls::has(row, Role::kIov)) {
    std::uint64_t sum = 0;
    for (const std::uint64_t piece : event.pieces) {
      if (__builtin_add_overflow(sum, piece, &sum)) return UINT64_MAX;
    }
    return sum;
  }
  return bytesMoved(event);
}

std::uint64_t bytesMoved(const ScheduleEvent& event) {
  if (event.step != Step::kCall) return 0;
  if (event.row->api == calls::Api::kMpi) {
    return event::transfersData(*event.row) && !event.failed
               ? static_cast<std::uint64_t>(event.result)
               : 0;
  }
  event::Event seen;
  seen.row = event.row;
  seen.failed = event.failed;
  seen.arguments = event.arguments;
  seen.result = event.result;
  seen.request = event.request;
  return omnio::event::bytesMoved(seen);
}

}  // namespace omnio::model
