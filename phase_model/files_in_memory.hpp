// Which files of a trace were in the memory of nodes (core/event/memory_files.hpp): a phase model
// has no I/O of theirs. A replay has those of its application in directories of its own; its other
// files are on the storage that it was given, which may be a tmpfs that is tried as such.
#pragma once

#include <string>
#include <string_view>

#include "core/event/event.hpp"
#include "core/event/memory_files.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"

namespace omnio::phases {

class FilesInMemory {
 public:
  explicit FilesInMemory(const tracefile::Trace& trace) {
    if (trace.processes().empty()) return;
    const tracefile::ProcessInfo& first = trace.processes().front()->info;
    run_directory_ = first.text(wire::info::kDirectory);
    const std::string_view program = first.text(wire::info::kProgram);
    is_replay_ = program.substr(program.rfind('/') + 1) == "omnio-replay";
  }

  // By its absolute path.
  bool holds(std::string_view path) const {
    if (is_replay_) return path.starts_with(event::kReplayMemoryPrefix);
    return event::isInMemory(path, run_directory_);
  }
  // Whether the event is about one.
  bool holds(const event::Event& event) const {
    if (event.handle != nullptr) return holds(event.handle->path.absolute);
    const int path = calls::indexOf(*event.row, calls::Role::kPath);
    return path >= 0 && holds(event.texts[static_cast<std::size_t>(path)].absolute);
  }

 private:
  std::string run_directory_;
  bool is_replay_ = false;
};

}  // namespace omnio::phases
