// What prefetching came to, as it is told at the end (docs/prefetch.md).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/moments.hpp"

namespace omnio::prefetch {

// Reads are compared with those of about their size: by the highest bit of it. Bytes above 0.
inline constexpr std::size_t kSizeClasses = 64;
inline std::size_t sizeClassOf(std::int64_t bytes) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes)) - 1);
}

// The times of reads by size, of those whose bytes were fetched before and of the others: what was
// saved is the difference of their means, times the number of the first.
class ReadTimes {
 public:
  void take(std::int64_t bytes, std::int64_t duration_ns, bool was_fetched);

  struct Saved {
    double mean_s = 0;
    double low_s = 0;  // of a 95 % interval
    double high_s = 0;
    std::uint64_t reads = 0;      // that were fetched before, and are counted
    std::uint64_t not_known = 0;  // those without others of their size to compare with
  };
  Saved saved() const;

 private:
  struct OfClass {
    base::Moments fetched;
    base::Moments others;
  };
  std::array<OfClass, kSizeClasses> classes_{};
};

struct Figures {
  std::string host;
  std::uint64_t processes = 0;
  std::uint64_t events_lost = 0;  // that came too fast to be read
  std::uint64_t requests = 0;
  std::uint64_t was_there = 0;  // requests for what the page cache had
  std::int64_t fetched_bytes = 0;
  std::int64_t used_bytes = 0;
  std::int64_t wasted_bytes = 0;
  std::int64_t budget_bytes = 0;
  std::optional<std::int64_t> median_delay_ns;
  double helper_cpu_s = 0;
  double wall_s = 0;
  ReadTimes::Saved saved;
  std::uint64_t written_files = 0;      // left alone since the job writes them
  std::uint64_t changed_files = 0;      // or another node does, or may
  std::vector<std::string> left_alone;  // storage, and why
  std::string model_trouble;            // why models of an earlier run were not used
};

// For programs; the member `text` has it in one sentence for people.
std::string jsonOf(const Figures& figures);

}  // namespace omnio::prefetch
