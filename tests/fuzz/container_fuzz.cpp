// Whatever bytes a container or a ring holds: reading them ends, touches nothing but them, and what
// is counted agrees with what is read. The bytes are the file behind its header block, for the
// container, and the data area, for the ring.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "core/event_text.hpp"
#include "core/log_reader.hpp"
#include "core/trace.hpp"
#include "core/wholeness.hpp"
#include "core/wire/ring.hpp"
#include "statistics/report.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace {

using namespace omnio;

// The token of the chunks in the corpus: a fuzzer would hardly guess it.
constexpr std::uint64_t kToken = 0x0101010101010101;

struct Place {
  test::TemporaryDirectory trace;
  test::TemporaryDirectory rings;
  Place() { setenv("OMNIO_RING_DIR", rings.path().c_str(), 1); }
};

// Makes the checksums right, so that what is behind them is reached: a fuzzer cannot.
std::string repaired(std::string bytes) {
  for (std::size_t at = 0; at + sizeof(wire::ChunkHeader) <= bytes.size();
       at += wire::kChunkAlignment) {
    wire::ChunkHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::size_t payload_at = at + sizeof header;
    if (header.magic != wire::kChunkMagic || header.payload_bytes > bytes.size() - payload_at) {
      continue;
    }
    header.token = kToken;
    header.payload_check = wire::checksum(bytes.data() + payload_at, header.payload_bytes);
    wire::stamp(header);
    std::memcpy(bytes.data() + at, &header, sizeof header);
  }
  return bytes;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void readAllOf(const std::filesystem::path& directory) {
  const Result<Trace> trace = Trace::open(directory);
  if (!trace) return;
  const Wholeness wholeness = assess(*trace);
  PathTable paths;
  std::string text;
  std::uint64_t events = 0;
  for (const auto& process : trace->processes()) {
    for (const Log& log : process->logs) {
      const auto reader = std::make_unique<LogReader>(*process, log, paths);
      while (const Event* event = reader->next()) {
        ++events;
        text.clear();
        appendText(text, *event);
        require(text.find('\n') == text.size() - 1);
      }
      events += reader->undecodable();
    }
  }
  require(events >= wholeness.events);
  const auto report = stats::makeReport(*trace, stats::By::kFile, {});
  require(report.ok());
  require(!stats::textOf(*report).empty() && !stats::jsonOf(*report).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Place place;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  test::ContainerBuilder container(kToken);
  for (const bool repair : {false, true}) {
    container.body = repair ? repaired(bytes) : bytes;
    container.save(place.trace / "node1.1.0.omnio");
    readAllOf(place.trace.path());
  }
  // The first bytes tell how far the ring has come.
  if (size < sizeof(std::uint64_t)) return 0;
  container.body.clear();
  container.save(place.trace / "node1.1.0.omnio");
  test::saveRing(place.rings / "omnio-0101010101010101-0",
                 {.token = kToken, .pid = test::kDeadPid, .trace_directory = place.trace.path()});
  std::string ring = test::readAll(place.rings / "omnio-0101010101010101-0");
  std::memcpy(ring.data() + offsetof(wire::RingHeader, progress), data, sizeof(std::uint64_t));
  const std::string area = repaired(bytes.substr(sizeof(std::uint64_t)));
  ring.replace(wire::kRingHeaderBytes, std::min(area.size(), wire::kRingDataBytes), area, 0,
               wire::kRingDataBytes);
  test::writeAll(place.rings / "omnio-0101010101010101-0", ring);
  readAllOf(place.trace.path());
  std::filesystem::remove(place.rings / "omnio-0101010101010101-0");
  return 0;
}
