// Chunks of a packed container, as `omnio pack` writes it: each stands for a piece of the container
// as it was recorded. docs/formats/trace.md shows them byte by byte. A packed chunk can be read
// without any other, as a recorded one can. Chunks as recorded may stand between them, and behind
// the end: each followed the piece before it, at the next multiple of 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/wire/container.hpp"

namespace omnio::wire {

// What a packed container keeps of the header block as it is: the header, with another version and
// this as header_bytes, and the account. Most of the rest are zeros.
inline constexpr std::size_t kPackedHeaderBytes = 1024;
static_assert(kAccountOffset + sizeof(Account) <= kPackedHeaderBytes);

// What a packed chunk stands for.
enum class PackedPiece : std::uint8_t {
  kChunk = 1,       // a whole chunk: its header is this one's, but for kind, sizes and checksums
  kCutRecords = 2,  // the whole records of a chunk that the end of the file cut; no header
  kBytes = 3,       // bytes between chunks that are not zero
  kEnd = 4          // the end of the container, and where it was damaged; the last packed chunk
};

enum class PackMethod : std::uint8_t {
  kStored = 0,  // as it was
  kZstd = 1,    // one zstd frame
  kColumns = 2  // records as columns (core/tracefile/record_columns.hpp), then one zstd frame
};

// The start of the payload of a packed chunk; the packed bytes follow.
struct PackedHeader {
  std::uint64_t place = 0;  // where the piece stood in the container as recorded; of the end: its
                            // size
  std::uint64_t check = 0;  // checksum of the unpacked bytes
  std::uint32_t bytes = 0;  // of the piece unpacked, without its header
  std::uint32_t column_bytes = 0;  // of the columns, where there are any
  PackedPiece piece = PackedPiece::kChunk;
  PackMethod method = PackMethod::kStored;
  ChunkKind kind = ChunkKind::kEvents;  // of the chunk that it stands for
  std::uint8_t unused[5] = {};
};
static_assert(sizeof(PackedHeader) == 32 && std::is_trivially_copyable_v<PackedHeader>);

// The piece kEnd is a list of these: bytes of the container as recorded that were no whole chunk.
struct PackedDamage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(PackedDamage) == 16);

}  // namespace omnio::wire
