// The models of the threads of one process, which share one bound of memory.
//
// A model may take all that the others leave. Where all together would take more than the bound,
// these give way, in this order, until they do not:
//
// - A large model gives half of its own back: so a thread whose operations are regular keeps its
//   small model beside one that learns nothing.
// - The model of an idle thread is dropped: the one that was not used for longest.
// - The largest model gives half of its own back.
// - Where all are small, since there are very many threads, that of the thread that asked for more
//   is dropped.
//
// A model that was dropped begins anew with the next operation of its thread.
//
// The time of an operation grows with the number of threads only where the bound is reached. Not
// for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "predict/operations/operation_model.hpp"

namespace omnio::predict {

class ProcessModels {
 public:
  static constexpr std::size_t kMostBytes = OperationModel::kMostBytes;
  static constexpr std::size_t kLargeBytes = kMostBytes / 8;
  static constexpr std::size_t kSmallBytes = std::size_t{8} << 10;
  static constexpr std::uint64_t kMostThreads = std::uint64_t{1} << 16;  // that are read
  // A thread is idle while the others make so many operations each.
  static constexpr std::uint64_t kIdleTurns = 16;

  // The number of a new thread.
  std::size_t add();
  std::size_t threads() const { return threads_.size(); }

  // Its model, which is made where there is none. Holds until the next take().
  OperationModel& of(std::size_t thread);
  // nullptr where there is none.
  const OperationModel* find(std::size_t thread) const { return threads_[thread].model.get(); }
  // Has the thread's model take an operation, then keeps the bound.
  void take(std::size_t thread, const Operation& operation) {
    of(thread).take(operation);
    keepBound(thread);
  }
  // After the thread's model has taken an operation otherwise.
  void keepBound(std::size_t thread);

  // A run of the program begins, with the same threads as the last one. mostBytes() counts anew.
  void beginRun();
  // What is kept beyond the program, after beginRun(). Models that are read keep the bound.
  template <typename Archive>
  void serialize(Archive& archive) {
    std::uint64_t count = threads_.size();
    archive(count, count_);
    archive.require(count <= kMostThreads, "a process has too many threads");
    for (std::uint64_t i = 0; i < count && archive.isGood(); ++i) {
      if constexpr (Archive::kReads) threads_.emplace_back();
      archive(threads_[i]);
      if constexpr (Archive::kReads) {
        measure(threads_[i]);
        keepBoundOfAll();
      }
    }
  }

  std::size_t memoryBytes() const { return bytes_; }     // of all models
  std::size_t mostBytes() const { return most_bytes_; }  // after any operation
  // The grammar of a thread: as it is, or was when the model was dropped.
  struct Grammar {
    std::size_t symbols = 0;
    std::size_t rules = 0;
    std::uint64_t forgotten = 0;  // operations, while the thread went on
    std::uint64_t length = 0;

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(symbols, rules, forgotten, length);
    }
  };
  Grammar grammarOf(std::size_t thread) const;

 private:
  struct Thread {
    std::unique_ptr<OperationModel> model;
    std::size_t bytes = 0;
    std::uint64_t used = 0;
    std::uint64_t forgotten = 0;  // with models that were dropped before this one
    Grammar dropped;              // of the last model, where there is none

    template <typename Archive>
    void serialize(Archive& archive) {
      archive(model, used, forgotten, dropped);
    }
  };

  void measure(Thread& thread);
  void keepBoundOfAll();
  void giveBack(Thread& asking);
  void drop(Thread& thread);
  static Grammar grammarOf(const Thread& thread);

  std::vector<Thread> threads_;
  std::size_t bytes_ = 0;
  std::size_t most_bytes_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace omnio::predict
