// Makes the matched picture (core/order/matched_event.hpp) of events that come by the time they
// began.
//
// Memory is what is open: messages with one end, calls that not all members have come to, requests
// not found complete yet, and the events of these. It has bounds, past which the oldest is
// given up. That shows where it would have been needed: there the match is kGivenUp, and counted.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "core/order/match_tables.hpp"
#include "core/order/open_events.hpp"
#include "core/order/receive_order.hpp"
#include "core/wire/mpi_requests.hpp"

namespace omnio::order {

class MpiMatcher {
 public:
  struct Limits {
    std::size_t most_open = 1'000'000;      // events
    std::size_t most_requests = 2'000'000;  // not found complete yet
    std::size_t most_epochs = 1'000'000;    // that are not over
    std::size_t most_streams = 4'000'000;   // of messages that the tracer had no counter for
  };

  // `several_threads` by process: whether its events overlap each other.
  MpiMatcher(const mpi::MpiGroups& groups, std::vector<bool> several_threads, WaitingRules rules,
             MpiPictureSink& sink, Limits limits);

  // An event of depth 0, with what continues its list of requests in it
  // (core/order/matched_events.hpp).
  void push(const MpiEventRef& ref, const event::Event& event);
  // No more events of that process are to come.
  void end(mpi::ProcessIndex process);
  // No more events at all: settles what is open.
  void finish();

  const MpiCounts& counts() const { return events_.counts(); }
  // Tests of the bounds ask how much is held now, other than events.
  std::size_t operationsHeld() const { return events_.operationCount(); }
  std::size_t epochsHeld() const { return epochs_.size(); }

 private:
  static constexpr std::size_t kFirstSweep = 65'536;
  struct Process {
    ReceiveOrder receives;
    std::map<std::uint64_t, OpenOperation*> requests;
    std::uint64_t forgotten = 0;  // of the requests up to this some are
    bool finalized = false;       // so that no request is left (MPI-3.1, section 8.7)
    // Messages of streams that the tracer had no counter for, by what they are counted as.
    std::unordered_map<std::uint64_t, std::uint64_t> uncounted;
  };
  // A message that a call has received or probed, to be taken in at the call's end: calls of other
  // threads may lie within.
  struct Found {
    std::int64_t end_ns = 0;
    std::uint64_t order = 0;
    mpi::ProcessIndex process = 0;
    OpenOperation* operation = nullptr;  // none: the process ends
    ReceiveOrder::Stream stream{};
    std::uint64_t number = 0;

    bool operator<(const Found& other) const {  // for a queue with the earliest on top
      return end_ns != other.end_ns ? end_ns > other.end_ns : order > other.order;
    }
  };

  void decode(const event::Event& event);
  void sendOf(const event::Event& event, calls::Role peer, calls::Role tag, calls::Role seq,
              Part part);
  void receiveOf(const event::Event& event, calls::Role peer, calls::Role tag, calls::Role seq);
  void beginReceive(const event::Event& event);
  void probeOf(const event::Event& event);
  void startRequests(const event::Event& event);
  void completeRequests(const event::Event& event);
  void completeMatched(const event::Event& event);
  void collective(const event::Event& event);
  void epochs(const event::Event& event, OperationKind kind);
  void localRequest(const event::Event& event);

  OpenOperation* make(OperationKind kind, std::uint64_t group);
  // With the ends, tag and bytes of a message, as those arguments give them.
  OpenOperation* makeMessage(OperationKind kind, const event::Event& event, calls::Role peer,
                             calls::Role tag, calls::Role bytes);
  void addSend(OpenOperation* operation, Part part);
  void post(OpenOperation* operation);
  // `numbered`: the tracer's number of the message, 0 when it had none.
  void arrive(OpenOperation* operation, std::uint64_t numbered);
  void take(const Found& found);
  void handOn();
  void remember(OpenOperation* operation, std::uint64_t request);
  // Lets go of an operation whose request came to its end without a call that found it complete.
  void endUnseen(OpenOperation* operation);
  OpenOperation* recall(std::uint64_t request);
  void fetch(OpenOperation* operation);
  void forgetOldestRequest(Process& process);
  void forgetRequests();
  void dropReceive(OpenOperation* operation, Match match);
  std::uint64_t countOf(const MpiOperation& message, bool sends);
  void giveUpReceive(OpenOperation* operation, Match match);
  void takeIn(std::int64_t until_ns);
  void leave(mpi::ProcessIndex process);
  void keepBounds();
  void sweep();
  void giveUp(OpenOperation* operation, Match match);

  const mpi::MpiGroups& groups_;
  const std::vector<bool> several_threads_;
  const Limits limits_;
  OpenEvents events_;
  std::vector<bool> ended_;
  std::vector<std::int64_t> last_end_ns_;  // by process
  MpiMessageTable messages_;
  MpiCollectiveTable collectives_;
  MpiEpochTable epochs_;
  std::vector<Process> processes_;
  std::priority_queue<Found> found_;
  std::uint64_t found_so_far_ = 0;
  std::vector<ReceiveOrder::Final> final_;
  std::size_t next_sweep_ = kFirstSweep;  // so many open events
  std::size_t requests_ = 0;              // of all processes
  std::size_t streams_ = 0;               // uncounted ones of all processes
};

}  // namespace omnio::order
