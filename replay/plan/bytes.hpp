// Values as bytes, for processes of one replay: the plan, and what each process reports. They are
// not a format for others: another build of this program does not read them.
//
// Numbers, texts, vectors and plain structs are written as they are. Any other struct has one
// function, which names its parts for both directions and is found by the struct's type:
//
//   template <typename Io>
//   void parts(Io& io, PartsOf<Wait> auto& wait) { io.items(wait.recorded_end_ns, wait.flags); }
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace omnio::replay {

template <typename T, typename Struct>
concept PartsOf = std::same_as<std::remove_const_t<T>, Struct>;

template <typename T>
concept Optional = requires(T& value) {
  value.has_value();
  value.emplace();
};

template <typename T>
concept Plain = std::is_trivially_copyable_v<T>;

template <typename T>
concept Sequence = requires(T& value) {
  value.resize(value.size());
};

class ByteWriter {
 public:
  std::string bytes;

  void items(const auto&... values) { (item(values), ...); }

 private:
  template <typename T>
  void item(const T& value) {
    if constexpr (Plain<T>) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (Optional<T>) {
      item(value.has_value());
      if (value) item(*value);
    } else if constexpr (Sequence<T>) {
      item(value.size());
      if constexpr (Plain<typename T::value_type>) {
        bytes.append(reinterpret_cast<const char*>(value.data()),
                     value.size() * sizeof(typename T::value_type));
      } else {
        for (const auto& one : value) item(one);
      }
    } else {
      parts(*this, value);
    }
  }
};

// Damaged bytes give values that mean nothing, and isDone() is false in the end.
class ByteReader {
 public:
  // The bytes outlive it.
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  void items(auto&... values) { (item(values), ...); }
  // Whether all was there, and nothing more.
  bool isDone() const { return ok_ && rest_.empty(); }

 private:
  template <typename T>
  void item(T& value) {
    if constexpr (Plain<T>) {
      take(&value, sizeof value);
    } else if constexpr (Optional<T>) {
      bool is_there = false;
      item(is_there);
      if (is_there) item(value.emplace());
    } else if constexpr (Sequence<T>) {
      using Item = typename T::value_type;
      constexpr bool kPlain = Plain<Item>;
      std::size_t count = 0;
      item(count);
      // No length is believed that is more than what is there.
      if (count > rest_.size() / (kPlain ? sizeof(Item) : 1)) return fail();
      value.resize(count);
      if constexpr (kPlain) {
        take(value.data(), count * sizeof(Item));
      } else {
        for (Item& one : value) item(one);
      }
    } else {
      parts(*this, value);
    }
  }

  void take(void* out, std::size_t bytes) {
    if (bytes > rest_.size()) return fail();
    if (bytes > 0) std::memcpy(out, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }

  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace omnio::replay
