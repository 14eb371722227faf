// Tables, quantities and values of enumerations as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// The words for the values of an enumeration, or for other numbers, and the way back.
template <typename Value>
using Word = std::pair<Value, std::string_view>;

// Empty for a value that is not in the table.
template <typename Value, std::size_t kCount>
constexpr std::string_view wordOf(const Word<Value> (&words)[kCount], Value value) {
  for (const auto& [known, word] : words) {
    if (known == value) return word;
  }
  return {};
}

template <typename Value, std::size_t kCount>
constexpr std::optional<Value> valueOf(const Word<Value> (&words)[kCount], std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace omnio::base
