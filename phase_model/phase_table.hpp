// A phase model for people: the tables of the paper (Table VIII, Table XI).
#pragma once
#include <string>
#include <vector>

#include "core/model/phase_model.hpp"
#include "core/model/phase_series.hpp"
#include "phase_model/local_patterns.hpp"

namespace omnio::phases {

using model::idsOf;
using model::Series;
using model::seriesOf;

// f(initOffset) of an operation over the series: in terms of ph, where the base moves on by the
// same distance with each phase; "differs" where it is neither. A stride of a request of each of
// the `processes` that share the file is one of np requests.
std::string offsetText(const Series& series, std::size_t operation, int processes);

// Phases that differ in nothing but their place in the file, or the numbers in its name, stand in
// one line, as the 40 of BT-IO do in the paper.
std::string textOf(const model::PhaseModel& model);

// The table of local access patterns (phase_model/local_patterns.hpp). Of more than
// kMaxPatternLines, those that are equal but for the initial offset stand in one line.
inline constexpr std::size_t kMaxPatternLines = 1000;
// The heading, and a row for each.
std::vector<std::vector<std::string>> localPatternRows(const std::vector<LocalPattern>& patterns);
std::string localPatternText(const model::PhaseModel& model);

}  // namespace omnio::phases
