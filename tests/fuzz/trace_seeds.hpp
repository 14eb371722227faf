// Chunks that make sense, as seeds of the targets that read traces.
#pragma once

#include <string>
#include <vector>

#include "tests/core/trace_builder.hpp"

namespace omnio::fuzz {

// Four writes to one file.
test::ChunkBuilder writes();
// Every call that there is, once.
test::ChunkBuilder allCalls();
// A file that is opened, read, renamed, duplicated and closed: what preprocessing follows.
test::ChunkBuilder lifeOfAFile();

}  // namespace omnio::fuzz
