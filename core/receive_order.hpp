// The receives of one process in the order in which they were posted.
//
// The tracer numbers the messages of a stream (communicator, sender, tag) as their receives
// complete, which any thread may find in any order; MPI hands messages of a stream to receives in
// the order in which those were posted (MPI-3.1, section 3.5). So of the receives of a stream the
// numbers go in ascending order to the receives by post order. Which stream a receive with
// MPI_ANY_SOURCE or MPI_ANY_TAG is of shows when it completes: a receive's number is final when no
// earlier one that could be of its stream is outstanding.
//
// Memory is what is outstanding and what waits for that.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace omnio {

class ReceiveOrder {
 public:
  // The messages of a communicator from a source with a tag; of a receive as it was asked for with
  // negative numbers for any.
  struct Stream {
    std::uint32_t group = 0;
    std::int32_t source = 0;
    std::int32_t tag = 0;
    bool operator==(const Stream&) const = default;
  };
  // A receive or probe whose message is known.
  struct Final {
    std::uint32_t operation = 0;
    std::uint64_t seq = 0;
  };
  // Place among the receives of the process; 0: none.
  using Place = std::uint64_t;

  Place post(const Stream& asked);
  // A receive got the message of that number. What has become final is added to `out`.
  void complete(std::uint32_t operation, Place place, const Stream& asked, const Stream& stream,
                std::uint64_t number, std::vector<Final>& out);
  // A probe found the message behind the `number` - 1 that were received.
  void probe(std::uint32_t operation, const Stream& stream, std::uint64_t number,
             std::vector<Final>& out);
  // The receive will take no message.
  void drop(Place place, const Stream& asked, std::vector<Final>& out);
  // Nothing more is to come: the rest is final as it stands.
  void finish(std::vector<Final>& out);

  bool isIdle() const { return outstanding_.empty() && waiting_.empty(); }

 private:
  struct Hash {
    std::size_t operator()(const Stream& stream) const;
  };
  struct Waiting {
    Place place;
    std::uint32_t operation;
    bool probe;
    std::uint64_t number;  // of a probe
  };
  struct Queue {
    std::vector<Waiting> by_place;
    std::vector<std::uint64_t> numbers;  // ascending
  };
  void remove(Place place, const Stream& asked);
  Place firstOutstanding(const Stream& stream) const;
  void settle(Queue& queue, Place before, std::vector<Final>& out);
  void settleAfter(const Stream& asked, std::vector<Final>& out);

  Place last_ = 0;
  std::size_t wild_ = 0;                                              // of those outstanding
  std::unordered_map<Stream, std::vector<Place>, Hash> outstanding_;  // ascending
  std::unordered_map<Stream, Queue, Hash> waiting_;
};

}  // namespace omnio
