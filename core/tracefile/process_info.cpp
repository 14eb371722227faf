#include "core/tracefile/process_info.hpp"

#include <charconv>
#include <limits>

#include "core/wire/info.hpp"

namespace omnio::tracefile {
namespace {

constexpr std::string_view kNoSource = "none";

}  // namespace

void ProcessInfo::take(std::string_view payload) {
  while (true) {
    const std::size_t key_end = payload.find('\0');
    if (key_end == std::string_view::npos) return;
    const std::size_t value_end = payload.find('\0', key_end + 1);
    if (value_end == std::string_view::npos) return;
    facts_[std::string(payload.substr(0, key_end))] =
        payload.substr(key_end + 1, value_end - key_end - 1);
    payload.remove_prefix(value_end + 1);
  }
}

const std::string& ProcessInfo::text(std::string_view key) const {
  static const std::string kNothing;
  const auto found = facts_.find(key);
  return found == facts_.end() ? kNothing : found->second;
}

std::optional<std::uint64_t> ProcessInfo::number(std::string_view key) const {
  const std::string& value = text(key);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || error != std::errc() || end != value.data() + value.size()) return {};
  return number;
}

std::optional<int> ProcessInfo::rank() const {
  const std::string& source = text(wire::info::kRankSource);
  const auto rank = number(wire::info::kRank);
  if (source.empty() || source == kNoSource || !rank ||
      *rank > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return {};
  }
  return static_cast<int>(*rank);
}

int ProcessInfo::ranks() const {
  const auto ranks = number(wire::info::kRanks);
  if (!rank() || !ranks || *ranks < 1 ||
      *ranks > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return 1;
  }
  return static_cast<int>(*ranks);
}

namespace {

constexpr double kPsPerNs = 1000.0;
// More than any machine takes: a damaged fact must not eat a trace's time between calls.
constexpr std::uint64_t kHighestCostPs = 10'000'000;

double costNs(std::optional<std::uint64_t> ps) {
  return ps && *ps <= kHighestCostPs ? static_cast<double>(*ps) / kPsPerNs : 0.0;
}

}  // namespace

double ProcessInfo::eventCostNs() const { return costNs(number(wire::info::kEventCost)); }

double ProcessInfo::clockCostNs() const { return costNs(number(wire::info::kClockCost)); }

}  // namespace omnio::tracefile
