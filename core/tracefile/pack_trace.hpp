// Packs the containers of a trace in place, several at once: the payload of each chunk of events by
// itself, everything else stays as it is. The packed file takes the container's name only after it
// was written to the device, read back and compared with the original: whatever interrupts packing,
// the container is there, packed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

struct ZSTD_CCtx_s;

namespace omnio::tracefile {

// Level 9 saves up to 7 % more in five times the time (docs/decisions/0005-packing-by-chunk.md).
inline constexpr int kDefaultPackLevel = 3;
inline constexpr int kMinPackLevel = 1;
inline constexpr int kMaxPackLevel = 19;

// Keeps the compressor's memory from chunk to chunk. One thread uses it at a time.
class PayloadPacker {
 public:
  explicit PayloadPacker(int level);

  // The packed form, valid until the next call; empty when it is not smaller than `payload`.
  std::string_view pack(std::string_view payload);

 private:
  std::unique_ptr<ZSTD_CCtx_s, std::size_t (*)(ZSTD_CCtx_s*)> context_;
  int level_;
  std::vector<char> out_;
};

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

struct PackOptions {
  int level = kDefaultPackLevel;
  unsigned jobs = 1;          // containers at once
  bool assume_ended = false;  // processes that did not say so and cannot be seen from here
  // Called with how far packing is, by one thread at a time.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress{};
};

struct PackReport {
  std::uint64_t containers = 0;
  std::uint64_t changed = 0;          // the others held nothing to pack
  std::uint64_t events = 0;           // in the changed containers, as their chunks say
  std::uint64_t bytes_before = 0;     // of the changed containers
  std::uint64_t bytes_after = 0;      // of the changed containers
  std::vector<std::string> kept;      // containers that cannot be read and stay as they are
  std::vector<std::string> troubles;  // why packing stopped, one sentence each
};

// Fails, with nothing changed, where the directory holds no trace, where a process of it runs or
// may run, and where events of it wait to be collected. When it stops on its way (report.troubles),
// each container is as it was or packed.
base::Result<PackReport> packTrace(const std::filesystem::path& trace, const PackOptions& options);

inline constexpr unsigned kMostPackJobs = 64;
// How many containers at once use this machine: its processors, up to what a device takes.
unsigned usualPackJobs();

}  // namespace omnio::tracefile
