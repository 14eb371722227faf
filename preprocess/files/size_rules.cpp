#include "preprocess/files/size_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/printable.hpp"
#include "core/wire/path_pattern.hpp"

namespace omnio::preprocess {
namespace {

// Larger and smaller factors would leave the range of the numbers that sizes have.
constexpr double kLeastFactor = 1e-6;
constexpr double kLargestFactor = 1e6;

bool matches(const model::SizeScale& rule, std::string_view path) {
  return wire::matchesPattern(rule.pattern, {.directory = {}, .name = path});
}

}  // namespace

base::Result<SizeRules> SizeRules::read(const std::vector<std::string>& words) {
  SizeRules rules;
  bool has_plain = false;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    const bool has_pattern = equals != std::string::npos;
    const std::string pattern = has_pattern ? word.substr(0, equals) : std::string();
    const std::string number = has_pattern ? word.substr(equals + 1) : word;
    if (has_pattern && pattern.empty()) {
      return base::failure(base::Code::kInvalid,
                           "--size-scale {}: the pattern in front of = is empty",
                           base::printable(word));
    }
    char* end = nullptr;
    const double factor = std::strtod(number.c_str(), &end);
    const bool is_number = end != number.c_str() && *end == '\0' && std::isfinite(factor);
    if (!is_number || factor < kLeastFactor || factor > kLargestFactor) {
      return base::failure(base::Code::kInvalid,
                           "--size-scale {}: {} is not a number from 0.000001 to 1000000",
                           base::printable(word), base::printable(number));
    }
    const auto twice = [&](double before) {
      return base::failure(base::Code::kInvalid,
                           "--size-scale {}: the factor of {} was given before, as {}",
                           base::printable(word),
                           has_pattern ? base::printable(pattern) : "all other files", before);
    };
    if (!has_pattern) {
      if (has_plain && rules.plain_ != factor) return twice(rules.plain_);
      has_plain = true;
      rules.plain_ = factor;
      continue;
    }
    const auto before = std::ranges::find(rules.patterns_, pattern, &model::SizeScale::pattern);
    if (before != rules.patterns_.end()) {
      if (before->factor != factor) return twice(before->factor);
      rules.patterns_.erase(before);  // the last one counts
    }
    rules.patterns_.push_back({pattern, factor});
  }
  return rules;
}

double SizeRules::factorOf(std::string_view path) const {
  for (auto rule = patterns_.rbegin(); rule != patterns_.rend(); ++rule) {
    if (matches(*rule, path)) return rule->factor;
  }
  return plain_;
}

std::vector<double> SizeRules::factors() const {
  std::vector<double> factors{plain_};
  for (const model::SizeScale& rule : patterns_) {
    if (std::ranges::find(factors, rule.factor) == factors.end()) factors.push_back(rule.factor);
  }
  return factors;
}

bool SizeRules::changesSizes() const {
  return plain_ != 1 ||
         std::ranges::any_of(patterns_, [](const auto& rule) { return rule.factor != 1; });
}

void UsedPatterns::add(std::string_view path) {
  for (std::size_t i = 0; i < is_used_.size(); ++i) {
    if (!is_used_[i] && matches(rules_.patterns()[i], path)) is_used_[i] = true;
  }
}

std::optional<std::string> UsedPatterns::unused() const {
  const auto first = std::ranges::find(is_used_, false);
  if (first == is_used_.end()) return {};
  return rules_.patterns()[static_cast<std::size_t>(first - is_used_.begin())].pattern;
}

}  // namespace omnio::preprocess
