// Finds how the file of each phase was opened. Flags, atomicity and hints decide how an MPI library
// carries out its calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/event/event.hpp"
#include "core/model/phase_model.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::phases {

class FileSettings {
 public:
  // Takes the events of each process in the order of time, ranks ascending. Phase 0 is none.
  void take(const tracefile::Process& process, const event::Event& event, int phase);

  // Flags and atomicity are those of the lowest rank; hints those of the rank that recorded them.
  model::OpenedFile of(int phase) const;

 private:
  using Handle = std::pair<const tracefile::Process*, std::uint32_t>;

  std::map<Handle, bool> atomic_;
  std::map<Handle, std::set<int>> seen_;  // phases in which the open handle moved data
  std::pair<Handle, int> last_{};         // of seen_; most events repeat it
  std::unordered_map<int, model::OpenedFile> phases_;
};

}  // namespace omnio::phases
