// How the file of a phase was opened: flags, atomicity and hints, which choose what an MPI library
// makes of its calls.
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
  // An event of a process, in the order of time, and its phase; 0: none. Ranks come in their order.
  void take(const tracefile::Process& process, const event::Event& event, int phase);

  // Of the file as the first process of the phase had it; hints as the one that gave them.
  model::OpenedFile of(int phase) const;

 private:
  using Handle = std::pair<const tracefile::Process*, std::uint32_t>;

  std::map<Handle, bool> atomic_;
  std::set<std::pair<Handle, int>> seen_;  // of data in the phase
  std::unordered_map<int, model::OpenedFile> phases_;
};

}  // namespace omnio::phases
