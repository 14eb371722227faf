#include "tests/fuzz/repaired.hpp"

#include <cstdlib>
#include <cstring>

#include "tests/fuzz/read_trace.hpp"

namespace omnio::fuzz {

std::string repaired(std::string bytes) {
  for (std::size_t at = 0; at + sizeof(wire::ChunkHeader) <= bytes.size();
       at += wire::kChunkAlignment) {
    wire::ChunkHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t payload_at = at + sizeof header;
    if (header.magic != wire::kChunkMagic || header.payload_bytes > bytes.size() - payload_at) {
      continue;
    }
    header.token = kToken;
    header.payload_check = wire::checksum(bytes.data() + payload_at, header.payload_bytes);
    wire::stamp(header);
    std::memcpy(bytes.data() + at, &header, sizeof header);
  }
  return bytes;
}

std::string chunkOf(wire::ChunkHeader header, std::string_view payload) {
  header.token = kToken;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_check = wire::checksum(payload.data(), payload.size());
  wire::stamp(header);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += payload;
  bytes.resize(wire::aligned(bytes.size()));
  return bytes;
}

Place::Place() { setenv("OMNIO_RING_DIR", rings.path().c_str(), 1); }

}  // namespace omnio::fuzz
