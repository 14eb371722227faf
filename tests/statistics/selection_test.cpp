#include "statistics/selection.hpp"

#include <gtest/gtest.h>

#include <string>

namespace omnio::stats {
namespace {

TEST(Window, IsReadInSeconds) {
  const Window both = *readWindow("1.5..3");
  EXPECT_EQ(both.from_ns, 1'500'000'000);
  EXPECT_EQ(both.to_ns, 3'000'000'000);
  EXPECT_EQ(readWindow("..0.25")->from_ns, 0);
  EXPECT_EQ(readWindow("..0.25")->to_ns, 250'000'000);
  EXPECT_EQ(readWindow("2e1..")->from_ns, 20'000'000'000);
  EXPECT_FALSE(readWindow("2..")->to_ns.has_value());
}

TEST(Window, ThatMeansNothingIsRefusedWithAReason) {
  const auto why = [](const std::string& text) {
    const base::Result<Window> window = readWindow(text);
    return window ? std::string("taken") : window.failure().sentence;
  };
  EXPECT_EQ(why("1-2"), "`1-2` is not FROM..TO, in seconds");
  EXPECT_EQ(why(""), "`` is not FROM..TO, in seconds");
  EXPECT_EQ(why(".."), "`..` has neither a begin nor an end");
  EXPECT_EQ(why("a..2"), "`a..2` does not begin with a number of seconds");
  EXPECT_EQ(why("-1..2"), "`-1..2` does not begin with a number of seconds");
  EXPECT_EQ(why("1..2s"), "`1..2s` does not end with a number of seconds");
  EXPECT_EQ(why("1..nan"), "`1..nan` does not end with a number of seconds");
  EXPECT_EQ(why("1..1e99"), "`1..1e99` does not end with a number of seconds");
  EXPECT_EQ(why("3..2"), "`3..2` ends before it begins");
  EXPECT_EQ(why("2..2"), "`2..2` ends before it begins");
}

}  // namespace
}  // namespace omnio::stats
