// The operations of one process go in as they come, and what its threads will do next comes out:
// the likeliest operations, with their files and the time until each. Used on finished traces,
// beside running programs, and by omnio_predict.h.
//
// Operations of a thread come in order, those of all threads by the time they began. A thread that
// begins goes on with the model of one that has ended, since some programs make threads anew in
// each turn.
//
// Memory: that of ProcessModels, and some bytes for each thread and slot. Not for several threads
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/event/event.hpp"
#include "predict/operations/operation.hpp"
#include "predict/operations/process_models.hpp"

namespace omnio::predict {

class ProcessPredictor {
 public:
  struct Coming {
    Kind kind = Kind::kOpen;
    Slot slot = 0;
    event::FileId file = event::kNoFile;  // that has the slot, or had it last
    // An open comes before it, or is it, and the slot has had several files: it may be of another
    // file of this family.
    bool may_be_another = false;
    std::int64_t offset = 0;  // of a transfer
    std::int64_t bytes = 0;
    double weight = 1;  // of all operations that may come next, the part that begins this path
    // From the end of the thread's last operation to the begin of this one, ns. Nothing where a
    // step on the way is new.
    std::optional<double> until_ns = {};
  };

  // Goes on with models of an earlier run, and their numbers by that of the thread. Before the
  // first operation.
  void goOnWith(ProcessModels models, std::map<std::uint32_t, std::size_t> threads);

  void take(std::uint32_t thread, const Operation& operation);
  // The thread's model, by its number in models(): that of its like in an earlier run, or else of a
  // thread that has ended, or else a new one.
  std::size_t modelOf(std::uint32_t thread);
  // The thread has ended.
  void end(std::uint32_t thread);

  // The operations that a thread will do, in order: at most so many. Fewer, or none, where nothing
  // is expected: before its first operation, where its model was dropped for want of memory, and
  // from an operation on that was forgotten or would be at a negative offset.
  std::vector<Coming> next(std::uint32_t thread, std::size_t count) const;

  // At the end: the models as a next run goes on with them.
  ProcessModels finish();

  ProcessModels& models() { return models_; }
  const ProcessModels& models() const { return models_; }
  // Numbers of models, each by the thread that had it first: as a next run goes on with them.
  const std::map<std::uint32_t, std::size_t>& known() const { return known_; }

 private:
  struct File {
    event::FileId file = event::kNoFile;
    bool has_changed = false;  // the slot had another one before
  };

  ProcessModels models_;
  std::map<std::uint32_t, std::size_t> threads_;  // that have not ended
  std::map<std::uint32_t, std::size_t> known_;
  std::deque<std::size_t> idle_;  // models of threads that have ended
  std::unordered_map<Slot, File> files_;
};

}  // namespace omnio::predict
