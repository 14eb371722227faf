// The form that rules of procurement ask for: what was measured, on what, how sure it is, and what
// it was of. A row is a field, with its unit, and has a cell for each candidate in the order of the
// ranking. What is not known is an empty cell: nothing is guessed.
#pragma once

#include <string>
#include <vector>

#include "procurement/comparison.hpp"

namespace omnio::procurement {

// The distance of runs from their median, as a share, that rules of procurement allow.
inline constexpr double kSpreadLimit = 0.05;

struct FormRow {
  std::string field;
  std::vector<std::string> cells;
};

// The first row has the names of the candidates.
std::vector<FormRow> formOf(const Comparison& comparison);
std::string csvOf(const std::vector<FormRow>& form);

}  // namespace omnio::procurement
