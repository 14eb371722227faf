// Whatever bytes are taken for records, or for a packed payload: taking records apart and putting
// them together gives the same bytes, and what is damaged is refused. The first byte tells which of
// the two, two more how large a payload is claimed to be.
#include <cstring>

#include "core/tracefile/packed_payload.hpp"
#include "core/tracefile/record_columns.hpp"
#include "core/wire/checksum.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/trace_seeds.hpp"

namespace omnio::fuzz {
namespace {

constexpr std::size_t kPrefix = 3;

enum class Way : std::uint8_t { kSplit, kJoin, kUnpack, kUnpackChecked, kWays };

void splitAndJoin(std::string_view payload) {
  static tracefile::Columns columns;
  static std::vector<char> joined;
  tracefile::splitRecords(payload, columns);
  require(columns.bytes.size() <= tracefile::maxColumnBytes(payload.size()));
  require(columns.ends.empty() || columns.ends.back() <= columns.bytes.size());
  require(
      tracefile::joinRecords({columns.bytes.data(), columns.bytes.size()}, payload.size(), joined));
  require(payload == std::string_view(joined.data(), joined.size()));
}

void packAndUnpack(std::string_view payload) {
  static tracefile::PayloadPacker packer(1);
  static std::vector<char> unpacked;
  for (const bool has_records : {false, true}) {
    const std::string packed(packer.pack({}, payload, has_records));
    require(tracefile::unpackPayload(packed, unpacked));
    require(payload == std::string_view(unpacked.data(), unpacked.size()));
  }
}

void unpack(std::string_view payload) {
  static std::vector<char> unpacked;
  const auto about = tracefile::packedHeader(payload);
  if (!tracefile::unpackPayload(payload, unpacked)) return;
  require(about.has_value() && unpacked.size() == about->bytes);
  require(about->check == wire::checksum(unpacked.data(), unpacked.size()));
}

std::string seedOf(Way way, std::size_t bytes, std::string_view data) {
  std::string seed{static_cast<char>(way), static_cast<char>(bytes), static_cast<char>(bytes >> 8)};
  return seed.append(data);
}

}  // namespace

const int kVariations = 1000;

std::vector<std::string> seeds() {
  std::vector<std::string> result;
  tracefile::PayloadPacker packer(1);
  for (const test::ChunkBuilder& chunk : {writes(), allCalls(), lifeOfAFile()}) {
    const std::string& payload = chunk.payload();
    tracefile::Columns columns;
    tracefile::splitRecords(payload, columns);
    result.push_back(seedOf(Way::kSplit, 0, payload));
    result.push_back(
        seedOf(Way::kJoin, payload.size(), {columns.bytes.data(), columns.bytes.size()}));
    result.push_back(seedOf(Way::kUnpack, 0, packer.pack({}, payload, true)));
    result.push_back(seedOf(Way::kUnpackChecked, 0, packer.pack({}, payload, true)));
  }
  return result;
}

}  // namespace omnio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omnio;
  using fuzz::Way;
  if (size < fuzz::kPrefix) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + fuzz::kPrefix, size - fuzz::kPrefix);
  const std::size_t claimed = data[1] | static_cast<std::size_t>(data[2]) << 8;
  switch (static_cast<Way>(data[0] % static_cast<unsigned>(Way::kWays))) {
    case Way::kSplit:
      fuzz::splitAndJoin(bytes);
      fuzz::packAndUnpack(bytes);
      break;
    case Way::kJoin: {
      std::vector<char> joined;
      if (tracefile::joinRecords(bytes, claimed, joined)) fuzz::require(joined.size() == claimed);
      break;
    }
    case Way::kUnpackChecked: {
      // With the checksum that the bytes would have, when they are stored as they are.
      wire::PackedHeader about;
      if (bytes.size() < sizeof about) break;
      std::memcpy(&about, bytes.data(), sizeof about);
      about.check = wire::checksum(bytes.data() + sizeof about, bytes.size() - sizeof about);
      std::memcpy(bytes.data(), &about, sizeof about);
      fuzz::unpack(bytes);
      break;
    }
    default:
      fuzz::unpack(bytes);
  }
  return 0;
}
