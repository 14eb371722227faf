#include "core/tracefile/pack_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/base/printable.hpp"
#include "core/tracefile/container_pack.hpp"
#include "core/tracefile/process_info.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

struct Job {
  fs::path container;
  std::uint64_t bytes = 0;
};

// Why the log of this process may still change; empty when it cannot.
std::string whyNotYet(const Process& process, const ThisNode& node, bool assume_ended) {
  const auto state = process.account ? process.account->state : wire::AccountState::kRunning;
  const auto began = process.info.number(wire::info::kProcessStart);
  const bool is_seen = began && node.sees(process.info.text(wire::info::kBoot),
                                          process.info.text(wire::info::kPidNamespace));
  // A process that said that it ends may still write; after exec another image of it runs, which
  // has a container of its own.
  const bool is_here =
      is_seen && state != wire::AccountState::kReplaced && isAlive(process.pid, *began);
  if (is_here || process.life == Life::kRunning) {
    return fmt::format("process {} is still running", process.pid);
  }
  if (!process.rings.empty()) {
    return fmt::format("events of process {} are still in memory: run `omnio collect` first",
                       process.pid);
  }
  if (process.life != Life::kUnknown || assume_ended) return {};
  const std::string& host = process.info.text(wire::info::kHost);
  return fmt::format(
      "process {} did not say that it ended: it may still run, or have left events, on host {}; "
      "run `omnio collect` there, or give --assume-ended",
      process.pid, host.empty() ? "unknown" : base::printable(host));
}

base::Result<std::vector<Job>> jobsOf(const fs::path& directory, bool assume_ended,
                                      PackReport& report) {
  const base::Result<Trace> trace = Trace::open(directory);
  if (!trace) return trace.failure();
  const ThisNode node;
  std::vector<Job> jobs;
  for (const auto& process : trace->processes()) {
    if (const std::string why = whyNotYet(*process, node, assume_ended); !why.empty()) {
      return base::Failure{base::Code::kInvalid,
                           fmt::format("{}: {}", base::printable(directory.native()), why)};
    }
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(process->container, error);
    jobs.push_back({process->container, error ? 0 : bytes});
  }
  for (const base::Failure& failure : trace->unreadable()) report.kept.push_back(failure.sentence);
  // The longest first, so that none is left over at the end.
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.bytes > b.bytes; });
  return jobs;
}

}  // namespace

base::Result<PackReport> packTrace(const fs::path& trace, const PackOptions& options) {
  PackReport report;
  const base::Result<std::vector<Job>> jobs = jobsOf(trace, options.assume_ended, report);
  if (!jobs) return jobs.failure();
  report.containers = jobs->size();
  removeDeadDrafts(trace);

  std::uint64_t all_bytes = 0;
  for (const Job& job : *jobs) all_bytes += job.bytes;
  std::mutex mutex;  // of `report` and `done_bytes`
  std::uint64_t done_bytes = 0;
  std::atomic<std::size_t> next{0};
  const auto stop = [&](const std::string& why) {
    next = jobs->size();
    const std::lock_guard guard(mutex);
    report.troubles.push_back(why);
  };
  const auto advance = [&](std::uint64_t bytes) {
    if (!options.progress) return;
    const std::lock_guard guard(mutex);
    done_bytes += bytes;
    options.progress(std::min(done_bytes, all_bytes), all_bytes);
  };
  const auto work = [&] {
    try {
      PayloadPacker packer(options.level);
      for (std::size_t i = next++; i < jobs->size(); i = next++) {
        const auto packed = packContainer((*jobs)[i].container, packer, advance);
        if (!packed) return stop(packed.failure().sentence);
        if (!packed->changed) continue;
        const std::lock_guard guard(mutex);
        ++report.changed;
        report.events += packed->events;
        report.bytes_before += packed->bytes_before;
        report.bytes_after += packed->bytes_after;
      }
    } catch (const std::exception& error) {
      stop(error.what());
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto wanted = std::min<std::size_t>({options.jobs, kMostPackJobs, jobs->size()});
    try {
      while (threads.size() + 1 < wanted) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // The system allows no more threads: these do.
    }
    work();
  }
  return report;
}

unsigned usualPackJobs() {
  constexpr unsigned kUsualMost = 16;  // a device has had enough by then
  return std::clamp(std::thread::hardware_concurrency(), 1U, kUsualMost);
}

}  // namespace omnio::tracefile
