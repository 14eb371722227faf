#include "predict/operations/process_models.hpp"

#include <algorithm>

namespace omnio::predict {

std::size_t ProcessModels::add() {
  threads_.emplace_back();
  return threads_.size() - 1;
}

OperationModel& ProcessModels::of(std::size_t thread) {
  Thread& one = threads_[thread];
  if (one.model == nullptr) {
    one.model = std::make_unique<OperationModel>();
    one.forgotten += one.dropped.length;
    one.dropped = {};
  }
  return *one.model;
}

void ProcessModels::keepBound(std::size_t thread) {
  threads_[thread].used = ++count_;
  measure(threads_[thread]);
  while (bytes_ > kMostBytes) giveBack(threads_[thread]);
  most_bytes_ = std::max(most_bytes_, bytes_);
}

void ProcessModels::beginRun() {
  for (Thread& thread : threads_) {
    if (thread.model != nullptr) thread.model->beginRun();
    measure(thread);
  }
  keepBoundOfAll();
}

void ProcessModels::keepBoundOfAll() {
  while (bytes_ > kMostBytes) {
    giveBack(*std::ranges::max_element(threads_, {}, &Thread::bytes));
  }
  most_bytes_ = bytes_;
}

void ProcessModels::measure(Thread& thread) {
  bytes_ -= thread.bytes;
  thread.bytes = thread.model == nullptr ? 0 : thread.model->memoryBytes();
  bytes_ += thread.bytes;
}

// The operation before has kept the bound, so without the model of the asking thread it is kept.
void ProcessModels::giveBack(Thread& asking) {
  Thread& largest = *std::ranges::max_element(threads_, {}, &Thread::bytes);
  Thread& unused = *std::ranges::min_element(threads_, {}, [](const Thread& thread) {
    return thread.model == nullptr ? UINT64_MAX : thread.used;
  });
  const bool is_idle = unused.used + kIdleTurns * threads_.size() < count_;
  if (largest.bytes <= kLargeBytes && is_idle) return drop(unused);
  if (largest.bytes <= kSmallBytes) return drop(asking);
  const std::size_t before = largest.bytes;
  largest.model->halve();
  measure(largest);
  if (largest.bytes >= before) drop(largest);
}

void ProcessModels::drop(Thread& thread) {
  thread.dropped = grammarOf(thread);
  thread.model.reset();
  measure(thread);
}

ProcessModels::Grammar ProcessModels::grammarOf(const Thread& thread) {
  Grammar found = thread.dropped;
  if (thread.model != nullptr) {
    const pattern::StarSequitur& grammar = thread.model->grammar();
    found = {.symbols = grammar.symbolCount(),
             .rules = grammar.ruleCount(),
             .forgotten = grammar.droppedLength(),
             .length = grammar.length()};
  }
  return found;
}

ProcessModels::Grammar ProcessModels::grammarOf(std::size_t thread) const {
  Grammar found = grammarOf(threads_[thread]);
  found.forgotten += threads_[thread].forgotten;
  return found;
}

}  // namespace omnio::predict
