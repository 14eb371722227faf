// A loop in the program of a thread (program.hpp): the operations of its lines once, and how their
// words change from turn to turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/compact/times_file.hpp"
#include "core/model/work_share.hpp"
#include "replay/plan/instruction.hpp"

namespace omnio::replay {

// A word grows by so much with each step of a value. Words are those of the operation and of its
// arguments (Words), and behind them the pieces.
struct LoopTerm {
  std::uint32_t word = 0;
  std::uint32_t value = 0;  // its place among the values of turns and lists
  std::int64_t factor = 0;
};

// A line, or a loop over some.
struct LoopNode {
  std::int64_t turns = 0;  // 0: a line

  // Members of a loop.
  std::uint32_t place = 0;                         // of its turn among the values
  std::vector<std::vector<std::int64_t>> lists{};  // their values have the places behind it
  // From the operation before to the first one of the loop, in place of that one's own.
  std::optional<std::int64_t> gap_ns{};
  std::vector<LoopNode> body{};

  // Members of a line, where all values are 0.
  Words words{};
  std::vector<std::uint64_t> pieces{};
  std::string text{};
  std::vector<LoopTerm> terms{};
  // The words of start and end are the time since the end of the operation before, and how long
  // it takes.
  bool is_relative = false;
  bool takes_no_time = false;  // it is left out: only the recorded time goes on
  // Its waits that have exact times, as many as each item of the schedule stands for.
  std::vector<std::uint32_t> timed_waits{};
  std::uint32_t number = 0;  // among the lines of the loop
  // Those of its passes that have the work; the number of the first one among all that count.
  std::optional<model::WorkShare> share{};
  std::uint64_t share_first = 0;
};

struct LoopProgram {
  LoopNode loop;
  std::int64_t begin_ns = 0;  // the recorded end of the thread's operation before
  std::uint32_t values = 0;   // how many places there are
  std::uint32_t lines = 0;
  // The times are those of a file, from the one of that number on.
  bool has_times = false;
  std::uint64_t first_time = 0;
  std::vector<model::TimesChunk> chunks{};  // that have them
  bool keeps_work = false;
  double network_scale = 1;
};

std::string bytesOf(const LoopProgram& program);
// Nothing where the bytes are damaged.
std::optional<LoopProgram> loopProgramOf(std::string_view bytes);

// Reads the times of a thread's loops, by system calls of its own.
class LoopTimesReader {
 public:
  LoopTimesReader() = default;
  LoopTimesReader(const LoopTimesReader&) = delete;
  LoopTimesReader& operator=(const LoopTimesReader&) = delete;
  ~LoopTimesReader();

  // Opens the file when it is called first.
  void begin(const std::filesystem::path& path, std::vector<model::TimesChunk> chunks,
             std::uint64_t first);
  std::int64_t next() {
    if (at_ == values_.size()) advance();
    return at_ < values_.size() ? values_[at_++] : 0;
  }
  // For moments in which there is nothing to do.
  void fetchAhead();
  void close();
  bool hasFetched() const { return !ahead_.empty() || next_ >= chunks_.size(); }
  const std::optional<base::Failure>& failure() const { return failure_; }

 private:
  void advance();
  void load(std::vector<std::int64_t>& values);

  std::filesystem::path path_;
  int fd_ = -1;
  std::vector<model::TimesChunk> chunks_;
  std::size_t next_ = 0;  // the chunk to load next
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> ahead_;
  std::size_t at_ = 0;
  std::optional<base::Failure> failure_;
};

// Goes through a loop, operation by operation.
class LoopRunner {
 public:
  explicit LoopRunner(LoopProgram program);
  LoopRunner(const LoopRunner&) = delete;
  LoopRunner& operator=(const LoopRunner&) = delete;

  // Sets the next operation; false behind the last one. `end_ns`: of the operation before, as
  // recorded. What the instruction refers to lives until the next call.
  bool next(Instruction& instruction, std::int64_t& end_ns, LoopTimesReader& times);
  const LoopProgram& program() const { return program_; }

 private:
  struct Level {
    const LoopNode* loop = nullptr;
    std::int64_t turn = 0;
    std::size_t at = 0;  // in the body
  };
  void enter(const LoopNode& loop);
  void beginTurn(const Level& level);
  void set(const LoopNode& line, Instruction& instruction);
  void setTimes(const LoopNode& line, Instruction& instruction, std::int64_t& end_ns,
                LoopTimesReader& times);
  std::int64_t communicationOf(std::int64_t recorded_ns) const;

  LoopProgram program_;
  std::vector<Level> levels_;  // the innermost is the last
  std::vector<std::int64_t> values_;
  std::vector<std::uint64_t> pieces_;
  std::vector<std::int64_t> passes_;  // by line
  std::vector<model::Work> waits_;
  std::optional<std::int64_t> gap_ns_;
};

}  // namespace omnio::replay
