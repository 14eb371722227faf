// Whatever bytes a container holds: packed, it reads as it did before, and restored it is the same
// to the byte. And whatever a packed container holds behind its header block can be read, and is
// restored or refused. The first byte tells which of the two.
#include <filesystem>

#include "core/tracefile/container_pack.hpp"
#include "core/wire/container.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/read_trace.hpp"
#include "tests/fuzz/repaired.hpp"
#include "tests/fuzz/trace_seeds.hpp"

namespace omnio::fuzz {
namespace {

const tracefile::Progress kNoProgress = [](std::uint64_t) {};

void packAndRestore(const Place& place, const std::string& body) {
  test::ContainerBuilder container(kToken, test::kDeadPid);
  container.body = repaired(body);
  container.ended(1).save(place.container());
  const std::string recorded = test::readAll(place.container());
  const std::uint64_t events = readTrace(place.trace.path());
  tracefile::PayloadPacker packer(1);
  const auto packed =
      tracefile::packContainer(place.container(), place.container(), packer, kNoProgress);
  if (!packed) {
    require(!packed.failure().sentence.empty());
    require(test::readAll(place.container()) == recorded);
    return;
  }
  require(readTrace(place.trace.path()) == events);
  require(tracefile::restoreContainer(place.container(), place.container(), kNoProgress).ok());
  require(test::readAll(place.container()) == recorded);
}

std::string packedHeaderBlock() {
  test::ContainerBuilder container(kToken, test::kDeadPid);
  container.header.version = wire::kPackedFormatVersion;
  container.header.header_bytes = wire::kPackedHeaderBytes;
  return container.ended(1).bytes().substr(0, wire::kPackedHeaderBytes);
}

void readPacked(const Place& place, const std::string& body) {
  test::writeAll(place.container(), packedHeaderBlock() + repaired(body));
  readTrace(place.trace.path());
  const std::string before = test::readAll(place.container());
  const auto restored =
      tracefile::restoreContainer(place.container(), place.container(), kNoProgress);
  if (restored) {
    readTrace(place.trace.path());
  } else {
    require(test::readAll(place.container()) == before);
  }
}

}  // namespace

const int kVariations = 40;

std::vector<std::string> seeds() {
  const std::string body = test::infoChunk(kToken, test::usualFacts()) + writes().bytes() +
                           std::string(16, '\x05') + allCalls().bytes();
  test::ContainerBuilder container(kToken, test::kDeadPid);
  container.body = body;
  const Place place;
  container.ended(1).save(place.container());
  tracefile::PayloadPacker packer(3);
  const auto packed =
      tracefile::packContainer(place.container(), place.container(), packer, kNoProgress);
  require(packed.ok());
  return {'\0' + body, '\1' + test::readAll(place.container()).substr(wire::kPackedHeaderBytes),
          '\0' + lifeOfAFile().bytes()};
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  static const fuzz::Place place;
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    fuzz::packAndRestore(place, body);
  } else {
    fuzz::readPacked(place, body);
  }
  std::filesystem::remove(place.container());
  return 0;
}
