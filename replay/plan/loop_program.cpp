#include "replay/plan/loop_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/integers.hpp"
#include "replay/issue/libc.hpp"
#include "replay/plan/bytes.hpp"
#include "replay/plan/packed.hpp"

namespace omnio::replay {

template <typename Io>
void parts(Io& io, PartsOf<LoopNode> auto& node) {
  io.items(node.turns, node.place, node.lists, node.gap_ns, node.body, node.words, node.pieces,
           node.text, node.terms, node.is_relative, node.takes_no_time, node.timed_waits,
           node.number, node.share, node.share_first);
}

template <typename Io>
void parts(Io& io, PartsOf<LoopProgram> auto& program) {
  io.items(program.loop, program.begin_ns, program.values, program.lines, program.has_times,
           program.first_time, program.chunks, program.keeps_work, program.network_scale);
}

namespace {

// Whether all that the node names is there.
bool isWhole(const LoopNode& node, std::size_t values, std::size_t lines) {
  for (const LoopTerm& term : node.terms) {
    if (term.word >= kWords + node.pieces.size() || term.value >= values) return false;
  }
  if (node.turns == 0) return node.body.empty() && node.number < lines;
  if (node.turns < 0 || node.place + std::size_t{1} + node.lists.size() > values) return false;
  for (const auto& list : node.lists) {
    if (list.size() != static_cast<std::uint64_t>(node.turns)) return false;
  }
  return std::ranges::all_of(node.body,
                             [=](const LoopNode& part) { return isWhole(part, values, lines); });
}

}  // namespace

std::string bytesOf(const LoopProgram& program) {
  ByteWriter out;
  out.items(program);
  return packed(out.bytes);
}

std::optional<LoopProgram> loopProgramOf(std::string_view bytes) {
  const auto whole = unpacked(bytes);
  if (!whole) return {};
  LoopProgram program;
  ByteReader in(*whole);
  in.items(program);
  if (!in.isDone() || program.loop.turns == 0 ||
      !isWhole(program.loop, program.values, program.lines))
    return {};
  return program;
}

LoopTimesReader::~LoopTimesReader() { close(); }

void LoopTimesReader::close() {
  if (fd_ >= 0) raw::closeFd(std::exchange(fd_, -1));
}

void LoopTimesReader::begin(const std::filesystem::path& path,
                            std::vector<model::TimesChunk> chunks, std::uint64_t first) {
  if (fd_ < 0) {
    path_ = path;
    fd_ = raw::openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) {
      failure_ = base::systemFailure(path, errno);
      return;
    }
  }
  chunks_ = std::move(chunks);
  next_ = 0;
  values_.clear();
  ahead_.clear();
  at_ = 0;
  if (chunks_.empty()) return;
  advance();
  at_ = std::min<std::size_t>(first - chunks_.front().first, values_.size());
}

void LoopTimesReader::load(std::vector<std::int64_t>& values) {
  values.clear();
  if (failure_ || next_ >= chunks_.size()) return;
  const model::TimesChunk& chunk = chunks_[next_++];
  std::string packed(chunk.bytes, '\0');
  const std::int64_t got = raw::readWholeAt(fd_, packed.data(), packed.size(), chunk.offset);
  if (got == static_cast<std::int64_t>(packed.size()) &&
      model::unpackTimes(chunk, packed, values)) {
    return;
  }
  values.clear();
  failure_ = base::fileFailure(path_, base::Code::kDamaged,
                               fmt::format("damaged at byte {}", chunk.offset));
}

void LoopTimesReader::fetchAhead() {
  if (ahead_.empty()) load(ahead_);
}

void LoopTimesReader::advance() {
  if (ahead_.empty()) load(ahead_);
  values_.swap(ahead_);
  ahead_.clear();
  at_ = 0;
}

LoopRunner::LoopRunner(LoopProgram program)
    : program_(std::move(program)), values_(program_.values, 0), passes_(program_.lines, 0) {
  enter(program_.loop);
}

void LoopRunner::enter(const LoopNode& loop) {
  // Where several loops begin at once, the outermost decides.
  if (!gap_ns_) gap_ns_ = loop.gap_ns;
  levels_.push_back({.loop = &loop});
  beginTurn(levels_.back());
}

void LoopRunner::beginTurn(const Level& level) {
  values_[level.loop->place] = level.turn;
  for (std::size_t i = 0; i < level.loop->lists.size(); ++i) {
    values_[level.loop->place + 1 + i] = level.loop->lists[i][static_cast<std::size_t>(level.turn)];
  }
}

bool LoopRunner::next(Instruction& instruction, std::int64_t& end_ns, LoopTimesReader& times) {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.at == level.loop->body.size()) {
      level.at = 0;
      // A loop without a body has no turns to make.
      if (level.loop->body.empty() || ++level.turn == level.loop->turns) {
        levels_.pop_back();
      } else {
        beginTurn(level);
      }
      continue;
    }
    const LoopNode& part = level.loop->body[level.at++];
    if (part.turns > 0) {
      enter(part);
      continue;
    }
    set(part, instruction);
    setTimes(part, instruction, end_ns, times);
    return true;
  }
  return false;
}

void LoopRunner::set(const LoopNode& line, Instruction& instruction) {
  Words words = line.words;
  if (!line.pieces.empty()) pieces_ = line.pieces;
  for (const LoopTerm& term : line.terms) {
    std::uint64_t& word = term.word < kWords ? words[term.word] : pieces_[term.word - kWords];
    word +=
        static_cast<std::uint64_t>(values_[term.value]) * static_cast<std::uint64_t>(term.factor);
  }
  setWords(instruction, words);
  instruction.pieces = pieces_.data();
  instruction.text = line.text;
  instruction.pass = passes_[line.number]++;
  instruction.waits = nullptr;
}

std::int64_t LoopRunner::communicationOf(std::int64_t recorded_ns) const {
  constexpr double kMostNs = 1e18;  // as Compiler::communicationOf()
  const double scaled = static_cast<double>(recorded_ns) * program_.network_scale;
  return std::llround(std::min(scaled, kMostNs));
}

void LoopRunner::setTimes(const LoopNode& line, Instruction& instruction, std::int64_t& end_ns,
                          LoopTimesReader& times) {
  Op& op = instruction.op;
  if (line.share && !program_.has_times &&
      !line.share->has(line.share_first + static_cast<std::uint64_t>(instruction.pass))) {
    op.own_ns = -1;
    op.communication_ns = 0;
  }
  if (line.is_relative) {
    std::int64_t gap = op.start_ns;
    std::int64_t duration = op.end_ns;
    if (const auto before_loop = std::exchange(gap_ns_, std::nullopt)) gap = *before_loop;
    if (program_.has_times) {
      gap = times.next();
      duration = times.next();
      const bool has_work = times.next() != 0;
      const std::int64_t compute_ns = times.next();
      const std::int64_t communication_ns = communicationOf(times.next());
      op.own_ns = has_work && program_.keeps_work ? compute_ns + communication_ns : -1;
      op.communication_ns = op.own_ns < 0 ? 0 : communication_ns;
      waits_.clear();
      for (const std::uint32_t count : line.timed_waits) {
        const std::size_t first = waits_.size();
        for (std::uint32_t i = 0; i < count; ++i) waits_.push_back({.compute_ns = times.next()});
        for (std::uint32_t i = 0; i < count; ++i) {
          waits_[first + i].communication_ns = communicationOf(times.next());
        }
      }
      instruction.waits = waits_.data();
    }
    op.start_ns = std::max<std::int64_t>(base::saturatingSum(end_ns, gap), 0);
    op.end_ns = base::saturatingSum(op.start_ns, std::max<std::int64_t>(duration, 0));
  } else {
    gap_ns_.reset();
  }
  end_ns = op.end_ns;
  if (line.takes_no_time) op.end_ns = op.start_ns;
}

}  // namespace omnio::replay
