// The statistics of a trace: one pass over its events, and a second one where ranks may have waited
// for each other in collective calls of MPI-IO. Memory is for the groups, and a chunk for each
// thread of the rank that is read.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/moments.hpp"
#include "core/base/result.hpp"
#include "core/calls/role.hpp"
#include "core/event/event.hpp"
#include "core/event/io_time.hpp"
#include "core/order/io_waits.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/trace.hpp"
#include "statistics/access_pattern.hpp"
#include "statistics/histogram.hpp"
#include "statistics/rank_observer.hpp"
#include "statistics/selection.hpp"

namespace omnio::stats {

// Count, total, smallest and largest of a quantity.
struct Range {
  std::uint64_t count = 0;
  std::uint64_t total = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;

  void add(std::uint64_t value) {
    least = count == 0 ? value : std::min(least, value);
    most = std::max(most, value);
    total += value;
    ++count;
  }
  void add(const Range& other) {
    if (other.count == 0) return;
    least = count == 0 ? other.least : std::min(least, other.least);
    most = std::max(most, other.most);
    total += other.total;
    count += other.count;
  }
  double average() const {
    return count == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(count);
  }
  bool operator==(const Range&) const = default;
};

// Its standard deviation too, and how often it had which value.
struct Summary : Range {
  Histogram histogram;
  base::Moments moments;

  void add(std::uint64_t value) {
    Range::add(value);
    histogram.add(value);
    moments.add(static_cast<double>(value));
  }
  void add(const Summary& other) {
    Range::add(other);
    histogram.add(other.histogram);
    moments.add(other.moments);
  }
  // As of the histogram, and not beyond the largest value.
  std::uint64_t quantile(double part) const { return std::min(histogram.quantile(part), most); }
};

// Whether calls of this class are operations on files. The others order ranks or threads.
constexpr bool isOperation(calls::Class c) {
  return c != calls::Class::kMpiSync && c != calls::Class::kThreadSync;
}

// MiB a second; 0 when no time was measured.
inline double mibS(std::uint64_t bytes, std::uint64_t ns) {
  constexpr double kMib = 1024.0 * 1024.0;
  constexpr double kNsPerS = 1e9;
  return ns == 0 ? 0.0 : static_cast<double>(bytes) / kMib / (static_cast<double>(ns) / kNsPerS);
}

// Reads, or writes.
struct Transfer {
  Summary size_bytes;          // of the calls that succeeded and tell how many bytes they moved
  Summary time_ns;             // of all calls
  std::uint64_t at_least = 0;  // calls in size_bytes that moved as many bytes or more
  // The calls among these that only begin a transfer (event::onlyBegins): the transfer goes on
  // after them, so a bandwidth of their bytes by their time would mean nothing.
  std::uint64_t begins = 0;
  std::uint64_t begun_bytes = 0;
  std::uint64_t begins_ns = 0;
  // The lowest and the highest bandwidth of a single call: of those that moved bytes, within their
  // own time. 0 where there is none.
  double least_mib_s = 0;
  double most_mib_s = 0;

  void add(const Transfer& other);
  void addBandwidth(double least, double most);
  // Whether any call moved its bytes within its own time.
  bool hasBandwidth() const { return size_bytes.count > 0 && time_ns.count > begins; }
  // Over the time inside the calls, without those that only begin a transfer.
  double bandwidthMibS() const {
    return mibS(size_bytes.total - begun_bytes, time_ns.total - begins_ns);
  }
};

// The events of a file, a rank, a thread or a call.
struct Group {
  std::string name;
  // Of a file that had several: those beside `name`, in alphabetical order.
  std::vector<std::string> other_names;
  std::array<Range, calls::kClassCount> times_ns{};  // of the calls of each class
  std::uint64_t failed = 0;                          // of the operations on files
  std::uint64_t mpi_sync_failed = 0;                 // of the MPI calls that order ranks
  Transfer read;
  Transfer write;
  Summary time_ns;                // of all operations on files
  std::uint64_t metadata_ns = 0;  // the part in metadata calls (event::IoKind)
  std::uint64_t sync_ns = 0;      // the part in syncs
  Summary mpi_sync_ns;  // of the MPI calls that order ranks: transfer, and waiting for others
  // How many ranks used the file, where groups are files. A process without a rank counts as one.
  std::uint64_t ranks = 0;
  // The places of the first of these among the ranks that were read (byRank()).
  static constexpr std::size_t kMostPlaces = 8;
  std::vector<std::uint32_t> rank_places;
  const calls::Row* row = nullptr;  // the call, where groups are calls
  // Of files and ranks, where it was asked for. What AccessPattern says of all ranks' reads holds
  // of files alone.
  AccessPattern pattern;

  std::uint64_t events() const { return time_ns.count + mpi_sync_ns.count; }

  const Range& timesOf(calls::Class c) const { return times_ns[static_cast<std::size_t>(c)]; }
  std::uint64_t of(calls::Class c) const { return timesOf(c).count; }
  // With `bytes_later` an event tells how many bytes it read, later than this one.
  void add(const event::Event& event, bool bytes_later = false);
  void add(const Group& other);
  // The other is the same file, by another name of it: of the same ranks, in part.
  void join(Group other);
};

// The group of calls that belong to no file.
inline constexpr std::string_view kNoFileName = "(no file)";

enum class By { kFile, kRank, kThread, kCall };

// "file", "rank", ..., and back.
std::string_view nameOf(By by);
std::optional<By> byName(std::string_view name);

// The I/O time of a rank (core/event/io_time.hpp), of the calls that were selected.
struct RankTime {
  int rank = 0;
  event::IoTime io;
  // From its first recorded call to its last, calls that were not selected too.
  std::int64_t run_ns = 0;

  // The part of that in I/O.
  double share() const {
    return run_ns == 0 ? 0 : static_cast<double>(io.total()) / static_cast<double>(run_ns);
  }
};
// The rank that has most I/O time. There has to be one.
const RankTime& slowestOf(const std::vector<RankTime>& ranks);
double averageIoNs(const std::vector<RankTime>& ranks);

// The percentiles that reports show.
struct Percentile {
  double part = 0;
  std::string_view name;
};
inline constexpr Percentile kPercentiles[] = {
    {0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p99.9"}};

// Groups of files and ranks get patterns, which takes a third more time.
struct PatternOptions {
  std::uint64_t alignment_bytes = kUsualAlignment;
};

struct Report {
  std::string trace;  // the directory, as it was given
  By by = By::kFile;
  Selection selection;
  std::optional<PatternOptions> patterns;  // none: groups have no patterns
  tracefile::Wholeness wholeness;          // of the whole trace
  std::vector<tracefile::HostClock> clocks;
  std::vector<Group> groups;
  Group total;                  // of all groups
  std::vector<RankTime> ranks;  // in order; without those that did not report
  std::shared_ptr<const order::IoWaits>
      waits;  // none where no call can have waited for other ranks
  // Calls made by libraries below the application's own: they are what those calls did, so they
  // stand in no group.
  std::uint64_t events_below = 0;
  // The part of the application's time that recording the events of `groups` and those below took,
  // at the least: each process measured what an event costs it.
  double recording_ns = 0;

  bool hasPatterns() const { return patterns && (by == By::kFile || by == By::kRank); }
  // Whether groups have AccessPattern::rereadByAny(): each is one file.
  bool hasRereadByAny() const { return by == By::kFile && selection.depth == 0; }
};

// Groups come in a fixed order: files and calls by the time spent in them, ranks and threads by
// number. Fails where the rank or thread that is selected does not exist.
base::Result<Report> makeReport(const tracefile::Trace& trace, By by,
                                const Selection& selection = {},
                                const std::optional<PatternOptions>& patterns = {});
// A report of each of these kinds, in one pass, which `observers` see.
base::Result<std::vector<Report>> makeReports(const tracefile::Trace& trace,
                                              const std::vector<By>& kinds,
                                              const Selection& selection = {},
                                              const std::optional<PatternOptions>& patterns = {},
                                              const Observers& observers = {});

// The waits of all MPI calls, read from the trace where the report has none.
std::shared_ptr<const order::IoWaits> waitsOf(const tracefile::Trace& trace, const Report& report);

// A table for people.
std::string textOf(const Report& report, bool with_histograms = false);

// A document for programs, with the newline at its end: docs/commands/stats.md.
std::string jsonOf(const Report& report);
// Appends it. `drain` is called now and then, and may take away what is there. `more` puts what
// else belongs into the document.
void appendJson(std::string& out, const Report& report, const std::function<void()>& drain,
                const std::function<void(base::JsonWriter&)>& more = {});

// A line of names, and a line for each group (RFC 4180).
std::string csvOf(const Report& report);

}  // namespace omnio::stats
