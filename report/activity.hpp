// The activity of each rank over the time of the run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/text_table.hpp"
#include "core/tracefile/trace.hpp"
#include "report/read_offsets.hpp"
#include "report/time_bins.hpp"
#include "statistics/rank_observer.hpp"
#include "statistics/selection.hpp"

namespace omnio::report {

// A wait for an asynchronous transfer counts as the direction that the thread began last.
enum class ActivityKind { kRead, kWrite, kMetadata, kSync, kWaiting };
inline constexpr base::Word<ActivityKind> kActivityKinds[] = {{ActivityKind::kRead, "read"},
                                                              {ActivityKind::kWrite, "write"},
                                                              {ActivityKind::kMetadata, "metadata"},
                                                              {ActivityKind::kSync, "sync"},
                                                              {ActivityKind::kWaiting, "waiting"}};

struct Activity {
  std::vector<std::string> rows;  // "rank 3", "rank 3 thread 1", "ranks 16 to 31"
  std::size_t most_lanes = 1;     // threads, or ranks, that a row sums up at most
  std::int64_t start_ns = 0;      // of the run, as times of events are
  std::int64_t end_ns = 0;        // of the last call
  // By kind: for each row the ns in such calls. At one time a rank or thread is in one call.
  std::vector<TimeBins> time;
  // The bytes that omnio stats counts, those of pipes too.
  TimeBins read_bytes{1};
  TimeBins written_bytes{1};
  // The files that were asked for and moved bytes, the one with most first.
  std::vector<FileOffsets> offsets;
  bool has_ranks = false;  // users of cells are ranks; else they are processes, in order

  // All have bins of that width.
  std::int64_t binNs() const { return read_bytes.binNs(); }
};
inline constexpr std::size_t kMostRows = 256;

struct ActivityRows;

// Makes the activity while statistics are made of the same calls. There is a row for each thread,
// where these are not more than kMostRows, else for each rank, else for ranks side by side. Memory
// is for the bins of each worker.
class ActivityReader {
 public:
  // The arguments outlive it.
  ActivityReader(const tracefile::Trace& trace, const stats::Selection& selection);
  ~ActivityReader();
  ActivityReader(const ActivityReader&) = delete;
  ActivityReader& operator=(const ActivityReader&) = delete;

  // For stats::makeReports() of this trace and selection.
  stats::Observers observers();
  // Once these reports are made, and the offsets are read. Nothing is left in it.
  Activity take(FilesOffsets offsets = {});

 private:
  const stats::Selection& selection_;
  std::vector<std::vector<stats::Source>> ranks_;
  std::unique_ptr<ActivityRows> rows_;
  Activity activity_;
};

}  // namespace omnio::report
