// Whatever bytes a container holds: packed, it reads as it did before, and a refusal changes
// nothing. And whatever bytes a packed chunk holds: reading it ends, and the chunk beside it is
// read. The first byte tells which of the two; of a packed chunk the next two say how many events
// it claims.
#include <filesystem>

#include "core/tracefile/pack_trace.hpp"
#include "core/wire/container.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/read_trace.hpp"
#include "tests/fuzz/repaired.hpp"
#include "tests/fuzz/trace_seeds.hpp"

namespace omnio::fuzz {
namespace {

constexpr std::size_t kPrefix = 3;

void packAndRead(const Place& place, const std::string& body) {
  test::ContainerBuilder container(kToken, test::kDeadPid);
  container.body = body;
  container.ended(1).save(place.container());
  const std::string recorded = test::readAll(place.container());
  const std::uint64_t events = readTrace(place.trace.path());
  tracefile::PayloadPacker packer(1);
  const auto packed = tracefile::packContainer(place.container(), packer, [](std::uint64_t) {});
  require(packed.ok());
  require(packed->changed || test::readAll(place.container()) == recorded);
  require(readTrace(place.trace.path()) == events);
}

std::string seedOf(const test::ChunkBuilder& chunk) {
  tracefile::PayloadPacker packer(3);
  const std::uint32_t events = chunk.header.event_count;
  return std::string{'\1', static_cast<char>(events), static_cast<char>(events >> 8)}.append(
      packer.pack(chunk.payload()));
}

}  // namespace

const int kVariations = 60;

std::vector<std::string> seeds() {
  const std::string body = test::infoChunk(kToken, test::usualFacts()) + writes().bytes() +
                           std::string(16, '\x05') + allCalls().bytes();
  return {'\0' + body, '\0' + lifeOfAFile().bytes(), seedOf(allCalls()), seedOf(lifeOfAFile())};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const fuzz::Place place;
  if (size < fuzz::kPrefix) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (data[0] % 2 == 0) {
    fuzz::packAndRead(place, fuzz::repaired(bytes.substr(1)));
  } else {
    wire::ChunkHeader header = test::ChunkBuilder(fuzz::kToken, 1, 0, 0).header;
    header.kind = wire::ChunkKind::kPackedEvents;
    header.event_count = data[1] | static_cast<std::uint32_t>(data[2]) << 8;
    fuzz::packAndRead(place,
                      fuzz::chunkOf(header, bytes.substr(fuzz::kPrefix)) + fuzz::writes().bytes());
  }
  std::filesystem::remove(place.container());
  return 0;
}
