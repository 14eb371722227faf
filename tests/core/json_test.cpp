#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::base {
namespace {

class JsonReaderTest : public testing::Test {
 protected:
  // Why a list of hosts is refused, without the path; what it has, when it is not.
  std::string hosts(const std::string& text) {
    test::writeAll(path_, text);
    std::string names;
    JsonReader in(path_);
    in.members([&](std::string_view key) {
      if (key != "hosts") return in.refuse("unknown");
      in.items([&] {
        const JsonNode node = in.value();
        JsonObject host(in, node);
        names += host.text("name") + std::to_string(host.integer("rank", {.least = 0, .most = 9}));
        if (host.flag("up", true)) names += '+';
      });
    });
    const Result<void> read = in.finish();
    return read ? names : read.failure().sentence.substr(path_.native().size() + 2);
  }

  test::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "hosts.json";
};

TEST_F(JsonReaderTest, TakesMembersInAnyOrderAndLayout) {
  EXPECT_EQ(hosts(R"({"hosts":[{"name":"a","rank":1},{"up":false,"rank":2,"name":"b"}]})"),
            "a1+b2");
  EXPECT_EQ(hosts("{\n \"hosts\" : [\n {\"rank\":\n3 , \"name\":\"\\u00e9\"} ]\r\n}\n"),
            "\u00e9"
            "3+");
  EXPECT_EQ(hosts(R"({"hosts":[]})"), "");
}

TEST_F(JsonReaderTest, RefusesWithThePlace) {
  const auto host = [this](const std::string& members) {
    return hosts("{\"hosts\":[\n{" + members + "}]}");
  };
  EXPECT_EQ(host(R"("name":"a")"), "line 2, column 11: \"rank\" is missing");
  EXPECT_EQ(host(R"("name":1,"rank":1)"),
            "line 2, column 9: \"name\" has to be a text, not a whole number");
  EXPECT_EQ(host(R"("name":"a","rank":1.0)"),
            "line 2, column 22: \"rank\" has to be a whole number, not a number");
  EXPECT_EQ(host(R"("name":"a","rank":10)"),
            "line 2, column 21: \"rank\" is 10; it has to be from 0 to 9");
  EXPECT_EQ(host(R"("name":"a","rank":1,"up":0)"),
            "line 2, column 27: \"up\" has to be true or false, not a whole number");
  EXPECT_EQ(host(R"("name":"a","rank":1,"down":0)"),
            "line 2, column 29: \"down\" has no place here");
  EXPECT_EQ(host(R"("name":"a","rank":1,"rank":2)"),
            "line 2, column 27: \"rank\" appears twice in one object");
  EXPECT_EQ(hosts("{\"hosts\":{}}"), "line 1, column 9: \"hosts\" has to be a list");
  EXPECT_EQ(hosts("{\"hosts\":[],\"hosts\":[]}"),
            "line 1, column 19: \"hosts\" appears twice in one object");
  EXPECT_EQ(hosts("[]"), "line 1, column 1: the document has to be an object");
}

TEST_F(JsonReaderTest, RefusesWhatIsNotJson) {
  EXPECT_EQ(hosts(""), "empty");
  EXPECT_EQ(hosts("{\"hosts\" []}"),
            "line 1, column 10: not JSON: Missing a colon after a name of object member");
  EXPECT_EQ(hosts("{\"hosts\":[] \"x\":1}"),
            "line 1, column 13: not JSON: Missing a comma or '}' after an object member");
  EXPECT_EQ(hosts("{\"hosts\":[1 2]}"), "line 1, column 11: has to be an object");
  EXPECT_EQ(hosts("{\"hosts\":[{\"name\":\"a\",\"rank\":1},]}"),
            "line 1, column 33: not JSON: Invalid value");
  EXPECT_EQ(hosts("{\"hosts\":[],}"),
            "line 1, column 13: not JSON: Missing a name for object member");
  EXPECT_EQ(hosts("{\"hosts\":[]} x"),
            "line 1, column 14: not JSON: The document root must not be followed by other values");
  EXPECT_EQ(hosts("{\"hosts\":[" + std::string(100, '[')), "line 1, column 72: nested too deeply");
}

TEST_F(JsonReaderTest, HoldsNoMoreThanAllowed) {
  test::writeAll(path_, "[1]");
  JsonReader small(path_, 2);
  EXPECT_EQ(small.finish().failure().sentence,
            path_.native() + ": 3 bytes; such a document has at most 2 bytes");
  JsonReader none(directory_ / "none");
  EXPECT_EQ(none.finish().failure().code, Code::kNotFound);
}

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
