#include "cli/failure.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "core/base/printable.hpp"

namespace omnio::cli {

void printFailure(std::string_view sentence) {
  fmt::print(stderr, "omnio: {}\n", base::safeText(sentence));
}

}  // namespace omnio::cli
