// Makes the matched picture (mpi_picture.hpp) of events that come by the time they began.
//
// Memory is what is open: messages with one end, calls that not all members have come to, requests
// that nobody has found complete, and the events of these. It has a bound, past which the oldest is
// given up, and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "core/mpi_collective_table.hpp"
#include "core/mpi_epoch_table.hpp"
#include "core/mpi_message_table.hpp"
#include "core/mpi_open_events.hpp"
#include "core/receive_order.hpp"
#include "core/wire/mpi_requests.hpp"

namespace omnio {

class MpiMatcher {
 public:
  struct Limits {
    std::size_t most_open = 1'000'000;  // events
  };

  // `several_threads` by process: whether its events overlap each other.
  MpiMatcher(const MpiGroups& groups, std::vector<bool> several_threads, WaitingRules rules,
             MpiPictureSink& sink, Limits limits);

  // An event of depth 0, with what continues its list of requests in it (mpi_log_source.hpp).
  void push(const MpiEventRef& ref, const Event& event);
  // No more events of that process are to come.
  void end(ProcessIndex process);
  // No more events at all: settles what is open.
  void finish();

  const MpiCounts& counts() const { return events_.counts(); }

 private:
  struct Process {
    ReceiveOrder receives;
    std::unordered_map<std::uint64_t, OpenOperation*> requests;
    // Messages of streams that the tracer had no counter for, by what they are counted as.
    std::unordered_map<std::uint64_t, std::uint64_t> uncounted;
  };
  // A message that a call has received or probed, to be taken in at the call's end: calls of other
  // threads may lie within.
  struct Arrived {
    std::int64_t end_ns = 0;
    std::uint64_t order = 0;
    ProcessIndex process = 0;
    OpenOperation* operation = nullptr;
    ReceiveOrder::Stream stream;
    std::uint64_t number = 0;

    bool operator<(const Arrived& other) const {  // for a queue with the earliest on top
      return end_ns != other.end_ns ? end_ns > other.end_ns : order > other.order;
    }
  };

  void decode(const Event& event);
  void sendOf(const Event& event, calls::Role peer, calls::Role tag, calls::Role seq, Part part);
  void receiveOf(const Event& event, calls::Role peer, calls::Role tag, calls::Role seq);
  void beginReceive(const Event& event);
  void probeOf(const Event& event);
  void startRequests(const Event& event);
  void completeRequests(const Event& event);
  void completeMatched(const Event& event);
  void collective(const Event& event);
  void epochs(const Event& event, OperationKind kind);
  void localRequest(const Event& event);

  OpenOperation* make(OperationKind kind, std::uint64_t group);
  void addSend(OpenOperation* operation, Part part);
  void post(OpenOperation* operation);
  // `numbered`: the tracer's number of the message, 0 when it had none.
  void arrive(OpenOperation* operation, std::uint64_t numbered);
  void take(const Arrived& arrived);
  void place();
  void remember(OpenOperation* operation, std::uint64_t request);
  OpenOperation* forget(std::uint64_t request);
  void dropReceive(OpenOperation* operation, Match match);
  std::uint64_t countOf(const MpiOperation& message, bool sends);
  void takeIn(std::int64_t until_ns);
  void leave(ProcessIndex process);
  void keepBounds();
  void sweep();
  void giveUp(OpenOperation* operation, Match match);

  const MpiGroups& groups_;
  const std::vector<bool> several_threads_;
  const Limits limits_;
  OpenEvents events_;
  std::vector<bool> ended_;
  std::vector<std::int64_t> last_end_ns_;  // by process
  MpiMessageTable messages_;
  MpiCollectiveTable collectives_;
  MpiEpochTable epochs_;
  std::vector<Process> processes_;
  std::priority_queue<Arrived> arriving_;
  std::uint64_t arrivals_ = 0;
  std::vector<ReceiveOrder::Final> final_;
  std::size_t next_sweep_;
};

}  // namespace omnio
