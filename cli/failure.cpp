#include "cli/failure.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace omnio::cli {

void printFailure(std::string_view sentence) { fmt::print(stderr, "omnio: {}\n", sentence); }

}  // namespace omnio::cli
