#include "predict/operations/operation_reader.hpp"

#include "core/tracefile/log_reader.hpp"

namespace omnio::predict {

OperationReader::OperationReader(const std::vector<const tracefile::Process*>& processes,
                                 std::optional<unsigned> thread, event::PathTable& paths)
    : offsets_(processes, paths, sessions_) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    makers_.emplace_back(paths);
    for (const tracefile::Log& log : processes[i]->logs) {
      if (thread && log.thread != *thread) continue;
      sources_.push_back({.process = processes[i], .number = i, .thread = log.thread});
      events_.addLog<tracefile::IoReader>(*processes[i], log, paths,
                                          tracefile::IoChoice{.stacks = tracefile::Stacks::kRead});
    }
  }
}

void OperationReader::goOnWith(std::size_t process, const FileSlots::Kept& earlier) {
  makers_[process].slots().goOnWith(earlier);
}

const Operation* OperationReader::next() {
  while (const event::Event* const event = events_.next()) {
    const Source& source = sources_[events_.source()];
    const Operation* const operation =
        makers_[source.number].take(*source.process, *event, offsets_);
    if (operation == nullptr) continue;
    if (kept_ != nullptr) kept_->take(operation->context, event->stack);
    return operation;
  }
  return nullptr;
}

}  // namespace omnio::predict
