#include "replay/result_comparison.hpp"

namespace omnio::replay {

bool isComparable(const calls::Row& row) {
  switch (row.result) {
    case calls::Result::kBytes:
    case calls::Result::kItems:
    case calls::Result::kPosition:
    case calls::Result::kCount:
    case calls::Result::kLine:
      return true;
    case calls::Result::kMpi:
      return row.call_class == calls::Class::kRead;
    default:
      return false;
  }
}

bool isSameResult(const calls::Row& row, CallResult recorded, CallResult replayed) {
  if (isTouch(row)) return true;
  const bool fills = row.result == calls::Result::kChar && isInlined(row);
  if (fills) return true;
  if (replayed.failed != recorded.failed) return false;
  if (!recorded.failed) {
    return !isComparable(row) || replayed.result == recorded.result ||
           (recorded.at_least && replayed.result > recorded.result);
  }
  // At the end of the file getline fails, and leaves errno at what it was.
  if (calls::does(row, calls::Effect::kEndKeepsErrno)) return true;
  // Each library of MPI has numbers of its own for its errors.
  return row.api == calls::Api::kMpi || replayed.result == recorded.result;
}

}  // namespace omnio::replay
