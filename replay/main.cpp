// omnio-replay: an MPI program that replays a schedule; `omnio replay` starts it.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/base/command_line.hpp"
#include "core/base/printable.hpp"
#include "logging/logging.hpp"
#include "replay/issue/libc.hpp"
#include "replay/launch.hpp"
#include "replay/life_line.hpp"
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

// Past the tracer, in whose trace the log does not belong.
long writePastTracer(int fd, const void* bytes, std::size_t count) {
  return raw::systemCall(SYS_write, fd, bytes, count);
}

void startLog(const RequestOptions& options) {
  const LaunchedAs place = launchedAs();
  logging::Settings settings{.level = options.logLevel(),
                             .program = "omnio-replay",
                             .rank = place.rank,
                             .write = writePastTracer};
  if (settings.level != base::LogLevel::kOff && options.request.compiled) {
    const std::filesystem::path path = rankLog(options.request.output, place.rank);
    const int fd =
        raw::openAt(AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd >= 0) settings.fd = fd;
  }
  logging::start(settings);
  base::logDebug("rank {} of {}, pid {}{}", place.rank, place.ranks, getpid(),
                 isTraced() ? ", traced" : "");
}

int work(const Request& request, int argc, char** argv) {
  const LaunchedAs place = launchedAs();
  // The one that starts itself again under the tracer leaves the life line to that.
  const bool is_last = isTraced() || !request.trace;
  endWithStarters(
      {.parent = place.is_launched || isTraced(), .life_line = is_last && request.compiled});
  std::filesystem::path tree;
  if (isTraced()) {
    const base::Result<std::filesystem::path> made = readyTree(request);
    if (!made) return fail(request, made.failure().sentence);
    tree = *made;
  } else {
    const auto made = makeReady(request, place);
    if (!made) return kFailed;
    tree = *made;
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
  // To its end, but for the calls of the schedule: the trace of a replay has these alone.
  raw::beginOwnWork();
  const base::Program app(
      "Replays a schedule on a target directory; to be started by mpirun or its like.",
      "omnio-replay");
  RequestOptions options;
  Request& request = options.request;
  options.addTo(app);
  app.option("--omnio", request.omnio, "The omnio program that traces the replay").typeName("PATH");
  app.flag("--compiled", request.compiled, "").hidden();
  app.addExitStatus("3",
                    "done, but results of calls differ from the recording, the schedule lacks "
                    "data, or the replay was later than --late-limit");
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
  if (const auto completed = options.complete(); !completed) {
    fmt::print(stderr, "omnio-replay: {}\n", base::safeText(completed.failure().sentence));
    return kWrongUsage;
  }
  startLog(options);
  try {
    return work(request, argc, argv);
  } catch (const std::exception& error) {
    return fail(request, error.what());
  }
}
