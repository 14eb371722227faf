// The phase that each step of an application belongs to: reads and writes to the phase that they
// make, and the other calls on a file to that of the reads and writes that they prepare (open,
// seek, set a view) or end (sync, close). Calls on files and names without data belong to a
// metadata phase.
//
// A step is a call that a reader at the layer of MPI gives (tracefile::IoReader): of a thread the
// n-th, from 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/event/event.hpp"
#include "core/event/io_requests.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::phases {

// The file that the call is about, also where it failed; empty: there is none.
std::string_view pathOf(const event::Event& event);

class StepPhases {
 public:
  // The steps `first` to `last` of a thread of a process that do one of these operations on a file
  // are of the phase. Where steps of several phases lie between each other, those of the shorter
  // stretch are meant. `process`: by place in the trace; `thread`: of its log.
  void add(std::size_t process, std::uint32_t thread, std::string_view path,
           const std::vector<model::Operation>& operations, std::uint64_t first, std::uint64_t last,
           int phase);

  // The calls of a thread from step `first` to `last` that are of no data phase are of this
  // metadata phase. Such stretches of a thread do not overlap.
  void addMetadata(std::size_t process, std::uint32_t thread, std::uint64_t first,
                   std::uint64_t last, int phase);

  // The data phase; 0: none. The event is that of the step; one that waits for requests has no
  // file, and is not of a phase by itself.
  int phaseOf(std::size_t process, std::uint32_t thread, std::uint64_t step,
              const event::Event& event) const;
  // The metadata phase of a call on storage that is of no data phase; 0: none.
  int metadataPhaseOf(std::size_t process, std::uint32_t thread, std::uint64_t step) const;

 private:
  struct Stretch {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    int phase = 0;
  };
  // By first step; the wide ones, which others lie inside of, apart.
  struct Stretches {
    std::vector<Stretch> narrow;
    std::vector<Stretch> wide;
  };
  // The process, its thread, the file, and the operation; without one, all are meant: of calls that
  // move no data.
  using Key = std::tuple<std::size_t, std::uint32_t, std::size_t, std::optional<model::Operation>>;

  // Of metadata.
  static constexpr std::size_t kNoFile = ~std::size_t{0};

  static const Stretch* at(const std::vector<Stretch>& stretches, std::uint64_t step);
  // The shortest stretch that the step is in.
  static const Stretch* around(const Stretches& stretches, std::uint64_t step);
  void sort() const;

  std::unordered_map<std::string, std::size_t> files_;  // by path
  mutable std::map<Key, Stretches> stretches_;
  mutable bool is_sorted_ = true;
};

// The phases of the steps of one thread, which come in order: one that waits for requests is of the
// phase that these are of.
class PhasesOfThread {
 public:
  // `phases` outlives it.
  PhasesOfThread(const StepPhases& phases, std::size_t process, std::uint32_t thread)
      : phases_(phases), process_(process), thread_(thread) {}

  // The next step.
  int next(const event::Event& event) { return at(step_, event); }
  // That step; those before it that were left out are passed over.
  int at(std::uint64_t step, const event::Event& event);

 private:
  const StepPhases& phases_;
  const std::size_t process_;
  const std::uint32_t thread_;
  std::uint64_t step_ = 0;
  event::IoRequests requests_;
  std::unordered_map<std::uint64_t, int> phase_of_request_;
};

}  // namespace omnio::phases
