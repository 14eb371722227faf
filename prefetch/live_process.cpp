#include "prefetch/live_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/event/event.hpp"
#include "core/tracefile/trace.hpp"

namespace omnio::prefetch {
namespace {

// A log that has nothing new is looked at again after the first of these, then ever more seldom,
// and after the last where it has had nothing for kQuietNs.
constexpr std::int64_t kLeastPauseNs = 50'000;
constexpr std::int64_t kUsualPauseNs = 200'000;
constexpr std::int64_t kMostPauseNs = 5'000'000;
constexpr std::int64_t kQuietNs = 10'000'000;
// While a thread does what it has a plan for.
constexpr double kMostOnPlanNs = 10'000'000;
// How much of the expected time passes until the next event is there: the least of late.
constexpr double kLeastKept = 0.95;
constexpr double kMostPart = 4;  // a read may take longer than what comes before it
// A program that uses ever new files: beyond that its paths are forgotten.
constexpr std::size_t kMostPaths = std::size_t{1} << 16;

}  // namespace

LiveProcess::LiveProcess(const RingMemory& ring, LiveClock& clock)
    : start_(ring.header().process_start), clock_(clock) {
  process_.pid = ring.header().pid;
  process_.token = ring.header().token;
  process_.clock = clock.now();
  renew();
}

// What is known of open files, and of the turns of loops over files, stays.
void LiveProcess::renew() {
  auto paths = std::make_unique<event::PathTable>();
  auto maker = std::make_unique<predict::OperationMaker>(*paths);
  if (maker_) maker->slots().goOnWith(maker_->slots().kept());
  offsets_ = std::make_unique<tracefile::PosixOffsets>(
      std::vector<const tracefile::Process*>{&process_}, *paths, sessions_);
  maker_ = std::move(maker);
  paths_ = std::move(paths);
  openers_.clear();
}

void LiveProcess::renewAll() {
  std::vector<std::unique_ptr<Log>> logs = std::move(logs_);
  logs_.clear();
  renew();
  for (auto& old : logs) {
    auto log = std::make_unique<Log>(std::move(old->live).takeRing(), process_, *paths_);
    while (log->live.next() != nullptr) {  // they were taken
    }
    log->thread = old->thread;
    logs_.push_back(std::move(log));
  }
}

std::optional<tracefile::ProcessInfo> LiveProcess::readInfo(
    const std::filesystem::path& directory) const {
  const auto containers = tracefile::containersIn(directory);
  if (!containers) return {};
  const std::string pid = fmt::format(".{}.", process_.pid);
  for (const std::filesystem::path& path : *containers) {
    if (path.filename().native().find(pid) == std::string::npos) continue;
    auto opened = tracefile::openContainer(path);
    if (opened && opened->token == process_.token) return std::move(opened->info);
  }
  return {};
}

void LiveProcess::add(RingMemory ring) {
  for (const auto& log : logs_) {
    if (log->live.ring().inode() == ring.inode()) return;
  }
  logs_.push_back(std::make_unique<Log>(std::move(ring), process_, *paths_));
}

const JobDescriptor* LiveProcess::openerOf(event::FileId file) const {
  const auto found = openers_.find(file);
  return found == openers_.end() ? nullptr : &found->second;
}

void LiveProcess::expect(std::uint32_t thread, std::int64_t end_ns, double until_ns,
                         double due_in_ns) {
  for (const auto& log : logs_) {
    if (log->thread != thread) continue;
    log->last_end_ns = end_ns;
    log->until_ns = until_ns;
    const double pause_ns = std::min(log->safe_part * due_in_ns, kMostOnPlanNs);
    log->due_ns = std::max(log->due_ns, end_ns + static_cast<std::int64_t>(pause_ns));
  }
}

void LiveProcess::rest(std::int64_t until_ns) {
  for (const auto& log : logs_) log->due_ns = std::max(log->due_ns, until_ns);
  due_ns_ = std::max(due_ns_, until_ns);
}

void LiveProcess::finish() {
  for (const auto& log : logs_) log->due_ns = 0;
}

std::uint64_t LiveProcess::lost() const {
  std::uint64_t lost = 0;
  for (const auto& log : logs_) lost += log->live.lost();
  return lost;
}

void LiveProcess::learnPause(Log& log) {
  if (log.until_ns <= 0) return;
  const double part = static_cast<double>(log.head->end_ns - log.last_end_ns) / log.until_ns;
  log.safe_part = part < log.safe_part
                      ? std::max(part, 0.0)
                      : kLeastKept * log.safe_part + (1 - kLeastKept) * std::min(part, kMostPart);
  log.until_ns = 0;
}

void LiveProcess::take(Log& log, const std::function<void(const Seen&)>& take) {
  const event::Event& event = *log.head;
  learnPause(log);
  const predict::Operation* const operation = maker_->take(process_, event, *offsets_);
  if (operation == nullptr) return;
  const event::Handle* const handle =
      operation->kind == predict::Kind::kOpen ? event.new_handle : event.handle;
  const wire::HandleDefinition& definition = handle->definition;
  JobDescriptor& opener = openers_[operation->file];
  opener = {.pid = pid(),
            .fd = definition.fd,
            .file = {.device = definition.device, .inode = definition.inode}};
  take({.thread = log.thread,
        .operation = *operation,
        .opener = opener,
        .open_flags = definition.open_flags});
}

std::size_t LiveProcess::poll(std::int64_t now_ns,
                              const std::function<void(const Seen&)>& take_operation) {
  process_.clock = clock_.now();
  std::size_t events = 0;
  const auto refill = [&](Log& log) {
    log.head = log.live.next();
    if (log.head != nullptr) log.thread = log.live.thread();
  };
  std::vector<Log*> ready;
  for (const auto& log : logs_) {
    if (now_ns < log->due_ns) continue;
    if (log->live.hasMore()) refill(*log);
    if (log->head != nullptr) {
      log->pause_ns = kLeastPauseNs;
      log->seen_ns = now_ns;
      ready.push_back(log.get());
    } else {
      const bool is_quiet = now_ns - log->seen_ns > kQuietNs;
      log->pause_ns =
          std::clamp(log->pause_ns * 3 / 2, kLeastPauseNs, is_quiet ? kMostPauseNs : kUsualPauseNs);
    }
    log->due_ns = now_ns + log->pause_ns;
  }
  // Events of one thread that came in a row are taken in a row: a thread that records without a
  // pause does not keep those of others waiting for ever.
  constexpr std::size_t kMostAtOnce = 16384;
  while (!ready.empty() && events < kMostAtOnce) {
    const auto first =
        std::ranges::min_element(ready, {}, [](const Log* log) { return log->head->end_ns; });
    Log& log = **first;
    ++events;
    take(log, take_operation);
    refill(log);
    if (log.head == nullptr) ready.erase(first);
  }
  for (Log* const log : ready) log->due_ns = now_ns;
  if (paths_->size() > kMostPaths && ready.empty()) renewAll();
  due_ns_ = now_ns + static_cast<std::int64_t>(kMostOnPlanNs);
  for (const auto& log : logs_) due_ns_ = std::min(due_ns_, log->due_ns);
  return events;
}

}  // namespace omnio::prefetch
