// Reissues calls of MPI-IO; what it is made of knows MPI, and lives where MPI does (replay/run).
#pragma once

namespace omnio::replay {

struct Instruction;
struct IssueContext;
struct Outcome;

class MpiCalls {
 public:
  MpiCalls() = default;
  MpiCalls(const MpiCalls&) = delete;
  MpiCalls& operator=(const MpiCalls&) = delete;
  virtual ~MpiCalls() = default;

  // By any thread. `result` is the bytes that were moved, of a call that moves some; where it
  // failed, the library's error class.
  virtual Outcome issue(const Instruction& instruction, IssueContext& context) = 0;
};

}  // namespace omnio::replay
