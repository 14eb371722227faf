#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/base/csv.hpp"
#include "core/calls/words/names.hpp"
#include "statistics/report.hpp"

namespace omnio::stats {
namespace {

// Each column once, with its value, so that names and values cannot come apart.
class Columns {
 public:
  void add(std::string name, std::uint64_t value) {
    add(std::move(name), fmt::format("{}", value));
  }
  void add(std::string name, std::string value) {
    names_.push_back(std::move(name));
    values_.push_back(std::move(value));
  }
  void addRange(const std::string& name, const Range& range) {
    add(name + "_total", range.total);
    add(name + "_min", range.least);
    add(name + "_average", fmt::format("{:.3f}", range.average()));
    add(name + "_max", range.most);
  }
  void addSummary(const std::string& name, const Summary& summary) {
    addRange(name, summary);
    add(name + "_deviation", fmt::format("{:.3f}", summary.moments.deviation()));
    for (const Percentile& each : kPercentiles) {
      add(fmt::format("{}_{}", name, each.name), summary.quantile(each.part));
    }
  }
  void addTransfer(const std::string& name, const Transfer& transfer) {
    add(name + "_calls", transfer.time_ns.count);
    addSummary(name + "_bytes", transfer.size_bytes);
    addSummary(name + "_time_ns", transfer.time_ns);
    add(name + "_mib_s", fmt::format("{:.3f}", transfer.bandwidthMibS()));
    add(name + "_mib_s_min", fmt::format("{:.3f}", transfer.least_mib_s));
    add(name + "_mib_s_max", fmt::format("{:.3f}", transfer.most_mib_s));
  }

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& values() const { return values_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> values_;
};

void addPattern(Columns& columns, const AccessPattern& pattern, bool has_reread_by_any) {
  const auto adder = [&columns](const std::string& prefix) {
    return [&columns, prefix](std::string_view name, std::uint64_t value) {
      columns.add(prefix + std::string(name), value);
    };
  };
  pattern.read.eachCounter(adder("reads_"));
  pattern.write.eachCounter(adder("writes_"));
  pattern.eachCounter(has_reread_by_any, adder(""));
}

Columns columnsOf(const Group& group, const Report& report) {
  Columns columns;
  columns.add(std::string(nameOf(report.by)), group.name);
  if (report.by == By::kFile) columns.add("ranks", group.ranks);
  for (int c = 0; c < calls::kClassCount; ++c) {
    const auto call_class = static_cast<calls::Class>(c);
    if (call_class == calls::Class::kThreadSync) continue;
    columns.add(std::string(calls::className(call_class)) + "_calls", group.of(call_class));
  }
  columns.add("failed", group.failed);
  columns.add("time_ns", group.time_ns.total);
  for (const calls::Class c : {calls::Class::kOpen, calls::Class::kClose, calls::Class::kSeek}) {
    columns.addRange(std::string(calls::className(c)) + "_time_ns", group.timesOf(c));
  }
  columns.add("metadata_ns", group.metadata_ns);
  columns.add("sync_ns", group.sync_ns);
  columns.addTransfer("reads", group.read);
  columns.addTransfer("writes", group.write);
  columns.add("mpi_sync_ns", group.mpi_sync_ns.total);
  columns.add("mpi_sync_failed", group.mpi_sync_failed);
  if (report.hasPatterns()) addPattern(columns, group.pattern, report.hasRereadByAny());
  return columns;
}

}  // namespace

std::string csvOf(const Report& report) {
  std::string out;
  base::appendCsvLine(out, columnsOf(Group{}, report).names());
  for (const Group& group : report.groups) {
    base::appendCsvLine(out, columnsOf(group, report).values());
  }
  return out;
}

}  // namespace omnio::stats
