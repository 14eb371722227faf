// The words for the values of an enumeration, or for other numbers, and the way back.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace omnio::base {

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
