// What prefetching came to, as it is told at the end (docs/prefetch.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/moments.hpp"

namespace omnio::prefetch {

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
  static constexpr std::size_t kClasses = 64;  // by the size's highest bit
  struct OfClass {
    base::Moments fetched;
    base::Moments others;
  };
  std::array<OfClass, kClasses> classes_{};
};

// The middle one of many numbers; of the last kKept where there are more.
class Median {
 public:
  static constexpr std::size_t kKept = 65536;
  void add(std::int64_t value);
  std::optional<std::int64_t> value() const;

 private:
  std::vector<std::int64_t> values_;
  std::size_t next_ = 0;
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
