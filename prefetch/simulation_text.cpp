#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "prefetch/simulation.hpp"

namespace omnio::prefetch {
namespace {

// Of many ranks, so many are shown.
constexpr std::size_t kMostLines = 24;

std::string percentOf(double part, double all) {
  return all > 0 ? fmt::format("{:.1f} %", 100 * part / all) : "-";
}
std::string bytesText(std::int64_t bytes) { return base::humanBytes(static_cast<double>(bytes)); }

void appendClock(std::vector<std::string>& row, const Gain& gain, const Gain::Clock& clock) {
  row.push_back(percentOf(clock.hidden_ns, gain.read_ns));
  row.push_back(base::humanNs(clock.run_ns));
  row.push_back(base::humanNs(clock.prefetched_run_ns));
  row.push_back(percentOf(clock.run_ns - clock.prefetched_run_ns, clock.run_ns));
}

std::vector<std::string> rowOf(const Gain& gain, std::string name) {
  std::vector<std::string> row = {
      fmt::format("{}", gain.reads),
      bytesText(gain.read_bytes),
      bytesText(gain.fetched_bytes),
      bytesText(gain.used_bytes),
      percentOf(static_cast<double>(gain.wastedBytes()), static_cast<double>(gain.fetched_bytes)),
      base::humanNs(gain.read_ns),
      base::humanNs(gain.clocks[0].hidden_ns)};
  appendClock(row, gain, gain.clocks[0]);
  row.push_back(std::move(name));
  return row;
}

void appendRatios(std::string& out, const Gain& total) {
  out += "\nThe same operations with other times between them\n";
  std::vector<std::vector<std::string>> rows = {
      {"computing/reading", "hidden", "run", "prefetched", "shorter", ""}};
  const auto add = [&](const Gain::Clock& clock, std::string note) {
    rows.push_back({fmt::format("{:.2f}", clock.computing_ns / total.read_ns)});
    appendClock(rows.back(), total, clock);
    rows.back().push_back(std::move(note));
  };
  for (std::size_t i = 1; i < kClocks; ++i) add(total.clocks[i], "");
  add(total.clocks[0], "as recorded");
  base::appendTable(out, rows, base::Align::kRight);
}

bool hasRatios(const Gain& total) { return total.clocks[0].computing_ns > 0 && total.read_ns > 0; }

void putGain(base::JsonWriter& json, const Gain& gain, std::size_t clocks) {
  json.put("operations", gain.operations);
  json.put("reads", gain.reads);
  json.put("read_bytes", gain.read_bytes);
  json.put("read_ns", std::llround(gain.read_ns));
  json.put("requests", gain.requests);
  json.put("prefetched_bytes", gain.fetched_bytes);
  json.put("used_bytes", gain.used_bytes);
  json.put("wasted_bytes", gain.wastedBytes());
  json.key("times");
  json.beginList();
  for (std::size_t i = 0; i < clocks; ++i) {
    json.object([&] {
      json.put("as_recorded", i == 0);
      json.put("computing_ns", std::llround(gain.clocks[i].computing_ns));
      json.put("hidden_ns", std::llround(gain.clocks[i].hidden_ns));
      json.put("run_ns", std::llround(gain.clocks[i].run_ns));
      json.put("prefetched_run_ns", std::llround(gain.clocks[i].prefetched_run_ns));
    });
  }
  json.endList();
}

}  // namespace

std::string textOf(const Simulation& simulation) {
  const tracefile::Wholeness& whole = simulation.wholeness;
  std::string out = fmt::format(
      "Trace {}: what omnio prefetch would fetch\nWhole: {}; {}\n"
      "Assumed: requests are made {} after what they follow from, and take as long as the trace's "
      "reads of their size,\n  however many there are at once; a read of what is there takes {} "
      "and {} B/ns\n\n",
      base::printable(simulation.trace), whole.whole ? "yes" : "no",
      tracefile::missingSentence(whole), base::humanNs(static_cast<double>(simulation.delay_ns)),
      base::humanNs(kCopyNs), kCopyBytesPerNs);
  std::vector<std::vector<std::string>> rows = {{"reads", "bytes", "fetched", "used", "wasted",
                                                 "read time", "hidden", "", "run", "prefetched",
                                                 "shorter", "rank"}};
  for (const RankGain& rank : simulation.ranks) {
    if (rows.size() > kMostLines) break;
    rows.push_back(rowOf(rank.gain, base::printable(rank.name)));
  }
  rows.push_back(rowOf(simulation.total, "all"));
  base::appendTable(out, rows, base::Align::kRight);
  if (simulation.ranks.size() > kMostLines) {
    fmt::format_to(std::back_inserter(out), "and {} ranks more, which --json has\n",
                   simulation.ranks.size() - kMostLines);
  }
  if (hasRatios(simulation.total)) appendRatios(out, simulation.total);
  return out;
}

std::string jsonOf(const Simulation& simulation) {
  return base::jsonDocument(
      "omnio-predicted-prefetch", 1, {.indent = 1, .lists_on_one_line = false}, [&](auto& json) {
        json.object("trace", [&] {
          json.put("path", base::printable(simulation.trace));
          json.put("whole", simulation.wholeness.whole);
          json.put("reasons", simulation.wholeness.reasons);
        });
        json.put("delay_ns", simulation.delay_ns);
        json.object("total", [&] {
          putGain(json, simulation.total, hasRatios(simulation.total) ? kClocks : 1);
        });
        json.list("ranks", simulation.ranks, [&](const RankGain& rank) {
          json.object([&] {
            json.put("name", base::printable(rank.name));
            json.put("rank", rank.rank);
            putGain(json, rank.gain, 1);
          });
        });
      });
}

}  // namespace omnio::prefetch
