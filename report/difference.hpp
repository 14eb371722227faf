// Two traces side by side: an application and its replay, or a run before a change and one after.
// Each side may be several traces, of repeated runs: then quantities are medians, and
// core/base/repeats.hpp says whether a difference is beyond what runs vary by.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/repeats.hpp"
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
  // In collective calls of MPI-IO, until the other ranks came. Ranks and phases alone have it.
  std::uint64_t waiting_ns = 0;
  // Those of the calls that moved their bytes within their own time.
  std::uint64_t moved_bytes = 0;
  std::uint64_t moved_ns = 0;

  std::uint64_t bytes() const { return bytes_read + bytes_written; }
  // MiB a second of time spent in the calls; nothing where no bytes were moved in a time.
  std::optional<double> bandwidthMibS() const;
  // Whether both moved the same bytes by as many calls, whatever they took.
  bool doesAs(const Amounts& other) const {
    return calls == other.calls && failed == other.failed && bytes_read == other.bytes_read &&
           bytes_written == other.bytes_written;
  }
};

// A quantity of repeated runs.
struct Judgement {
  // The smallest and the largest value of each side.
  std::pair<double, double> a;
  std::pair<double, double> b;
  base::Ratio b_to_a;

  // Whether the sides differ by more than runs vary by.
  bool differs() const { return b_to_a.isSlower() || b_to_a.isFaster(); }
};

struct DifferenceLine {
  std::string name;
  std::optional<Amounts> a;  // none: it is in B alone
  std::optional<Amounts> b;
  // Where a side has several traces. The level is divided by the number of lines of the table.
  std::optional<Judgement> time{};
  std::optional<Judgement> calls{};
  std::optional<Judgement> bytes{};
};

// A trace.
struct DifferenceRun {
  std::string trace;
  bool whole = true;
  std::string missing;  // a sentence where it is not
  bool is_replay = false;
  std::size_t ranks = 0;
  std::int64_t run_ns = 0;  // of the rank that ran longest
  int slowest = 0;
  event::IoTime io;  // of the slowest rank
  Amounts total;
};

enum class Unit : std::uint8_t { kNs, kBytes, kMibS, kCount };

// A quantity of the whole run.
struct DifferenceTotal {
  std::string_view key;
  std::string_view name;
  Unit unit = Unit::kCount;
  double a = 0;  // the median of the traces
  double b = 0;
  std::optional<Judgement> judgement{};
};

struct Difference {
  std::vector<DifferenceRun> a;  // one trace at least
  std::vector<DifferenceRun> b;
  std::vector<DifferenceTotal> totals;  // the first is the I/O time of the slowest rank
  // Lines of each kind, those first whose times differ most.
  std::vector<DifferenceLine> classes;
  std::vector<DifferenceLine> calls;
  std::vector<DifferenceLine> files;
  std::vector<DifferenceLine> ranks;
  std::vector<DifferenceLine> phases;  // in their order; none unless all traces have the same
  std::string no_phases;               // a sentence where there are none, and they were asked for

  bool isRepeated() const { return a.size() > 1 || b.size() > 1; }
};

enum class Phases : std::uint8_t {
  kNo,
  kAuto,  // of traces of at most kMostPhaseCalls calls
  kYes,
};

struct DifferenceOptions {
  stats::Layer layer = stats::Layer::kApplication;
  // Directories of A, and what they are called in B; the first that fits a path counts. A path
  // below the working directory of its run is taken from there in any case, and one below the tree
  // of a replay has the name that it has in the application.
  std::vector<std::pair<std::string, std::string>> map{};
  Phases phases = Phases::kNo;
};

// Each side has one trace at least.
using Traces = std::vector<const tracefile::Trace*>;
base::Result<Difference> differenceOf(const Traces& a, const Traces& b,
                                      const DifferenceOptions& options);

// A quantity that a tolerance is about.
struct Excess {
  std::string what;  // "I/O time of the slowest rank", "calls of class write"
  double a = 0;
  double b = 0;
  double relative() const { return a == 0 ? (b == 0 ? 0 : 1) : b / a - 1; }
};
// The I/O time of the slowest rank, and calls and bytes of each class of I/O, where B differs from
// A by more than this part of A (0.1: 10 %); of repeated runs only where it surely differs. A
// replay makes no MPI calls that order ranks, so these do not count.
std::vector<Excess> beyond(const Difference& difference, double tolerance);

// How the I/O times differ, and how sure that is; why the result may be wrong; what else a reader
// has to know. Each is a sentence without its full stop.
std::string verdictOf(const Difference& difference);
std::vector<std::string> warningsOf(const Difference& difference);
std::vector<std::string> notesOf(const Difference& difference);

std::string textOf(const Difference& difference, std::size_t most_lines);
std::string jsonOf(const Difference& difference);

// What the page of a difference says about itself.
struct DifferenceAbout {
  std::string made;         // when, as of RFC 3339
  std::string version;      // of omnio
  std::string all_command;  // prints all lines
};
// The data of the page of a difference (docs/formats/difference_page.md): those lines of each table
// that differ most.
std::string pageDataOf(const Difference& difference, const DifferenceAbout& about);

}  // namespace omnio::report
