// Packs one container: the payload of each chunk of events by itself, everything else stays as it
// is. The packed file takes the container's name only after it was written to the device, read back
// and compared with the original: whatever interrupts packing, the container is there, packed or
// not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "core/base/result.hpp"
#include "core/tracefile/packed_payload.hpp"

namespace omnio::tracefile {

struct ContainerPacked {
  bool changed = false;  // false: there was nothing to pack, and the rest is 0
  std::uint64_t events = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

// Called with the number of bytes of the container that were packed since the last call.
using Progress = std::function<void(std::uint64_t bytes)>;

base::Result<ContainerPacked> packContainer(const std::filesystem::path& path,
                                            PayloadPacker& packer, const Progress& progress);

// Removes from a trace directory what a killed packContainer() left there. Files that are being
// written stay, where the file system knows locks; where it does not, all stay.
void removeDeadDrafts(const std::filesystem::path& directory);

}  // namespace omnio::tracefile
