// Chunks with their checksums made right, which no fuzzer would guess, and the place where they are
// read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/wire/container.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::fuzz {

// Each chunk there is in `bytes`, by its magic number, with the token of the seeds and its sums.
std::string repaired(std::string bytes);

// A whole chunk of this payload.
std::string chunkOf(wire::ChunkHeader header, std::string_view payload);

// A trace directory, and a directory of rings that readers look into.
struct Place {
  test::TemporaryDirectory trace;
  test::TemporaryDirectory rings;

  Place();
  std::filesystem::path container() const { return trace / "node1.1.0.omnio"; }
};

}  // namespace omnio::fuzz
