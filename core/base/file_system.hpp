// Kinds of file systems, by the numbers that statfs(2) returns in f_type.
#pragma once
#include <cstdint>
#include <string>

namespace omnio::base {

// "lustre", "ext4", ...; the number in hexadecimal where the kind is not known.
std::string fileSystemName(std::uint64_t kind);

}  // namespace omnio::base
