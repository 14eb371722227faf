// Comma-separated values, as all of omnio writes them: cells as in RFC 4180, section 2, and lines
// that end in one newline. The RFC ends lines in CR LF. Every reader of it takes the newline alone
// as well, but awk, cut and sort would give the last cell of each line a CR, and a terminal's
// escapes (printable.hpp) would show it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace omnio::base {

inline constexpr char kCsvLineEnd = '\n';

// A value between two commas: quotes around what has a comma, quotes or the end of a line, and the
// quotes in it twice.
std::string csvCell(std::string_view text);

// Appends a line of these values.
void appendCsvLine(std::string& out, const std::vector<std::string>& values);

}  // namespace omnio::base
