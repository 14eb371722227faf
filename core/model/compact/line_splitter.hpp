// A line of JSON (an event or a file of a schedule) taken apart into what it has in common with
// other lines, its shape, and its numbers (docs/formats/schedule.md, "Loops"). Events are written
// with the same functions as by base::JsonWriter, so an event need not become text first.
//
// - Numbers are whole numbers outside of texts, and runs of digits in names (isNameKey).
// - Measures are the values of the times (isMeasureKey).
// - The shape is the text of the line, with the marks of line_shape.hpp in place of both.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace omnio::model {

// "gap", "duration", "compute", "communication" in ns, and "work", which says whether there are the
// latter two: what is not the same in two runs.
bool isMeasureKey(std::string_view key);
// "location", "newlocation", "target", "source" of a file: names, in whose text numbers may change.
bool isNameKey(std::string_view key);

class LineSplitter {
 public:
  // Begins another line.
  void clear();
  // A whole line: a JSON object without line breaks.
  void line(std::string_view json);

  // As those of base::JsonWriter. Keys have nothing to be escaped.
  void key(std::string_view name);
  void beginObject();
  void endObject();
  void beginList();
  void endList();
  template <typename T>
  void value(const T& value) {
    if constexpr (std::integral<T>) {
      static_assert(!std::same_as<T, bool>);
      whole(value);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      text(value);
    } else {
      list(value, [this](const auto& item) { this->value(item); });
    }
  }
  template <typename T>
  void put(std::string_view name, const T& value) {
    key(name);
    this->value(value);
  }
  template <typename Body>
  void object(Body body) {
    beginObject();
    body();
    endObject();
  }
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

  const std::string& shape() const { return shape_; }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  const std::vector<std::int64_t>& measures() const { return measures_; }

 private:
  void separate();
  void setKey(std::string_view name);
  void number(std::int64_t number);
  template <std::integral T>
  void whole(T value) {
    separate();
    if (std::in_range<std::int64_t>(value) &&
        (in_measures_ || isShort(static_cast<std::int64_t>(value)))) {
      number(static_cast<std::int64_t>(value));
    } else {
      shape_ += std::to_string(value);
    }
  }
  static bool isShort(std::int64_t number);
  void text(std::string_view text);
  void quoted(std::string_view json);
  void name(std::string_view json);
  void measureList(std::size_t count);

  std::string shape_;
  std::vector<std::int64_t> numbers_;
  std::vector<std::int64_t> measures_;
  // About the key that was read last, which values of a list have, too.
  bool is_measure_ = false;
  bool is_name_ = false;
  bool needs_comma_ = false;
  bool in_measures_ = false;  // in a list of them
  std::size_t measures_before_list_ = 0;
};

}  // namespace omnio::model
