// Reads a large JSON document as a stream of small values. The layout of the document says which
// arrays and objects are walked through, and which values are gathered as a whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json_node.hpp"
#include "core/base/printable.hpp"
#include "core/base/result.hpp"

namespace omnio::base {

class JsonUnits {
 public:
  JsonUnits() = default;
  JsonUnits(const JsonUnits&) = delete;
  JsonUnits& operator=(const JsonUnits&) = delete;
  virtual ~JsonUnits() = default;

  // Why the document is refused, and where; the place of the reader when there is none.
  struct Complaint {
    std::string reason;
    std::optional<TextPlace> place{};
  };
  using Verdict = std::optional<Complaint>;

  // Whether the array or object at this path is walked through. A path has the keys of objects and
  // "[]" for elements of arrays: "/ranks/[]/threads".
  virtual bool isWalked(std::string_view path) const = 0;
  // A value that is not walked through.
  virtual Verdict unit(std::string_view path, const JsonNode& node) = 0;
  // Begin and end of what is walked through.
  virtual Verdict enter(std::string_view path) = 0;
  virtual Verdict leave(std::string_view path) = 0;
};

// Reads the whole file. Fails with one sentence: file, line, column, reason.
std::optional<Failure> readJsonUnits(const std::filesystem::path& path, JsonUnits& units);

}  // namespace omnio::base
