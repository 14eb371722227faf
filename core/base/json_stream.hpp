// A file as the input of RapidJSON's reader, which knows the line and column it is at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>

#include "core/base/json_document.hpp"

namespace omnio::base {

class JsonFileStream {
 public:
  using Ch = char;

  explicit JsonFileStream(const std::filesystem::path& path);
  JsonFileStream(const JsonFileStream&) = delete;
  JsonFileStream& operator=(const JsonFileStream&) = delete;
  ~JsonFileStream();

  int error() const { return error_; }  // errno of opening or reading, 0 while all is well
  TextPlace place() const { return {.line = line_, .column = tell_ - line_start_ + 1}; }

  // RapidJSON's input stream concept; the end of the file is a NUL.
  char Peek() const { return at_ < filled_ ? buffer_[at_] : '\0'; }
  char Take();
  std::size_t Tell() const { return tell_; }

  // Of its concept too, for parsing in place, which is not done here.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  void Flush() {}
  std::size_t PutEnd(char*) { return 0; }

 private:
  void fill();

  std::FILE* file_ = nullptr;
  int error_ = 0;
  std::array<char, 65536> buffer_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::size_t tell_ = 0;
  std::size_t line_ = 1;
  std::size_t line_start_ = 0;
};

}  // namespace omnio::base
