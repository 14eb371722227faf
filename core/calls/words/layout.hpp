// Which `key=value` items an event of a call has, derived from the call's row; shared by the text
// form and the JSON form, so that both use the same words.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/calls/table.hpp"

namespace omnio::calls {

enum class ItemKind : std::uint8_t {
  kNumber,
  kText,  // a path or another text, as the application gave it
  kOpenFlags,
  kOctal,  // permission bits
  kHex,    // flags of other calls
  kAmode,
  kWhence,
  kCommand,
  kDirFd,
  kPieces,  // sizes of an iovec's pieces
  kPieceCount,
  kFd,          // the descriptor the call works on
  kFileHandle,  // the MPI file the call works on: the number of its open instance
  kHandlePath,  // path of that descriptor
  kLineLength,  // what fgets got: known from the result
  kDepth,       // only in calls below the application's
  kErrno,       // only of failed calls
  kResult,      // only of the others
};

struct Item {
  std::string_view key;
  ItemKind kind = ItemKind::kNumber;
  std::uint8_t argument = 0;  // index in the row's arguments, where it is one
};

// Sorted by key. A row of the table; the reference stays valid.
const std::vector<Item>& layoutOf(const calls::Row& row);

}  // namespace omnio::calls
