// Finds the chunks of a container, as recorded or packed. What does not hold is stepped over and
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

// A chunk of events, by place. `header` is as recorded, but event_count and payload_bytes say what
// can be read of it.
struct StoredChunk {
  wire::ChunkHeader header;
  std::uint64_t payload_offset = 0;  // in its source
  std::uint32_t source = 0;          // 0: the container; else the ring of that number, from 1
  std::uint32_t packed_bytes = 0;    // there, when it has to be unpacked (packed_payload.hpp)
};

// Bytes of a container that are no whole chunk (holes do not count).
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // 0: a packed container that lacks its end
};

// A part of a container, for what makes another container of it (container_image.hpp).
struct StoredPiece {
  wire::PackedPiece piece = wire::PackedPiece::kChunk;
  StoredChunk chunk;  // of a piece that is no chunk only where it is and how large
  // Where it stood in the container as recorded: its header, or its bytes when it has none. Not
  // known of a chunk that was added after packing.
  std::optional<std::uint64_t> place;
};

// What a packed container's end tells of the container as it was recorded.
struct PackedEnd {
  std::uint64_t recorded_bytes = 0;
  std::vector<Damage> damage;  // of the container as recorded
};

struct ContainerScan {
  std::vector<StoredChunk> chunks;  // of events, in the order of the file
  std::vector<Damage> damage;       // of a packed container, that of the recorded one besides
  std::uint64_t end = 0;            // behind the last whole chunk
  std::optional<PackedEnd> packed;  // what the end of a packed container says
  std::vector<StoredPiece> pieces;  // when asked for: all that was found, in the order of the file
};

enum class Gather { kChunks, kPieces };

// Reads all of the file once, in pieces of a fixed size. Facts go to `info`.
ContainerScan scanContainer(const base::File& file, std::uint64_t token, ProcessInfo& info,
                            Gather gather = Gather::kChunks);

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
