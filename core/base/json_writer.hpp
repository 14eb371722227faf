// Writes JSON to the end of a string: a whole document, or one line.
//
//   const std::string text = jsonDocument("omnio-example", 1, {.indent = 2}, [&](auto& json) {
//     json.put("rank", std::optional<int>());             // null
//     json.put("sizes", std::vector<int>{1, 2});          // a list of plain values
//     json.list("hosts", hosts, [&](const Host& host) {   // a list of whatever the body writes
//       json.object([&] { json.put("name", base::printable(host.name)); });
//     });
//   });
//
// A text reads back as it was given (appendJsonText() in printable.hpp). A name from outside is
// passed to printable() first, as printable.hpp has the rule.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace omnio::base {

struct JsonLayout {
  int indent = 0;                  // blanks for each level; 0: all on one line, without blanks
  bool lists_on_one_line = false;  // with an indent: a line for each member, but none for items
  int decimals = 324;              // digits after the point that are kept: all by default
};

class JsonWriter {
 public:
  // `out` outlives the writer.
  explicit JsonWriter(std::string& out, JsonLayout layout = {}) : out_(out), layout_(layout) {}
  // Goes on with an object that is open at the end of `out`; endObject() closes it.
  static JsonWriter inObject(std::string& out);
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void key(std::string_view name);
  void beginObject() { begin('{', false); }
  void endObject() { end('}'); }
  void beginList() { begin('[', layout_.lists_on_one_line); }
  void endList() { end(']'); }
  void null() { raw("null"); }

  // A value: true or false, a number, a text, an optional one (null when it is not there), or a
  // range of these as a list. A number that JSON cannot hold (infinite, or none) becomes null.
  template <typename T>
  void value(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      raw(value ? "true" : "false");
    } else if constexpr (std::floating_point<T>) {
      real(value);
    } else if constexpr (std::integral<T>) {
      char digits[std::numeric_limits<T>::digits10 + 3];  // with a sign
      raw({std::begin(digits), std::to_chars(std::begin(digits), std::end(digits), value).ptr});
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      text(value);
    } else if constexpr (requires { value.has_value(); }) {
      if (value.has_value()) {
        this->value(*value);
      } else {
        null();
      }
    } else {
      list(value, [this](const auto& item) { this->value(item); });
    }
  }

  // A value that is JSON already, on one line.
  void verbatim(std::string_view json) { raw(json); }

  template <typename T>
  void put(std::string_view name, const T& value) {
    key(name);
    this->value(value);
  }

  // The body writes the members.
  template <typename Body>
  void object(Body body) {
    beginObject();
    body();
    endObject();
  }
  template <typename Body>
  void object(std::string_view name, Body body) {
    key(name);
    object(body);
  }

  // The body is called with each item and writes one value.
  template <typename Range, typename Body>
  void list(const Range& items, Body body) {
    beginList();
    for (const auto& item : items) body(item);
    endList();
  }
  template <typename Range, typename Body>
  void list(std::string_view name, const Range& items, Body body) {
    key(name);
    list(items, body);
  }

 private:
  struct Level {
    bool on_one_line;
    bool has_items = false;
  };
  JsonWriter(std::string& out, Level open) : out_(out), levels_{open} {}

  void begin(char bracket, bool on_one_line);
  void end(char bracket);
  void separate();  // what comes before a member, an item or the value of a member
  void newLine();
  void raw(std::string_view token);
  void real(double number);
  void text(std::string_view text);

  std::string& out_;
  JsonLayout layout_{};
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// Appends a whole document, with a newline at its end. The body is called with the writer and
// writes the members that follow the format and its version. It may take away what has been
// appended: a long document need not be in memory as a whole.
template <typename Body>
void appendJsonDocument(std::string& out, std::string_view format, int version, JsonLayout layout,
                        Body body) {
  JsonWriter json(out, layout);
  json.object([&] {
    json.put("format", format);
    json.put("version", version);
    body(json);
  });
  out += '\n';
}

template <typename Body>
std::string jsonDocument(std::string_view format, int version, JsonLayout layout, Body body) {
  std::string out;
  appendJsonDocument(out, format, version, layout, body);
  return out;
}

}  // namespace omnio::base
