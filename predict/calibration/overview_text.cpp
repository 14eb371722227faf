#include "predict/calibration/overview_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
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

}  // namespace

std::string overviewText(const Calibration& c) {
  constexpr double kSecond = 1e9;
  std::uint64_t accesses = 0;
  for (const Cell& cell : c.cells) accesses += cell.all.count();
  std::string out = fmt::format("{} ({}), {}: {} of {} cells, {} accesses in {} and {:.0f} s\n\n",
                                c.target.path, c.target.file_system, nameOf(c.cache),
                                c.cells.size(), c.cells.size() + c.unreached.size(), accesses,
                                base::counted(c.rounds, "whole round", "whole rounds"),
                                static_cast<double>(c.spent_ns) / kSecond);
  appendAccesses(out, c, 1);
  if (c.processes > 1) {
    out += '\n';
    appendAccesses(out, c, c.processes);
  }
  out += '\n';
  appendOthers(out, c);
  out += '\n';
  if (const auto noise = noiseOf(c.references)) {
    out += fmt::format("noise: 4 KiB random reads vary by {:.1f} %, and drift by {:+.1f} %\n",
                       noise->floor_percent, noise->drift_percent);
  }
  appendUnreached(out, c);
  return out;
}

}  // namespace omnio::predict
