// Contiguous pieces of a file, neighbours joined, told as strides: so a request of a million blocks
// at one distance is one entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace omnio::mpi {

// `count` pieces of `bytes` bytes, the first at `first`, `stride` from one's begin to the next's.
struct Stride {
  std::int64_t first = 0;
  std::int64_t bytes = 0;
  std::int64_t stride = 0;  // 0 when there is one
  std::int64_t count = 0;

  bool operator==(const Stride&) const = default;
};

class StridedPieces {
 public:
  // Takes no more than so many strides, and no more than so many calls of add().
  explicit StridedPieces(std::size_t most, std::uint64_t most_added = std::uint64_t{1} << 22)
      : most_(most), may_add_(most_added) {}

  void add(Stride next);

  // What came behind the point where it was full is left out.
  bool isFull() const { return is_full_; }
  const std::vector<Stride>& strides() const { return strides_; }
  std::int64_t bytes() const;
  std::int64_t count() const;

 private:
  void addSeparate(Stride next);

  std::size_t most_;
  std::uint64_t may_add_;
  bool is_full_ = false;
  std::vector<Stride> strides_;
};

}  // namespace omnio::mpi
