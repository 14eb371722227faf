// Packs one container, and restores one. The result gets its name only after it was written to the
// device, read back and compared with the original byte by byte: whatever interrupts it, the
// container is there, packed or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "core/base/result.hpp"
#include "core/tracefile/packed_payload.hpp"

namespace omnio::tracefile {

struct ContainerPacked {
  bool changed = false;  // false: it was as it was to become
  std::uint64_t events = 0;
  std::uint64_t recorded_bytes = 0;  // of the container as recorded
  std::uint64_t packed_bytes = 0;    // of the file packed
};

// Told of the bytes of the original that are done with, part by part.
using Progress = std::function<void(std::uint64_t bytes)>;

// `target` may be `source`; else it must not exist. The directory of `target` has to exist. A
// target other than the source is made in any case.
base::Result<ContainerPacked> packContainer(const std::filesystem::path& source,
                                            const std::filesystem::path& target,
                                            PayloadPacker& packer, const Progress& progress);
base::Result<ContainerPacked> restoreContainer(const std::filesystem::path& source,
                                               const std::filesystem::path& target,
                                               const Progress& progress);

}  // namespace omnio::tracefile
