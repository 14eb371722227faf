#include "predict/calibration/calibrate.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/document_file.hpp"
#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/text_table.hpp"
#include "core/storage/storage_watch.hpp"
#include "predict/calibration/access_memory.hpp"
#include "predict/calibration/file_sizes.hpp"
#include "predict/calibration/grid.hpp"
#include "predict/calibration/sample.hpp"
#include "predict/calibration/work_directory.hpp"
#include "predict/calibration/worker_pool.hpp"

namespace omnio::predict {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// The parts of the budget for preparing, training and cleaning up.
constexpr int kPrepareParts = 5;
constexpr int kNamesParts = 20;  // of the time to prepare, for the names in all directories
constexpr int kTrainParts = 10;
constexpr std::int64_t kMostTrainNs = 60 * kSecond;
constexpr int kCleanParts = 50;
constexpr std::int64_t kSaveEveryNs = 5 * kSecond;
constexpr std::uint64_t kReferenceBytes = 4096;
constexpr std::uint32_t kReferenceAccesses = 32;
// In the directory of each process, where names are made and removed. ext4 has names in blocks of
// up to 255, and divides a block that is full. All blocks come to that at about the same time,
// since names are spread evenly: with 4,096 names they may be full or half full, and a rename in
// full ones takes a fifth longer. These fill 32 blocks by two thirds, and by three quarters with
// those that a batch adds. That is as full as blocks are on average.
constexpr std::uint64_t kNames = 5300;
constexpr int kReferences = 200;  // in all of the budget, about

std::string nowAsText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// How long it takes from one reading of the clock to the next.
std::int64_t clockNs() {
  constexpr std::size_t kReadings = 1001;
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < kReadings; ++i) {
    const std::int64_t begin = monotonicNs();
    times.push_back(monotonicNs() - begin);
  }
  std::ranges::nth_element(times, times.begin() + kReadings / 2);
  return times[kReadings / 2];
}

// What a unit took the last time.
struct UnitCost {
  bool is_known = false;
  std::int64_t fixed_ns = 0;
  double access_ns = 0;  // of each access of a process

  std::int64_t of(std::uint64_t accesses) const {
    constexpr double kMost = 1e18;
    if (!is_known) return std::numeric_limits<std::int64_t>::max() / 2;
    return fixed_ns +
           static_cast<std::int64_t>(std::min(kMost, access_ns * static_cast<double>(accesses)));
  }
};

class Calibrator {
 public:
  explicit Calibrator(const CalibrateSettings& settings)
      : settings_(settings), begin_ns_(monotonicNs()) {}

  base::Result<CalibrateOutcome> run() {
    if (const auto begun = begin(); !begun) return begun.failure();
    if (units_.empty()) return outcome();
    base::Result<bool> done = prepare();
    if (done && *done) done = measureWatched();
    const auto saved = save();
    if (!done) {
      const std::string kept =
          hasCells() && saved ? fmt::format("; what was measured is in {}", shown(settings_.output))
                              : std::string();
      return base::Failure{done.failure().code, done.failure().sentence + kept};
    }
    if (!saved) return saved.failure();
    return outcome();
  }

 private:
  static std::string shown(const std::filesystem::path& path) {
    return base::printable(path.native());
  }
  bool isStopped() const {
    return settings_.stop_signal != nullptr && settings_.stop_signal->load() != 0;
  }
  std::int64_t spentNs() const { return spent_before_ns_ + monotonicNs() - begin_ns_; }
  bool hasCells() const {
    return std::ranges::any_of(cells_, [](const Cell& cell) { return cell.all.count() > 0; });
  }

  base::Result<void> begin();
  base::Result<void> checkResumed() const;
  base::Result<void> chooseCache();
  base::Result<bool> prepare();
  base::Result<bool> measureWatched();
  base::Result<bool> measure();
  base::Result<bool> measureRound(std::vector<std::size_t> todo);
  std::int64_t sliceFor(std::size_t number, std::int64_t fair_ns) const;
  std::int64_t leastFor(std::size_t number) const;
  double drawnPart(std::size_t number) const;
  base::Result<bool> measureUnit(std::size_t number, std::uint64_t accesses, std::int64_t slice);
  base::Result<bool> measureReference();
  base::Result<void> save();
  base::Result<void> saveAtTimes();
  CalibrateOutcome outcome();

  WorkOrder orderFor(const Unit& unit) const;
  std::uint64_t accessesLeft(const Unit& unit) const;
  std::vector<std::size_t> unitsLeft() const;
  std::uint64_t accessesNow(std::size_t number) const {
    return std::min(accessesIn(c_.rounds, c_.accesses), accessesLeft(units_[number]));
  }
  void take(const Unit& unit);
  Cell& cellOf(const CellKey& key) {
    return *std::ranges::lower_bound(cells_, key, {}, &Cell::key);
  }
  const Cell& cellOf(const CellKey& key) const {
    return *std::ranges::lower_bound(cells_, key, {}, &Cell::key);
  }
  Calibration document() const;

  storage::Moved movedByAccesses() const;
  std::uint64_t writtenBack() const;

  const CalibrateSettings& settings_;
  const std::int64_t begin_ns_;
  std::int64_t spent_before_ns_ = 0;
  std::int64_t deadline_ns_ = 0;
  std::int64_t saved_ns_ = 0;
  std::int64_t save_took_ns_ = 0;
  std::int64_t referenced_ns_ = 0;
  std::uint64_t batches_ = 0;
  double write_bytes_per_ns_ = 0;
  Calibration c_;  // but for its cells
  GridOptions grid_;
  GridOptions planned_;  // with the sizes that files should get
  std::vector<Unit> units_;
  std::vector<UnitCost> costs_;  // by unit
  std::vector<Cell> cells_;      // all of the grid, by key
  std::vector<std::string> notes_;
  std::unique_ptr<WorkDirectory> directory_;  // outlives the pool
  std::unique_ptr<WorkerPool> pool_;
  std::optional<base::ProgressStage> progress_;
};

base::Result<void> Calibrator::checkResumed() const {
  const Calibration& before = *settings_.resumed;
  const CalibratedTarget now = describeTarget(settings_.target);
  const auto differs = [&](std::string_view what, const auto& old_value, const auto& new_value) {
    return base::failure(base::Code::kInvalid,
                         "{}: it cannot be gone on with: {} was {}, and is {} now",
                         shown(settings_.output), what, old_value, new_value);
  };
  if (before.target.path != now.path) return differs("the target", before.target.path, now.path);
  if (before.target.mount != now.mount) return differs("the mount", before.target.mount, now.mount);
  if (before.target.host != now.host) return differs("the host", before.target.host, now.host);
  if (settings_.cache && before.cache != *settings_.cache) {
    return differs("--cache", nameOf(before.cache), nameOf(*settings_.cache));
  }
  if (before.processes != settings_.processes) {
    return differs("--processes", before.processes, settings_.processes);
  }
  if (before.accesses != settings_.accesses) {
    return differs("--accesses", before.accesses, settings_.accesses);
  }
  if (before.seed != settings_.seed) return differs("--seed", before.seed, settings_.seed);
  if (before.target.kernel != now.kernel) {
    return differs("the kernel", before.target.kernel, now.kernel);
  }
  if (before.largest_bytes != settings_.largest_bytes) {
    return differs("--largest", before.largest_bytes, settings_.largest_bytes);
  }
  if (!before.has_malloc_memory && before.cache != CacheState::kDirect) {
    return base::failure(base::Code::kInvalid,
                         "{}: it cannot be gone on with: its accesses moved memory on other "
                         "boundaries than those of malloc; --force begins anew",
                         shown(settings_.output));
  }
  return {};
}

base::Result<void> Calibrator::chooseCache() {
  const CacheState ways[] = {CacheState::kDirect, CacheState::kCold, CacheState::kCached};
  for (const CacheState state : ways) {
    if (settings_.resumed ? state != settings_.resumed->cache
                          : settings_.cache && state != *settings_.cache) {
      continue;
    }
    const base::Result<CacheProbe> probe = probeCache(*directory_, state);
    if (!probe) return probe.failure();
    if (probe->reason.empty()) {
      c_.cache = state;
      grid_.block_bytes = probe->block_bytes;
      return {};
    }
    if (settings_.cache || settings_.resumed) {
      return base::failure(base::Code::kInvalid,
                           "{}: --cache {}: {}; --cache auto takes what there is", c_.target.path,
                           nameOf(state), probe->reason);
    }
    notes_.push_back(
        fmt::format("{}: not --cache {}: {}", c_.target.path, nameOf(state), probe->reason));
  }
  return {};
}

base::Result<void> Calibrator::begin() {
  // Says now, and not at the end, that the document cannot be written.
  if (const auto can = base::DocumentFile(settings_.output).complete(); !can) return can;
  if (settings_.resumed) {
    if (const auto fits = checkResumed(); !fits) return fits;
    c_ = *settings_.resumed;
    spent_before_ns_ = c_.spent_ns;
  } else {
    c_.date = nowAsText();
    c_.seed = settings_.seed;
    c_.processes = settings_.processes;
    c_.accesses = settings_.accesses;
    c_.largest_bytes = settings_.largest_bytes;
    c_.cache_check.is_automatic = !settings_.cache;
    c_.sessions = 0;
  }
  c_.tool = settings_.tool;
  c_.has_malloc_memory = true;
  c_.budget_ns = settings_.budget_ns;
  c_.reserved_ns = std::min(settings_.budget_ns / kTrainParts, kMostTrainNs);
  const std::int64_t kept = c_.reserved_ns + settings_.budget_ns / kCleanParts;
  deadline_ns_ = begin_ns_ + settings_.budget_ns - spent_before_ns_ - kept;
  grid_.processes = c_.processes;
  grid_.largest_bytes = c_.largest_bytes;
  std::set<CellKey> keys;
  for (const Unit& unit : unitsOf(grid_)) {
    for (const CellKey& key : cellsOf(unit)) keys.insert(key);
  }
  for (const CellKey& key : keys) {
    const Cell* before = c_.find(key);
    cells_.push_back(before != nullptr ? *before : Cell{.key = key});
  }
  units_ = unitsOf(grid_);
  if (settings_.resumed) {
    const auto is_left = [this](const Unit& unit) {
      const auto keys_of = cellsOf(unit);
      const bool is_refused = std::ranges::any_of(c_.unreached, [&](const Unreached& one) {
        return one.is_impossible && one.key == keys_of.front();
      });
      return !is_refused && accessesLeft(unit) > 0;
    };
    if (std::ranges::none_of(units_, is_left)) {
      notes_.push_back("all cells are measured; there is nothing to go on with");
      units_.clear();
      return {};
    }
    if (deadline_ns_ - begin_ns_ < kSecond) {
      return base::failure(base::Code::kInvalid,
                           "{}: the budget of {} s is used up; a larger --budget goes on with it",
                           shown(settings_.output), settings_.budget_ns / kSecond);
    }
  }
  ++c_.sessions;
  c_.target = describeTarget(settings_.target);
  auto directory = WorkDirectory::make(settings_.target, notes_);
  if (!directory) return directory.failure();
  directory_ = std::move(*directory);
  if (const auto chosen = chooseCache(); !chosen) return chosen;
  const auto sizes = chooseSizes({.target = c_.target.path,
                                  .cache = c_.cache,
                                  .processes = c_.processes,
                                  .largest_bytes = c_.largest_bytes,
                                  .memory_bytes = c_.target.memory_bytes,
                                  .free_bytes = freeBytes(settings_.target)});
  if (!sizes) return sizes.failure();
  // Times depend on the sizes, so those of the first session stay where there is room.
  const FileSizes before{.shared_bytes = c_.shared_file_bytes, .own_bytes = c_.own_file_bytes};
  const std::optional<std::uint64_t> free = freeBytes(settings_.target);
  const bool keeps_sizes = settings_.resumed && before.own_bytes > 0 &&
                           (!free || bytesNeeded(before, c_.processes) <= *free);
  c_.shared_file_bytes = keeps_sizes ? before.shared_bytes : sizes->shared_bytes;
  c_.own_file_bytes = keeps_sizes ? before.own_bytes : sizes->own_bytes;
  // Preparing may come to less; a document that is written before knows of these.
  grid_.shared_file_bytes = c_.shared_file_bytes;
  grid_.own_file_bytes = c_.own_file_bytes;
  planned_ = grid_;
  if (const std::uint64_t buffers = c_.processes * AccessMemory::allBytes();
      c_.target.memory_bytes > 0 && buffers > c_.target.memory_bytes / 2) {
    return base::failure(base::Code::kSystem,
                         "{}: too little memory for {} processes with {} each: the node has {}; "
                         "fewer --processes need less",
                         c_.target.path, c_.processes,
                         base::humanBytes(static_cast<double>(AccessMemory::allBytes())),
                         base::humanBytes(static_cast<double>(c_.target.memory_bytes)));
  }
  c_.clock_ns = clockNs();
  constexpr std::uint64_t kPerRound = 6;  // operations of a round through metadata, at most half
  auto pool = WorkerPool::start(directory_->path().native(), c_.processes,
                                std::max<std::uint64_t>(64, c_.accesses * kPerRound),
                                [this] { return isStopped(); });
  if (!pool) return pool.failure();
  pool_ = std::move(*pool);
  return {};
}

base::Result<bool> Calibrator::prepare() {
  const std::int64_t begin = monotonicNs();
  progress_.emplace("writing the files", "s", 0);
  const base::Result<WorkerPool::Outcome> done =
      pool_->carryOut({.kind = OrderKind::kPrepare,
                       .key = {.processes = c_.processes},
                       .cache = c_.cache,
                       .shared_file_bytes = c_.shared_file_bytes,
                       .own_file_bytes = c_.own_file_bytes,
                       .names = settings_.resumed ? settings_.resumed->directory_names : kNames,
                       .names_ns = (deadline_ns_ - begin) / kPrepareParts / kNamesParts /
                                   static_cast<std::int64_t>(c_.processes),
                       .deadline_ns = begin + (deadline_ns_ - begin) / kPrepareParts});
  if (!done) return done.failure();
  if (*done == WorkerPool::Outcome::kStopped) return false;
  std::uint64_t names = 0;
  for (std::uint32_t i = 0; i < c_.processes; ++i) {
    names += pool_->slot(i).names;
    c_.own_file_bytes = std::min(c_.own_file_bytes, pool_->slot(i).own_bytes);
    c_.shared_file_bytes = std::min(c_.shared_file_bytes, pool_->slot(i).shared_end);
  }
  grid_.shared_file_bytes = c_.shared_file_bytes;
  grid_.own_file_bytes = c_.own_file_bytes;
  const std::uint64_t own_files = c_.processes > 1 ? c_.processes : 0;
  names /= c_.processes;
  c_.directory_names = settings_.resumed ? std::min(c_.directory_names, names) : names;
  const std::uint64_t bytes = c_.shared_file_bytes + own_files * c_.own_file_bytes;
  write_bytes_per_ns_ = static_cast<double>(bytes) /
                        static_cast<double>(std::max<std::int64_t>(1, monotonicNs() - begin));
  costs_.resize(units_.size());
  return true;
}

// Accesses that each process still has to make in the cell that has the fewest.
std::uint64_t Calibrator::accessesLeft(const Unit& unit) const {
  std::uint64_t left = 0;
  for (const CellKey& key : cellsOf(unit)) {
    const std::uint64_t made = cellOf(key).all.count() / key.processes;
    left = std::max(left, c_.accesses - std::min(made, c_.accesses));
  }
  return left;
}

std::vector<std::size_t> Calibrator::unitsLeft() const {
  std::vector<std::size_t> left;
  for (const std::size_t i : orderOf(units_.size(), c_.seed, c_.rounds)) {
    if (whyImpossible(units_[i], grid_).empty() && accessesLeft(units_[i]) > 0) left.push_back(i);
  }
  return left;
}

// Bytes that the accesses of the cells and of the reference have moved in all sessions, and the
// writes that come before syncs and closes.
storage::Moved Calibrator::movedByAccesses() const {
  storage::Moved moved;
  for (const Cell& cell : cells_) {
    const bool is_read = cell.key.operation == CellOperation::kRead;
    (is_read ? moved.read_bytes : moved.written_bytes) += cell.all.count() * cell.key.bytes;
  }
  for (const Reference& reference : c_.references) {
    moved.read_bytes += reference.accesses * std::max(kReferenceBytes, grid_.block_bytes);
  }
  return moved;
}

std::uint64_t Calibrator::writtenBack() const {
  std::uint64_t bytes = 0;
  for (const Cell& cell : cells_) bytes += cell.writeback_bytes;
  return bytes;
}

// Samples what the storage does meanwhile.
base::Result<bool> Calibrator::measureWatched() {
  const storage::Moved moved_before = movedByAccesses();
  const std::uint64_t back_before = writtenBack();
  storage::StorageWatch watch(settings_.target);
  watch.begin();
  const base::Result<bool> done = measure();
  const storage::StorageRecord record = watch.end();
  storage::TargetStorage session{.is_known = record.kind != storage::SourceKind::kUnknown,
                                 .is_memory = record.kind == storage::SourceKind::kMemory,
                                 .why_unknown = record.why_unknown,
                                 .calls = movedByAccesses().since(moved_before),
                                 .moved = record.moved,
                                 .own = record.own,
                                 .busy = record.busy.value_or(0),
                                 .dirty_bytes = record.memory_end.dirty_bytes};
  // Batches are written back outside of the times of accesses.
  session.synced.written_bytes = std::min(writtenBack() - back_before, session.moved.written_bytes);
  session.moved.written_bytes -= session.synced.written_bytes;
  if (c_.storage) {
    const storage::TargetStorage both[] = {*c_.storage, session};
    session = storage::sumOf(both);
  }
  session.nodes = {storage::nodeJson(c_.target.host, record, {})};
  c_.storage = std::move(session);
  return done;
}

base::Result<bool> Calibrator::measure() {
  progress_.reset();
  progress_.emplace("calibrating", "s", 0);
  for (;;) {
    std::vector<std::size_t> left = unitsLeft();
    if (left.empty()) return true;
    // A round that was interrupted goes on with what it had not come to.
    if (settings_.resumed && c_.rounds == settings_.resumed->rounds) {
      std::erase_if(left, [this](std::size_t i) {
        const Cell& cell = cellOf(cellsOf(units_[i]).front());
        return !cell.runs.empty() && cell.runs.back().round == c_.rounds;
      });
    }
    const std::int64_t time = deadline_ns_ - monotonicNs();
    const auto has_time = [&](std::size_t i) { return !costs_[i].is_known || leastFor(i) <= time; };
    if (!left.empty() && std::ranges::none_of(left, has_time)) return true;
    const base::Result<bool> done = measureRound(left);
    if (!done || !*done) return done;
    ++c_.rounds;
  }
}

base::Result<bool> Calibrator::measureRound(std::vector<std::size_t> todo) {
  const std::int64_t round_begin = monotonicNs();
  const std::int64_t round_end =
      round_begin + static_cast<std::int64_t>(static_cast<double>(deadline_ns_ - round_begin) *
                                              timeShareOf(c_.rounds));
  while (!todo.empty()) {
    if (isStopped()) return false;
    const std::int64_t now = monotonicNs();
    if (now >= deadline_ns_) return false;
    progress_->reach(static_cast<std::uint64_t>(spentNs() / kSecond),
                     static_cast<std::uint64_t>(settings_.budget_ns / kSecond));
    if (now - referenced_ns_ > settings_.budget_ns / kReferences) {
      const base::Result<bool> done = measureReference();
      if (!done || !*done) return done;
    }
    std::vector<Share> shares;
    for (const std::size_t i : todo) {
      shares.push_back({.cost_ns = costs_[i].of(accessesNow(i)), .weight = weightOf(units_[i])});
    }
    const std::size_t number = todo.back();
    todo.pop_back();
    std::int64_t slice = sliceFor(number, fairSlice(std::move(shares), round_end - now));
    const UnitCost& cost = costs_[number];
    if (cost.is_known) {
      // A unit that has to take longer than its slice is left out of some rounds, or it would take
      // the time of all others. By chance, which comes to the slice in the mean.
      const std::int64_t least = leastFor(number);
      if (drawnPart(number) * static_cast<double>(least) >= static_cast<double>(slice)) continue;
      slice = std::max(slice, least);
    }
    std::uint64_t accesses = accessesNow(number);
    if (cost.is_known && cost.of(accesses) > slice) {
      const double fit = static_cast<double>(slice - cost.fixed_ns) / std::max(1.0, cost.access_ns);
      accesses = fit < 1 ? 1 : std::min(accesses, static_cast<std::uint64_t>(fit));
    }
    const base::Result<bool> done = measureUnit(number, accesses, slice);
    if (!done || !*done) return done;
    if (const auto saved = saveAtTimes(); !saved) return saved.failure();
  }
  return true;
}

std::int64_t Calibrator::sliceFor(std::size_t number, std::int64_t fair_ns) const {
  // Large accesses to slow storage take more than the first round has; the others shall not be
  // down to one access for that.
  constexpr double kLeastPart = 0.1;
  const auto left = static_cast<double>(std::max<std::int64_t>(deadline_ns_ - monotonicNs(), 0));
  double weights = 0;
  for (const Unit& unit : units_) weights += weightOf(unit);
  const double least = kLeastPart * left / weights;
  const double slice = weightOf(units_[number]) * std::max(static_cast<double>(fair_ns), least);
  return static_cast<std::int64_t>(std::min(slice, left));
}

// The least time of a batch: that of one access, and of many syncs in a row.
std::int64_t Calibrator::leastFor(std::size_t number) const {
  constexpr std::int64_t kOfSyncs = 2 * kSecond;
  constexpr int kBudgetParts = 50;
  const UnitCost& cost = costs_[number];
  const std::int64_t all = cost.of(accessesNow(number));
  const std::int64_t one = cost.of(1);
  if (units_[number].kind != UnitKind::kSync) return one;
  return std::max(one, std::min({all, kOfSyncs, settings_.budget_ns / kBudgetParts}));
}

// 0 to 1, another one in each round.
double Calibrator::drawnPart(std::size_t number) const {
  constexpr std::uint64_t kParts = 1 << 20;
  return static_cast<double>(base::mixed(c_.seed, c_.rounds, number) % kParts) / kParts;
}

WorkOrder Calibrator::orderFor(const Unit& unit) const {
  return {.unit = unit.kind,
          .key = unit.key,
          .cache = c_.cache,
          .seed = base::mixed(c_.seed, c_.sessions, batches_),
          .shared_file_bytes = c_.shared_file_bytes,
          .own_file_bytes = c_.own_file_bytes};
}

base::Result<bool> Calibrator::measureUnit(std::size_t number, std::uint64_t accesses,
                                           std::int64_t slice) {
  const Unit& unit = units_[number];
  ++batches_;
  WorkOrder order = orderFor(unit);
  order.accesses = accesses;
  order.limit_ns = std::max<std::int64_t>(0, slice);
  // Half of the slice writes back what the other half wrote.
  if (!unit.key.extends) {
    order.most_bytes = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(order.limit_ns) / 2 *
                                      write_bytes_per_ns_ / unit.key.processes));
  }
  const std::int64_t begin = monotonicNs();
  const base::Result<WorkerPool::Outcome> done = pool_->carryOut(order);
  if (!done) return done.failure();
  if (*done == WorkerPool::Outcome::kStopped) return false;
  const std::int64_t took = monotonicNs() - begin;
  std::uint64_t made = 1;
  std::int64_t longest = 0;
  for (std::uint32_t i = 0; i < unit.key.processes; ++i) {
    const auto records = pool_->records(i);
    made = std::max<std::uint64_t>(made, records.size() / cellsOf(unit).size());
    if (records.empty()) continue;
    longest = std::max(longest, records.back().begin_ns + records.back().time_ns -
                                    records.front().begin_ns + pool_->slot(i).writeback_ns);
  }
  longest = std::min(longest, took);
  costs_[number] = {.is_known = true,
                    .fixed_ns = took - longest,
                    .access_ns = static_cast<double>(longest) / static_cast<double>(made)};
  take(unit);
  return true;
}

// The records of a batch go to their cells.
void Calibrator::take(const Unit& unit) {
  const BatchTimes times{
      .round = c_.rounds, .epoch_ns = begin_ns_ - spent_before_ns_, .clock_ns = c_.clock_ns};
  const SamplePlan plan{.wanted = c_.accesses, .limits = sampleLimits(cells_.size())};
  for (std::uint32_t i = 0; i < unit.key.processes; ++i) {
    const WorkerSlot& slot = pool_->slot(i);
    for (const CellKey& key : cellsOf(unit)) {
      Cell& cell = cellOf(key);
      const auto records = pool_->records(i);
      addBatch(cell, records, i, sampleOf(cell, plan, c_.rounds, i, records), times);
      if (unit.kind != UnitKind::kData) continue;
      cell.writeback_bytes += slot.writeback_bytes;
      cell.writeback_ns += slot.writeback_ns;
    }
    if (slot.resident_percent < 0) continue;
    CacheCheck& check = c_.cache_check;
    const double percent = slot.resident_percent;
    check.least_percent = check.checks == 0 ? percent : std::min(check.least_percent, percent);
    check.most_percent = check.checks == 0 ? percent : std::max(check.most_percent, percent);
    ++check.checks;
  }
}

base::Result<bool> Calibrator::measureReference() {
  const Unit unit{.kind = UnitKind::kData,
                  .key = {.operation = CellOperation::kRead,
                          .order = AccessOrder::kRandom,
                          .bytes = std::max(kReferenceBytes, grid_.block_bytes)}};
  referenced_ns_ = monotonicNs();
  if (!whyImpossible(unit, grid_).empty()) return true;
  ++batches_;
  WorkOrder order = orderFor(unit);
  order.accesses = kReferenceAccesses;
  order.limit_ns = settings_.budget_ns / kReferences / 4;
  const base::Result<WorkerPool::Outcome> done = pool_->carryOut(order);
  if (!done) return done.failure();
  if (*done == WorkerPool::Outcome::kStopped) return false;
  std::vector<std::int64_t> times;
  std::int64_t total = 0;
  for (const AccessRecord& record : pool_->records(0)) {
    times.push_back(std::max<std::int64_t>(0, record.time_ns - c_.clock_ns));
    total += times.back();
  }
  std::ranges::sort(times);
  c_.references.push_back(
      {.round = c_.rounds,
       .begin_ns = pool_->records(0).front().begin_ns - begin_ns_ + spent_before_ns_,
       .accesses = static_cast<std::uint32_t>(times.size()),
       .mean_ns = total / static_cast<std::int64_t>(times.size()),
       .median_ns = times[times.size() / 2]});
  return true;
}

Calibration Calibrator::document() const {
  Calibration document = c_;
  document.spent_ns = spentNs();
  document.cells.clear();
  document.unreached.clear();
  for (const Cell& cell : cells_) {
    if (cell.all.count() > 0) document.cells.push_back(cell);
  }
  for (const Unit& unit : unitsOf(grid_)) {
    const std::string reason = whyImpossible(unit, grid_);
    // Files for which the time was too short may be larger the next time.
    const bool is_impossible = !whyImpossible(unit, planned_).empty();
    for (const CellKey& key : cellsOf(unit)) {
      if (document.find(key) != nullptr) continue;
      document.unreached.push_back({.key = key,
                                    .reason = !reason.empty() ? reason
                                              : isStopped()
                                                  ? "the calibration was interrupted before"
                                                  : "the budget ended before",
                                    .is_impossible = is_impossible});
    }
  }
  // Closing without writing is in two units.
  std::ranges::sort(document.unreached, {}, &Unreached::key);
  return document;
}

base::Result<void> Calibrator::save() {
  if (!hasCells()) return {};
  const std::int64_t begin = monotonicNs();
  const auto written = writeCalibration(settings_.output, document());
  saved_ns_ = monotonicNs();
  save_took_ns_ = saved_ns_ - begin;
  return written;
}

base::Result<void> Calibrator::saveAtTimes() {
  constexpr int kShare = 20;  // writing takes no more than this part of the time
  const std::int64_t since = monotonicNs() - std::max(saved_ns_, begin_ns_);
  if (since < std::max(kSaveEveryNs, save_took_ns_ * kShare)) return {};
  return save();
}

CalibrateOutcome Calibrator::outcome() {
  CalibrateOutcome result{.calibration = units_.empty() ? *settings_.resumed : document(),
                          .is_stopped = isStopped(),
                          .notes = {}};
  const CacheCheck& check = c_.cache_check;
  constexpr double kMuch = 10;
  constexpr double kMost = 90;
  if (c_.cache == CacheState::kCold && check.most_percent > kMuch) {
    notes_.push_back(
        fmt::format("up to {:.0f} % of a file stayed in memory before reads that "
                    "should find it cold",
                    check.most_percent));
  }
  if (c_.cache == CacheState::kCached && check.checks > 0 && check.least_percent < kMost) {
    notes_.push_back(
        fmt::format("as little as {:.0f} % of a file was in memory before reads that "
                    "should find it there",
                    check.least_percent));
  }
  result.notes = std::move(notes_);
  return result;
}

}  // namespace

base::Result<CalibrateOutcome> calibrate(const CalibrateSettings& settings) {
  if (settings.budget_ns < kLeastBudgetNs) {
    return base::failure(base::Code::kInvalid,
                         "--budget: {} s are too short to prepare, measure and clean up; the least "
                         "is {} s",
                         settings.budget_ns / kSecond, kLeastBudgetNs / kSecond);
  }
  return Calibrator(settings).run();
}

}  // namespace omnio::predict
