// Tables as text, for people.
#pragma once

#include <string>
#include <vector>

namespace omnio::base {

enum class Align { kLeft, kRight };

// Appends the rows, the first of which is the heading, in columns as wide as their widest cell and
// without blanks at the ends of lines. All but the last column are aligned; that one is text. Each
// row has as many cells as the first; without rows nothing is appended.
void appendTable(std::string& out, const std::vector<std::vector<std::string>>& rows, Align align);

}  // namespace omnio::base
