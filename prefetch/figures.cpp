#include "prefetch/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"

namespace omnio::prefetch {

void ReadTimes::take(std::int64_t bytes, std::int64_t duration_ns, bool was_fetched) {
  if (bytes <= 0 || duration_ns < 0) return;
  OfClass& of = classes_[sizeClassOf(bytes)];
  (was_fetched ? of.fetched : of.others).add(static_cast<double>(duration_ns) / 1e9);
}

ReadTimes::Saved ReadTimes::saved() const {
  constexpr double kNormal95 = 1.96;
  Saved saved;
  double variance = 0;
  for (const OfClass& of : classes_) {
    const std::uint64_t count = of.fetched.count();
    if (count == 0) continue;
    if (of.others.count() < 2) {
      saved.not_known += count;
      continue;
    }
    const auto n = static_cast<double>(count);
    saved.reads += count;
    saved.mean_s += n * (of.others.average() - of.fetched.average());
    variance += n * n *
                (of.others.variance() / static_cast<double>(of.others.count() - 1) +
                 of.fetched.variance() / std::max(n - 1, 1.0));
  }
  const double half = kNormal95 * std::sqrt(variance);
  saved.low_s = saved.mean_s - half;
  saved.high_s = saved.mean_s + half;
  return saved;
}

namespace {

std::string textOf(const Figures& figures) {
  const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::string text = fmt::format("{}: {:.1f} MiB prefetched, {:.1f} MiB used, {:.1f} MiB wasted",
                                 base::printable(figures.host), mib(figures.fetched_bytes),
                                 mib(figures.used_bytes), mib(figures.wasted_bytes));
  if (figures.saved.reads > 0) {
    text += fmt::format("; {:.3g} s of read time saved (95 %: {:.3g} to {:.3g})",
                        figures.saved.mean_s, figures.saved.low_s, figures.saved.high_s);
  }
  for (const std::string& storage : figures.left_alone) text += "; " + storage;
  if (!figures.model_trouble.empty()) text += "; " + figures.model_trouble;
  return text;
}

}  // namespace

std::string jsonOf(const Figures& figures) {
  return base::jsonDocument("omnio-prefetch", 1, {.indent = 2}, [&](base::JsonWriter& json) {
    json.put("host", base::printable(figures.host));
    json.put("text", textOf(figures));
    json.put("processes", figures.processes);
    json.put("wall_s", figures.wall_s);
    json.put("helper_cpu_s", figures.helper_cpu_s);
    json.put("events_lost", figures.events_lost);
    json.put("budget_bytes", figures.budget_bytes);
    json.put("requests", figures.requests);
    json.put("was_there", figures.was_there);
    json.put("prefetched_bytes", figures.fetched_bytes);
    json.put("used_bytes", figures.used_bytes);
    json.put("wasted_bytes", figures.wasted_bytes);
    json.put("median_delay_ns", figures.median_delay_ns);
    json.object("saved_s", [&] {
      json.put("mean", figures.saved.mean_s);
      json.put("low", figures.saved.low_s);
      json.put("high", figures.saved.high_s);
      json.put("reads", figures.saved.reads);
      json.put("reads_without_others", figures.saved.not_known);
    });
    json.put("written_files", figures.written_files);
    json.put("changed_files", figures.changed_files);
    json.put("left_alone", figures.left_alone);
    json.put("model_trouble", figures.model_trouble);
  });
}

}  // namespace omnio::prefetch
