#include "ior_bridge/ior/family_rate.hpp"

#include <cmath>

#include "core/calls/words/names.hpp"

namespace omnio::ior {

FamilyCalls callsOf(const model::Series& family) {
  FamilyCalls result;
  for (const model::Phase* phase : family) {
    for (const auto& [name, count] : phase->calls) {
      const calls::Row* const row = calls::rowNamed(name);
      if (row == nullptr) continue;
      if (row->call_class == calls::Class::kOpen) result.opens += count;
      if (row->call_class == calls::Class::kClose) result.closes += count;
      if (row->call_class == calls::Class::kSync) result.syncs += count;
    }
  }
  return result;
}

std::vector<double> bandwidthsOf(const model::Series& family, std::size_t operation,
                                 const SummaryTest& measured) {
  const model::Phase& first = *family.front();
  const model::Operation kind = first.operations[operation].operation;
  std::vector<double> bandwidths = measured.bandwidth_mib_s.of(kind);
  const std::vector<Columns>& columns = measured.columns.of(kind);
  if (columns.size() != bandwidths.size() || first.calls.empty()) return bandwidths;
  double mib = 0;
  for (const model::Phase* phase : family) {
    mib += static_cast<double>(weightOf(*phase, phase->operations[operation])) / model::kMiB;
  }
  // The operations of a phase are on one open file.
  const FamilyCalls calls = operation == 0 ? callsOf(family) : FamilyCalls{};
  const auto processes = static_cast<double>(first.ranks.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double seconds = mib / columns[i].data_mib_s +
                           static_cast<double>(calls.opens) / processes * columns[i].open_s +
                           static_cast<double>(calls.closes) / processes * columns[i].close_s;
    if (seconds > 0 && std::isfinite(seconds)) bandwidths[i] = mib / seconds;
  }
  return bandwidths;
}

}  // namespace omnio::ior
