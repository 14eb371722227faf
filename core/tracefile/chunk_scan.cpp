#include "core/tracefile/chunk_scan.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/wire/decode.hpp"

namespace omnio::tracefile {
namespace {

constexpr std::size_t kWindowBytes = 256 * 1024;

// Shows parts of a file through one buffer, which grows for a long payload alone.
class Window {
 public:
  Window(const base::File& file, std::uint64_t size) : file_(file), size_(size) {}

  // The `bytes` bytes at `offset`, fewer at the end of the file. Valid until the next call.
  std::string_view view(std::uint64_t offset, std::size_t bytes) {
    if (offset >= size_) return {};
    bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
    if (offset < begin_ || offset + bytes > begin_ + filled_) {
      const auto left = static_cast<std::size_t>(
          std::min<std::uint64_t>(size_ - offset, std::max(bytes, kWindowBytes)));
      if (buffer_.size() < left) buffer_.resize(left);
      begin_ = offset;
      filled_ = file_.readAt(offset, buffer_.data(), left);
    }
    const auto skip = static_cast<std::size_t>(offset - begin_);
    return std::string_view(buffer_.data(), filled_).substr(skip, bytes);
  }

 private:
  const base::File& file_;
  std::uint64_t size_;
  std::uint64_t begin_ = 0;
  std::size_t filled_ = 0;
  std::vector<char> buffer_;
};

class Scanner {
 public:
  Scanner(const base::File& file, std::uint64_t token, ProcessInfo& info)
      : file_(file), size_(file.size()), token_(token), info_(info), window_(file, size_) {}

  void takeFirst() { takeChunk(wire::kContainerHeaderBytes); }

  ContainerScan scan() {
    std::uint64_t at = wire::kContainerHeaderBytes;
    result_.end = std::min<std::uint64_t>(at, size_);
    while (at < size_) {
      const std::uint64_t behind = takeChunk(at);
      at = behind != 0 ? behind : skip(at);
    }
    keepCut();
    return std::move(result_);
  }

 private:
  // Returns the place behind the chunk at `at`, 0 when none is whole there.
  std::uint64_t takeChunk(std::uint64_t at) {
    const auto header = headerAt(at);
    if (!header) return 0;
    const std::uint64_t payload_at = at + sizeof *header;
    const std::string_view payload = window_.view(payload_at, header->payload_bytes);
    if (payload.size() < header->payload_bytes) {
      cut_ = {.header = *header, .payload_offset = payload_at};
      return 0;
    }
    if (wire::checksum(payload.data(), payload.size()) != header->payload_check) return 0;
    if (header->kind == wire::ChunkKind::kInfo) {
      info_.take(payload);
    } else if (header->kind == wire::ChunkKind::kEvents ||
               header->kind == wire::ChunkKind::kPackedEvents) {
      result_.chunks.push_back({.header = *header, .payload_offset = payload_at});
    }
    result_.end = payload_at + payload.size();
    cut_.reset();  // what looked cut was a remnant: the file goes on behind it
    return wire::aligned(result_.end);
  }

  std::optional<wire::ChunkHeader> headerAt(std::uint64_t at) {
    wire::ChunkHeader header;
    const std::string_view bytes = window_.view(at, sizeof header);
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != wire::kChunkMagic || header.token != token_ || !wire::isWhole(header) ||
        header.payload_bytes > kMaxPayloadBytes) {
      return {};
    }
    return header;
  }

  // Returns the next place after `from` where a chunk may begin, and notes what lies between.
  std::uint64_t skip(std::uint64_t from) {
    std::uint64_t first_byte = size_;  // that is not zero
    std::uint64_t last_byte = from;
    std::uint64_t at = from;
    while (true) {
      const std::uint64_t data = file_.nextData(at);
      at = std::max(at, data & ~std::uint64_t{wire::kChunkAlignment - 1});
      const std::string_view bytes = window_.view(at, kWindowBytes);
      if (bytes.empty()) break;
      const std::size_t found = findMagic(bytes, at == from ? wire::kChunkAlignment : 0);
      for (std::size_t i = 0; i < std::min(found, bytes.size()); ++i) {
        if (bytes[i] == 0) continue;
        first_byte = std::min(first_byte, at + i);
        last_byte = at + i;
      }
      if (found < bytes.size()) {
        at += found;
        break;
      }
      at += bytes.size();
    }
    if (first_byte < size_) noteDamage(first_byte, last_byte + 1 - first_byte);
    return std::min(at, size_);
  }

  // Neighbouring finds that turned out to be nothing are one damage.
  void noteDamage(std::uint64_t offset, std::uint64_t bytes) {
    if (!result_.damage.empty() && result_.damage.back().offset >= result_.end) {
      Damage& last = result_.damage.back();
      last.bytes = offset + bytes - last.offset;
    } else {
      result_.damage.push_back({offset, bytes});
    }
  }

  // First place at or after `first` where the magic number stands, or the size.
  static std::size_t findMagic(std::string_view bytes, std::size_t first) {
    for (std::size_t i = first; i + sizeof wire::kChunkMagic <= bytes.size();
         i += wire::kChunkAlignment) {
      if (std::memcmp(bytes.data() + i, &wire::kChunkMagic, sizeof wire::kChunkMagic) == 0) {
        return i;
      }
    }
    return bytes.size();
  }

  // The chunk that the end of the file cuts: its first records are as they were written. A packed
  // chunk is all or nothing.
  void keepCut() {
    if (!cut_ || cut_->header.kind != wire::ChunkKind::kEvents) return;
    const std::string_view payload = window_.view(cut_->payload_offset, kMaxPayloadBytes);
    const Decodable kept = decodable(payload, cut_->header.base_ticks, cut_->header.event_count);
    if (kept.events == 0) return;
    cut_->header.event_count = kept.events;
    cut_->header.payload_bytes = kept.bytes;
    result_.chunks.push_back(*cut_);
  }

  const base::File& file_;
  const std::uint64_t size_;
  const std::uint64_t token_;
  ProcessInfo& info_;
  Window window_;
  std::optional<StoredChunk> cut_;
  ContainerScan result_;
};

}  // namespace

ContainerScan scanContainer(const base::File& file, std::uint64_t token, ProcessInfo& info) {
  return Scanner(file, token, info).scan();
}

void readFirstFacts(const base::File& file, std::uint64_t token, ProcessInfo& info) {
  Scanner(file, token, info).takeFirst();
}

Decodable decodable(std::string_view payload, std::uint64_t base_ticks, std::uint32_t at_most) {
  wire::ChunkDecoder decoder(payload, base_ticks);
  wire::RawEvent event;
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  Decodable result;
  while (result.events < at_most) {
    const wire::Decoded what = decoder.next(event, text, handle);
    if (what == wire::Decoded::kEnd || what == wire::Decoded::kDamaged) break;
    if (what != wire::Decoded::kEvent) continue;
    ++result.events;
    result.bytes = static_cast<std::uint32_t>(decoder.position() - payload.data());
  }
  return result;
}

}  // namespace omnio::tracefile
