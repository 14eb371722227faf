// Makes operations, as predictors see them, of the events of one process: which file's slot, which
// context, and where in the file. Of a trace (OperationReader) and of a process that runs alike.
//
// Memory grows with the files that the process uses, and with its open descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "predict/operations/file_slots.hpp"
#include "predict/operations/operation.hpp"

namespace omnio::predict {

class OperationMaker {
 public:
  // `paths` outlives this object.
  explicit OperationMaker(const event::PathTable& paths) : slots_(paths) {}

  FileSlots& slots() { return slots_; }
  const FileSlots& slots() const { return slots_; }

  // The operation that an event is; nullptr where it is not one. `offsets` are those of the
  // process's rank, and take the event here: every event has to come by, in the order of time. What
  // is returned holds until the next call.
  const Operation* take(const tracefile::Process& process, const event::Event& event,
                        tracefile::PosixOffsets& offsets);

 private:
  void noteLength(const event::Event& event);

  FileSlots slots_;
  std::vector<bool> is_emptied_;  // by FileId: cut to nothing, and not used since
  Operation operation_;
};

}  // namespace omnio::predict
