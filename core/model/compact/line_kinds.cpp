#include "core/model/compact/line_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/base/integers.hpp"
#include "core/model/compact/line_shape.hpp"
#include "core/model/schedule_keys.hpp"

namespace omnio::model {

namespace {

constexpr std::string_view kWork = "\"work\":";

std::int64_t roundedMean(std::int64_t sum, std::uint64_t count) {
  if (count <= 1) return sum;
  return std::llround(static_cast<long double>(sum) / static_cast<long double>(count));
}

}  // namespace

std::uint32_t LineKinds::kindOf(const LineSplitter& line) {
  const auto [place, is_new] =
      kinds_.try_emplace(line.shape(), static_cast<std::uint32_t>(shapes_.size()));
  if (is_new) shapes_.push_back(line.shape());
  return place->second;
}

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
    if (shape[at] == mark::kNumber) keys.push_back(key);
    if (shape[at] != '"') continue;
    // A text, whose widths may look like a quote.
    const std::size_t begin = ++at;
    std::size_t numbers = 0;
    while (at < shape.size() && shape[at] != '"') {
      numbers += shape[at] == mark::kInName || shape[at] == mark::kPadded ? 1 : 0;
      at += shape[at] == '\\' || shape[at] == mark::kPadded ? 2 : 1;
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
    const bool is_padded = shape[at] == mark::kPadded;
    text += is_padded ? mark::kInName : shape[at];
    if (is_padded) ++at;  // its width
  }
  return text;
}

std::size_t LineKinds::paddedNumbers(std::uint32_t kind) const {
  return static_cast<std::size_t>(std::ranges::count(shapes_[kind], mark::kPadded));
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
      case mark::kNumber: {
        const pattern::Field& number = fields[field++];
        if (number.varies()) {
          out += fmt::format("\"{}\"", expressionOf(number, 0, context));
        } else {
          fmt::format_to(std::back_inserter(out), "{}", number.base);
        }
        break;
      }
      case mark::kMeasures:
      case mark::kMeasure: {
        std::size_t count = 1;
        if (shape[i] == mark::kMeasures) {
          const std::size_t end = shape.find(mark::kListEnd, i);
          count = static_cast<std::size_t>(std::strtoull(shape.c_str() + i + 1, nullptr, 10));
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
      case mark::kInName:
      case mark::kPadded: {
        const pattern::Field& number = fields[field++];
        const bool is_padded = shape[i] == mark::kPadded;
        const std::size_t width =
            is_padded ? static_cast<std::size_t>(shape[++i] - mark::kWidthBase) : std::size_t{0};
        out += number.varies()
                   ? expressionOf(number, width, context)
                   : fmt::format("{:0{}}", number.base, std::max<std::size_t>(width, 1));
        break;
      }
      case mark::kNameBrace:
        out += is_template ? "{{" : "{";
        break;
      case mark::kNameBraceEnd:
        out += is_template ? "}}" : "}";
        break;
      default:
        out += shape[i];
    }
  }
}

}  // namespace omnio::model
