// Which bytes of a file something was done to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace omnio::base {

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // one past the last byte
};

// Byte ranges of a file. It keeps a bounded number of them: memory does not grow with the number of
// accesses, at the price of small gaps that are counted as covered.
class IntervalSet {
 public:
  explicit IntervalSet(std::size_t most = 4096) : most_(most) {}

  void add(ByteRange range);
  void clear() { ranges_.clear(); }
  // Takes away what lies at or behind `size`, as ftruncate does.
  void cut(std::uint64_t size);

  // The end of the last part of `range` that is not covered; 0 when all of it is.
  std::uint64_t lastUncovered(ByteRange range) const;
  std::uint64_t end() const { return ranges_.empty() ? 0 : ranges_.rbegin()->second; }
  // By begin, apart from each other.
  const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }

 private:
  void mergeClosest();

  std::size_t most_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin, end; apart from each other
};

}  // namespace omnio::base
