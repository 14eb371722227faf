// omnio-phase-run: an MPI program that runs the phases of a model on this storage and measures
// them.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "core/base/command_line.hpp"
#include "core/base/document_file.hpp"
#include "core/base/file_system.hpp"
#include "core/base/log.hpp"
#include "core/base/node_memory.hpp"
#include "core/base/printable.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/estimate.hpp"
#include "ior_bridge/runner/phase_preparation.hpp"
#include "ior_bridge/runner/phase_results.hpp"
#include "ior_bridge/runner/phase_runner.hpp"
#include "ior_bridge/runner/schedule_runner.hpp"
#include "logging/logging.hpp"
#include "replay/life_line.hpp"

namespace omnio::ior {
namespace {

namespace fs = std::filesystem;

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

struct Options {
  std::string model;
  std::string target;
  std::string results;
  std::string api = "model";
  std::string fill_memory;
  int phase = 0;
  bool no_fsync = false;
  bool warm = false;
  bool apart = false;
  int verbosity = 0;  // of -v and -vv
  RunnerOptions runner;
};

// A fresh directory below the target, made and removed by the first process.
class WorkDirectory {
 public:
  WorkDirectory(const PhaseTeam& world, const fs::path& target, bool keep)
      : world_(world), keep_(keep) {
    std::string path = (target / "omnio-phase-run.XXXXXX").native();
    if (world.isFirst() && mkdtemp(path.data()) == nullptr) {
      made_ = base::systemFailure(target, errno, "cannot make a directory in");
    }
    made_ = world.agreed(made_);
    if (made_) path_ = world.ofFirst(path);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory() {
    if (path_.empty()) return;
    world_.barrier();  // no process has a file open in it any more
    std::error_code ignored;
    if (world_.isFirst() && !keep_) fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }
  const base::Result<void>& made() const { return made_; }

 private:
  const PhaseTeam& world_;
  bool keep_;
  fs::path path_;
  base::Result<void> made_;
};

// The model, read by each process; what one cannot read, none can use.
base::Result<model::PhaseModel> readModel(const Options& options, const PhaseTeam& world) {
  base::Result<model::PhaseModel> model = model::readPhaseModel(options.model);
  const auto refuse = [&](std::string_view why) {
    return base::failure(base::Code::kInvalid, "{}: {}", base::printable(options.model), why);
  };
  base::Result<void> usable;
  if (!model) {
    usable = model.failure();
  } else if (model->processes != world.size()) {
    usable = refuse(
        fmt::format("it is of {} processes, and {} were started", model->processes, world.size()));
  } else if (model->phases.empty()) {
    usable = refuse(kNothingInModel);
  } else if (options.phase != 0 && std::ranges::find(model->phases, options.phase,
                                                     &model::Phase::id) == model->phases.end()) {
    usable = refuse(fmt::format("it has no phase {}", options.phase));
  }
  if (auto agreed = world.agreed(usable); !agreed) return agreed.failure();
  return model;
}

// Whether there is a phase that can be run by itself.
base::Result<void> checkApart(const model::PhaseModel& model, const Options& options) {
  const auto runs = [&](const model::Phase& phase) {
    return !phase.isMetadata() && (options.phase == 0 || phase.id == options.phase);
  };
  if (std::ranges::any_of(model.phases, runs)) return {};
  return base::failure(
      base::Code::kInvalid,
      "{}: {} of metadata calls alone, which run by the schedule of the model, all phases "
      "together, "
      "and not by {} (`omnio ior` has them as command lines of mdtest)",
      base::printable(options.model),
      options.phase != 0 ? fmt::format("phase {} is", options.phase) : "its phases are",
      model.schedule.empty() ? "themselves: the model has no schedule" : "themselves");
}

void showProgress(const PhaseTeam& world, const model::Phase& phase, int iteration) {
  if (world.rank() == phase.ranks.front() && isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "phase {}, iteration {}\n", phase.id, iteration + 1);
  }
}

void showProgress(const PhaseTeam& world, int iteration) {
  if (world.isFirst() && isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "iteration {}\n", iteration + 1);
  }
}

bool isMetadata(const PhaseTest& test) {
  return !test.measurements.empty() && test.measurements.front().is_metadata;
}

// A row for each of the metadata phases that make most calls, in their order; empty: there is none.
std::string metadataTableOf(const std::vector<PhaseTest>& tests, std::size_t rows) {
  std::vector<std::pair<std::uint64_t, int>> order;
  for (const PhaseTest& test : tests) {
    if (isMetadata(test)) order.emplace_back(test.measurements.front().requests, test.phase);
  }
  if (order.empty()) return {};
  const std::size_t all = order.size();
  std::sort(order.rbegin(), order.rend());
  if (order.size() > rows) order.resize(rows);
  std::string out =
      "phase  api    metadata   processes           calls  operations/s  least .. most\n";
  for (const PhaseTest& test : tests) {
    const auto is_this = [&](const auto& one) { return one.second == test.phase; };
    if (std::none_of(order.begin(), order.end(), is_this)) continue;
    std::vector<double> rates;
    for (const PhaseMeasurement& m : test.measurements) rates.push_back(operationsPerSecond(m));
    const Spread spread = spreadOf(rates);
    out +=
        fmt::format("{:>5}  {:<5}  {:<9}  {:>9}  {:>14}  {:>12.1f}  {:.1f} .. {:.1f}\n", test.phase,
                    test.api, test.shared ? "shared" : "own", test.tasks,
                    test.measurements.front().requests, spread.median, spread.least, spread.most);
  }
  if (all > order.size()) {
    out += fmt::format("and {} metadata phases that make fewer calls\n", all - order.size());
  }
  return out;
}

// A row for each operation of the phases that move most, in their order; the document has all.
std::string tableOf(const std::vector<PhaseTest>& tests) {
  constexpr std::size_t kRows = 20;
  std::vector<std::pair<std::uint64_t, int>> order;
  std::size_t noted = 0;
  for (const PhaseTest& test : tests) {
    noted += test.notes.empty() ? 0 : 1;
    std::uint64_t bytes = 0;
    for (const PhaseMeasurement& m : test.measurements) bytes += m.bytes;
    if (isMetadata(test)) continue;
    order.emplace_back(bytes, test.phase);
  }
  const std::size_t of_data = order.size();
  std::sort(order.rbegin(), order.rend());
  if (order.size() > kRows) order.resize(kRows);
  std::string out =
      "phase  api    operation  processes           bytes      MiB/s  least .. most\n";
  for (const PhaseTest& test : tests) {
    const auto is_this = [&](const auto& one) { return one.second == test.phase; };
    if (std::none_of(order.begin(), order.end(), is_this)) continue;
    for (const auto operation : {model::Operation::kWrite, model::Operation::kRead}) {
      std::vector<double> bandwidths;
      std::uint64_t bytes = 0;
      for (const PhaseMeasurement& m : test.measurements) {
        if (m.operation != operation) continue;
        bytes = m.bytes;
        bandwidths.push_back(bandwidthMibS(m));
      }
      if (bandwidths.empty()) continue;
      const Spread spread = spreadOf(bandwidths);
      out += fmt::format("{:>5}  {:<5}  {:<9}  {:>9}  {:>14}  {:>9.1f}  {:.1f} .. {:.1f}\n",
                         test.phase, test.api, model::nameOf(operation), test.tasks, bytes,
                         spread.median, spread.least, spread.most);
    }
    if (test.beyond_cache_turns > 0) {
      out += fmt::format("phase {}: beyond the cache, its requests {} times; no estimate\n",
                         test.phase, test.beyond_cache_turns);
    }
    if (test.cold && test.resident_percent > 0) {
      out += fmt::format("phase {}: {:.1f}% of the file stayed in memory before the read\n",
                         test.phase, test.resident_percent);
    }
  }
  if (of_data > order.size()) {
    out += fmt::format("and {} phases that move less\n", of_data - order.size());
  }
  if (of_data == 0) out.clear();
  out += metadataTableOf(tests, kRows);
  if (noted > 0) {
    out += fmt::format("{} phases were not run quite as the application did: see their notes\n",
                       noted);
  }
  return out;
}

std::string timesOf(const std::vector<WholeRun>& runs) {
  std::string out =
      "run   Time_io s      data  metadata      sync   waiting  slowest     chain       sum  "
      "makespan  differences\n";
  int number = 0;
  for (const WholeRun& run : runs) {
    const auto s = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
    out += fmt::format(
        "{:>3}  {:>10.4f} {:>9.4f} {:>9.4f} {:>9.4f} {:>9.4f}  {:>7} {:>9.4f} {:>9.4f} {:>9.4f} "
        "{:>12}\n",
        ++number, s(run.io.total()), s(run.io.data_ns), s(run.io.metadata_ns), s(run.io.sync_ns),
        s(run.io.waiting_ns), run.slowest_rank, s(run.chain_ns), s(run.sum_ns), s(run.makespan_ns),
        run.differences);
  }
  for (const WholeRun& run : runs) {
    if (run.differences == 0) continue;
    out += fmt::format("a call went otherwise than in the application: {}\n", run.first_difference);
    break;
  }
  return out;
}

// Whether what was measured may be memory, where nothing counts what the storage did.
std::string cacheSentence(const PhaseResults& results) {
  const ResultsIdentity& of = results.identity;
  const bool is_beyond = std::ranges::any_of(
      results.tests, [](const PhaseTest& test) { return test.beyond_cache_turns > 0; });
  if (is_beyond || of.written_bytes >= of.memory_bytes) return "";
  return fmt::format(
      "the model writes {:.1f} MiB, and a node has {:.0f} MiB of memory: the page cache may have "
      "taken part, as in life (--beyond-cache measures the storage)\n",
      static_cast<double>(of.written_bytes) / model::kMiB,
      static_cast<double>(of.memory_bytes) / model::kMiB);
}

// What storage did in all runs.
std::string storageTextOf(const PhaseResults& results) {
  if (results.storage.empty()) return "";
  const storage::TargetStorage all[] = {storage::sumOf(results.storage)};
  const storage::Moved calls = all->calls.value_or(storage::Moved());
  const bool is_known = storage::measuredPart(calls, all) != storage::MeasuredPart::kUnknown;
  return storage::storageText(calls, all) + (is_known ? "" : cacheSentence(results));
}

base::Result<void> report(const Options& options, const PhaseResults& results) {
  const std::string text = jsonOf(results);
  if (!options.results.empty()) {
    if (auto written = base::writeDocument(options.results, text); !written) return written;
  }
  const std::string table = tableOf(results.tests) +
                            (results.runs.empty() ? "" : "\n" + timesOf(results.runs)) +
                            storage::heldText(results.held) + storageTextOf(results);
  const std::string shown =
      options.results.empty() ? base::safeJson(text) : base::safeText(table, "\n");
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() &&
      std::fflush(stdout) == 0) {
    return {};
  }
  return base::failure(base::Code::kSystem, "cannot write to standard output");
}

// A directory for the schedule's programs that all processes see: beside the results, or where the
// program runs.
class Programs {
 public:
  Programs(const PhaseTeam& world, const fs::path& results) : world_(world) {
    std::error_code error;
    const fs::path folder = fs::absolute(results, error).parent_path();
    std::string path = (folder / ".omnio-phase-run.XXXXXX").native();
    if (world.isFirst() && mkdtemp(path.data()) == nullptr) {
      made_ = base::systemFailure(folder, errno, "cannot make a directory in");
    }
    made_ = world.agreed(made_);
    if (made_) path_ = world.ofFirst(path);
  }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;
  ~Programs() {
    std::error_code ignored;
    if (!path_.empty() && world_.isFirst()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  const base::Result<void>& made() const { return made_; }

 private:
  const PhaseTeam& world_;
  fs::path path_;
  base::Result<void> made_;
};

std::string nowAsText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

ResultsIdentity identityOf(const model::PhaseModel& model, const Options& options,
                           const std::vector<std::string>& hosts) {
  ResultsIdentity of{.model_digest = model::digestOf(model), .date = nowAsText()};
  of.mount = base::mountOf(options.target);
  struct statvfs about {};
  if (statvfs(options.target.c_str(), &about) == 0) {
    of.target_bytes = std::uint64_t{about.f_frsize} * about.f_blocks;
  }
  of.hosts = hosts;
  std::ranges::sort(of.hosts);
  const auto again = std::ranges::unique(of.hosts);
  of.hosts.erase(again.begin(), again.end());
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(library, &length);
  const std::string_view text(library, static_cast<std::size_t>(length));
  of.mpi = base::printable(text.substr(0, text.find(',')));
  of.memory_bytes = base::memoryBytes();
  for (const model::Phase& phase : model.phases) {
    for (const model::PhaseOperation& operation : phase.operations) {
      if (operation.operation != model::Operation::kWrite) continue;
      of.written_bytes += model::weightOf(phase, operation);
    }
  }
  return of;
}

int work(Options options, const std::string& command, replay::Session& session,
         replay::Request& request) {
  const PhaseTeam world(session.world());
  logging::start({.level = base::logLevelFor(options.verbosity),
                  .program = "omnio-phase-run",
                  .rank = world.rank()});
  base::LoggedSteps steps(world.isFirst() ? base::LogLevel::kInfo : base::LogLevel::kDebug);
  const auto fail = [&](const base::Failure& failure) {
    base::logWarn("fails: {}", failure.sentence);
    if (world.isFirst())
      fmt::print(stderr, "omnio-phase-run: {}\n", base::safeText(failure.sentence));
    return kFailed;
  };
  steps.begin("reading the model");
  const base::Result<model::PhaseModel> model = readModel(options, world);
  if (!model) return fail(model.failure());
  request.ignores_room = options.runner.ignores_room;
  RunnerOptions& runner = options.runner;
  runner.fsync = !options.no_fsync;
  runner.cold = !options.warm;
  if (options.phase != 0) runner.phase = options.phase;
  if (options.api == "posix") runner.api = RunApi::kPosix;
  if (options.api == "stdio") runner.api = RunApi::kStdio;
  if (options.api == "mpiio") runner.api = RunApi::kMpiIo;

  std::error_code error;
  options.target = fs::absolute(options.target, error).native();
  const double share = base::shareOf(options.fill_memory).value_or(0);
  const storage::HeldMemory memory(session.isNodeLeader() ? share : 0);
  const storage::HeldBytes held = replay::heldOnNodes(session, memory);
  steps.begin("running the phases");
  ScheduleRun done;
  base::Result<void> outcome;
  {
    const WorkDirectory directory(world, options.target, runner.keep);
    if (!directory.made()) return fail(directory.made().failure());
    runner.directory = directory.path();
    const bool is_whole = !model->schedule.empty() && !options.apart && options.phase == 0 &&
                          options.api == "model" && !runner.beyond_cache;
    if (!is_whole) outcome = checkApart(*model, options);
    constexpr int kUsualIterations = 3;
    if (runner.iterations == 0) runner.iterations = is_whole ? 1 : kUsualIterations;
    if (is_whole) {
      const Programs programs(world, options.results.empty() ? "results" : options.results);
      if (!programs.made()) return fail(programs.made().failure());
      const fs::path schedule = fs::absolute(options.model, error).parent_path() / model->schedule;
      auto run = runSchedule(*model, schedule, programs.path(), runner, session, request,
                             [&](int iteration) { showProgress(world, iteration); });
      if (run) {
        done = std::move(*run);
      } else {
        outcome = run.failure();
      }
    } else if (outcome) {
      const replay::Targets targets = {{.directory = runner.directory}};
      replay::NodeStorage storage(session, targets, true);
      auto tests = runPhases(
          *model, runner, world, storage,
          [&](const model::Phase& phase, int iteration) { showProgress(world, phase, iteration); });
      if (tests) {
        done.tests = std::move(*tests);
        done.storage = storage.report();
        done.storage.front().calls = movedBy(done.tests);
      } else {
        outcome = tests.failure();
      }
    }
  }
  if (!outcome) return fail(outcome.failure());
  steps.begin("gathering the results");
  utsname machine{};
  uname(&machine);
  const std::vector<std::string> hosts = session.gather(machine.nodename);
  base::Result<void> reported;
  if (world.isFirst()) {
    PhaseResults results{
        .version = OMNIO_VERSION,
        .command = command,
        .machine = fmt::format("{} {} {}", machine.sysname, machine.nodename, machine.release),
        .target = options.target,
        .identity = identityOf(*model, options, hosts),
        .tests = std::move(done.tests),
        .runs = std::move(done.runs),
        .storage = std::move(done.storage),
        .held = held};
    results.identity.schedule_digest = done.schedule_digest;
    reported = report(options, results);
  }
  if (auto agreed = world.agreed(reported); !agreed) return fail(agreed.failure());
  return kDone;
}

constexpr const char* kAbout =
    "Runs the phases of a model on this storage and measures them; started by mpirun.";

void addOptions(const base::Program& app, Options& options) {
  app.setVersion("omnio-phase-run " OMNIO_VERSION);
  app.option("MODEL", options.model, "A phase model (omnio phases)").required();
  app.option("--target", options.target, "A directory on the storage system under test").required();
  app.option("-o,--output", options.results,
             "Writes the results here, and prints a table instead of them");
  app.option("--iterations", options.runner.iterations,
             "Runs, for a spread (default: 1; of phases by themselves 3)")
      .between(1, 1000);
  app.option("--phase", options.phase, "This phase alone").positive();
  app.option("--api", options.api, "The interface; model: the one of each phase")
      .oneOf({"model", "posix", "stdio", "mpiio"})
      .showDefault();
  app.flag("--apart", options.apart,
           "Each phase by itself, as IOR runs it, and not all of them as the application did");
  app.flag("--no-fsync", options.no_fsync, "Leaves what was written in the page cache");
  app.flag("--warm", options.warm, "Reads what may still be in the page cache");
  app.flag("--beyond-cache", options.runner.beyond_cache,
           "Each phase by itself, repeated at new offsets until it moves twice the memory of the "
           "nodes: the bandwidth of the storage, and not an estimate");
  app.option("--fill-memory", options.fill_memory,
             "Holds this share of the memory of each node, or of its control group, so that files "
             "cannot stay in the page cache; the last GiB is left")
      .check(storage::whyNoMemoryShare)
      .typeName("SHARE%");
  app.flag("--ignore-free-space", options.runner.ignores_room,
           "Goes on where the target seems to have too little room");
  app.countedFlag("-v,--verbose", options.verbosity,
                  "Says on standard error which steps it goes through; -vv: all that it does");
  app.flag("--keep", options.runner.keep, "Leaves the files below the target");
}

// Before MPI starts: it does not have to run where the program is built.
int writeManualPages(int argc, char** argv) {
  Options options;
  const base::Program app(kAbout, "omnio-phase-run");
  addOptions(app, options);
  const base::Parsed parsed = app.parse(argc, argv);
  if (parsed.outcome == base::Parsed::Outcome::kShown) return kDone;
  fmt::print(stderr, "omnio-phase-run: {}\n", base::safeText(parsed.text));
  return kFailed;
}

// Each process reads the same words; the first one answers.
int run(int argc, char** argv, replay::Session& session, replay::Request& request) {
  const PhaseTeam world(session.world());
  Options options;
  const base::Program app(kAbout, "omnio-phase-run");
  addOptions(app, options);
  const base::Parsed parsed = app.parse(argc, argv);
  if (parsed.outcome == base::Parsed::Outcome::kShown) {
    if (!world.isFirst()) return kDone;
    fmt::print("{}", parsed.text);
    return std::fflush(stdout) == 0 ? kDone : kFailed;
  }
  if (parsed.outcome == base::Parsed::Outcome::kRefused) {
    if (world.isFirst()) {
      fmt::print(stderr, "omnio-phase-run: {}\nTry `omnio-phase-run --help`.\n",
                 base::safeText(parsed.text));
    }
    return kWrongUsage;
  }
  std::string command;
  for (int i = 0; i < argc; ++i) command += fmt::format("{}{}", i > 0 ? " " : "", argv[i]);
  return work(std::move(options), command, session, request);
}

}  // namespace
}  // namespace omnio::ior

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == omnio::base::kManualPagesOption) {
    return omnio::ior::writeManualPages(argc, argv);
  }
  omnio::replay::endWithStarters({.parent = omnio::replay::launchedAs().is_launched});
  omnio::replay::Request request;
  request.program = "omnio-phase-run";
  omnio::replay::Session session(&argc, &argv, request);
  try {
    return omnio::ior::run(argc, argv, session, request);
  } catch (const std::exception& error) {
    // Out of memory, mostly: the others may wait in a collective call.
    session.abort(error.what());
  }
}
