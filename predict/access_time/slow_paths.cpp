#include "predict/access_time/slow_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "predict/access_time/at_once.hpp"
#include "predict/access_time/call_accesses.hpp"
#include "predict/access_time/residual_classes.hpp"
#include "predict/access_time/schedule_survey.hpp"

namespace omnio::access_time {

namespace {

constexpr double kNs = 1e-9;

// The greatest weights, as parts of all.
template <typename Key, typename NameOf>
AccessClass::Parts partsOf(const std::map<Key, double>& weights, double all, NameOf name_of) {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<double, Key>> sorted;
  for (const auto& [key, weight] : weights) sorted.emplace_back(-weight, key);
  std::ranges::sort(sorted);
  AccessClass::Parts parts;
  for (std::size_t i = 0; i < std::min(kMost, sorted.size()); ++i) {
    parts.emplace_back(name_of(sorted[i].second), -sorted[i].first / all);
  }
  return parts;
}

double weightedMedian(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double all = 0, before = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    before += weight;
    if (before >= all / 2) return value;
  }
  return 0;
}

}  // namespace

class SlowPathFinder::First final : public model::ScheduleSink {
 public:
  Complaint global(const model::ScheduleGlobal& global) override { return survey_.global(global); }
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override {
    sources.push_back(file.source.empty() ? file.location : file.source);
    return survey_.file(number, file);
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    return survey_.beginThread(thread);
  }
  Complaint event(const model::ScheduleEvent& event) override {
    if (event.step == model::Step::kCall && mayUseStorage(event.row->call_class)) {
      at_once.add(event.start_ns, event.end_ns);
    }
    run_ns = std::max(run_ns, event.end_ns);
    return survey_.event(event);
  }

  void finish() {
    facts = survey_.take();
    at_once.finish();
  }

  std::vector<std::string> sources;
  ScheduleFacts facts;
  AtOnce at_once;
  std::int64_t run_ns = 0;

 private:
  static bool mayUseStorage(calls::Class call_class) {
    switch (call_class) {
      case calls::Class::kOpen:
      case calls::Class::kClose:
      case calls::Class::kRead:
      case calls::Class::kWrite:
      case calls::Class::kSync:
      case calls::Class::kMetadata:
      case calls::Class::kMpiFile:
        return true;
      default:
        return false;
    }
  }

  ScheduleSurvey survey_;
};

class SlowPathFinder::Second final : public model::ScheduleSink {
 public:
  // An access that was drawn.
  struct Drawn {
    std::int64_t start_ns = 0;
    std::uint32_t file = 0;
    std::int32_t rank = 0;
    CellOperation operation = CellOperation::kRead;
    double bytes = 0;
  };

  // The accesses of one bin of the histogram.
  struct OfFactor {
    static constexpr std::size_t kMostDrawn = 256;

    std::uint64_t count = 0;
    double seconds = 0;
    double predicted_seconds = 0;
    std::vector<Drawn> drawn{};

    // Each has the same chance to be kept.
    void add(const Drawn& access, double measured_s, double predicted_s) {
      seconds += measured_s;
      predicted_seconds += predicted_s;
      if (++count <= kMostDrawn) {
        drawn.push_back(access);
      } else if (const std::uint64_t i = base::mixed(count, drawn.size()) % count; i < kMostDrawn) {
        drawn[i] = access;
      }
    }
    // The accesses that each one drawn stands for.
    double weight() const { return static_cast<double>(count) / static_cast<double>(drawn.size()); }
  };

  Second(const AccessTimes& times, First& first) : times_(times), first_(first) {}

  Complaint beginThread(const model::ScheduleThread& thread) override {
    if (!accesses_) {
      first_.finish();
      accesses_.emplace(first_.facts.files);
      seconds_of_file_.resize(first_.facts.files.size());
    }
    if (thread.rank != rank_) accesses_->beginRank();
    rank_ = thread.rank;
    accesses_->beginThread(thread.pid);
    pauses_ = {};
    return {};
  }

  Complaint event(const model::ScheduleEvent& event) override {
    const auto file = static_cast<std::uint32_t>(accesses_->fileOf(event));
    found_ = accesses_->of(event);
    pauses_.mark(event, found_);
    if (found_.empty() || event.step != model::Step::kCall) return {};
    const double measured_s = static_cast<double>(event.end_ns - event.start_ns) * kNs;
    double predicted_s = 0;
    bool is_inside = true;
    const double at_once = first_.at_once.during(event.start_ns, event.end_ns);
    for (Access& access : found_) {
      access.processes = at_once;
      predicted_s += times_.seconds(access);
      is_inside = is_inside && times_.covers(access);
      (access.operation == CellOperation::kRead ? reads : writes) |= access.movesData();
    }
    io_s += measured_s;
    if (file < seconds_of_file_.size()) seconds_of_file_[file] += measured_s;
    if (predicted_s <= 0 || measured_s <= 0) return {};
    compared_s += measured_s;
    if (is_inside) inside_s += measured_s;
    const Access& first = found_.front();
    const double factor = measured_s / predicted_s;
    residuals.add(factor);
    by_factor[ResidualHistogram::binOf(factor)].add({.start_ns = event.start_ns,
                                                     .file = file,
                                                     .rank = rank_,
                                                     .operation = first.operation,
                                                     .bytes = first.movesData() ? first.bytes : 0},
                                                    measured_s, predicted_s);
    return {};
  }

  MovedBytes moved() const { return accesses_ ? accesses_->moved() : MovedBytes{}; }
  double secondsOf(std::size_t file) const {
    return file < seconds_of_file_.size() ? seconds_of_file_[file] : 0;
  }

  ResidualHistogram residuals;
  std::vector<OfFactor> by_factor{ResidualHistogram::kBins};
  double io_s = 0, compared_s = 0, inside_s = 0;
  bool reads = false, writes = false;

 private:
  const AccessTimes& times_;
  First& first_;
  std::optional<CallAccesses> accesses_;
  Pauses pauses_;
  std::vector<Access> found_;
  int rank_ = -1;
  std::vector<double> seconds_of_file_;
};

SlowPathFinder::SlowPathFinder(const AccessTimes& times)
    : first_(std::make_unique<First>()), second_(std::make_unique<Second>(times, *first_)) {}

SlowPathFinder::~SlowPathFinder() = default;

model::ScheduleSink& SlowPathFinder::survey() { return *first_; }

model::ScheduleSink& SlowPathFinder::accesses() { return *second_; }

std::vector<std::pair<std::string, double>> SlowPathFinder::secondsByFile() const {
  std::vector<std::pair<std::string, double>> result;
  for (std::size_t i = 0; i < first_->sources.size(); ++i) {
    result.emplace_back(first_->sources[i], second_->secondsOf(i));
  }
  return result;
}

base::Result<SlowPaths> SlowPathFinder::found(const predict::Calibration& calibration,
                                              const std::string& name, const std::string& subject,
                                              std::int64_t begin_ns) const {
  const MovedBytes moved = second_->moved();
  const std::string mismatch = mismatchOf(calibration, name, subject,
                                          {.bytes = moved.by_calls,
                                           .direct_bytes = moved.direct,
                                           .has_reads = second_->reads,
                                           .has_writes = second_->writes});
  if (!mismatch.empty()) return base::Failure{base::Code::kInvalid, mismatch};
  SlowPaths result{.calibration = name,
                   .target = targetOf(calibration),
                   .from_s = static_cast<double>(begin_ns) * kNs,
                   .to_s = static_cast<double>(begin_ns + first_->run_ns) * kNs,
                   .io_s = second_->io_s,
                   .compared_s = second_->compared_s,
                   .inside_s = second_->inside_s,
                   .classes = {}};
  const std::vector<std::size_t> firsts = classesOf(second_->residuals);
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    AccessClass one;
    if (i > 0) one.from_factor = ResidualHistogram::lowerOf(firsts[i]);
    std::map<CellOperation, double> operations;
    std::map<std::uint32_t, double> files;
    std::map<std::int32_t, double> ranks;
    std::vector<std::pair<double, double>> factors, sizes;
    const std::size_t end = i + 1 < firsts.size() ? firsts[i + 1] : ResidualHistogram::kBins;
    for (std::size_t bin = firsts[i]; bin < end; ++bin) {
      const Second::OfFactor& of = second_->by_factor[bin];
      if (of.count == 0) continue;
      one.count += of.count;
      one.seconds += of.seconds;
      one.predicted_seconds += of.predicted_seconds;
      factors.emplace_back(std::exp(ResidualHistogram::middleOf(bin)),
                           static_cast<double>(of.count));
      for (const Second::Drawn& drawn : of.drawn) {
        const double weight = of.weight();
        operations[drawn.operation] += weight;
        files[drawn.file] += weight;
        ranks[drawn.rank] += weight;
        if (drawn.bytes > 0) sizes.emplace_back(drawn.bytes, weight);
        const double part = static_cast<double>(drawn.start_ns) /
                            static_cast<double>(std::max<std::int64_t>(first_->run_ns, 1));
        const auto time = static_cast<std::size_t>(part * AccessClass::kTimes);
        one.when[std::min(time, AccessClass::kTimes - 1)] += weight;
      }
    }
    if (one.count == 0) continue;
    const auto all = static_cast<double>(one.count);
    for (double& part : one.when) part /= all;
    one.median_factor = weightedMedian(std::move(factors));
    one.median_bytes = weightedMedian(std::move(sizes));
    one.operations = partsOf(operations, all, [](CellOperation operation) {
      return std::string(predict::nameOf(operation));
    });
    one.files = partsOf(files, all, [this](std::uint32_t file) {
      return file < first_->sources.size() ? first_->sources[file] : std::string("no known file");
    });
    one.ranks = partsOf(ranks, all, [](std::int32_t rank) { return fmt::format("{}", rank); });
    result.accesses += one.count;
    result.classes.push_back(std::move(one));
  }
  return result;
}

namespace {

double percent(double part, double all) { return all > 0 ? 100 * part / all : 0; }

std::string wordsOf(const AccessClass::Parts& parts) {
  std::string words;
  for (const auto& [name, part] : parts) {
    words += fmt::format("{}{} ({:.0f} %)", words.empty() ? "" : ", ", base::printable(name),
                         100 * part);
  }
  return words;
}

// "0.000000 .. 9.812500 s, most in 4.000000 .. 4.156250 s (31 %)"
std::string timesOf(const SlowPaths& paths, const AccessClass& of) {
  const double step_s = (paths.to_s - paths.from_s) / static_cast<double>(AccessClass::kTimes);
  std::size_t first = AccessClass::kTimes, last = 0, most = 0;
  for (std::size_t i = 0; i < AccessClass::kTimes; ++i) {
    if (of.when[i] <= 0) continue;
    first = std::min(first, i);
    last = i;
    if (of.when[i] > of.when[most]) most = i;
  }
  const auto seconds = [&](std::size_t i) {
    return paths.from_s + step_s * static_cast<double>(i);
  };
  return fmt::format("{:.6f} .. {:.6f} s, most in {:.6f} .. {:.6f} s ({:.0f} %)", seconds(first),
                     seconds(last + 1), seconds(most), seconds(most + 1), 100 * of.when[most]);
}

}  // namespace

std::string textOf(const SlowPaths& paths) {
  std::string out = fmt::format("Paths of accesses, beside the model of {} ({})\n",
                                paths.calibration, base::printable(paths.target));
  if (paths.classes.empty()) return out + "no access can be compared\n";
  out += fmt::format(
      "{} with {:.1f} % of the I/O time; {:.1f} % of that is within the calibrated range\n",
      base::counted(paths.accesses, "access", "accesses"), percent(paths.compared_s, paths.io_s),
      percent(paths.inside_s, paths.compared_s));
  std::vector<std::vector<std::string>> rows{{"class", "accesses", "share", "time s",
                                              "of the I/O time", "measured/predicted", "from",
                                              "size"}};
  for (std::size_t i = 0; i < paths.classes.size(); ++i) {
    const AccessClass& one = paths.classes[i];
    rows.push_back(
        {fmt::format("{}", i + 1), fmt::format("{}", one.count),
         fmt::format("{:.1f} %",
                     percent(static_cast<double>(one.count), static_cast<double>(paths.accesses))),
         fmt::format("{:.6f}", one.seconds),
         fmt::format("{:.1f} %", percent(one.seconds, paths.io_s)),
         fmt::format("{:.3g}", one.median_factor), fmt::format("{:.3g}", one.from_factor),
         one.median_bytes > 0 ? base::humanBytes(one.median_bytes) : "-"});
  }
  base::appendTable(out, rows, base::Align::kRight);
  for (std::size_t i = 0; i < paths.classes.size(); ++i) {
    const AccessClass& one = paths.classes[i];
    out += fmt::format("class {}: {}; {}\n", i + 1, wordsOf(one.operations), timesOf(paths, one));
    out += fmt::format("  files {}; ranks {}\n", wordsOf(one.files), wordsOf(one.ranks));
  }
  return out + fmt::format("{}\n", kClassesExplain);
}

void putSlowPaths(base::JsonWriter& json, const SlowPaths& paths) {
  json.object([&] {
    json.put("calibration", paths.calibration);
    json.put("target", base::printable(paths.target));
    json.put("from_s", paths.from_s);
    json.put("to_s", paths.to_s);
    json.put("accesses", paths.accesses);
    json.put("io_s", paths.io_s);
    json.put("compared_s", paths.compared_s);
    json.put("inside_s", paths.inside_s);
    json.list("classes", paths.classes, [&](const AccessClass& one) {
      json.object([&] {
        json.put("accesses", one.count);
        json.put("time_s", one.seconds);
        json.put("predicted_s", one.predicted_seconds);
        json.put("from_factor", one.from_factor);
        json.put("median_factor", one.median_factor);
        json.put("median_bytes", one.median_bytes);
        const auto put = [&](std::string_view key, const AccessClass::Parts& parts) {
          json.list(key, parts, [&](const auto& part) {
            json.object([&] {
              json.put("name", base::printable(part.first));
              json.put("share", part.second);
            });
          });
        };
        put("operations", one.operations);
        put("files", one.files);
        put("ranks", one.ranks);
        json.put("when", one.when);
      });
    });
    json.put("note", kClassesExplain);
  });
}

}  // namespace omnio::access_time
