// A container as it was recorded, whether the file is packed or not: the same bytes at the same
// places. What packs, unpacks and compares containers works on this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/base/file.hpp"
#include "core/base/result.hpp"
#include "core/tracefile/chunk_scan.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {

class ContainerImage {
 public:
  // Fails for a packed file that is not whole: what holds of it can be read, but not restored.
  static base::Result<ContainerImage> open(const std::filesystem::path& path);

  // Whether the file is packed, and whether all of it is: `omnio collect` adds chunks as they were
  // recorded.
  bool isPacked() const { return start_.isPacked(); }
  bool isWhollyPacked() const { return isPacked() && !has_tail_; }

  const wire::ContainerHeader& header() const { return start_.header; }
  std::uint64_t fileBytes() const { return file_.size(); }

  // Of the container as recorded: its size, its chunks by place, and where it is damaged.
  std::uint64_t size() const { return size_; }
  const std::vector<StoredPiece>& pieces() const { return pieces_; }
  const std::vector<Damage>& damage() const { return damage_; }

  // As of a file (core/base/file.hpp). Fewer bytes where the file cannot be read.
  std::size_t readAt(std::uint64_t offset, char* out, std::size_t bytes);
  std::uint64_t nextData(std::uint64_t offset) const;

 private:
  explicit ContainerImage(base::File file) : file_(std::move(file)) {}
  base::Result<bool> findPieces(const std::filesystem::path& path, ContainerScan scan);
  void restoreHeaderBlock();
  bool load(std::size_t piece);

  base::File file_;
  ContainerStart start_;
  bool has_tail_ = false;
  std::uint64_t size_ = 0;
  std::vector<StoredPiece> pieces_;
  std::vector<Damage> damage_;
  std::vector<char> block_;  // the header block as it was
  std::size_t loaded_ = 0;   // the piece in `bytes_`, plus 1
  std::vector<char> bytes_;
  std::vector<char> payload_;
};

// Where a piece begins in the container as recorded, and its bytes there.
constexpr std::uint64_t beginOf(const StoredPiece& piece) { return piece.place.value_or(0); }
constexpr std::uint64_t bytesOf(const StoredPiece& piece) {
  return piece.chunk.header.payload_bytes +
         (piece.piece == wire::PackedPiece::kChunk ? sizeof(wire::ChunkHeader) : 0);
}

// Where a chunk was that stands as recorded behind a piece that ended at `end`.
constexpr std::uint64_t placeAfter(std::uint64_t end) {
  return wire::aligned(end < wire::kContainerHeaderBytes ? wire::kContainerHeaderBytes : end);
}

// Whether a file ends as packing left it: then nothing has been added since.
bool endsPacked(const base::File& file, std::uint64_t token);

}  // namespace omnio::tracefile
