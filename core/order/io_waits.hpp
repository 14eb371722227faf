// How long ranks waited for each other in collective calls of MPI-IO, and in all MPI calls.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/base/integers.hpp"
#include "core/event/event.hpp"
#include "core/order/wait_states.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::order {

class IoWaits {
 public:
  IoWaits() = default;
  // Reads the MPI calls of the whole trace.
  explicit IoWaits(const tracefile::Trace& trace);

  // From the call's start until the last other rank had come; 0 where it did not wait, or that is
  // not known. `process`: by place in the trace; `thread`: of its log.
  std::int64_t waited(std::size_t process, std::uint32_t thread, const event::Event& event) const;
  // All MPI calls, those that do no I/O too.
  const WaitStates& states() const { return states_; }
  // Calls of which a counterpart is missing.
  std::uint64_t unmatched() const { return unmatched_; }

 private:
  struct Key {
    std::size_t process;
    std::uint32_t thread;
    std::int64_t start_ns;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return base::mixed(static_cast<std::uint64_t>(key.start_ns),
                         static_cast<std::uint64_t>(key.process) << 32 | key.thread);
    }
  };
  class Collector;

  std::unordered_map<Key, std::int64_t, Hash> waited_;
  WaitStates states_;
  std::uint64_t unmatched_ = 0;
};

}  // namespace omnio::order
