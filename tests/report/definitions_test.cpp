// The definitions of the page (report/page/definitions.json) are those of docs/definitions.md, word
// for word.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "core/base/json_reader.hpp"

namespace omnio::report {
namespace {

const std::filesystem::path kSource = OMNIO_SOURCE;

// Without the marks of Markdown, and with one blank for any number of them.
std::string plainText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  text = std::regex_replace(text, std::regex("\\[([^\\]]*)\\]\\([^)]*\\)"), "$1");
  text = std::regex_replace(text, std::regex("[`*]+"), "");
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

TEST(Definitions, OfThePageAreThoseOfTheDocument) {
  const std::string document = plainText(kSource / "docs/definitions.md");
  const auto expect = [&](const std::string& text) {
    EXPECT_NE(document.find(text), std::string::npos) << text;
  };
  base::JsonReader in(kSource / "report/page/definitions.json");
  std::size_t terms = 0;
  in.items([&] {
    const base::JsonNode node = in.value();
    base::JsonObject definition(in, node);
    expect(definition.text("term"));
    for (const std::string& formula : definition.texts("formulas")) expect(formula);
    for (const base::JsonNode& item : definition.list("cases")) {
      const auto& pair = *item.as<base::JsonNode::List>();
      expect("| " + *pair.at(0).as<std::string>() + " | " + *pair.at(1).as<std::string>());
    }
    ++terms;
  });
  ASSERT_TRUE(in.finish());
  EXPECT_EQ(terms, 8);
}

}  // namespace
}  // namespace omnio::report
