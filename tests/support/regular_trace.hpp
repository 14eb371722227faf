// Large traces whose figures are known: each thread writes, reads and seeks in files that it
// changes every eight calls.
#pragma once

#include <cstdint>
#include <filesystem>

namespace omnio::test {

// Each process has so many threads, and each thread so many files.
struct RegularShape {
  std::uint64_t events = 0;  // of all; a remainder that does not fit all threads is left out
  std::uint32_t ranks = 1;
  std::uint32_t threads = 4;
  std::uint32_t files = 64;
};

// The directory is made, and has a container for each rank.
void makeRegularTrace(const std::filesystem::path& directory, const RegularShape& shape);

}  // namespace omnio::test
