#include "core/storage/held_memory.hpp"

#include <gtest/gtest.h>

namespace omnio::storage {
namespace {

TEST(MemoryShare, IsAPercentage) {
  for (const char* const word : {"80%", "80", "1%", "100%", "12.5%"}) {
    EXPECT_EQ(whyNoMemoryShare(word), "") << word;
  }
  for (const char* const word : {"", "%", "0.8", "0%", "101%", "-5%", "8 0%", "80%%", "much"}) {
    EXPECT_EQ(whyNoMemoryShare(word),
              word + std::string(" is not a share of the memory: use a percentage from 1% to 100% "
                                 "(80%)"));
  }
}

TEST(HeldMemory, HoldsNoMoreThanItsShare) {
  const HeldMemory none(0);
  EXPECT_EQ(none.held().held_bytes, 0U);
  const HeldMemory memory(0.01);
  EXPECT_GT(memory.held().wanted_bytes, 0U);
  EXPECT_LE(memory.held().held_bytes, memory.held().wanted_bytes);
}

TEST(HeldText, SaysWhatWasHeldAndWhatWasNot) {
  constexpr std::uint64_t kMiB = 1 << 20;
  EXPECT_EQ(heldText({}), "");
  HeldBytes held{.share = 0.5, .wanted_bytes = 512 * kMiB, .held_bytes = 512 * kMiB};
  EXPECT_EQ(heldText(held), "Memory: 512 MiB were held, so that files could not stay there\n");
  held.held_bytes = 100 * kMiB;
  held.is_locked = false;
  EXPECT_EQ(heldText(held),
            "Memory: 100 MiB were held, so that files could not stay there, in place of 512 MiB: "
            "the last GiB of a node is left; they could not be locked (ulimit -l)\n");
}

}  // namespace
}  // namespace omnio::storage
