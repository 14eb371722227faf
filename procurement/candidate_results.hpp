// The results of a candidate: what runs of the application, of its replays, of the phase runner and
// of IOR say of its I/O time, each read from its own kind of document.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "procurement/comparison.hpp"

namespace omnio::procurement {

std::string_view kindText(TimeKind kind);

// A candidate with all results that a word names: "NAME=RESULT,RESULT...". A result is a trace, a
// document of omnio-phase-run or an ior-plan.json. Fails where one is of another model or target
// than the others, or has times of another kind.
base::Result<Candidate> candidateOf(const model::PhaseModel& model, const std::string& word);

}  // namespace omnio::procurement
