// Two traces side by side: an application and its replay, or a run before a change and one after.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/event/io_time.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/selection.hpp"

namespace omnio::report {

// The sums of a group of calls. Times are sums over all threads; that of a rank is its I/O time.
struct Amounts {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t waiting_ns = 0;  // of ranks alone: in collective calls of MPI-IO

  std::uint64_t bytes() const { return bytes_read + bytes_written; }
  // Whether both moved the same bytes by as many calls, whatever they took.
  bool doesAs(const Amounts& other) const {
    return calls == other.calls && failed == other.failed && bytes_read == other.bytes_read &&
           bytes_written == other.bytes_written;
  }
};

// By class of calls, by call, file and rank.
enum class DifferenceBy { kClass, kCall, kFile, kRank };

struct DifferenceLine {
  std::string name;
  std::optional<Amounts> a;  // none: it is in B alone
  std::optional<Amounts> b;
};

struct DifferenceSide {
  std::string trace;
  bool whole = true;
  std::string missing;  // a sentence where it is not
  std::size_t ranks = 0;
  std::int64_t run_ns = 0;  // of the rank that ran longest
  int slowest = 0;
  event::IoTime io;  // of the slowest rank
  Amounts total;
};

struct Difference {
  DifferenceSide a;
  DifferenceSide b;
  // Lines of each kind, those first whose times differ most.
  std::vector<DifferenceLine> classes;
  std::vector<DifferenceLine> calls;
  std::vector<DifferenceLine> files;
  std::vector<DifferenceLine> ranks;
};

struct DifferenceOptions {
  stats::Layer layer = stats::Layer::kApplication;
  // Directories of A, and what they are called in B; the first that fits a path counts. A path
  // below the working directory of its run is taken from there in any case.
  std::vector<std::pair<std::string, std::string>> map;
};

base::Result<Difference> differenceOf(const tracefile::Trace& a, const tracefile::Trace& b,
                                      const DifferenceOptions& options);

// A quantity that a tolerance is about.
struct Excess {
  std::string what;  // "I/O time of the slowest rank", "calls of class write"
  double a = 0;
  double b = 0;
  double relative() const { return a == 0 ? (b == 0 ? 0 : 1) : b / a - 1; }
};
// The I/O time of the slowest rank, and calls and bytes of each class of I/O, where B differs from
// A by more than this part of A (0.1: 10 %). A replay makes no MPI calls that order ranks, so these
// do not count.
std::vector<Excess> beyond(const Difference& difference, double tolerance);

std::string textOf(const Difference& difference, std::size_t most_lines);
std::string jsonOf(const Difference& difference);

}  // namespace omnio::report
