// The parts of a fuzz target. A program has one target; libFuzzer (campaign) or
// replay.cpp (test) drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

// Ends the process when the bytes bring something about that must not be.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace omnio::fuzz {

// Inputs that make sense, from which a campaign starts.
std::vector<std::string> seeds();
// How many variations of each seed a test reads; of slow targets few.
extern const int kVariations;

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace omnio::fuzz
