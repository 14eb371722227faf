#include "core/model/compact/turn_expressions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"

namespace omnio::model {
namespace {

using base::Code;

// Reads "4096*turn+a-7".
base::Result<LinearSum> sumOf(std::string_view text, const ExpressionNames& names) {
  const auto refuse = [text](std::string_view why) {
    return base::failure(Code::kInvalid, "\"{{{}}}\": {}", base::inBrief(text), why);
  };
  LinearSum sum;
  std::size_t at = 0;
  const auto word = [&] {
    const std::size_t begin = at;
    while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0) ++at;
    return text.substr(begin, at - begin);
  };
  while (at < text.size() || sum.terms.empty()) {
    std::int64_t factor = 1;
    if (at < text.size() && (text[at] == '-' || (text[at] == '+' && at > 0))) {
      factor = text[at++] == '-' ? -1 : 1;
    } else if (at > 0) {
      return refuse("numbers and names are joined by +, - and *");
    }
    bool has_name = false;
    for (bool goes_on = true; goes_on;) {
      const std::string_view part = word();
      if (part.empty()) return refuse("a number or a name is missing");
      if (const auto number = base::wholeNumber<std::int64_t>(part)) {
        if (__builtin_mul_overflow(factor, *number, &factor)) return refuse("beyond any number");
      } else if (std::isdigit(static_cast<unsigned char>(part[0])) != 0) {
        return refuse("beyond any number");
      } else if (has_name) {
        return refuse("a product of two names");
      } else {
        const auto found = names.find(part);
        if (found == names.end()) {
          std::string known;
          for (const auto& [name, place] : names) known += (known.empty() ? "" : ", ") + name;
          return base::failure(Code::kInvalid, "\"{{{}}}\": {} is not one of {}",
                               base::inBrief(text), base::inBrief(part), known);
        }
        sum.terms.emplace_back(found->second, 0);
        has_name = true;
      }
      goes_on = at < text.size() && text[at] == '*';
      if (goes_on) ++at;
    }
    if (has_name) {
      sum.terms.back().second = factor;
    } else if (__builtin_add_overflow(sum.constant, factor, &sum.constant)) {
      return refuse("beyond any number");
    }
    if (at >= text.size()) break;
  }
  return sum;
}

}  // namespace

std::optional<std::int64_t> LinearSum::at(std::span<const std::int64_t> values) const {
  // In 128 bits, so that only the result counts. Sixty-four terms cannot reach their end.
  __extension__ __int128 sum = constant;
  for (const auto& [place, factor] : terms) {
    sum += static_cast<__int128>(values[place]) * factor;
  }
  if (sum > INT64_MAX || sum < INT64_MIN) return {};
  return static_cast<std::int64_t>(sum);
}

bool LinearSum::uses(std::size_t place) const {
  return std::ranges::find(terms, place, &std::pair<std::size_t, std::int64_t>::first) !=
         terms.end();
}

bool TurnText::uses(std::size_t place) const {
  return std::ranges::any_of(parts_, [place](const Part& part) { return part.sum.uses(place); });
}

bool TurnText::hasSums() const { return std::ranges::any_of(parts_, &Part::is_sum); }

std::optional<std::string> TurnText::at(std::span<const std::int64_t> values) const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.text;
    if (!part.is_sum) continue;
    const auto number = part.sum.at(values);
    if (!number || *number < 0) return {};
    fmt::format_to(std::back_inserter(text), "{:0{}}", *number, std::max(part.width, 1));
  }
  return text;
}

base::Result<TurnText> TurnText::parsed(std::string_view text, const ExpressionNames& names) {
  constexpr std::size_t kMostTerms = 64;
  TurnText result;
  std::string before;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_double = at + 1 < text.size() && text[at + 1] == c;
    if ((c == '{' || c == '}') && is_double) {
      before += c;
      ++at;
    } else if (c == '}') {
      return base::failure(Code::kInvalid,
                           "a }} without its {{: a brace of a name is written twice in a loop");
    } else if (c != '{') {
      before += c;
    } else {
      const std::size_t end = text.find('}', at);
      if (end == std::string_view::npos) {
        return base::failure(Code::kInvalid,
                             "a {{ without its }}: a brace of a name is written twice in a loop");
      }
      std::string_view inside = text.substr(at + 1, end - at - 1);
      Part part{.text = std::exchange(before, {}), .is_sum = true, .sum = {}, .width = 0};
      if (const std::size_t colon = inside.find(':'); colon != std::string_view::npos) {
        const std::string_view digits = inside.substr(colon + 1);
        const auto width = base::wholeNumber<int>(digits);
        constexpr int kMostDigits = 18;
        if (!width || *width < 1 || *width > kMostDigits || digits[0] != '0') {
          return base::failure(Code::kInvalid, "\"{{{}}}\": a width is 01 to 018",
                               base::inBrief(inside));
        }
        part.width = *width;
        inside = inside.substr(0, colon);
      }
      auto sum = sumOf(inside, names);
      if (!sum) return sum.failure();
      if (sum->terms.size() > kMostTerms) {
        return base::failure(Code::kInvalid, "an expression with more than {} names", kMostTerms);
      }
      part.sum = std::move(*sum);
      result.parts_.push_back(std::move(part));
      at = end;
    }
  }
  if (!before.empty() || result.parts_.empty()) {
    result.parts_.push_back({.text = std::move(before), .is_sum = false, .sum = {}, .width = 0});
  }
  return result;
}

}  // namespace omnio::model
