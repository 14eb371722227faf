// Puts a rank of a finished trace on a host of its own whose clock is wrong by a known amount. One
// machine has one clock, so a trace of two clocks whose offset is known is made this way: the
// counter that events are recorded in stays, and what the system's clocks showed beside it changes.
//
//   shift_clock TRACE RANK AHEAD_NS FAST_PPM [AFTER_NS STEP_NS]
//
// The clock is AHEAD_NS ahead when rank 0 begins, FAST_PPM too fast from
// then on, and jumps by STEP_NS after AFTER_NS. The time of day is wrong by as much. The last
// characters of the host's name and boot id become a letter for the rank, one that no boot id has.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/checksum.hpp"
#include "core/wire/container.hpp"
#include "core/wire/info.hpp"

namespace {

namespace fs = std::filesystem;
namespace wire = omnio::wire;

struct WrongClock {
  std::uint64_t origin_ns = 0;
  std::int64_t ahead_ns = 0;
  std::int64_t fast_ppm = 0;
  std::int64_t after_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t step_ns = 0;

  std::uint64_t errorAt(std::uint64_t monotonic_ns) const {
    constexpr std::int64_t kMillion = 1'000'000;
    const auto since = static_cast<std::int64_t>(monotonic_ns - origin_ns);
    const std::int64_t step = since >= after_ns ? step_ns : 0;
    return static_cast<std::uint64_t>(ahead_ns + since * fast_ppm / kMillion + step);
  }
};

struct Container {
  fs::path path;
  std::string bytes;
  std::vector<std::size_t> chunks;  // offsets

  template <typename T>
  T at(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
  template <typename T>
  void put(std::size_t offset, T value) {
    wire::stamp(value);
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }
};

[[noreturn]] void fail(const fs::path& path, const char* problem) {
  std::fprintf(stderr, "shift_clock: %s: %s\n", path.c_str(), problem);
  std::exit(1);
}

Container read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  Container container{
      .path = path, .bytes = {std::istreambuf_iterator<char>(in), {}}, .chunks = {}};
  const std::size_t size = container.bytes.size();
  if (size < wire::kContainerHeaderBytes ||
      container.at<wire::ContainerHeader>(0).version != wire::kFormatVersion) {
    fail(path, "not a container, or a packed one");
  }
  for (std::size_t at = wire::kContainerHeaderBytes; at + sizeof(wire::ChunkHeader) <= size;) {
    const auto header = container.at<wire::ChunkHeader>(at);
    if (header.magic != wire::kChunkMagic || !wire::isWhole(header)) {
      at += wire::kChunkAlignment;
      continue;
    }
    container.chunks.push_back(at);
    at += wire::aligned(sizeof header + header.payload_bytes);
  }
  return container;
}

// Calls `use` with key, value, and the offset of the value in the container.
template <typename Use>
void forFacts(const Container& container, std::size_t chunk, Use use) {
  const auto header = container.at<wire::ChunkHeader>(chunk);
  if (header.kind != wire::ChunkKind::kInfo) return;
  const std::size_t begin = chunk + sizeof header;
  const std::string_view payload(container.bytes.data() + begin, header.payload_bytes);
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t key_end = payload.find('\0', at);
    const std::size_t end = payload.find('\0', key_end + 1);
    if (key_end == std::string_view::npos || end == std::string_view::npos) return;
    use(payload.substr(at, key_end - at), payload.substr(key_end + 1, end - key_end - 1),
        begin + key_end + 1);
    at = end + 1;
  }
}

int rankOf(const Container& container) {
  int rank = -1;
  for (const std::size_t chunk : container.chunks) {
    forFacts(container, chunk, [&](std::string_view key, std::string_view value, std::size_t) {
      if (key == wire::info::kRank) rank = std::atoi(std::string(value).c_str());
    });
  }
  return rank;
}

void shift(Container& container, const WrongClock& clock, int rank) {
  const auto wrong = [&clock](wire::Anchor& anchor) {
    if (anchor.monotonic_ns == 0) return;
    const std::uint64_t error = clock.errorAt(anchor.monotonic_ns);
    anchor.monotonic_ns += error;
    anchor.realtime_ns += error;
  };
  auto header = container.at<wire::ContainerHeader>(0);
  // Ticks that are nanoseconds of the right clock are ticks of a counter from now on.
  header.clock = wire::ClockKind::kTsc;
  wrong(header.begin);
  container.put(0, header);
  auto account = container.at<wire::Account>(wire::kAccountOffset);
  if (wire::isWhole(account)) {
    wrong(account.end);
    container.put(wire::kAccountOffset, account);
  }
  for (const std::size_t at : container.chunks) {
    auto chunk = container.at<wire::ChunkHeader>(at);
    if (chunk.base_monotonic_ns != 0) {
      chunk.base_monotonic_ns += clock.errorAt(chunk.base_monotonic_ns);
    }
    std::vector<std::size_t> last_characters;
    forFacts(container, at, [&](std::string_view key, std::string_view value, std::size_t offset) {
      if ((key == wire::info::kHost || key == wire::info::kBoot) && !value.empty()) {
        last_characters.push_back(offset + value.size() - 1);
      }
    });
    for (const std::size_t character : last_characters) {
      container.bytes[character] = static_cast<char>('g' + rank % 10);
    }
    chunk.payload_check =
        wire::checksum(container.bytes.data() + at + sizeof chunk, chunk.payload_bytes);
    container.put(at, chunk);
  }
  std::ofstream out(container.path, std::ios::binary);
  out << container.bytes;
  out.close();
  if (!out) fail(container.path, "cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 7) {
    std::fprintf(stderr, "usage: %s TRACE RANK AHEAD_NS FAST_PPM [AFTER_NS STEP_NS]\n", argv[0]);
    return 2;
  }
  const int rank = std::atoi(argv[2]);
  WrongClock clock;
  clock.ahead_ns = std::atoll(argv[3]);
  clock.fast_ppm = std::atoll(argv[4]);
  if (argc == 7) {
    clock.after_ns = std::atoll(argv[5]);
    clock.step_ns = std::atoll(argv[6]);
  }
  std::vector<Container> containers;
  std::uint64_t origin = std::numeric_limits<std::uint64_t>::max();
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    if (entry.path().extension() != wire::kContainerSuffix) continue;
    containers.push_back(read(entry.path()));
    // A clock that is wrong already does not say when the run began.
    const auto begin = containers.back().at<wire::ContainerHeader>(0).begin;
    if (rankOf(containers.back()) == 0) origin = std::min(origin, begin.monotonic_ns);
  }
  clock.origin_ns = origin;
  int shifted = 0;
  for (Container& container : containers) {
    if (rankOf(container) != rank) continue;
    shift(container, clock, rank);
    ++shifted;
  }
  if (shifted == 0) fail(argv[1], "no container of this rank");
  return 0;
}
