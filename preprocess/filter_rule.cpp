#include "preprocess/filter_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/calls/words/names.hpp"

namespace omnio::preprocess {
namespace {

struct Word {
  std::string_view text;
  FilterSubject subject;
};
constexpr std::array<Word, 8> kSubjects = {{{"path", FilterSubject::kPath},
                                            {"call", FilterSubject::kCall},
                                            {"class", FilterSubject::kClass},
                                            {"rank", FilterSubject::kRank},
                                            {"thread", FilterSubject::kThread},
                                            {"window", FilterSubject::kWindow},
                                            {"request", FilterSubject::kRequest},
                                            {"file-size", FilterSubject::kFileSize}}};

bool isSize(FilterSubject subject) {
  return subject == FilterSubject::kRequest || subject == FilterSubject::kFileSize;
}

// Each without the backslash of a comma.
std::vector<std::string> conditionsOf(std::string_view text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      parts.emplace_back();
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      if (text[i + 1] != ',') parts.back() += '\\';
      parts.back() += text[++i];
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

std::optional<std::uint64_t> readBytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (!text.empty()) {
    const std::size_t unit = kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * static_cast<unsigned>(unit + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = base::wholeNumber<std::uint64_t>(text);
  if (!number || *number > (std::numeric_limits<std::uint64_t>::max() >> shift)) return {};
  return *number << shift;
}

// N or N-M.
bool readRange(std::string_view text, FilterCondition& condition) {
  const std::size_t dash = text.find('-');
  const auto first = base::wholeNumber<std::uint64_t>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos
                        ? first
                        : base::wholeNumber<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first) return false;
  condition.least = *first;
  condition.most = *last;
  return true;
}

bool readSize(std::string_view sign, std::string_view text, FilterCondition& condition) {
  const auto bytes = readBytes(text);
  if (!bytes) return false;
  if (sign == "=") condition.least = condition.most = *bytes;
  if (sign == ">=") condition.least = *bytes;
  if (sign == "<=") condition.most = *bytes;
  if (sign == ">") {
    if (*bytes == std::numeric_limits<std::uint64_t>::max()) return false;
    condition.least = *bytes + 1;
  }
  if (sign == "<") {
    if (*bytes == 0) return false;  // nothing is
    condition.most = *bytes - 1;
  }
  return true;
}

template <typename Matches>
bool readCalls(Matches matches, FilterCondition& condition) {
  for (const calls::Row& row : calls::kTable) {
    if (row.number != 0 && matches(row)) condition.calls.set(row.number);
  }
  return condition.calls.any();
}

base::Result<FilterCondition> readCondition(const std::string& text) {
  const auto refused = [&text](std::string_view why) {
    return base::failure(base::Code::kInvalid, "`{}` {}", base::printable(text), why);
  };
  if (text.empty()) return refused("is not a condition");
  FilterCondition condition;
  const std::size_t word_end = text.find_first_of("=<>");
  if (word_end == std::string::npos) {
    condition.pattern = text;
    return condition;
  }
  const std::string_view word = std::string_view(text).substr(0, word_end);
  const std::size_t value_at = text.find_first_not_of("=<>", word_end);
  const std::string_view sign =
      std::string_view(text).substr(word_end, std::min(value_at, text.size()) - word_end);
  const std::string_view value =
      value_at == std::string::npos ? std::string_view() : std::string_view(text).substr(value_at);
  const auto subject = std::ranges::find(kSubjects, word, &Word::text);
  if (subject == kSubjects.end()) {
    return refused(
        "is about none of path, call, class, rank, thread, window, request and file-size");
  }
  condition.subject = subject->subject;
  const bool is_sign =
      sign == "=" ||
      (isSize(condition.subject) && (sign == "<" || sign == "<=" || sign == ">" || sign == ">="));
  if (!is_sign) return refused(fmt::format("has `{}` where `=` has to be", sign));
  switch (condition.subject) {
    case FilterSubject::kPath:
      condition.pattern = value;
      if (value.empty()) return refused("has no pattern");
      break;
    case FilterSubject::kCall:
      if (!readCalls([&](const calls::Row& row) { return calls::isNamed(row, value); },
                     condition)) {
        return refused("names no call that is recorded");
      }
      break;
    case FilterSubject::kClass:
      if (!readCalls(
              [&](const calls::Row& row) { return calls::className(row.call_class) == value; },
              condition)) {
        return refused("names no class of calls (read, write, metadata, ...)");
      }
      break;
    case FilterSubject::kRank:
    case FilterSubject::kThread:
      if (!readRange(value, condition)) return refused("is not a number, or two as in 0-15");
      break;
    case FilterSubject::kWindow: {
      const base::Result<tracefile::Window> window = tracefile::readWindow(value);
      if (!window) return window.failure();
      condition.window = *window;
      break;
    }
    case FilterSubject::kRequest:
    case FilterSubject::kFileSize:
      if (!readSize(sign, value, condition)) return refused("has no number of bytes that can be");
      break;
  }
  return condition;
}

}  // namespace

bool FilterRule::asksFor(FilterSubject subject) const {
  return std::ranges::any_of(conditions,
                             [subject](const FilterCondition& c) { return c.subject == subject; });
}

const FilterRule* FilterRules::firstThatSplitsGroups() const {
  for (const std::vector<FilterRule>* rules : {&include, &exclude}) {
    for (const FilterRule& rule : *rules) {
      for (const FilterSubject subject : {FilterSubject::kRank, FilterSubject::kThread,
                                          FilterSubject::kWindow, FilterSubject::kRequest}) {
        if (rule.asksFor(subject)) return &rule;
      }
    }
  }
  return nullptr;
}

std::string FilterRules::text() const {
  std::string text;
  for (const auto& [option, rules] : {std::pair("--include", &include), {"--exclude", &exclude}}) {
    for (const FilterRule& rule : *rules) {
      text += fmt::format("{}{} '{}'", text.empty() ? "" : " ", option, base::printable(rule.text));
    }
  }
  return text;
}

base::Result<FilterRule> parseFilterRule(std::string_view text) {
  FilterRule rule{.text = std::string(text), .conditions = {}};
  for (const std::string& part : conditionsOf(text)) {
    base::Result<FilterCondition> condition = readCondition(part);
    if (!condition) return condition.failure();
    rule.conditions.push_back(std::move(*condition));
  }
  return rule;
}

}  // namespace omnio::preprocess
