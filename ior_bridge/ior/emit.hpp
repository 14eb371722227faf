// A plan as files: a script a phase, one that runs all, and a document that says the same
// (docs/commands/ior.md, docs/formats/ior_plan.md).
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.hpp"
#include "ior_bridge/ior/plan.hpp"

namespace omnio::ior {

std::string scriptOf(const PhasePlan& phase, const IorPlan& plan);  // for sh
std::string runAllOf(const IorPlan& plan);                          // for sh
std::string jsonOf(const IorPlan& plan);
std::string textOf(const IorPlan& plan);  // the command lines, and below each what it is not

// Makes the directory where it is missing, and in it phase-ID.sh for each phase, run-all.sh and
// ior-plan.json; files of these names are replaced.
base::Result<void> emit(const IorPlan& plan, const std::filesystem::path& directory);

}  // namespace omnio::ior
