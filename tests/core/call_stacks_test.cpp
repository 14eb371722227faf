// Call stacks in chunks: what they cost, and what readers make of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/event/event_text.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/decode.hpp"
#include "core/wire/info.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

using wire::StackFrame;

std::vector<std::uint32_t> stacksIn(const test::ChunkBuilder& chunk) {
  wire::ChunkDecoder decoder(chunk.payload(), chunk.header.base_ticks);
  wire::RawEvent raw;
  wire::TextDefinition text;
  wire::HandleDefinition handle;
  std::vector<std::uint32_t> stacks;
  while (true) {
    const wire::Decoded what = decoder.next(raw, text, handle);
    EXPECT_NE(what, wire::Decoded::kDamaged);
    if (what == wire::Decoded::kEnd || what == wire::Decoded::kDamaged) return stacks;
    if (what == wire::Decoded::kEvent) stacks.push_back(raw.stack);
  }
}

// A chunk with a write for each of the numbers, and the numbers.
test::ChunkBuilder chunkOf(const std::vector<std::uint32_t>& numbers) {
  test::ChunkBuilder chunk(test::kToken, 0, 0, 0);
  std::uint64_t now = 2000;
  for (const std::uint32_t number : numbers) {
    chunk.useStack(number).write(now, now + 5, 8);
    now += 10;
  }
  return chunk;
}

TEST(CallStackRecord, EventsHaveTheStacksThatTheyWereGiven) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < 2000; ++i) numbers.push_back((i * i * 7919) % 1000 % (i % 13 + 1));
  EXPECT_EQ(stacksIn(chunkOf(numbers)), numbers);
}

TEST(CallStackRecord, NumbersInOneSlotOfThePredictionAreToldApart) {
  const std::vector<std::uint32_t> numbers = {1, 257, 513, 1, 257, 1, 0, 256, 0, 1};
  EXPECT_EQ(stacksIn(chunkOf(numbers)), numbers);
}

TEST(CallStackRecord, EventsWithoutStacksHaveNone) {
  test::ChunkBuilder chunk(test::kToken, 0, 0, 0);
  for (std::uint64_t i = 0; i < 3; ++i) chunk.write(2000 + 10 * i, 2005 + 10 * i, 8);
  EXPECT_EQ(stacksIn(chunk), std::vector<std::uint32_t>(3, 0));
}

TEST(CallStackRecord, ALoopOverSeveralPlacesCostsNothingFromItsSecondTurnOn) {
  std::vector<std::uint32_t> turn = {1, 2, 3, 4, 5};
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 100; ++i) numbers.insert(numbers.end(), turn.begin(), turn.end());
  const std::size_t with = chunkOf(numbers).payload().size();
  const std::size_t without =
      chunkOf(std::vector<std::uint32_t>(numbers.size(), 0)).payload().size();
  // Three bytes for each place when it comes first, and for the first again after the last.
  EXPECT_EQ(with - without, 3 * (turn.size() + 1));
}

TEST(CallStackRecord, APrefixOfADefinitionIsDamage) {
  test::ChunkBuilder chunk(test::kToken, 0, 0, 0);
  chunk.stack(300, {{.module = 1, .offset = 0x1234}, {.module = 0, .offset = 0x7F0012345678}});
  const std::string& whole = chunk.payload();
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const std::vector<char> part(whole.begin(),
                                 whole.begin() + static_cast<std::ptrdiff_t>(length));
    wire::ChunkDecoder decoder({part.data(), part.size()}, 0);
    wire::RawEvent raw;
    wire::TextDefinition text;
    wire::HandleDefinition handle;
    EXPECT_EQ(decoder.next(raw, text, handle), wire::Decoded::kDamaged) << length;
  }
}

TEST(CallStackRecord, ADefinitionWithoutOrWithTooManyFramesIsDamage) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{wire::kMostFrames + 1}}) {
    std::vector<char> bytes(1000);
    char* out = wire::putControlHeader(bytes.data(), wire::kDefineStack);
    out = wire::putVarint(wire::putVarint(out, 1), count);
    for (std::uint64_t i = 0; i < count; ++i) out = wire::putVarint(wire::putVarint(out, 1), i);
    wire::ChunkDecoder decoder({bytes.data(), static_cast<std::size_t>(out - bytes.data())}, 0);
    wire::RawEvent raw;
    wire::TextDefinition text;
    wire::HandleDefinition handle;
    EXPECT_EQ(decoder.next(raw, text, handle), wire::Decoded::kDamaged) << count;
  }
}

// What a reader says of the one event of a process with these facts.
struct Seen {
  std::uint64_t hash = 0;
  std::string frames;
};

Seen seenWith(const std::map<std::string, std::string>& modules,
              const std::vector<StackFrame>& frames) {
  const test::TemporaryDirectory directory;
  std::map<std::string, std::string> facts = test::usualFacts();
  facts.insert(modules.begin(), modules.end());
  test::ChunkBuilder chunk(test::kToken, 0, 0, 0);
  chunk.stack(1, frames).useStack(1).write(2000, 2005, 8);
  test::ContainerBuilder(test::kToken)
      .facts(facts)
      .chunk(chunk)
      .ended(1)
      .save(directory.path() / "host.4711.0.omnio");
  const auto trace = tracefile::Trace::open(directory.path());
  EXPECT_TRUE(trace);
  if (!trace) return {};
  const tracefile::Process& process = *trace->processes().front();
  event::PathTable paths;
  tracefile::LogReader reader(process, process.logs.front(), paths, tracefile::Stacks::kRead);
  const event::Event* event = reader.next();
  EXPECT_NE(event, nullptr);
  if (event == nullptr || event->stack == nullptr) return {};
  Seen seen{.hash = event->stack->hash, .frames = {}};
  for (const event::StackFrame& frame : event->stack->frames) {
    seen.frames += event::textOf(frame) + ' ';
  }
  return seen;
}

TEST(CallStacks, FramesHaveTheirModulesPath) {
  const Seen seen = seenWith({{"module.1", "55d0c0000000 - /opt/my app/bin"},
                              {"module.2", "7f0000000000 0a0b /lib/libx.so.1"}},
                             {{.module = 1, .offset = 0x1139},
                              {.module = 2, .offset = 0x2F0},
                              {.module = 0, .offset = 0x7F0123},
                              {.module = 9, .offset = 0x10}});
  EXPECT_EQ(seen.frames, "/opt/my\\x20app/bin+0x1139 /lib/libx.so.1+0x2f0 0x7f0123 0x10 ");
}

TEST(CallStacks, HashesDoNotDependOnNumbersFoldersOrWhereCodeWasLoaded) {
  const std::vector<StackFrame> in_one = {{.module = 1, .offset = 0x1139},
                                          {.module = 2, .offset = 7}};
  const std::vector<StackFrame> in_other = {{.module = 5, .offset = 0x1139},
                                            {.module = 3, .offset = 7}};
  const Seen one =
      seenWith({{"module.1", "55d0c0000000 - /a/app"}, {"module.2", "7f00 0a0b /b/l.so"}}, in_one);
  const Seen other = seenWith(
      {{"module.5", "560000000000 - /tmp/copy/app"}, {"module.3", "7e00 0a0b /c/renamed.so"}},
      in_other);
  EXPECT_NE(one.hash, 0U);
  EXPECT_EQ(one.hash, other.hash);
}

TEST(CallStacks, HashesTellOffsetsOrderModulesAndDepthApart) {
  const std::map<std::string, std::string> modules = {
      {"module.1", "0 - /a/app"}, {"module.2", "0 - /a/other"}, {"module.3", "0 0a0b /a/app"}};
  const std::vector<std::vector<StackFrame>> stacks = {
      {{.module = 1, .offset = 1}},
      {{.module = 1, .offset = 2}},
      {{.module = 2, .offset = 1}},
      {{.module = 3, .offset = 1}},
      {{.module = 1, .offset = 1}, {.module = 1, .offset = 2}},
      {{.module = 1, .offset = 2}, {.module = 1, .offset = 1}}};
  std::vector<std::uint64_t> hashes;
  for (const auto& frames : stacks) hashes.push_back(seenWith(modules, frames).hash);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(hashes[i], hashes[j]) << i << ' ' << j;
  }
}

TEST(CallStacks, AreReadWhereTheyAreAskedForAlone) {
  const test::TemporaryDirectory directory;
  test::ChunkBuilder chunk(test::kToken, 0, 0, 0);
  chunk.stack(1, {{.module = 0, .offset = 7}}).useStack(1).write(2000, 2005, 8);
  test::ContainerBuilder(test::kToken)
      .facts(test::usualFacts())
      .chunk(chunk)
      .ended(1)
      .save(directory.path() / "host.4711.0.omnio");
  const auto trace = tracefile::Trace::open(directory.path());
  ASSERT_TRUE(trace);
  const tracefile::Process& process = *trace->processes().front();
  for (const tracefile::Stacks stacks : {tracefile::Stacks::kLeft, tracefile::Stacks::kRead}) {
    event::PathTable paths;
    tracefile::LogReader reader(process, process.logs.front(), paths, stacks);
    const event::Event* const event = reader.next();
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->stack != nullptr, stacks == tracefile::Stacks::kRead);
  }
}

// A process that loads other libraries again and again numbers stacks without end.
TEST(CallStacks, ThoseThatAreOutOfUseAreForgotten) {
  const tracefile::ProcessInfo info;
  tracefile::CallStacks stacks(info);
  wire::StackDefinition used;
  used.number = 1;
  used.count = 1;
  constexpr std::uint32_t kChunks = 1000;
  constexpr std::uint32_t kInChunk = 100;
  std::uint32_t number = 1;
  for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    // Those of the chunk before, of which one is not used again.
    const event::CallStack* const kept = stacks.find(1);
    const event::CallStack* const left = stacks.find(number);
    stacks.beginChunk();
    if (chunk > 0) {
      ASSERT_EQ(stacks.find(number), left);
      ASSERT_EQ(left->frames.front().offset, number);
    }
    stacks.define(used);
    for (std::uint32_t i = 0; i < kInChunk; ++i) {
      wire::StackDefinition other = used;
      other.number = ++number;
      other.frames[0].offset = number;
      stacks.define(other);
      ASSERT_NE(stacks.find(number), nullptr);
    }
    if (chunk > 0) {
      ASSERT_EQ(stacks.find(1), kept);
      ASSERT_EQ(kept->number, 1U);
      ASSERT_EQ(kept->frames.front().offset, used.frames[0].offset);
    }
    ASSERT_EQ(stacks.find(number)->frames.front().offset, number);
  }
  std::uint32_t known = 0;
  for (std::uint32_t i = 1; i <= number; ++i) known += stacks.find(i) != nullptr ? 1 : 0;
  EXPECT_LT(known, kChunks * kInChunk / 10);
  EXPECT_GE(known, kInChunk);
}

TEST(CallStacks, SentencesSayHowManyAreMissing) {
  const test::TemporaryDirectory directory;
  for (const unsigned process : {0U, 1U, 2U}) {
    const std::uint64_t token = test::kToken + process;
    auto facts = test::usualFacts(static_cast<int>(process), 3);
    if (process > 0) facts["stacks_not_kept"] = "1000";
    if (process == 2) facts["stacks_shortened"] = "its calls come from too many places";
    facts["module.3"] = "7f0000000000 - /lib/libx.so";
    if (process > 0) facts["stacks_break_off.3"] = "it has no unwind table";
    if (process == 1) facts["stacks_break_off.0"] = "it has no frame pointers";
    if (process == 1) facts["stacks_break_off.4"] = "it has no unwind table";
    test::ContainerBuilder(token, 4711 + process)
        .facts(facts)
        .ended(0)
        .save(directory.path() / ("host." + std::to_string(4711 + process) + ".0.omnio"));
  }
  const auto trace = tracefile::Trace::open(directory.path());
  ASSERT_TRUE(trace);
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  EXPECT_TRUE(wholeness.whole);
  const std::vector<std::string> wanted = {
      "the call stacks of 2000 calls are missing, since the tracer had no room for more or could "
      "not look at them in time",
      "the call stacks of 1 process have one frame from some moment on, since the tracer could not "
      "tell more frames from other data",
      "in 2 processes call stacks go no further than /lib/libx.so, since it has no unwind table",
      "in 1 process call stacks go no further than code that the program made while it ran, since "
      "it has no frame pointers",
      "in 1 process call stacks go no further than a file that the trace does not name, since it "
      "has no unwind table"};
  EXPECT_EQ(tracefile::missingStackSentences(wholeness), wanted);
  EXPECT_TRUE(tracefile::missingStackSentences({}).empty());
}

TEST(CallStacks, AddressesOfGeneratedCodeDoNotCount) {
  const Seen one = seenWith({}, {{.module = 0, .offset = 0x7F0000001000}});
  const Seen other = seenWith({}, {{.module = 0, .offset = 0x7E0000002000}});
  EXPECT_EQ(one.hash, other.hash);
}

}  // namespace
}  // namespace omnio
