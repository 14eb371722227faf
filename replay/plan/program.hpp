// The engine's own form of a recorded thread: operations, of each only what differs from the one
// before it, in blocks that a thread reads ahead. Made from a schedule by compile.hpp, on the
// machine that replays it, and thrown away afterwards: it is not a format for others, and another
// version of this program does not read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/result.hpp"
#include "core/calls/table.hpp"
#include "core/model/schedule.hpp"

namespace omnio::replay {

// A descriptor's place in its rank's table; what no call works on is kNoSlot.
inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;
inline constexpr std::uint32_t kNoFile = 0xFFFFFFFF;

enum OpFlag : std::uint8_t {
  kOpFailed = 1,  // the recorded call failed
  kOpLines = 2,   // it writes to a file that is read by lines
};

// Fields that change together share a word of 8 bytes (Words).
struct Op {
  model::Step step = model::Step::kCall;  // never kPreopened
  std::uint8_t flags = 0;
  std::uint16_t row = 0;
  std::uint16_t piece_count = 0;
  std::uint16_t text_length = 0;
  // As recorded; 0 where the timing does not ask for them.
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  // Time in ns that the thread needs by itself since its operation before. Negative: not known; the
  // time between the two in the recording counts.
  std::int64_t own_ns = -1;
  std::int64_t communication_ns = 0;  // part of it
  std::int64_t result = 0;
  std::uint64_t request = 0;
  std::int64_t offset = -1;  // of kOpLines; -1: where the file ends by then
  std::uint32_t fd = kNoSlot;
  // kFdSource, or of a kFdNew what the wished number stood for: no call has both.
  std::uint32_t other = kNoSlot;
  std::uint32_t new_fd = kNoSlot;
  std::uint32_t file = kNoFile;
  std::uint32_t new_file = kNoFile;
  std::uint32_t directory = kNoSlot;
  std::uint32_t new_directory = kNoSlot;
  std::uint16_t lookups = model::kAllLookups;
  std::uint16_t new_lookups = model::kAllLookups;
  std::uint32_t wait = 0;   // 1 + index of the thread's waits; 0: none
  std::uint32_t named = 0;  // 1 + index of the thread's names; 0: no thread waits for it
  std::int64_t phase = 0;   // model::ScheduleEvent::phase
};
static_assert(sizeof(Op) == 112 && std::has_unique_object_representations_v<Op>);

// An operation with its parts, which live until the reader moves on.
struct Instruction {
  Op op;
  std::array<std::int64_t, calls::kMaxArguments> arguments{};
  const std::uint64_t* pieces = nullptr;
  std::string_view text;
};

// The operation and its arguments as words of 8 bytes. A record is a RecordHead, the words that are
// not those of the record before it (of Instruction{} at the begin of a block), the pieces (8 bytes
// each), and the text; rounded up to 8 bytes.
inline constexpr std::size_t kWords = sizeof(Op) / 8 + calls::kMaxArguments;
using Words = std::array<std::uint64_t, kWords>;
static_assert(offsetof(Instruction, arguments) == sizeof(Op) && kWords < 32);

struct RecordHead {
  std::uint32_t bytes = 0;    // of the whole record; 0: none, to the end of the block
  std::uint32_t changed = 0;  // a bit for each of the words
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
  base::Result<void> finish();

 private:
  void flush();

  std::filesystem::path path_;
  int fd_ = -1;
  int error_ = 0;
  std::uint64_t written_ = 0;
  std::string block_;
  Words before_{};
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
  bool hasFetched() const { return ahead_bytes_ > 0 || at_end_; }
  const std::optional<base::Failure>& failure() const { return failure_; }

 private:
  std::size_t fetch(std::vector<char>& block);
  const Instruction* damaged();

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
};

}  // namespace omnio::replay
