// Finds the chunks of a container. What does not hold is stepped over and
// reported, and the search goes on for the next whole chunk: a failed write, a cut file or a
// flipped bit costs what it hit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/file.hpp"
#include "core/tracefile/process_info.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {

// Payloads are as large as a ring at most; nothing larger is believed, whatever a header says.
inline constexpr std::uint32_t kMaxPayloadBytes = 16U << 20;

// A chunk of events, by place. `header` is as stored, but event_count and payload_bytes say what
// can be read of a chunk that is cut. readPayload() (packed_payload.hpp) reads it, packed or not.
struct StoredChunk {
  wire::ChunkHeader header;
  std::uint64_t payload_offset = 0;  // in its source
  std::uint32_t source = 0;          // 0: the container; else the ring of that number, from 1
};

// Bytes of a container that are no whole chunk (holes do not count).
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct ContainerScan {
  std::vector<StoredChunk> chunks;  // of events, packed or not, in the order of the file
  std::vector<Damage> damage;
  std::uint64_t end = 0;  // behind the last whole chunk
};

// Reads all of the file once, in pieces of a fixed size. Facts go to `info`. Packed events are not
// unpacked: the checksum is of what is stored.
ContainerScan scanContainer(const base::File& file, std::uint64_t token, ProcessInfo& info);

// Takes in the facts at the start of a container alone, which cost one small read.
void readFirstFacts(const base::File& file, std::uint64_t token, ProcessInfo& info);

// How far a payload can be decoded: what to keep of a chunk that was cut.
struct Decodable {
  std::uint32_t events = 0;
  std::uint32_t bytes = 0;
};
Decodable decodable(std::string_view payload, std::uint64_t base_ticks,
                    std::uint32_t at_most = std::numeric_limits<std::uint32_t>::max());

}  // namespace omnio::tracefile
