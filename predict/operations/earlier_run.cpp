#include "predict/operations/earlier_run.hpp"

#include "core/event/event.hpp"
#include "predict/operations/operation_reader.hpp"

namespace omnio::predict {

EarlierRun::EarlierRun(const std::vector<const tracefile::Process*>& processes,
                       std::optional<unsigned> thread)
    : processes_(processes.size()) {
  event::PathTable paths;
  OperationReader reader(processes, thread, paths);
  reader.keepContexts(contexts_);
  while (const Operation* const operation = reader.next()) {
    ++operations_;
    Process& process = processes_[reader.processOf(reader.log())];
    const auto [place, is_new] = process.threads.try_emplace(reader.threadOf(reader.log()), 0);
    if (is_new) {
      place->second = process.models.add();
      process.models.of(place->second).beginRun();
    }
    process.models.take(place->second, *operation);
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    processes_[i].slots = reader.slotsOf(i).kept();
    processes_[i].models.beginRun();
  }
}

}  // namespace omnio::predict
