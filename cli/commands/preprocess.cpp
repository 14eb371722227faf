// omnio preprocess: a trace directory becomes a schedule for a replay.
#include "preprocess/preprocess.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/file.hpp"
#include "core/base/interruption.hpp"
#include "core/base/printable.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_writer.hpp"
#include "core/tracefile/completeness.hpp"
#include "preprocess/files/size_rules.hpp"
#include "preprocess/scale/scaled_preprocess.hpp"

namespace omnio::cli {
namespace {

struct PreprocessOptions {
  TraceSelection selection;
  std::string schedule;
  std::string timing = "dt";
  std::string order = "all";
  std::string layer = "posix";
  std::string form = "compact";
  std::string timing_detail = "exact";
  std::vector<std::string> map;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> size_scales;
  preprocess::Settings settings;
  double repeat_scale = 1;
  std::string second_trace;
  int ranks = 0;
  std::string scaling = "weak";
  std::string assume;
};

// More would leave the numbers that sizes and times have.
const base::WordCheck kScale = [](const std::string& text) {
  const char* begin = text.c_str();
  char* end = nullptr;
  const double value = std::strtod(begin, &end);
  const bool fits =
      end != begin && *end == '\0' && std::isfinite(value) && value >= 1e-6 && value <= 1e6;
  return fits ? std::string()
              : fmt::format("{} is not a number from 0.000001 to 1000000", base::printable(text));
};

base::WordCheck isFilterRule() {
  return [](const std::string& text) {
    const base::Result<preprocess::FilterRule> rule = preprocess::parseFilterRule(text);
    return rule ? std::string() : rule.failure().sentence;
  };
}

std::vector<preprocess::FilterRule> rulesOf(const std::vector<std::string>& texts) {
  std::vector<preprocess::FilterRule> rules;
  for (const std::string& text : texts) rules.push_back(*preprocess::parseFilterRule(text));
  return rules;
}

// Why options that are about --ranks cannot be used as they are.
std::optional<std::string> whyNotRanks(const PreprocessOptions& options,
                                       const preprocess::Settings& settings) {
  if (options.ranks == 0) {
    if (!options.second_trace.empty()) return "a second trace is for --ranks alone";
    if (options.scaling != "weak") return "--scaling strong: is for --ranks alone";
    if (!options.assume.empty()) return "--assume: is for --ranks alone";
    return {};
  }
  if (settings.check) {
    return "--check: with --ranks a schedule does not say what the trace does";
  }
  if (options.repeat_scale != 1) return "--ranks and --repeat-scale: one of them at a time";
  if (options.second_trace.empty() && options.scaling == "strong") {
    return "--scaling strong: a trace at one number of ranks cannot tell what they share; give a "
           "trace at another number of ranks";
  }
  if (!options.second_trace.empty() && !options.assume.empty()) {
    return "--assume: two traces tell it";
  }
  return {};
}

// Why options cannot be used together, or as they are.
std::optional<std::string> whyNotTogether(const PreprocessOptions& options,
                                          const preprocess::Settings& settings) {
  const bool has_exact_times = settings.form.has_exact_times;
  if (settings.check && !has_exact_times) {
    return "--check: with --timing-detail statistics a schedule has other times than the trace";
  }
  if (!settings.form.is_compact && !has_exact_times) {
    return "--form flat and --timing-detail statistics: only the compact form has means of times";
  }
  if (settings.check && options.repeat_scale != 1) {
    return "--check: with --repeat-scale a schedule does not say what the trace does";
  }
  return whyNotRanks(options, settings);
}

// Why sizes cannot be changed so.
std::optional<std::string> whyNotSizes(const PreprocessOptions& options,
                                       const preprocess::Settings& settings,
                                       const preprocess::SizeRules& sizes) {
  if (settings.layer == event::IoLayer::kMpi && sizes.changesSizes()) {
    return fmt::format("--size-scale {}: sizes of calls of MPI-IO (--layer mpi) cannot be scaled",
                       base::printable(options.size_scales.back()));
  }
  if (settings.keep_below > 0 && !sizes.changesSizes()) {
    return fmt::format("--keep-below {}: no size changes without --size-scale",
                       settings.keep_below);
  }
  return {};
}

preprocess::scale::RankSettings rankSettingsOf(const PreprocessOptions& options) {
  using preprocess::scale::Stride;
  return {
      .ranks = options.ranks,
      .scaling = options.scaling == "strong" ? pattern::Scaling::kStrong : pattern::Scaling::kWeak,
      .stride = options.assume.empty()         ? Stride::kNotKnown
                : options.assume == "constant" ? Stride::kConstant
                                               : Stride::kByRanks};
}

int runPreprocess(const PreprocessOptions& options) {
  const ProgressLine progress;
  preprocess::Settings settings = options.settings;
  settings.timing = *base::valueOf(model::kTimings, options.timing);
  settings.order = *base::valueOf(model::kOrders, options.order);
  settings.form = {.is_compact = options.form == "compact",
                   .has_exact_times = options.timing_detail == "exact"};
  if (const auto wrong = whyNotTogether(options, settings)) {
    return fail({base::Code::kInvalid, *wrong}, kWrongUsage);
  }
  if (options.layer == "mpi") settings.layer = event::IoLayer::kMpi;
  const base::Result<preprocess::SizeRules> sizes =
      preprocess::SizeRules::read(options.size_scales);
  if (!sizes) return fail(sizes.failure(), kWrongUsage);
  if (const auto wrong = whyNotSizes(options, settings, *sizes)) {
    return fail({base::Code::kInvalid, *wrong}, kWrongUsage);
  }
  settings.size_scale = sizes->plain();
  settings.size_scales = sizes->patterns();
  for (const std::string& text : options.map) {
    const base::Result<preprocess::MapRule> rule = preprocess::parseMapRule(text);
    if (!rule) return fail(rule.failure(), kWrongUsage);
    settings.map.push_back(*rule);
  }
  for (const std::string& directory : settings.shared) {
    if (directory.starts_with('/')) continue;
    return fail({base::Code::kInvalid, fmt::format("--shared {}: has to be an absolute path",
                                                   base::printable(directory))},
                kWrongUsage);
  }
  settings.filters = {.include = rulesOf(options.include), .exclude = rulesOf(options.exclude)};
  std::optional<base::Interruption> interruption(std::in_place, "omnio",
                                                 base::leftOf(options.schedule));
  if (const auto begun = model::ScheduleWriter(options.schedule, settings.form).begun(); !begun) {
    return fail(begun.failure());  // before the trace is read, which may take long
  }
  base::raiseOpenFileLimit();  // all containers are open at once, to read their events by time
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  std::optional<tracefile::Trace> second;
  if (!options.second_trace.empty()) {
    base::Result<tracefile::Trace> opened = tracefile::Trace::open(options.second_trace);
    if (!opened) return fail(opened.failure());
    second.emplace(std::move(*opened));
    if (!tracefile::assess(*second).whole) {
      printFailure(fmt::format("{}: the trace is not whole, and so is the schedule",
                               base::printable(options.second_trace)));
    }
  }
  std::optional<preprocess::scale::RepeatSummary> repeated;
  std::optional<preprocess::scale::RankSummary> ranks;
  const base::Result<preprocess::Summary> summary = [&]() -> base::Result<preprocess::Summary> {
    if (options.ranks > 0) {
      std::vector<const tracefile::Trace*> traces = {&*trace};
      if (second) traces.push_back(&*second);
      const auto both = preprocess::scale::preprocessRanks(
          traces, settings, rankSettingsOf(options), options.schedule);
      if (!both) return both.failure();
      ranks = both->scaled;
      return both->recorded;
    }
    if (options.repeat_scale == 1) {
      return preprocess::preprocess(*trace, wholeness, settings, options.schedule);
    }
    const auto both = preprocess::scale::preprocessRepeated(*trace, wholeness, settings,
                                                            options.repeat_scale, options.schedule);
    if (!both) return both.failure();
    repeated = both->repeated;
    return both->recorded;
  }();
  interruption.reset();
  // The time of a stop stands as think time, since a schedule has nothing else to put there.
  for (const std::string& note : wholeness.notes) {
    printFailure(fmt::format("{}: {}", base::printable(options.selection.trace), note));
  }
  if (!summary) {
    if (!wholeness.whole) {
      printFailure(fmt::format("{}: the trace is not whole: {}; {}",
                               base::printable(options.selection.trace), wholeness.reasons.front(),
                               tracefile::missingSentence(wholeness)));
    }
    printFailure(summary.failure().sentence);
    return kFailed;
  }
  if (!wholeness.whole) {
    printFailure(fmt::format(
        "{}: the trace is not whole, and so is the schedule ({}); a replay of "
        "it ends with status 3",
        base::printable(options.selection.trace), tracefile::missingSentence(wholeness)));
  }
  std::string text = fmt::format(
      "{}: {} events of {} ranks in {} threads on {} files, {} dependencies, timing {}\n",
      base::printable(options.schedule), summary->events, summary->ranks, summary->threads,
      summary->files, summary->edges, options.timing);
  if (sizes->changesSizes() && summary->bytes_recorded > 0) {
    const std::string other = sizes->isPlain() ? "" : " in files that no pattern matches";
    text += fmt::format(
        "sizes: {} times those of the recording{}; {:.4g} times the bytes that calls moved, since "
        "none "
        "becomes empty and direct I/O stays aligned\n",
        sizes->plain(), other,
        static_cast<double>(summary->bytes_scaled) / static_cast<double>(summary->bytes_recorded));
  }
  if (repeated) {
    text += fmt::format("repetitions: {} time steps became {}, {}; {} events\n", repeated->turns,
                        repeated->scaled_turns, repeated->loop, repeated->events);
  }
  if (ranks) {
    text += fmt::format("ranks: {} became {}, of {} kinds; {} events\n",
                        fmt::join(ranks->recorded, " and "), options.ranks, ranks->classes,
                        ranks->events);
  }
  if (settings.form.is_compact && summary->events > 0) {
    const model::WrittenSchedule& written = summary->written;
    text += fmt::format("compact: {} lines in place of {}, {}", written.lines, written.events,
                        base::humanBytes(written.bytes));
    if (written.times_bytes > 0) {
      text += fmt::format(
          "; their times {}, {:.2f} bytes an event", base::humanBytes(written.times_bytes),
          static_cast<double>(written.times_bytes) / static_cast<double>(written.events));
    }
    text += '\n';
  }
  if (settings.check) text += "checked: read again, it says the same\n";
  if (summary->files_on_nodes > 0) {
    text += fmt::format(
        "on nodes: {} of the files, below @node, are on file systems that not all nodes had in "
        "common\n",
        summary->files_on_nodes);
  }
  if (summary->in_memory.files > 0) {
    text += fmt::format(
        "in memory: {} of the files, below @memory, were on the tmpfs of their nodes; calls moved "
        "{} "
        "bytes to and from them\n",
        summary->in_memory.files, summary->in_memory.bytes);
  }
  if (summary->mpi_unmatched > 0) {
    printFailure(fmt::format(
        "missing order: {} of {} MPI calls have no counterpart in the trace, and order nothing",
        summary->mpi_unmatched, summary->mpi_events));
  }
  if (summary->early > 0) {
    printFailure(fmt::format(
        "delays of 0: {} of {} MPI calls ended up to {:.1f} us before what they waited for began, "
        "since the clocks of the hosts differ",
        summary->early, summary->mpi_events, static_cast<double>(summary->early_most_ns) / 1e3));
  }
  for (const std::string& words : summary->left_out) printFailure("left out: " + words);
  if (ranks && !ranks->keeps_files) {
    printFailure(fmt::format("left out: {}", preprocess::scale::kNoFileOrder));
  }
  if (ranks && ranks->kept_sizes > 0) {
    printFailure(fmt::format("left out: {}", preprocess::scale::keptSizes(ranks->kept_sizes)));
  }
  if (repeated) {
    for (const std::string& words : repeated->left) printFailure("not repeated: " + words);
  }
  for (const std::string& rule : summary->unused_rules) {
    printFailure(rule + ": is for no call of the trace");
  }
  return printAll(text);
}

}  // namespace

void addPreprocessCommand(base::Command program) {
  const auto options = std::make_shared<PreprocessOptions>();
  const base::Command command = program.subcommand(
      "preprocess", "Make a schedule of a trace: what a replay does, to be read and edited");
  options->selection.addTrace(command);
  command.option("SECOND", options->second_trace,
                 "With --ranks: a trace of the same program at another number of ranks");
  command.option("-o,--output", options->schedule, "The schedule to write")
      .required()
      .typeName("SCHEDULE");
  command
      .option("--timing", options->timing,
              "asap: no think time; dt: the time between operations is kept; start: each at "
              "its recorded start (default: dt)")
      .oneOf({"asap", "dt", "start"})
      .typeName("MODE");
  command
      .option("--order", options->order,
              "Which order of the ranks the schedule keeps: none; file: of calls that use the "
              "same file or name; mpi: of messages and collective calls; all (default: all)")
      .oneOf({"none", "file", "mpi", "all"})
      .typeName("WHICH");
  command
      .option("--layer", options->layer,
              "The calls that stand for MPI-IO: posix: those that the MPI library made for it; "
              "mpi: its own (default: posix)")
      .oneOf({"posix", "mpi"})
      .typeName("LAYER");
  command
      .option("--form", options->form,
              "compact: what repeats as loops, ranks that do the same as one program, and times in "
              "a file beside; flat: one file with a line for each operation (default: compact)")
      .oneOf({"compact", "flat"})
      .typeName("FORM");
  command
      .option("--timing-detail", options->timing_detail,
              "Of the compact form: exact: all times, in SCHEDULE.times beside it; statistics: the "
              "means of each place in a loop, in SCHEDULE itself (default: exact)")
      .oneOf({"exact", "statistics"})
      .typeName("WHICH");
  command.flag("--check", options->settings.check,
               "Read the schedule again, and fail where it does not say what the trace does");
  command
      .option("--size-scale", options->size_scales,
              "Multiply sizes and offsets by X (default: 1), or those of the files that PATTERN "
              "matches; may be given more than once: the last pattern that matches decides")
      .typeName("X|PATTERN=X")
      .repeatable();
  command
      .option("--keep-below", options->settings.keep_below,
              "With --size-scale: requests of fewer bytes keep their sizes (default: 0)")
      .typeName("BYTES");
  command
      .option("--repeat-scale", options->repeat_scale,
              "Multiply the number of time steps: the turns of the outermost loops of the ranks "
              "(default: 1)")
      .check(kScale)
      .typeName("X");
  command
      .option(
          "--ranks", options->ranks,
          "Make the schedule of a run with N ranks, of a trace or of two at different numbers of "
          "ranks")
      .between(1, 1 << 20)
      .typeName("N");
  command
      .option("--scaling", options->scaling,
              "With --ranks: weak: the part of a rank stays as large as it is; strong: all ranks "
              "share a total (default: weak)")
      .oneOf({"weak", "strong"})
      .typeName("HOW");
  command
      .option(
          "--assume", options->assume,
          "With --ranks and one trace: where ranks take turns in a file, the distance between the "
          "turns of a rank is that of all ranks, or a constant")
      .oneOf({"strided-by-ranks", "constant"})
      .typeName("WHAT");
  command.option("--time-scale", options->settings.time_scale, "Multiply times (default: 1)")
      .check(kScale)
      .typeName("X");
  command
      .option("--include", options->include,
              "Only calls like this; may be given more than once. RULE is conditions with a comma "
              "between two of them: a pattern of paths, call=, class=, rank=, thread=, window=, "
              "request<, file-size>")
      .check(isFilterRule())
      .typeName("RULE")
      .repeatable();
  command.option("--exclude", options->exclude, "No calls like this; may be given more than once")
      .check(isFilterRule())
      .typeName("RULE")
      .repeatable();
  command.flag("--partial", options->settings.partial,
               "Make a schedule in dt although calls that ranks waited for are not in the trace");
  command.flag("--write-overwrite", options->settings.write_overwrite,
               "Files that the application makes are there in full size before the replay");
  command
      .option("--map", options->map,
              "What lies below FROM, an absolute path, goes below TO in the target; may be "
              "given more than once (default: the working directory of the run to the target "
              "itself, all else to @root)")
      .typeName("FROM=TO")
      .repeatable();
  command
      .option("--shared", options->settings.shared,
              "All nodes have the files below DIR in common, though their mounts differ; may be "
              "given more than once")
      .typeName("DIR")
      .repeatable();
  command.callback([options] { return runPreprocess(*options); });
}

}  // namespace omnio::cli
