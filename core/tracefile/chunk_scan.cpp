#include "core/tracefile/chunk_scan.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/tracefile/packed_payload.hpp"
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
  Scanner(const base::File& file, std::uint64_t token, ProcessInfo& info, Gather gather)
      : file_(file),
        size_(file.size()),
        token_(token),
        info_(info),
        gather_(gather),
        window_(file, size_) {}

  void takeFirst() { takeChunk(firstChunk()); }

  ContainerScan scan() {
    std::uint64_t at = firstChunk();
    result_.end = std::min<std::uint64_t>(at, size_);
    while (at < size_) {
      const std::uint64_t behind = takeChunk(at);
      at = behind != 0 ? behind : skip(at);
    }
    keepCut();
    if (result_.packed) {
      const auto& recorded = result_.packed->damage;
      result_.damage.insert(result_.damage.begin(), recorded.begin(), recorded.end());
    }
    return std::move(result_);
  }

 private:
  std::uint64_t firstChunk() {
    wire::ContainerHeader header;
    const std::string_view bytes = window_.view(0, sizeof header);
    if (bytes.size() == sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
    return header.version == wire::kPackedFormatVersion ? wire::kPackedHeaderBytes
                                                        : wire::kContainerHeaderBytes;
  }

  // Returns the place behind the chunk at `at`, 0 when there is no whole one.
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
    const StoredChunk chunk{.header = *header, .payload_offset = payload_at};
    if (header->kind == wire::ChunkKind::kPacked) {
      if (!takePacked(chunk, payload)) return 0;
    } else {
      take(chunk, payload);
      gather(wire::PackedPiece::kChunk, chunk, at);
    }
    result_.end = payload_at + payload.size();
    cut_.reset();  // what looked cut was a remnant: the file goes on behind it
    return wire::aligned(result_.end);
  }

  void take(const StoredChunk& chunk, std::string_view payload) {
    if (chunk.header.kind == wire::ChunkKind::kInfo) {
      info_.take(payload);
    } else if (chunk.header.kind == wire::ChunkKind::kEvents) {
      result_.chunks.push_back(chunk);
    }
  }

  // False when it stands for nothing that there can be. Events are unpacked when they are read.
  bool takePacked(StoredChunk chunk, std::string_view payload) {
    const auto about = packedHeader(payload);
    if (!about) return false;
    chunk.packed_bytes = chunk.header.payload_bytes;
    chunk.header.kind = about->kind;
    chunk.header.payload_bytes = about->bytes;
    chunk.header.payload_check = about->check;
    wire::stamp(chunk.header);
    switch (about->piece) {
      case wire::PackedPiece::kChunk:
        if (about->kind == wire::ChunkKind::kInfo && !unpackPayload(payload, unpacked_)) {
          return false;
        }
        take(chunk, {unpacked_.data(), unpacked_.size()});
        break;
      case wire::PackedPiece::kCutRecords:
        if (about->kind != wire::ChunkKind::kEvents) return false;
        take(chunk, {});
        break;
      case wire::PackedPiece::kBytes:
        break;
      case wire::PackedPiece::kEnd:
        if (!unpackPayload(payload, unpacked_)) return false;
        takeEnd(about->place);
        return true;
      default:
        return false;
    }
    gather(about->piece, chunk, about->place);
    return true;
  }

  void takeEnd(std::uint64_t recorded_bytes) {
    PackedEnd& end = result_.packed.emplace();
    end.recorded_bytes = recorded_bytes;
    for (std::size_t at = 0; at + sizeof(wire::PackedDamage) <= unpacked_.size();
         at += sizeof(wire::PackedDamage)) {
      wire::PackedDamage damage;
      std::memcpy(&damage, unpacked_.data() + at, sizeof damage);
      end.damage.push_back({damage.offset, damage.bytes});
    }
  }

  void gather(wire::PackedPiece piece, const StoredChunk& chunk, std::uint64_t place) {
    if (gather_ != Gather::kPieces) return;
    result_.pieces.push_back({.piece = piece, .chunk = chunk, .place = place});
    // What stands in a packed container as it was recorded was added behind its end.
    if (result_.packed) result_.pieces.back().place.reset();
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

  // The chunk that the end of the file cuts: its first records are as they were written.
  void keepCut() {
    if (!cut_ || cut_->header.kind != wire::ChunkKind::kEvents) return;
    const std::string_view payload = window_.view(cut_->payload_offset, kMaxPayloadBytes);
    const Decodable kept = decodable(payload, cut_->header.base_ticks, cut_->header.event_count);
    if (kept.events == 0) return;
    cut_->header.event_count = kept.events;
    cut_->header.payload_bytes = kept.bytes;
    result_.chunks.push_back(*cut_);
    gather(wire::PackedPiece::kCutRecords, *cut_, cut_->payload_offset);
  }

  const base::File& file_;
  const std::uint64_t size_;
  const std::uint64_t token_;
  ProcessInfo& info_;
  const Gather gather_;
  Window window_;
  std::optional<StoredChunk> cut_;
  std::vector<char> unpacked_;
  ContainerScan result_;
};

}  // namespace

ContainerScan scanContainer(const base::File& file, std::uint64_t token, ProcessInfo& info,
                            Gather gather) {
  return Scanner(file, token, info, gather).scan();
}

void readFirstFacts(const base::File& file, std::uint64_t token, ProcessInfo& info) {
  Scanner(file, token, info, Gather::kChunks).takeFirst();
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
