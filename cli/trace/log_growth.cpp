#include "cli/trace/log_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "core/tracefile/completeness.hpp"
#include "statistics/human.hpp"

namespace omnio::cli {
namespace {

constexpr double kNsPerS = 1e9;

struct Life {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

Life lifeOf(const tracefile::Process& process) {
  const auto at = [&process](std::uint64_t ticks) {
    return process.clock->segmentOf(ticks).ns(ticks);
  };
  Life life{.begin_ns = at(process.begin.ticks), .end_ns = at(process.begin.ticks)};
  // That of a killed process is the moment it was collected.
  if (process.account && process.account->state != wire::AccountState::kCollected) {
    life.end_ns = std::max(life.end_ns, at(process.account->end.ticks));
  }
  for (const tracefile::StoredChunk& chunk : process.chunks) {
    life.end_ns = std::max(life.end_ns, at(chunk.header.base_ticks));
  }
  return life;
}

}  // namespace

double LogGrowth::bytesPerHour() const {
  constexpr double kSecondsPerHour = 3600;
  return recorded_s > 0 ? static_cast<double>(bytes) / recorded_s * kSecondsPerHour : 0;
}

LogGrowth growthOf(const tracefile::Trace& trace) {
  LogGrowth growth;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  double lived_ns = 0;
  double stopped_ns = 0;
  for (const auto& process : trace.processes()) {
    std::error_code error;
    const auto size = std::filesystem::file_size(process->container, error);
    if (!error) growth.bytes += size;
    // One that could create no file tells no times.
    if (process->clock == nullptr || process->begin.ticks == 0) continue;
    const Life life = lifeOf(*process);
    first = std::min(first, life.begin_ns);
    last = std::max(last, life.end_ns);
    lived_ns += static_cast<double>(life.end_ns - life.begin_ns);
    stopped_ns += static_cast<double>(tracefile::stopsOf(*process).total_ns);
  }
  if (lived_ns > 0 && last > first) {
    const double share = std::max(0.0, 1 - stopped_ns / lived_ns);
    growth.recorded_s = static_cast<double>(last - first) / kNsPerS * share;
  }
  return growth;
}

std::string growthText(const LogGrowth& growth) {
  const std::string size = stats::humanBytes(static_cast<double>(growth.bytes));
  if (growth.recorded_s < 1) return size;
  return fmt::format("{} in {:.1f} s, {} an hour", size, growth.recorded_s,
                     stats::humanBytes(growth.bytesPerHour()));
}

}  // namespace omnio::cli
