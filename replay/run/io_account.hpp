// The I/O time of a replay, by the definition of core/event/io_time.hpp: of each rank, and of its
// phases.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/event/io_time.hpp"

namespace omnio::replay {

// A collective call in which ranks meet, as one of them was in it: ns since the beginning of the
// replay.
struct Meeting {
  std::int64_t came_ns = 0;
  std::int64_t left_ns = 0;
};

// The calls that one thread made.
class ThreadCalls {
 public:
  // 64 MiB, for all threads of a process. Of one that makes more than its share, what comes behind
  // counts as if no other thread were at work meanwhile, and as if it waited for none.
  static constexpr std::size_t kMostCalls = std::size_t{1} << 21;

  struct Call {
    std::int64_t start_ns = 0;  // since the beginning of the replay
    std::int64_t end_ns = 0;
    std::int32_t phase = 0;
    std::int32_t meeting = -1;  // of a collective call: by place in `meetings` of the process
    event::IoKind kind = event::IoKind::kData;
  };
  struct Moved {
    std::uint64_t bytes[2] = {0, 0};     // written, read
    std::uint64_t requests[2] = {0, 0};  // the same
    std::int64_t data_ns[2] = {0, 0};    // summed over calls
    std::uint64_t calls = 0;             // of all kinds
  };

  // `is_alone`: the rank has no other thread, and only meetings have to be kept. Allocates nothing
  // per call later on.
  explicit ThreadCalls(bool is_alone = false, std::size_t most = kMostCalls)
      : is_alone_(is_alone), most_(most) {
    calls_.reserve(most);
  }

  void add(const Call& call) {
    ++moved_[call.phase].calls;
    if (calls_.size() < most_ && !(is_alone_ && call.meeting < 0)) {
      calls_.push_back(call);
    } else {
      beyond_[call.phase].of(call.kind) += call.end_ns - call.start_ns;
    }
  }
  void moved(std::int32_t phase, bool is_read, std::uint64_t bytes, std::int64_t ns) {
    Moved& moved = moved_[phase];
    moved.bytes[is_read ? 1 : 0] += bytes;
    moved.requests[is_read ? 1 : 0] += bytes > 0 ? 1 : 0;
    moved.data_ns[is_read ? 1 : 0] += ns;
  }

  const std::vector<Call>& calls() const { return calls_; }
  const std::map<std::int32_t, event::IoTime>& beyond() const { return beyond_; }
  const std::map<std::int32_t, Moved>& moved() const { return moved_; }

 private:
  bool is_alone_;
  std::size_t most_;
  std::vector<Call> calls_;
  std::map<std::int32_t, event::IoTime> beyond_;
  std::map<std::int32_t, Moved> moved_;
};

// What a rank did in a phase; phase 0 is what belongs to none.
struct PhaseIo {
  std::uint32_t rank = 0;
  std::int32_t phase = 0;
  event::IoTime time;
  ThreadCalls::Moved moved;
};

// By phase, of the threads of one rank. `waits`: by meeting, when the last rank came, of
// those that came before this one left, in ns since the beginning; empty where ranks never meet.
std::vector<PhaseIo> ioOf(std::uint32_t rank, const std::vector<const ThreadCalls*>& threads,
                          const std::vector<std::int64_t>& waits);

}  // namespace omnio::replay
