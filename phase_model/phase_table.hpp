// A phase model for people: the tables of the paper (Table VIII, Table XI).
#pragma once
#include <string>
#include <vector>

#include "core/model/phase_model.hpp"

namespace omnio::phases {

// Phases that come again and again: alike in all but their place in the file, or the numbers in the
// file's name.
using Series = std::vector<const model::Phase*>;

// By the first phase of each; a phase without its like is a series of one.
std::vector<Series> seriesOf(const model::PhaseModel& model);

// "7", "1-40", or "2, 5, 9, ... (21 phases)".
std::string idsOf(const Series& series);

// f(initOffset) of an operation over the series: in terms of ph, where the base moves on by the
// same distance with each phase; "differs" where it is neither. A stride of a request of each of
// the `processes` that share the file is one of np requests.
std::string offsetText(const Series& series, std::size_t operation, int processes);

// Phases that differ in nothing but their place in the file, or the numbers in its name, stand in
// one line, as the 40 of BT-IO do in the paper.
std::string textOf(const model::PhaseModel& model);

}  // namespace omnio::phases
