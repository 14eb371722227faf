// Payloads of chunks: reading one, packed or not, and packing one. A packed payload is one zstd
// frame (RFC 8878) that says how long it is unpacked.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/base/file.hpp"
#include "core/tracefile/chunk_scan.hpp"

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
  ~PayloadPacker();
  PayloadPacker(const PayloadPacker&) = delete;
  PayloadPacker& operator=(const PayloadPacker&) = delete;

  // The packed form, valid until the next call; empty when it is not smaller than `payload`.
  std::string_view pack(std::string_view payload);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  int level_;
  std::vector<char> out_;
};

// Unpacks into `out`, which is reused. False when `packed` is damaged, or claims to be more than
// kMaxPayloadBytes: this is checked before anything is allocated.
bool unpackPayload(std::string_view packed, std::vector<char>& out);

// Reads the payload of a chunk in `file`, and unpacks it when the chunk is packed. False when it
// cannot be read or is damaged. `file` is the chunk's container, not a ring.
bool readPayload(const base::File& file, const StoredChunk& chunk, std::vector<char>& out);

}  // namespace omnio::tracefile
