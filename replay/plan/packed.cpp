#include "replay/plan/packed.hpp"

#include <zstd.h>

namespace omnio::replay {

std::string packed(std::string_view bytes) {
  constexpr int kLevel = 1;
  std::string result(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(result.data(), result.size(), bytes.data(), bytes.size(), kLevel);
  result.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return result;
}

std::optional<std::string> unpacked(std::string_view bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  constexpr unsigned long long kMost = 1ULL << 40;
  if (size > kMost) return {};  // the values that stand for errors too
  std::string result(size, '\0');
  const std::size_t got = ZSTD_decompress(result.data(), result.size(), bytes.data(), bytes.size());
  if (got != size) return {};
  return result;
}

}  // namespace omnio::replay
