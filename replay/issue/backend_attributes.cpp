// Extended attributes. Which of them a file system holds is its own matter: where the target's
// answer is another one than the recorded, the recorded one counts.
#include <linux/limits.h>

#include <algorithm>
#include <array>
#include <string>

#include "replay/issue/backend_call.hpp"

namespace omnio::replay {
namespace {

using calls::Result;

// No attribute and no list of names is larger (XATTR_SIZE_MAX, XATTR_LIST_MAX): the kernel refuses
// to take more, and never gives more, whatever size it is told.
using AttributeValue = std::array<char, std::max(XATTR_SIZE_MAX, XATTR_LIST_MAX)>;

// All threads read into the same memory, since no value is looked at.
AttributeValue value_read;

const AttributeValue& valueWritten() {
  static const AttributeValue kValue = [] {
    AttributeValue value;
    value.fill('o');
    return value;
  }();
  return kValue;
}

Outcome judged(const Call& call, Outcome outcome) {
  const Op& op = call.op();
  const bool had_failed = (op.flags & kOpFailed) != 0;
  if (outcome.failed == had_failed && (!had_failed || outcome.result == op.result)) return outcome;
  if (!isAnswerOnAttribute(outcome.failed, outcome.result) ||
      !isAnswerOnAttribute(had_failed, op.result)) {
    return outcome;
  }
  outcome.failed = had_failed;
  outcome.result = op.result;
  outcome.substitute = Substitute::kAttribute;
  return outcome;
}

bool isRenamed(const Call& call, const std::string& name) { return name != call.instruction.text; }

std::size_t attributeRoom(const Call& call, int index) {
  return static_cast<std::size_t>(call.argument(index));
}

// `first` is a path or a descriptor.
template <typename First>
Outcome setAttribute(Call& call, First first) {
  const auto real =
      reinterpret_cast<int (*)(First, const char*, const void*, std::size_t, int)>(call.symbol);
  const std::string name = attributeToSet(call.instruction.text);
  const char* const value = valueWritten().data();
  const std::size_t bytes = attributeRoom(call, 3);
  const auto flags = static_cast<int>(call.argument(4));
  Outcome outcome = judged(call, timed<Result::kZero>(call, [&] {
                             return real(first, name.c_str(), value, bytes, flags);
                           }));
  if (isRenamed(call, name)) outcome.substitute = Substitute::kAttribute;
  return outcome;
}

template <typename First>
Outcome getAttribute(Call& call, First first) {
  const auto real =
      reinterpret_cast<ssize_t (*)(First, const char*, void*, std::size_t)>(call.symbol);
  const std::string name(call.instruction.text);
  const std::size_t bytes = attributeRoom(call, 3);
  return judged(call, timed<Result::kNumber>(call, [&] {
                  return real(first, name.c_str(), value_read.data(), bytes);
                }));
}

template <typename First>
Outcome listAttributes(Call& call, First first) {
  const auto real = reinterpret_cast<ssize_t (*)(First, char*, std::size_t)>(call.symbol);
  const std::size_t bytes = attributeRoom(call, 2);
  return judged(
      call, timed<Result::kNumber>(call, [&] { return real(first, value_read.data(), bytes); }));
}

template <typename First>
Outcome removeAttribute(Call& call, First first) {
  const auto real = reinterpret_cast<int (*)(First, const char*)>(call.symbol);
  const std::string name = attributeToSet(call.instruction.text);
  Outcome outcome =
      judged(call, timed<Result::kZero>(call, [&] { return real(first, name.c_str()); }));
  if (isRenamed(call, name)) outcome.substitute = Substitute::kAttribute;
  return outcome;
}

}  // namespace

bool isAnswerOnAttribute(bool failed, std::int64_t error) {
  if (!failed) return true;
  switch (error) {
    case ENODATA:
    case EOPNOTSUPP:
    case ERANGE:
    case E2BIG:
    case ENOSPC:
    case EDQUOT:
    case EPERM:
    case EEXIST:
      return true;
    default:
      return false;
  }
}

std::string attributeToSet(std::string_view recorded) {
  constexpr std::string_view kUserSpace = "user.";
  // One that is too long is to be refused as it was.
  if (recorded.starts_with(kUserSpace) || recorded.size() > model::kLongestAttribute) {
    return std::string(recorded);
  }
  return (std::string(kUserSpace) + std::string(recorded)).substr(0, model::kLongestAttribute);
}

OMNIO_BY_HAND(setxattr) { return setAttribute(call, call.path()); }
OMNIO_BY_HAND(lsetxattr) { return setAttribute(call, call.path()); }
OMNIO_BY_HAND(fsetxattr) { return setAttribute(call, call.fd()); }
OMNIO_BY_HAND(getxattr) { return getAttribute(call, call.path()); }
OMNIO_BY_HAND(lgetxattr) { return getAttribute(call, call.path()); }
OMNIO_BY_HAND(fgetxattr) { return getAttribute(call, call.fd()); }
OMNIO_BY_HAND(listxattr) { return listAttributes(call, call.path()); }
OMNIO_BY_HAND(llistxattr) { return listAttributes(call, call.path()); }
OMNIO_BY_HAND(flistxattr) { return listAttributes(call, call.fd()); }
OMNIO_BY_HAND(removexattr) { return removeAttribute(call, call.path()); }
OMNIO_BY_HAND(lremovexattr) { return removeAttribute(call, call.path()); }
OMNIO_BY_HAND(fremovexattr) { return removeAttribute(call, call.fd()); }

}  // namespace omnio::replay
