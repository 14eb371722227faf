#include "core/tracefile/posix_reader.hpp"

namespace omnio::tracefile {
namespace {

bool isFileAccess(const calls::Row& row) {
  return row.api == calls::Api::kMpi && row.call_class != calls::Class::kMpiSync;
}

}  // namespace

PosixReader::PosixReader(const Process& process, const Log& log, event::PathTable& paths)
    : events_(process, log, paths), scout_(process, log, paths) {}

// Of the inner event that events_ has come to, and scout_ has not.
bool PosixReader::isPartOfFileAccess() {
  if (inner_left_ == 0) {
    const event::Event* outer = scout_.next();
    for (; outer != nullptr && outer->depth > 0; outer = scout_.next()) ++inner_left_;
    // A process that died inside of a call never told which it was: what it did to files counts.
    keep_inner_ = outer == nullptr || isFileAccess(*outer->row);
  }
  --inner_left_;
  return keep_inner_;
}

const event::Event* PosixReader::next() {
  std::uint64_t missing = 0;
  while (const event::Event* event = events_.next()) {
    missing += events_.missingBefore();
    const bool is_mpi = event->row->api == calls::Api::kMpi;
    if (event->depth == 0) {
      // The scout has passed this one if there were inner events before it.
      if (!scout_is_behind_outer_) scout_.next();
      scout_is_behind_outer_ = false;
      if (is_mpi) continue;
      missing_before_ = missing;
      return event;
    }
    const bool keep = isPartOfFileAccess();
    scout_is_behind_outer_ = true;
    if (keep && !is_mpi) {
      missing_before_ = missing;
      return event;
    }
    if (!is_mpi) ++left_out_;
  }
  missing_before_ = missing + events_.missingBefore();
  return nullptr;
}

}  // namespace omnio::tracefile
