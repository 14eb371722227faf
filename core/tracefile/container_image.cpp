#include "core/tracefile/container_image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/printable.hpp"
#include "core/tracefile/packed_payload.hpp"

namespace omnio::tracefile {
namespace {

std::uint64_t endOf(const StoredPiece& piece) { return beginOf(piece) + bytesOf(piece); }

base::Failure notRestorable(const std::filesystem::path& path, std::uint64_t offset) {
  return {base::Code::kDamaged,
          fmt::format("{}: byte {}: damaged after it was packed: it can be read as "
                      "far as it holds, but not restored",
                      base::printable(path.native()), offset)};
}

}  // namespace

base::Result<ContainerImage> ContainerImage::open(const std::filesystem::path& path) {
  base::Result<base::File> file = base::File::open(path);
  if (!file) return file.failure();
  base::Result<ContainerStart> start = readContainerStart(path, *file);
  if (!start) return start.failure();
  ContainerImage image(std::move(*file));
  image.start_ = std::move(*start);
  ProcessInfo info;
  ContainerScan scan = scanContainer(image.file_, image.start_.header.token, info, Gather::kPieces);
  if (!image.isPacked()) {
    image.size_ = image.file_.size();
    image.damage_ = std::move(scan.damage);
    image.pieces_ = std::move(scan.pieces);
    // Only what `omnio pack` wrote is taken for packed.
    std::erase_if(image.pieces_, [](const StoredPiece& p) { return p.chunk.packed_bytes > 0; });
    return image;
  }
  const base::Result<bool> found = image.findPieces(path, std::move(scan));
  if (!found) return found.failure();
  image.restoreHeaderBlock();
  return image;
}

base::Result<bool> ContainerImage::findPieces(const std::filesystem::path& path,
                                              ContainerScan scan) {
  if (!scan.packed) return notRestorable(path, file_.size());
  const std::size_t recorded_damage = scan.packed->damage.size();
  if (scan.damage.size() > recorded_damage) {
    return notRestorable(path, scan.damage[recorded_damage].offset);
  }
  damage_ = std::move(scan.packed->damage);
  size_ = scan.packed->recorded_bytes;
  pieces_ = std::move(scan.pieces);
  std::uint64_t end = wire::kPackedHeaderBytes;
  for (StoredPiece& piece : pieces_) {
    const bool is_tail = !piece.place;
    if (is_tail) {
      piece.place = wire::aligned(size_);
      size_ = endOf(piece);
      has_tail_ = true;
    } else if (piece.chunk.packed_bytes == 0) {
      piece.place = placeAfter(end);
    }
    if (beginOf(piece) < end || beginOf(piece) > size_ || bytesOf(piece) > size_ - beginOf(piece)) {
      return notRestorable(path, piece.chunk.payload_offset);
    }
    end = endOf(piece);
  }
  return true;
}

void ContainerImage::restoreHeaderBlock() {
  block_.resize(wire::kContainerHeaderBytes);
  file_.readAt(0, block_.data(), block_.size());
  std::fill(block_.begin() + wire::kPackedHeaderBytes, block_.end(), 0);
  wire::ContainerHeader header = start_.header;
  header.version = wire::kFormatVersion;
  header.header_bytes = wire::kContainerHeaderBytes;
  wire::stamp(header);
  std::memcpy(block_.data(), &header, sizeof header);
  if (!has_tail_ || !start_.account) return;
  // Whoever added to the packed file has counted its bytes.
  wire::Account account = *start_.account;
  account.file_bytes = size_;
  wire::stamp(account);
  std::memcpy(block_.data() + wire::kAccountOffset, &account, sizeof account);
}

bool ContainerImage::load(std::size_t piece) {
  if (loaded_ == piece + 1) return true;
  loaded_ = 0;
  const StoredPiece& p = pieces_[piece];
  if (!readPayload(file_, p.chunk, payload_)) return false;
  const auto* const header = reinterpret_cast<const char*>(&p.chunk.header);
  bytes_.clear();
  if (p.piece == wire::PackedPiece::kChunk) {
    bytes_.assign(header, header + sizeof p.chunk.header);
  }
  bytes_.insert(bytes_.end(), payload_.begin(), payload_.end());
  loaded_ = piece + 1;
  return true;
}

std::size_t ContainerImage::readAt(std::uint64_t offset, char* out, std::size_t bytes) {
  if (!isPacked()) return file_.readAt(offset, out, bytes);
  if (offset >= size_) return 0;
  bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
  std::memset(out, 0, bytes);
  const std::uint64_t end = offset + bytes;
  if (offset < block_.size()) {
    const std::uint64_t head_end = std::min<std::uint64_t>(end, block_.size());
    std::memcpy(out, block_.data() + offset, static_cast<std::size_t>(head_end - offset));
  }
  auto piece = std::partition_point(pieces_.begin(), pieces_.end(),
                                    [&](const StoredPiece& p) { return endOf(p) <= offset; });
  for (; piece != pieces_.end() && beginOf(*piece) < end; ++piece) {
    const std::uint64_t from = std::max(offset, beginOf(*piece));
    if (!load(static_cast<std::size_t>(piece - pieces_.begin()))) {
      return static_cast<std::size_t>(from - offset);
    }
    const std::uint64_t to = std::min(end, endOf(*piece));
    std::memcpy(out + (from - offset), bytes_.data() + (from - beginOf(*piece)),
                static_cast<std::size_t>(to - from));
  }
  return bytes;
}

std::uint64_t ContainerImage::nextData(std::uint64_t offset) const {
  if (!isPacked()) return file_.nextData(offset);
  if (offset < block_.size()) return offset;
  const auto piece = std::partition_point(pieces_.begin(), pieces_.end(),
                                          [&](const StoredPiece& p) { return endOf(p) <= offset; });
  return piece == pieces_.end() ? size_ : std::max(offset, beginOf(*piece));
}

bool endsPacked(const base::File& file, std::uint64_t token) {
  constexpr std::size_t kSearched = 64 * 1024;  // room for the damage of some 4000 places
  const std::uint64_t size = file.size();
  const std::uint64_t from = size < kSearched ? 0 : wire::aligned(size - kSearched);
  std::vector<char> bytes(static_cast<std::size_t>(size - from));
  if (file.readAt(from, bytes.data(), bytes.size()) != bytes.size()) return false;
  for (std::size_t at = 0; at + sizeof(wire::ChunkHeader) <= bytes.size();
       at += wire::kChunkAlignment) {
    wire::ChunkHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.magic != wire::kChunkMagic || header.token != token || !wire::isWhole(header) ||
        header.kind != wire::ChunkKind::kPacked) {
      continue;
    }
    const std::string_view payload(bytes.data() + at + sizeof header,
                                   bytes.size() - at - sizeof header);
    if (payload.size() != header.payload_bytes) continue;
    const auto about = packedHeader(payload);
    if (about && about->piece == wire::PackedPiece::kEnd) return true;
  }
  return false;
}

}  // namespace omnio::tracefile
