#include "report/offset_plane.hpp"

#include <algorithm>
#include <limits>

namespace omnio::report {
namespace {

using Cell = OffsetPlane::Cell;

void join(Cell& cell, std::uint64_t read_bytes, std::uint64_t written_bytes, User user) {
  cell.read_bytes += read_bytes;
  cell.written_bytes += written_bytes;
  if (user == kNoUser || cell.user == user) return;
  cell.user = cell.user == kNoUser ? user : kSeveralUsers;
}

// Calls `take(bin, amount)` for each bin from that of `first` to that of `last`: a share of the
// amount by how much of the bin lies between them. The sum is the amount.
template <typename Take>
void share(std::uint64_t first, std::uint64_t last, unsigned shift, std::uint64_t amount,
           Take take) {
  const std::uint64_t first_bin = first >> shift;
  const std::uint64_t last_bin = last >> shift;
  if (first_bin == last_bin) {
    take(static_cast<std::size_t>(first_bin), amount);
    return;
  }
  const double each = static_cast<double>(amount) / static_cast<double>(last - first);
  std::uint64_t given = 0;
  for (std::uint64_t bin = first_bin; bin < last_bin; ++bin) {
    const std::uint64_t until = (bin + 1) << shift;
    const auto by_then =
        std::min(amount, static_cast<std::uint64_t>(each * static_cast<double>(until - first)));
    take(static_cast<std::size_t>(bin), by_then - given);
    given = by_then;
  }
  take(static_cast<std::size_t>(last_bin), amount - given);
}

void putVarint(std::string& out, std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  while (value >= kMore) {
    out += static_cast<char>(value | kMore);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

}  // namespace

OffsetPlane& OffsetPlane::operator=(const OffsetPlane& other) {
  if (this == &other) return *this;
  time_shift_ = other.time_shift_;
  offset_shift_ = other.offset_shift_;
  columns_.clear();
  for (const auto& column : other.columns_) {
    columns_.push_back(column ? std::make_unique<Column>(*column) : nullptr);
  }
  return *this;
}

void OffsetPlane::add(const PlacedBytes& placed) {
  if (placed.bytes == 0) return;
  // A run that lasts for ten years or a file of 8 EiB is damage.
  constexpr std::int64_t kMostNs = std::int64_t{10} * 365 * 24 * 3600 * 1'000'000'000;
  constexpr std::uint64_t kMostOffset = std::numeric_limits<std::int64_t>::max();
  const std::int64_t start_ns = std::clamp<std::int64_t>(placed.start_ns, 0, kMostNs);
  const std::int64_t end_ns = std::clamp(placed.end_ns, start_ns, kMostNs);
  PlacedBytes own = placed;
  own.offset = std::min(placed.offset, kMostOffset);
  own.span_bytes = std::clamp<std::uint64_t>(placed.span_bytes, 1, kMostOffset - own.offset + 1);
  const std::uint64_t last = own.offset + own.span_bytes - 1;
  while (end_ns >> time_shift_ >= static_cast<std::int64_t>(kMostBins)) halveBins();
  while (last >> offset_shift_ >= kMostRows) halveRows();
  share(static_cast<std::uint64_t>(start_ns), static_cast<std::uint64_t>(end_ns), time_shift_,
        own.bytes, [&](std::size_t bin, std::uint64_t bytes) { addToColumn(bin, own, bytes); });
}

void OffsetPlane::addToColumn(std::size_t bin, const PlacedBytes& placed, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (columns_.size() <= bin) columns_.resize(bin + 1);
  if (!columns_[bin]) columns_[bin] = std::make_unique<Column>();
  Column& column = *columns_[bin];
  const std::uint64_t end = placed.offset + placed.span_bytes;
  const auto take = [&](std::size_t row, std::uint64_t part) {
    if (part == 0) return;
    join(column[row], placed.writes ? 0 : part, placed.writes ? part : 0, placed.user);
  };
  const bool is_one_row = placed.offset >> offset_shift_ == (end - 1) >> offset_shift_;
  // An end at the edge of a row belongs to the row before.
  if (is_one_row) {
    take(static_cast<std::size_t>(placed.offset >> offset_shift_), bytes);
  } else if ((end & (rowBytes() - 1)) == 0) {
    share(placed.offset, end, offset_shift_, bytes, [&](std::size_t row, std::uint64_t part) {
      take(std::min<std::size_t>(row, (end - 1) >> offset_shift_), part);
    });
  } else {
    share(placed.offset, end, offset_shift_, bytes, take);
  }
}

void OffsetPlane::halveBins() {
  ++time_shift_;
  for (std::size_t bin = 0; bin < columns_.size(); ++bin) {
    std::unique_ptr<Column> column = std::move(columns_[bin]);
    if (!column) continue;
    std::unique_ptr<Column>& half = columns_[bin / 2];
    if (!half) {
      half = std::move(column);
      continue;
    }
    for (std::size_t row = 0; row < kMostRows; ++row) {
      const Cell& cell = (*column)[row];
      join((*half)[row], cell.read_bytes, cell.written_bytes, cell.user);
    }
  }
  columns_.resize((columns_.size() + 1) / 2);
}

void OffsetPlane::halveRows() {
  ++offset_shift_;
  for (const std::unique_ptr<Column>& column : columns_) {
    if (!column) continue;
    for (std::size_t row = 0; row < kMostRows; ++row) {
      const Cell cell = (*column)[row];
      (*column)[row] = {};
      join((*column)[row / 2], cell.read_bytes, cell.written_bytes, cell.user);
    }
  }
}

void OffsetPlane::widenTo(std::int64_t bin_ns) {
  while (binNs() < bin_ns) halveBins();
}

std::size_t OffsetPlane::bins() const { return columns_.size(); }

std::size_t OffsetPlane::rows() const {
  std::size_t rows = 0;
  for (const std::unique_ptr<Column>& column : columns_) {
    if (!column) continue;
    for (std::size_t row = rows; row < kMostRows; ++row) {
      if ((*column)[row].user != kNoUser) rows = row + 1;
    }
  }
  return rows;
}

Cell OffsetPlane::at(std::size_t row, std::size_t bin) const {
  return bin < columns_.size() && columns_[bin] ? (*columns_[bin])[row] : Cell{};
}

std::string cellsOf(const OffsetPlane& plane, bool writes, std::uint64_t unit_bytes) {
  std::string out;
  std::string run;
  std::uint64_t empty = 0;
  std::uint64_t used = 0;
  User last = kNoUser;
  const auto endRun = [&] {
    if (used == 0) return;
    putVarint(out, empty);
    putVarint(out, used);
    out += run;
    run.clear();
    empty = used = 0;
  };
  const std::size_t rows = plane.rows();
  const std::size_t bins = plane.bins();
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const Cell cell = plane.at(row, bin);
      const std::uint64_t bytes = cell.of(writes);
      if (bytes == 0) {
        endRun();
        ++empty;
        continue;
      }
      ++used;
      putVarint(run, std::max<std::uint64_t>(1, (bytes + unit_bytes / 2) / unit_bytes));
      putVarint(run, zigzag(std::int64_t{cell.user} - std::int64_t{last}));
      last = cell.user;
    }
  }
  endRun();
  return out;
}

std::uint64_t unitOf(const OffsetPlane& plane) {
  constexpr std::uint64_t kMostUnits = (std::uint64_t{1} << 14) - 1;
  std::uint64_t most = 0;
  for (std::size_t bin = 0; bin < plane.bins(); ++bin) {
    for (std::size_t row = 0; row < OffsetPlane::kMostRows; ++row) {
      const Cell cell = plane.at(row, bin);
      most = std::max({most, cell.read_bytes, cell.written_bytes});
    }
  }
  std::uint64_t unit = 1;
  while (most / unit >= kMostUnits) unit *= 2;
  return unit;
}

}  // namespace omnio::report
