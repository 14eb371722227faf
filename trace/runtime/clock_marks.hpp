// How the processes of a job that will compare their nodes' clocks find each other: by files in the
// trace directory. MPI cannot tell which ranks are traced, and a message or a collective call that
// a rank without a tracer does not expect would harm the application, or hold it for ever.
//
// A process leaves its mark before a call of MPI's that nobody leaves before all have come; those
// who look for it do so after the call. Where the directory is not shared, or shows other nodes'
// files late, nodes are missed and nothing else.
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
  // A mark with a line of text that tells how this process is reached.
  bool leave(const ClockLeader& own, const char* line);
  bool isLeft() const { return is_left_; }
  // The line in another's mark. False when it is not there, or longer than that.
  bool readLine(const ClockLeader& of, char* line, std::size_t bytes) const;

  // Rank 0: reads the others' marks; returns how many there are (`most` at most).
  std::size_t read(ClockLeader* into, std::size_t most) const;
  // Writes down who is meant to take part, below the own line.
  bool publish(const ClockLeader* leaders, std::size_t count) const;
  // The others: waits for that, not for ever. How many there are (`most` at most), 0: none came.
  std::size_t awaitList(ClockLeader* into, std::size_t most) const;

  // Takes the own mark away: afterwards nobody looks at it.
  void remove();

 private:
  // Name of a leader's mark in the directory.
  struct Name {
    explicit Name(const ClockLeader& leader);
    char text[48];
  };
  long openMark(const Name& name, int flags) const;

  bool is_left_ = false;
  ClockLeader own_;
  char directory_[4160] = {};
};

}  // namespace omnio::trace
