#include "core/model/line_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/base/integers.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {
namespace {

// Marks of places in a shape. JSON text has no such bytes.
constexpr char kNumber = '\x01';
constexpr char kMeasure = '\x02';
constexpr char kInName = '\x03';
constexpr char kPadded = '\x04';  // and a byte more: kWidthBase and the width
constexpr char kWidthBase = 0x20;
constexpr char kMeasures = '\x07';  // a list of them; the number of its items and kListEnd follow
constexpr char kListEnd = '\x08';
constexpr char kNameBrace = '\x05';  // '{' in a name; kNameBraceEnd is '}'
constexpr char kNameBraceEnd = '\x06';

// Says whether an event has work of its thread: 1 or 0. No document has it.
constexpr std::string_view kWorkKey = "work";
constexpr std::string_view kWork = "\"work\":";

// Longer runs of digits do not fit into a number.
constexpr std::size_t kMostDigits = 18;

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
  return key == "gap" || key == "duration" || key == kWorkKey || key == "compute" ||
         key == "communication";
}

bool isNameKey(std::string_view key) {
  return key == "location" || key == "newlocation" || key == "target" || key == "source";
}

std::uint32_t LineKinds::split(std::string_view line) {
  shape_.clear();
  numbers_.clear();
  measures_.clear();
  std::string_view key;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == '"') {
      const std::size_t end = textEnd(line, at);
      const std::string_view text = line.substr(at, end - at);
      at = end;
      if (at < line.size() && line[at] == ':') {
        key = text.substr(1, text.size() - 2);
        shape_ += text;
        continue;
      }
      if (!isNameKey(key)) {
        shape_ += text;
        continue;
      }
      // An escape by its number has digits that are none of the name.
      const bool keeps_numbers =
          text.find("\\u") != std::string_view::npos || !canHaveExpressions(text);
      for (std::size_t i = 0; i < text.size();) {
        const std::size_t digits = digitsFrom(text, i);
        if (digits == 0) {
          shape_ += text[i] == '{' ? kNameBrace : text[i] == '}' ? kNameBraceEnd : text[i];
          ++i;
          continue;
        }
        if (keeps_numbers || digits > kMostDigits) {
          shape_ += text.substr(i, digits);
        } else {
          if (text[i] == '0' && digits > 1) {
            shape_ += kPadded;
            shape_ += static_cast<char>(kWidthBase + static_cast<char>(digits));
          } else {
            shape_ += kInName;
          }
          numbers_.push_back(numberOf(text.substr(i, digits)));
        }
        i += digits;
      }
      continue;
    }
    if (c == '[' && isMeasureKey(key)) {
      const std::size_t before = measures_.size();
      while (at < line.size() && line[at] != ']') {
        ++at;
        const std::size_t length =
            (line[at] == '-' ? 1 : 0) + digitsFrom(line, at + (line[at] == '-' ? 1 : 0));
        measures_.push_back(numberOf(line.substr(at, length)));
        at += length;
      }
      ++at;
      shape_ += fmt::format("{}{}{}", kMeasures, measures_.size() - before, kListEnd);
      continue;
    }
    if (c == '}') key = {};  // what follows in a list has no key
    const std::size_t sign = c == '-' ? 1 : 0;
    const std::size_t digits = digitsFrom(line, at + sign);
    // A fraction or an exponent is text.
    const std::size_t end = at + sign + digits;
    const bool is_whole = end >= line.size() || (line[end] != '.' && line[end] != 'e');
    if (digits == 0 || digits > kMostDigits || !is_whole) {
      std::size_t length = std::max<std::size_t>(1, sign + digits);
      if (!is_whole && digits > 0) {
        while (at + length < line.size() && line[at + length] != ',' && line[at + length] != '}' &&
               line[at + length] != ']') {
          ++length;
        }
      }
      shape_ += line.substr(at, length);
      at += length;
      continue;
    }
    const bool is_measure = isMeasureKey(key);
    shape_ += is_measure ? kMeasure : kNumber;
    (is_measure ? measures_ : numbers_).push_back(numberOf(line.substr(at, sign + digits)));
    at = end;
  }
  const auto [place, is_new] =
      kinds_.try_emplace(shape_, static_cast<std::uint32_t>(shapes_.size()));
  if (is_new) shapes_.push_back(shape_);
  return place->second;
}

namespace {

std::int64_t roundedMean(std::int64_t sum, std::uint64_t count) {
  if (count <= 1) return sum;
  return std::llround(static_cast<long double>(sum) / static_cast<long double>(count));
}

}  // namespace

std::int64_t meanOf(const pattern::Measures& measures, std::size_t index, std::size_t length) {
  if (index == 0)
    return measures.first_count == 0 ? 0 : roundedMean(measures.sums[0], measures.first_count);
  std::int64_t sum = 0;
  for (std::size_t i = index; i < index + length; ++i) {
    sum = base::saturatingSum(sum, measures.sums[i]);
  }
  return roundedMean(sum, measures.count * length);
}

std::string listName(std::size_t index) {
  std::string name(1, static_cast<char>('a' + index % 26));
  for (index /= 26; index > 0; index /= 26) {
    --index;
    name.insert(name.begin(), static_cast<char>('a' + index % 26));
  }
  return name;
}

std::string expressionOf(const pattern::Field& field, std::size_t width,
                         const LineContext& context) {
  std::string text;
  const auto term = [&text](std::int64_t factor, std::string_view name) {
    if (factor == 0) return;
    if (factor > 0 && !text.empty()) text += '+';
    if (factor == -1) text += '-';
    if (factor != 1 && factor != -1) text += fmt::format("{}*", factor);
    text += name;
  };
  for (std::size_t i = 0; i < field.steps.size(); ++i) {
    if (i == 0 && context.is_shared) {
      term(field.steps[i], "rank");
    } else {
      const std::size_t from_inside = field.steps.size() - i;
      term(field.steps[i], from_inside == 1 ? "turn" : fmt::format("turn{}", from_inside));
    }
  }
  if (field.list_loop != pattern::Field::kNoList) term(1, listName(field.list));
  if (field.base != 0 || text.empty()) {
    if (field.base >= 0 && !text.empty()) text += '+';
    text += fmt::format("{}", field.base);
  }
  return width > 0 ? fmt::format("{{{}:0{}}}", text, width) : fmt::format("{{{}}}", text);
}

bool LineKinds::canLackMeasures(std::uint32_t kind) const {
  const std::string& shape = shapes_[kind];
  return shape.find("\"why\":\"file\",\"compute\"") == std::string::npos &&
         shape.find("\"why\":\"name\",\"compute\"") == std::string::npos;
}

std::vector<std::string> LineKinds::keysOf(std::uint32_t kind) const {
  std::vector<std::string> keys;
  const std::string& shape = shapes_[kind];
  std::string key;
  for (std::size_t at = 0; at < shape.size(); ++at) {
    if (shape[at] == kNumber) keys.push_back(key);
    if (shape[at] != '"') continue;
    // A text, whose widths may look like a quote.
    const std::size_t begin = ++at;
    std::size_t numbers = 0;
    while (at < shape.size() && shape[at] != '"') {
      numbers += shape[at] == kInName || shape[at] == kPadded ? 1 : 0;
      at += shape[at] == '\\' || shape[at] == kPadded ? 2 : 1;
    }
    if (at + 1 < shape.size() && shape[at + 1] == ':') key = shape.substr(begin, at - begin);
    keys.insert(keys.end(), numbers, key);
  }
  return keys;
}

std::string LineKinds::withoutWidths(std::uint32_t kind) const {
  std::string text;
  const std::string& shape = shapes_[kind];
  for (std::size_t at = 0; at < shape.size(); ++at) {
    const bool is_padded = shape[at] == kPadded;
    text += is_padded ? kInName : shape[at];
    if (is_padded) ++at;  // its width
  }
  return text;
}

std::size_t LineKinds::paddedNumbers(std::uint32_t kind) const {
  return static_cast<std::size_t>(std::ranges::count(shapes_[kind], kPadded));
}

void LineKinds::append(std::string& out, std::uint32_t kind,
                       const std::vector<pattern::Field>& fields, const pattern::Measures& measures,
                       const LineContext& context) const {
  const bool is_template = context.loops > 0 || context.is_shared;
  constexpr std::string_view kNoCommunication = ",\"communication\":";
  std::size_t field = 0;
  std::size_t measure = 0;
  // For the thread's own work: the events that have it, and the measures of it that follow.
  std::uint64_t work_count = 0;
  std::size_t work_left = 0;
  const std::string& shape = shapes_[kind];
  for (std::size_t i = 0; i < shape.size(); ++i) {
    switch (shape[i]) {
      case kNumber: {
        const pattern::Field& number = fields[field++];
        if (number.varies()) {
          out += fmt::format("\"{}\"", expressionOf(number, 0, context));
        } else {
          fmt::format_to(std::back_inserter(out), "{}", number.base);
        }
        break;
      }
      case kMeasures:
      case kMeasure: {
        std::size_t count = 1;
        if (shape[i] == kMeasures) {
          const std::size_t end = shape.find(kListEnd, i);
          count = static_cast<std::size_t>(
              numberOf(std::string_view(shape).substr(i + 1, end - i - 1)));
          i = end;
        }
        const bool says_work = out.ends_with(kWork);
        if (says_work) {
          work_count = static_cast<std::uint64_t>(measures.sums[measure]);
          work_left = kTimesOfWork;
        }
        const bool lacks_work = work_left > 0 && work_count == 0;
        const bool is_work = !says_work && work_left > 0;
        if (is_work) --work_left;
        if (says_work && context.has_measures && !lacks_work && work_count < measures.count) {
          // Not all of the events that the line stands for have some.
          out.resize(out.size() - kWork.size());
          const std::uint64_t divisor = std::gcd(work_count, measures.count);
          fmt::format_to(std::back_inserter(out), "\"share\":[{},{}]", work_count / divisor,
                         measures.count / divisor);
          measure += count;
          break;
        }
        if (!context.has_measures || says_work || lacks_work) {
          // The key goes, and one comma.
          out.resize(out.rfind('"', out.size() - 3));
          if (out.back() == ',') {
            out.pop_back();
          } else if (i + 1 < shape.size() && shape[i + 1] == ',') {
            ++i;
          }
          measure += count;
          break;
        }
        const std::int64_t mean = is_work ? roundedMean(measures.sums[measure], work_count)
                                          : meanOf(measures, measure, count);
        measure += count;
        if (mean == 0 && out.ends_with(kNoCommunication)) {
          out.resize(out.size() - kNoCommunication.size());
        } else {
          fmt::format_to(std::back_inserter(out), "{}", mean);
        }
        break;
      }
      case kInName:
      case kPadded: {
        const pattern::Field& number = fields[field++];
        const bool is_padded = shape[i] == kPadded;
        const std::size_t width =
            is_padded ? static_cast<std::size_t>(shape[++i] - kWidthBase) : std::size_t{0};
        out += number.varies()
                   ? expressionOf(number, width, context)
                   : fmt::format("{:0{}}", number.base, std::max<std::size_t>(width, 1));
        break;
      }
      case kNameBrace:
        out += is_template ? "{{" : "{";
        break;
      case kNameBraceEnd:
        out += is_template ? "}}" : "}";
        break;
      default:
        out += shape[i];
    }
  }
}

}  // namespace omnio::model
