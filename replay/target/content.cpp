#include "replay/target/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/base/printable.hpp"
#include "replay/target/prepare.hpp"

namespace omnio::replay {
namespace {

constexpr double kMostRatio = 20;  // beyond it, what compressors note for each block counts
constexpr double kMostDuplicates = 0.95;
// Copies are of so many blocks, one after the other: two of the same are 256 KiB apart.
constexpr std::uint64_t kOriginals = 64;
constexpr std::uint64_t kFileOfOriginals = std::uint64_t{1} << 62;
// The end of each piece repeats so many bytes again and again.
constexpr std::size_t kPeriod = 8;
// About what LZ4 and Zstandard note for each piece: lengths and a distance.
constexpr double kNotes = 4;

// How many bytes of a piece are random.
std::size_t randomBytes(double ratio) {
  constexpr auto kPiece = static_cast<double>(Content::kPiece);
  if (ratio <= 1) return Content::kPiece;
  const double bytes = kPiece / ratio - kNotes;
  return static_cast<std::size_t>(std::clamp(std::round(bytes), double{kPeriod}, kPiece));
}

std::optional<double> numberIn(std::string_view text, double least, double most) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  // No comparison holds for what is not a number.
  if (!is_number || !(number >= least && number <= most)) return std::nullopt;
  return number;
}

}  // namespace

base::Result<Content> Content::parse(std::string_view word) {
  constexpr std::string_view kRatio = "ratio=";
  constexpr std::string_view kDuplicates = "duplicates=";
  Content content;
  content.word_ = word;
  if (word == "random") return content;
  if (word == "zero") {
    content.kind_ = Kind::kZero;
    return content;
  }
  const std::size_t comma = word.find(',');
  const std::string_view first = word.substr(0, comma);
  const std::string_view second = comma == word.npos ? std::string_view() : word.substr(comma + 1);
  if (!first.starts_with(kRatio) || (comma != word.npos && !second.starts_with(kDuplicates))) {
    return base::failure(base::Code::kInvalid,
                         "{} is not random, zero, ratio=R or ratio=R,duplicates=SHARE",
                         base::printable(word));
  }
  const auto ratio = numberIn(first.substr(kRatio.size()), 1, kMostRatio);
  if (!ratio) {
    return base::failure(base::Code::kInvalid, "{}: the ratio is not a number from 1 to {}",
                         base::printable(word), kMostRatio);
  }
  content.kind_ = Kind::kRatio;
  content.ratio_ = *ratio;
  if (comma == word.npos) return content;
  const auto duplicates = numberIn(second.substr(kDuplicates.size()), 0, kMostDuplicates);
  if (!duplicates) {
    return base::failure(base::Code::kInvalid,
                         "{}: the share of duplicates is not a number from 0 to {}",
                         base::printable(word), kMostDuplicates);
  }
  content.duplicates_ = *duplicates;
  return content;
}

bool Content::isCopy(std::uint64_t block) const {
  if (duplicates_ == 0) return false;
  // Spread evenly: each time that the sum of shares reaches a whole number.
  const auto number = static_cast<double>(block);
  return std::floor((number + 1) * duplicates_) > std::floor(number * duplicates_);
}

std::size_t Content::beginOf(std::size_t bytes) const {
  if (kind_ != Kind::kRatio || bytes >= kPiece) return 0;
  const std::size_t random = randomBytes(ratio_);
  const auto share = static_cast<std::size_t>(static_cast<double>(bytes) / ratio_);
  return random - std::clamp(share, kPeriod, random);
}

void Content::fill(std::uint64_t file, std::uint64_t offset, std::span<char> out) const {
  if (kind_ == Kind::kZero) {
    std::ranges::fill(out, '\0');
    return;
  }
  if (kind_ == Kind::kRandom) return fillContent(file, offset, out);
  while (!out.empty()) {
    const std::uint64_t block = offset / kBlock;
    const std::uint64_t within = offset % kBlock;
    const std::span<char> part = out.first(std::min<std::uint64_t>(out.size(), kBlock - within));
    if (isCopy(block)) {
      fillPart(kFileOfOriginals, block % kOriginals * kBlock + within, part);
    } else {
      fillPart(file, offset, part);
    }
    out = out.subspan(part.size());
    offset += part.size();
  }
}

// Piece by piece: random bytes, and then the last few of them again and again.
void Content::fillPart(std::uint64_t file, std::uint64_t offset, std::span<char> out) const {
  const std::size_t random = randomBytes(ratio_);
  std::array<char, kPiece> piece{};
  while (!out.empty()) {
    const std::uint64_t within = offset % kPiece;
    fillContent(file, offset - within, std::span(piece).first(random));
    for (std::size_t i = random; i < kPiece; ++i) piece[i] = piece[i - kPeriod];
    const std::size_t bytes = std::min<std::size_t>(out.size(), kPiece - within);
    std::memcpy(out.data(), piece.data() + within, bytes);
    out = out.subspan(bytes);
    offset += bytes;
  }
}

}  // namespace omnio::replay
