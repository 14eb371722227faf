// omnio-replay: an MPI program that replays a schedule; `omnio replay` starts it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>

#include "core/base/printable.hpp"
#include "replay/launch.hpp"
#include "replay/run/run.hpp"
#include "replay/run/session.hpp"

namespace {

using namespace omnio;
using namespace omnio::replay;

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int fail(const std::string& sentence) {
  fmt::print(stderr, "omnio-replay: {}\n", base::safeText(sentence));
  return kFailed;
}

int work(Request request, int argc, char** argv) {
  std::error_code error;
  if (request.output.empty()) request.output = defaultOutput(request.schedule);
  for (std::filesystem::path* path : {&request.schedule, &request.target, &request.output}) {
    *path = std::filesystem::absolute(*path, error).lexically_normal();
    if (!path->has_filename()) *path = path->parent_path();  // "dir/"
  }
  const LaunchedAs place = launchedAs();
  std::filesystem::path tree;
  if (isTraced()) {
    const base::Result<std::filesystem::path> made = readyTree(request);
    if (!made) return fail(made.failure().sentence);
    tree = *made;
  } else {
    const auto made = makeReady(request, place);
    if (!made) return kFailed;
    if (!*made) return fail(made->failure().sentence);
    tree = **made;
    if (request.trace) {
      const base::Result<int> status = runTraced(request, tree, argv);
      if (status) return *status;
      return fail(fmt::format("rank {}: {}", place.rank, status.failure().sentence));
    }
  }
  Session session(&argc, &argv);
  if (session.size() != place.ranks) {
    session.abort(fmt::format("the launcher says there are {} processes, and MPI says {}",
                              place.ranks, session.size()));
  }
  return run(session, request, tree);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Replays a schedule on a target directory; to be started by mpirun or its like.",
               "omnio-replay");
  Request request;
  std::string timing;
  bool no_trace = false;
  app.add_option("SCHEDULE", request.schedule, "Of omnio preprocess")->required();
  app.add_option("--target", request.target, "Directory to work in; all I/O goes to DIR/tree")
      ->required()
      ->type_name("DIR");
  app.add_option("-o,--output", request.output,
                 "Trace directory of the replay (default: SCHEDULE's name with .replay)")
      ->type_name("DIR");
  app.add_option("--timing", timing, "asap, dt or start instead of the schedule's own")
      ->check(CLI::IsMember({"asap", "dt", "start"}));
  std::map<std::string, Cache> caches = {
      {"cold", Cache::kCold}, {"warm", Cache::kWarm}, {"as-is", Cache::kAsIs}};
  std::string cache = "cold";
  app.add_option("--cache", cache, "State of the page cache for input files")
      ->check(CLI::IsMember({"cold", "warm", "as-is"}))
      ->capture_default_str();
  app.add_flag("--fresh", request.fresh, "Remove the tree of an earlier replay");
  app.add_flag("--no-trace", no_trace, "Write the report alone, and no trace");
  app.add_option("--omnio", request.omnio, "The omnio program that traces the replay")
      ->type_name("PATH");
  app.add_flag("--compiled", request.compiled)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    fmt::print(stderr, "omnio-replay: {}\nTry `omnio-replay --help`.\n",
               base::safeText(error.what()));
    return kWrongUsage;
  }
  request.trace = !no_trace;
  request.cache = caches[cache];
  if (timing == "asap") request.timing = model::Timing::kAsap;
  if (timing == "dt") request.timing = model::Timing::kDelta;
  if (timing == "start") request.timing = model::Timing::kStart;
  try {
    return work(std::move(request), argc, argv);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
