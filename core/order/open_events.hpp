// Events of which not all is known yet, with the operations that they are about. An event is handed
// to the sink when none of its operations is open any more.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/order/matched_event.hpp"
#include "core/order/receive_order.hpp"

namespace omnio::order {

// An operation while something needs it: an event that is held, a table, a request.
struct OpenOperation {
  MpiOperation facts;
  std::uint32_t index = 0;  // in OpenEvents
  std::uint32_t references = 0;
  std::uint8_t held_count = 0;
  std::array<std::uint32_t, 4> held{};  // events that wait for it
  // A receive has these until it is known which message it got.
  bool outstanding = false;
  ReceiveOrder::PostNumber post = 0;
  ReceiveOrder::Stream asked;
  // A message that a matched probe took has these: its transfer begins when it is fetched.
  bool to_be_fetched = false;
  MpiEventRef fetched;
  OpenOperation* next_probe = nullptr;  // of one message
  std::shared_ptr<MpiCollective> collective;
};

class OpenEvents {
 public:
  OpenEvents(MpiPictureSink& sink, WaitingRules rules);
  OpenEvents(const OpenEvents&) = delete;  // operations are pointed to
  OpenEvents& operator=(const OpenEvents&) = delete;

  // An event; its operations are added until close().
  void open(const MpiEventRef& ref, const event::Event& event);
  void add(OpenOperation* operation, Part part);
  void close();

  // A new operation, begun by the event that is being opened; nothing refers to it yet.
  OpenOperation* make(OperationKind kind);
  OpenOperation* at(std::uint32_t index) { return &operations_[index]; }
  static void keep(OpenOperation* operation) { ++operation->references; }
  void release(OpenOperation* operation);

  // It is settled; what is known of the counterpart has been put into its facts before. Of an
  // operation that was given up, a counterpart that comes after all still counts for others.
  void resolve(OpenOperation* operation, Match match);

  const MpiEventRef& current() const { return events_[current_].ref; }
  std::size_t openCount() const { return open_count_; }
  // Operations that something needs.
  std::size_t operationCount() const { return operations_.size() - free_operations_.size(); }
  // Operations of the event that has been open for longest, that are open; empty when none is.
  std::vector<OpenOperation*> oldest();
  const MpiCounts& counts() const { return counts_; }

 private:
  struct Held {
    MpiEventRef ref;
    std::uint64_t id = 0;
    std::vector<EventPart> parts;
    std::vector<OpenOperation*> operations;  // of the parts
    std::uint32_t open = 0;                  // of these; plus one until close()
  };
  void settle(std::uint32_t slot);
  void count(const Held& held, const MatchedEvent& event);

  MpiPictureSink& sink_;
  const WaitingRules rules_;
  std::deque<OpenOperation> operations_;
  std::vector<std::uint32_t> free_operations_;
  std::deque<Held> events_;
  std::vector<std::uint32_t> free_events_;
  std::uint32_t current_ = 0;
  std::uint64_t next_id_ = 0;
  std::size_t open_count_ = 0;
  struct Age {
    std::uint32_t slot;  // in events_
    std::uint64_t id;
  };
  std::deque<Age> ages_;  // of events that were not settled when they were closed
  MpiCounts counts_;
};

}  // namespace omnio::order
