#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "trace/runtime/sys/text.hpp"

namespace omnio::trace {
namespace {

std::string textIn(LongText& text) { return {text.data(), text.size()}; }

TEST(LongText, NumbersOfEitherSignAreWritten) {
  LongText text;
  text.put("a").putNumber(0).put(',').putNumber(-17).put(',').putNumber(INT64_MIN);
  EXPECT_EQ(textIn(text), "a0,-17,-9223372036854775808");
}

TEST(LongText, WhatDoesNotFitTheStackGoesOnElsewhere) {
  LongText text;
  std::string wanted;
  for (int i = 0; i < 300'000; ++i) {
    text.putNumber(i).put(';');
    wanted += std::to_string(i) + ';';
  }
  EXPECT_TRUE(text.isWhole());
  EXPECT_EQ(textIn(text), wanted);
}

TEST(LongText, OneThatIsTooLongIsGivenUpAsAWhole) {
  LongText text;
  const std::string part(std::size_t{1} << 20, 'x');
  for (std::size_t bytes = 0; bytes < LongText::kMost; bytes += part.size()) text.put(part);
  EXPECT_TRUE(text.isWhole());
  text.put('x');
  EXPECT_FALSE(text.isWhole());
  EXPECT_EQ(text.size(), LongText::kMost);
}

}  // namespace
}  // namespace omnio::trace
