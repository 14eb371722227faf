// Several logs as one stream of events, by the time they began.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/event/event.hpp"

namespace omnio::tracefile {

class MergedReader final : public event::EventSource {
 public:
  // Readers come in the order that decides between events of the same time.
  void add(std::unique_ptr<event::EventSource> reader);

  const event::Event* next() override;

  // As in LogReader, for the log of the event that next() returned last; after the end, the events
  // missing at the ends of all logs.
  std::uint64_t missingBefore() const override { return missing_before_; }

  // Which reader, in the order of add(), the last event came from.
  std::size_t source() const { return current_; }

  std::uint64_t undecodable() const override;

 private:
  struct Head {
    std::int64_t start_ns;
    std::size_t reader;
    // For a heap with the earliest on top.
    bool operator<(const Head& other) const {
      return start_ns != other.start_ns ? start_ns > other.start_ns : reader > other.reader;
    }
  };
  void pull(std::size_t reader);

  std::vector<std::unique_ptr<event::EventSource>> readers_;
  std::vector<const event::Event*> events_;
  std::vector<Head> heap_;
  std::size_t current_ = 0;
  bool started_ = false;
  std::uint64_t missing_at_ends_ = 0;
  std::uint64_t missing_before_ = 0;
};

}  // namespace omnio::tracefile
