// Traces for preprocess_throughput.py, of ranks that order each other by MPI:
//
//   preprocess_traces regular|random|collector RANKS TURNS DIRECTORY      a new DIRECTORY
//
// In each turn of
// - regular, each rank writes nine blocks to a file of its own, one behind the other,
// - random, nine blocks of a file that all share, at offsets in no order,
// - collector, as in LAMMPS, rank 0 gets a message from each of the others, and writes it to a
// file, and all meet in a barrier.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/integers.hpp"
#include "core/wire/info.hpp"
#include "tests/core/trace_builder.hpp"

namespace {

using namespace omnio;
using calls::Role;

constexpr std::int64_t kBytes = 4096;
constexpr std::uint64_t kWrites = 9;
constexpr std::uint64_t kWriteNs = 1000;
constexpr std::uint64_t kChunkEvents = 4096;

struct Run {
  std::string_view kind;
  int ranks = 0;
  int turns = 0;
  std::uint64_t turnNs() const {
    return 10 * kWriteNs * (kWrites + static_cast<std::uint64_t>(ranks));
  }
};

class RankLog {
 public:
  RankLog(const Run& run, int rank)
      : run_(run),
        rank_(rank),
        token_(100 + static_cast<std::uint64_t>(rank)),
        pid_(4711 + static_cast<std::uint32_t>(rank)),
        container_(token_, pid_) {
    container_.header.begin.ticks = container_.header.begin.monotonic_ns = 500;
    auto facts = test::usualFacts(rank, run.ranks);
    facts[wire::info::kDirectory] = "/run";
    facts[wire::info::kGroupPrefix + std::string("1")] =
        fmt::format("a0 {} {} 0 0 comm", rank, run.ranks);
    container_.facts(facts);
  }

  void save(const std::filesystem::path& directory) {
    const bool has_file = run_.kind != "collector" || rank_ == 0;
    if (has_file) open(5000);
    for (int turn = 0; turn < run_.turns; ++turn) addTurn(static_cast<std::uint64_t>(turn));
    endChunk();
    container_.ended(events_);
    container_.save(directory / fmt::format("node1.{}.0.omnio", pid_));
  }

 private:
  void addTurn(std::uint64_t turn) {
    const auto own = static_cast<std::uint64_t>(rank_);
    const std::uint64_t begin = 10'000 + run_.turnNs() * turn;
    std::uint64_t at = begin;
    if (run_.kind == "collector") {
      for (int other = 1; rank_ == 0 && other < run_.ranks; ++other) {
        mpi("MPI_Recv", at, at + kWriteNs, Role::kGot, Role::kPeer, other, turn);
        write(at + kWriteNs, static_cast<std::int64_t>(writes_++));
        at += 3 * kWriteNs;
      }
      if (rank_ != 0) mpi("MPI_Send", at, at + 100, Role::kSize, Role::kPeer, 0, turn);
      at += kWriteNs;
    }
    for (std::uint64_t i = 0; run_.kind != "collector" && i < kWrites; ++i) {
      const std::uint64_t place =
          run_.kind == "random" ? base::mixed(writes_, own) % 1'000'000 : writes_;
      ++writes_;
      write(at, static_cast<std::int64_t>(place));
      at += 2 * kWriteNs + 10 * ((own + turn) % static_cast<std::uint64_t>(run_.ranks));
    }
    add("MPI_Barrier",
        test::mpiEvent("MPI_Barrier", at, begin + run_.turnNs() - kWriteNs,
                       {{Role::kComm, 1}, {Role::kSeq, static_cast<std::int64_t>(turn) + 1}}));
  }

  void mpi(const char* call, std::uint64_t start, std::uint64_t end, Role size, Role peer,
           int other, std::uint64_t turn) {
    add(call, test::mpiEvent(call, start, end,
                             {{Role::kComm, 1},
                              {peer, other},
                              {size, 64},
                              {Role::kSeq, static_cast<std::int64_t>(turn) + 1}}));
  }

  void open(std::uint64_t at) {
    test::EventSpec event{.start = at + static_cast<std::uint64_t>(rank_), .end = at + 500};
    event.arguments = {1, O_RDWR | O_CREAT, 0644};
    event.result = wire::handleSlot(1) + 1;
    add("open", event);
  }

  void write(std::uint64_t at, std::int64_t place) {
    test::EventSpec event{.start = at, .end = at + kWriteNs, .result = kBytes};
    event.request = static_cast<std::uint64_t>(kBytes);
    event.arguments = {wire::handleSlot(1), 0, kBytes, kBytes * place};
    add("pwrite", event);
  }

  void add(const char* call, const test::EventSpec& event) {
    if (!chunk_) beginChunk(event.start);
    chunk_->event(test::numberOf(call), event);
    ++events_;
    if (++in_chunk_ == kChunkEvents) endChunk();
  }

  void beginChunk(std::uint64_t at) {
    chunk_.emplace(token_, 0, sequence_++, events_, at);
    chunk_->text(0, run_.kind == "regular" ? fmt::format("/run/out.{}", rank_) : "/run/shared");
    chunk_->handle(
        {.handle = 1, .description = 1, .fd = 3, .open_flags = O_RDWR | O_CREAT, .text_slot = 0});
    in_chunk_ = 0;
  }

  void endChunk() {
    if (chunk_) container_.chunk(*chunk_);
    chunk_.reset();
  }

  const Run& run_;
  const int rank_;
  const std::uint64_t token_;
  const std::uint32_t pid_;
  test::ContainerBuilder container_;
  std::optional<test::ChunkBuilder> chunk_;
  std::uint32_t sequence_ = 0;
  std::uint64_t in_chunk_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t writes_ = 0;
};

}  // namespace

int main(int count, char** words) {
  Run run;
  if (count == 5) run = {words[1], std::atoi(words[2]), std::atoi(words[3])};
  const bool is_known = run.kind == "regular" || run.kind == "random" || run.kind == "collector";
  if (!is_known || run.ranks < 2 || run.turns < 1) {
    std::fputs("usage: preprocess_traces regular|random|collector RANKS TURNS DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path directory = words[4];
  std::filesystem::create_directory(directory);
  for (int rank = 0; rank < run.ranks; ++rank) RankLog(run, rank).save(directory);
}
