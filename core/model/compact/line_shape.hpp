// The marks in the shape of a line (line_splitter.hpp), in the places of numbers. JSON text has no
// such bytes.
#pragma once

namespace omnio::model::mark {

inline constexpr char kNumber = '\x01';
inline constexpr char kMeasure = '\x02';
inline constexpr char kInName = '\x03';
inline constexpr char kPadded = '\x04';  // and a byte more: kWidthBase and the width
inline constexpr char kWidthBase = 0x20;
inline constexpr char kMeasures =
    '\x07';  // a list of them; how many, in digits, and kListEnd follow
inline constexpr char kListEnd = '\x08';
inline constexpr char kNameBrace = '\x05';  // '{' in a name; kNameBraceEnd is '}'
inline constexpr char kNameBraceEnd = '\x06';

// Says whether an event has work of its thread: 1 or 0. No document has it.
inline constexpr char kWorkKey[] = "work";

}  // namespace omnio::model::mark
