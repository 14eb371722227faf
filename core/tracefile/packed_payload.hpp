// The payload of one packed chunk: what `omnio pack` makes of a piece of a container, and back.
// Compression is zstd's (RFC 8878); of records the columns are compressed, each with code tables of
// its own (record_columns.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.hpp"
#include "core/tracefile/chunk_scan.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {

inline constexpr int kDefaultPackLevel = 3;
inline constexpr int kMinPackLevel = 1;
inline constexpr int kMaxPackLevel = 19;

// A thread's own: it keeps the compressor's memory from chunk to chunk.
class PayloadPacker {
 public:
  explicit PayloadPacker(int level);
  ~PayloadPacker();
  PayloadPacker(const PayloadPacker&) = delete;
  PayloadPacker& operator=(const PayloadPacker&) = delete;

  // What a packed chunk carries for `bytes` (at most kMaxPayloadBytes): `about`, completed, and the
  // packed bytes. Records are taken apart when `has_records`. Valid until the next call.
  std::string_view pack(wire::PackedHeader about, std::string_view bytes, bool has_records);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The start of a packed chunk's payload, if it can be one.
std::optional<wire::PackedHeader> packedHeader(std::string_view payload);

// What a packed chunk's payload stands for, into `out`, which is reused. False when it is damaged:
// what it declares is checked before anything is allocated, and what comes out against its
// checksum.
bool unpackPayload(std::string_view payload, std::vector<char>& out);

// The payload of a chunk in `file`, packed or not; false when it cannot be read or is damaged.
bool readPayload(const base::File& file, const StoredChunk& chunk, std::vector<char>& out);

}  // namespace omnio::tracefile
