// Numbers and names that change from turn to turn of a loop, as a schedule has them: "{4096*turn}",
// "out.{rank:05}.{100*turn2+a}" (docs/formats/schedule.md, "Loops"). Made of text once, and
// evaluated in each turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace omnio::model {

// The names that an expression may use, each with its place among the values.
using ExpressionNames = std::map<std::string, std::size_t, std::less<>>;

// A sum of products of a whole number and a value.
struct LinearSum {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> terms;  // place of the value, factor

  // Nothing where the result is beyond 64 bits.
  std::optional<std::int64_t> at(std::span<const std::int64_t> values) const;
  bool uses(std::size_t place) const;
};

// Text with sums in it.
class TurnText {
 public:
  // Whether it is one sum alone, which stands for a number.
  bool isNumber() const {
    return parts_.size() == 1 && parts_.front().is_sum && parts_.front().text.empty() &&
           parts_.front().width == 0;
  }
  bool hasSums() const;
  const LinearSum& sum() const { return parts_.front().sum; }  // where isNumber()
  // Nothing where a number is beyond 64 bits, or negative: names have no signs.
  std::optional<std::string> at(std::span<const std::int64_t> values) const;
  bool uses(std::size_t place) const;  // the value of that place

  // Fails with a reason: braces without a partner, names that are not known, texts that are not
  // sums.
  static base::Result<TurnText> parsed(std::string_view text, const ExpressionNames& names);

 private:
  struct Part {
    std::string text;  // before the sum
    bool is_sum = false;
    LinearSum sum;
    int width = 0;  // with leading zeros
  };
  std::vector<Part> parts_;
};

}  // namespace omnio::model
