#include "core/mpi/file_layout.hpp"

#include <cstring>

#include "core/base/file_system.hpp"
#include "core/base/integers.hpp"
#include "core/mpi/groups.hpp"

namespace omnio::mpi {
namespace {

// Little-endian numbers of a text; 0 behind its end, which is remembered.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T at(std::size_t place) {
    T value = 0;
    if (place > bytes_.size() || bytes_.size() - place < sizeof(T)) {
      whole_ = false;
    } else {
      std::memcpy(&value, bytes_.data() + place, sizeof(T));
    }
    return value;
  }
  std::string_view text(std::size_t place, std::size_t most) {
    if (place > bytes_.size() || bytes_.size() - place < most) {
      whole_ = false;
      return {};
    }
    const std::string_view field = bytes_.substr(place, most);
    return field.substr(0, field.find('\0'));
  }
  bool isWhole() const { return whole_; }

 private:
  std::string_view bytes_;
  bool whole_ = true;
};

constexpr std::uint32_t kMagicV1 = 0x0BD10BD0;
constexpr std::uint32_t kMagicV3 = 0x0BD30BD0;
constexpr std::uint32_t kMagicComposite = 0x0BD60BD0;
constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};

// magic 4, pattern 4, object id 16, stripe size 4, stripe count 2, generation 2; of v3 a pool name
// of 16; then 24 bytes a stripe, the last 4 of which are the target.
std::optional<LayoutComponent> plainComponent(std::string_view bytes) {
  Bytes in(bytes);
  const auto magic = in.at<std::uint32_t>(0);
  if (magic != kMagicV1 && magic != kMagicV3) return {};
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kPool = 16;
  constexpr std::size_t kStripe = 24;
  LayoutComponent component{.begin = 0, .end = kToTheEnd, .pool = {}, .targets = {}};
  component.stripe_bytes = in.at<std::uint32_t>(24);
  component.stripes = in.at<std::uint16_t>(28);
  std::size_t place = kHeader;
  if (magic == kMagicV3) {
    component.pool = in.text(place, kPool);
    place += kPool;
  }
  if (!in.isWhole()) return {};
  constexpr std::uint32_t kAllTargets = 0xFFFF;
  if (component.stripes == kAllTargets) component.stripes = 0;
  // A component that has not been written to has no objects yet.
  if (bytes.size() - place < component.stripes * kStripe) return component;
  for (std::uint32_t i = 0; i < component.stripes; ++i) {
    component.targets.push_back(in.at<std::uint32_t>(place + i * kStripe + 20));
  }
  return component;
}

std::optional<std::string> bytesOfHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return {};
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto byte = base::wholeNumber<unsigned char>(hex.substr(i, 2), 16);
    if (!byte) return {};
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

bool takeNumber(std::string_view& text, std::uint64_t& value) {
  const auto number = base::wholeNumber<std::uint64_t>(nextWord(text));
  value = number.value_or(0);
  return number.has_value();
}

}  // namespace

std::optional<std::vector<LayoutComponent>> parseLustreLayout(std::string_view bytes) {
  Bytes in(bytes);
  std::vector<LayoutComponent> components;
  if (in.at<std::uint32_t>(0) != kMagicComposite) {
    std::optional<LayoutComponent> component = plainComponent(bytes);
    if (!component) return {};
    components.push_back(std::move(*component));
    return components;
  }
  // magic 4, size 4, generation 4, flags 2, entries 2, ...; entries of 48: id 4, flags 4, begin 8,
  // end 8, place 4, bytes 4, ...
  constexpr std::size_t kHeader = 32;
  constexpr std::size_t kEntry = 48;
  const auto entries = in.at<std::uint16_t>(14);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = kHeader + i * kEntry;
    const auto begin = in.at<std::uint64_t>(entry + 8);
    const auto end = in.at<std::uint64_t>(entry + 16);
    const auto place = in.at<std::uint32_t>(entry + 24);
    const auto size = in.at<std::uint32_t>(entry + 28);
    if (!in.isWhole() || place > bytes.size() || bytes.size() - place < size) return {};
    std::optional<LayoutComponent> component = plainComponent(bytes.substr(place, size));
    if (!component) continue;  // of another kind: data on the metadata server has no stripes
    component->begin = begin;
    component->end = end;
    components.push_back(std::move(*component));
  }
  return in.isWhole() ? std::optional(std::move(components)) : std::nullopt;
}

std::optional<FileLayout> parseFileLayout(std::string_view fact) {
  std::uint64_t kind = 0;
  FileLayout layout;
  if (!takeNumber(fact, kind) || !takeNumber(fact, layout.block_bytes)) return {};
  layout.file_system = base::fileSystemName(kind);
  if (layout.file_system == "lustre") {
    if (const auto bytes = bytesOfHex(nextWord(fact)); bytes && !bytes->empty()) {
      if (auto components = parseLustreLayout(*bytes)) layout.components = std::move(*components);
    }
  } else if (layout.file_system == "beegfs") {
    std::uint64_t pattern = 0;
    std::uint64_t chunk = 0;
    std::uint64_t targets = 0;
    if (takeNumber(fact, pattern) && takeNumber(fact, chunk) && takeNumber(fact, targets)) {
      layout.components.push_back({.begin = 0,
                                   .end = kToTheEnd,
                                   .stripe_bytes = chunk,
                                   .stripes = static_cast<std::uint32_t>(targets),
                                   .pool = {},
                                   .targets = {}});
    }
  }
  return layout;
}

}  // namespace omnio::mpi
