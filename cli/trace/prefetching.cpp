#include "cli/trace/prefetching.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>
#include <vector>

#include "cli/output.hpp"
#include "core/base/printable.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/prefetch_notes.hpp"
#include "core/tracefile/process.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/tracefile/trace.hpp"
#include "core/tracefile/trace_identity.hpp"
#include "core/wire/prefetch.hpp"
#include "prefetch/orders.hpp"

namespace omnio::cli {
namespace {

namespace fs = std::filesystem;

// Enough for the facts of a process; of events nothing is kept.
constexpr const char* kLeastLog = "1";

bool isTmpfs(const fs::path& directory) {
  struct statfs facts {};
  return statfs(directory.c_str(), &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

// Into the file that is there, which keeps its mode, or may be a pipe.
base::Result<void> copyText(const fs::path& from, const fs::path& to) {
  errno = 0;
  std::ifstream in(from);
  std::ofstream out(to);
  out << in.rdbuf();
  if (!out.flush()) return base::systemFailure(to, errno, "cannot write");
  return {};
}

// No document is there. A command that has recorded nothing needs no word of that.
void sayNoHelper(const fs::path& directory) {
  const auto trace = tracefile::Trace::open(directory);
  if (trace && !trace->untraced().empty()) {
    for (const std::string& reason : tracefile::reasonsInBrief(tracefile::assess(*trace))) {
      printFailure(fmt::format("nothing was prefetched: {}", reason));
    }
    return;
  }
  const auto containers = tracefile::containersIn(directory);
  if (containers && containers->empty()) return;
  printFailure("nothing was prefetched: no helper has told what it did");
}

// The helper writes its document, and then its name is free.
void awaitEnd(const wire::RunId& run) {
  constexpr int kTries = 10'000;
  constexpr useconds_t kPauseUs = 1000;
  for (int i = 0; i < kTries && prefetch::send(run, prefetch::Order::kEnd); ++i) usleep(kPauseUs);
}

}  // namespace

base::Result<fs::path> directoryOfNothing(const Launcher& launcher) {
  for (const fs::path& place : tracefile::ringDirectories()) {
    if (!isTmpfs(place) || access(place.c_str(), W_OK) != 0) continue;
    std::string name = launcher.job.empty() ? tracefile::runIdText(tracefile::newRun().id)
                                            : launcher.job.substr(launcher.job.find(' ') + 1);
    std::ranges::replace(name, '/', '-');
    return place / fmt::format("omnio-prefetch-{}-{}", geteuid(), name);
  }
  return base::failure(base::Code::kNotFound, "none of {} is a tmpfs that can be written",
                       fmt::join(wire::kRingDirectories, ", "));
}

void keepNothing(SettingValues& values, const fs::path& directory) {
  values.take(wire::SettingId::kOutput, {directory.native()}, "prefetch");
  values.take(wire::SettingId::kMaxLogSize, {kLeastLog}, "prefetch");
}

void askForPrefetching(const PrefetchRequest& request, const Launcher& launcher) {
  std::error_code error;
  std::vector<std::string> words = {fs::read_symlink("/proc/self/exe", error).native(), "prefetch",
                                    "--as-helper"};
  if (request.keeps_nothing) words.emplace_back("--keep-nothing");
  if (launcher.job.empty()) words.emplace_back("--linger");
  if (request.budget_bytes > 0) words.push_back(fmt::format("--budget={}", request.budget_bytes));
  if (!request.model.empty()) {
    words.push_back("--model=" + fs::absolute(request.model, error).native());
  }
  if (!request.save_model.empty()) {
    words.push_back("--save-model=" + fs::absolute(request.save_model, error).native());
  }
  setenv(wire::kPrefetchVariable, fmt::format("{}", fmt::join(words, "\t")).c_str(), 1);
}

void concludePrefetching(const PrefetchRequest& request, const fs::path& directory,
                         const wire::RunId& run, const Launcher& launcher) {
  unsetenv(wire::kPrefetchVariable);
  // A job that starts several commands does not know the last one: the helper ends by itself.
  if (!launcher.job.empty()) return;
  awaitEnd(run);
  const std::vector<fs::path> documents = tracefile::prefetchDocuments(directory);
  // Where the trace is kept, the notes on a terminal have this line too.
  const bool is_said = !request.is_quiet && (request.keeps_nothing || isatty(STDERR_FILENO) == 0);
  std::error_code error;
  for (const fs::path& document : documents) {
    const auto said = tracefile::prefetchSentence(document);
    if (!said) {
      printFailure(said.failure().sentence);
      continue;
    }
    if (is_said) printFailure(*said);
    if (request.json.empty()) continue;
    const auto copied = copyText(document, request.json);
    if (!copied) printFailure(copied.failure().sentence);
  }
  if (documents.empty()) sayNoHelper(directory);
  if (request.keeps_nothing) fs::remove_all(directory, error);
}

}  // namespace omnio::cli
