#include "trace/runtime/sys/text.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace omnio::trace {
namespace {

TEST(Text, PutsWordsAndNumbersTogether) {
  char buffer[64];
  Text text(buffer, sizeof buffer);
  text.put("a")
      .putByte('-')
      .putNumber(0)
      .putByte('-')
      .putNumber(UINT64_MAX)
      .putByte('-')
      .putHex(0xBEEF, 8);
  EXPECT_STREQ(text.c_str(), "a-0-18446744073709551615-0000beef");
  EXPECT_EQ(text.size(), 33U);
  EXPECT_FALSE(text.isFull());
}

TEST(Text, WhatDoesNotFitIsLeftOut) {
  char buffer[8];
  std::memset(buffer, 'x', sizeof buffer);
  Text text(buffer, 6);
  text.put("abc").put("defgh").putNumber(7);
  EXPECT_STREQ(text.c_str(), "abcde");
  EXPECT_TRUE(text.isFull());
  EXPECT_EQ(text.room(), 0U);
  EXPECT_EQ(buffer[6], 'x');
}

TEST(Text, HasRoomForNothingButTheNul) {
  char buffer[1];
  Text text(buffer, sizeof buffer);
  text.put("abc");
  EXPECT_STREQ(text.c_str(), "");
}

TEST(Text, TakesWhatTheCallerWroteBehindIt) {
  char buffer[16];
  Text text(buffer, sizeof buffer);
  text.put("ab");
  ASSERT_GE(text.room(), 3U);
  std::memcpy(text.end(), "cde", 3);
  text.skip(3).put("f");
  EXPECT_STREQ(text.c_str(), "abcdef");
}

}  // namespace
}  // namespace omnio::trace
