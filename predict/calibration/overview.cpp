#include "predict/calibration/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text_table.hpp"

namespace omnio::predict {
namespace {

using Row = std::vector<std::string>;

std::string medianOf(const Calibration& c, const CellKey& key) {
  const Cell* cell = c.find(key);
  return cell == nullptr ? "-" : base::humanNs(cell->all.quantileNs(0.5));
}

std::vector<CellKey> keysOf(const Calibration& c) {
  std::vector<CellKey> keys;
  for (const Cell& cell : c.cells) keys.push_back(cell.key);
  for (const Unreached& one : c.unreached) keys.push_back(one.key);
  std::ranges::sort(keys);
  return keys;
}

void appendAccesses(std::string& out, const Calibration& c, std::uint32_t processes) {
  struct Column {
    std::string_view name;
    CellOperation operation;
    AccessOrder order;
    bool extends;
  };
  constexpr Column kColumns[] = {
      {"read", CellOperation::kRead, AccessOrder::kSequential, false},
      {"read random", CellOperation::kRead, AccessOrder::kRandom, false},
      {"write", CellOperation::kWrite, AccessOrder::kSequential, false},
      {"write random", CellOperation::kWrite, AccessOrder::kRandom, false},
      {"write new", CellOperation::kWrite, AccessOrder::kSequential, true}};
  std::vector<Row> rows = {
      {processes == 1 ? "1 process" : fmt::format("{} processes, own files", processes)}};
  for (const Column& column : kColumns) rows.front().emplace_back(column.name);
  std::set<std::uint64_t> sizes;
  for (const CellKey& key : keysOf(c)) {
    if (isAccess(key.operation)) sizes.insert(key.bytes);
  }
  for (const std::uint64_t bytes : sizes) {
    rows.push_back({base::humanBytes(static_cast<double>(bytes))});
    for (const Column& column : kColumns) {
      rows.back().push_back(medianOf(c, {.operation = column.operation,
                                         .order = column.order,
                                         .extends = column.extends,
                                         .bytes = bytes,
                                         .processes = processes}));
    }
  }
  base::appendTable(out, rows, base::Align::kRight);
}

void appendOthers(std::string& out, const Calibration& c) {
  std::vector<Row> rows = {{"median", "1 process"}};
  if (c.processes > 1) {
    rows.front().push_back(fmt::format("{} with own files", c.processes));
    rows.front().push_back(fmt::format("{} with shared ones", c.processes));
  }
  std::set<std::pair<CellOperation, std::uint64_t>> operations;
  for (const CellKey& key : keysOf(c)) {
    if (!isAccess(key.operation)) operations.emplace(key.operation, key.bytes);
  }
  for (const auto& [operation, bytes] : operations) {
    std::string name(nameOf(operation));
    if (bytes > 0) {
      name += fmt::format(" after {}", base::humanBytes(static_cast<double>(bytes)));
    }
    rows.push_back({name});
    CellKey key{.operation = operation, .bytes = bytes, .processes = 1};
    rows.back().push_back(medianOf(c, key));
    if (c.processes == 1) continue;
    key.processes = c.processes;
    rows.back().push_back(medianOf(c, key));
    key.sharing = FileSharing::kShared;
    rows.back().push_back(medianOf(c, key));
  }
  base::appendTable(out, rows, base::Align::kRight);
}

void appendUnreached(std::string& out, const Calibration& c) {
  std::map<std::string, std::vector<CellKey>> by_reason;
  for (const Unreached& one : c.unreached) by_reason[one.reason].push_back(one.key);
  constexpr std::size_t kShown = 4;
  for (const auto& [reason, keys] : by_reason) {
    out +=
        fmt::format("not measured: {} ({}): ", base::counted(keys.size(), "cell", "cells"), reason);
    for (std::size_t i = 0; i < std::min(kShown, keys.size()); ++i) {
      out += (i == 0 ? "" : ", ") + textOf(keys[i]);
    }
    if (keys.size() > kShown) out += fmt::format(", and {} more", keys.size() - kShown);
    out += '\n';
  }
}

// Pearson's correlation of two quantities, by their co-moments (B. P. Welford; see
// time_summary.cpp).
class Pearson {
 public:
  void add(double x, double y) {
    n_ += 1;
    const double x_off = x - x_mean_, y_off = y - y_mean_;
    x_mean_ += x_off / n_;
    y_mean_ += y_off / n_;
    xx_ += x_off * (x - x_mean_);
    yy_ += y_off * (y - y_mean_);
    xy_ += x_off * (y - y_mean_);
  }
  double count() const { return n_; }
  // 0 where one of them is always the same.
  double value() const { return xx_ > 0 && yy_ > 0 ? xy_ / std::sqrt(xx_ * yy_) : 0; }

 private:
  double n_ = 0, x_mean_ = 0, y_mean_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
};

constexpr std::pair<std::string_view, double> kQuantiles[] = {
    {"quartile1", 0.25}, {"median", 0.5}, {"quartile3", 0.75}};
constexpr double kSecondNs = 1e9;  // ns

}  // namespace

bool isBasic(const CellKey& key) {
  return isAccess(key.operation) && key.processes == 1 && key.sharing == FileSharing::kOwn &&
         !key.is_new && !key.is_paused;
}

std::string caseName(const CellKey& key) {
  return fmt::format("{} {}", nameOf(key.operation), key.extends ? "new" : nameOf(key.order));
}

std::vector<AccessCase> casesOf(const Calibration& calibration) {
  std::map<CellKey, TimeSummary> cases;
  for (const Cell& cell : calibration.cells) {
    if (!isBasic(cell.key)) continue;
    CellKey key = cell.key;
    key.bytes = 0;
    cases[key].add(cell.all);
  }
  std::vector<AccessCase> result;
  for (auto& [key, times] : cases) result.push_back({key, std::move(times)});
  return result;
}

Correlations correlationsOf(const Calibration& calibration) {
  Pearson size, distance, type;
  for (const Cell& cell : calibration.cells) {
    if (!isBasic(cell.key)) continue;
    for (const AccessRun& run : cell.runs) {
      for (std::size_t i = 0; i < run.times_ns.size(); ++i) {
        const double seconds = static_cast<double>(run.times_ns[i]) / kSecondNs;
        size.add(static_cast<double>(cell.key.bytes), seconds);
        distance.add(std::abs(static_cast<double>(run.deltaOffset(i, cell.key.bytes))), seconds);
        type.add(cell.key.operation == CellOperation::kWrite ? 1 : 0, seconds);
      }
    }
  }
  return {.accesses = static_cast<std::size_t>(size.count()),
          .size = size.value(),
          .distance = distance.value(),
          .type = type.value()};
}

std::string tablesText(const Calibration& calibration) {
  std::vector<Row> rows = {{"1 process, all sizes", "least", "1st quartile", "median", "mean",
                            "3rd quartile", "most", "accesses"}};
  for (const AccessCase& one : casesOf(calibration)) {
    const TimeSummary& times = one.times;
    rows.push_back({caseName(one.key), base::humanNs(static_cast<double>(times.leastNs())),
                    base::humanNs(times.quantileNs(0.25)), base::humanNs(times.quantileNs(0.5)),
                    base::humanNs(times.meanNs()), base::humanNs(times.quantileNs(0.75)),
                    base::humanNs(static_cast<double>(times.mostNs())),
                    fmt::format("{}", times.count())});
  }
  std::string out;
  base::appendTable(out, rows, base::Align::kRight);
  const Correlations with_time = correlationsOf(calibration);
  return out + fmt::format(
                   "correlation with the time, of {}: size {:.2f}, distance from the access before "
                   "{:.2f}, type {:.2f}\n",
                   base::counted(with_time.accesses, "access", "accesses"), with_time.size,
                   with_time.distance, with_time.type);
}

void putTimes(base::JsonWriter& json, const TimeSummary& times) {
  json.put("accesses", times.count());
  json.put("least_s", static_cast<double>(times.leastNs()) / kSecondNs);
  for (const auto& [name, share] : kQuantiles) {
    json.put(fmt::format("{}_s", name), times.quantileNs(share) / kSecondNs);
  }
  json.put("mean_s", times.meanNs() / kSecondNs);
  json.put("most_s", static_cast<double>(times.mostNs()) / kSecondNs);
}

void putTables(base::JsonWriter& json, const Calibration& calibration) {
  json.list("cases", casesOf(calibration), [&](const AccessCase& one) {
    json.object([&] {
      json.put("case", caseName(one.key));
      putTimes(json, one.times);
    });
  });
  json.object("correlations", [&] {
    const Correlations with_time = correlationsOf(calibration);
    json.put("accesses", with_time.accesses);
    json.put("size", with_time.size);
    json.put("distance", with_time.distance);
    json.put("type", with_time.type);
  });
}

std::string overviewText(const Calibration& c) {
  std::uint64_t accesses = 0;
  for (const Cell& cell : c.cells) accesses += cell.all.count();
  std::string out = fmt::format("{} ({}), {}: {} of {} cells, {} accesses in {} and {:.0f} s\n\n",
                                c.target.path, c.target.file_system, nameOf(c.cache),
                                c.cells.size(), c.cells.size() + c.unreached.size(), accesses,
                                base::counted(c.rounds, "whole round", "whole rounds"),
                                static_cast<double>(c.spent_ns) / kSecondNs);
  appendAccesses(out, c, 1);
  if (c.processes > 1) {
    out += '\n';
    appendAccesses(out, c, c.processes);
  }
  out += '\n';
  appendOthers(out, c);
  out += '\n';
  out += tablesText(c);
  out += '\n';
  if (const auto noise = noiseOf(c.references)) {
    out += fmt::format("noise: 4 KiB random reads vary by {:.1f} %, and drift by {:+.1f} %\n",
                       noise->floor_percent, noise->drift_percent);
  }
  if (c.storage) {
    const storage::TargetStorage all[] = {*c.storage};
    out += storage::storageText(c.storage->calls.value_or(storage::Moved()), all);
  }
  appendUnreached(out, c);
  return out;
}

}  // namespace omnio::predict
