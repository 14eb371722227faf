#include "core/tracefile/merged_reader.hpp"

#include <algorithm>
#include <utility>

namespace omnio::tracefile {

void MergedReader::add(std::unique_ptr<event::EventSource> reader) {
  readers_.push_back(std::move(reader));
  events_.push_back(nullptr);
}

void MergedReader::pull(std::size_t reader) {
  events_[reader] = readers_[reader]->next();
  if (events_[reader] == nullptr) {
    missing_at_ends_ += readers_[reader]->missingBefore();
    return;
  }
  heap_.push_back({events_[reader]->start_ns, reader});
  std::push_heap(heap_.begin(), heap_.end());
}

const event::Event* MergedReader::next() {
  if (!started_) {
    started_ = true;
    for (std::size_t i = 0; i < readers_.size(); ++i) pull(i);
  } else if (events_.size() > current_ && events_[current_] != nullptr) {
    pull(current_);  // not before now, since the event was in use
  }
  if (heap_.empty()) {
    missing_before_ = std::exchange(missing_at_ends_, 0);
    return nullptr;
  }
  std::pop_heap(heap_.begin(), heap_.end());
  current_ = heap_.back().reader;
  heap_.pop_back();
  missing_before_ = readers_[current_]->missingBefore();
  return events_[current_];
}

std::uint64_t MergedReader::undecodable() const {
  std::uint64_t sum = 0;
  for (const auto& reader : readers_) sum += reader->undecodable();
  return sum;
}

}  // namespace omnio::tracefile
