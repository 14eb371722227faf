// How the processes of a job that will compare their nodes' clocks find each other: by files in the
// trace directory. MPI cannot tell which ranks are traced, and a message or a collective call that
// a rank without a tracer does not expect would harm the application, or hold it for ever.
//
// The first process of each node leaves a mark before MPI_Init, which nobody leaves before all have
// come; after it rank 0 reads the marks and writes down whom it means to hear from. Where the
// directory is not shared, or shows other nodes' files late, nodes are missed and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnio::trace {

// The first traced process of a node.
struct ClockLeader {
  std::int32_t rank = 0;
  std::uint64_t domain = 0;  // the same number is the same clock
};

class ClockMarks {
 public:
  // Nothing happens in a job of one node, or where the launcher does not tell who is first on it.
  void leave();
  bool isLeft() const { return is_left_; }
  // Of this process.
  const ClockLeader& own() const { return own_; }

  // Rank 0: reads the others' marks; returns how many there are (`most` at most).
  std::size_t read(ClockLeader* into, std::size_t most) const;
  bool publish(const ClockLeader* leaders, std::size_t count) const;
  // The others: whether rank 0 means this one; waits for its answer, not for ever.
  bool isMeant() const;

  // Takes the mark away: afterwards nobody looks at it.
  void remove();

 private:
  long openOwn(const char* name, int flags) const;

  bool is_left_ = false;
  ClockLeader own_;
  char directory_[4160] = {};
  char name_[48] = {};
};

}  // namespace omnio::trace
