// Mappings of files that are recorded: which pages of them the process has touched shows in its
// page tables when a mapping ends.
#pragma once

namespace omnio::trace {

// Records what was touched in all mappings that there are, before the process ends or becomes
// another program.
void recordMappings();

}  // namespace omnio::trace
