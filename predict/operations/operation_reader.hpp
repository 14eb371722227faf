// Reads the operations of a rank from a trace: the POSIX and stream calls that open, close, read or
// write regular files, those that MPI-IO made for the application too. Calls that failed are no
// operations, nor are seeks: they show in the offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "core/tracefile/process.hpp"
#include "predict/operations/file_slots.hpp"
#include "predict/operations/kept_contexts.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/operation_maker.hpp"

namespace omnio::predict {

class OperationReader {
 public:
  // The processes of one rank; they and `paths` outlive this object. With `thread`, that of each
  // process alone.
  OperationReader(const std::vector<const tracefile::Process*>& processes,
                  std::optional<unsigned> thread, event::PathTable& paths);

  // Goes on with the slots of an earlier run in that process, by its index. Before the first
  // operation.
  void goOnWith(std::size_t process, const FileSlots::Kept& earlier);
  // Keeps the contexts of all operations from now on; `contexts` outlives this object.
  void keepContexts(KeptContexts& contexts) { kept_ = &contexts; }

  // The next operation of any thread, by the time it began; nothing at the end.
  const Operation* next();
  // The log that it is from: one of a thread, numbered from 0.
  std::size_t log() const { return events_.source(); }
  bool isAtEnd(std::size_t log) const { return events_.isAtEnd(log); }
  std::size_t logs() const { return sources_.size(); }
  // The thread of a log, by its number in its process.
  std::uint32_t threadOf(std::size_t log) const { return sources_[log].thread; }
  // The process of a log, by its index among those that were given.
  std::size_t processOf(std::size_t log) const { return sources_[log].number; }
  // The files of that process.
  const FileSlots& slotsOf(std::size_t process) const { return makers_[process].slots(); }

  std::uint64_t undecodable() const { return events_.undecodable(); }

 private:
  struct Source {
    const tracefile::Process* process = nullptr;
    std::size_t number = 0;
    std::uint32_t thread = 0;
  };

  std::vector<Source> sources_;         // by log
  std::vector<OperationMaker> makers_;  // by process
  KeptContexts* kept_ = nullptr;
  std::uint64_t sessions_ = 0;
  tracefile::PosixOffsets offsets_;
  tracefile::MergedReader events_;
};

}  // namespace omnio::predict
