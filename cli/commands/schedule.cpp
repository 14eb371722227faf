// omnio schedule: what a schedule does, before it is replayed.
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/interruption.hpp"
#include "core/base/text_table.hpp"
#include "core/model/rewrite_schedule.hpp"
#include "replay/overview.hpp"

namespace omnio::cli {
namespace {

struct ScheduleOptions {
  std::string schedule;
  std::string output;
  std::string by = "rank";
  bool json = false;
};

int runScheduleShow(const ScheduleOptions& options) {
  const ProgressLine progress;
  const auto overview = replay::readOverview(options.schedule, {.order = model::Order::kNone});
  if (!overview) return fail(overview.failure());
  const replay::OverviewBy by = *base::valueOf(replay::kOverviewBys, std::string_view(options.by));
  return options.json ? printJson(replay::jsonOf(*overview, options.schedule, by))
                      : printAll(replay::textOf(*overview, options.schedule, by));
}

int runScheduleCheck(const ScheduleOptions& options) {
  const ProgressLine progress;
  const auto overview = replay::readOverview(options.schedule, {});
  if (!overview) return fail(overview.failure());
  return options.json ? printJson(replay::checkJsonOf(*overview, options.schedule))
                      : printAll(replay::checkTextOf(*overview, options.schedule));
}

int runScheduleRewrite(const ScheduleOptions& options, model::ScheduleForm form) {
  const ProgressLine progress;
  const base::Interruption interruption("omnio", base::leftOf(options.output));
  const auto written = model::rewriteSchedule(options.schedule, options.output, form);
  return written ? kDone : fail(written.failure());
}

// A command that writes a schedule in another form.
std::shared_ptr<ScheduleOptions> addRewrite(const base::Command& command) {
  const auto options = std::make_shared<ScheduleOptions>();
  command.option("SCHEDULE", options->schedule, "The schedule to read").required();
  command.option("-o,--output", options->output, "The schedule to write")
      .required()
      .typeName("SCHEDULE");
  return options;
}

}  // namespace

void addScheduleCommand(base::Command program) {
  const base::Command command =
      program.subcommand("schedule", "Look at a schedule before it is replayed");
  command.requireOneSubcommand();
  const auto shown = std::make_shared<ScheduleOptions>();
  const base::Command show = command.subcommand(
      "show", "What a replay would do: files, room, operations, order and duration");
  show.option("SCHEDULE", shown->schedule, "The schedule that `omnio preprocess` wrote").required();
  show.option("--by", shown->by, "What a line of the table is about")
      .oneOf({"rank", "file", "call"})
      .showDefault();
  show.flag("--json", shown->json, "A JSON document instead of tables");
  show.callback([shown] { return runScheduleShow(*shown); });
  const auto checked = std::make_shared<ScheduleOptions>();
  const base::Command check = command.subcommand(
      "check", "Whether a replay takes the schedule, and what may not be as it was meant");
  check.option("SCHEDULE", checked->schedule, "The schedule that `omnio preprocess` wrote")
      .required();
  check.flag("--json", checked->json, "A JSON document instead of text");
  check.callback([checked] { return runScheduleCheck(*checked); });
  const base::Command expand = command.subcommand(
      "expand", "Write a schedule with a line for each operation, loops and shared programs too");
  expand.callback([options = addRewrite(expand)] { return runScheduleRewrite(*options, {}); });
  const base::Command compact = command.subcommand(
      "compact", "Write what repeats in a schedule as loops, and ranks that do the same once");
  compact.callback([options = addRewrite(compact)] {
    return runScheduleRewrite(*options, {.is_compact = true});
  });
}

}  // namespace omnio::cli
