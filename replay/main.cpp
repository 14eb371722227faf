// omnio-replay: an MPI program that replays a schedule; `omnio replay` starts it.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>

#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"
#include "replay/launch.hpp"
#include "replay/run/session.hpp"

namespace {

using namespace omnio;
using namespace omnio::replay;

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

int fail(const Request& request, const std::string& sentence) {
  sayFailure(request, sentence);
  return kFailed;
}

void completePaths(Request& request) {
  std::error_code error;
  if (request.output.empty()) request.output = defaultOutput(request.schedule);
  for (std::filesystem::path* path : {&request.schedule, &request.target, &request.output}) {
    *path = std::filesystem::absolute(*path, error).lexically_normal();
    if (!path->has_filename()) *path = path->parent_path();  // "dir/"
  }
}

int work(const Request& request, int argc, char** argv) {
  const LaunchedAs place = launchedAs();
  std::filesystem::path tree;
  if (isTraced()) {
    const base::Result<std::filesystem::path> made = readyTree(request);
    if (!made) return fail(request, made.failure().sentence);
    tree = *made;
  } else {
    const auto made = makeReady(request, place);
    if (!made) return kFailed;
    if (!*made) return fail(request, made->failure().sentence);
    tree = **made;
    if (request.trace) {
      const base::Result<int> status = runTraced(request, tree, argv);
      if (status) return *status;
      return fail(request, fmt::format("rank {}: {}", place.rank, status.failure().sentence));
    }
  }
  Session session(&argc, &argv, request);
  if (session.size() != place.ranks) {
    session.abort(fmt::format("the launcher says there are {} processes, and MPI says {}",
                              place.ranks, session.size()));
  }
  return run(session, request, tree);
}

}  // namespace

int main(int argc, char** argv) {
  const base::Program app(
      "Replays a schedule on a target directory; to be started by mpirun or its like.",
      "omnio-replay");
  Request request;
  std::string timing;
  bool no_trace = false;
  app.option("SCHEDULE", request.schedule, "Of omnio preprocess").required();
  app.option("--target", request.target, "Directory to work in; all I/O goes to DIR/tree")
      .required()
      .typeName("DIR");
  app.option("-o,--output", request.output,
             "Trace directory of the replay (default: SCHEDULE's name with .replay)")
      .typeName("DIR");
  app.option("--timing", timing, "asap, dt or start instead of the schedule's own")
      .oneOf({"asap", "dt", "start"});
  std::map<std::string, Cache> caches = {
      {"cold", Cache::kCold}, {"warm", Cache::kWarm}, {"as-is", Cache::kAsIs}};
  std::string cache = "cold";
  app.option("--cache", cache, "State of the page cache for input files")
      .oneOf({"cold", "warm", "as-is"})
      .showDefault();
  app.flag("--fresh", request.fresh, "Remove the tree of an earlier replay");
  app.flag("--no-trace", no_trace, "Write the report alone, and no trace");
  app.option("--omnio", request.omnio, "The omnio program that traces the replay").typeName("PATH");
  app.flag("--compiled", request.compiled, "").hidden();
  const base::Parsed parsed = app.parse(argc, argv);
  if (parsed.outcome == base::Parsed::Outcome::kShown) {
    fmt::print("{}", parsed.text);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  if (parsed.outcome == base::Parsed::Outcome::kRefused) {
    fmt::print(stderr, "omnio-replay: {}\nTry `omnio-replay --help`.\n",
               base::safeText(parsed.text));
    return kWrongUsage;
  }
  request.trace = !no_trace;
  request.cache = caches[cache];
  if (timing == "asap") request.timing = model::Timing::kAsap;
  if (timing == "dt") request.timing = model::Timing::kDelta;
  if (timing == "start") request.timing = model::Timing::kStart;
  completePaths(request);
  try {
    return work(request, argc, argv);
  } catch (const std::exception& error) {
    return fail(request, error.what());
  }
}
