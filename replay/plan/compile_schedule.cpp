// Compiling as a whole: reads the schedule, and leaves all of its programs and the plan, or
// nothing.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/printable.hpp"
#include "replay/plan/compile.hpp"

namespace omnio::replay {
namespace {

// Takes the programs away again unless the work is done.
class Draft {
 public:
  explicit Draft(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::error_code error;
    // The topmost directory that is made here, to leave nothing behind.
    for (std::filesystem::path at = directory_; !std::filesystem::exists(at, error);
         at = at.parent_path()) {
      made_ = at;
      if (!at.has_relative_path()) break;
    }
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(made_.empty() ? directory_ : made_, ignored);
  }
  void keep() { keep_ = true; }

 private:
  std::filesystem::path directory_;
  std::filesystem::path made_;
  bool keep_ = false;
};

}  // namespace

base::Result<Plan> compileSchedule(const std::filesystem::path& schedule,
                                   const std::filesystem::path& directory,
                                   std::optional<model::Timing> timing) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, error);
  Draft draft(absolute);
  std::filesystem::create_directories(absolute, error);
  if (error) {
    return base::Failure{
        base::Code::kSystem,
        fmt::format("cannot create {}: {}", base::printable(absolute.native()), error.message())};
  }
  Compiler compiler(absolute);
  if (auto failure = model::readSchedule(schedule, compiler)) return *failure;
  if (auto complaint = compiler.finish()) {
    return base::Failure{base::Code::kInvalid,
                         fmt::format("{}: {}", base::printable(schedule.native()), *complaint)};
  }
  Plan plan = compiler.plan();
  plan.schedule = std::filesystem::absolute(schedule, error).native();
  if (timing) plan.global.timing = *timing;
  if (auto failure = writePlan(absolute / kPlanName, plan)) return *failure;
  draft.keep();
  return plan;
}

}  // namespace omnio::replay
