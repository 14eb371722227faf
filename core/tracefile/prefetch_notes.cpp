#include "core/tracefile/prefetch_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/json_reader.hpp"
#include "core/tracefile/container_file.hpp"

namespace omnio::tracefile {
namespace {

constexpr std::string_view kPrefetchPrefix = "prefetch-";
constexpr std::string_view kPrefetchSuffix = ".json";
constexpr std::uint64_t kMostPrefetchBytes = std::uint64_t{1} << 20;

}  // namespace

std::filesystem::path prefetchDocument(const std::filesystem::path& directory,
                                       const std::string& host) {
  return directory / fmt::format("{}{}{}", kPrefetchPrefix, host, kPrefetchSuffix);
}

std::vector<std::filesystem::path> prefetchDocuments(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> documents;
  for (const auto& entry : entriesOf(directory)) {
    const std::string name = entry.path().filename().native();
    if (name.starts_with(kPrefetchPrefix) && name.ends_with(kPrefetchSuffix)) {
      documents.push_back(entry.path());
    }
  }
  std::ranges::sort(documents);
  return documents;
}

base::Result<std::string> prefetchSentence(const std::filesystem::path& document) {
  base::JsonReader in(document, kMostPrefetchBytes);
  const base::JsonNode root = in.value();
  std::string text;
  if (!in.failed()) {
    base::JsonObject object(in, root, base::JsonObject::Others::kAllowed);
    text = object.text("text");
  }
  const base::Result<void> read = in.finish();
  if (!read) return read.failure();
  return text;
}

}  // namespace omnio::tracefile
