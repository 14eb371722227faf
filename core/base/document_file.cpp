#include "core/base/document_file.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "core/base/printable.hpp"

namespace omnio::base {

DocumentFile::DocumentFile(std::filesystem::path path) : path_(std::move(path)) {
  // A file that gets its name by renaming would take the place of a device, a pipe or a link.
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    error_ = EEXIST;
    is_foreign_ = true;
    return;
  }
  if (std::filesystem::is_symlink(path_, error)) {
    const auto real = std::filesystem::canonical(path_, error);
    if (!error) path_ = real;
  }
  draft_ = path_;
  draft_ += fmt::format(".{}.tmp", getpid());
  removed_.emplace(draft_);
  file_ = std::fopen(draft_.c_str(), "wbe");
  if (file_ == nullptr) error_ = errno;
}

DocumentFile::~DocumentFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (draft_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(draft_, ignored);
}

void DocumentFile::write(std::string_view text) {
  if (error_ != 0) return;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) error_ = errno;
  bytes_ += text.size();
}

void DocumentFile::overwrite(std::uint64_t place, std::string_view text) {
  if (error_ != 0) return;
  if (fseeko(file_, static_cast<off_t>(place), SEEK_SET) != 0) error_ = errno;
  const std::uint64_t bytes = bytes_;
  write(text);
  bytes_ = bytes;
}

Result<void> DocumentFile::complete() {
  if (error_ == 0 && file_ != nullptr && std::fflush(file_) != 0) error_ = errno;
  if (file_ != nullptr && std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) {
    error_ = errno;
  }
  return state();
}

Result<void> DocumentFile::state() {
  if (error_ == 0) return {};
  if (is_foreign_) {
    return failure(Code::kSystem, "cannot write {}: not a regular file", printable(path_.native()));
  }
  return failedToWrite(error_);
}

Result<void> DocumentFile::failedToWrite(int error) {
  std::error_code ignored;
  std::filesystem::remove(draft_, ignored);
  draft_.clear();
  return failure(Code::kSystem, "cannot write {}: {}", printable(path_.native()),
                 std::generic_category().message(error));
}

Result<void> DocumentFile::finish() {
  if (const auto written = complete(); !written) return written;
  std::error_code error;
  std::filesystem::rename(draft_, path_, error);
  if (error) return failedToWrite(error.value());
  draft_.clear();
  return {};
}

Result<void> writeDocument(const std::filesystem::path& path, std::string_view text) {
  DocumentFile file(path);
  file.write(text);
  return file.finish();
}

}  // namespace omnio::base
