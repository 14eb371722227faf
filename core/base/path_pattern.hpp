// Names of files that differ in their numbers alone.
#pragma once

#include <string>
#include <string_view>

namespace omnio::base {

// The path with # in place of each number: "/run/dump.#.txt".
std::string withoutNumbers(std::string_view path);

}  // namespace omnio::base
