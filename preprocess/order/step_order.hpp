// Steps of a schedule that wait because ranks communicated, packed. A trace has one for each call
// behind a message or a meeting of ranks, so the memory of `omnio preprocess` grows with these.
// They take some ten bytes each, and as many for each step that is waited for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/model/schedule.hpp"
#include "preprocess/order/due_time.hpp"

namespace omnio::preprocess {

// A step that a step waits for, and the work between the two.
struct Predecessor {
  EventRef step;  // may be kBeginning or kMeeting
  Work work{};
  model::Reason reason = model::Reason::kMpi;
};

// The steps that have to come before a step, and its thread's own work.
struct StepOrder {
  std::uint64_t sequence = 0;  // of the event in its thread
  Work own;                    // since the step before it in its thread
  std::vector<Predecessor> after;
};

// A step that is not a call, in a thread that waits for many, so that others need to wait for it
// alone: a schedule grows with the number of ranks, not with its square.
struct Meeting {
  std::uint32_t thread = 0;
  std::int64_t behind = -1;  // the event of its thread that it follows; -1: before the first
  std::int64_t at_ns = 0;    // when it was over in the recording
  Work own;
  std::vector<Predecessor> after;
};

// Bytes that only grow, and stay where they are.
class ByteStore {
 public:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
    std::size_t used = 0;
  };

  // A place for up to `most` bytes, of which take() keeps those up to `end`.
  char* room(std::size_t most);
  void take(const char* end) {
    Block& last = blocks_.back();
    last.used = static_cast<std::size_t>(end - last.bytes.get());
  }
  const std::deque<Block>& blocks() const { return blocks_; }

 private:
  std::deque<Block> blocks_;
};

// The steps of one thread, by sequence.
class StepOrders {
 public:
  void add(const StepOrder& step);

  // From the first to the last.
  class Reader {
   public:
    explicit Reader(const StepOrders& orders) : orders_(&orders) {}
    // Good until the next call; nullptr at the end.
    const StepOrder* next();

   private:
    const StepOrders* orders_;
    std::size_t block_ = 0;
    std::size_t at_ = 0;
    StepOrder step_;
  };

 private:
  ByteStore bytes_;
  std::uint64_t last_ = 0;  // sequence
};

// All meetings, by number.
class Meetings {
 public:
  std::uint64_t count() const { return heads_.size(); }
  void add(const Meeting& meeting);
  Meeting at(std::uint64_t number) const;
  std::uint32_t threadOf(std::uint64_t number) const { return heads_[number].thread; }
  std::int64_t behindOf(std::uint64_t number) const { return heads_[number].behind; }

 private:
  struct Head {
    std::uint32_t thread = 0;
    std::int64_t behind = -1;
    const char* rest = nullptr;
  };
  std::vector<Head> heads_;
  ByteStore bytes_;
};

}  // namespace omnio::preprocess
