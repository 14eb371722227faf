// A trace of very many ranks, for many_ranks.py: each writes to a file of its own and meets the
// others in a barrier, again and again. Rank 0 is a master that writes nothing.
//
//   many_ranks RANKS BARRIERS DIRECTORY      a new DIRECTORY
#include <fcntl.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/wire/info.hpp"
#include "tests/core/trace_builder.hpp"

namespace {

using namespace omnio;
using calls::Role;

constexpr std::uint64_t kRoundNs = 1'000'000;
constexpr std::int64_t kBytes = 4096;

// The rank's writes last differently long in each round, so each barrier waits for another rank.
test::ChunkBuilder chunkOf(int rank, int ranks, int barriers, std::uint64_t& events) {
  test::ChunkBuilder chunk(100 + static_cast<std::uint64_t>(rank), 0, 0, 0, 1000);
  const auto addEvent = [&](const char* call, const test::EventSpec& event) {
    chunk.event(test::numberOf(call), event);
    ++events;
  };
  const bool is_master = rank == 0;
  if (!is_master) {
    chunk.text(0, fmt::format("/run/rank.{}", rank));
    chunk.handle(
        {.handle = 1, .description = 1, .fd = 3, .open_flags = O_RDWR | O_CREAT, .text_slot = 0});
    test::EventSpec open{.start = 1000, .end = 1010};
    open.arguments = {1, O_RDWR | O_CREAT, 0644};
    open.result = wire::handleSlot(1) + 1;
    addEvent("open", open);
  }
  for (int round = 0; round < barriers; ++round) {
    const std::uint64_t at = 10'000 + kRoundNs * static_cast<std::uint64_t>(round);
    const std::uint64_t end = at + 100 * static_cast<std::uint64_t>((rank + round) % ranks);
    if (!is_master) {
      test::EventSpec write{.start = at, .end = end, .result = kBytes};
      write.request = static_cast<std::uint64_t>(kBytes);
      write.arguments = {wire::handleSlot(1), 0, kBytes, kBytes * round};
      addEvent("pwrite", write);
    }
    addEvent("MPI_Barrier", test::mpiEvent("MPI_Barrier", end + 10, at + kRoundNs / 2,
                                           {{Role::kComm, 1}, {Role::kSeq, round + 1}}));
  }
  return chunk;
}

}  // namespace

int main(int count, char** words) {
  const int ranks = count == 4 ? std::atoi(words[1]) : 0;
  const int barriers = count == 4 ? std::atoi(words[2]) : 0;
  if (ranks < 2 || barriers < 1) {
    std::fputs("usage: many_ranks RANKS BARRIERS DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path directory = words[3];
  std::filesystem::create_directory(directory);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto pid = 4711 + static_cast<std::uint32_t>(rank);
    test::ContainerBuilder container(100 + static_cast<std::uint64_t>(rank), pid);
    container.header.begin.ticks = container.header.begin.monotonic_ns = 500;
    auto facts = test::usualFacts(rank, ranks);
    facts[wire::info::kDirectory] = "/run";
    facts[wire::info::kGroupPrefix + std::string("1")] =
        fmt::format("a0 {} {} 0 0 comm", rank, ranks);
    container.facts(facts);
    std::uint64_t events = 0;
    container.chunk(chunkOf(rank, ranks, barriers, events));
    container.ended(events);
    container.save(directory / fmt::format("node1.{}.0.omnio", pid));
  }
}
