// Where the positions of one file come to lie when sizes are multiplied by a factor. All calls on
// the file use one map, so what touched, overlapped or followed each other before does so after,
// whoever writes and reads it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace omnio::preprocess {

// In this order of importance: what direct I/O and mappings have aligned stays so; no call that had
// bytes loses all of them; a position times the factor, rounded down.
class ScaleMap {
 public:
  // `keeps_some`: pieces may come that keep their sizes (keepSame).
  explicit ScaleMap(double factor = 1, bool keeps_some = false)
      : factor_(factor), keeps_some_(keeps_some) {}

  // A piece of the file that one call is about; it will not be empty. Offset and size in bytes.
  void keep(std::uint64_t offset, std::uint64_t bytes);
  // The same where the file is open with O_DIRECT: ends of pieces stay multiples of 4096, or of 512
  // where those of some piece were not (disks have sectors of one of these).
  void keepDirect(std::uint64_t offset, std::uint64_t bytes);
  // Multiples of 4096 stay such: the file is mapped, or has holes that a call looked for.
  void keepPages();
  // The piece keeps its size, and all behind it moves with it.
  void keepSame(std::uint64_t offset, std::uint64_t bytes);
  // No piece comes after this, and no position is asked for before. `keeps_same`: false where
  // pieces are to be multiplied after all, as all others.
  void settle(bool keeps_same = true);

  double factor() const { return factor_; }
  // Whether pieces that were to keep their sizes do.
  bool keepsSome() const { return keeps_some_; }
  // Never decreases.
  std::uint64_t position(std::uint64_t bytes) const;

 private:
  void alignTo(std::uint64_t unit);
  std::uint64_t times(std::uint64_t units) const;
  std::uint64_t unitsAt(std::uint64_t unit) const;
  std::uint64_t sameBefore(std::uint64_t unit) const;

  double factor_;
  bool keeps_some_;
  bool has_too_many_ = false;  // pieces that keep their sizes
  std::uint64_t unit_ = 1;     // bytes
  bool has_pages_ = false;
  // Ends of pieces that would be empty, in units: from there on, all lies one unit further.
  std::set<std::uint64_t> kept_;      // until it is settled
  std::vector<std::uint64_t> added_;  // then; in order
  // Pieces that keep their sizes, in units, apart from each other.
  struct Same {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t before = 0;  // units in those before it
  };
  std::map<std::uint64_t, std::uint64_t> marked_;  // until it is settled: begin and end in bytes
  std::vector<Same> same_;                         // then; in order
};

// The map of a file whose factor is known only when all calls are: a later call may copy it to a
// file of another factor. Until then there is a map for each factor that the file may have.
class FileScale {
 public:
  // `factors`: at least one, each once.
  explicit FileScale(std::span<const double> factors, bool keeps_some = false);

  // As those of ScaleMap.
  void keep(std::uint64_t offset, std::uint64_t bytes);
  void keepDirect(std::uint64_t offset, std::uint64_t bytes);
  void keepPages();
  void keepSame(std::uint64_t offset, std::uint64_t bytes);
  // `factor`: one of those that it was made with.
  void settle(double factor, bool keeps_same = true);

  // Once it is settled.
  const ScaleMap& map() const { return map_; }

 private:
  ScaleMap map_;
  std::vector<ScaleMap> others_;
};

}  // namespace omnio::preprocess
