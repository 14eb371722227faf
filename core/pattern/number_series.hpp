// A number by turn of a loop, and how it goes on in turns that were not seen. Plain values: safe to
// copy, and to read from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omnio::pattern {

// After how many values they come again, where they do so at least twice; 0: they do not. The time
// is linear in the values.
std::size_t periodOf(std::span<const std::uint64_t> values);

class NumberSeries {
 public:
  // The value of the next turn.
  void add(std::int64_t value);
  // Looks for the rule, once all values are there.
  void settle();

  std::uint64_t turns() const { return count_; }
  // Whether the values beyond those that were added are known: the value of a turn is that some
  // turns before and a constant. The first two turns may be other ones. The rule has to be seen
  // for more than two of its periods.
  bool hasRule() const { return values_.empty() || period_ > 0; }
  // By the rule, or one of those that were added.
  std::int64_t at(std::uint64_t turn) const;
  // How many turns the rule goes back: 1 where the values advance by a constant; 0: no rule.
  std::size_t period() const { return values_.empty() ? 1 : period_; }
  bool isConstant() const { return values_.empty() && step_ == 0; }

 private:
  bool findRule(std::size_t skipped);

  std::uint64_t count_ = 0;
  std::int64_t first_ = 0;
  std::int64_t step_ = 0;
  std::vector<std::int64_t> values_;  // none while all are first_ + step_ * turn
  std::size_t period_ = 0;
  std::int64_t growth_ = 0;  // in a period
};

}  // namespace omnio::pattern
