// Families of phases: those that come again and again, alike in all but their place in the file, or
// the numbers in the file's name. `omnio phases` prints a family as one line, as the paper does
// with the 40 phases of BT-IO, and `omnio ior` runs it once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::model {

// Phases of the model, which outlives it; at least one.
using Series = std::vector<const Phase*>;

// By the first phase of each; a phase without its like is a series of one.
std::vector<Series> seriesOf(const PhaseModel& model);

// "7", "1-40", or "2, 5, 9, ... (21 phases)".
std::string idsOf(const Series& series);
bool isConsecutive(const Series& series);

// From the initial offset of a phase to that of the next one. Nothing where it is not the same from
// each phase to the next, or is not a distance: offsets that are unknown or a table. 0 of one
// phase.
std::optional<std::int64_t> stepOf(const Series& series, std::size_t operation);

}  // namespace omnio::model
