// Every row of the table of calls: what is encoded is what is decoded, for values of all sizes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/wire/decode.hpp"
#include "core/wire/record.hpp"
#include "tests/core/encode_any.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

// Numbers of every length: few are small in a uniform draw.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : engine_(seed) {}
  std::uint64_t upTo(unsigned bits) {
    return bits == 0 ? 0 : engine_() >> (64 - (1 + engine_() % bits));
  }
  std::int64_t anySign(unsigned bits) {
    const auto value = static_cast<std::int64_t>(upTo(bits));
    return engine_() % 2 == 0 ? value : -value;
  }
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

 private:
  std::mt19937_64 engine_;
};

constexpr unsigned kBits = 61;                     // sums of two still fit
constexpr std::uint32_t kHandles[] = {1, 7, 300};  // 300 lies in slot 44

test::EventSpec randomEvent(const calls::Row& row, Numbers& numbers, std::uint64_t now) {
  test::EventSpec event{.start = now + numbers.upTo(40)};
  event.end = event.start + numbers.upTo(40);
  event.depth = static_cast<unsigned>(numbers.below(4));
  event.failed = numbers.below(4) == 0;
  const wire::RecordLayout& plan = wire::kRecordLayouts[row.number];
  for (unsigned i = 0; i < plan.count; ++i) {
    std::int64_t& argument = event.arguments[plan.argument[i]];
    switch (plan.field[i]) {
      case wire::Field::kHandle:
        argument = wire::handleSlot(kHandles[numbers.below(std::size(kHandles))]);
        break;
      case wire::Field::kText:
        argument = static_cast<std::int64_t>(numbers.below(wire::kTextSlots + 1));
        break;
      case wire::Field::kSize:
        argument = static_cast<std::int64_t>(numbers.upTo(kBits));
        event.request = static_cast<std::uint64_t>(argument);
        break;
      case wire::Field::kUnsigned:
        argument = static_cast<std::int64_t>(numbers.upTo(kBits));
        break;
      case wire::Field::kOffset:
      case wire::Field::kSigned:
        argument = numbers.anySign(kBits);
        break;
      case wire::Field::kPieces:
        event.pieces.resize(numbers.below(5));
        for (std::uint64_t& piece : event.pieces) {
          piece = numbers.upTo(40);
          event.request += piece;
        }
        argument = static_cast<std::int64_t>(event.pieces.size());
        break;
      case wire::Field::kNone:
        ADD_FAILURE() << "a plan keeps what is not recorded";
        break;
    }
  }
  event.result =
      event.failed ? static_cast<std::int64_t>(numbers.upTo(12)) : numbers.anySign(kBits);
  return event;
}

std::vector<std::uint64_t> piecesOf(const wire::RawEvent& raw) {
  std::vector<std::uint64_t> pieces;
  const char* at = raw.pieces.data();
  while (at != raw.pieces.data() + raw.pieces.size()) {
    pieces.emplace_back();
    at = wire::getVarint(at, raw.pieces.data() + raw.pieces.size(), pieces.back());
  }
  return pieces;
}

void expectSame(const test::EventSpec& event, const wire::RawEvent& raw) {
  EXPECT_EQ(event.start, raw.start);
  EXPECT_EQ(event.end, raw.end);
  EXPECT_EQ(event.depth, raw.depth);
  EXPECT_EQ(event.failed, raw.failed);
  EXPECT_EQ(event.result, raw.result);
  EXPECT_EQ(event.request, raw.request);
  EXPECT_EQ(event.pieces, piecesOf(raw));
  const wire::RecordLayout& plan = wire::kRecordLayouts[raw.row->number];
  for (unsigned i = 0; i < plan.count; ++i) {
    EXPECT_EQ(event.arguments[plan.argument[i]], raw.arguments[plan.argument[i]])
        << "argument " << unsigned{plan.argument[i]};
  }
}

class EveryCall : public testing::TestWithParam<std::uint16_t> {};

TEST_P(EveryCall, IsReadBackAsItWasWritten) {
  const calls::Row& row = calls::kTable[GetParam()];
  Numbers numbers(GetParam());
  constexpr int kEvents = 300;
  test::ChunkBuilder chunk(1, 0, 0, 0);
  chunk.text(0, "/f");
  for (const std::uint32_t handle : kHandles) chunk.handle({.handle = handle});
  std::vector<test::EventSpec> events;
  std::uint64_t now = chunk.header.base_ticks;
  for (int i = 0; i < kEvents; ++i) {
    events.push_back(randomEvent(row, numbers, now));
    now = events.back().end;
    chunk.event(row.number, events.back());
  }

  wire::ChunkDecoder decoder(chunk.payload(), chunk.header.base_ticks);
  wire::RawEvent raw;
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  std::size_t read = 0;
  while (true) {
    const wire::Decoded what = decoder.next(raw, text, handle);
    if (what == wire::Decoded::kEnd) break;
    ASSERT_NE(what, wire::Decoded::kDamaged) << "event " << read;
    if (what != wire::Decoded::kEvent) continue;
    ASSERT_EQ(raw.row->number, row.number);
    ASSERT_LT(read, events.size());
    expectSame(events[read++], raw);
    if (HasFailure()) FAIL() << "event " << read - 1;
  }
  EXPECT_EQ(read, events.size());
}

std::vector<std::uint16_t> allNumbers() {
  std::vector<std::uint16_t> numbers;
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0) numbers.push_back(row.number);
  }
  return numbers;
}

std::string testName(const testing::TestParamInfo<std::uint16_t>& parameter) {
  std::string name = std::to_string(parameter.param);
  for (const char c : calls::kTable[parameter.param].name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCall, testing::ValuesIn(allNumbers()), testName);

TEST(ChunkDecoder, AHandleHasItsSizeAndPositionOrNone) {
  test::ChunkBuilder chunk(1, 0, 0, 0);
  chunk.text(0, "/f");
  constexpr std::int64_t kLarge = INT64_MAX;
  constexpr std::int64_t kNumbers[] = {wire::kUnknownSize, 0, kLarge};
  for (const std::int64_t size : kNumbers) {
    for (const std::int64_t position : kNumbers) {
      chunk.handle({.handle = 1,
                    .origin = wire::Origin::kInherited,
                    .inode = 7,
                    .size = size,
                    .position = position});
    }
  }
  wire::ChunkDecoder decoder(chunk.payload(), 0);
  wire::RawEvent raw;
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  ASSERT_EQ(decoder.next(raw, text, handle), wire::Decoded::kText);
  for (const std::int64_t size : kNumbers) {
    for (const std::int64_t position : kNumbers) {
      ASSERT_EQ(decoder.next(raw, text, handle), wire::Decoded::kHandle);
      EXPECT_EQ(handle.size, size);
      EXPECT_EQ(handle.position, position);
      EXPECT_EQ(handle.origin, wire::Origin::kInherited);
      EXPECT_EQ(handle.inode, 7U);
    }
  }
  EXPECT_EQ(decoder.next(raw, text, handle), wire::Decoded::kEnd);
}

TEST(ChunkDecoder, AnEventOnAnUndefinedHandleIsDamage) {
  test::ChunkBuilder chunk(1, 0, 0, 0);
  chunk.event(test::numberOf("fsync"), {.start = 1, .end = 2});
  wire::ChunkDecoder decoder(chunk.payload(), 0);
  wire::RawEvent raw;
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  EXPECT_EQ(decoder.next(raw, text, handle), wire::Decoded::kDamaged);
}

TEST(ChunkDecoder, EveryPrefixEndsInAnEventOrInDamageAndNeverReadsBeyond) {
  test::ChunkBuilder chunk(1, 0, 0, 0);
  for (std::uint64_t i = 0; i < 5; ++i) chunk.write(2000 + 10 * i, 2005 + 10 * i, 100000);
  for (std::size_t length = 0; length <= chunk.payload().size(); ++length) {
    // A copy of exactly this length, so that the address sanitizer sees a read behind it.
    const std::vector<char> part(chunk.payload().begin(),
                                 chunk.payload().begin() + static_cast<std::ptrdiff_t>(length));
    wire::ChunkDecoder decoder({part.data(), part.size()}, chunk.header.base_ticks);
    wire::RawEvent raw;
    wire::TextDefinition text;
    wire::HandleDefinition handle;
    wire::Decoded what = wire::Decoded::kEvent;
    std::uint64_t start = 2000;
    while (what != wire::Decoded::kEnd && what != wire::Decoded::kDamaged) {
      what = decoder.next(raw, text, handle);
      if (what != wire::Decoded::kEvent) continue;
      EXPECT_EQ(raw.start, start);
      start += 10;
    }
    if (length == chunk.payload().size()) {
      EXPECT_EQ(start, 2050U);
    }
  }
}

}  // namespace
}  // namespace omnio
