// What the commands that write a page for the browser have in common.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "report/page.hpp"

namespace omnio::cli {

// Writes a page with this data, a JSON document. Returns its size in bytes.
base::Result<std::size_t> writePage(const std::string& path, report::PageKind kind,
                                    std::string_view data);

// As of RFC 3339, in UTC.
std::string timeNow();

// The words as text that a shell takes as the same words.
std::string shellLine(const std::vector<std::string>& words);

}  // namespace omnio::cli
