// Walks over stacks that are made here, sound and hostile ones, and the table of stacks.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/wire/settings.hpp"
#include "trace/runtime/stack/frame_walk.hpp"
#include "trace/runtime/stack/stack_table.hpp"
#include "trace/runtime/stack/untold_facts.hpp"

namespace omnio::trace {
namespace {

constexpr std::uintptr_t kOwnCode = 0x1000;  // of the tracer, in these tests
constexpr std::uintptr_t kOwnBytes = 0x1000;
constexpr std::uintptr_t kCode = 0x400000;  // of the application

using Addresses = std::vector<std::uintptr_t>;

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
                 std::uintptr_t ends_at = 0) const {
    return walkIn(bounds(), from, depth, base, ends_at);
  }
  Addresses walkIn(StackBounds bounds, std::size_t from, std::uint32_t depth = 16,
                   std::uintptr_t base = 0, std::uintptr_t ends_at = 0) const {
    Walked walked;
    walkFrames(
        at(from), base, depth, bounds, {.begin = kOwnCode, .bytes = kOwnBytes},
        [ends_at](std::uintptr_t address) { return address == ends_at; }, walked);
    EXPECT_NE(walked.hash, 0U);
    return {walked.addresses, walked.addresses + walked.count};
  }

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
  EXPECT_EQ(stack.walkIn({}, 0), Addresses{kCode + 1});
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

TEST(FrameWalk, SurvivesAnyContentOfTheStack) {
  Stack stack;
  std::mt19937_64 random(1);
  auto* const words = reinterpret_cast<std::uintptr_t*>(stack.at(0));
  for (int turn = 0; turn < 2000; ++turn) {
    for (std::size_t i = 0; i < Stack::kBytes / sizeof *words; ++i) {
      // Mostly what points into the stack or near it.
      const std::uintptr_t near = stack.at(random() % (Stack::kBytes + 64)) - 32;
      words[i] = random() % 8 == 0 ? random() : near & ~(random() % 16);
    }
    const std::size_t from = random() % (Stack::kBytes / 16) * 16;
    const std::uintptr_t base = random() % 2 == 0 ? 0 : words[random() % 512];
    Walked walked;
    walkFrames(
        stack.at(from), base, 64, stack.bounds(), {}, [](std::uintptr_t) { return false; }, walked);
    ASSERT_GE(walked.count, 1U);
    ASSERT_LE(walked.count, 64U);
  }
}

TEST(FrameWalk, EndsWhereNoFramePointerIsKnownToBe) {
  Stack stack;
  stack.frame(0, stack.at(64), kCode + 1);
  stack.frame(64, stack.at(128), kCode + 2);
  stack.frame(128, 0, kCode + 3);
  EXPECT_EQ(stack.walk(0, 16, 0, kCode + 2), (Addresses{kCode + 1, kCode + 2}));
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
    walkFrames(
        stack.at(0), 0, 16, stack.bounds(), {}, [](std::uintptr_t) { return false; }, walked);
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

TEST(AddressSet, HasWhatItTookUntilItIsFull) {
  const Zeroed<AddressSet<16>> set;
  EXPECT_TRUE(set->isEmpty());
  for (std::uintptr_t address = 1; address <= 12; ++address) {
    EXPECT_FALSE(set->has(address << 50));
    EXPECT_TRUE(set->add(address << 50));
  }
  EXPECT_FALSE(set->add(99));
  EXPECT_FALSE(set->has(99));
  for (std::uintptr_t address = 1; address <= 12; ++address) EXPECT_TRUE(set->has(address << 50));
  EXPECT_FALSE(set->isEmpty());
}

TEST(AddressSet, HasWhatWasNotRemoved) {
  const Zeroed<AddressSet<16>> set;
  std::set<std::uintptr_t> wanted;
  std::mt19937_64 random(1);
  constexpr std::uintptr_t kMost = 40;
  for (int turn = 0; turn < 20000; ++turn) {
    if (random() % 4 == 0) {
      const std::uintptr_t begin = 1 + random() % kMost;
      const auto isGone = [begin](std::uintptr_t address) {
        return address >= begin && address < begin + 5;
      };
      set->removeIf(isGone);
      std::erase_if(wanted, isGone);
    } else {
      const std::uintptr_t address = 1 + random() % kMost;
      if (set->add(address)) wanted.insert(address);
    }
    ASSERT_EQ(set->isEmpty(), wanted.empty());
    for (std::uintptr_t address = 1; address <= kMost + 5; ++address) {
      ASSERT_EQ(set->has(address), wanted.contains(address)) << turn << ' ' << address;
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
  for (const char* word : {"65", "-1", "all", "8 ", "99999999999999999999"}) {
    EXPECT_EQ(wire::parseFrames(word), std::nullopt) << word;
  }
}

}  // namespace
}  // namespace omnio::trace
