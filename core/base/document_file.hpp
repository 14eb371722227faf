// A document being written: it appears under its name only when complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/interruption.hpp"
#include "core/base/result.hpp"

namespace omnio::base {

class DocumentFile {
 public:
  // Writes go to a draft beside `path`, which is made with the first of them.
  explicit DocumentFile(std::filesystem::path path);
  DocumentFile(const DocumentFile&) = delete;
  DocumentFile& operator=(const DocumentFile&) = delete;
  ~DocumentFile();  // without finish(), the draft is removed

  // The first error is kept for finish(); what comes after it is dropped.
  void write(std::string_view text);
  bool failed() const { return error_ != 0; }
  Result<void> state();  // the failure so far, with the sentence that finish() would have
  std::uint64_t bytes() const { return bytes_; }  // written so far

  // Replaces bytes that were written, `place` bytes after the begin. For the last change.
  void overwrite(std::uint64_t place, std::string_view text);
  // Writes the rest out, before finish() does it. For documents that get their names together.
  Result<void> complete();
  // Where it is until it has its name.
  const std::filesystem::path& draft() const { return draft_; }
  // Gives the document its name. Fails with a sentence that names it.
  Result<void> finish();

 private:
  Result<void> failedToWrite(int error);

  std::filesystem::path path_;
  std::filesystem::path draft_;
  std::optional<RemovedIfInterrupted> removed_;  // the draft
  std::FILE* file_ = nullptr;
  int error_ = 0;
  std::uint64_t bytes_ = 0;
  bool is_foreign_ = false;  // something other than a file has the name
};

Result<void> writeDocument(const std::filesystem::path& path, std::string_view text);

}  // namespace omnio::base
