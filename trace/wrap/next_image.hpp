// The program that this process, or a child of it, is about to become: whether the tracer will be
// in it, and what its environment needs. What cannot be traced is noted in the trace directory
// (core/wire/notes.hpp). Works in shells and launchers too, which are not traced
// themselves, and in the child of a vfork: it uses the stack and system calls alone.
#pragma once

#include <cstddef>

namespace omnio::trace {

// How the program is named.
struct ProgramName {
  const char* path = nullptr;  // null: `directory` is a descriptor of the program itself
  int directory = -100;        // AT_FDCWD
  bool is_searched = false;    // in PATH, when it has no slash
};

// Variables that have to be put into the environment of the next image. Lives in the caller's
// frame.
class ImageEnvironment {
 public:
  // Looks at the program and notes it when it cannot be traced.
  ImageEnvironment(const ProgramName& program, char* const* variables);
  ImageEnvironment(const ImageEnvironment&) = delete;
  ImageEnvironment& operator=(const ImageEnvironment&) = delete;

  bool isChanged() const { return additions_ > 0; }
  // Entries that `fill` needs room for.
  std::size_t entries() const { return count_ + static_cast<std::size_t>(additions_) + 1; }
  // The variables with the additions, null-terminated.
  char* const* fill(char** room) const;

 private:
  char* const* variables_;
  std::size_t count_ = 0;
  int additions_ = 0;
  char asan_[512] = {};       // NAME=value
  char forbidden_[192] = {};  // NAME=value
};

// Whether this process belongs to a trace and may make system calls; true in shells and launchers.
bool isPartOfTrace();
// Appends a record to the file <host><suffix> of the trace directory, in one write and by system
// calls alone. Returns the bytes written, or -errno.
long appendToTrace(const char* suffix, const char* record, std::size_t bytes);

// Remembers, when the library is loaded, which trace this process belongs to.
void rememberTrace();

}  // namespace omnio::trace
