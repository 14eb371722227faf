#include "core/tracefile/merged_reader.hpp"

#include <algorithm>

namespace omnio::tracefile {

std::int64_t MergedReader::beginNs(const Process& process) {
  std::uint64_t first = UINT64_MAX;
  for (const Log& log : process.logs) {
    if (log.chunk_count > 0) {
      first = std::min(first, process.chunks[log.first_chunk].header.base_ticks);
    }
  }
  // A container that was made from rings alone says that the process began with the first chunk of
  // them: events in that chunk, and of chunks that are lost, are before that.
  if (process.begin.ticks >= first) return kAtOnce;
  return process.clock->segmentOf(process.begin.ticks).ns(process.begin.ticks);
}

void MergedReader::add(Open open, std::int64_t begin_ns) {
  heap_.emplace(begin_ns, readers_.size());
  readers_.push_back({.open = std::move(open), .events = nullptr});
}

bool MergedReader::pull(std::size_t number) {
  Reader& reader = readers_[number];
  if (reader.open) reader.events = std::exchange(reader.open, {})();
  reader.event = reader.events->next();
  if (reader.event != nullptr) return true;
  reader.is_at_end = true;
  missing_at_ends_ += reader.events->missingBefore();
  reader.undecodable = reader.events->undecodable();
  think_ += reader.events->thinkTime();
  reader.events.reset();
  return false;
}

const event::Event* MergedReader::next() {
  bool has_next = has_event_ && pull(current_);  // not before now, since the event was in use
  while (true) {
    // Most times the same log goes on.
    const bool goes_on = has_next && (heap_.empty() || Head{readers_[current_].event->start_ns,
                                                            current_} < heap_.top());
    if (goes_on) break;
    if (has_next) heap_.emplace(readers_[current_].event->start_ns, current_);
    if (heap_.empty()) {
      has_event_ = false;
      missing_before_ = std::exchange(missing_at_ends_, 0);
      return nullptr;
    }
    current_ = heap_.top().second;
    heap_.pop();
    has_next = readers_[current_].event != nullptr;
    if (has_next) break;
    has_next = pull(current_);
  }
  has_event_ = true;
  const Reader& reader = readers_[current_];
  missing_before_ = reader.events->missingBefore();
  return reader.event;
}

std::uint64_t MergedReader::undecodable() const {
  std::uint64_t sum = 0;
  for (std::size_t reader = 0; reader < readers_.size(); ++reader) sum += undecodableOf(reader);
  return sum;
}

std::uint64_t MergedReader::undecodableOf(std::size_t reader) const {
  const Reader& one = readers_[reader];
  return one.events ? one.events->undecodable() : one.undecodable;
}

event::ThinkTime MergedReader::thinkTime() const {
  event::ThinkTime sum = think_;
  for (const Reader& reader : readers_) {
    if (reader.events) sum += reader.events->thinkTime();
  }
  return sum;
}

}  // namespace omnio::tracefile
