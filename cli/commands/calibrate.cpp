// omnio calibrate: how long accesses to a storage target take.
#include "predict/calibration/calibrate.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/access_time_plot.hpp"
#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/integers.hpp"
#include "core/base/interruption.hpp"
#include "core/base/printable.hpp"
#include "core/base/threads.hpp"
#include "core/wire/settings.hpp"
#include "predict/access_time/access_times.hpp"
#include "predict/calibration/overview.hpp"

namespace omnio::cli {
namespace {

struct CalibrateOptions {
  std::string target;
  std::string output;
  std::string budget = "10m";
  std::string cache = "cached";
  std::string largest = "16M";
  std::uint64_t processes = base::usableProcessors();
  std::uint64_t accesses = 1000;
  std::uint64_t seed = 1;
  std::string plot;
  bool resume = false;
  bool force = false;
  bool json = false;
};

// "90s", "10m", "2h"; a number alone is seconds.
std::optional<std::int64_t> durationNs(std::string text) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t unit = kSecond;
  constexpr std::int64_t kMinute = 60;
  if (text.ends_with('m')) unit = kMinute * kSecond;
  if (text.ends_with('h')) unit = kMinute * kMinute * kSecond;
  if (text.ends_with('s') || text.ends_with('m') || text.ends_with('h')) text.pop_back();
  const auto number = base::wholeNumber<std::int64_t>(text);
  constexpr std::int64_t kMost = 100'000;  // of hours it is more than ten years
  if (!number || *number < 1 || *number > kMost) return std::nullopt;
  return *number * unit;
}

const base::WordCheck kDuration = [](const std::string& text) {
  return durationNs(text) ? std::string()
                          : fmt::format(
                                "{} is not a time: use a whole number of seconds, or of s, "
                                "m or h (10m)",
                                base::printable(text));
};

const base::WordCheck kSize = [](const std::string& text) {
  constexpr std::uint64_t kMost = 16 << 20;
  const auto size = wire::parseSize(text);
  return size && *size >= 1 && *size <= kMost
             ? std::string()
             : fmt::format(
                   "{} is not a size from 1 to 16M: use a whole number of bytes, or of K "
                   "or M",
                   base::printable(text));
};

// The signal that asked to stop; 0: none did.
std::atomic<int> g_stop = 0;

// Signals that ask to stop only leave a mark while this lives: what was measured is written, and
// the files are removed. A second one ends the process as ever.
class StopsMarked {
 public:
  StopsMarked() {
    g_stop = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) { g_stop = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  StopsMarked(const StopsMarked&) = delete;
  StopsMarked& operator=(const StopsMarked&) = delete;
  ~StopsMarked() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)] = {};
};

int runCalibrate(const CalibrateOptions& options) {
  const std::string output = base::printable(options.output);
  predict::CalibrateSettings settings;
  settings.target = options.target;
  settings.output = options.output;
  if (options.cache != "auto") settings.cache = predict::cacheStateOf(options.cache);
  settings.budget_ns = *durationNs(options.budget);
  settings.processes = static_cast<std::uint32_t>(options.processes);
  settings.accesses = options.accesses;
  settings.largest_bytes = *wire::parseSize(options.largest);
  settings.seed = options.seed;
  settings.tool = "omnio " OMNIO_VERSION;
  settings.stop_signal = &g_stop;
  std::error_code error;
  if (std::filesystem::exists(options.output, error) && !options.force) {
    if (!options.resume) {
      return fail(
          {base::Code::kInvalid,
           fmt::format("{}: it exists; --resume goes on with it, --force replaces it", output)});
    }
    base::Result<predict::Calibration> before = predict::readCalibration(options.output);
    if (!before) return fail(before.failure());
    settings.resumed = std::move(*before);
  }
  std::optional<base::Result<predict::CalibrateOutcome>> outcome;
  {
    const StopsMarked marked;
    const ProgressLine progress;
    outcome.emplace(predict::calibrate(settings));
  }
  const int signal = g_stop;
  if (!*outcome) return fail(outcome->failure());
  const predict::CalibrateOutcome& done = **outcome;
  for (const std::string& note : done.notes) printFailure(note);
  if (signal != 0) {
    const std::size_t cells = done.calibration.cells.size();
    printFailure(fmt::format(
        "interrupted by {}; {}", base::signalName(signal),
        cells == 0 ? "nothing was measured yet"
                   : fmt::format("{} has {} of {} cells; --resume goes on with it", output, cells,
                                 cells + done.calibration.unreached.size())));
    base::endBySignal(signal);
  }
  if (done.calibration.cells.empty()) {
    return fail({base::Code::kEmpty,
                 fmt::format("{}: nothing was measured in the time; a larger --budget or a smaller "
                             "--largest helps",
                             base::printable(options.target))});
  }
  std::vector<access_time::ModelErrors> errors;
  if (!options.plot.empty()) {
    errors = access_time::errorsOfAll(done.calibration);
    const auto written = writeAccessTimePlot(options.plot, done.calibration, errors);
    if (!written) return fail(written.failure());
  }
  return options.json ? printJson(access_time::accessTimesJson(done.calibration, output, errors))
                      : printAll(predict::overviewText(done.calibration));
}

}  // namespace

void addCalibrateCommand(base::Command program) {
  const auto options = std::make_shared<CalibrateOptions>();
  const base::Command command = program.subcommand(
      "calibrate", "Measures how long accesses to a storage target take, for estimates");
  command
      .option("--target", options->target,
              "The directory to measure; all is made in a directory of its own there, and removed")
      .required()
      .typeName("DIR");
  command.option("-o,--output", options->output, "The calibration to write")
      .required()
      .typeName("CALIBRATION");
  command
      .option("--budget", options->budget,
              "The time for everything, of all sessions together: 90s, 10m, 2h (default: 10m)")
      .check(kDuration)
      .typeName("TIME");
  command
      .option("--cache", options->cache,
              "The page cache of this node: cached: reads find the file in it; direct: O_DIRECT; "
              "cold: pages are dropped before reads; auto: direct, cold or cached, the first that "
              "the target supports (default: cached)")
      .oneOf({"cached", "direct", "cold", "auto"})
      .typeName("STATE");
  command
      .option("--processes", options->processes,
              "The most processes at once: 1, 2, 4, ... up to it are measured (default: the "
              "processors)")
      .between(1, 4096)
      .typeName("N");
  command
      .option("--largest", options->largest,
              "The largest access; a smaller one needs less room and time (default: 16M)")
      .check(kSize)
      .typeName("SIZE");
  command
      .option("--accesses", options->accesses,
              "Accesses of each process in each cell, if there is time (default: 1000)")
      .between(1, 100000)
      .typeName("N");
  command.option("--seed", options->seed, "For all that is random (default: 1)")
      .between(0, INT64_MAX)
      .typeName("N");
  command.flag("--resume", options->resume,
               "Goes on with the calibration where it exists; the budget is that of all sessions");
  command.flag("--force", options->force, "Replaces the calibration where it exists");
  command
      .option("--plot", options->plot,
              "Draws access times by size, and what the models predict (SVG)")
      .typeName("FILE.svg");
  command.flag("--json", options->json, "A JSON document instead of tables");
  command.callback([options] {
    if (options->resume && options->force) {
      return fail({base::Code::kInvalid, "--resume and --force: one of them at a time"},
                  kWrongUsage);
    }
    return runCalibrate(*options);
  });
}

}  // namespace omnio::cli
