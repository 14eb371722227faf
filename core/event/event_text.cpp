#include "core/event/event_text.hpp"

#include <fcntl.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "core/base/printable.hpp"
#include "core/wire/record.hpp"

namespace omnio::event {
namespace {

// Separators of the line, which a value may therefore not contain.
constexpr std::string_view kSeparators = ",= ";

void append(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value);
}

// Appends a number in the form that its kind asks for.
void appendNumber(std::string& out, std::int64_t number, calls::ItemKind kind) {
  switch (kind) {
    case calls::ItemKind::kOpenFlags:
      calls::appendOpenFlags(out, static_cast<std::uint64_t>(number));
      break;
    case calls::ItemKind::kOctal:
      fmt::format_to(std::back_inserter(out), "{:#o}", number);
      break;
    case calls::ItemKind::kHex:
      fmt::format_to(std::back_inserter(out), "{:#x}", number);
      break;
    case calls::ItemKind::kAmode:
      calls::appendAmode(out, static_cast<std::uint64_t>(number));
      break;
    case calls::ItemKind::kWhence:
      calls::appendWhence(out, number);
      break;
    case calls::ItemKind::kCommand:
      calls::appendCommand(out, number);
      break;
    case calls::ItemKind::kLockType:
      calls::appendLockType(out, number);
      break;
    case calls::ItemKind::kDirFd:
      calls::appendDirFd(out, number);
      break;
    default:
      append(out, number);
  }
}

// Appends the value of an item; false when this event does not have it.
bool appendValue(std::string& out, const Event& event, const calls::Item& item) {
  switch (item.kind) {
    case calls::ItemKind::kText:
    case calls::ItemKind::kHandlePath: {
      const auto text = textOf(event, item);
      if (text) base::appendPrintable(out, *text, kSeparators);
      return text.has_value();
    }
    case calls::ItemKind::kPieces:
      fmt::format_to(std::back_inserter(out), "{}", fmt::join(pieceSizes(event), ":"));
      return true;
    case calls::ItemKind::kErrno:
      if (!event.failed || event.endOfFile() || event.row->result == calls::Result::kMpi) {
        return false;
      }
      calls::appendErrno(out, event.result);
      return true;
    case calls::ItemKind::kResult: {
      if (event.endOfFile()) {
        out += "EOF";
        return true;
      }
      if (event.failed && event.row->result != calls::Result::kMpi) return false;
      const auto result = resultOf(event);
      if (result) append(out, *result);
      return result.has_value();
    }
    default: {
      const auto number = numberOf(event, item);
      if (number) appendNumber(out, *number, item.kind);
      return number.has_value();
    }
  }
}

}  // namespace

bool modeMatters(const Event& event) {
  const int flags = calls::indexOf(*event.row, calls::Role::kFlags);
  if (event.row->result != calls::Result::kNewFd || flags < 0) return true;
  const auto value = event.arguments[static_cast<std::size_t>(flags)];
  return (value & O_CREAT) != 0 || (value & O_TMPFILE) == O_TMPFILE;
}

void appendText(std::string& out, const Event& event) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{} {} {}"), event.start_ns, event.end_ns,
                 event.row->name);
  char separator = ' ';
  for (const calls::Item& item : calls::layoutOf(*event.row)) {
    const std::size_t before = out.size();
    out += separator;
    out += item.key;
    out += '=';
    if (appendValue(out, event, item)) {
      separator = ',';
    } else {
      out.resize(before);
    }
  }
  out += '\n';
}

std::string textOf(const StackFrame& frame) {
  std::string text;
  if (frame.module != nullptr) {
    base::appendPrintable(text, frame.module->path, " ");
    text += '+';
  }
  fmt::format_to(std::back_inserter(text), "{:#x}", frame.offset);
  return text;
}

std::optional<std::int64_t> numberOf(const Event& event, const calls::Item& item) {
  switch (item.kind) {
    case calls::ItemKind::kNone:
    case calls::ItemKind::kText:
    case calls::ItemKind::kHandlePath:
    case calls::ItemKind::kPieces:
    case calls::ItemKind::kErrno:
    case calls::ItemKind::kResult:
      return {};
    case calls::ItemKind::kFd:
      if (event.handle == nullptr) return {};
      return event.handle->definition.fd;
    case calls::ItemKind::kFileHandle:
      if (event.handle == nullptr) return {};
      return event.handle->definition.handle;
    case calls::ItemKind::kDepth:
      if (event.depth == 0) return {};
      return event.depth;
    case calls::ItemKind::kAtLeast:
      if (!event.at_least) return {};
      return 1;
    case calls::ItemKind::kPieceCount: {
      const int pieces = calls::indexOf(*event.row, calls::Role::kIov);
      if (pieces < 0) return {};
      return event.arguments[static_cast<std::size_t>(pieces)];
    }
    case calls::ItemKind::kLineLength:
      if (event.failed) return {};
      return event.result;
    case calls::ItemKind::kOctal:
      if (!modeMatters(event)) return {};
      return event.arguments[item.argument];
    case calls::ItemKind::kNumber:
    case calls::ItemKind::kOpenFlags:
    case calls::ItemKind::kHex:
    case calls::ItemKind::kAmode:
    case calls::ItemKind::kWhence:
    case calls::ItemKind::kCommand:
    case calls::ItemKind::kLockType:
    case calls::ItemKind::kDirFd:
      break;
  }
  return event.arguments[item.argument];
}

std::optional<std::string_view> textOf(const Event& event, const calls::Item& item) {
  if (item.kind == calls::ItemKind::kText) {
    if (event.arguments[item.argument] == 0) return {};
    return event.texts[item.argument].raw;
  }
  const Handle* handle = event.handle != nullptr ? event.handle : event.new_handle;
  if (item.kind != calls::ItemKind::kHandlePath || handle == nullptr) return {};
  return handle->path.raw;
}

std::vector<std::uint64_t> pieceSizes(const Event& event) {
  std::vector<std::uint64_t> sizes;
  const char* at = event.pieces.data();
  const char* const end = at + event.pieces.size();
  while (at != nullptr && at < end) {
    std::uint64_t size = 0;
    at = wire::getVarint(at, end, size);
    if (at != nullptr) sizes.push_back(size);
  }
  return sizes;
}

std::optional<std::int64_t> resultOf(const Event& event) {
  using calls::Result;
  const Result kind = event.row->result;
  if (kind == Result::kNone) return {};
  if (event.failed) {
    return kind == Result::kMpi || kind == Result::kErrorNumber ? event.result : -1;
  }
  if (kind == Result::kNewFd || kind == Result::kNewStream) {
    if (event.new_handle == nullptr) return {};
    return event.new_handle->definition.fd;
  }
  return event.result;
}

}  // namespace omnio::event
