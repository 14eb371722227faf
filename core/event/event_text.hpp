// The classic text form of an event: START_NS END_NS CALL key=value,key=value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/calls/words/names.hpp"
#include "core/event/event.hpp"

namespace omnio::event {

// Appends the event as one line, with the newline.
void appendText(std::string& out, const Event& event);

// "PATH+0xOFFSET", which addr2line takes apart (`addr2line -e PATH 0xOFFSET`); "0xOFFSET" without a
// module.
std::string textOf(const StackFrame& frame);

// The value of an item that is a plain number for this event, nothing when the event lacks it.
// Texts, pieces, errno and results have none here.
std::optional<std::int64_t> numberOf(const Event& event, const calls::Item& item);

// The text of an item of kind kText or kHandlePath, nothing when the event lacks it (a null
// pointer, a handle that is not known).
std::optional<std::string_view> textOf(const Event& event, const calls::Item& item);

// False for an open that makes no file: its mode is whatever stood in a register.
bool modeMatters(const Event& event);

std::vector<std::uint64_t> pieceSizes(const Event& event);

// The result as a number; a descriptor for calls that make one or a stream, nothing when it is
// not known which.
std::optional<std::int64_t> resultOf(const Event& event);

}  // namespace omnio::event
