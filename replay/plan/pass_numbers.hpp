// A number of a line of a loop by pass: how often the thread came to the line before.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/compact/event_loop.hpp"

namespace omnio::replay {

class PassNumbers {
 public:
  // One pass with that number.
  explicit PassNumbers(std::int64_t number = 0) : first_(number), least_(number), most_(number) {}
  enum class Search : std::uint8_t { kNo, kYes };
  // first + step * turn of each loop, from the outermost: steps and turns.
  PassNumbers(std::int64_t first, std::vector<std::pair<std::int64_t, std::int64_t>> loops,
              Search search = Search::kNo);
  // Nothing where values of lists make too many of them.
  static std::optional<PassNumbers> of(const model::TurnNumber& number, const model::LoopPath& path,
                                       const model::TurnValues& at_first,
                                       Search search = Search::kNo);

  std::int64_t passes() const { return passes_; }
  std::int64_t at(std::int64_t pass) const;
  // The pass that has the number, of which each has another one; nothing where none has it, or they
  // are not isSearchable().
  std::optional<std::int64_t> find(std::int64_t number) const;
  bool isSearchable() const { return tell_ || !sorted_.empty(); }
  std::int64_t least() const { return least_; }
  std::int64_t most() const { return most_; }
  // Where the number grows by as much with each pass.
  std::optional<std::int64_t> step() const;

 private:
  std::int64_t first_ = 0;
  std::int64_t passes_ = 1;
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
  // A number tells its turns: each step is larger than all that smaller ones add up to.
  bool tell_ = true;
  std::vector<std::pair<std::int64_t, std::int64_t>> loops_{};
  std::vector<std::size_t> descending_{};  // loops by their steps
  // Where the loops do not tell: by pass; and by number, to search in.
  std::vector<std::int64_t> each_{};
  std::vector<std::pair<std::int64_t, std::int64_t>> sorted_{};
};

}  // namespace omnio::replay
