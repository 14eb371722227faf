#include <gtest/gtest.h>

#include <cmath>

#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::ior {
namespace {

LooseDocument documentOf(std::string_view text) {
  auto result = readLooseJson(text);
  EXPECT_TRUE(std::holds_alternative<LooseDocument>(result)) << text;
  return std::holds_alternative<LooseDocument>(result) ? std::move(std::get<LooseDocument>(result))
                                                       : LooseDocument{};
}

TEST(LooseJson, WhatIsJsonNeedsNoMending) {
  const LooseDocument document =
      documentOf(R"({"a": [1, -2.5e3, "x\"\u00e9\n", true, null, {}], "b": {"c": 7}})");
  EXPECT_EQ(document.mended, 0U);
  EXPECT_FALSE(document.ends_early);
  const LooseValue& a = *document.root.find("a");
  ASSERT_EQ(a.items.size(), 6U);
  EXPECT_EQ(a.items[1].number, -2500);
  EXPECT_EQ(a.items[2].string, "x\"\xc3\xa9\n");
  EXPECT_EQ(document.root.find("b")->numberAt("c"), 7);
  EXPECT_EQ(a.items[0].offset, 7U);
}

TEST(LooseJson, AnArrayThatIsNotClosedEndsAtTheNextName) {
  const LooseDocument document = documentOf("{\"r\": [{\"x\": 1}\n\n, \"max\": {\"y\": 2}}");
  EXPECT_EQ(document.root.find("r")->items.size(), 1U);
  EXPECT_EQ(document.root.find("max")->numberAt("y"), 2);
  EXPECT_EQ(document.mended, 1U);
}

TEST(LooseJson, AnArrayThatIsClosedTwice) {
  const LooseDocument document = documentOf(R"({"t": [{"r": [1]] , "max": 2}], "s": 3})");
  EXPECT_EQ(document.root.find("t")->items[0].numberAt("max"), 2);
  EXPECT_EQ(document.root.numberAt("s"), 3);
  EXPECT_EQ(document.mended, 1U);
}

TEST(LooseJson, AnObjectThatIsNotClosed) {
  const LooseDocument document = documentOf(R"({"t": [{"a": 1], "s": 3})");
  // Whether the bracket is one too many or a brace is missing cannot be told: the text ends early.
  EXPECT_TRUE(document.ends_early);
}

TEST(LooseJson, CommasAndProgressLines) {
  const LooseDocument document = documentOf(
      "{\"a\": 1 \"b\": [1 2,, 3,],\nCommencing write performance test: now\n\"c\": 4,}");
  EXPECT_EQ(document.root.find("b")->items.size(), 3U);
  EXPECT_EQ(document.root.numberAt("c"), 4);
}

TEST(LooseJson, NumbersThatAreNone) {
  const LooseDocument document = documentOf(R"({"a": inf, "b": -nan, "c": 1e999})");
  EXPECT_TRUE(std::isinf(*document.root.numberAt("a")));
  EXPECT_TRUE(std::isnan(*document.root.numberAt("b")));
  EXPECT_TRUE(std::isinf(*document.root.numberAt("c")));
}

TEST(LooseJson, WhereItEndsTooEarly) {
  EXPECT_EQ(documentOf(R"({"a": [1, )").ends_early, 10U);
  EXPECT_EQ(documentOf(R"({"a": "x)").ends_early, 8U);
  EXPECT_EQ(documentOf(R"({"a": 12)").ends_early, 8U);
  EXPECT_EQ(documentOf(R"({"a")").ends_early, 4U);
}

TEST(LooseJson, EveryCutIsNoticed) {
  const std::string text = R"({"a": [1, {"b": "c"}], "d": {"e": [[2]]}})";
  for (std::size_t size = 1; size < text.size(); ++size) {
    EXPECT_TRUE(documentOf(text.substr(0, size) + "").ends_early) << size;
  }
  EXPECT_FALSE(documentOf(text).ends_early);
}

TEST(LooseJson, WhatIsNoObject) {
  for (const char* text : {"", "[1, 2]", "hello", "{", "{]", "{1:2}"}) {
    const auto result = readLooseJson(text);
    if (const auto* document = std::get_if<LooseDocument>(&result)) {
      EXPECT_TRUE(document->ends_early || document->mended > 0) << text;
    }
  }
  const auto result = readLooseJson("{\"a\" 1}");
  ASSERT_TRUE(std::holds_alternative<LooseError>(result));
  EXPECT_EQ(std::get<LooseError>(result).offset, 5U);
  EXPECT_EQ(std::get<LooseError>(result).reason, "a colon is expected behind the name");
}

TEST(LooseJson, DeepNestingIsRefused) {
  std::string deep = "{\"a\": ";
  deep.append(100000, '[');
  const auto result = readLooseJson(deep);
  ASSERT_TRUE(std::holds_alternative<LooseError>(result));
  EXPECT_EQ(std::get<LooseError>(result).reason, "nested too deeply");
}

}  // namespace
}  // namespace omnio::ior
