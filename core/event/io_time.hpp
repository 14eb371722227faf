// The I/O time of a rank, by one definition for applications, replays and estimates: the union of
// the time in its calls on files, over all of its threads. The time that it waited in a collective
// call until the last other rank had come is the others' and not of the storage: it is kept apart.
// The I/O time of an application is that of the rank that has most.
#pragma once

#include <cstdint>

#include "core/calls/table.hpp"

namespace omnio::event {

enum class IoKind : std::uint8_t {
  kData,  // reads and writes, and waiting for them
  kMetadata,
  kSync,
};

// The part of the I/O time that a call belongs to. The call is a POSIX or stream call, a call of
// MPI-IO, or an MPI call that found requests of MPI-IO complete.
constexpr IoKind ioKindOf(const calls::Row& row) {
  using calls::Class;
  switch (row.call_class) {
    case Class::kRead:
    case Class::kWrite:
    case Class::kAsync:
    case Class::kMpiSync:
      return IoKind::kData;
    case Class::kSync:
      return IoKind::kSync;
    default:
      return calls::does(row, calls::Effect::kSplitEnd) ? IoKind::kData : IoKind::kMetadata;
  }
}

// Whether the call, of MPI-IO and of a group of ranks, may wait for the others at once: the ranks
// meet in it. Where a split collective call or one with a request waits, the storage may be what it
// waits for.
constexpr bool waitsForGroup(const calls::Row& row) {
  return calls::isMpiIo(row) && row.sync == calls::Sync::kAll &&
         !calls::has(row, calls::Role::kRequest) && !calls::does(row, calls::Effect::kSplitBegin);
}

// In ns.
struct IoTime {
  std::int64_t data_ns = 0;
  std::int64_t metadata_ns = 0;
  std::int64_t sync_ns = 0;
  std::int64_t waiting_ns = 0;  // not part of the total

  std::int64_t total() const { return data_ns + metadata_ns + sync_ns; }
  std::int64_t& of(IoKind kind) {
    return kind == IoKind::kData ? data_ns : kind == IoKind::kSync ? sync_ns : metadata_ns;
  }
  IoTime& operator+=(const IoTime& other) {
    data_ns += other.data_ns;
    metadata_ns += other.metadata_ns;
    sync_ns += other.sync_ns;
    waiting_ns += other.waiting_ns;
    return *this;
  }
  bool operator==(const IoTime&) const = default;
};

// A call from `start_ns` to `end_ns`. For the first `waited_ns` of it, it waited for other ranks.
struct IoCall {
  IoKind kind = IoKind::kData;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t waited_ns = 0;
};

// Puts the calls of one rank together, which come by their start.
class IoUnion {
 public:
  // Returns what the call adds: its time that no call before it covers.
  IoTime add(const IoCall& call) {
    IoTime added;
    const std::int64_t from = call.start_ns > covered_ns_ ? call.start_ns : covered_ns_;
    if (call.end_ns <= from) return added;
    const std::int64_t came = call.start_ns + call.waited_ns;
    const std::int64_t waits_until = came < call.end_ns ? came : call.end_ns;
    added.waiting_ns = waits_until > from ? waits_until - from : 0;
    added.of(call.kind) = call.end_ns - from - added.waiting_ns;
    covered_ns_ = call.end_ns;
    total_ += added;
    return added;
  }

  const IoTime& total() const { return total_; }

 private:
  std::int64_t covered_ns_ = INT64_MIN;
  IoTime total_;
};

}  // namespace omnio::event
