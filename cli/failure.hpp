// Says why a command failed: one line on stderr, `omnio: <sentence>`, safe for a terminal
// (core/base/printable.hpp).
#pragma once

#include <string_view>

namespace omnio::cli {

void printFailure(std::string_view sentence);

}  // namespace omnio::cli
