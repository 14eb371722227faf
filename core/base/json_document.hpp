// Small JSON documents (phase models, results of benchmarks) held as a whole. Schedules, which may
// be larger than memory, are read as a stream instead.
#pragma once

#include <rapidjson/document.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace omnio::base {

// Reads and parses the file. Fails with a sentence that names file, line and column: not there,
// empty, too large to be such a document, no JSON, more behind its end, nested too deeply.
Result<rapidjson::Document> readJsonDocument(const std::filesystem::path& path);

// Lines and columns count from 1; a column is a byte.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};
TextPlace placeOf(std::string_view text, std::size_t offset);

// "document.json: line 3, column 7: reason"
Failure failureAt(const std::filesystem::path& path, TextPlace place, std::string_view reason);

}  // namespace omnio::base
