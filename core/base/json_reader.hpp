// Reads a JSON document: piece by piece where it may be larger than memory, else as one value.
//
//   JsonReader in(path);
//   in.members([&](std::string_view key) {       // walks through an object ...
//     if (key == "hosts") in.items([&] {         // ... and through a list in it
//       const JsonNode node = in.value();        // a value that is held as a whole
//       JsonObject host(in, node);               // whose members are taken by their names
//       hosts.push_back({.name = host.text("name"), .rank = host.integer("rank", {.least = 0})});
//     });
//   });
//   if (const Result<void> read = in.finish(); !read) return read.failure();
//
// Nothing has to be checked on the way: the first failure is kept, nothing is read after it, and
// values that could not be taken are 0 or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/text_table.hpp"

namespace omnio::base {

// Lines and columns count from 1; a column is a byte.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

// "document.json: line 3, column 7: reason"
Failure failureAt(const std::filesystem::path& path, TextPlace place, std::string_view reason,
                  Code code = Code::kDamaged);

struct JsonMember;

struct JsonNode {
  using List = std::vector<JsonNode>;
  using Members = std::vector<JsonMember>;  // in the document's order

  // A whole number beyond 64 bits is a double.
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Members> value;
  TextPlace place{};  // of its last byte; of a list or object the last byte before the bracket

  // nullptr when it is of another kind.
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  // A whole number too.
  std::optional<double> number() const;
  // nullptr without such a member, or when this is not an object.
  const JsonNode* find(std::string_view key) const;
  // "a whole number"
  std::string_view kind() const;
};

// No std::pair, which clang wants to be complete within JsonNode.
struct JsonMember {
  std::string first;
  JsonNode second;
};

class JsonReader {
 public:
  // With `most_bytes`, the document is a regular file of at most that size, and its texts may be
  // long; without it, it may be a pipe too, and no text is longer than 64 KiB.
  explicit JsonReader(std::filesystem::path path, std::uint64_t most_bytes = 0);
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;
  ~JsonReader();

  JsonNode value();

  // The body reads the value of each member; a name that appears twice is refused.
  template <typename Body>
  void members(Body body) {
    if (!enter('{')) return;
    for (std::string key; next(key);) body(std::string_view(key));
  }
  // The body reads each item.
  template <typename Body>
  void items(Body body) {
    if (!enter('[')) return;
    for (std::string none; next(none);) body();
  }

  // Why the document cannot be taken, and where; at the last byte that was read when not given.
  void refuse(TextPlace place, std::string_view reason, Code code = Code::kDamaged);
  void refuse(std::string_view reason, Code code = Code::kDamaged);
  TextPlace lastPlace() const;
  bool failed() const { return !state_.ok(); }
  // Calls the body, which reads no further, and forgets what it refuses, but returns it.
  template <typename Body>
  Result<void> attempt(Body body) {
    if (failed()) return state_;
    body();
    return std::exchange(state_, {});
  }
  // As it was refused in an attempt.
  void refuse(Failure failure) {
    if (!failed()) state_ = std::move(failure);
  }

  // Refuses what comes after the document's value. Fails with the first failure.
  Result<void> finish();

 private:
  class FileStream;
  class Builder;
  struct Parser;

  bool enter(char bracket);
  bool next(std::string& key);
  void refuseSyntax(int parse_error);

  std::filesystem::path path_;
  std::unique_ptr<Parser> parser_;
  Result<void> state_;
};

// The small documents: phase models, results of replays, clocks.
inline constexpr std::uint64_t kMostBytesHeld = std::uint64_t{256} << 20;

// Both ends included.
struct JsonRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// The whole number in the range that the node has to be; `name` is the name of the node, or of the
// list that it is in.
std::int64_t integerOf(JsonReader& in, std::string_view name, const JsonNode& node,
                       JsonRange range);
std::string textOf(JsonReader& in, std::string_view name, const JsonNode& node);

// Takes the members of an object. In the end, those that were never asked for are refused, unless
// others are allowed. `in` and `node` outlive it.
class JsonObject {
 public:
  enum class Others : std::uint8_t { kRefused, kAllowed };
  JsonObject(JsonReader& in, const JsonNode& node, Others others = Others::kRefused);
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject();

  // nullptr when there is none. The member may be of any kind.
  const JsonNode* find(std::string_view key);
  const JsonNode& require(std::string_view key);

  // Members that have to be there; with a fallback, that may be missing.
  bool flag(std::string_view key) { return get<bool>(key, nullptr); }
  bool flag(std::string_view key, bool fallback) { return get<bool>(key, &fallback); }
  std::string text(std::string_view key) { return get<std::string>(key, nullptr); }
  std::string text(std::string_view key, const std::string& fallback) {
    return get(key, &fallback);
  }
  std::int64_t integer(std::string_view key, JsonRange range = {}) {
    return integerOf(in_, key, require(key), range);
  }
  std::int64_t integer(std::string_view key, JsonRange range, std::int64_t fallback) {
    const JsonNode* value = find(key);
    return value == nullptr ? fallback : integerOf(in_, key, *value, range);
  }
  std::uint64_t natural(std::string_view key, JsonRange range = {.least = 0}) {
    return static_cast<std::uint64_t>(integer(key, range));
  }

  const JsonNode::List& list(std::string_view key) { return get<JsonNode::List>(key, nullptr); }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> texts;
    for (const JsonNode& item : list(key)) texts.push_back(textOf(in_, key, item));
    return texts;
  }

  // A list of whole numbers in the range.
  template <typename Number>
  std::vector<Number> integers(std::string_view key, JsonRange range) {
    std::vector<Number> numbers;
    for (const JsonNode& item : list(key)) {
      numbers.push_back(static_cast<Number>(integerOf(in_, key, item, range)));
    }
    return numbers;
  }

  // One of the words of a table.
  template <typename Value, std::size_t kCount>
  Value oneOf(std::string_view key, const Word<Value> (&words)[kCount]) {
    const JsonNode& node = require(key);
    const auto* text = node.as<std::string>();
    if (const auto value = text == nullptr ? std::nullopt : valueOf(words, *text)) return *value;
    std::string known;
    for (const auto& [value, word] : words) {
      known += known.empty() ? "; it has to be one of " : ", ";
      known += word;
    }
    refuseWord(key, node, known);
    return words[0].first;
  }
  // A word that `parse` finds the number of.
  template <typename Parse>
  std::int64_t word(std::string_view key, Parse parse) {
    const JsonNode& node = require(key);
    std::optional<std::int64_t> number;
    if (const std::string* text = node.as<std::string>()) number = parse(*text);
    if (!number) refuseWord(key, node, "");
    return number.value_or(0);
  }

  // Refuses a document that is not of this format and version; `what` is "a phase model".
  void format(std::string_view format, std::int64_t version, std::string_view what);

  // Refuses the object, or a member of it: "key" and the reason.
  void refuse(std::string_view reason) { in_.refuse(node_.place, reason); }
  void refuse(std::string_view key, std::string_view reason);

 private:
  template <typename T>
  const T& get(std::string_view key, const T* fallback);
  void refuseWord(std::string_view key, const JsonNode& node, std::string_view remedy);

  JsonReader& in_;
  const JsonNode& node_;
  const Others others_;
  std::uint64_t name_bits_ = 0;  // of the members' names
  std::uint64_t taken_ = 0;      // a bit for each member; no object of ours has more than 64
};

}  // namespace omnio::base
