#include "core/model/compact/line_splitter.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/base/printable.hpp"
#include "core/model/compact/line_shape.hpp"

namespace omnio::model {
namespace {

// Longer runs of digits do not fit into a number.
constexpr std::size_t kMostDigits = 18;
constexpr std::int64_t kFirstLong = 1'000'000'000'000'000'000;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::int64_t numberOf(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::size_t digitsFrom(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && isDigit(text[end])) ++end;
  return end - at;
}

// Whether the numbers of a name may change from turn to turn: each may become a long expression,
// and a reader takes texts of 64 KiB.
bool canHaveExpressions(std::string_view text) {
  constexpr std::size_t kLongest = 4096;
  constexpr std::size_t kMostNumbers = 32;
  if (text.size() > kLongest) return false;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    numbers += isDigit(text[i]) && !isDigit(text[i - 1]) ? 1 : 0;
  }
  return numbers <= kMostNumbers;
}

// Where the JSON text that begins at `at` ends: one past its closing quote.
std::size_t textEnd(std::string_view line, std::size_t at) {
  std::size_t end = at + 1;
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
  return std::min(end + 1, line.size());
}

}  // namespace

bool isMeasureKey(std::string_view key) {
  return key == "gap" || key == "duration" || key == mark::kWorkKey || key == "compute" ||
         key == "communication";
}

bool isNameKey(std::string_view key) {
  return key == "location" || key == "newlocation" || key == "target" || key == "source";
}

void LineSplitter::clear() {
  shape_.clear();
  numbers_.clear();
  measures_.clear();
  is_measure_ = is_name_ = needs_comma_ = in_measures_ = false;
}

void LineSplitter::separate() {
  if (std::exchange(needs_comma_, true) && !in_measures_) shape_ += ',';
}

void LineSplitter::setKey(std::string_view name) {
  is_measure_ = isMeasureKey(name);
  is_name_ = isNameKey(name);
}

void LineSplitter::key(std::string_view name) {
  separate();
  needs_comma_ = false;
  shape_ += '"';
  shape_ += name;
  shape_ += "\":";
  setKey(name);
}

void LineSplitter::beginObject() {
  separate();
  needs_comma_ = false;
  shape_ += '{';
}

void LineSplitter::endObject() {
  shape_ += '}';
  needs_comma_ = true;
  // Values behind it in a list have no key.
  is_measure_ = is_name_ = false;
}

void LineSplitter::beginList() {
  separate();
  needs_comma_ = false;
  in_measures_ = is_measure_;
  measures_before_list_ = measures_.size();
  if (!in_measures_) shape_ += '[';
}

void LineSplitter::endList() {
  needs_comma_ = true;
  if (std::exchange(in_measures_, false)) {
    measureList(measures_.size() - measures_before_list_);
  } else {
    shape_ += ']';
  }
}

void LineSplitter::measureList(std::size_t count) {
  shape_ += mark::kMeasures;
  shape_ += std::to_string(count);
  shape_ += mark::kListEnd;
}

bool LineSplitter::isShort(std::int64_t number) {
  return number < kFirstLong && number > -kFirstLong;
}

void LineSplitter::number(std::int64_t number) {
  if (is_measure_) {
    measures_.push_back(number);
    if (!in_measures_) shape_ += mark::kMeasure;
  } else {
    numbers_.push_back(number);
    shape_ += mark::kNumber;
  }
}

void LineSplitter::text(std::string_view text) {
  separate();
  if (is_name_) {
    std::string json;
    base::appendJsonText(json, text);
    name(json);
  } else {
    base::appendJsonText(shape_, text);
  }
}

void LineSplitter::quoted(std::string_view json) {
  if (is_name_) return name(json);
  shape_ += json;
}

void LineSplitter::name(std::string_view json) {
  // An escape by its number has digits that are none of the name.
  const bool keeps_numbers =
      json.find("\\u") != std::string_view::npos || !canHaveExpressions(json);
  for (std::size_t i = 0; i < json.size();) {
    const std::size_t digits = digitsFrom(json, i);
    if (digits == 0) {
      shape_ += json[i] == '{' ? mark::kNameBrace : json[i] == '}' ? mark::kNameBraceEnd : json[i];
      ++i;
      continue;
    }
    if (keeps_numbers || digits > kMostDigits) {
      shape_ += json.substr(i, digits);
    } else {
      if (json[i] == '0' && digits > 1) {
        shape_ += mark::kPadded;
        shape_ += static_cast<char>(mark::kWidthBase + static_cast<char>(digits));
      } else {
        shape_ += mark::kInName;
      }
      numbers_.push_back(numberOf(json.substr(i, digits)));
    }
    i += digits;
  }
}

void LineSplitter::line(std::string_view json) {
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      const std::size_t end = textEnd(json, at);
      const std::string_view text = json.substr(at, end - at);
      at = end;
      if (at < json.size() && json[at] == ':') {
        setKey(text.substr(1, text.size() - 2));
        shape_ += text;
      } else {
        quoted(text);
      }
      continue;
    }
    if (c == '[' && is_measure_) {
      const std::size_t before = measures_.size();
      while (at < json.size() && json[at] != ']') {
        ++at;
        const std::size_t length =
            (json[at] == '-' ? 1 : 0) + digitsFrom(json, at + (json[at] == '-' ? 1 : 0));
        measures_.push_back(numberOf(json.substr(at, length)));
        at += length;
      }
      ++at;
      measureList(measures_.size() - before);
      continue;
    }
    if (c == '}') is_measure_ = is_name_ = false;  // what follows in a list has no key
    const std::size_t sign = c == '-' ? 1 : 0;
    const std::size_t digits = digitsFrom(json, at + sign);
    // A fraction or an exponent is text.
    const std::size_t end = at + sign + digits;
    const bool is_whole = end >= json.size() || (json[end] != '.' && json[end] != 'e');
    if (digits == 0 || digits > kMostDigits || !is_whole) {
      std::size_t length = std::max<std::size_t>(1, sign + digits);
      if (!is_whole && digits > 0) {
        while (at + length < json.size() && json[at + length] != ',' && json[at + length] != '}' &&
               json[at + length] != ']') {
          ++length;
        }
      }
      shape_ += json.substr(at, length);
      at += length;
      continue;
    }
    number(numberOf(json.substr(at, sign + digits)));
    at = end;
  }
}

}  // namespace omnio::model
