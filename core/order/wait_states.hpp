// Which ranks waited for which, in MPI calls: sums by process and by call, and the chain of
// lateness behind the longest wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/order/matched_event.hpp"

namespace omnio::order {

// A wait of one process for another one.
struct Wait {
  const calls::Row* row = nullptr;
  mpi::ProcessIndex process = mpi::kNoProcess;
  mpi::ProcessIndex late = mpi::kNoProcess;  // for that one; kNoProcess: not known
  std::uint32_t thread = 0;
  std::int64_t start_ns = 0;   // of the call
  std::int64_t waited_ns = 0;  // from there

  std::int64_t came_ns() const { return start_ns + waited_ns; }
};

// The waits behind one: the first is it, and each next one kept the process that the wait before
// was for. The last one's `late` came late without waiting for others: what it did from `from_ns`
// to `to_ns` is the reason.
struct LatenessChain {
  std::vector<Wait> waits;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;

  mpi::ProcessIndex last() const { return waits.empty() ? mpi::kNoProcess : waits.back().late; }
};

class WaitStates {
 public:
  struct Sum {
    std::uint64_t waits = 0;
    std::int64_t waited_ns = 0;
    std::int64_t most_ns = 0;

    void add(std::int64_t ns);
    void add(const Sum& other);
  };

  // Once for each event of the matched picture.
  void take(const MatchedEvent& event);

  // By place in the trace; processes behind the last one that waited are left out.
  const std::vector<Sum>& byProcess() const { return by_process_; }
  const std::map<const calls::Row*, Sum>& byCall() const { return by_call_; }
  // Calls that have no known counterpart, so that nothing is known of waiting.
  std::uint64_t unmatched() const { return unmatched_; }

  // Empty where no process waited for a known one.
  LatenessChain longestChain() const;

 private:
  // The longest waits of each process are kept, so many.
  static constexpr std::size_t kMostKept = 256;

  void keep(const Wait& wait);
  // The wait that kept the process of `wait.late` most, before it came; nullptr for none that
  // matters.
  const Wait* behind(const Wait& wait) const;

  std::vector<Sum> by_process_;
  std::map<const calls::Row*, Sum> by_call_;
  std::vector<std::vector<Wait>> kept_;  // by process: heaps, the shortest first
  std::uint64_t unmatched_ = 0;
};

}  // namespace omnio::order
