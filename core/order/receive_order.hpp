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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>
#include <vector>

namespace omnio::order {

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
  // A receive or probe whose message is known, or never will be.
  struct Final {
    std::uint32_t operation = 0;
    std::uint64_t seq = 0;  // 0: the message cannot be told
  };
  // Number of a receive or probe among those of the process, from 1; 0: none.
  using PostNumber = std::uint64_t;

  PostNumber post(const Stream& asked);
  // A receive got the message of that number. What has become final is added to `out`.
  void complete(std::uint32_t operation, PostNumber posted, const Stream& asked,
                const Stream& stream, std::uint64_t number, std::vector<Final>& out);
  // A probe found the message behind the `number` - 1 that were received.
  PostNumber probe(std::uint32_t operation, const Stream& stream, std::uint64_t number,
                   std::vector<Final>& out);
  // The receive will take no message.
  void drop(PostNumber posted, const Stream& asked, std::vector<Final>& out);
  // Lets go of one that waits, if it does: then it is final without a number. Those posted before
  // it have to have been given up before. Numbers of others stay right.
  void giveUp(PostNumber posted, const Stream& stream, std::vector<Final>& out);
  // The receive may complete, but no call will say which it was. Memory does not grow with how many
  // such there are.
  void forget(PostNumber posted, const Stream& asked);
  // Nothing more is to come. What is outstanding has been found complete, and counted, where no
  // call looked; unless the process was `cut_off`: then an earlier receive of the very stream has
  // got its message uncounted, since a later one has, and of one from anyone nothing is known.
  void finish(bool cut_off, std::vector<Final>& out);

  bool isIdle() const { return outstanding_.empty() && waiting_.empty(); }
  // Entries that were looked at one by one so far, to see what has become final; what else is done
  // takes the logarithm of what is outstanding and waiting.
  std::uint64_t looks() const { return looks_; }

 private:
  struct Hash {
    std::size_t operator()(const Stream& stream) const;
  };
  struct Waiting {
    std::uint32_t operation;
    bool probe;
    std::uint64_t number;  // of a probe, less the receives that were in the queue before it
  };
  struct Queue {
    std::map<PostNumber, Waiting> by_post;
    // The numbers of the receives in by_post: the first receive gets the lowest number.
    std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> numbers;
    std::uint64_t left = 0;  // receives that are no longer in by_post
    PostNumber first = 0;    // as it stands in first_waiting_

    std::uint64_t takeNumber();  // of the receive that leaves
    // By a probe that comes first: all receives before it have left.
    std::uint64_t foundBy(const Waiting& probe) const { return probe.number + left; }
  };
  using Queues = std::unordered_map<Stream, Queue, Hash>;

  PostNumber remove(PostNumber posted, const Stream& asked);
  PostNumber firstOutstanding(const Stream& asked) const;
  PostNumber firstFromAnyone(const Stream& stream) const;
  PostNumber firstThatCouldBeOf(const Stream& stream) const;
  void settle(Queues::iterator found, std::vector<Final>& out);
  void settleBehind(PostNumber posted, PostNumber next, std::vector<Final>& out);
  void note(Queues::iterator found);
  std::uint64_t seqOf(PostNumber posted, std::uint64_t number) const;

  PostNumber last_ = 0;
  PostNumber lost_until_ = 0;  // by giveUp()
  bool has_forgotten_ = false;
  std::uint64_t looks_ = 0;
  std::size_t wild_ = 0;                                                // of those outstanding
  std::unordered_map<Stream, std::set<PostNumber>, Hash> outstanding_;  // by what was asked for
  Queues waiting_;
  std::map<PostNumber, Stream> first_waiting_;  // of each queue
};

}  // namespace omnio::order
