// How often a quantity had which value, in buckets that grow with the value: eight to a power of
// two, so that the values of one are at most an eighth apart. Values below 8 have a bucket each.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::stats {

// Memory is 16 bytes for each bucket that has a value: at most 496 of them.
class Histogram {
 public:
  void add(std::uint64_t value) {
    const std::uint32_t number = bucketOf(value);
    if (last_ < buckets_.size() && buckets_[last_].number == number) {
      ++buckets_[last_].count;
    } else {
      ++countOf(number);
    }
  }
  void add(const Histogram& other);

  // The least value that at least this part (0 to 1) of all values do not exceed, or up to an
  // eighth more. 0 where there are no values.
  std::uint64_t quantile(double part) const;

  // The values from `from` to `to`, both included.
  struct Bin {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t count = 0;
    bool operator==(const Bin&) const = default;
  };
  // A bin for each power of two that has values, in order: 0, 1, 2 to 3, 4 to 7, ...
  std::vector<Bin> powersOfTwo() const;

 private:
  struct Bucket {
    std::uint32_t number = 0;
    std::uint64_t count = 0;
  };
  static constexpr unsigned kBits = 3;  // of a value behind its highest one: eight buckets
  static constexpr std::uint32_t kEach = 1U << kBits;
  static constexpr std::uint32_t bucketOf(std::uint64_t value) {
    if (value < kEach) return static_cast<std::uint32_t>(value);
    const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1;
    const auto behind = static_cast<std::uint32_t>(value >> (exponent - kBits)) & (kEach - 1);
    return (exponent - kBits + 1) * kEach + behind;
  }
  static std::uint64_t endOf(std::uint32_t bucket);  // the largest value of it
  std::uint64_t& countOf(std::uint32_t number);

  std::vector<Bucket> buckets_;  // by number
  std::size_t last_ = 0;         // found last: values of neighbouring calls are alike
};

}  // namespace omnio::stats
