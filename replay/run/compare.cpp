#include "replay/run/compare.hpp"

#include "core/calls/words/names.hpp"

namespace omnio::replay {
namespace {

using calls::Result;

bool hasOwnResult(const calls::Row& row) {
  switch (row.result) {
    case Result::kBytes:
    case Result::kItems:
    case Result::kPosition:
    case Result::kCount:
    case Result::kLine:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool differs(const Instruction& instruction, const Outcome& outcome) {
  if (!outcome.issued) return false;  // counted as such
  const Op& op = instruction.op;
  const calls::Row& row = calls::kTable[op.row];
  const bool was_failed = (op.flags & kOpFailed) != 0;
  // A lock that is given up always succeeds, and a scan finds other text than it looked for.
  if (outcome.substitute == Substitute::kLock && !outcome.failed) return false;
  if (outcome.substitute == Substitute::kScan && outcome.failed == was_failed) return false;
  if (outcome.failed != was_failed) return true;
  // At the end of the file getline fails, and leaves errno at what it was.
  if (was_failed && calls::does(row, calls::Effect::kEndKeepsErrno)) return false;
  if (was_failed) return outcome.result != op.result;
  return hasOwnResult(row) && outcome.result != op.result;
}

std::string resultText(const calls::Row& row, bool failed, std::int64_t result) {
  std::string text;
  if (failed && result == 0) return "end of file";
  if (failed) {
    calls::appendErrno(text, result);
    return text;
  }
  return hasOwnResult(row) ? std::to_string(result) : std::string("success");
}

}  // namespace omnio::replay
