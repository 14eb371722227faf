// Tables and quantities as text, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::base {

enum class Align { kLeft, kRight };

// Appends the rows, the first of which is the heading, in columns as wide as their widest cell and
// without blanks at the ends of lines. All but the last column are aligned; that one is text. Each
// row has as many cells as the first; without rows nothing is appended.
void appendTable(std::string& out, const std::vector<std::vector<std::string>>& rows, Align align);

// "1 event", "2 events"
std::string counted(std::uint64_t count, std::string_view one, std::string_view more);

// In the unit that one reads at a glance, with three digits.
std::string humanBytes(double bytes);          // 4.00 KiB; below 1 KiB without decimals
std::string humanNs(double nanoseconds);       // 1.23 ms
std::string humanMibS(double mib_per_second);  // 812 MiB/s

}  // namespace omnio::base
