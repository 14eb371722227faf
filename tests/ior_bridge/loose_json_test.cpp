#include <gtest/gtest.h>

#include <cmath>

#include "ior_bridge/ior/summary_reader.hpp"

namespace omnio::ior {
namespace {

using base::JsonNode;

LooseDocument documentOf(std::string_view text) {
  LooseDocument document = readLooseJson(text);
  EXPECT_FALSE(document.error_place) << text << ": " << document.error;
  return document;
}

std::optional<double> numberAt(const JsonNode& node, std::string_view key) {
  const JsonNode* value = node.find(key);
  return value == nullptr ? std::nullopt : value->number();
}

// The offset at which a text of one line ends too early.
std::optional<std::size_t> endOf(std::string_view text) {
  const LooseDocument document = documentOf(text);
  if (!document.ends_early) return std::nullopt;
  return document.ends_early->column - 1;
}

TEST(LooseJson, WhatIsJsonNeedsNoMending) {
  const LooseDocument document =
      documentOf(R"({"a": [1, -2.5e3, "x\"\u00e9\n", true, null, {}], "b": {"c": 7}})");
  EXPECT_EQ(document.mended, 0U);
  EXPECT_FALSE(document.ends_early);
  const JsonNode::List& a = *document.root.find("a")->as<JsonNode::List>();
  ASSERT_EQ(a.size(), 6U);
  EXPECT_EQ(a[1].number(), -2500);
  EXPECT_EQ(*a[2].as<std::string>(), "x\"\xc3\xa9\n");
  EXPECT_EQ(numberAt(*document.root.find("b"), "c"), 7);
  EXPECT_EQ(a[0].place.column, 8U);
}

TEST(LooseJson, AnArrayThatIsNotClosedEndsAtTheNextName) {
  const LooseDocument document = documentOf("{\"r\": [{\"x\": 1}\n\n, \"max\": {\"y\": 2}}");
  EXPECT_EQ(document.root.find("r")->as<JsonNode::List>()->size(), 1U);
  EXPECT_EQ(numberAt(*document.root.find("max"), "y"), 2);
  EXPECT_EQ(document.mended, 1U);
}

TEST(LooseJson, AnArrayThatIsClosedTwice) {
  const LooseDocument document = documentOf(R"({"t": [{"r": [1]] , "max": 2}], "s": 3})");
  EXPECT_EQ(numberAt(document.root.find("t")->as<JsonNode::List>()->front(), "max"), 2);
  EXPECT_EQ(numberAt(document.root, "s"), 3);
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
  EXPECT_EQ(document.root.find("b")->as<JsonNode::List>()->size(), 3U);
  EXPECT_EQ(numberAt(document.root, "c"), 4);
}

TEST(LooseJson, NumbersThatAreNone) {
  const LooseDocument document = documentOf(R"({"a": inf, "b": -nan, "c": 1e999})");
  EXPECT_TRUE(std::isinf(*numberAt(document.root, "a")));
  EXPECT_TRUE(std::isnan(*numberAt(document.root, "b")));
  EXPECT_TRUE(std::isinf(*numberAt(document.root, "c")));
}

TEST(LooseJson, WhereItEndsTooEarly) {
  EXPECT_EQ(endOf(R"({"a": [1, )"), 10U);
  EXPECT_EQ(endOf(R"({"a": "x)"), 8U);
  EXPECT_EQ(endOf(R"({"a": 12)"), 8U);
  EXPECT_EQ(endOf(R"({"a")"), 4U);
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
    const LooseDocument document = readLooseJson(text);
    EXPECT_TRUE(document.error_place || document.ends_early || document.mended > 0) << text;
  }
  const LooseDocument document = readLooseJson("{\"a\" 1}");
  ASSERT_TRUE(document.error_place);
  EXPECT_EQ(document.error_place->column, 6U);
  EXPECT_EQ(document.error, "a colon is expected behind the name");
}

TEST(LooseJson, DeepNestingIsRefused) {
  std::string deep = "{\"a\": ";
  deep.append(100000, '[');
  EXPECT_EQ(readLooseJson(deep).error, "nested too deeply");
}

}  // namespace
}  // namespace omnio::ior
