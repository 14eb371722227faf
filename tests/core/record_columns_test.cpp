// Records as columns: whatever a payload holds comes back, and whatever columns hold does no harm.
#include "core/tracefile/record_columns.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/tracefile/packed_payload.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

// Every call in turn, with what defines its handles between, several times over.
std::string everyCall() {
  test::ChunkBuilder chunk(1, 0, 0, 0);
  std::uint64_t now = chunk.header.base_ticks;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    chunk.text(0, "/dir/" + std::string(turn * 100, 'n'), 5).handle({.handle = 1, .fd = 3});
    for (const calls::Row& row : calls::kTable) {
      if (row.number == 0) continue;
      test::EventSpec event{.start = now + turn, .end = now + turn + row.number};
      now = event.end;
      for (std::size_t i = 0; i < row.argument_count; ++i) event.arguments[i] = 1;
      if (calls::indexOf(row, calls::Role::kIov) >= 0) event.pieces = {8U << (10 * turn)};
      event.failed = row.number % 3 == turn;
      event.result = static_cast<std::int64_t>(row.number * turn);
      chunk.event(row.number, event);
    }
  }
  return chunk.payload();
}

std::string joined(const tracefile::Columns& columns, std::size_t bytes) {
  std::vector<char> out;
  if (!tracefile::joinRecords({columns.bytes.data(), columns.bytes.size()}, bytes, out))
    return "(refused)";
  return {out.begin(), out.end()};
}

std::string thereAndBack(const std::string& payload) {
  tracefile::Columns columns;
  tracefile::splitRecords(payload, columns);
  EXPECT_LE(columns.bytes.size(), tracefile::maxColumnBytes(payload.size()));
  EXPECT_EQ(columns.ends.back(), columns.bytes.size());
  return joined(columns, payload.size());
}

TEST(RecordColumns, EveryCallComesBack) {
  const std::string payload = everyCall();
  EXPECT_EQ(thereAndBack(payload), payload);
}

TEST(RecordColumns, WhatEndsAnywhereComesBack) {
  const std::string payload = everyCall();
  for (std::size_t bytes = 0; bytes < payload.size(); bytes += bytes < 300 ? 1 : 37) {
    ASSERT_EQ(thereAndBack(payload.substr(0, bytes)), payload.substr(0, bytes)) << bytes;
  }
}

TEST(RecordColumns, WhatIsNoRecordComesBack) {
  std::mt19937_64 random(7);
  const std::string whole = everyCall();
  for (int i = 0; i < 300; ++i) {
    std::string payload = whole.substr(0, random() % whole.size());
    for (int n = 0; n < 3 && !payload.empty(); ++n) {
      payload[random() % payload.size()] = static_cast<char>(random());
    }
    ASSERT_EQ(thereAndBack(payload), payload) << i;
  }
}

TEST(RecordColumns, DamagedColumnsAreRefusedOrGiveAsManyBytes) {
  const std::string payload = everyCall();
  tracefile::Columns columns;
  tracefile::splitRecords(payload, columns);
  std::mt19937_64 random(11);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes(columns.bytes.begin(), columns.bytes.end());
    // The beginning says what the rest is.
    const std::size_t within = i % 2 == 0 ? bytes.size() : 700;
    bytes[random() % within] = static_cast<char>(random());
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    std::vector<char> out;
    if (tracefile::joinRecords(bytes, payload.size(), out)) {
      EXPECT_EQ(out.size(), payload.size());
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(PackedPayload, IsMadeSmallerOrLeftAsItIs) {
  tracefile::PayloadPacker packer(tracefile::kDefaultPackLevel);
  std::vector<char> out;
  std::mt19937_64 random(3);
  std::string noise(1000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  for (const std::string& bytes : {std::string(), std::string("x"), noise, everyCall()}) {
    const std::string packed(packer.pack({}, bytes, true));
    EXPECT_LE(packed.size(), bytes.size() + sizeof(wire::PackedHeader));
    ASSERT_TRUE(tracefile::unpackPayload(packed, out));
    EXPECT_EQ(std::string(out.begin(), out.end()), bytes);
  }
}

// What a damaged or malicious chunk says of itself is not believed.
TEST(PackedPayload, SizesThatAreNotItsOwnAreRefused) {
  tracefile::PayloadPacker packer(tracefile::kDefaultPackLevel);
  const std::string zeros(1 << 20, '\0');
  const std::string packed(packer.pack({}, zeros, false));
  ASSERT_LT(packed.size(), 1000U);
  std::vector<char> out;
  const auto with = [&](auto change) {
    wire::PackedHeader about;
    std::memcpy(&about, packed.data(), sizeof about);
    change(about);
    std::string bytes = packed;
    std::memcpy(bytes.data(), &about, sizeof about);
    return tracefile::unpackPayload(bytes, out);
  };
  EXPECT_TRUE(with([](wire::PackedHeader&) {}));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.bytes -= 1; }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.bytes += 1; }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.bytes = tracefile::kMaxPayloadBytes + 1; }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.bytes = 0xFFFFFFFF; }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.check ^= 1; }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.method = wire::PackMethod::kStored; }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) { h.method = static_cast<wire::PackMethod>(9); }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) {
    h.method = wire::PackMethod::kColumns;
    h.column_bytes = 0xFFFFFFFF;
  }));
  EXPECT_FALSE(with([](wire::PackedHeader& h) {
    h.method = wire::PackMethod::kColumns;
    h.column_bytes = h.bytes;
  }));
  EXPECT_FALSE(tracefile::unpackPayload(std::string_view(packed).substr(0, 20), out));
  EXPECT_FALSE(
      tracefile::unpackPayload(std::string_view(packed).substr(0, packed.size() - 1), out));
}

}  // namespace
}  // namespace omnio
