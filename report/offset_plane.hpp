// Where in a file bytes were read and written over the time of a run, as sums in the cells of a
// plane of offset and time. The plane has a limited number of cells: rows double in height when the
// file grows beyond the last one, and columns in width when the run does (as TimeBins).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace omnio::report {

// The rank or process that used a cell.
using User = std::uint32_t;
inline constexpr User kNoUser = 0;
inline constexpr User kSeveralUsers = 1;
inline constexpr User kUnrankedUser = 2;  // a process without a rank, in a run of ranks
inline constexpr User kFirstUser = 3;     // rank 0, or the first process where there are no ranks

// One read or write, or a part of it that lies in one region of the file.
struct PlacedBytes {
  std::int64_t start_ns = 0;  // from the start of the run
  std::int64_t end_ns = 0;
  std::uint64_t offset = 0;
  std::uint64_t span_bytes = 0;  // the region; larger than `bytes` where the request has gaps
  std::uint64_t bytes = 0;
  User user = kFirstUser;
  bool writes = false;
};

class OffsetPlane {
 public:
  static constexpr std::size_t kMostRows = 256;
  static constexpr std::size_t kMostBins = 512;

  struct Cell {
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    User user = kNoUser;

    std::uint64_t of(bool writes) const { return writes ? written_bytes : read_bytes; }
    bool operator==(const Cell&) const = default;
  };

  OffsetPlane() = default;
  OffsetPlane(const OffsetPlane& other) { *this = other; }
  OffsetPlane& operator=(const OffsetPlane& other);
  OffsetPlane(OffsetPlane&&) = default;
  OffsetPlane& operator=(OffsetPlane&&) = default;

  // Spreads the bytes evenly over the time and the region, to the last byte.
  void add(const PlacedBytes& placed);

  std::int64_t binNs() const { return std::int64_t{1} << time_shift_; }
  std::uint64_t rowBytes() const { return std::uint64_t{1} << offset_shift_; }
  std::size_t bins() const;  // up to the last that is used
  std::size_t rows() const;
  Cell at(std::size_t row, std::size_t bin) const;

  void widenTo(std::int64_t bin_ns);
  void halveBins();
  void halveRows();

 private:
  using Column = std::array<Cell, kMostRows>;  // the cells of one bin of time, by row

  void addToColumn(std::size_t bin, const PlacedBytes& placed, std::uint64_t bytes);

  unsigned time_shift_ = 10;
  unsigned offset_shift_ = 9;
  // By bin; null where nothing was added: most files are used for a part of the run.
  std::vector<std::unique_ptr<Column>> columns_;
};

// The cells of one direction, for the page. A sequence of varints (LEB128) row by row: how many
// cells are empty, how many follow that are not, and for each of these its bytes in units, at least
// 1, and how its user differs from the one before (zigzag).
std::string cellsOf(const OffsetPlane& plane, bool writes, std::uint64_t unit_bytes);

// The smallest power of two of which the fullest cell of the plane has fewer than 2^14.
std::uint64_t unitOf(const OffsetPlane& plane);

}  // namespace omnio::report
