#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>

#include "core/base/json_writer.hpp"

namespace omnio::base {
namespace {

std::string written(JsonLayout layout) {
  std::string out;
  JsonWriter json(out, layout);
  json.object([&] {
    json.put("text", "a");
    json.put("numbers", std::array{1, -2});
    json.list("objects", std::array{true, false},
              [&](bool flag) { json.object([&] { json.put("flag", flag); }); });
    json.object("none", [] {});
    json.put("no_items", std::vector<std::string>());
    json.put("absent", std::optional<std::string>());
  });
  return out;
}

TEST(JsonWriter, WritesOneLine) {
  EXPECT_EQ(written({}),
            "{\"text\":\"a\",\"numbers\":[1,-2],\"objects\":[{\"flag\":true},{\"flag\":false}],"
            "\"none\":{},\"no_items\":[],\"absent\":null}");
}

TEST(JsonWriter, Indents) {
  EXPECT_EQ(written({.indent = 2}), R"({
  "text": "a",
  "numbers": [
    1,
    -2
  ],
  "objects": [
    {
      "flag": true
    },
    {
      "flag": false
    }
  ],
  "none": {},
  "no_items": [],
  "absent": null
})");
}

TEST(JsonWriter, PutsListsOnOneLine) {
  EXPECT_EQ(written({.indent = 1, .lists_on_one_line = true}), R"({
 "text": "a",
 "numbers": [1, -2],
 "objects": [{
   "flag": true
  }, {
   "flag": false
  }],
 "none": {},
 "no_items": [],
 "absent": null
})");
}

TEST(JsonWriter, KeepsNumbersExact) {
  std::string out;
  JsonWriter(out).value(std::array{0.1, 1.0, 1e300, -2.5e-7});
  JsonWriter(out, {.decimals = 3}).value(1234.56789);
  JsonWriter(out).value(std::numeric_limits<std::uint64_t>::max());
  JsonWriter(out).value(std::numeric_limits<std::int64_t>::min());
  JsonWriter(out).value(std::numeric_limits<double>::infinity());
  EXPECT_EQ(out, "[0.1,1.0,1e300,-2.5e-7]1234.56718446744073709551615-9223372036854775808null");
}

TEST(JsonWriter, EscapesWhatJsonOrATerminalCannotTake) {
  std::string out;
  JsonWriter(out).value("a\"b\\c\nd\x1b[0m\u202e \u00e9 \xFF");
  EXPECT_EQ(out, R"("a\"b\\c\nd\u001B[0m\u202E )"
                 "\u00e9"
                 R"( \\xFF")");
}

TEST(JsonWriter, GoesOnWithAnOpenObject) {
  std::string out = "{\"a\":1";
  {
    JsonWriter json = JsonWriter::inObject(out);
    json.put("b", 2);
  }
  JsonWriter::inObject(out).endObject();
  EXPECT_EQ(out, "{\"a\":1,\"b\":2}");
  std::string empty = "{";
  JsonWriter::inObject(empty).put("c", "d");
  EXPECT_EQ(empty, "{\"c\":\"d\"");
}

}  // namespace
}  // namespace omnio::base
