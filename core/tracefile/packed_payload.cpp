#include "core/tracefile/packed_payload.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "core/tracefile/record_columns.hpp"

namespace omnio::tracefile {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// Of a thread, since a trace may have more readers than there is memory for that many of these.
struct Unpacker {
  std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
  std::vector<char> columns;
  std::vector<char> packed;
};

Unpacker& unpackerOfThread() {
  thread_local Unpacker unpacker;
  return unpacker;
}

bool expand(Unpacker& unpacker, std::string_view packed, std::size_t bytes,
            std::vector<char>& out) {
  if (!unpacker.context) throw std::bad_alloc();
  out.resize(bytes);
  return ZSTD_decompressDCtx(unpacker.context.get(), out.data(), bytes, packed.data(),
                             packed.size()) == bytes;
}

}  // namespace

struct PayloadPacker::State {
  std::unique_ptr<ZSTD_CCtx, FreeContext> context{ZSTD_createCCtx()};
  Columns columns;
  std::vector<char> out;

  // Puts one frame behind the packed header: a block of its own, and so code tables of its own, up
  // to each of `ends`. False when it would not be smaller than `limit`.
  bool compress(std::string_view bytes, const std::vector<std::size_t>& ends, std::size_t limit) {
    ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(context.get(), bytes.size());
    out.resize(sizeof(wire::PackedHeader) + limit);
    ZSTD_outBuffer output{out.data(), out.size(), sizeof(wire::PackedHeader)};
    ZSTD_inBuffer input{bytes.data(), 0, 0};
    for (std::size_t i = 0; i < ends.size(); ++i) {
      input.size = ends[i];
      const auto how = i + 1 == ends.size() ? ZSTD_e_end : ZSTD_e_flush;
      while (true) {
        const std::size_t left = ZSTD_compressStream2(context.get(), &output, &input, how);
        if (ZSTD_isError(left) != 0) return false;
        if (left == 0) break;
        if (output.pos == output.size) return false;
      }
    }
    out.resize(output.pos);
    return true;
  }
};

PayloadPacker::PayloadPacker(int level) : state_(std::make_unique<State>()) {
  if (!state_->context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_compressionLevel, level);
  // Both stand in our own header.
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_checksumFlag, 0);
  ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_contentSizeFlag, 0);
}

PayloadPacker::~PayloadPacker() = default;

std::string_view PayloadPacker::pack(wire::PackedHeader about, std::string_view bytes,
                                     bool has_records) {
  State& s = *state_;
  about.bytes = static_cast<std::uint32_t>(bytes.size());
  about.check = wire::checksum(bytes.data(), bytes.size());
  about.column_bytes = 0;
  if (has_records) splitRecords(bytes, s.columns);
  if (has_records && s.columns.bytes.size() <= maxColumnBytes(bytes.size()) &&
      s.compress({s.columns.bytes.data(), s.columns.bytes.size()}, s.columns.ends, bytes.size())) {
    about.method = wire::PackMethod::kColumns;
    about.column_bytes = static_cast<std::uint32_t>(s.columns.bytes.size());
  } else if (s.compress(bytes, {bytes.size()}, bytes.size())) {
    about.method = wire::PackMethod::kZstd;
  } else {
    about.method = wire::PackMethod::kStored;
    s.out.resize(sizeof about);
    s.out.insert(s.out.end(), bytes.begin(), bytes.end());
  }
  std::memcpy(s.out.data(), &about, sizeof about);
  return {s.out.data(), s.out.size()};
}

std::optional<wire::PackedHeader> packedHeader(std::string_view payload) {
  wire::PackedHeader about;
  if (payload.size() < sizeof about) return {};
  std::memcpy(&about, payload.data(), sizeof about);
  if (about.bytes > kMaxPayloadBytes || about.column_bytes > maxColumnBytes(about.bytes)) return {};
  return about;
}

bool unpackPayload(std::string_view payload, std::vector<char>& out) {
  Unpacker& unpacker = unpackerOfThread();
  const auto about = packedHeader(payload);
  if (!about) return false;
  payload.remove_prefix(sizeof *about);
  switch (about->method) {
    case wire::PackMethod::kStored:
      if (payload.size() != about->bytes) return false;
      out.assign(payload.begin(), payload.end());
      break;
    case wire::PackMethod::kZstd:
      if (!expand(unpacker, payload, about->bytes, out)) return false;
      break;
    case wire::PackMethod::kColumns:
      if (!expand(unpacker, payload, about->column_bytes, unpacker.columns) ||
          !joinRecords({unpacker.columns.data(), unpacker.columns.size()}, about->bytes, out)) {
        return false;
      }
      break;
    default:
      return false;
  }
  return wire::checksum(out.data(), out.size()) == about->check;
}

bool readPayload(const base::File& file, const StoredChunk& chunk, std::vector<char>& out) {
  const bool is_packed = chunk.packed_bytes > 0;
  std::vector<char>& stored = is_packed ? unpackerOfThread().packed : out;
  stored.resize(is_packed ? chunk.packed_bytes : chunk.header.payload_bytes);
  if (file.readAt(chunk.payload_offset, stored.data(), stored.size()) != stored.size()) {
    return false;
  }
  return !is_packed || (unpackPayload({stored.data(), stored.size()}, out) &&
                        out.size() == chunk.header.payload_bytes);
}

}  // namespace omnio::tracefile
