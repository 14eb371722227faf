#include "core/tracefile/packed_payload.hpp"

#include <zstd.h>

#include <new>

namespace omnio::tracefile {
namespace {

struct FreeUnpacker {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

void PayloadPacker::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

PayloadPacker::PayloadPacker(int level) : context_(ZSTD_createCCtx()), level_(level) {
  if (!context_) throw std::bad_alloc();
}

PayloadPacker::~PayloadPacker() = default;

std::string_view PayloadPacker::pack(std::string_view payload) {
  if (payload.empty()) return {};
  out_.resize(payload.size() - 1);
  const std::size_t bytes = ZSTD_compressCCtx(context_.get(), out_.data(), out_.size(),
                                              payload.data(), payload.size(), level_);
  return ZSTD_isError(bytes) != 0 ? std::string_view() : std::string_view(out_.data(), bytes);
}

bool unpackPayload(std::string_view packed, std::vector<char>& out) {
  // One per thread and not per reader: a trace may have more readers than there is memory for that
  // many of these.
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeUnpacker> context(ZSTD_createDCtx());
  if (!context) throw std::bad_alloc();
  // Errors are the largest numbers.
  const unsigned long long bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (bytes > kMaxPayloadBytes) return false;
  out.resize(static_cast<std::size_t>(bytes));
  return ZSTD_decompressDCtx(context.get(), out.data(), out.size(), packed.data(), packed.size()) ==
         bytes;
}

bool readPayload(const base::File& file, const StoredChunk& chunk, std::vector<char>& out) {
  thread_local std::vector<char> packed;
  const bool is_packed = chunk.header.kind == wire::ChunkKind::kPackedEvents;
  std::vector<char>& stored = is_packed ? packed : out;
  stored.resize(chunk.header.payload_bytes);
  if (file.readAt(chunk.payload_offset, stored.data(), stored.size()) != stored.size()) {
    return false;
  }
  return !is_packed || unpackPayload({stored.data(), stored.size()}, out);
}

}  // namespace omnio::tracefile
