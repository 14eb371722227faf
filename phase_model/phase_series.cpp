#include "phase_model/phase_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "phase_model/file_family.hpp"
#include "phase_model/offset_function.hpp"

namespace omnio::phases {
namespace {

using model::Phase;
using model::PhaseOperation;

// Everything that a line of the table says, but for the place. Requests that vary do so by chance.
std::string lineOf(const model::PhaseModel& model, const Phase& p) {
  const model::ModelFile& file = model.files[static_cast<std::size_t>(p.file)];
  std::string line =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", withoutNumbers(file.path), file.shared,
                  nameOf(p.mode), nameOf(p.interface), nameOf(p.pointer), p.collective, p.blocking,
                  p.has_view, p.etype_bytes, fmt::join(p.ranks, ","));
  for (const PhaseOperation& o : p.operations) {
    line += fmt::format("; {} {}", nameOf(o.operation), o.varying);
    if (o.varying) continue;
    line += fmt::format(" {} {} {} {} {}", o.request_bytes, o.repetitions, o.displacement_bytes,
                        o.init_offset.known, o.init_offset.affine ? o.init_offset.per_rank : -1);
  }
  return line;
}

bool isConsecutive(const Series& series) {
  return series.back()->id - series.front()->id + 1 == static_cast<int>(series.size());
}

}  // namespace

std::vector<Series> seriesOf(const model::PhaseModel& model) {
  std::map<std::string, std::size_t> index;
  std::vector<Series> all;
  for (const Phase& phase : model.phases) {
    const auto [place, is_new] = index.try_emplace(lineOf(model, phase), all.size());
    if (is_new) all.emplace_back();
    all[place->second].push_back(&phase);
  }
  return all;
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

std::string offsetText(const Series& series, std::size_t operation, int processes) {
  const PhaseOperation& first = series.front()->operations[operation];
  const std::uint64_t rs = first.request_bytes;
  const auto function = [operation](const Phase* phase) -> const model::OffsetFunction& {
    return phase->operations[operation].init_offset;
  };
  const bool all_affine = std::all_of(series.begin(), series.end(), [&](const Phase* phase) {
    return function(phase).known && function(phase).affine &&
           function(phase).per_rank == function(series.front()).per_rank;
  });
  if (series.size() == 1) return textOf(first.init_offset, rs);
  if (!all_affine) return "differs from phase to phase";
  const std::int64_t step = function(series[1]).base - function(series[0]).base;
  for (std::size_t i = 1; i < series.size(); ++i) {
    if (function(series[i]).base - function(series[i - 1]).base != step) {
      return "differs from phase to phase";
    }
  }
  std::string text = textOf(first.init_offset, rs);
  if (step == 0) return text;
  if (!isConsecutive(series)) return "differs from phase to phase";
  if (text == "0") text.clear();
  const auto turn = static_cast<std::int64_t>(rs) * processes;
  const std::string distance =
      step == turn && processes > 1 ? fmt::format("np * {}", exactSize(rs)) : inRequests(step, rs);
  return fmt::format("{}{}(ph - {}) * {}", text, text.empty() ? "" : " + ", series.front()->id,
                     distance);
}

}  // namespace omnio::phases
