// Reads all that a trace directory gives, in every way there is, and requires that what is counted
// agrees with what is read.
#pragma once

#include <cstdint>
#include <filesystem>

namespace omnio::fuzz {

// The token of the chunks in seeds: a fuzzer would hardly guess it.
inline constexpr std::uint64_t kToken = 0x0101010101010101;

// Events that came out of the logs; nothing is required of what is not a trace.
std::uint64_t readTrace(const std::filesystem::path& directory);

}  // namespace omnio::fuzz
