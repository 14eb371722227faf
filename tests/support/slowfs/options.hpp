// The command line of slowfs.
#pragma once

#include <string>

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
};

extern const char* const kUsage;

enum class Parsed { Run, Help, Wrong };

// On `Wrong`, `problem` is one sentence.
Parsed parse(int argc, char** argv, Options& options, std::string& problem);

}  // namespace slowfs
