#include "replay/plan/program.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/printable.hpp"
#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMaxRecord = sizeof(RecordHead) + sizeof(Words) +
                                   model::kMostPieces * sizeof(std::uint64_t) +
                                   model::kLongestHints + kAlignment;
static_assert(kMaxRecord < kBlockBytes);

// "omniorep" and the version: a file of another program, or of another version of this one, is not
// taken for operations.
constexpr std::array<char, kAlignment> kProgramMagic = {'o', 'm', 'n', 'i', 'o', 'r', 'p', '6'};

std::size_t roundedUp(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::filesystem::path loopsName(const std::filesystem::path& program) {
  return program.native() + ".loops";
}

std::filesystem::path timesName(const std::filesystem::path& program) {
  return program.parent_path() / "times";
}

ProgramWriter::ProgramWriter(std::filesystem::path path)
    : path_(std::move(path)), before_(wordsOf(Op{}, {})) {
  fd_ = raw::openAt(AT_FDCWD, path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd_ < 0) error_ = errno;
  block_.reserve(kBlockBytes);
  block_.append(kProgramMagic.data(), kProgramMagic.size());
}

ProgramWriter::~ProgramWriter() {
  if (fd_ >= 0) raw::closeFd(fd_);
  if (loops_fd_ >= 0) raw::closeFd(loops_fd_);
}

void ProgramWriter::flush() {
  if (error_ == 0 && !raw::writeWholeAt(fd_, block_.data(), block_.size(), written_)) {
    error_ = errno;
  }
  written_ += block_.size();
  block_.clear();
}

void ProgramWriter::add(Op op, const std::array<std::int64_t, calls::kMaxArguments>& arguments,
                        const std::vector<std::uint64_t>& pieces, std::string_view text) {
  op.piece_count = static_cast<std::uint16_t>(pieces.size());
  op.text_length = static_cast<std::uint16_t>(text.size());
  const Words words = wordsOf(op, arguments);
  const auto headBehind = [&](const Words& before) {
    RecordHead head;
    for (std::size_t i = 0; i < kWords; ++i) {
      if (words[i] != before[i]) head.changed |= 1U << i;
    }
    const auto changed = static_cast<std::size_t>(std::popcount(head.changed));
    head.bytes = static_cast<std::uint32_t>(
        roundedUp(sizeof head + (changed + pieces.size()) * sizeof(std::uint64_t) + text.size()));
    return head;
  };
  RecordHead head = headBehind(before_);
  // A record keeps within its block, so that blocks can be read without regard to each other.
  if (block_.size() + head.bytes > kBlockBytes) {
    block_.resize(kBlockBytes, '\0');
    flush();
    head = headBehind(wordsOf(Op{}, {}));
  }
  const std::size_t end = block_.size() + head.bytes;
  append(block_, head);
  for (std::size_t i = 0; i < kWords; ++i) {
    if ((head.changed >> i & 1U) != 0) append(block_, words[i]);
  }
  for (const std::uint64_t piece : pieces) append(block_, piece);
  block_ += text;
  block_.resize(end, '\0');
  before_ = words;
}

void ProgramWriter::add(const LoopProgram& loop) {
  const std::string bytes = bytesOf(loop);
  if (loops_fd_ < 0 && error_ == 0) {
    loops_fd_ = raw::openAt(AT_FDCWD, loopsName(path_).c_str(),
                            O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (loops_fd_ < 0) error_ = errno;
  }
  if (error_ == 0 && !raw::writeWholeAt(loops_fd_, bytes.data(), bytes.size(), loops_written_)) {
    error_ = errno;
  }
  if (block_.size() + sizeof(LoopRecord) > kBlockBytes) {
    block_.resize(kBlockBytes, '\0');
    flush();
    before_ = wordsOf(Op{}, {});
  }
  append(block_, LoopRecord{.head = {.bytes = sizeof(LoopRecord), .changed = kLoopRecord},
                            .offset = loops_written_,
                            .bytes = bytes.size()});
  loops_written_ += bytes.size();
}

base::Result<void> ProgramWriter::finish() {
  flush();
  if (loops_fd_ >= 0 && raw::closeFd(std::exchange(loops_fd_, -1)) != 0 && error_ == 0) {
    error_ = errno;
  }
  if (fd_ >= 0 && raw::closeFd(std::exchange(fd_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) return base::systemFailure(path_, error_);
  return {};
}

ProgramReader::~ProgramReader() {
  if (fd_ >= 0) raw::closeFd(fd_);
  close();
}

void ProgramReader::close() {
  if (loops_fd_ >= 0) raw::closeFd(std::exchange(loops_fd_, -1));
  times_.close();
}

base::Result<void> ProgramReader::open(const std::filesystem::path& path) {
  path_ = path;
  fd_ = raw::openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) return base::systemFailure(path, errno);
  block_bytes_ = fetch(block_);
  if (failure_) return *failure_;
  if (block_bytes_ < kProgramMagic.size() ||
      std::memcmp(block_.data(), kProgramMagic.data(), 8) != 0) {
    return base::failure(base::Code::kNotOurs, "{}: no program of this replayer",
                         base::printable(path.native()));
  }
  at_ = kProgramMagic.size();
  return {};
}

std::size_t ProgramReader::fetch(std::vector<char>& block) {
  struct stat facts {};
  if (block.empty()) {
    // A thread with few operations does not take two whole blocks: there may be thousands.
    std::size_t wanted = kBlockBytes;
    if (raw::systemCall(SYS_newfstatat, fd_, "", &facts, AT_EMPTY_PATH) == 0 &&
        static_cast<std::uint64_t>(facts.st_size) - offset_ < kBlockBytes) {
      wanted = static_cast<std::size_t>(facts.st_size) - offset_;
    }
    block.resize(wanted == 0 ? 1 : wanted);
  }
  const std::int64_t bytes = raw::readWholeAt(fd_, block.data(), block.size(), offset_);
  if (bytes < 0) {
    failure_ = base::systemFailure(path_, errno);
    return 0;
  }
  if (static_cast<std::size_t>(bytes) < kBlockBytes) at_end_ = true;
  offset_ += static_cast<std::uint64_t>(bytes);
  return static_cast<std::size_t>(bytes);
}

void ProgramReader::fetchAhead() {
  if (runner_) {
    if (runner_->program().has_times) times_.fetchAhead();
    return;
  }
  if (ahead_bytes_ == 0 && !at_end_) ahead_bytes_ = fetch(ahead_);
}

const Instruction* ProgramReader::damaged() {
  failure_ =
      base::failure(base::Code::kDamaged, "{}: damaged at byte {}", base::printable(path_.native()),
                    offset_ - ahead_bytes_ - block_bytes_ + at_);
  return nullptr;
}

const Instruction* ProgramReader::nextOfLoop() {
  if (!runner_->next(of_loop_, end_ns_, times_)) {
    runner_.reset();
    return nullptr;
  }
  if (times_.failure()) {
    failure_ = times_.failure();
    return nullptr;
  }
  return &of_loop_;
}

// At a LoopRecord.
bool ProgramReader::beginLoop() {
  LoopRecord record;
  if (sizeof record > block_bytes_ - at_) return false;
  std::memcpy(&record, block_.data() + at_, sizeof record);
  if (record.head.bytes != sizeof record) return false;
  if (loops_fd_ < 0) {
    loops_fd_ = raw::openAt(AT_FDCWD, loopsName(path_).c_str(), O_RDONLY | O_CLOEXEC);
  }
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
  if (loops_fd_ < 0 || record.bytes > kMostBytes) return false;
  std::string bytes(record.bytes, '\0');
  const std::int64_t got = raw::readWholeAt(loops_fd_, bytes.data(), bytes.size(), record.offset);
  if (got < 0 || static_cast<std::uint64_t>(got) != record.bytes) return false;
  auto program = loopProgramOf(bytes);
  if (!program) return false;
  if (program->has_times) {
    times_.begin(timesName(path_), std::move(program->chunks), program->first_time);
  }
  end_ns_ = program->begin_ns;
  runner_ = std::make_unique<LoopRunner>(std::move(*program));
  at_ += sizeof record;
  return true;
}

const Instruction* ProgramReader::next() {
  if (failure_) return nullptr;
  RecordHead head;
  for (;;) {
    if (runner_) {
      if (const Instruction* instruction = nextOfLoop()) return instruction;
      if (failure_) return nullptr;
      continue;
    }
    if (at_ + sizeof head <= block_bytes_) {
      std::memcpy(&head, block_.data() + at_, sizeof head);
      if (head.changed == kLoopRecord && head.bytes != 0) {
        if (!beginLoop()) return damaged();
        continue;
      }
      if (head.bytes != 0) break;
    }
    fetchAhead();
    if (failure_ || ahead_bytes_ == 0) return nullptr;
    std::swap(block_, ahead_);
    block_bytes_ = std::exchange(ahead_bytes_, 0);
    at_ = 0;
    instruction_ = Instruction{};
  }
  if (head.bytes > block_bytes_ - at_ || head.bytes < sizeof head || head.bytes % kAlignment != 0 ||
      head.changed >> kWords != 0) {
    return damaged();
  }
  const char* part = block_.data() + at_ + sizeof head;
  const char* const end = block_.data() + at_ + head.bytes;
  char* const words = reinterpret_cast<char*>(&instruction_);
  for (std::uint32_t rest = head.changed; rest != 0; rest &= rest - 1) {
    if (part == end) return damaged();
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    std::memcpy(words + i * sizeof(std::uint64_t), part, sizeof(std::uint64_t));
    part += sizeof(std::uint64_t);
  }
  const Op& op = instruction_.op;
  if (static_cast<std::size_t>(end - part) <
      op.piece_count * sizeof(std::uint64_t) + op.text_length) {
    return damaged();
  }
  // Blocks and records are aligned to 8 bytes.
  instruction_.pieces = reinterpret_cast<const std::uint64_t*>(part);
  instruction_.text = {part + op.piece_count * sizeof(std::uint64_t), op.text_length};
  at_ += head.bytes;
  end_ns_ = op.end_ns;
  return &instruction_;
}

}  // namespace omnio::replay
