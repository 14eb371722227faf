// omnio collect: brings what killed processes left behind into their trace.
#include "core/tracefile/collect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/tracefile/trace_identity.hpp"

namespace omnio::cli {
namespace {

using base::counted;

// Tells which rings are the trace's. When it is gone, its path is all that is known.
tracefile::TraceIdentity identityOf(const std::filesystem::path& trace) {
  std::error_code error;
  if (std::filesystem::is_directory(trace, error)) return tracefile::TraceIdentity::of(trace);
  return tracefile::TraceIdentity::ofGone(std::filesystem::weakly_canonical(trace, error));
}

// The number of rings that could be removed; the others are said.
std::uint64_t removeAll(const std::vector<std::filesystem::path>& rings, bool& all) {
  std::uint64_t removed = 0;
  for (const std::filesystem::path& ring : rings) {
    std::error_code error;
    if (std::filesystem::remove(ring, error)) {
      ++removed;
    } else if (error) {
      printFailure(base::systemFailure(ring, error.value(), "cannot remove").sentence);
      all = false;
    }
  }
  return removed;
}

// For what cannot be brought in any more: the trace is gone, or its device stays full.
int discard(const std::filesystem::path& trace) {
  bool all = true;
  const std::uint64_t removed = removeAll(tracefile::deadRingsOf(identityOf(trace)).rings, all);
  const int printed = printAll(fmt::format("{} discarded\n", counted(removed, "ring", "rings")));
  return all ? printed : kFailed;
}

// Clears away the rings of runs that are over: brings their events into traces that still exist,
// and removes the other rings.
int collectOrphans() {
  const ProgressLine progress;
  bool all = true;
  std::string text;
  const tracefile::Orphans before = tracefile::findOrphans();
  for (const tracefile::Orphans::Group& group : before.groups) {
    text += fmt::format("{}: {} of {} in {}: ", base::printable(group.directory.native()),
                        counted(group.events, "event", "events"),
                        counted(group.processes, "ended process", "ended processes"),
                        counted(group.rings.size(), "ring", "rings"));
    if (!group.is_there && !group.is_gone) {
      text += "left where they are, since the trace cannot be looked at\n";
      all = false;
      continue;
    }
    if (group.is_gone) {
      const std::uint64_t removed = removeAll(group.rings, all);
      text += removed == group.rings.size() ? "removed, since the trace is gone\n"
                                            : "not all could be removed\n";
      continue;
    }
    const tracefile::CollectReport report = tracefile::collectRings(group.directory);
    for (const std::string& trouble : report.troubles) printFailure(trouble);
    all = all && report.troubles.empty();
    std::error_code error;
    const bool is_left =
        std::any_of(group.rings.begin(), group.rings.end(), [&error](const auto& ring) {
          return std::filesystem::exists(symlink_status(ring, error));
        });
    text += is_left ? "left where they are\n" : "brought into the trace\n";
    all = all && !is_left;
  }
  const std::uint64_t unfinished = removeAll(before.unfinished, all);
  if (unfinished > 0) {
    text += fmt::format("{} removed\n", counted(unfinished, "unfinished ring", "unfinished rings"));
  }
  if (before.groups.empty() && before.unfinished.empty()) text += "no orphaned rings\n";
  if (before.running > 0) {
    text += fmt::format("{} of runs that are not over left alone\n",
                        counted(before.running, "ring", "rings"));
  }
  if (before.of_others > 0) {
    text += fmt::format("{} of other users left alone\n",
                        counted(before.of_others, "ring file", "ring files"));
  }
  const int printed = printAll(text);
  return all ? printed : kFailed;
}

int runCollect(const TraceSelection& selection) {
  const ProgressLine progress;
  // Opening it says what is wrong with a trace; only then is anything changed.
  if (const auto opened = selection.open(); !opened) return fail(opened.failure());
  const tracefile::CollectReport report = tracefile::collectRings(selection.trace);
  for (const std::string& trouble : report.troubles) printFailure(trouble);
  const int printed = printAll(fmt::format(
      "{} of {} collected{}{}\n", counted(report.events, "event", "events"),
      counted(report.processes, "ended process", "ended processes"),
      report.running == 0 ? std::string()
                          : fmt::format("; {} still running",
                                        counted(report.running, "process is", "processes are")),
      report.of_others == 0 ? std::string()
                            : fmt::format("; {} of other users left alone",
                                          counted(report.of_others, "ring file", "ring files"))));
  return report.troubles.empty() ? printed : kFailed;
}

}  // namespace

void addCollectCommand(base::Command program) {
  const auto selection = std::make_shared<TraceSelection>();
  const base::Command command = program.subcommand(
      "collect", "Bring the last events of killed processes from this node's memory into TRACE");
  const auto throw_away = std::make_shared<bool>(false);
  const auto orphans = std::make_shared<bool>(false);
  const base::OptionHandle trace = selection->addTrace(command).required(false);
  const base::OptionHandle discard_option = command.flag(
      "--discard", *throw_away, "Remove those events from memory instead; TRACE may be gone");
  command
      .flag("--orphans", *orphans,
            "List what your runs that are over left in this node's memory; bring it into "
            "their traces where these are still there, else remove it")
      .excludes(trace)
      .excludes(discard_option);
  command.callback([selection, throw_away, orphans, trace] {
    if (*orphans) return collectOrphans();
    if (trace.count() == 0) base::refuseMissing("TRACE");
    return *throw_away ? discard(selection->trace) : runCollect(*selection);
  });
}

}  // namespace omnio::cli
