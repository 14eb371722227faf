#include "phase_model/offset_function.hpp"

#include <fmt/format.h>

namespace omnio::phases {

model::OffsetFunction fitOffsets(std::vector<std::pair<int, std::int64_t>> offsets) {
  model::OffsetFunction f;
  if (offsets.empty()) return f;
  const auto [first_rank, first] = offsets.front();
  const auto [last_rank, last] = offsets.back();
  const std::int64_t ranks = last_rank - first_rank;
  f.per_rank = ranks == 0 ? 0 : (last - first) / ranks;
  std::int64_t furthest = 0;
  bool affine = !__builtin_mul_overflow(f.per_rank, last_rank, &furthest) &&
                !__builtin_sub_overflow(first, f.per_rank * first_rank, &f.base);
  for (const auto& [rank, offset] : offsets) affine = affine && f.at(rank) == offset;
  if (!affine) f = {.affine = false, .table = std::move(offsets)};
  return f;
}

std::string exactSize(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  constexpr std::uint64_t kStep = 1024;
  std::size_t unit = 0;
  while (bytes > 0 && bytes % kStep == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string inRequests(std::int64_t bytes, std::uint64_t request_bytes) {
  const bool negative = bytes < 0;
  const std::uint64_t size =
      negative ? -static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
  const std::string sign = negative ? "-" : "";
  if (request_bytes == 0 || size % request_bytes != 0 || size == 0) return sign + exactSize(size);
  const std::uint64_t times = size / request_bytes;
  return sign + (times == 1 ? exactSize(request_bytes)
                            : fmt::format("{} * {}", times, exactSize(request_bytes)));
}

std::string textOf(const model::OffsetFunction& f, std::uint64_t request_bytes) {
  if (!f.known) return "not known";
  if (!f.affine) {
    const auto [rank, offset] = f.table.front();
    return fmt::format("a table: rank {} at {}, ... (not affine)", rank,
                       exactSize(static_cast<std::uint64_t>(offset)));
  }
  if (f.per_rank == 0) return f.base == 0 ? "0" : exactSize(static_cast<std::uint64_t>(f.base));
  std::string text = "idP * " + inRequests(f.per_rank, request_bytes);
  if (f.base < 0) {
    text += " - " + inRequests(-f.base, request_bytes);
  } else if (f.base > 0) {
    text += " + " + inRequests(f.base, request_bytes);
  }
  return text;
}

}  // namespace omnio::phases
