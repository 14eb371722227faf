#include "procurement/form.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "core/base/csv.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"

namespace omnio::procurement {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::string cellOf(double value) { return fmt::format("{:.6g}", value); }
std::string cellOf(const std::optional<double>& value, double scale = 1) {
  return value ? cellOf(*value * scale) : std::string();
}
std::string percentCellOf(const std::optional<double>& share) { return cellOf(share, 100); }

using Each = const ComparedCandidate&;

std::optional<Measure> runTimeOf(Each each) {
  if (each.candidate.run_s.empty()) return std::nullopt;
  return measureOf(each.candidate.run_s);
}

// How full the file system was before the first run, or after the last.
std::string fillOf(Each each, bool is_begin) {
  if (each.candidate.evidence.empty()) return {};
  const RunEvidence& run =
      is_begin ? each.candidate.evidence.front() : each.candidate.evidence.back();
  if (run.capacity_bytes == 0) return {};
  const std::uint64_t free = is_begin ? run.free_begin_bytes : run.free_end_bytes;
  return cellOf(100 * (1 - static_cast<double>(free) / static_cast<double>(run.capacity_bytes)));
}

// The different names that the runs have, each once.
std::string namesIn(const std::vector<RunEvidence>& runs, const auto& namesOf) {
  std::set<std::string> names;
  for (const RunEvidence& run : runs) {
    for (const std::string& name : namesOf(run)) {
      if (!name.empty()) names.insert(base::printable(name));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Calls of all metadata phases over their times; nothing where one has no time.
std::optional<double> metadataRateOf(const Comparison& comparison, std::size_t candidate) {
  double calls = 0;
  double seconds = 0;
  for (const ComparedPhase& phase : comparison.phases) {
    if (phase.weight_operations == 0) continue;
    if (!phase.times[candidate]) return std::nullopt;
    calls += static_cast<double>(phase.weight_operations);
    seconds += phase.times[candidate]->middle;
  }
  return calls > 0 && seconds > 0 ? std::optional(calls / seconds) : std::nullopt;
}

std::string countOf(std::size_t part, std::size_t all) {
  return fmt::format("{} of {}", part, base::counted(all, "run", "runs"));
}

std::string measuredOf(Each each, storage::MeasuredUntil until) {
  const storage::MeasuredPart part = measuredPartOf(each.candidate.evidence, until);
  if (part == storage::MeasuredPart::kUnknown) return {};
  return std::string(base::wordOf(storage::kMeasuredParts, part));
}

std::string lateOf(Each each) {
  const std::vector<RunEvidence>& runs = each.candidate.evidence;
  const auto known = std::ranges::count_if(
      runs, [](const RunEvidence& run) { return run.stretch_share.has_value(); });
  if (known == 0) return {};
  return countOf(static_cast<std::size_t>(std::ranges::count_if(runs, &RunEvidence::is_late)),
                 static_cast<std::size_t>(known));
}

std::string differencesOf(Each each) {
  std::optional<std::uint64_t> sum;
  for (const RunEvidence& run : each.candidate.evidence) {
    if (run.differences) sum = sum.value_or(0) + *run.differences;
  }
  return sum ? std::to_string(*sum) : std::string();
}

}  // namespace

std::vector<FormRow> formOf(const Comparison& comparison) {
  std::vector<FormRow> form;
  const auto add = [&](std::string field, const auto& make_cell) {
    FormRow& row = form.emplace_back(std::move(field));
    for (Each each : comparison.ranking) row.cells.push_back(make_cell(each));
  };
  const auto add_measure = [&](const std::string& field, const auto& measureOfEach) {
    const auto end = [&](double Interval::*which) {
      return [&, which](Each each) {
        const std::optional<Measure> measure = measureOfEach(each);
        return measure && measure->interval ? cellOf((*measure->interval).*which) : std::string();
      };
    };
    add(field + ", s", [&](Each each) {
      const std::optional<Measure> measure = measureOfEach(each);
      return measure ? cellOf(measure->middle) : std::string();
    });
    add(field + ", 95 % from, s", end(&Interval::least));
    add(field + ", 95 % to, s", end(&Interval::most));
  };
  const auto same = [](std::string cell) { return [cell](Each) { return cell; }; };
  const auto runs_of = [](Each each) -> const std::vector<RunEvidence>& {
    return each.candidate.evidence;
  };
  const bool is_run_time = comparison.kind == TimeKind::kRun;
  const storage::MeasuredUntil until = measuredUntil(comparison);

  add("Candidate", [](Each each) { return base::printable(each.candidate.name); });
  add("Directory", [](Each each) { return base::printable(each.candidate.target); });
  add("Mount point, file system, source", [&](Each each) {
    return namesIn(runs_of(each),
                   [](const RunEvidence& run) { return std::vector<std::string>{run.mount}; });
  });
  add("Nodes", [&](Each each) {
    return namesIn(runs_of(each), [](const RunEvidence& run) { return run.hosts; });
  });
  add("Platform", [&](Each each) {
    return namesIn(runs_of(each),
                   [](const RunEvidence& run) { return std::vector<std::string>{run.platform}; });
  });
  add("Capacity, GiB", [&](Each each) {
    const auto& runs = runs_of(each);
    const std::uint64_t bytes = runs.empty() ? 0 : runs.back().capacity_bytes;
    return bytes > 0 ? cellOf(static_cast<double>(bytes) / kGiB) : std::string();
  });
  add("Load: fill at the begin, %", [](Each each) { return fillOf(each, true); });
  add("Load: fill at the end, %", [](Each each) { return fillOf(each, false); });
  add("Recording", same(base::printable(comparison.source)));
  add("Processes of the recording", same(std::to_string(comparison.processes)));
  add("Bytes read and written", same(std::to_string(comparison.weight_bytes)));
  add("Calls on files", same(std::to_string(comparison.calls)));
  add("Times by", same(std::string(kindWord(comparison.kind))));
  add("Rounds", [&](Each each) {
    if (!comparison.rounds || each.candidate.is_elsewhere) return std::string();
    return std::to_string(each.io_s.runs);
  });
  add("Runs", [](Each each) { return std::to_string(each.io_s.runs); });
  add_measure("I/O time",
              [&](Each each) { return is_run_time ? std::nullopt : std::optional(each.io_s); });
  add_measure("Run time", runTimeOf);
  add("Bandwidth, MiB/s", [&](Each each) {
    return is_run_time || comparison.weight_bytes == 0 ? std::string()
                                                       : cellOf(each.bandwidth_mib_s);
  });
  add("Metadata calls a second", [&](Each each) {
    return cellOf(
        metadataRateOf(comparison, static_cast<std::size_t>(&each - comparison.ranking.data())));
  });
  add("Spread: largest distance of a run from the median, %",
      [](Each each) { return percentCellOf(each.spread); });
  add("Spread within 5 %", [](Each each) {
    return !each.spread ? std::string() : *each.spread <= kSpreadLimit ? "yes" : "no";
  });
  add("Share of the peak, writes, %",
      [](Each each) { return percentCellOf(each.peak_share.write); });
  add("Share of the peak, reads, %", [](Each each) { return percentCellOf(each.peak_share.read); });
  add("Measured: storage or memory", [&](Each each) { return measuredOf(each, until); });
  add("Late runs", lateOf);
  add("Results of calls that differ", differencesOf);
  add("Explanation of projections", same(comparison.projection));
  return form;
}

std::string csvOf(const std::vector<FormRow>& form) {
  std::string out;
  for (const FormRow& row : form) {
    std::vector<std::string> line = {row.field};
    std::ranges::copy(row.cells, std::back_inserter(line));
    base::appendCsvLine(out, line);
  }
  return out;
}

}  // namespace omnio::procurement
