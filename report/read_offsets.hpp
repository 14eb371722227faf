// Reads where in the files with most bytes the requests were (report/file_offsets.hpp).
#pragma once
#include <vector>

#include "core/tracefile/trace.hpp"
#include "report/file_offsets.hpp"
#include "statistics/report.hpp"
#include "statistics/selection.hpp"

namespace omnio::report {

struct FilesOffsets {
  std::vector<FileOffsets> files;  // that moved most bytes, the most first
  bool has_ranks = false;          // users of cells are ranks; else they are processes, in order
};

// Reads the ranks that used the files with most bytes, in parallel. `by_file` is of the same trace
// and selection.
FilesOffsets readOffsets(const tracefile::Trace& trace, const stats::Selection& selection,
                         const stats::Report& by_file);

}  // namespace omnio::report
