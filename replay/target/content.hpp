// The made-up data of a replay: what prepared files hold, and what writes carry. Storage that
// compresses or deduplicates is as fast as its data allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace omnio::replay {

class Content {
 public:
  // What storage deduplicates by, at the finest.
  static constexpr std::size_t kBlock = 4096;
  // Data repeats itself after this in the memory that writes carry it from: far enough that a
  // compressor of 128 KiB blocks does not see it.
  static constexpr std::size_t kRing = std::size_t{512} << 10;

  // Random bytes: no compressor gains anything by them, and no block is like another.
  Content() = default;
  // "random", "zero", or "ratio=R", to which LZ compressors get it (LZ4, Zstandard), and after a
  // comma "duplicates=SHARE", the part of its blocks that are copies of others. Fails with a
  // sentence about the word.
  static base::Result<Content> parse(std::string_view word);
  const std::string& word() const { return word_; }

  bool isZero() const { return kind_ == Kind::kZero; }
  // Whether its data has to be spread over kRing for its ratio.
  bool isSpread() const { return kind_ == Kind::kRatio; }
  // Whether a block, counted in its file, is a copy of one of a few.
  bool isCopy(std::uint64_t block) const;
  // Requests of a few bytes have both parts of a piece, what is random and what repeats it: where
  // in a piece they begin. Those of a piece or more begin at 0.
  static constexpr std::size_t kPiece = 512;
  std::size_t beginOf(std::size_t bytes) const;

  // Any part of a file's content, the same whoever makes it. Files are told apart by numbers.
  void fill(std::uint64_t file, std::uint64_t offset, std::span<char> out) const;

 private:
  enum class Kind : std::uint8_t { kRandom, kZero, kRatio };

  void fillPart(std::uint64_t file, std::uint64_t offset, std::span<char> out) const;

  Kind kind_ = Kind::kRandom;
  double ratio_ = 1;
  double duplicates_ = 0;
  std::string word_ = "random";
};

}  // namespace omnio::replay
