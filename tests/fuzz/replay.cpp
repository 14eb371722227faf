// Gives the fuzz target a corpus of its own making and a number of variations of it: what runs
// where the compiler has no fuzzer. `container_fuzz_replay [FILE]...` replays files instead.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/wire/ring.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace omnio;

constexpr std::uint64_t kToken = 0x0101010101010101;
constexpr int kVariations = 1500;

std::vector<std::string> seeds() {
  test::ChunkBuilder writes(kToken, 0, 0, 0);
  for (std::uint64_t i = 0; i < 4; ++i) writes.write(2000 + 10 * i, 2005 + 10 * i, 4096);
  test::ChunkBuilder calls(kToken, 1, 0, 0);
  calls.text(0, "/dir/name", 5).handle({.handle = 1, .fd = 3});
  for (const omnio::calls::Row& row : omnio::calls::kTable) {
    if (row.number == 0) continue;
    test::EventSpec event{.start = 3000, .end = 3001};
    for (std::size_t i = 0; i < row.argument_count; ++i) event.arguments[i] = 1;
    const int iov = omnio::calls::indexOf(row, omnio::calls::Role::kIov);
    if (iov >= 0) event.pieces = {8};
    event.result = 2;
    calls.event(row.number, event);
  }
  const std::string container =
      test::infoChunk(kToken, test::usualFacts()) + writes.bytes() + calls.bytes();
  const std::string closed = writes.bytes();
  const wire::Progress progress{.chunk = static_cast<std::uint32_t>(closed.size()),
                                .bytes = static_cast<std::uint32_t>(calls.payload().size()),
                                .events = calls.header.event_count};
  const std::uint64_t word = progress.pack();
  return {container,
          std::string(reinterpret_cast<const char*>(&word), sizeof word) + closed + calls.bytes()};
}

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string varied(std::string bytes, std::mt19937_64& random) {
  const auto below = [&random](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t changes = 1 + below(8); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, 1 + below(64));
        break;
      case 3:
        bytes.insert(at, std::string(1 + below(64), static_cast<char>(random())));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) run(test::readAll(argv[i]));
  if (argc > 1) return 0;
  std::mt19937_64 random(20240229);
  int runs = 0;
  for (const std::string& seed : seeds()) {
    run(seed);
    for (int i = 0; i < kVariations; ++i, ++runs) run(varied(seed, random));
  }
  std::printf("%d variations read\n", runs);
  return 0;
}
