#include "core/base/json_stream.hpp"

#include <errno.h>
#include <sys/stat.h>

namespace omnio::base {

JsonFileStream::JsonFileStream(const std::filesystem::path& path)
    : file_(std::fopen(path.c_str(), "rbe")) {
  struct stat status {};
  if (file_ == nullptr) {
    error_ = errno;
  } else if (fstat(fileno(file_), &status) == 0 && S_ISDIR(status.st_mode)) {
    error_ = EISDIR;
  } else {
    fill();
  }
}

JsonFileStream::~JsonFileStream() {
  if (file_ != nullptr) std::fclose(file_);
}

char JsonFileStream::Take() {
  if (at_ == filled_) return '\0';
  const char c = buffer_[at_++];
  ++tell_;
  if (c == '\n') {
    ++line_;
    line_start_ = tell_;
  }
  if (at_ == filled_) fill();
  return c;
}

void JsonFileStream::fill() {
  at_ = 0;
  filled_ = std::fread(buffer_.data(), 1, buffer_.size(), file_);
  if (filled_ == 0 && std::ferror(file_) != 0) error_ = errno;
}

}  // namespace omnio::base
