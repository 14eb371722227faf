// The command line of slowfs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tests/support/slowfs/pace.hpp"

namespace slowfs {

struct Options {
  std::string backing;
  std::string mount_point;
  std::string counts_file;  // empty: standard output
  PaceOptions pace;
  unsigned threads = 256;
  bool cache = false;
  bool write_back = false;
  bool check_permissions = true;
  bool real_time = false;
  bool control = false;
};

extern const char* const kUsage;

// A class of requests by its name on the command line: read, write, metadata or sync.
std::optional<RequestClass> classNamed(std::string_view name);

enum class Parsed { Run, Help, Wrong };

// On `Wrong`, `problem` is one sentence.
Parsed parse(int argc, char** argv, Options& options, std::string& problem);

}  // namespace slowfs
