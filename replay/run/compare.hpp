// Whether a replayed call came out as the recorded one.
#pragma once

#include <string>

#include "replay/issue/backend.hpp"
#include "replay/plan/program.hpp"

namespace omnio::replay {

// Compared are success, errno, and the result where it says something about the file: bytes, items,
// positions, counts. Descriptors and characters are the replay's own.
bool differs(const Instruction& instruction, const Outcome& outcome);

// "4096", "ENOSPC", "end of file"
std::string resultText(const calls::Row& row, bool failed, std::int64_t result);

}  // namespace omnio::replay
