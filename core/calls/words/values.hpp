// The way back from the words of core/calls/words/names.hpp to numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace omnio::calls {

// Each takes the symbolic form, or a number in decimal, octal (0...) or hexadecimal (0x...);
// nothing when it is neither.
std::optional<std::int64_t> openFlagsOf(std::string_view text);  // O_WRONLY|O_CREAT
std::optional<std::int64_t> whenceOf(std::string_view text);
std::optional<std::int64_t> commandOf(std::string_view text);
std::optional<std::int64_t> errnoOf(std::string_view text);
std::optional<std::int64_t> numberIn(std::string_view text);

}  // namespace omnio::calls
