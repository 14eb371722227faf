#include "core/base/json_document.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <algorithm>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"

namespace omnio::base {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
constexpr int kMaxDepth = 64;

// How deep brackets nest, without regard to whether they match: enough to refuse what would take a
// recursive destructor through the stack. Returns the place of the first that is too deep.
std::size_t tooDeepAt(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

TextPlace placeOf(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t newline = before.rfind('\n');
  return {.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          .column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1};
}

Failure failureAt(const std::filesystem::path& path, TextPlace place, std::string_view reason) {
  return {Code::kDamaged, fmt::format("{}: line {}, column {}: {}", printable(path.native()),
                                      place.line, place.column, reason)};
}

Result<rapidjson::Document> readJsonDocument(const std::filesystem::path& path) {
  const Result<File> file = File::open(path);
  if (!file) return file.failure();
  const std::uint64_t size = file->size();
  if (size == 0) return Failure{Code::kNotOurs, printable(path.native()) + ": empty"};
  if (size > kMaxBytes) {
    return Failure{Code::kNotOurs, fmt::format("{}: {} bytes; such a document has at most {} bytes",
                                               printable(path.native()), size, kMaxBytes)};
  }
  std::string text(size, '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  const std::size_t deep = tooDeepAt(text);
  if (deep != std::string_view::npos) {
    return failureAt(path, placeOf(text, deep), "nested too deeply");
  }
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    std::string reason = rapidjson::GetParseError_En(document.GetParseError());
    if (reason.ends_with('.')) reason.pop_back();
    return failureAt(path, placeOf(text, document.GetErrorOffset()), "not JSON: " + reason);
  }
  return document;
}

}  // namespace omnio::base
