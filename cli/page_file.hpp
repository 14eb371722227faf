// Shared by the commands that write a page for the browser.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "report/figures.hpp"
#include "report/page.hpp"

namespace omnio::cli {

// Writes a page with this data, a JSON document. Returns its size in bytes.
base::Result<std::size_t> writePage(const std::string& path, report::PageKind kind,
                                    std::string_view data);

// Writes pictures into the directory, which is made where needed.
base::Result<void> writeFigures(const std::filesystem::path& directory,
                                const std::vector<report::Figure>& figures);

// As of RFC 3339, in UTC.
std::string timeNow();

// The words as a line for a shell, to be read in a page. Bytes that are not plain text are in it as
// text (core/base/printable.hpp).
std::string shellLine(const std::vector<std::string>& words);

}  // namespace omnio::cli
