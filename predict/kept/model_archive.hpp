// Writes and reads what models keep beyond the program. A class has one function for both ways,
//
//   template <typename Archive> void serialize(Archive& archive) { archive(first_, second_); }
//
// so that they cannot disagree. docs/formats/prediction_model.md has the encoding: numbers take as
// few bytes as they need, lists and maps have their length first, maps are in the order of their
// keys.
//
// The reader takes any bytes. No memory is taken for a length that the bytes do not have; what does
// not fit together is found by require(); after the first failure nothing is read, and values are 0
// or empty.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/wire/record.hpp"

namespace omnio::predict {

static_assert(std::endian::native == std::endian::little);

template <typename T>
concept KeyedByNumbers = requires {
  typename T::mapped_type;
};

// What both ways share. Self has kReads, number(), bytes(), require() and isGood().
template <typename Self>
class ModelArchive {
 public:
  template <typename... Values>
  void operator()(Values&... values) {
    (one(values), ...);
  }
  // A number that needs all of its bytes, as a hash does.
  template <typename Number>
  void fixed(Number& number) {
    self().bytes(reinterpret_cast<char*>(&number), sizeof number);
  }

 private:
  // Offsets and sizes have fewer bits, and so have sums of some of them.
  static constexpr std::int64_t kMostNumber = std::int64_t{1} << 56;

  Self& self() { return static_cast<Self&>(*this); }

  template <typename T>
  void one(T& value) {
    value.serialize(self());
  }
  template <std::unsigned_integral T>
  void one(T& value) {
    const std::uint64_t number = self().number(value);
    self().require(number <= std::numeric_limits<T>::max(), "a number is too large");
    value = static_cast<T>(number);
  }
  // The sign is the lowest bit: 0, -1, 1, -2 are 0, 1, 2, 3.
  template <std::signed_integral T>
  void one(T& value) {
    const auto wide = static_cast<std::int64_t>(value);
    const std::uint64_t folded = self().number(static_cast<std::uint64_t>(wide) << 1 ^
                                               static_cast<std::uint64_t>(wide >> 63));
    const auto number = static_cast<std::int64_t>(folded >> 1 ^ (~(folded & 1) + 1));
    self().require(number >= -kMostNumber && number <= kMostNumber &&
                       number >= std::numeric_limits<T>::min() &&
                       number <= std::numeric_limits<T>::max(),
                   "a number is too large");
    value = static_cast<T>(number);
  }
  template <std::floating_point T>
  void one(T& value) {
    fixed(value);
    self().require(std::isfinite(value), "a number is not finite");
  }
  template <typename T>
  requires std::is_enum_v<T>
  void one(T& value) {
    auto number = static_cast<std::underlying_type_t<T>>(value);
    one(number);
    value = static_cast<T>(number);
  }
  void one(std::string& text) {
    const std::size_t size = self().number(text.size());
    if constexpr (Self::kReads) {
      self().require(self().has(size), "it ends too early");
      text.assign(self().isGood() ? size : 0, '\0');
    }
    self().bytes(text.data(), text.size());
  }
  template <typename T, std::size_t kCount>
  void one(std::array<T, kCount>& values) {
    for (T& value : values) one(value);
  }
  template <typename T>
  void one(std::vector<T>& values) {
    const std::size_t count = self().number(values.size());
    if constexpr (Self::kReads) values.clear();
    for (std::size_t i = 0; i < count && self().isGood(); ++i) {
      if constexpr (Self::kReads) values.emplace_back();
      one(values[i]);
    }
    if constexpr (Self::kReads) values.shrink_to_fit();
  }
  template <typename T>
  void one(std::optional<T>& value) {
    bool has = value.has_value();
    one(has);
    if constexpr (Self::kReads) value = has ? std::optional<T>(T{}) : std::nullopt;
    if (has) one(*value);
  }
  template <typename T>
  void one(std::unique_ptr<T>& value) {
    bool has = value != nullptr;
    one(has);
    if constexpr (Self::kReads) value = has ? std::make_unique<T>() : nullptr;
    if (has) one(*value);
  }
  template <KeyedByNumbers Map>
  void one(Map& map) {
    using Key = typename Map::key_type;
    std::vector<Key> keys;
    for (const auto& [key, value] : map) keys.push_back(key);
    std::ranges::sort(keys);
    const std::size_t count = self().number(keys.size());
    if constexpr (Self::kReads) {
      keys.assign(1, Key{});
      map.clear();
    }
    for (std::size_t i = 0; i < count && self().isGood(); ++i) {
      Key& key = keys[Self::kReads ? 0 : i];
      fixed(key);
      if constexpr (Self::kReads) self().require(!map.contains(key), "a key comes twice");
      one(map[key]);
    }
  }
};

class ModelWriter : public ModelArchive<ModelWriter> {
 public:
  static constexpr bool kReads = false;

  const std::string& text() const { return text_; }

  std::uint64_t number(std::uint64_t value) {
    std::array<char, wire::kMaxVarint> out{};
    text_.append(out.data(), wire::putVarint(out.data(), value));
    return value;
  }
  void bytes(const char* in, std::size_t count) { text_.append(in, count); }
  void require(bool /*holds*/, std::string_view /*what*/) {}
  bool isGood() const { return true; }

 private:
  std::string text_;
};

class ModelReader : public ModelArchive<ModelReader> {
 public:
  static constexpr bool kReads = true;

  // The text outlives this object.
  explicit ModelReader(std::string_view text) : text_(text) {}

  bool isGood() const { return problem_.empty(); }
  // The first failure, and how many bytes were read until then.
  const std::string& problem() const { return problem_; }
  std::size_t offset() const { return offset_; }
  bool isAtEnd() const { return offset_ == text_.size(); }

  bool has(std::size_t count) const { return isGood() && count <= text_.size() - offset_; }
  std::uint64_t number(std::uint64_t /*value*/) {
    std::uint64_t value = 0;
    if (!isGood()) return 0;
    const char* const end = text_.data() + text_.size();
    const char* const after = wire::getVarint(text_.data() + offset_, end, value);
    require(after != nullptr, "a number does not end");
    if (after == nullptr) return 0;
    offset_ = static_cast<std::size_t>(after - text_.data());
    return value;
  }
  void bytes(char* out, std::size_t count) {
    require(has(count), "it ends too early");
    if (!isGood()) {
      std::memset(out, 0, count);
      return;
    }
    if (count > 0) std::memcpy(out, text_.data() + offset_, count);
    offset_ += count;
  }
  void require(bool holds, std::string_view what) {
    if (!holds && isGood()) problem_ = what;
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  std::string problem_;
};

}  // namespace omnio::predict
