// A trace of very many ranks, for many_ranks.py: each writes to files of its own, one after the
// other, and meets the others in a barrier, again and again. Every two rounds there is another
// file, and a phase. Rank 0 is a master that writes nothing.
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
  const auto open = [&](int number, std::uint64_t at) {
    const auto handle = static_cast<std::uint32_t>(number);
    chunk.text(0, fmt::format("/run/step{}.{}", number, rank));
    chunk.handle({.handle = handle,
                  .description = handle,
                  .fd = 2 + number,
                  .open_flags = O_RDWR | O_CREAT,
                  .text_slot = 0});
    test::EventSpec event{.start = at, .end = at + 10};
    event.arguments = {1, O_RDWR | O_CREAT, 0644};
    event.result = wire::handleSlot(handle) + 1;
    addEvent("open", event);
  };
  for (int round = 0; round < barriers; ++round) {
    const std::uint64_t at = 10'000 + kRoundNs * static_cast<std::uint64_t>(round);
    const std::uint64_t end = at + 100 * static_cast<std::uint64_t>((rank + round) % ranks);
    if (!is_master) {
      const int file = 1 + round / 2;
      if (round % 2 == 0) open(file, at - 100);
      test::EventSpec write{.start = at, .end = end, .result = kBytes};
      write.request = static_cast<std::uint64_t>(kBytes);
      write.arguments = {wire::handleSlot(static_cast<std::uint32_t>(file)), 0, kBytes,
                         kBytes * (round % 2)};
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
