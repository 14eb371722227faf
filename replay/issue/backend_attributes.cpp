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

// What the calls of a thread get.
AttributeValue& valueRead() {
  static thread_local AttributeValue value;
  return value;
}

const AttributeValue& valueWritten() {
  static const AttributeValue kValue = [] {
    AttributeValue value;
    value.fill('o');
    return value;
  }();
  return kValue;
}

// Attributes of other name spaces mean something to the system (access lists, capabilities,
// stripes), and made-up ones would do harm, or be refused. They are set as attributes of a user.
constexpr std::string_view kUserSpace = "user.";

bool isUserAttribute(const Call& call) { return call.instruction.text.starts_with(kUserSpace); }

std::string nameToSet(const Call& call) {
  std::string name(call.instruction.text);
  if (!isUserAttribute(call)) name = std::string(kUserSpace) + name;
  return name.substr(0, XATTR_NAME_MAX);
}

Outcome judged(const Call& call, Outcome outcome) {
  const Op& op = call.op();
  const bool had_failed = (op.flags & kOpFailed) != 0;
  if (outcome.failed == had_failed && (!had_failed || outcome.result == op.result)) return outcome;
  outcome.failed = had_failed;
  outcome.result = op.result;
  outcome.substitute = Substitute::kAttribute;
  return outcome;
}

std::size_t attributeRoom(const Call& call, int index) {
  return static_cast<std::size_t>(call.argument(index));
}

// `first` is a path or a descriptor.
template <typename First>
Outcome setAttribute(Call& call, First first) {
  const auto real =
      reinterpret_cast<int (*)(First, const char*, const void*, std::size_t, int)>(call.symbol);
  const std::string name = nameToSet(call);
  const std::size_t bytes = attributeRoom(call, 3);
  const auto flags = static_cast<int>(call.argument(4));
  Outcome outcome = judged(call, timed<Result::kZero>(call, [&] {
                             return real(first, name.c_str(), valueWritten().data(), bytes, flags);
                           }));
  if (!isUserAttribute(call)) outcome.substitute = Substitute::kAttribute;
  return outcome;
}

template <typename First>
Outcome getAttribute(Call& call, First first) {
  const auto real =
      reinterpret_cast<ssize_t (*)(First, const char*, void*, std::size_t)>(call.symbol);
  const std::string name(call.instruction.text);
  const std::size_t bytes = attributeRoom(call, 3);
  return judged(call, timed<Result::kNumber>(call, [&] {
                  return real(first, name.c_str(), valueRead().data(), bytes);
                }));
}

template <typename First>
Outcome listAttributes(Call& call, First first) {
  const auto real = reinterpret_cast<ssize_t (*)(First, char*, std::size_t)>(call.symbol);
  const std::size_t bytes = attributeRoom(call, 2);
  return judged(
      call, timed<Result::kNumber>(call, [&] { return real(first, valueRead().data(), bytes); }));
}

template <typename First>
Outcome removeAttribute(Call& call, First first) {
  const auto real = reinterpret_cast<int (*)(First, const char*)>(call.symbol);
  const std::string name = nameToSet(call);
  Outcome outcome =
      judged(call, timed<Result::kZero>(call, [&] { return real(first, name.c_str()); }));
  if (!isUserAttribute(call)) outcome.substitute = Substitute::kAttribute;
  return outcome;
}

}  // namespace

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
