#include <gtest/gtest.h>

#include "core/wire/settings.hpp"

namespace omnio::wire {
namespace {

TEST(SettingText, SizesHaveUnitsOf1024) {
  EXPECT_EQ(parseSize("0"), 0U);
  EXPECT_EQ(parseSize("4096"), 4096U);
  EXPECT_EQ(parseSize("3K"), 3072U);
  EXPECT_EQ(parseSize("10G"), std::uint64_t{10} << 30);
  EXPECT_EQ(parseSize("10GiB"), std::uint64_t{10} << 30);
  EXPECT_EQ(parseSize("1T"), std::uint64_t{1} << 40);
  EXPECT_EQ(parseSize("18446744073709551615"), ~std::uint64_t{0});
}

TEST(SettingText, WhatIsNoSizeIsNone) {
  for (const char* text : {"", "K", "iB", "5iB", "5KB", "5k", "-1", "1.5G", " 1", "1 G", "10Gi",
                           "18446744073709551616", "16777216T", "0x10", "5KK"}) {
    EXPECT_FALSE(parseSize(text)) << text;
  }
}

TEST(SettingText, SwitchesHaveWords) {
  for (const char* text : {"1", "yes", "true", "on"}) EXPECT_EQ(parseSwitch(text), true) << text;
  for (const char* text : {"", "0", "no", "false", "off"}) {
    EXPECT_EQ(parseSwitch(text), false) << text;
  }
  for (const char* text : {"2", "YES", "y", " 1"}) EXPECT_FALSE(parseSwitch(text)) << text;
}

TEST(SettingText, SignalsThatCanBeHad) {
  EXPECT_EQ(parseSignal("none"), 0);
  EXPECT_EQ(parseSignal(""), 0);
  EXPECT_EQ(parseSignal("USR1"), 10);
  EXPECT_EQ(parseSignal("SIGUSR2"), 12);
  EXPECT_EQ(parseSignal("12"), 12);
  EXPECT_EQ(parseSignal("34"), 34);
  EXPECT_EQ(parseSignal("64"), 64);
}

TEST(SettingText, SignalsThatKillOrTellOfErrorsCannotBeHad) {
  for (const char* text : {"KILL", "9", "STOP", "19", "SEGV", "11", "32", "33", "65", "-1", "usr1",
                           "SIG", "1000000000000000000000"}) {
    EXPECT_FALSE(parseSignal(text)) << text;
  }
}

}  // namespace
}  // namespace omnio::wire
