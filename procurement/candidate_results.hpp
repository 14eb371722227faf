// The results of a candidate: I/O times from runs of the application, of its replays, of the phase
// runner and of IOR, each read from its own kind of document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "procurement/comparison.hpp"
#include "procurement/evaluation_plan.hpp"

namespace omnio::procurement {

// A candidate with all of its results, each a trace, the directory of a replay, a document of
// omnio-phase-run or an ior-plan.json. Its times are I/O times; with `criterion`, the run times of
// replays. Fails where a result is of another model or target than the others, or has times of
// another kind.
base::Result<Candidate> candidateOf(const model::PhaseModel& model, const std::string& name,
                                    const std::vector<std::string>& results,
                                    Criterion criterion = Criterion::kIoTime);
// "RESULT,RESULT..." as a list; a result that has a comma in its name is one where it is there.
std::vector<std::string> resultsIn(const std::string& words);
// The same of a word: "NAME=RESULT,RESULT...".
base::Result<Candidate> candidateOf(const model::PhaseModel& model, const std::string& word);

// "NAME=WRITE,READ": the peak of a candidate in MiB/s; or "NAME=FILE", the peak.json of omnio ior.
// Wrong words are kInvalid; a file that cannot be taken is not.
base::Result<void> takePeak(const std::string& word, std::vector<Candidate>& candidates);

// The time of one run that `omnio evaluate` made: a replay's directory, or a document of
// omnio-phase-run.
base::Result<double> timeOf(const std::string& result, Criterion criterion);

}  // namespace omnio::procurement
