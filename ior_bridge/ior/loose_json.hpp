// JSON as IOR writes it, which is not always JSON: several releases leave out or double a closing
// bracket, put progress lines or what other ranks wrote in between, or write inf. Read is what can
// be meant in one way only; what was mended is counted, and where the text ends too early is said.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace omnio::ior {

struct LooseValue {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;  // may be infinite or no number
  std::string string;
  std::vector<LooseValue> items;
  std::vector<std::pair<std::string, LooseValue>> members;
  std::size_t offset = 0;  // where it begins in the text

  // The first member of that name; null when there is none, or this is no object.
  const LooseValue* find(std::string_view name) const;
  std::optional<double> numberAt(std::string_view name) const;
  std::optional<std::string> stringAt(std::string_view name) const;
};

struct LooseDocument {
  LooseValue root;
  std::size_t mended = 0;                 // places that are no JSON
  std::optional<std::size_t> ends_early;  // offset at which the text ends within a value
};

struct LooseError {
  std::size_t offset = 0;
  std::string reason;
};

// Either a document whose root is an object, or where and why the text is none.
std::variant<LooseDocument, LooseError> readLooseJson(std::string_view text);

}  // namespace omnio::ior
