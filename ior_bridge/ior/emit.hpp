// Plans as files: a script for each start, one that runs all, and a document that says the same;
// one script for the peaks (docs/commands/ior.md, docs/formats/ior_plan.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/base/result.hpp"
#include "ior_bridge/ior/peak_plan.hpp"
#include "ior_bridge/ior/plan.hpp"

namespace omnio::ior {

inline constexpr std::string_view kPlanFormat = "omnio-ior-plan";
inline constexpr int kPlanVersion = 2;
// The words of the options of a plan. Where none of the APIs is given, it is that of each phase.
inline constexpr std::string_view kModelsOwn = "model";
inline constexpr base::Word<Fsync> kFsyncWords[] = {
    {Fsync::kModel, "model"}, {Fsync::kAlways, "always"}, {Fsync::kNever, "never"}};
inline constexpr base::Word<Api> kApiWords[] = {{Api::kPosix, "POSIX"}, {Api::kMpiIo, "MPIIO"}};

// For sh; the last one runs the others, one after the other.
struct Script {
  std::string name;
  std::string text;
};
std::vector<Script> scriptsOf(const IorPlan& plan);
std::string jsonOf(const IorPlan& plan);
std::string textOf(const IorPlan& plan);  // the command lines, and below each what it is not

// Makes the directory where it is missing, and in it the scripts and ior-plan.json; files of these
// names are replaced.
base::Result<void> emit(const IorPlan& plan, const std::filesystem::path& directory);

// The runs that find the peaks: peak.sh, for sh. When all are done, it writes what jsonOf() returns
// to peak.json, beside their summaries.
std::string scriptOf(const PeakPlan& plan);
std::string jsonOf(const PeakPlan& plan);
std::string textOf(const PeakPlan& plan);
base::Result<void> emit(const PeakPlan& plan, const std::filesystem::path& directory);

}  // namespace omnio::ior
