// Writing that is complete or says why not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnio::base {

// Writes all of `data` at `offset`. Returns 0 or an errno value. The signal that comes with a
// file-size limit is kept from the caller, whatever he does with signals.
int writeAll(int fd, const char* data, std::size_t bytes, std::uint64_t offset);

}  // namespace omnio::base
