// Texts with expressions in braces, and their values.
#include "core/model/compact/turn_expressions.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace omnio::model {
namespace {

const ExpressionNames kNames{{"turn", 0}, {"turn2", 1}, {"rank", 2}, {"a", 3}};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TurnText parsed(std::string_view text) {
  auto result = TurnText::parsed(text, kNames);
  EXPECT_TRUE(result) << result.failure().sentence;
  return result ? *result : TurnText();
}

std::string refusal(std::string_view text) {
  const auto result = TurnText::parsed(text, kNames);
  return result ? "" : result.failure().sentence;
}

std::optional<std::int64_t> number(std::string_view text, const std::vector<std::int64_t>& values) {
  const TurnText expression = parsed(text);
  EXPECT_TRUE(expression.isNumber()) << text;
  return expression.isNumber() ? expression.sum().at(values) : std::nullopt;
}

std::string name(std::string_view text, const std::vector<std::int64_t>& values) {
  return parsed(text).at(values).value_or("(none)");
}

TEST(TurnExpressions, ASumHasNumbersAndProductsOfANumberAndAName) {
  const std::vector<std::int64_t> values{5, 2, 7, 100};
  EXPECT_EQ(number("{4096*turn+512}", values), 4096 * 5 + 512);
  EXPECT_EQ(number("{turn*4096}", values), 4096 * 5);
  EXPECT_EQ(number("{-turn+turn2-rank+a}", values), -5 + 2 - 7 + 100);
  EXPECT_EQ(number("{2*3*turn-2*4}", values), 22);
  EXPECT_EQ(number("{turn+turn+turn}", values), 15);
  EXPECT_EQ(number("{-7}", values), -7);
}

TEST(TurnExpressions, OnlyTheResultHasToBeANumber) {
  EXPECT_EQ(number("{9223372036854775807*turn-9223372036854775807*rank}", {9, 0, 8, 0}), kMost);
  EXPECT_EQ(number("{turn-1}", {kLeast, 0, 0, 0}), std::nullopt);
  EXPECT_EQ(number("{2*turn}", {kMost, 0, 0, 0}), std::nullopt);
  EXPECT_EQ(number("{turn-1}", {kLeast + 1, 0, 0, 0}), kLeast);
}

TEST(TurnExpressions, ANameHasTextAroundItsNumbers) {
  const std::vector<std::int64_t> values{5, 2, 7, 100};
  EXPECT_EQ(name("out.{rank:05}.{100*turn}", values), "out.00007.500");
  EXPECT_EQ(name("{turn}{turn2}", values), "52");
  EXPECT_EQ(name("{a:02}", values), "100");
  EXPECT_EQ(name("{turn:018}", values), "000000000000000005");
  EXPECT_EQ(name("plain", values), "plain");
  EXPECT_EQ(name("", values), "");
}

TEST(TurnExpressions, BracesOfANameAreWrittenTwice) {
  const std::vector<std::int64_t> values{5, 2, 7, 100};
  EXPECT_EQ(name("{{turn}}", values), "{turn}");
  EXPECT_EQ(name("{{{turn}}}", values), "{5}");
  EXPECT_EQ(name("{{{{}}", values), "{{}");
  EXPECT_EQ(name("{turn}}}", values), "5}");
}

TEST(TurnExpressions, ANameHasNoNegativeNumbers) {
  EXPECT_EQ(parsed("a{turn-6}").at(std::vector<std::int64_t>{5, 0, 0, 0}), std::nullopt);
  EXPECT_EQ(name("a{turn-6}", {6, 0, 0, 0}), "a0");
}

TEST(TurnExpressions, ANumberIsOneExpressionAlone) {
  EXPECT_TRUE(parsed("{turn}").isNumber());
  for (const char* text : {"{turn}{turn}", "a{turn}", "{turn}a", "{turn:03}", "7", "", "{{7}}"}) {
    EXPECT_FALSE(parsed(text).isNumber()) << text;
  }
}

TEST(TurnExpressions, RefusesWhatIsNoSum) {
  EXPECT_EQ(refusal("{turns}"), "\"{turns}\": turns is not one of a, rank, turn, turn2");
  EXPECT_EQ(refusal("{turn*rank}"), "\"{turn*rank}\": a product of two names");
  EXPECT_EQ(refusal("{turn rank}"), "\"{turn rank}\": numbers and names are joined by +, - and *");
  EXPECT_EQ(refusal("{9223372036854775808}"), "\"{9223372036854775808}\": beyond any number");
  EXPECT_EQ(refusal("{9223372036854775807+1}"), "\"{9223372036854775807+1}\": beyond any number");
  for (const char* text : {"{}", "{+turn}", "{turn+}", "{*turn}", "{turn*}", "{--turn}", "{-}"}) {
    EXPECT_TRUE(refusal(text).ends_with("a number or a name is missing")) << text;
  }
  for (const char* text : {"{turn:5}", "{turn:0}", "{turn:019}", "{turn:}", "{turn:0x}"}) {
    EXPECT_TRUE(refusal(text).ends_with("a width is 01 to 018")) << text;
  }
  EXPECT_EQ(refusal("a}"), "a } without its {: a brace of a name is written twice in a loop");
  EXPECT_EQ(refusal("a{turn"), "a { without its }: a brace of a name is written twice in a loop");
  std::string sum = "{turn";
  for (int i = 0; i < 64; ++i) sum += "+turn";
  EXPECT_EQ(refusal(sum + "}"), "an expression with more than 64 names");
}

}  // namespace
}  // namespace omnio::model
