// Walks over stacks that are made here, sound and hostile ones, and the table of stacks.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/wire/settings.hpp"
#include "trace/runtime/stack/frame_walk.hpp"
#include "trace/runtime/stack/rule_cache.hpp"
#include "trace/runtime/stack/stack_table.hpp"
#include "trace/runtime/stack/untold_facts.hpp"

namespace omnio::trace {
namespace {

constexpr std::uintptr_t kOwnCode = 0x1000;  // of the tracer, in these tests
constexpr std::uintptr_t kOwnBytes = 0x1000;
constexpr std::uintptr_t kCode = 0x400000;  // of the application

using Addresses = std::vector<std::uintptr_t>;

using Kind = UnwindRule::Kind;

// The rules of a walk: frame pointers, but for the places that have others.
struct Rules {
  std::map<RuleKey, UnwindRule> known{};
  UnwindRule otherwise = UnwindRule::of(Kind::kFramePointer);

  static std::uint32_t version() { return 0; }
  UnwindRule find(RuleKey key) const {
    const auto found = known.find(key);
    return found == known.end() ? otherwise : found->second;
  }
};

// The CFA is so far above the stack pointer.
UnwindRule aboveStack(std::int64_t cfa, std::int64_t frame_pointer = 0) {
  return UnwindRule::of(
      UnwindRule::Places{.cfa = cfa, .return_address = -8, .frame_pointer = frame_pointer});
}

// A stack between two pages that cannot be touched: a walk that leaves it ends the test.
class Stack {
 public:
  Stack() {
    memory_ = static_cast<char*>(
        mmap(nullptr, kBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    low_ = reinterpret_cast<std::uintptr_t>(memory_ + kPage);
    EXPECT_EQ(mprotect(memory_ + kPage, kBytes, PROT_READ | PROT_WRITE), 0);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack() { munmap(memory_, kBytes + 2 * kPage); }

  StackBounds bounds() const { return {.low = low_, .high = low_ + kBytes}; }
  std::uintptr_t at(std::size_t bytes) const { return low_ + bytes; }
  // A frame at this distance from the low end.
  void frame(std::size_t where, std::uintptr_t up, std::uintptr_t address) {
    auto* const words = reinterpret_cast<std::uintptr_t*>(at(where));
    words[0] = up;
    words[1] = address;
  }

  Addresses walk(std::size_t from, std::uint32_t depth = 16, std::uintptr_t base = 0,
                 const Rules& rules = {}) const {
    return walkIn(bounds(), from, {.depth = depth}, base, rules);
  }
  Addresses walkIn(StackBounds bounds, std::size_t from, WalkLimits limits = {.depth = 16},
                   std::uintptr_t base = 0, const Rules& rules = {}) const {
    const Walked walked = walkedIn(bounds, from, limits, base, rules);
    return {walked.addresses, walked.addresses + walked.count};
  }
  Walked walkedIn(StackBounds bounds, std::size_t from, WalkLimits limits, std::uintptr_t base,
                  const Rules& rules) const {
    Walked walked;
    walkFrames(at(from), base, limits, bounds, {.begin = kOwnCode, .bytes = kOwnBytes}, rules,
               walked);
    EXPECT_NE(walked.hash, 0U);
    return walked;
  }
  std::uintptr_t& word(std::size_t where) { return *reinterpret_cast<std::uintptr_t*>(at(where)); }

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kBytes = 4 * kPage;

 private:
  char* memory_ = nullptr;
  std::uintptr_t low_ = 0;
};

TEST(FrameWalk, FollowsFramesUpToTheFirstThatLeadsNowhere) {
  Stack stack;
  stack.frame(0, stack.at(64), kCode + 1);
  stack.frame(64, stack.at(1024), kCode + 2);
  stack.frame(1024, 0, kCode + 3);
  EXPECT_EQ(stack.walk(0), (Addresses{kCode + 1, kCode + 2, kCode + 3}));
}

TEST(FrameWalk, LeavesOutTheTracersOwnFrames) {
  Stack stack;
  stack.frame(0, stack.at(64), kOwnCode + 8);
  stack.frame(64, stack.at(128), kOwnCode + 16);
  stack.frame(128, stack.at(192), kCode + 1);
  stack.frame(192, stack.at(256), kOwnCode + 24);  // of an MPI call around it
  stack.frame(256, 1, kCode + 2);
  EXPECT_EQ(stack.walk(0), (Addresses{kCode + 1, kCode + 2}));
}

TEST(FrameWalk, TakesNoMoreFramesThanItIsAllowed) {
  Stack stack;
  for (std::size_t i = 0; i < 100; ++i) stack.frame(i * 32, stack.at(i * 32 + 32), kCode + i);
  for (const std::uint32_t depth : {1U, 2U, 16U, wire::kMostStackFrames}) {
    EXPECT_EQ(stack.walk(0, depth).size(), depth);
  }
}

TEST(FrameWalk, WithoutKnownBoundsHasTheReturnAddressAlone) {
  Stack stack;
  stack.frame(0, stack.at(64), kOwnCode + 8);
  stack.frame(64, stack.at(128), kCode + 1);
  stack.frame(128, 0, kCode + 2);
  const Walked walked = stack.walkedIn({}, 0, {.depth = 16}, 0, {});
  EXPECT_EQ(walked.count, 1U);
  EXPECT_EQ(walked.addresses[0], kCode + 1);
  EXPECT_EQ(walked.end, WalkEnd::kOffStack);
}

TEST(FrameWalk, ReadsNothingThatIsNoFrameOfThisStack) {
  Stack stack;
  const std::uintptr_t high = stack.at(Stack::kBytes);
  for (const std::uintptr_t up :
       {std::uintptr_t{0}, std::uintptr_t{1}, ~std::uintptr_t{0}, ~std::uintptr_t{15}, stack.at(0),
        stack.at(64), stack.at(64) + 1, stack.at(128) + 4, stack.at(0) - 16, high, high - 8,
        high + Stack::kPage, std::uintptr_t{1} << 63}) {
    stack.frame(64, up, kCode + 1);
    EXPECT_EQ(stack.walk(64), Addresses{kCode + 1}) << up;
  }
  // The last place that holds a frame.
  stack.frame(64, high - 16, kCode + 1);
  stack.frame(Stack::kBytes - 16, high, kCode + 2);
  EXPECT_EQ(stack.walk(64), (Addresses{kCode + 1, kCode + 2}));
}

UnwindRule anyRule(std::mt19937_64& random) {
  if (random() % 4 == 0) return UnwindRule::of(static_cast<Kind>(random() % 7));
  const auto distance = [&random](int most) {
    return (static_cast<std::int64_t>(random() % 64) - 32) * most;
  };
  return UnwindRule::of(
      UnwindRule::Places{.is_stored = random() % 4 == 0,
                         .is_from_frame_pointer = random() % 2 == 0,
                         .cfa = random() % 16 == 0 ? distance(1 << 20) : 8 + distance(8),
                         .return_address = -8,
                         .frame_pointer = random() % 16 == 0 ? distance(1 << 12) : distance(8),
                         .frame_pointer_is_from_itself = random() % 8 == 0,
                         .frame_pointer_is_lost = random() % 8 == 0});
}

TEST(FrameWalk, SurvivesAnyContentOfTheStackWithAnyRules) {
  Stack stack;
  std::mt19937_64 random(1);
  auto* const words = reinterpret_cast<std::uintptr_t*>(stack.at(0));
  std::map<std::uint32_t, int> counts;
  for (int turn = 0; turn < 2000; ++turn) {
    for (std::size_t i = 0; i < Stack::kBytes / sizeof *words; ++i) {
      // Mostly what points into the stack or near it.
      const std::uintptr_t near = stack.at(random() % (Stack::kBytes + 64)) - 32;
      words[i] = random() % 8 == 0 ? random() : near & ~(random() % 16);
    }
    Rules rules;
    if (turn % 2 == 0) rules.otherwise = anyRule(random);
    for (std::size_t i = 0; i < 512; ++i) {
      rules.known[words[random() % 2048]] = anyRule(random);
      rules.known[words[random() % 2048] | kInterrupted] = anyRule(random);
    }
    const std::size_t from = random() % (Stack::kBytes / 16) * 16;
    const std::uintptr_t base = random() % 2 == 0 ? 0 : words[random() % 512];
    const Walked walked = stack.walkedIn(stack.bounds(), from, {.depth = 64}, base, rules);
    ASSERT_GE(walked.count, 1U);
    ASSERT_LE(walked.count, 64U);
    ++counts[walked.count];
  }
  EXPECT_GT(counts.size(), 5U);
}

TEST(FrameWalk, EndsWhereNoFramePointerIsKnownToBe) {
  Stack stack;
  stack.frame(0, stack.at(64), kCode + 1);
  stack.frame(64, stack.at(128), kCode + 2);
  stack.frame(128, 0, kCode + 3);
  const Rules rules{.known = {{kCode + 2, UnwindRule::of(Kind::kNoFrame)}}};
  const Walked walked = stack.walkedIn(stack.bounds(), 0, {.depth = 16}, 0, rules);
  EXPECT_EQ(walked.count, 2U);
  EXPECT_EQ(walked.end, WalkEnd::kBrokenOff);
  EXPECT_EQ(walked.key, kCode + 2);
}

#if defined(__x86_64__)
TEST(FrameWalk, FollowsTheRulesOfCodeWithoutFramePointers) {
  Stack stack;
  // A wrapper of the tracer's, called by a function of 64 bytes, called by one of 128 that keeps
  // the frame pointer's register, called by one that has a frame pointer.
  stack.frame(0, 0x1234, kCode + 1);
  stack.word(16 + 64 - 8) = kCode + 2;
  stack.word(80 + 128 - 8) = kCode + 3;
  stack.word(80 + 128 - 40) = stack.at(512);
  stack.frame(512, 0x4321, kCode + 4);
  const UnwindRule framed = UnwindRule::of(UnwindRule::Places{
      .is_from_frame_pointer = true, .cfa = 16, .return_address = -8, .frame_pointer = -16});
  Rules rules{.known = {{kCode + 1, aboveStack(64)},
                        {kCode + 2, aboveStack(128, -40)},
                        {kCode + 3, framed},
                        {kCode + 4, UnwindRule::of(Kind::kOutermost)}}};
  const Walked walked = stack.walkedIn(stack.bounds(), 0, {.depth = 16}, 0, rules);
  EXPECT_EQ(Addresses(walked.addresses, walked.addresses + walked.count),
            (Addresses{kCode + 1, kCode + 2, kCode + 3, kCode + 4}));
  EXPECT_EQ(walked.end, WalkEnd::kOutermost);
  EXPECT_EQ(walked.by, kCode + 4);
  // A place without a rule, and one whose rule leads off the stack or downwards.
  rules.known[kCode + 3] = UnwindRule();
  const Walked unlearnt = stack.walkedIn(stack.bounds(), 0, {.depth = 16}, 0, rules);
  EXPECT_EQ(unlearnt.end, WalkEnd::kUnlearnt);
  EXPECT_EQ(unlearnt.key, kCode + 3);
  EXPECT_EQ(unlearnt.by, kCode + 2);
  for (const std::int64_t cfa : {std::int64_t{0}, std::int64_t{-8}, std::int64_t{1} << 20}) {
    rules.known[kCode + 3] = aboveStack(cfa);
    const Walked broken = stack.walkedIn(stack.bounds(), 0, {.depth = 16}, 0, rules);
    EXPECT_EQ(broken.count, 3U);
    EXPECT_EQ(broken.end, WalkEnd::kBrokenOff);
    EXPECT_EQ(broken.key, kCode + 3);
  }
}

// What GCC makes of a function that aligns its stack anew: the CFA is kept below the frame pointer,
// which is saved where it points to itself.
TEST(FrameWalk, FollowsARealignedStack) {
  Stack stack;
  stack.frame(0, stack.at(256), kCode + 1);
  stack.word(256) = 0x5555;
  stack.word(256 - 8) = stack.at(320);  // the CFA
  stack.word(320 - 8) = kCode + 2;
  const UnwindRule realigned =
      UnwindRule::of(UnwindRule::Places{.is_stored = true,
                                        .is_from_frame_pointer = true,
                                        .cfa = -8,
                                        .return_address = -8,
                                        .frame_pointer_is_from_itself = true});
  Rules rules{.known = {{kCode + 1, realigned}, {kCode + 2, UnwindRule::of(Kind::kOutermost)}}};
  EXPECT_EQ(stack.walk(0, 16, 0, rules), (Addresses{kCode + 1, kCode + 2}));
}

TEST(FrameWalk, GoesOnWhereASignalInterrupted) {
  Stack stack;
  stack.frame(0, 0, kCode + 1);  // the handler
  stack.word(16 + 32 - 8) = kCode + 2;
  auto& context = *reinterpret_cast<ucontext_t*>(stack.at(48));
  context.uc_mcontext.gregs[REG_RIP] = kCode + 3;
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(stack.at(4096));
  context.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(stack.at(8192));
  stack.word(4096 + 24 - 8) = kCode + 4;
  stack.frame(8192, 0, kCode + 5);
  Rules rules{.known = {{kCode + 1, aboveStack(32)},
                        {kCode + 2, UnwindRule::of(Kind::kSignal)},
                        {(kCode + 3) | kInterrupted, aboveStack(24)}}};
  EXPECT_EQ(stack.walk(0, 16, 0, rules), (Addresses{kCode + 1, kCode + 2, kCode + 4, kCode + 5}));
  // On another stack, which nothing is known of.
  context.uc_mcontext.gregs[REG_RSP] = 0x7000;
  EXPECT_EQ(stack.walk(0, 16, 0, rules), (Addresses{kCode + 1, kCode + 2}));
}

TEST(FrameWalk, CountsCallersOfModulesThatAreNotWalkedThrough) {
  Stack stack;
  for (std::size_t i = 0; i < 40; ++i) stack.word(16 + i * 32 - 8) = kCode + i;
  Rules rules;
  for (std::size_t i = 0; i < 40; ++i) {
    rules.known[kCode + i] = aboveStack(32).through(i < 20 || i == 22);
  }
  stack.frame(0, 0, kCode);
  const auto depth = [&](WalkLimits limits) {
    const Walked walked = stack.walkedIn(stack.bounds(), 0, limits, 0, rules);
    EXPECT_EQ(walked.end, WalkEnd::kWhole);
    return walked.count;
  };
  EXPECT_EQ(depth({.depth = 64, .callers = 4}), 25U);
  EXPECT_EQ(depth({.depth = 64, .callers = 1}), 21U);
  EXPECT_EQ(depth({.depth = 10, .callers = 4}), 10U);
  EXPECT_EQ(depth({.depth = 30, .callers = 0}), 30U);
}
#endif

TEST(UnwindRule, KeepsWhatItIsMadeOf) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 20000; ++turn) {
    const auto signedBits = [&random](unsigned bits) {
      return (static_cast<std::int64_t>(random()) >> (64 - bits)) * 8;
    };
    const UnwindRule::Places places{.is_stored = random() % 2 == 0,
                                    .is_from_frame_pointer = random() % 2 == 0,
                                    .cfa = signedBits(24),
                                    .return_address = -8 * (1 + static_cast<int>(random() % 4095)),
                                    .frame_pointer = signedBits(20),
                                    .frame_pointer_is_from_itself = random() % 2 == 0,
                                    .frame_pointer_is_lost = random() % 2 == 0};
    const bool is_through = random() % 2 == 0;
    const UnwindRule rule = UnwindRule::of(places).through(is_through);
    ASSERT_TRUE(rule);
    ASSERT_EQ(rule.kind(), places.is_stored ? Kind::kStoredCfa : Kind::kCfa);
    ASSERT_EQ(rule.isPlain(), !places.is_stored);
    ASSERT_EQ(rule.isThrough(), is_through);
    ASSERT_EQ(rule.isFromFramePointer(), places.is_from_frame_pointer);
    ASSERT_EQ(rule.cfa(), places.cfa);
    ASSERT_EQ(rule.returnAddress(), places.return_address);
    ASSERT_EQ(rule.framePointer(), places.frame_pointer);
    ASSERT_EQ(rule.framePointerIsFromItself(), places.frame_pointer_is_from_itself);
    ASSERT_EQ(rule.framePointerIsLost(), places.frame_pointer_is_lost);
  }
}

TEST(UnwindRule, WhatItHasNoRoomForIsUnusable) {
  const auto kindOf = [](std::int64_t cfa, std::int64_t back, std::int64_t frame) {
    return UnwindRule::of(
               UnwindRule::Places{.cfa = cfa, .return_address = back, .frame_pointer = frame})
        .kind();
  };
  EXPECT_EQ(kindOf(64, -8, -16), Kind::kCfa);
  EXPECT_EQ(kindOf(12, -8, -16), Kind::kUnusable);
  EXPECT_EQ(kindOf(std::int64_t{1} << 27, -8, -16), Kind::kUnusable);
  EXPECT_EQ(kindOf(64, 0, -16), Kind::kUnusable);
  EXPECT_EQ(kindOf(64, 8, -16), Kind::kUnusable);
  EXPECT_EQ(kindOf(64, -8 * 4096, -16), Kind::kUnusable);
  EXPECT_EQ(kindOf(64, -8, -20), Kind::kUnusable);
  EXPECT_EQ(kindOf(64, -8, -(std::int64_t{1} << 23)), Kind::kUnusable);
  EXPECT_EQ(kindOf(INT64_MIN, -8, INT64_MIN), Kind::kUnusable);
}

TEST(FrameWalk, GoesOnAtTheCallAroundALibraryWithoutFramePointers) {
  Stack stack;
  stack.frame(512, stack.at(1024), kOwnCode + 8);
  stack.frame(1024, 0, kCode + 9);
  for (const std::uintptr_t up : {std::uintptr_t{0}, stack.at(128) + 3, stack.at(2048)}) {
    stack.frame(0, up, kCode + 1);
    stack.frame(2048, 0, kCode + 5);  // of somewhere further up: not the caller
    EXPECT_EQ(stack.walk(0, 16, stack.at(512)), (Addresses{kCode + 1, kCode + 9})) << up;
  }
  // One that comes there by itself.
  stack.frame(0, stack.at(512), kCode + 1);
  EXPECT_EQ(stack.walk(0, 16, stack.at(512)), (Addresses{kCode + 1, kCode + 9}));
}

TEST(FrameWalk, HashesTellStacksApart) {
  Stack stack;
  const auto hashOf = [&stack](std::uintptr_t first, std::uintptr_t second, bool has_second) {
    stack.frame(0, has_second ? stack.at(64) : 0, first);
    stack.frame(64, 0, second);
    Walked walked;
    walkFrames(stack.at(0), 0, {.depth = 16}, stack.bounds(), {}, Rules(), walked);
    return walked.hash;
  };
  EXPECT_NE(hashOf(1, 2, true), hashOf(2, 1, true));
  EXPECT_NE(hashOf(1, 2, true), hashOf(1, 2, false));
  EXPECT_NE(hashOf(1, 2, true), hashOf(1, 3, true));
  EXPECT_EQ(hashOf(1, 2, true), hashOf(1, 2, true));
  EXPECT_NE(hashOf(0, 0, false), 0U);
}

#if defined(__x86_64__)
bool isCall(std::initializer_list<unsigned> last_bytes) {
  unsigned char code[kCallBytes] = {};
  std::size_t at = kCallBytes - last_bytes.size();
  for (const unsigned byte : last_bytes) code[at++] = static_cast<unsigned char>(byte);
  return endsWithCall(code);
}

TEST(CallBefore, KnowsTheFormsOfACall) {
  EXPECT_TRUE(isCall({0xE8, 1, 2, 3, 4}));                    // call there
  EXPECT_TRUE(isCall({0xFF, 0xD0}));                          // call *%rax
  EXPECT_TRUE(isCall({0x41, 0xFF, 0xD7}));                    // call *%r15
  EXPECT_TRUE(isCall({0xFF, 0x10}));                          // call *(%rax)
  EXPECT_TRUE(isCall({0xFF, 0x14, 0x24}));                    // call *(%rsp)
  EXPECT_TRUE(isCall({0xFF, 0x50, 0x18}));                    // call *0x18(%rax)
  EXPECT_TRUE(isCall({0xFF, 0x54, 0x24, 0x08}));              // call *8(%rsp)
  EXPECT_TRUE(isCall({0xFF, 0x15, 1, 2, 3, 4}));              // call *there(%rip)
  EXPECT_TRUE(isCall({0xFF, 0x93, 0x10, 0x27, 0, 0}));        // call *10000(%rbx)
  EXPECT_TRUE(isCall({0xFF, 0x14, 0xC5, 1, 2, 3, 0}));        // call *table(,%rax,8)
  EXPECT_TRUE(isCall({0xFF, 0x94, 0xC3, 0x10, 0x27, 0, 0}));  // call *10000(%rbx,%rax,8)
}

TEST(CallBefore, OtherCodeIsNone) {
  EXPECT_FALSE(isCall({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}));  // nop
  EXPECT_FALSE(isCall({0xFF, 0xE0}));                                      // jmp *%rax
  EXPECT_FALSE(isCall({0xE9, 1, 2, 3, 4}));                                // jmp there
  EXPECT_FALSE(isCall({0xC3}));                                            // ret
  EXPECT_FALSE(isCall({}));
}
#endif

// Memory as the kernel gives it.
template <typename T>
struct Zeroed {
  Zeroed() : memory(static_cast<T*>(std::calloc(1, sizeof(T)))) {}
  ~Zeroed() { std::free(memory); }
  T* operator->() const { return memory; }
  T* memory;
};

using Frames = std::vector<wire::StackFrame>;

// The frames that the table has under the hash; none when it has no such stack.
template <typename Table>
Frames framesIn(const Table& table, std::uint64_t hash) {
  wire::StackDefinition definition;
  const KnownStack stack = table.find(hash);
  if (!stack || !table.copy(stack, definition)) return {};
  EXPECT_EQ(definition.number, stack.number);
  return {definition.frames.begin(), definition.frames.begin() + definition.count};
}

template <typename Table>
KnownStack addTo(Table& table, std::uint64_t hash, const Frames& frames) {
  return table.add(hash, frames.data(), static_cast<std::uint32_t>(frames.size()));
}

template <typename Table>
void unload(Table& table, std::uint32_t module) {
  table.end([module](const wire::StackFrame& frame) { return frame.module == module; });
}

TEST(StackTable, FindsWhatWasAddedAndNothingElse) {
  const Zeroed<StackTable<64, 1 << 16>> table;
  EXPECT_FALSE(table->find(7));
  for (std::uint64_t hash = 1; hash <= 40; ++hash) {
    const Frames frames(1 + hash % 2, {.module = 1, .offset = hash});
    EXPECT_EQ(addTo(*table.memory, hash * 64, frames).number, hash);  // in one slot
    EXPECT_EQ(table->find(hash * 64).number, hash);
    EXPECT_EQ(framesIn(*table.memory, hash * 64), frames);
  }
  EXPECT_FALSE(table->find(41 * 64));
}

TEST(StackTable, WhenItIsFullTakesNoMoreAndKeepsWhatItHas) {
  using Table = StackTable<64, 1 << 16>;
  const Zeroed<Table> table;
  const Frames frames = {{.module = 1, .offset = 1}};
  for (std::uint64_t hash = 1; hash <= Table::kMostStacks; ++hash) {
    ASSERT_TRUE(addTo(*table.memory, hash, frames));
  }
  EXPECT_FALSE(addTo(*table.memory, 1000, frames));
  EXPECT_FALSE(table->find(1000));
  for (std::uint64_t hash = 1; hash <= Table::kMostStacks; ++hash) {
    EXPECT_EQ(framesIn(*table.memory, hash), frames);
  }
}

TEST(StackTable, WhenItsMemoryIsFullTakesNoMore) {
  const Zeroed<StackTable<64, 256>> table;
  EXPECT_FALSE(addTo(*table.memory, 1, Frames(16)));
  EXPECT_TRUE(addTo(*table.memory, 1, Frames(14)));
  EXPECT_FALSE(addTo(*table.memory, 2, Frames(1)));
  EXPECT_FALSE(table->find(2));
  EXPECT_EQ(framesIn(*table.memory, 1).size(), 14U);
}

TEST(StackTable, StacksOfAModuleThatIsGoneAreLearntAnew) {
  const Zeroed<StackTable<64, 1 << 16>> table;
  const Frames both = {{.module = 1, .offset = 5}, {.module = 2}};
  const KnownStack old = addTo(*table.memory, 10, both);
  const KnownStack other = addTo(*table.memory, 11, {both[0]});
  unload(*table.memory, 2);
  EXPECT_FALSE(table->find(10));
  EXPECT_TRUE(table->hasOver(10));
  EXPECT_EQ(table->find(11).number, other.number);
  EXPECT_FALSE(table->hasOver(11));
  const Frames others = {{.module = 1, .offset = 5}, {.module = 3}};
  const KnownStack fresh = addTo(*table.memory, 10, others);
  EXPECT_EQ(table->find(10).number, fresh.number);
  EXPECT_EQ(framesIn(*table.memory, 10), others);
  EXPECT_NE(fresh.number, old.number);
  EXPECT_NE(fresh.number, other.number);
}

TEST(StackTable, AStackWhoseModulesComeBackHasItsNumberAgain) {
  const Zeroed<StackTable<64, 1 << 16>> table;
  const Frames both = {{.module = 1, .offset = 5}, {.module = 2}};
  const KnownStack old = addTo(*table.memory, 10, both);
  for (int turn = 0; turn < 1000; ++turn) {
    unload(*table.memory, 2);
    ASSERT_FALSE(table->find(10));
    ASSERT_EQ(addTo(*table.memory, 10, both).number, old.number);
    ASSERT_EQ(table->find(10).number, old.number);
  }
}

// Modules at one place in turn, and modules at new places each time.
TEST(StackTable, StacksThatAreOverMakeRoomForOthers) {
  using Table = StackTable<64, 4096>;
  const Zeroed<Table> table;
  const Frames kept = {{.module = 1, .offset = 7}, {.module = 1, .offset = 8}};
  addTo(*table.memory, 1, kept);
  std::uint32_t last = 0;
  for (std::uint32_t module = 2; module < 5000; ++module) {
    for (std::uint64_t place = 0; place < 20; ++place) {
      const std::uint64_t hash = place < 10 ? 100 + place : module * 1000 + place;
      const Frames frames(1 + place % 5, {.module = module, .offset = place});
      const KnownStack added = addTo(*table.memory, hash, frames);
      ASSERT_TRUE(added) << module << ' ' << place;
      ASSERT_GT(added.number, last);
      last = added.number;
      ASSERT_EQ(framesIn(*table.memory, hash), frames);
      ASSERT_EQ(framesIn(*table.memory, 1), kept);
    }
    unload(*table.memory, module);
  }
}

// A large table of which few stacks are over, again and again.
TEST(StackTable, AStackThatIsOverMakesRoomForOneOther) {
  using Table = StackTable<4096, 1 << 18>;
  const Zeroed<Table> table;
  for (std::uint64_t hash = 1; hash <= Table::kMostStacks; ++hash) {
    const std::uint32_t module = hash % 1000 == 0 ? 2U : 1U;
    ASSERT_TRUE(addTo(*table.memory, hash, {{.module = module, .offset = hash}}));
  }
  std::uint64_t hash = 100000;
  EXPECT_FALSE(addTo(*table.memory, hash, {{.module = 3, .offset = hash}}));
  unload(*table.memory, 2);
  for (std::uint64_t gone = 1000; gone <= Table::kMostStacks; gone += 1000) {
    EXPECT_TRUE(addTo(*table.memory, ++hash, {{.module = 3, .offset = hash}})) << gone;
  }
  EXPECT_FALSE(addTo(*table.memory, hash + 1, {{.module = 3, .offset = hash}}));
  for (std::uint32_t module = 3; module < 20; ++module) {
    unload(*table.memory, module);
    ++hash;
    EXPECT_TRUE(addTo(*table.memory, hash, {{.module = module + 1, .offset = hash}})) << module;
    EXPECT_EQ(framesIn(*table.memory, hash), (Frames{{.module = module + 1, .offset = hash}}));
    EXPECT_EQ(framesIn(*table.memory, 1), (Frames{{.module = 1, .offset = 1}}));
  }
}

TEST(StackTable, WhatWasFoundBeforeItsMemoryWasUsedAgainIsNotCopied) {
  using Table = StackTable<64, 1 << 16>;
  const Zeroed<Table> table;
  addTo(*table.memory, 1, {{.module = 1, .offset = 1}});
  addTo(*table.memory, 2, {{.module = 2, .offset = 2}});
  const KnownStack gone = table->find(1);
  unload(*table.memory, 1);
  wire::StackDefinition definition;
  EXPECT_TRUE(table->copy(gone, definition));  // it still is what it was
  for (std::uint64_t hash = 100; hash < 100 + Table::kMostStacks; ++hash) {
    addTo(*table.memory, hash, {{.module = 3, .offset = hash}});
  }
  EXPECT_FALSE(table->copy(gone, definition));
  EXPECT_EQ(framesIn(*table.memory, 2), (Frames{{.module = 2, .offset = 2}}));
}

TEST(RuleCache, HasWhatItTookUntilItIsFull) {
  const Zeroed<RuleCache<64>> cache;
  EXPECT_FALSE(cache->find(5));
  const auto rule = [](RuleKey key) { return aboveStack(static_cast<std::int64_t>(key) * 8); };
  for (RuleKey key = 1; key <= 48; ++key) {
    EXPECT_TRUE(cache->put(key << 40, rule(key)));
    EXPECT_EQ(cache->find(key << 40), rule(key));
  }
  EXPECT_FALSE(cache->put(99, rule(99)));
  EXPECT_FALSE(cache->find(99));
  EXPECT_TRUE(cache->put(RuleKey{7} << 40, rule(70)));  // in its place
  for (RuleKey key = 1; key <= 48; ++key) {
    EXPECT_EQ(cache->find(key << 40), rule(key == 7 ? 70 : key));
  }
}

TEST(RuleCache, TakesFewPlacesThatSignalsInterrupted) {
  using Cache = RuleCache<64>;
  const Zeroed<Cache> cache;
  for (RuleKey key = 1; key <= Cache::kMostInterrupted; ++key) {
    EXPECT_FALSE(cache->find(key | kInterrupted));
    EXPECT_TRUE(cache->put(key | kInterrupted, aboveStack(8)));
  }
  EXPECT_FALSE(cache->put(100 | kInterrupted, aboveStack(8)));
  EXPECT_EQ(cache->find(100 | kInterrupted).kind(), Kind::kOutermost);
  EXPECT_FALSE(cache->find(100));
  cache->removeIf([](std::uintptr_t address) { return address == 1; });
  EXPECT_FALSE(cache->find(100 | kInterrupted));
  EXPECT_TRUE(cache->put(100 | kInterrupted, aboveStack(16)));
  EXPECT_EQ(cache->find(100 | kInterrupted), aboveStack(16));
}

TEST(RuleCache, HasWhatWasNotRemoved) {
  const Zeroed<RuleCache<16>> cache;
  std::map<RuleKey, UnwindRule> wanted;
  std::mt19937_64 random(1);
  constexpr RuleKey kMost = 40;
  for (int turn = 0; turn < 20000; ++turn) {
    if (random() % 4 == 0) {
      const std::uintptr_t begin = 1 + random() % kMost;
      const auto isGone = [begin](std::uintptr_t address) {
        return address >= begin && address < begin + 5;
      };
      const std::uint32_t version = cache->version();
      const auto removed =
          std::erase_if(wanted, [&](const auto& entry) { return isGone(entry.first); });
      cache->removeIf(isGone);
      ASSERT_EQ(cache->version(), version + (removed > 0 ? 2 : 0));
    } else {
      const RuleKey key = 1 + random() % kMost;
      const UnwindRule rule = aboveStack(static_cast<std::int64_t>(random() % 1000) * 8);
      if (cache->put(key, rule)) wanted[key] = rule;
    }
    for (RuleKey key = 1; key <= kMost + 5; ++key) {
      const auto found = wanted.find(key);
      ASSERT_EQ(cache->find(key), found == wanted.end() ? UnwindRule() : found->second)
          << turn << ' ' << key;
    }
  }
  EXPECT_FALSE(wanted.empty());
}

// Facts as the log has them.
std::string words(const char* data, std::size_t bytes) {
  std::string text(data, bytes);
  std::replace(text.begin(), text.end(), '\0', '|');
  return text;
}

TEST(UntoldFacts, AreCopiedUntilTheyAreTold) {
  const Zeroed<UntoldFacts<256>> facts;
  EXPECT_TRUE(facts->isEmpty());
  EXPECT_TRUE(facts->add("a", "one"));
  EXPECT_TRUE(facts->add("b", ""));
  char out[256];
  auto copied = facts->copy(out, sizeof out);
  EXPECT_EQ(words(out, copied.bytes), "a|one|b||");
  EXPECT_TRUE(facts->add("c", "three"));
  // Again, until the log has them.
  copied = facts->copy(out, sizeof out);
  EXPECT_EQ(words(out, copied.bytes), "a|one|b||c|three|");
  const auto first = facts->copy(out, 7);
  EXPECT_EQ(words(out, first.bytes), "a|one|");
  facts->told(first);
  facts->told(first);  // by another who wrote the same
  const auto rest = facts->copy(out, sizeof out);
  EXPECT_EQ(words(out, rest.bytes), "b||c|three|");
  facts->told(rest);
  facts->told(copied);
  EXPECT_TRUE(facts->isEmpty());
}

TEST(UntoldFacts, WhatFindsNoRoomIsRefusedUntilOthersAreTold) {
  const Zeroed<UntoldFacts<64>> facts;
  const std::string value(20, 'x');
  EXPECT_FALSE(facts->add("a", std::string(60, 'x')));
  char out[64];
  for (int turn = 0; turn < 100; ++turn) {
    ASSERT_TRUE(facts->add("a", value));
    ASSERT_TRUE(facts->add("b", value));
    ASSERT_FALSE(facts->add("c", value));
    facts->told(facts->copy(out, 30));
    ASSERT_TRUE(facts->add("d", value));
    const auto rest = facts->copy(out, sizeof out);
    ASSERT_EQ(words(out, rest.bytes), "b|" + value + "|d|" + value + "|");
    facts->told(rest);
    ASSERT_TRUE(facts->isEmpty());
  }
}

TEST(FramesSetting, IsANumberOrAWord) {
  EXPECT_EQ(wire::parseFrames(""), 0U);
  EXPECT_EQ(wire::parseFrames("no"), 0U);
  EXPECT_EQ(wire::parseFrames("yes"), wire::kUsualStackFrames);
  EXPECT_EQ(wire::parseFrames("true"), wire::kUsualStackFrames);
  EXPECT_EQ(wire::parseFrames("0"), 0U);
  EXPECT_EQ(wire::parseFrames("1"), 1U);
  EXPECT_EQ(wire::parseFrames("64"), 64U);
  EXPECT_EQ(wire::parseFrames("auto"), wire::kAutoStackFrames);
  for (const char* word : {"65", "-1", "all", "8 ", "99999999999999999999"}) {
    EXPECT_EQ(wire::parseFrames(word), std::nullopt) << word;
  }
}

TEST(ModulesSetting, IsAListOfFileNames) {
  const auto isThrough = wire::isWalkedThrough;
  for (const char* file :
       {"libhdf5_serial.so.103", "libhdf5_openmpi_hl.so.100", "libnetcdf.so.19", "libnetcdff.so.7",
        "libpnetcdf.so.4", "libmpi.so.40", "libmpi_mpifh.so.40", "libmpich.so.12",
        "mca_io_ompio.so", "libmca_common_ompio.so.41", "libopen-pal.so.40", "libgfortran.so.5",
        "libstdc++.so.6", "libc.so.6", "libadios2_core.so.2.9"}) {
    EXPECT_TRUE(isThrough("default", file)) << file;
    EXPECT_TRUE(isThrough("mine,default", file)) << file;
    EXPECT_FALSE(isThrough("mine", file)) << file;
    EXPECT_FALSE(isThrough("", file)) << file;
  }
  for (const char* file :
       {"app", "libcurl.so.4", "libm.so.6", "myhdf5", "mca_tool", "python3.11"}) {
    EXPECT_FALSE(isThrough("default", file)) << file;
  }
  EXPECT_TRUE(isThrough("a,lib?.so*,c", "libx.so.1"));
  EXPECT_FALSE(isThrough("a,lib?.so*,c", "libxy.so.1"));
  EXPECT_TRUE(isThrough("*a*b", "aaxbab"));
  EXPECT_FALSE(isThrough("*a*b", "aaxbaa"));
}

}  // namespace
}  // namespace omnio::trace
