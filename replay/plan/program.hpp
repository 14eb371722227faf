// The engine's own form of a recorded thread: operations, of each only what differs from the one
// before it, in blocks that a thread reads ahead. Made from a schedule by compile.hpp, on the
// machine that replays it, and thrown away afterwards: it is not a format for others, and another
// version of this program does not read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/result.hpp"
#include "core/calls/table.hpp"
#include "replay/plan/instruction.hpp"
#include "replay/plan/loop_program.hpp"

namespace omnio::replay {

// The loops of a program, and the times of all loops, beside the program.
std::filesystem::path loopsName(const std::filesystem::path& program);
std::filesystem::path timesName(const std::filesystem::path& program);

// A record is a RecordHead, the words that are not those of the record before it (of Instruction{}
// at the begin of a block), the pieces (8 bytes each), and the text; rounded up to 8 bytes. That of
// a loop is a LoopRecord.
struct RecordHead {
  std::uint32_t bytes = 0;    // of the whole record; 0: none, to the end of the block
  std::uint32_t changed = 0;  // a bit for each of the words
};

// Loops are in a file of their own, since they may be larger than a block.
inline constexpr std::uint32_t kLoopRecord = 0x80000000;  // in place of `changed`
struct LoopRecord {
  RecordHead head{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::size_t kBlockBytes = 256 * 1024;

class ProgramWriter {
 public:
  explicit ProgramWriter(std::filesystem::path path);
  ProgramWriter(const ProgramWriter&) = delete;
  ProgramWriter& operator=(const ProgramWriter&) = delete;
  ~ProgramWriter();

  // `piece_count` and `text_length` of the operation are filled in here. At most model::kMostPieces
  // and model::kLongestHints.
  void add(Op op, const std::array<std::int64_t, calls::kMaxArguments>& arguments,
           const std::vector<std::uint64_t>& pieces, std::string_view text);
  void add(const LoopProgram& loop);
  base::Result<void> finish();

 private:
  void flush();

  std::filesystem::path path_;
  int fd_ = -1;
  int error_ = 0;
  std::uint64_t written_ = 0;
  std::string block_;
  Words before_{};
  int loops_fd_ = -1;
  std::uint64_t loops_written_ = 0;
};

// Reads by system calls of its own, which no preloaded tracer sees. Two blocks: while one is worked
// on, the next one can be fetched when there is time.
class ProgramReader {
 public:
  ProgramReader() = default;
  ProgramReader(const ProgramReader&) = delete;
  ProgramReader& operator=(const ProgramReader&) = delete;
  ~ProgramReader();

  base::Result<void> open(const std::filesystem::path& path);
  // The next operation, nullptr at the end or when the file cannot be read (then there is a
  // failure()).
  const Instruction* next();
  // Fetches the following block unless it is here. For moments in which there is nothing to do.
  void fetchAhead();
  // Closes what next() has opened: a thread may have a table of descriptors of its own.
  void close();
  bool hasFetched() const { return runner_ ? times_.hasFetched() : ahead_bytes_ > 0 || at_end_; }
  const std::optional<base::Failure>& failure() const { return failure_; }

 private:
  std::size_t fetch(std::vector<char>& block);
  const Instruction* damaged();
  const Instruction* nextOfLoop();
  bool beginLoop();

  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t offset_ = 0;
  std::vector<char> block_;
  std::vector<char> ahead_;
  std::size_t block_bytes_ = 0;
  std::size_t ahead_bytes_ = 0;
  std::size_t at_ = 0;
  bool at_end_ = false;
  Instruction instruction_;
  std::optional<base::Failure> failure_;
  std::int64_t end_ns_ = 0;  // of the operation before, as recorded
  std::unique_ptr<LoopRunner> runner_;
  Instruction of_loop_;
  LoopTimesReader times_;
  int loops_fd_ = -1;
};

}  // namespace omnio::replay
