#include "cli/page_file.hpp"

#include <fmt/chrono.h>

#include <chrono>
#include <system_error>

#include "core/base/document_file.hpp"
#include "core/base/printable.hpp"

namespace omnio::cli {

base::Result<std::size_t> writePage(const std::string& path, report::PageKind kind,
                                    std::string_view data) {
  const std::string page = report::pageOf(kind, base::safeJson(data));
  if (const auto written = base::writeDocument(path, page); !written) return written.failure();
  return page.size();
}

base::Result<void> writeFigures(const std::filesystem::path& directory,
                                const std::vector<report::Figure>& figures) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return base::failure(base::Code::kSystem, "cannot make the directory {}: {}",
                         base::printable(directory.native()), error.message());
  }
  for (const report::Figure& figure : figures) {
    const auto written = base::writeDocument(directory / figure.name, figure.svg);
    if (!written) return written;
  }
  return {};
}

std::string timeNow() {
  return fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string shellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += base::shellWord(base::printable(word));
  }
  return line;
}

}  // namespace omnio::cli
