// What `omnio prefetch` has left in a trace directory: a document for each node, prefetch-HOST.json
// (docs/commands/prefetch.md), which says in one sentence what was prefetched, used and wasted.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace omnio::tracefile {

// "prefetch-<host>.json"
std::filesystem::path prefetchDocument(const std::filesystem::path& directory,
                                       const std::string& host);
// Those that are there, in order.
std::vector<std::filesystem::path> prefetchDocuments(const std::filesystem::path& directory);
// The sentence of one.
base::Result<std::string> prefetchSentence(const std::filesystem::path& document);

}  // namespace omnio::tracefile
