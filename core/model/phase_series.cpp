#include "core/model/phase_series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/event/event.hpp"

namespace omnio::model {
namespace {

std::string distancesOf(const OffsetFunction& f) {
  std::string text = fmt::format("{}", f.per_rank);
  for (const auto& [count, stride] : f.grid) text += fmt::format(" {}x{}", count, stride);
  return text;
}

// Everything that a line of the table says, but for the place. Requests that vary do so by chance.
std::string lineOf(const PhaseModel& model, const Phase& p) {
  const ModelFile& file = model.files[static_cast<std::size_t>(p.file)];
  if (p.isMetadata()) {
    std::string line = fmt::format("metadata {} {} {} {}", event::withoutNumbers(file.path),
                                   file.shared, p.metadata.directories, fmt::join(p.ranks, ","));
    for (const auto& [name, count] : p.calls) line += fmt::format(" {} {}", name, count);
    return line + fmt::format(" creates {}", p.metadata.creates);
  }
  std::string line =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", event::withoutNumbers(file.path), file.shared,
                  nameOf(p.mode), nameOf(p.interface), nameOf(p.pointer), p.collective, p.blocking,
                  p.has_view, p.etype_bytes, fmt::join(p.ranks, ","));
  for (const PhaseOperation& o : p.operations) {
    line += fmt::format("; {} {}", nameOf(o.operation), o.varying);
    if (o.varying) continue;
    line += fmt::format(" {} {} {} {} {}", o.request_bytes, o.repetitions, o.displacement_bytes,
                        o.init_offset.known,
                        o.init_offset.table.empty() ? distancesOf(o.init_offset) : "table");
    for (const NestedRequests& nested : o.nested) line += textOf(nested.part);
  }
  return line;
}

}  // namespace

std::vector<Series> seriesOf(const PhaseModel& model) {
  std::map<std::string, std::size_t> index;
  std::vector<Series> all;
  for (const Phase& phase : model.phases) {
    const auto [place, is_new] = index.try_emplace(lineOf(model, phase), all.size());
    if (is_new) all.emplace_back();
    all[place->second].push_back(&phase);
  }
  return all;
}

bool isConsecutive(const Series& series) {
  return series.back()->id - series.front()->id + 1 == static_cast<int>(series.size());
}

std::string idsOf(const Series& series) {
  if (series.size() == 1) return fmt::format("{}", series.front()->id);
  if (isConsecutive(series)) return fmt::format("{}-{}", series.front()->id, series.back()->id);
  std::string ids;
  constexpr std::size_t kShown = 3;
  for (std::size_t i = 0; i < std::min(series.size(), kShown); ++i) {
    ids += fmt::format("{}{}", i == 0 ? "" : ", ", series[i]->id);
  }
  return series.size() <= kShown ? ids : fmt::format("{}, ... ({} phases)", ids, series.size());
}

std::optional<std::int64_t> stepOf(const Series& series, std::size_t operation) {
  std::optional<std::int64_t> step;
  const auto function = [operation](const Phase* phase) -> const OffsetFunction& {
    return phase->operations[operation].init_offset;
  };
  const OffsetFunction& first = function(series.front());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const OffsetFunction& f = function(series[i]);
    if (!f.known || !f.table.empty() || distancesOf(f) != distancesOf(first)) return std::nullopt;
    if (i == 0) continue;
    const std::int64_t found = f.base - function(series[i - 1]).base;
    if (found != step.value_or(found)) return std::nullopt;
    step = found;
  }
  return step.value_or(0);
}

}  // namespace omnio::model
