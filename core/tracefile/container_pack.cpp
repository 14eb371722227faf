#include "core/tracefile/container_pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/printable.hpp"
#include "core/tracefile/container_draft.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/container_image.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStep = 1 << 20;

base::Failure unreadable(const fs::path& path, std::uint64_t offset) {
  return {base::Code::kSystem,
          fmt::format("{}: byte {}: cannot be read", base::printable(path.native()), offset)};
}

// Writes the packed form of a container to a draft.
class Writer {
 public:
  Writer(const fs::path& source, ContainerImage& image, PayloadPacker& packer,
         ContainerDraft& draft, const Progress& progress)
      : source_(source), image_(image), packer_(packer), draft_(draft), progress_(progress) {}

  std::optional<base::Failure> write() {
    if (auto failure = writeHeaderBlock()) return failure;
    for (const StoredPiece& piece : image_.pieces()) {
      if (piece.piece == wire::PackedPiece::kBytes) continue;  // found again between the chunks
      if (auto failure = writeBetween(beginOf(piece))) return failure;
      if (auto failure = writeChunk(piece)) return failure;
    }
    if (auto failure = writeBetween(image_.size())) return failure;
    return writeEnd();
  }

  std::uint64_t fileBytes() const { return at_; }

 private:
  std::optional<base::Failure> writeHeaderBlock() {
    std::vector<char> block;
    const auto bytes = std::min<std::uint64_t>(image_.size(), wire::kPackedHeaderBytes);
    if (!read(0, block, static_cast<std::size_t>(bytes))) return unreadable(source_, 0);
    block.resize(wire::kPackedHeaderBytes);
    wire::ContainerHeader header = image_.header();
    header.version = wire::kPackedFormatVersion;
    header.header_bytes = wire::kPackedHeaderBytes;
    wire::stamp(header);
    std::memcpy(block.data(), &header, sizeof header);
    draft_.write(0, {block.data(), block.size()});
    at_ = recorded_ = piece_end_ = block.size();
    return std::nullopt;
  }

  bool read(std::uint64_t offset, std::vector<char>& out, std::size_t bytes) {
    out.resize(bytes);
    return image_.readAt(offset, out.data(), bytes) == bytes;
  }

  std::optional<base::Failure> writeChunk(const StoredPiece& piece) {
    const std::size_t header_bytes = bytesOf(piece) - piece.chunk.header.payload_bytes;
    const std::uint64_t payload_at = beginOf(piece) + header_bytes;
    if (!read(payload_at, bytes_, piece.chunk.header.payload_bytes)) {
      return unreadable(source_, payload_at);
    }
    const wire::ChunkHeader& header = piece.chunk.header;
    const std::string_view packed =
        packer_.pack({.place = beginOf(piece), .piece = piece.piece, .kind = header.kind},
                     {bytes_.data(), bytes_.size()}, header.kind == wire::ChunkKind::kEvents);
    // Of the chunks of threads that lived for a moment there may be many.
    const bool is_better_as_it_is = piece.piece == wire::PackedPiece::kChunk &&
                                    beginOf(piece) == placeAfter(piece_end_) &&
                                    packed.size() >= bytes_.size();
    if (is_better_as_it_is) {
      write(header, {bytes_.data(), bytes_.size()});
    } else {
      writePacked(header, packed);
    }
    recorded_ = piece_end_ = beginOf(piece) + bytesOf(piece);
    progress_(bytesOf(piece));
    return std::nullopt;
  }

  // What is not zero between the last chunk and `end`.
  std::optional<base::Failure> writeBetween(std::uint64_t end) {
    while (recorded_ < end) {
      const std::uint64_t from = std::min(std::max(recorded_, image_.nextData(recorded_)), end);
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, end - from));
      if (!read(from, bytes_, bytes)) return unreadable(source_, from);
      const auto is_set = [](char c) { return c != 0; };
      const auto first = std::find_if(bytes_.begin(), bytes_.end(), is_set);
      const auto last = std::find_if(bytes_.rbegin(), bytes_.rend(), is_set).base();
      const std::uint64_t place = from + static_cast<std::uint64_t>(first - bytes_.begin());
      if (first != bytes_.end()) {
        bytes_.erase(last, bytes_.end());
        bytes_.erase(bytes_.begin(), first);
        put({.place = place, .piece = wire::PackedPiece::kBytes});
        piece_end_ = place + bytes_.size();
      }
      recorded_ = from + bytes;
    }
    return std::nullopt;
  }

  std::optional<base::Failure> writeEnd() {
    bytes_.clear();
    for (const Damage& damage : image_.damage()) {
      const wire::PackedDamage stored{.offset = damage.offset, .bytes = damage.bytes};
      const auto* const bytes = reinterpret_cast<const char*>(&stored);
      bytes_.insert(bytes_.end(), bytes, bytes + sizeof stored);
    }
    if (bytes_.size() > kMaxPayloadBytes) {
      return base::Failure{base::Code::kDamaged,
                           fmt::format("{}: damaged in {} places, too many to pack",
                                       base::printable(source_.native()), image_.damage().size())};
    }
    put({.place = image_.size(), .piece = wire::PackedPiece::kEnd});
    return std::nullopt;
  }

  // A piece that is no chunk.
  void put(const wire::PackedHeader& about) {
    writePacked({}, packer_.pack(about, {bytes_.data(), bytes_.size()}, false));
  }

  void writePacked(wire::ChunkHeader header, std::string_view payload) {
    header.kind = wire::ChunkKind::kPacked;
    header.token = image_.header().token;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_check = wire::checksum(payload.data(), payload.size());
    wire::stamp(header);
    write(header, payload);
  }

  void write(const wire::ChunkHeader& header, std::string_view payload) {
    at_ = wire::aligned(at_);
    draft_.write(at_, {reinterpret_cast<const char*>(&header), sizeof header});
    draft_.write(at_ + sizeof header, payload);
    at_ += sizeof header + payload.size();
  }

  const fs::path& source_;
  ContainerImage& image_;
  PayloadPacker& packer_;
  ContainerDraft& draft_;
  const Progress& progress_;
  std::vector<char> bytes_;
  std::uint64_t at_ = 0;         // in the draft
  std::uint64_t recorded_ = 0;   // how far the container as recorded is written
  std::uint64_t piece_end_ = 0;  // in it, of the last piece written
};

// Zeros stay holes.
void writeData(ContainerDraft& draft, std::uint64_t at, std::string_view bytes) {
  constexpr std::size_t kBlock = 4096;
  while (!bytes.empty()) {
    const std::string_view block = bytes.substr(0, kBlock);
    if (block.find_first_not_of('\0') != std::string_view::npos) draft.write(at, block);
    bytes.remove_prefix(block.size());
    at += block.size();
  }
}

// Both as recorded, byte by byte; returns the first place where they differ.
std::optional<std::uint64_t> firstDifference(ContainerImage& a, ContainerImage& b) {
  if (a.size() != b.size()) return std::min(a.size(), b.size());
  std::vector<char> of_a(kStep);
  std::vector<char> of_b(kStep);
  std::uint64_t at = 0;
  while (true) {
    at = std::min(a.nextData(at), b.nextData(at));
    if (at >= a.size()) return std::nullopt;
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, a.size() - at));
    if (a.readAt(at, of_a.data(), bytes) != bytes || b.readAt(at, of_b.data(), bytes) != bytes ||
        std::memcmp(of_a.data(), of_b.data(), bytes) != 0) {
      return at;
    }
    at += bytes;
  }
}

// Reads back what was written, compares it, and gives it its name.
std::optional<base::Failure> settle(ContainerDraft& draft, ContainerImage& original,
                                    ContainerPacked& result, bool packed_now) {
  base::Result<ContainerImage> written = ContainerImage::open(draft.path());
  if (!written) return written.failure();
  if (written->isWhollyPacked() != packed_now) {
    return base::Failure{base::Code::kSystem, fmt::format("{}: was not written as meant",
                                                          base::printable(draft.path().native()))};
  }
  if (const auto at = firstDifference(original, *written)) {
    return base::Failure{
        base::Code::kSystem,
        fmt::format("{}: what was read back differs from the original from its byte {} "
                    "on; the original is as it was",
                    base::printable(draft.path().native()), *at)};
  }
  result.changed = true;
  result.recorded_bytes = original.size();
  result.packed_bytes = packed_now ? written->fileBytes() : original.fileBytes();
  return draft.takeName();
}

std::uint64_t eventsOf(const ContainerImage& image) {
  std::uint64_t events = 0;
  for (const StoredPiece& piece : image.pieces()) {
    if (piece.chunk.header.kind == wire::ChunkKind::kEvents &&
        piece.piece != wire::PackedPiece::kBytes) {
      events += piece.chunk.header.event_count;
    }
  }
  return events;
}

// Whether nothing is to be done; found out without reading all of the file.
base::Result<bool> isAsWanted(const fs::path& source, bool packed) {
  const base::Result<base::File> file = base::File::open(source);
  if (!file) return file.failure();
  const base::Result<ContainerStart> start = readContainerStart(source, *file);
  if (!start) return start.failure();
  return packed ? start->isPacked() && endsPacked(*file, start->header.token) : !start->isPacked();
}

// Makes `target` of `source`: `write` fills the draft and returns its size.
template <typename Write>
base::Result<ContainerPacked> convert(const fs::path& source, const fs::path& target, bool packed,
                                      Write write) {
  const std::optional<ContainerLock> lock = ContainerLock::take(source);
  if (!lock) return busyFailure(source);
  const base::Result<bool> done = isAsWanted(source, packed);
  if (!done) return done.failure();
  if (*done && source == target) return ContainerPacked{};
  base::Result<ContainerImage> image = ContainerImage::open(source);
  if (!image) return image.failure();
  base::Result<ContainerDraft> draft = ContainerDraft::create(target, source);
  if (!draft) return draft.failure();
  const base::Result<std::uint64_t> bytes = write(*image, *draft);
  if (!bytes) return bytes.failure();
  if (auto failure = draft->finish(*bytes)) return *failure;
  ContainerPacked result{.events = eventsOf(*image)};
  if (auto failure = settle(*draft, *image, result, packed)) return *failure;
  return result;
}

}  // namespace

base::Result<ContainerPacked> packContainer(const fs::path& source, const fs::path& target,
                                            PayloadPacker& packer, const Progress& progress) {
  return convert(source, target, true,
                 [&](ContainerImage& image, ContainerDraft& draft) -> base::Result<std::uint64_t> {
                   Writer writer(source, image, packer, draft, progress);
                   if (auto failure = writer.write()) return *failure;
                   return writer.fileBytes();
                 });
}

base::Result<ContainerPacked> restoreContainer(const fs::path& source, const fs::path& target,
                                               const Progress& progress) {
  return convert(source, target, false,
                 [&](ContainerImage& image, ContainerDraft& draft) -> base::Result<std::uint64_t> {
                   std::vector<char> bytes(kStep);
                   for (std::uint64_t at = image.nextData(0); at < image.size();
                        at = image.nextData(at)) {
                     const std::size_t read = image.readAt(at, bytes.data(), bytes.size());
                     if (read == 0) return unreadable(source, at);
                     writeData(draft, at, {bytes.data(), read});
                     at += read;
                     progress(read);
                   }
                   return image.size();
                 });
}

}  // namespace omnio::tracefile
