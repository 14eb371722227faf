// Whatever a ring holds that a dead process left: what readers find in it, collecting brings into
// the container, once. The input is the progress word, whether there is a container, and the data
// area.
#include <cstddef>
#include <cstring>

#include "core/tracefile/collect.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/wire/ring.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/read_trace.hpp"
#include "tests/fuzz/repaired.hpp"
#include "tests/fuzz/trace_seeds.hpp"

namespace omnio::fuzz {
namespace {

constexpr std::size_t kPrefix = sizeof(std::uint64_t) + 1;

std::string seedOf(const test::ChunkBuilder& open, const std::string& closed, bool with_container) {
  const wire::Progress progress{.chunk = static_cast<std::uint32_t>(closed.size()),
                                .bytes = static_cast<std::uint32_t>(open.payload().size()),
                                .events = open.header.event_count};
  const std::uint64_t word = progress.pack();
  return std::string(reinterpret_cast<const char*>(&word), sizeof word) +
         static_cast<char>(with_container) + closed + open.bytes();
}

void saveRing(const std::filesystem::path& path, const std::filesystem::path& trace,
              std::uint64_t progress, const std::string& area) {
  test::saveRing(path, {.token = kToken, .pid = test::kDeadPid, .trace_directory = trace});
  std::string ring = test::readAll(path);
  std::memcpy(ring.data() + offsetof(wire::RingHeader, progress), &progress, sizeof progress);
  ring.replace(wire::kRingHeaderBytes, std::min(area.size(), wire::kRingDataBytes), area, 0,
               wire::kRingDataBytes);
  test::writeAll(path, ring);
}

}  // namespace

const int kVariations = 80;

std::vector<std::string> seeds() {
  return {seedOf(allCalls(), writes().bytes(), true), seedOf(lifeOfAFile(), "", false),
          seedOf(writes(), test::infoChunk(kToken, test::usualFacts()), true)};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const fuzz::Place place;
  if (size < fuzz::kPrefix) return 0;
  std::uint64_t progress = 0;
  std::memcpy(&progress, data, sizeof progress);
  const bool with_container = data[sizeof progress] % 2 != 0;
  const std::string area =
      fuzz::repaired({reinterpret_cast<const char*>(data) + fuzz::kPrefix, size - fuzz::kPrefix});
  const std::filesystem::path ring = place.rings / test::ringName(place.trace.path(), fuzz::kToken);

  test::ContainerBuilder container(fuzz::kToken);
  if (with_container) container.running().save(place.container());
  fuzz::saveRing(ring, place.trace.path(), progress, area);
  const std::uint64_t before = with_container ? fuzz::readTrace(place.trace.path()) : 0;
  const tracefile::CollectReport report = tracefile::collectRings(place.trace.path());
  fuzz::require(report.troubles.empty() == !std::filesystem::exists(ring));
  const std::uint64_t after = fuzz::readTrace(place.trace.path());
  fuzz::require(with_container ? after == before : after <= report.events);
  for (const auto& file : std::filesystem::directory_iterator(place.trace.path())) {
    std::filesystem::remove(file);
  }
  std::filesystem::remove(ring);
  return 0;
}
