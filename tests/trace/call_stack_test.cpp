// Walks over stacks that are made here, sound and hostile ones, and the table of stacks.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "core/wire/settings.hpp"
#include "trace/runtime/stack/frame_walk.hpp"
#include "trace/runtime/stack/stack_table.hpp"

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

TEST(StackTable, FindsWhatWasAddedAndNothingElse) {
  const Zeroed<StackTable<64, 1 << 16>> table;
  EXPECT_EQ(table->find(7), nullptr);
  const std::array<wire::StackFrame, 2> frames = {{{.module = 1, .offset = 5}, {.module = 2}}};
  for (std::uint64_t hash = 1; hash <= 40; ++hash) {
    const KnownStack* const added = table->add(hash * 64, frames.data(), 1 + hash % 2);  // one slot
    ASSERT_NE(added, nullptr);
    EXPECT_EQ(added->number, hash);
    EXPECT_EQ(table->find(hash * 64), added);
    EXPECT_EQ(added->count, 1 + hash % 2);
    EXPECT_EQ(added->frames()[0], frames[0]);
  }
  EXPECT_EQ(table->find(41 * 64), nullptr);
}

TEST(StackTable, WhenItIsFullTakesNoMoreAndKeepsWhatItHas) {
  using Table = StackTable<64, 1 << 16>;
  const Zeroed<Table> table;
  const wire::StackFrame frame{.module = 1, .offset = 1};
  for (std::uint64_t hash = 1; hash <= Table::kMostStacks; ++hash) {
    ASSERT_NE(table->add(hash, &frame, 1), nullptr);
  }
  EXPECT_EQ(table->add(1000, &frame, 1), nullptr);
  EXPECT_EQ(table->find(1000), nullptr);
  for (std::uint64_t hash = 1; hash <= Table::kMostStacks; ++hash) {
    EXPECT_NE(table->find(hash), nullptr);
  }
}

TEST(StackTable, WhenItsMemoryIsFullTakesNoMore) {
  const Zeroed<StackTable<64, 256>> table;
  const std::array<wire::StackFrame, 16> frames{};
  EXPECT_EQ(table->add(1, frames.data(), 16), nullptr);
  EXPECT_NE(table->add(1, frames.data(), 8), nullptr);
  EXPECT_EQ(table->add(2, frames.data(), 8), nullptr);
  EXPECT_EQ(table->find(2), nullptr);
}

TEST(StackTable, StacksOfAModuleThatIsGoneAreLearntAnew) {
  const Zeroed<StackTable<64, 1 << 16>> table;
  const std::array<wire::StackFrame, 2> both = {{{.module = 1, .offset = 5}, {.module = 2}}};
  const KnownStack* const old = table->add(10, both.data(), 2);
  const KnownStack* const other = table->add(11, both.data(), 1);
  table->end(2);
  EXPECT_EQ(table->find(10), nullptr);
  EXPECT_EQ(table->find(11), other);
  const KnownStack* const fresh = table->add(10, both.data(), 2);
  EXPECT_EQ(table->find(10), fresh);
  EXPECT_NE(fresh->number, old->number);
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
