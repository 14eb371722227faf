// One row for each role of an argument: how a record keeps it, and the key and form under which the
// text of events and schedules show it. All code that reads or writes arguments goes by this table,
// so that a role is described once.
//
// A new role: core/calls/README.md, "Adding a role".
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/calls/role.hpp"

namespace omnio::calls {

// How a record of the trace keeps an argument (core/wire/record.hpp).
enum class Field : std::uint8_t {
  kNone,      // not recorded
  kHandle,    // slot of the handle, xor the slot of the record before
  kText,      // slot of the text plus 1; 0 for a null pointer
  kSize,      // zigzag(bytes - the handle's last size)
  kOffset,    // zigzag(offset - where the handle's last access ended)
  kUnsigned,  // the number
  kSigned,    // zigzag(number)
  kPieces,    // number of pieces that follow the fields
};

// How the text and JSON forms of an event show an item (core/calls/words/names.hpp).
enum class ItemKind : std::uint8_t {
  kNone,  // not shown
  kNumber,
  kText,  // a path or another text, as the application gave it
  kOpenFlags,
  kOctal,  // permission bits
  kHex,    // flags of other calls
  kAmode,
  kWhence,
  kCommand,
  kLockType,
  kDirFd,
  kPieces,  // sizes of an iovec's pieces
  kPieceCount,
  kFd,          // the descriptor the call works on
  kFileHandle,  // the MPI file the call works on: the number of its open instance
  kHandlePath,  // path of that descriptor
  kLineLength,  // what fgets got: known from the result
  kAtLeast,     // 1 where that is so much at least
  kDepth,       // only in calls below the application's
  kErrno,       // only of failed calls
  kResult,      // only of the others
};

// How a schedule keeps an argument (core/model/schedule_keys.hpp).
enum class KeyKind : std::uint8_t {
  kNone,  // not kept: made up by the replayer, or of a call that is not reissued
  kFd,
  kSourceFd,
  kReplaced,
  kDirectory,     // what the first path is relative to
  kNewDirectory,  // the same of the second
  kLocation,
  kNewLocation,
  kLookups,     // not an argument: names of the first path that the system looked up
  kNewLookups,  // the same of the second
  kPieces,
  kText,  // the mode of a stream, the name of an attribute: a call has one of them at most
  kOpenFlags,
  kOctal,
  kWhence,
  kCommand,
  kLockType,
  kNumber,          // not negative
  kSigned,          // may be negative, also where that is an error that the application made
  kTransferOffset,  // an offset argument that is where the call reads or writes
  // These stand in calls of MPI-IO alone.
  kAmode,
  kGroup,     // by place in the schedule's list
  kType,      // the same
  kRequests,  // numbers of requests that the call waits for
};

struct ArgumentForm {
  Role role;
  Field field;
  ItemKind item;
  std::string_view key;  // in the text form; empty where it is not shown
  KeyKind schedule;
  std::string_view schedule_key = key;
};

// In the order of Role. What depends on the row as well: opensByFlags() and sizeIsRoom() in
// table.hpp, keyOf() in core/model/schedule_keys.cpp.
// clang-format off
inline constexpr ArgumentForm kArguments[] = {
    {Role::kFd,           Field::kHandle,   ItemKind::kFd,         "fd",         KeyKind::kFd},
    {Role::kFdNew,        Field::kSigned,   ItemKind::kNumber,     "newfd",      KeyKind::kReplaced},
    {Role::kFdSource,     Field::kSigned,   ItemKind::kNumber,     "source",     KeyKind::kSourceFd},
    {Role::kSourceOffset, Field::kSigned,   ItemKind::kNumber,     "source_offset", KeyKind::kSigned},
    {Role::kDirFd,        Field::kSigned,   ItemKind::kDirFd,      "dirfd",      KeyKind::kDirectory},
    {Role::kDirFdNew,     Field::kSigned,   ItemKind::kDirFd,      "newdirfd",   KeyKind::kNewDirectory},
    {Role::kPath,         Field::kText,     ItemKind::kText,       "path",       KeyKind::kLocation, "location"},
    {Role::kPathNew,      Field::kText,     ItemKind::kText,       "newpath",    KeyKind::kNewLocation, "newlocation"},
    {Role::kPathTemplate, Field::kText,     ItemKind::kText,       "path",       KeyKind::kLocation, "location"},
    {Role::kFlags,        Field::kUnsigned, ItemKind::kHex,        "flags",      KeyKind::kSigned},
    {Role::kMode,         Field::kUnsigned, ItemKind::kOctal,      "mode",       KeyKind::kOctal},
    {Role::kBuf,          Field::kNone,     ItemKind::kNone,       "",           KeyKind::kNone},
    {Role::kBufLimit,     Field::kNone,     ItemKind::kNone,       "",           KeyKind::kNone},
    {Role::kSize,         Field::kSize,     ItemKind::kNumber,     "count",      KeyKind::kNumber},
    {Role::kItemSize,     Field::kUnsigned, ItemKind::kNumber,     "size",       KeyKind::kNumber},
    {Role::kItemCount,    Field::kUnsigned, ItemKind::kNumber,     "nmemb",      KeyKind::kNumber},
    {Role::kOffset,       Field::kOffset,   ItemKind::kNumber,     "offset",     KeyKind::kSigned},
    {Role::kLength,       Field::kSigned,   ItemKind::kNumber,     "length",     KeyKind::kSigned},
    {Role::kWhence,       Field::kSigned,   ItemKind::kWhence,     "whence",     KeyKind::kWhence},
    {Role::kIov,          Field::kPieces,   ItemKind::kPieces,     "iov",        KeyKind::kPieces},
    {Role::kIovCount,     Field::kNone,     ItemKind::kPieceCount, "iovcnt",     KeyKind::kNone},
    {Role::kStream,       Field::kHandle,   ItemKind::kFd,         "fd",         KeyKind::kFd},
    {Role::kOpenMode,     Field::kText,     ItemKind::kText,       "type",       KeyKind::kText},
    {Role::kTextOut,      Field::kSize,     ItemKind::kNumber,     "count",      KeyKind::kNumber},
    {Role::kLineIn,       Field::kSigned,   ItemKind::kLineLength, "count",      KeyKind::kNone},
    {Role::kChar,         Field::kSigned,   ItemKind::kNumber,     "char",       KeyKind::kSigned},
    {Role::kCommand,      Field::kSigned,   ItemKind::kCommand,    "cmd",        KeyKind::kCommand},
    {Role::kLockType,     Field::kSigned,   ItemKind::kLockType,   "lock",       KeyKind::kLockType},
    {Role::kNumber,       Field::kSigned,   ItemKind::kNumber,     "value",      KeyKind::kSigned},
    {Role::kUser,         Field::kSigned,   ItemKind::kNumber,     "uid",        KeyKind::kSigned},
    {Role::kGroup,        Field::kSigned,   ItemKind::kNumber,     "gid",        KeyKind::kSigned},
    {Role::kRoom,         Field::kUnsigned, ItemKind::kNumber,     "size",       KeyKind::kSigned},
    {Role::kOwnBuffer,    Field::kUnsigned, ItemKind::kNumber,     "buffer",     KeyKind::kNumber},
    {Role::kLinkText,     Field::kText,     ItemKind::kText,       "target",     KeyKind::kNewLocation},
    {Role::kFile,         Field::kHandle,   ItemKind::kFileHandle, "fh",         KeyKind::kFd, "fd"},
    {Role::kAmode,        Field::kUnsigned, ItemKind::kAmode,      "amode",      KeyKind::kAmode},
    {Role::kRanks,        Field::kUnsigned, ItemKind::kNumber,     "ranks",      KeyKind::kNone},
    {Role::kTick,         Field::kUnsigned, ItemKind::kNumber,     "tick",       KeyKind::kNone},
    {Role::kGot,          Field::kSigned,   ItemKind::kNumber,     "got",        KeyKind::kNone},
    {Role::kDisp,         Field::kSigned,   ItemKind::kNumber,     "disp",       KeyKind::kSigned},
    {Role::kEtype,        Field::kUnsigned, ItemKind::kNumber,     "etype",      KeyKind::kType},
    {Role::kFiletype,     Field::kUnsigned, ItemKind::kNumber,     "filetype",   KeyKind::kType},
    {Role::kPosition,     Field::kSigned,   ItemKind::kNumber,     "position",   KeyKind::kNone},
    {Role::kComm,         Field::kUnsigned, ItemKind::kNumber,     "comm",       KeyKind::kNone},
    {Role::kNewComm,      Field::kUnsigned, ItemKind::kNumber,     "newcomm",    KeyKind::kGroup, "group"},
    {Role::kPeer,         Field::kSigned,   ItemKind::kNumber,     "peer",       KeyKind::kNone},
    {Role::kTag,          Field::kSigned,   ItemKind::kNumber,     "tag",        KeyKind::kNone},
    {Role::kSeq,          Field::kUnsigned, ItemKind::kNumber,     "seq",        KeyKind::kNone},
    {Role::kSource,       Field::kSigned,   ItemKind::kNumber,     "source",     KeyKind::kNone},
    {Role::kSourceTag,    Field::kSigned,   ItemKind::kNumber,     "source_tag", KeyKind::kNone},
    {Role::kSourceSeq,    Field::kUnsigned, ItemKind::kNumber,     "source_seq", KeyKind::kNone},
    {Role::kRoot,         Field::kSigned,   ItemKind::kNumber,     "root",       KeyKind::kNone},
    {Role::kRequest,      Field::kUnsigned, ItemKind::kNumber,     "request",    KeyKind::kNumber},
    {Role::kBegun,        Field::kPieces,   ItemKind::kPieces,     "begun",      KeyKind::kNone},
    {Role::kDone,         Field::kPieces,   ItemKind::kPieces,     "done",       KeyKind::kRequests, "requests"},
    {Role::kMembers,      Field::kPieces,   ItemKind::kPieces,     "members",    KeyKind::kNone},
    {Role::kObject,       Field::kUnsigned, ItemKind::kHex,        "object",     KeyKind::kNone},
    {Role::kMutex,        Field::kUnsigned, ItemKind::kHex,        "mutex",      KeyKind::kNone},
    {Role::kMapping,      Field::kUnsigned, ItemKind::kNumber,     "mapping",    KeyKind::kNumber},
    {Role::kFileSize,     Field::kUnsigned, ItemKind::kNumber,     "file_size",  KeyKind::kNone},
    {Role::kRangeOffset,  Field::kUnsigned, ItemKind::kNumber,     "range_offset", KeyKind::kNumber},
    {Role::kContext,      Field::kUnsigned, ItemKind::kHex,        "context",    KeyKind::kNumber},
    {Role::kLeft,         Field::kUnsigned, ItemKind::kNumber,     "left",       KeyKind::kNumber},
    {Role::kAttribute,    Field::kText,     ItemKind::kText,       "attribute",  KeyKind::kText},
    {Role::kIgnored,      Field::kNone,     ItemKind::kNone,       "",           KeyKind::kNone},
};
// clang-format on

inline constexpr std::size_t kRoleCount = static_cast<std::size_t>(Role::kIgnored) + 1;
static_assert(
    [] {
      if (std::size(kArguments) != kRoleCount) return false;
      for (std::size_t i = 0; i < kRoleCount; ++i) {
        if (kArguments[i].role != static_cast<Role>(i)) return false;
      }
      return true;
    }(),
    "each role has a row in kArguments, in the order of Role");

constexpr const ArgumentForm& formOf(Role role) {
  return kArguments[static_cast<std::size_t>(role)];
}

constexpr Field fieldOf(Role role) { return formOf(role).field; }

// True for a recorded argument; false for those that only matter to the call itself.
constexpr bool isRecorded(Role role) { return fieldOf(role) != Field::kNone; }

// Whether a schedule keeps the argument as a number, by whatever word it is written.
constexpr bool isNumber(KeyKind kind) {
  switch (kind) {
    case KeyKind::kOpenFlags:
    case KeyKind::kOctal:
    case KeyKind::kWhence:
    case KeyKind::kCommand:
    case KeyKind::kLockType:
    case KeyKind::kNumber:
    case KeyKind::kSigned:
    case KeyKind::kTransferOffset:
    case KeyKind::kAmode:
      return true;
    case KeyKind::kNone:
    case KeyKind::kFd:
    case KeyKind::kSourceFd:
    case KeyKind::kReplaced:
    case KeyKind::kDirectory:
    case KeyKind::kNewDirectory:
    case KeyKind::kLookups:
    case KeyKind::kNewLookups:
    case KeyKind::kLocation:
    case KeyKind::kNewLocation:
    case KeyKind::kPieces:
    case KeyKind::kText:
    case KeyKind::kGroup:
    case KeyKind::kType:
    case KeyKind::kRequests:
      break;
  }
  return false;
}

}  // namespace omnio::calls
