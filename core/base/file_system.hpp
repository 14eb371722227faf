// File systems: their kinds, by the numbers that statfs(2) returns in f_type, and their mounts.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace omnio::base {

// "lustre", "ext4", ...; the number in hexadecimal where the kind is not known.
std::string fileSystemName(std::uint64_t kind);

// The file system that a directory lies on, as text: "point type source". Empty
// where the directory cannot be looked up.
std::string mountOf(const std::filesystem::path& directory);

}  // namespace omnio::base
