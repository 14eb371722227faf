// Several logs as one stream of events, by the time they began. A log is open from when its process
// began until its last event, so that memory is for the processes that ran at one time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {

class MergedReader final : public event::EventSource {
 public:
  using Open = std::function<std::unique_ptr<event::EventSource>()>;

  // Readers come in the order that decides between events of the same time. A reader is opened at
  // the first next(), or, when that is later, at its begin: none of its events is before that.
  void add(Open open, std::int64_t begin_ns = kAtOnce);
  // A reader of one log (Reader is LogReader or IoReader). All but `more` outlives this object.
  template <typename Reader, typename... More>
  void addLog(const Process& process, const Log& log, event::PathTable& paths, More... more) {
    add([&process, &log, &paths,
         more...] { return std::make_unique<Reader>(process, log, paths, more...); },
        beginNs(process));
  }

  const event::Event* next() override;

  // As in LogReader, for the log of the event that next() returned last; after the end, the events
  // missing at the ends of all logs.
  std::uint64_t missingBefore() const override { return missing_before_; }

  // The reader, in the order of add(), that the last event came from.
  std::size_t source() const { return current_; }
  // Whether this reader has no more events, as far as next() has looked: it looks at a reader when
  // it opens it, and later behind each event of it.
  bool isAtEnd(std::size_t reader) const { return readers_[reader].is_at_end; }

  std::uint64_t undecodable() const override;
  std::uint64_t undecodableOf(std::size_t reader) const;
  event::ThinkTime thinkTime() const override;

  static constexpr std::int64_t kAtOnce = INT64_MIN;
  // When the process of the logs began; kAtOnce where it is not known.
  static std::int64_t beginNs(const Process& process);

 private:
  struct Reader {
    Open open;  // empty from when it was opened
    std::unique_ptr<event::EventSource> events;
    const event::Event* event = nullptr;  // the next one, once it is open
    bool is_at_end = false;
    std::uint64_t undecodable = 0;  // once it has been closed
  };
  using Head = std::pair<std::int64_t, std::size_t>;  // when a reader's event begins, which reader
  // Its next event; false at its end, where it is closed.
  bool pull(std::size_t number);

  std::vector<Reader> readers_;
  // A reader that is not open yet is there with its begin.
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heap_;
  std::size_t current_ = 0;
  bool has_event_ = false;  // next() gave one, of current_
  std::uint64_t missing_at_ends_ = 0;
  std::uint64_t missing_before_ = 0;
  // The sum of readers that have been closed.
  event::ThinkTime think_;
};

}  // namespace omnio::tracefile
