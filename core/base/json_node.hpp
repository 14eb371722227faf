// A small JSON value that knows where in the document it stands: what a streamed document is taken
// apart into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json_document.hpp"

namespace omnio::base {

struct JsonNode {
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kReal, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::int64_t integer = 0;  // kBool: 0 or 1; an integer beyond 64 bits is a kReal
  double real = 0;           // of integers too
  std::string text{};
  std::vector<JsonNode> items{};
  std::vector<std::pair<std::string, JsonNode>> members{};  // in the document's order
  TextPlace place{};                                        // where it ends

  // nullptr when there is no such member.
  const JsonNode* find(std::string_view key) const {
    for (const auto& [name, value] : members) {
      if (name == key) return &value;
    }
    return nullptr;
  }
  static std::string_view nameOf(Kind kind) {
    constexpr std::string_view kNames[] = {"null",   "true or false", "a whole number", "a number",
                                           "a text", "a list",        "an object"};
    return kNames[static_cast<std::size_t>(kind)];
  }
};

}  // namespace omnio::base
