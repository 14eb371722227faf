#include "core/tracefile/pack_trace.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/base/printable.hpp"
#include "core/tracefile/container_draft.hpp"
#include "core/tracefile/container_pack.hpp"
#include "core/tracefile/process_info.hpp"
#include "core/tracefile/trace.hpp"
#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

struct Container {
  fs::path path;
  std::uint64_t bytes = 0;
};

base::Failure refused(const fs::path& trace, std::string_view why) {
  return {base::Code::kInvalid, fmt::format("{}: {}", base::printable(trace.native()), why)};
}

// What a trace holds, as far as the beginnings of its containers tell.
class Survey {
 public:
  explicit Survey(fs::path trace) : trace_(std::move(trace)) {}

  std::optional<base::Failure> take(const std::vector<fs::path>& containers, bool assume_ended) {
    for (const fs::path& path : containers) {
      const base::Result<base::File> file = base::File::open(path);
      if (!file) {
        unreadable.push_back({path, file.failure().sentence});
        continue;
      }
      const base::Result<ContainerStart> start = readContainerStart(path, *file);
      if (!start) {
        unreadable.push_back({path, start.failure().sentence});
        continue;
      }
      readable.push_back({path, file->size()});
      ProcessInfo info;
      readFirstFacts(*file, start->header.token, info);
      by_token_[start->header.token] = path;
      places_.push_back(info.text(wire::info::kRingPlace));
      if (auto failure = checkEnd(*start, info, assume_ended)) return failure;
    }
    return checkRings();
  }

  std::vector<Container> readable;
  std::vector<std::pair<fs::path, std::string>> unreadable;

 private:
  std::optional<base::Failure> checkEnd(const ContainerStart& start, const ProcessInfo& info,
                                        bool assume_ended) const {
    const auto state = start.account ? start.account->state : wire::AccountState::kRunning;
    const auto began = info.number(wire::info::kProcessStart);
    const bool is_seen =
        began && node_.sees(info.text(wire::info::kBoot), info.text(wire::info::kPidNamespace));
    // After exec another image of the same process may run: it has a container of its own.
    if (is_seen && state != wire::AccountState::kReplaced && isAlive(start.header.pid, *began)) {
      return refused(trace_, fmt::format("process {} is still running", start.header.pid));
    }
    if (state != wire::AccountState::kRunning || is_seen || assume_ended) return std::nullopt;
    const std::string& host = info.text(wire::info::kHost);
    return refused(trace_,
                   fmt::format("process {} did not say that it ended: it may still run, or have "
                               "left events, on host {}; run `omnio collect` there, or give "
                               "--assume-ended",
                               start.header.pid, host.empty() ? "unknown" : base::printable(host)));
  }

  std::optional<base::Failure> checkRings() {
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
    TraceIdentity identity = TraceIdentity::of(trace_);
    for (const fs::path& path : ringFiles(ringDirectories(places_))) {
      const auto name = ringNameOf(path.filename().native());
      if (!name || !identity.isCandidate(*name)) continue;
      const auto ring = readRing(path);
      if (!ring) continue;
      const auto container = by_token_.find(ring->token);
      const bool is_known = container != by_token_.end();
      auto fit = identity.fit(*ring, is_known);
      if (fit == TraceIdentity::Fit::kOtherOwner && is_known) {
        // The process may have become another user, and says so in its log.
        if (const base::Result<Process> process = openContainer(container->second)) {
          admitOwners(identity, *process);
          fit = identity.fit(*ring, is_known);
        }
      }
      if (fit != TraceIdentity::Fit::kOurs) continue;
      if (ring->alive) {
        return refused(trace_, fmt::format("process {} is still running", ring->pid));
      }
      return refused(trace_, fmt::format("events of process {} are still in memory: run `omnio "
                                         "collect` first",
                                         ring->pid));
    }
    return std::nullopt;
  }

  const fs::path trace_;
  const ThisNode node_;
  std::map<std::uint64_t, fs::path> by_token_;
  std::vector<std::string> places_;
};

// Hands containers out to threads, and gathers what comes of them.
class Pool {
 public:
  Pool(std::vector<Container> containers, fs::path to, const PackOptions& options,
       PackReport& report)
      : containers_(std::move(containers)), to_(std::move(to)), options_(options), report_(report) {
    // The longest first, so that none is left over at the end.
    std::stable_sort(containers_.begin(), containers_.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    for (const Container& container : containers_) all_bytes_ += container.bytes;
  }

  void run() {
    const auto jobs = std::min<std::size_t>(
        {std::max(options_.jobs, 1U), kMostPackJobs, std::max<std::size_t>(containers_.size(), 1)});
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < jobs; ++i) {
      try {
        threads.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        break;  // fewer then
      }
    }
    work();
    for (std::thread& thread : threads) thread.join();
  }

 private:
  void work() {
    try {
      PayloadPacker packer(options_.level);
      while (!stopped_) {
        const std::size_t i = next_++;
        if (i >= containers_.size()) return;
        done(handle(containers_[i], packer));
      }
    } catch (const std::exception& error) {
      stop(error.what());
    }
  }

  base::Result<ContainerPacked> handle(const Container& container, PayloadPacker& packer) {
    const fs::path target = to_ / container.path.filename();
    std::uint64_t told = 0;
    const Progress progress = [&](std::uint64_t bytes) {
      // As recorded it may be larger than the file.
      bytes = std::min(bytes, container.bytes - std::min(told, container.bytes));
      told += bytes;
      advance(bytes);
    };
    auto result = options_.restore ? restoreContainer(container.path, target, progress)
                                   : packContainer(container.path, target, packer, progress);
    advance(container.bytes - std::min(told, container.bytes));
    return result;
  }

  void done(const base::Result<ContainerPacked>& result) {
    if (!result) return stop(result.failure().sentence);
    const std::lock_guard guard(mutex_);
    if (!result->changed) return;
    ++report_.changed;
    report_.events += result->events;
    report_.recorded_bytes += result->recorded_bytes;
    report_.packed_bytes += result->packed_bytes;
  }

  void stop(const std::string& why) {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    report_.troubles.push_back(why);
  }

  void advance(std::uint64_t bytes) {
    if (!options_.progress) return;
    const std::lock_guard guard(mutex_);
    done_bytes_ += bytes;
    options_.progress(done_bytes_, all_bytes_);
  }

  std::vector<Container> containers_;
  const fs::path to_;
  const PackOptions& options_;
  PackReport& report_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t all_bytes_ = 0;
};

// A directory being filled under another name; without takeName() it is removed.
class DirectoryDraft {
 public:
  explicit DirectoryDraft(fs::path target) : target_(std::move(target)) {}
  DirectoryDraft(const DirectoryDraft&) = delete;
  DirectoryDraft& operator=(const DirectoryDraft&) = delete;
  ~DirectoryDraft() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  std::optional<base::Failure> create(const fs::path& trace) {
    std::error_code error;
    const auto status = fs::symlink_status(target_, error);
    if (fs::exists(status) && (!fs::is_directory(status) || !fs::is_empty(target_, error))) {
      return base::Failure{base::Code::kInvalid,
                           fmt::format("{}: exists already", base::printable(target_.native()))};
    }
    fs::path path = target_.has_filename() ? target_ : target_.parent_path();
    target_ = path;
    // A copy within the original would be copied too.
    const fs::path parent = fs::weakly_canonical(fs::absolute(target_).parent_path(), error);
    const fs::path real = fs::canonical(trace, error);
    const auto [end, ignored] =
        std::mismatch(real.begin(), real.end(), parent.begin(), parent.end());
    if (end == real.end()) {
      return base::Failure{base::Code::kInvalid, fmt::format("{}: lies within the trace",
                                                             base::printable(target_.native()))};
    }
    path += fmt::format(".{}{}", getpid(), kDraftSuffix);
    if (!fs::create_directories(path, error)) {
      return base::Failure{base::Code::kSystem,
                           fmt::format("cannot create {}: {}", base::printable(path.native()),
                                       error ? error.message() : "it exists")};
    }
    path_ = path;
    return std::nullopt;
  }

  std::optional<base::Failure> takeName() {
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error) {
      return base::Failure{
          base::Code::kSystem,
          fmt::format("cannot create {}: {}", base::printable(target_.native()), error.message())};
    }
    path_.clear();
    return std::nullopt;
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path target_;
  fs::path path_;
};

// Copies what is in the trace besides the containers that are packed.
std::optional<base::Failure> copyTheRest(const fs::path& trace, const fs::path& to,
                                         const std::vector<Container>& packed) {
  std::vector<fs::path> leave_out;
  for (const Container& container : packed) leave_out.push_back(container.path.filename());
  std::sort(leave_out.begin(), leave_out.end());
  std::error_code error;
  for (fs::directory_iterator entry(trace, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (std::binary_search(leave_out.begin(), leave_out.end(), name)) continue;
    if (isDraft(name)) continue;
    fs::copy(entry->path(), to / name,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
    if (error) {
      return base::Failure{
          base::Code::kSystem,
          fmt::format("cannot copy {} to {}: {}", base::printable(entry->path().native()),
                      base::printable(to.native()), error.message())};
    }
  }
  if (!error) return std::nullopt;
  return base::Failure{base::Code::kSystem,
                       fmt::format("{}: {}", base::printable(trace.native()), error.message())};
}

}  // namespace

base::Result<PackReport> packTrace(const fs::path& trace, const PackOptions& options) {
  const base::Result<std::vector<fs::path>> containers = containersIn(trace);
  if (!containers) return containers.failure();
  Survey survey(trace);
  if (auto failure = survey.take(*containers, options.assume_ended)) return *failure;
  if (survey.readable.empty()) {
    // Says what is there instead of a trace.
    const base::Result<Trace> opened = Trace::open(trace);
    if (!opened) return opened.failure();
    if (!opened->processes().empty()) return refused(trace, "holds nothing to pack");
  }
  PackReport report;
  report.containers = survey.readable.size();
  for (const auto& [path, why] : survey.unreadable) report.kept.push_back(why);

  const bool in_place = options.copy.empty();
  DirectoryDraft copy(options.copy);
  if (in_place) {
    removeDeadDrafts(trace);
  } else {
    if (auto failure = copy.create(trace)) return *failure;
    if (auto failure = copyTheRest(trace, copy.path(), survey.readable)) return *failure;
  }
  Pool(survey.readable, in_place ? trace : copy.path(), options, report).run();
  if (in_place || !report.troubles.empty()) return report;
  if (auto failure = copy.takeName()) return *failure;
  return report;
}

unsigned usualPackJobs() {
  constexpr unsigned kUsualMost = 16;  // a device has had enough by then
  return std::clamp(std::thread::hardware_concurrency(), 1U, kUsualMost);
}

}  // namespace omnio::tracefile
