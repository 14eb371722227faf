#include "predict/access_time/access_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "core/base/text_table.hpp"
#include "predict/calibration/overview.hpp"

namespace omnio::access_time {

namespace {

Samples dataOf(const Samples& samples) {
  Samples data;
  std::ranges::copy_if(samples, std::back_inserter(data), [](const Sample& sample) {
    return sample.access.movesData() && !sample.access.is_paused && !sample.access.is_new;
  });
  return data;
}

// A calibration with one round: the first half of each run is a round, and the second one is.
void splitRound(Samples& samples) {
  std::set<int> rounds;
  for (const Sample& sample : samples) rounds.insert(sample.round);
  if (rounds.size() > 1) return;
  std::map<std::pair<CellOf, int>, std::vector<Sample*>> runs;
  for (Sample& sample : samples) runs[{cellOf(sample.access), sample.process}].push_back(&sample);
  for (auto& [run, members] : runs) {
    for (std::size_t i = members.size() / 2; i < members.size(); ++i) ++members[i]->round;
  }
}

std::map<int, Samples> byRound(const Samples& samples) {
  std::map<int, Samples> rounds;
  for (const Sample& sample : samples) rounds[sample.round].push_back(sample);
  return rounds;
}

}  // namespace

base::Result<AccessTimes> AccessTimes::learned(const predict::Calibration& calibration,
                                               const std::string& name,
                                               std::optional<ModelKind> kind) {
  constexpr std::size_t kLeastSizes = 2, kLeastAccesses = 20;
  Samples samples = samplesOf(calibration, true);
  const auto first_paused = std::ranges::stable_partition(
      samples, [](const Sample& sample) { return !sample.access.is_paused; });
  const Samples paused(first_paused.begin(), first_paused.end());
  samples.erase(first_paused.begin(), first_paused.end());
  splitRound(samples);
  const Samples data = dataOf(samples);
  std::set<double> sizes;
  for (const Sample& sample : data) sizes.insert(sample.access.bytes);
  if (sizes.size() < kLeastSizes || data.size() < kLeastAccesses) {
    return base::failure(base::Code::kInvalid,
                         "{}: too little to learn from: {} of {}, and {} accesses in {} are the "
                         "least; a longer --budget of omnio calibrate measures more",
                         name, base::counted(data.size(), "read or write", "reads and writes"),
                         base::counted(sizes.size(), "size", "sizes"), kLeastAccesses,
                         base::counted(kLeastSizes, "size", "sizes"));
  }
  AccessTimes times;
  for (const ModelKind each : kModelKinds) {
    if (predicts(each) && each == kind.value_or(each)) {
      times.models_.emplace_back(each, totalErrorsOf(each, data));
    }
  }
  times.kind_ = kind.value_or(bestOf(times.models_));
  times.data_ = trained(times.kind_, data);
  times.table_ = std::make_unique<TableModel>(samples);
  times.paused_ = std::make_unique<TableModel>(paused);
  for (const auto& [round, of_round] : byRound(samples)) {
    times.by_round_.push_back(std::make_unique<TableModel>(of_round));
  }
  times.findLookUps(calibration);
  times.noise_ = predict::noiseOf(calibration.references);
  return times;
}

// A file system may keep the names that it has looked up, or ask its server for each of them again,
// each time. It does that where stat takes as long as so many requests: ftruncate, by a descriptor,
// is one or two.
void AccessTimes::findLookUps(const predict::Calibration& calibration) {
  // Below the target: the directory of the calibration, that of the process, and the file.
  constexpr double kBelowTarget = 3;
  const predict::CalibratedTarget& target = calibration.target;
  const std::string point = target.mount.substr(0, target.mount.find(' '));
  const std::string below = target.path.starts_with(point) && point != "/"
                                ? target.path.substr(point.size())
                                : target.path;
  for (std::size_t i = 0; i < below.size(); ++i) {
    const bool is_first = below[i] != '/' && (i == 0 || below[i - 1] == '/');
    look_ups_ += is_first ? 1 : 0;
  }
  look_ups_ += kBelowTarget;
  constexpr double kPart = 0.75 / 2;
  const auto one = [this](CellOperation operation) {
    return table_->seconds({.operation = operation});
  };
  const double request_s = one(CellOperation::kFtruncate);
  looks_up_all_ = request_s > 0 && one(CellOperation::kStat) >= kPart * (look_ups_ + 1) * request_s;
}

// The cost of more names, or fewer: stat looks up all names and asks once more.
double AccessTimes::lookUpSeconds(const Access& access) const {
  if (!looks_up_all_ || access.look_ups == 0) return 0;
  Access stat{.operation = CellOperation::kStat, .sharing = access.sharing};
  stat.processes = access.processes;
  // Both names of a rename are as deep.
  const double paths = access.operation == CellOperation::kRename ? 2 : 1;
  return paths * (access.look_ups - look_ups_) * table_->seconds(stat) / (look_ups_ + 1);
}

// The processor does the same in more time where it has other things in its caches; the storage
// does not. Sizes beyond the measured ones take as much more.
double AccessTimes::pauseSeconds(const Access& access) const {
  if (!access.is_paused) return 0;
  Access alone = access;
  alone.processes = 1;
  alone.sharing = FileSharing::kOwn;
  const auto* const paused = paused_->meansFor(alone);
  const CurvesByProcesses* const others = paused != nullptr ? table_->find(paused->first) : nullptr;
  if (others == nullptr) return 0;
  const double bytes = paused->second.nearestSize(access.bytes);
  const double more_s = paused->second.at(1, bytes) - others->at(1, bytes);
  constexpr double kClearly = 2;
  const double error_s = std::hypot(paused->second.errorAt(1, bytes), others->errorAt(1, bytes));
  return more_s > kClearly * error_s ? more_s : 0;
}

// Where the document has no reads of new data, the others stand for them. In a shared file it has
// them in one order.
Access AccessTimes::inThisDocument(const Access& access) const {
  if (!access.movesData() || !access.is_new) return access;
  Access measured = access;
  if (access.sharing == FileSharing::kShared) measured.order = AccessOrder::kStrided;
  if (table_->find(measured.curve()) != nullptr) return measured;
  measured = access;
  measured.is_new = false;
  return measured;
}

double AccessTimes::seconds(const Access& asked) const {
  constexpr double kLeast = 0.1;
  const Access access = inThisDocument(asked);
  // Models learn no reads of new data but for the table.
  const bool is_by_table = !access.movesData() || access.is_new;
  const TimeModel& model = is_by_table ? static_cast<const TimeModel&>(*table_) : *data_;
  const double seconds = model.seconds(access);
  return std::max(kLeast * seconds, seconds + lookUpSeconds(access) + pauseSeconds(access));
}

// Most file systems lock a file for each write, and some for each read.
bool AccessTimes::isByTurns(const Access& asked) const {
  if (!asked.movesData() || asked.sharing != FileSharing::kShared) return false;
  const Access access = inThisDocument(asked);
  const auto* const means = table_->meansFor(access);
  if (means == nullptr) return false;
  const CurvesByProcesses& curves = means->second;
  const double one_s = curves.at(1, access.bytes), two_s = curves.at(2, access.bytes);
  const double error_s =
      std::hypot(curves.errorAt(1, access.bytes), curves.errorAt(2, access.bytes));
  // One after another, two take twice the time of one, less what each does before and behind it.
  constexpr double kLeast = 5.0 / 3, kClearly = 2;
  return one_s > 0 && two_s >= kLeast * one_s && two_s - one_s > kClearly * error_s;
}

std::optional<AccessTimes::InRound> AccessTimes::inRound(std::size_t round,
                                                         const Access& asked) const {
  const Access access = inThisDocument(asked);
  const auto* const whole = table_->meansFor(access);
  if (whole == nullptr) return {};
  const double processes = access.processes, bytes = access.bytes;
  const CurvesByProcesses* const part = by_round_[round]->find(whole->first);
  if (part == nullptr || !part->hasThoseOf(whole->second, processes, bytes)) return {};
  return InRound{
      .seconds = part->at(processes, bytes),
      .share = part->countFor(processes, bytes) / whole->second.countFor(processes, bytes)};
}

std::optional<AccessTimes::MeanError> AccessTimes::errorOf(const Access& asked) const {
  const Access access = inThisDocument(asked);
  const auto* const means = table_->meansFor(access);
  if (means == nullptr) return {};
  return MeanError{means->first, means->second.errorAt(access.processes, access.bytes)};
}

bool AccessTimes::covers(const Access& access) const {
  if (access.stands_for_another) return false;
  const CurvesByProcesses* const found = table_->find(inThisDocument(access).curve());
  return found != nullptr && found->covers(access.processes, access.bytes);
}

bool AccessTimes::isOnGrid(const Access& access) const {
  const CurvesByProcesses* const found = table_->find(inThisDocument(access).curve());
  return found != nullptr && found->hasSize(access.bytes);
}

const TotalErrors& AccessTimes::errors() const {
  return std::ranges::find(models_, kind_, &std::pair<ModelKind, TotalErrors>::first)->second;
}

const CellMeans* meansOf(const ModelErrors& model, const predict::CellKey& key) {
  const Access access{.operation = key.operation,
                      .order = key.order,
                      .extends = key.extends,
                      .bytes = static_cast<double>(key.bytes)};
  const auto found = std::ranges::find(model.cells, cellOf(access),
                                       [](const CellMeans& means) { return cellOf(means.access); });
  return found == model.cells.end() ? nullptr : &*found;
}

std::string targetOf(const predict::Calibration& calibration) {
  const predict::CalibratedTarget& target = calibration.target;
  return fmt::format("{} ({}) on {}, {}", target.path, target.file_system, target.host,
                     predict::nameOf(calibration.cache));
}

std::string mismatchOf(const predict::Calibration& calibration, const std::string& name,
                       const std::string& subject, const CallTotals& calls) {
  const bool is_direct = calibration.cache == predict::CacheState::kDirect;
  const double share = calls.bytes > 0 ? calls.direct_bytes / calls.bytes : is_direct ? 1 : 0;
  const double other = is_direct ? 1 - share : share;
  constexpr double kMost = 0.1;  // of the bytes, in another state
  if (other > kMost) {
    return fmt::format(
        "{}: it was measured with the cache state {}, and {:.0f} % of the bytes of {} are {} "
        "O_DIRECT",
        name, predict::nameOf(calibration.cache), 100 * other, subject,
        is_direct ? "without" : "by");
  }
  for (const CellOperation operation : {CellOperation::kRead, CellOperation::kWrite}) {
    const bool is_measured = std::ranges::any_of(calibration.cells, [&](const predict::Cell& cell) {
      return cell.key.operation == operation && !cell.key.is_new;
    });
    const bool is_there = operation == CellOperation::kRead ? calls.has_reads : calls.has_writes;
    if (is_there && !is_measured) {
      return fmt::format("{}: no {} was measured, and {} has some", name,
                         predict::nameOf(operation), subject);
    }
  }
  return {};
}

std::vector<ModelErrors> errorsOfAll(const predict::Calibration& calibration) {
  Samples data = dataOf(samplesOf(calibration, false));
  splitRound(data);
  std::vector<ModelErrors> result;
  for (const ModelKind kind : kModelKinds) result.push_back(errorsOf(kind, data));
  return result;
}

std::string textOf(const std::vector<ModelErrors>& errors) {
  std::vector<std::vector<std::string>> rows{
      {"model", "accesses", "MAE s", "MAPE %", "MSPE %", "RQ3 %", "PMax %", "total %", "use"}};
  const auto add = [&rows](const ModelErrors& model, const char* order, const AccessErrors& of) {
    const std::string total =
        model.totals ? fmt::format("{:.1f}", 100 * model.totals->mean()) : "-";
    rows.push_back({std::string(nameOf(model.kind)), order, fmt::format("{:.2e}", of.mae_s),
                    fmt::format("{:.1f}", of.mape), fmt::format("{:.0f}", of.mspe),
                    fmt::format("{:.1f}", of.rq3), fmt::format("{:.0f}", of.pmax), total,
                    predicts(model.kind) ? "predicts" : "explains what was measured"});
  };
  for (const ModelErrors& model : errors) add(model, "sequential", model.sequential);
  for (const ModelErrors& model : errors) add(model, "random, strided", model.random);
  std::string out;
  base::appendTable(out, rows, base::Align::kLeft);
  return out;
}

void putErrors(base::JsonWriter& json, std::string_view key,
               const std::vector<ModelErrors>& errors) {
  json.list(key, errors, [&](const ModelErrors& model) {
    json.object([&] {
      json.put("model", nameOf(model.kind));
      json.put("predicts", predicts(model.kind));
      json.put("total_error", model.totals ? std::optional(model.totals->mean()) : std::nullopt);
      for (const auto& [order, of] :
           {std::pair("sequential", model.sequential), std::pair("random", model.random)}) {
        json.object(order, [&] {
          json.put("accesses", of.accesses);
          json.put("mae_s", of.mae_s);
          json.put("mape_percent", of.mape);
          json.put("mspe_percent", of.mspe);
          json.put("rq3_percent", of.rq3);
          json.put("pmax_percent", of.pmax);
        });
      }
    });
  });
}

std::string accessTimesJson(const predict::Calibration& calibration, const std::string& name,
                            const std::vector<ModelErrors>& errors) {
  return base::jsonDocument("omnio-access-times", 1, {.indent = 1, .decimals = 9}, [&](auto& json) {
    json.put("calibration", name);
    json.put("target", targetOf(calibration));
    json.put("cells", calibration.cells.size());
    json.put("cells_unreached", calibration.unreached.size());
    json.put("rounds", calibration.rounds);
    const auto noise = predict::noiseOf(calibration.references);
    json.put("noise_floor_percent", noise ? std::optional(noise->floor_percent) : std::nullopt);
    json.put("drift_percent", noise ? std::optional(noise->drift_percent) : std::nullopt);
    predict::putTables(json, calibration);
    json.key("sizes");
    json.beginList();
    for (const predict::Cell& cell : calibration.cells) {
      if (!predict::isBasic(cell.key)) continue;
      json.object([&] {
        json.put("case", predict::caseName(cell.key));
        json.put("bytes", cell.key.bytes);
        predict::putTimes(json, cell.all);
        json.object("predicted_s", [&] {
          for (const ModelErrors& model : errors) {
            const auto* const means = meansOf(model, cell.key);
            if (means != nullptr) json.put(nameOf(model.kind), means->predicted_s);
          }
        });
      });
    }
    json.endList();
    putErrors(json, "models", errors);
  });
}

}  // namespace omnio::access_time
