#include "prefetch/helper.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/document_file.hpp"
#include "core/base/file.hpp"
#include "core/base/node_memory.hpp"
#include "core/base/repeats.hpp"
#include "core/tracefile/prefetch_notes.hpp"
#include "core/tracefile/ring_file.hpp"
#include "core/wire/clock.hpp"
#include "prefetch/figures.hpp"
#include "prefetch/job_files.hpp"
#include "prefetch/job_models.hpp"
#include "prefetch/live_clock.hpp"
#include "prefetch/live_process.hpp"
#include "prefetch/orders.hpp"
#include "prefetch/page_fetcher.hpp"
#include "prefetch/planner.hpp"

namespace omnio::prefetch {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecondNs = 1'000'000'000;
// How often it looks which processes are left, and which descriptors are out of use.
constexpr std::int64_t kLookAroundNs = kSecondNs / 10;
// Without processes it waits for the next one, while who started the run is there to start more.
constexpr std::int64_t kLingerNs = kSecondNs / 2;
constexpr std::int64_t kFirstProcessNs = 10 * kSecondNs;
// After a look that took longer, it rests so many times as long.
constexpr std::int64_t kLongPollNs = 1'000'000;
constexpr std::int64_t kRest = 30;
// Above that many events at once it lags, and what would be fetched is over.
constexpr std::size_t kTooManyEvents = 1024;
constexpr std::size_t kMostDelays = 65536;

volatile std::sig_atomic_t was_terminated = 0;

// Whether the command that started the run is there on this node, and waits for the helper's end.
bool isAwaited(const HelperSettings& settings) {
  static const std::uint64_t boot = tracefile::bootNumber(tracefile::thisBoot());
  const wire::Supervisor& starter = settings.run.supervisor;
  return settings.lingers && starter.boot == boot && tracefile::isAlive(starter.pid, starter.start);
}

class Helper {
 public:
  explicit Helper(const HelperSettings& settings)
      : settings_(settings),
        clock_(wire::detectClock()),
        models_(settings.model, settings.save_model),
        notices_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
        files_(fetcher_, notices_.get(), static_cast<std::int64_t>(wire::systemNs(CLOCK_REALTIME)),
               figures_,
               [this](const FetchedRanges::Owner& owner, bool was_used) {
                 const auto found = processes_.find(owner.process);
                 if (found != processes_.end())
                   found->second->planner.ended(owner.stream, was_used);
               }),
        begin_ns_(nowNs()) {
    figures_.budget_bytes = settings.budget_bytes > 0 ? settings.budget_bytes : defaultBudget();
  }

  void run() {
    acceptOrders(settings_.socket);
    new_rings_ = inotify_add_watch(notices_.get(), settings_.ring_directory.c_str(),
                                   IN_CREATE | IN_MOVED_TO);
    lookForRings();
    while (!is_told_to_end_ && was_terminated == 0 && !isOver()) {
      wait();
      step();
    }
    for (auto& [token, job] : processes_) finish(*job);
    files_.finish();
    const auto kept = models_.finish();
    figures_.model_trouble = kept ? models_.trouble() : kept.failure().sentence;
    tellOfItself();
  }

  const Figures& figures() const { return figures_; }

 private:
  struct Job {
    explicit Job(const RingMemory& ring, LiveClock& clock) : process(ring, clock) {}
    LiveProcess process;
    Planner planner;
    std::optional<JobModels::Place> place;  // where models are kept, or gone on with
  };

  void lookForRings();
  void takeRing(const fs::path& path);
  void takeNotices();
  void beginModels(Job& job);
  void keepModels(Job& job);
  void finish(Job& job);
  void wait();
  void obey();
  void step();
  void poll(Job& job);
  void act(Job& job, std::uint32_t thread, std::int64_t cause_ns);
  static void expect(Job& job, std::uint32_t thread, std::int64_t end_ns);
  void lookAround();
  bool isOver() const;
  void tellOfItself();

  const HelperSettings& settings_;
  LiveClock clock_;
  JobModels models_;
  PageFetcher fetcher_;
  base::Descriptor notices_;  // of new rings, and of files that were closed
  int new_rings_ = -1;        // the watch of them
  std::map<std::uint64_t, std::unique_ptr<Job>> processes_;  // by token
  std::vector<fs::path> unfinished_;               // rings that have a name, and no header yet
  std::map<std::uint32_t, std::uint64_t> images_;  // the last token of each pid
  Figures figures_;
  JobFiles files_;
  std::int64_t begin_ns_;
  std::int64_t alone_since_ns_ = 0;  // 0: it is not
  std::int64_t looked_ns_ = 0;
  bool is_told_to_end_ = false;
  bool is_off_ = false;
  ReadTimes times_;
  std::vector<double> delays_;  // ns, of the last requests
};

void Helper::lookForRings() {
  for (const fs::path& path : tracefile::ringFiles({settings_.ring_directory})) takeRing(path);
}

void Helper::takeRing(const fs::path& path) {
  const auto name = tracefile::ringNameOf(path.filename().native());
  if (!name || !(name->run == settings_.run.id)) return;
  auto ring = RingMemory::open(path);
  if (!ring) {
    unfinished_.push_back(path);
    return;
  }
  // A process that is gone has nothing to be fetched for.
  if (!tracefile::isAlive(ring->header().pid, ring->header().process_start)) return;
  auto& job = processes_[ring->header().token];
  if (job == nullptr) {
    job = std::make_unique<Job>(*ring, clock_);
    ++figures_.processes;
    images_[ring->header().pid] = ring->header().token;
    beginModels(*job);
  }
  job->process.add(std::move(*ring));
}

// New rings are told of one by one: a job of a thousand threads makes as many.
void Helper::takeNotices() {
  alignas(inotify_event) char events[16384];
  ssize_t bytes = 0;
  while ((bytes = read(notices_.get(), events, sizeof events)) > 0) {
    for (const char* at = events; at < events + bytes;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(at);
      if ((event->mask & IN_Q_OVERFLOW) != 0) {
        lookForRings();
      } else if (event->wd != new_rings_) {
        files_.wasClosed(event->wd);
      } else if (event->len > 0) {
        takeRing(settings_.ring_directory / event->name);
      }
      at += sizeof *event + event->len;
    }
  }
}

void Helper::beginModels(Job& job) {
  if (!models_.isWanted()) return;
  const auto info = job.process.readInfo(settings_.directory);
  if (!info) return;
  job.place = models_.placeOf(*info);
  auto earlier = models_.begin(*job.place);
  if (!earlier) return;
  job.process.slots().goOnWith(earlier->slots);
  job.planner.goOnWith(std::move(earlier->models), std::move(earlier->threads));
}

void Helper::keepModels(Job& job) {
  if (!job.place) return;
  auto threads = job.planner.predictor().known();
  models_.end(*job.place, {.slots = job.process.slots().kept(),
                           .models = job.planner.predictor().finish(),
                           .threads = std::move(threads)});
}

void Helper::finish(Job& job) {
  job.process.finish();
  poll(job);
  keepModels(job);
  figures_.events_lost += job.process.lost();
}

void Helper::wait() {
  std::int64_t due_ns = looked_ns_ + kLookAroundNs;
  for (const auto& [token, job] : processes_) due_ns = std::min(due_ns, job->process.due_ns());
  const std::int64_t left_ns = std::max<std::int64_t>(due_ns - nowNs(), 0);
  const timespec timeout = {.tv_sec = left_ns / kSecondNs, .tv_nsec = left_ns % kSecondNs};
  pollfd watched[] = {{.fd = notices_.get(), .events = POLLIN, .revents = 0},
                      {.fd = settings_.socket, .events = POLLIN, .revents = 0}};
  if (ppoll(watched, 2, &timeout, nullptr) <= 0) return;
  if (watched[1].revents != 0) obey();
  if (watched[0].revents != 0) takeNotices();
}

void Helper::obey() {
  while (const auto order = receive(settings_.socket)) {
    if (*order == Order::kEnd) is_told_to_end_ = true;
    if (*order == Order::kOff) is_off_ = true;
    if (*order == Order::kOn) is_off_ = false;
  }
}

void Helper::step() {
  const std::int64_t now_ns = nowNs();
  for (auto& [token, job] : processes_) {
    if (job->process.due_ns() > now_ns) continue;
    const std::int64_t begin_ns = nowNs();
    poll(*job);
    const std::int64_t end_ns = nowNs();
    // Calls by the hundred thousand a second do not wait for storage: they are not to cost a
    // processor either.
    if (const std::int64_t took_ns = end_ns - begin_ns; took_ns > kLongPollNs) {
      job->process.rest(end_ns + kRest * took_ns);
    }
  }
  files_.takeDone([this](const PageFetcher::Done& done) {
    if (done.came == PageFetcher::Came::kWasThere) ++figures_.was_there;
    if (done.came != PageFetcher::Came::kFetched) return;
    ++figures_.requests;
    const auto delay_ns = static_cast<double>(done.delay_ns);
    if (delays_.size() < kMostDelays) {
      delays_.push_back(delay_ns);
    } else {
      delays_[figures_.requests % kMostDelays] = delay_ns;
    }
  });
  if (now_ns - looked_ns_ >= kLookAroundNs) lookAround();
}

void Helper::poll(Job& job) {
  struct Last {
    std::uint32_t thread;
    std::int64_t end_ns;
  };
  std::vector<Last> last;
  const std::size_t events = job.process.poll(nowNs(), [&](const LiveProcess::Seen& seen) {
    const predict::Operation& operation = seen.operation;
    const std::int64_t covered = files_.take(job.process.token(), seen);
    if (operation.kind == predict::Kind::kRead && operation.bytes > Planner::kLeastBytes) {
      times_.take(operation.bytes, operation.end_ns - operation.start_ns,
                  2 * covered >= operation.bytes);
    }
    job.planner.take(seen.thread, operation);
    if (job.planner.needsNoPlan()) {
      expect(job, seen.thread, operation.end_ns);
      return;
    }
    const auto same = std::ranges::find(last, seen.thread, &Last::thread);
    if (same == last.end()) {
      last.push_back({seen.thread, operation.end_ns});
    } else {
      same->end_ns = operation.end_ns;
    }
  });
  if (events > kTooManyEvents) return;
  for (const Last& one : last) act(job, one.thread, one.end_ns);
  files_.sendAll();
}

void Helper::act(Job& job, std::uint32_t thread, std::int64_t cause_ns) {
  for (const Wanted& wanted : job.planner.plan(thread)) {
    if (is_off_) break;
    const JobDescriptor* const opener = job.process.openerOf(wanted.file);
    if (opener == nullptr) continue;
    const bool goes_on =
        files_.fetch({.opener = *opener,
                      .range = {.begin = wanted.offset, .end = wanted.offset + wanted.bytes},
                      .owner = {.process = job.process.token(), .stream = wanted.stream},
                      .cause_ns = cause_ns});
    if (!goes_on) break;
  }
  expect(job, thread, cause_ns);
}

void Helper::expect(Job& job, std::uint32_t thread, std::int64_t end_ns) {
  const auto until = job.planner.until();
  if (until) job.process.expect(thread, end_ns, until->next_ns, until->plan_ns);
}

void Helper::lookAround() {
  looked_ns_ = nowNs();
  for (auto place = processes_.begin(); place != processes_.end();) {
    Job& job = *place->second;
    // After exec the process is another one.
    if (images_[job.process.pid()] == place->first && job.process.isAlive()) {
      ++place;
      continue;
    }
    finish(job);
    files_.gone(job.process.token());
    if (images_[job.process.pid()] == place->first) images_.erase(job.process.pid());
    place = processes_.erase(place);
  }
  files_.closeUnused(looked_ns_);
  for (const fs::path& path : std::exchange(unfinished_, {})) {
    std::error_code error;
    if (fs::exists(path, error)) takeRing(path);
  }
  if (!processes_.empty()) {
    alone_since_ns_ = 0;
  } else if (alone_since_ns_ == 0) {
    alone_since_ns_ = looked_ns_;
  }
}

bool Helper::isOver() const {
  if (alone_since_ns_ == 0 || isAwaited(settings_)) return false;
  const std::int64_t alone_ns = nowNs() - alone_since_ns_;
  return alone_ns > (figures_.processes == 0 ? kFirstProcessNs : kLingerNs);
}

void Helper::tellOfItself() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  figures_.host = tracefile::thisHost();
  figures_.helper_cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  figures_.wall_s = static_cast<double>(nowNs() - begin_ns_) / 1e9;
  figures_.saved = times_.saved();
  if (!delays_.empty()) figures_.median_delay_ns = std::llround(base::medianOf(delays_));
}

// A rank may be bound to one processor, which the helper has inherited, as what the application did
// with signals, which its start has held; and timers may be late by 50 us by default.
void beApart() {
  struct sigaction action {};
  action.sa_handler = [](int) { was_terminated = 1; };
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  sched_setaffinity(0, sizeof all, &all);
  const sched_param usual{};
  sched_setscheduler(0, SCHED_OTHER, &usual);
  prctl(PR_SET_TIMERSLACK, 10'000UL);
}

// The run leaves nothing on this node: no command collects its rings.
void removeTraces(const HelperSettings& settings) {
  std::error_code error;
  for (const fs::path& path : tracefile::ringFiles({settings.ring_directory})) {
    const auto name = tracefile::ringNameOf(path.filename().native());
    if (name && name->run == settings.run.id) fs::remove(path, error);
  }
  fs::remove_all(settings.directory, error);
}

// The command that started the run removes its directory when it has read the document; where it is
// killed before that, this does.
void leaveNothing(const HelperSettings& settings) {
  constexpr useconds_t kPauseUs = 2000;
  std::error_code error;
  while (isAwaited(settings)) {
    if (!fs::exists(settings.directory, error)) return;
    usleep(kPauseUs);
  }
  removeTraces(settings);
}

base::Result<void> helpAndTell(const HelperSettings& settings) {
  Helper helper(settings);
  helper.run();
  const Figures figures = helper.figures();
  return base::writeDocument(tracefile::prefetchDocument(settings.directory, figures.host),
                             jsonOf(figures));
}

}  // namespace

std::int64_t defaultBudget() {
  constexpr std::int64_t kPart = 16;
  auto bytes = static_cast<std::int64_t>(base::memoryBytes());
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    bytes = std::min<std::int64_t>(bytes, std::stoll(line.substr(line.find(':') + 1)) << 10);
  }
  return bytes / kPart;
}

base::Result<void> help(const HelperSettings& settings) {
  beApart();
  const base::Result<void> written = helpAndTell(settings);
  if (settings.keeps_nothing) {
    close(settings.socket);  // the document is there for who waits until the name is free
    leaveNothing(settings);
  }
  return written;
}

}  // namespace omnio::prefetch
