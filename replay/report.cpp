#include "replay/report.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "core/base/printable.hpp"

namespace omnio::replay {
namespace {

static_assert(std::is_trivially_copyable_v<RankCounts>);
static_assert(std::is_trivially_copyable_v<ThreadPlace>);

template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put(std::string& out, const std::string& text) {
  put(out, text.size());
  out += text;
}

class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}
  bool isDone() const { return ok_ && rest_.empty(); }

  template <typename T>
  void take(T& value) {
    ok_ = ok_ && rest_.size() >= sizeof value;
    if (!ok_) return;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
  }
  void take(std::string& text) {
    std::size_t bytes = 0;
    take(bytes);
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return;
    text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }
  template <typename T, typename Add>
  void takeAll(Add add) {
    std::size_t count = 0;
    take(count);
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      T value{};
      add(value);
    }
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

RankCounts Report::total() const {
  RankCounts all;
  for (const RankCounts& rank : ranks) all.merge(rank);
  return all;
}

const char* nameOf(model::Timing timing) {
  switch (timing) {
    case model::Timing::kAsap:
      return "asap";
    case model::Timing::kDelta:
      return "dt";
    case model::Timing::kStart:
      return "start";
  }
  return "";
}

const char* nameOf(Cache cache) {
  switch (cache) {
    case Cache::kCold:
      return "cold";
    case Cache::kWarm:
      return "warm";
    case Cache::kAsIs:
      return "as-is";
  }
  return "";
}

std::string encodeShare(const Engine& engine) {
  std::string out;
  put(out, engine.counts().size());
  for (const RankCounts& counts : engine.counts()) put(out, counts);
  put(out, engine.places().size());
  for (const ThreadPlace& place : engine.places()) put(out, place);
  put(out, engine.differences().size());
  for (const Difference& difference : engine.differences()) {
    put(out, difference.rank), put(out, difference.thread), put(out, difference.event);
    put(out, difference.call), put(out, difference.location), put(out, difference.expected);
    put(out, difference.got);
  }
  return out;
}

bool addShare(const std::string& bytes, Report& report) {
  Taker taker(bytes);
  taker.takeAll<RankCounts>([&](RankCounts& counts) {
    taker.take(counts);
    report.ranks.push_back(counts);
  });
  taker.takeAll<ThreadPlace>([&](ThreadPlace& place) {
    taker.take(place);
    report.threads.push_back(place);
  });
  taker.takeAll<Difference>([&](Difference& difference) {
    taker.take(difference.rank), taker.take(difference.thread), taker.take(difference.event);
    taker.take(difference.call), taker.take(difference.location), taker.take(difference.expected);
    taker.take(difference.got);
    report.differences.push_back(difference);
  });
  const auto place = [](const auto& item) { return std::tuple(item.rank, item.thread); };
  std::ranges::sort(report.ranks, {}, &RankCounts::rank);
  std::ranges::sort(report.threads, {}, place);
  std::ranges::sort(report.differences, {}, [](const Difference& difference) {
    return std::tuple(difference.rank, difference.thread, difference.event);
  });
  if (report.differences.size() > kKeptDifferences) report.differences.resize(kKeptDifferences);
  return taker.isDone();
}

namespace {

using Json = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void put(Json& json, const char* key, const std::string& text) {
  json.Key(key);
  json.String(base::printable(text).c_str());
}
void put(Json& json, const char* key, std::int64_t number) {
  json.Key(key);
  json.Int64(number);
}
void putCount(Json& json, const char* key, std::uint64_t number) {
  json.Key(key);
  json.Uint64(number);
}

void putCounts(Json& json, const RankCounts& counts) {
  putCount(json, "operations", counts.operations);
  putCount(json, "bytes_read", counts.bytes_read);
  putCount(json, "bytes_written", counts.bytes_written);
  put(json, "io_ns", counts.io_ns);
  put(json, "makespan_ns", counts.end_ns);
  putCount(json, "negative_gaps", counts.negative_gaps);
  putCount(json, "differences", counts.differences);
  putCount(json, "not_issued",
           counts.substitutes[static_cast<std::size_t>(Substitute::kNotIssued)]);
  json.Key("lateness_ns");
  json.StartObject();
  put(json, "max", counts.lateness.max());
  json.Key("mean");
  json.Double(counts.lateness.mean());
  put(json, "p99", counts.lateness.percentile(0.99));
  json.EndObject();
}

}  // namespace

std::string jsonOf(const Report& report) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.SetIndent(' ', 1);
  json.SetFormatOptions(rapidjson::kFormatSingleLineArray);
  json.StartObject();
  put(json, "format", std::string(kReportFormat));
  put(json, "version", std::int64_t{kReportVersion});
  put(json, "schedule", report.schedule);
  put(json, "schedule_digest", report.schedule_digest);
  put(json, "target", report.target);
  put(json, "tree", report.tree);
  put(json, "time_replay", std::string(nameOf(report.timing)));
  json.Key("write_overwrite");
  json.Bool(report.write_overwrite);
  put(json, "cache", std::string(nameOf(report.cache)));
  put(json, "fence", report.fence);
  json.Key("traced");
  json.Bool(!report.trace.empty());
  put(json, "processes", std::int64_t{report.processes});
  put(json, "nodes", std::int64_t{report.nodes});
  json.Key("spins");
  json.Bool(report.spins);
  json.Key("preparation");
  json.StartObject();
  putCount(json, "files", report.prepared.files);
  putCount(json, "bytes", report.prepared.bytes);
  put(json, "time_ns", report.preparation_ns);
  json.EndObject();
  const RankCounts total = report.total();
  put(json, "makespan_ns", report.makespan_ns);
  put(json, "sync_ns", report.sync_ns);
  put(json, "makespan_with_sync_ns", report.makespan_ns + report.sync_ns);
  json.Key("total");
  json.StartObject();
  putCounts(json, total);
  json.EndObject();
  json.Key("ranks");
  json.StartArray();
  for (const RankCounts& rank : report.ranks) {
    json.StartObject();
    put(json, "rank", std::int64_t{rank.rank});
    putCounts(json, rank);
    json.EndObject();
  }
  json.EndArray();
  json.Key("substitutes");
  json.StartObject();
  for (int i = 1; i < kSubstituteCount; ++i) {
    const std::uint64_t count = total.substitutes[static_cast<std::size_t>(i)];
    if (count > 0) putCount(json, textOf(static_cast<Substitute>(i)), count);
  }
  json.EndObject();
  json.Key("first_differences");
  json.StartArray();
  for (const Difference& difference : report.differences) {
    json.StartObject();
    put(json, "rank", std::int64_t{difference.rank});
    put(json, "thread", std::int64_t{difference.thread});
    putCount(json, "event", difference.event);
    put(json, "call", difference.call);
    put(json, "location", difference.location);
    put(json, "expected", difference.expected);
    put(json, "got", difference.got);
    json.EndObject();
  }
  json.EndArray();
  json.Key("threads");
  json.StartArray();
  for (const ThreadPlace& thread : report.threads) {
    json.StartObject();
    put(json, "rank", std::int64_t{thread.rank});
    put(json, "thread", std::int64_t{thread.thread});
    put(json, "pid", std::int64_t{thread.pid});
    put(json, "tid", std::int64_t{thread.tid});
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return buffer.GetString() + std::string("\n");
}

namespace {

double milliseconds(double ns) { return ns / 1e6; }
double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string seconds(std::int64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

std::string line(std::string_view name, const RankCounts& counts) {
  return fmt::format("{:>6}  {:>10}  {:>10.2f}  {:>10.2f}  {:>10.3f}  {:>10.3f}  {:>11}\n", name,
                     counts.operations, mib(counts.bytes_read), mib(counts.bytes_written),
                     milliseconds(static_cast<double>(counts.io_ns)),
                     milliseconds(static_cast<double>(counts.end_ns)), counts.differences);
}

}  // namespace

std::string textOf(const Report& report) {
  constexpr std::size_t kRanksShown = 16;
  const RankCounts total = report.total();
  std::string out = fmt::format("Replay of {} in {}\n", base::printable(report.schedule),
                                base::printable(report.target));
  out += fmt::format(
      "Timing {}, cache {}, {} on {}, fence: {}\n", nameOf(report.timing), nameOf(report.cache),
      report.processes == 1 ? "1 process" : fmt::format("{} processes", report.processes),
      report.nodes == 1 ? "1 node" : fmt::format("{} nodes", report.nodes), report.fence);
  out += fmt::format("Prepared {} files, {:.2f} MiB in {}\n\n", report.prepared.files,
                     mib(report.prepared.bytes), seconds(report.preparation_ns));
  out += "  rank  operations    read MiB   write MiB      I/O ms     ends ms  differences\n";
  for (std::size_t i = 0; i < std::min(report.ranks.size(), kRanksShown); ++i) {
    out += line(std::to_string(report.ranks[i].rank), report.ranks[i]);
  }
  if (report.ranks.size() > kRanksShown) {
    out += fmt::format("   ... and {} more ranks\n", report.ranks.size() - kRanksShown);
  }
  out += line("total", total);
  const auto slowest = std::ranges::max_element(report.ranks, {}, &RankCounts::io_ns);
  if (slowest != report.ranks.end()) {
    out += fmt::format("\nTime in I/O: {} over all ranks, {} on the slowest (rank {})\n",
                       seconds(total.io_ns), seconds(slowest->io_ns), slowest->rank);
  }
  out += fmt::format("Makespan: {}; {} with the final sync ({})\n", seconds(report.makespan_ns),
                     seconds(report.makespan_ns + report.sync_ns), seconds(report.sync_ns));
  out += fmt::format("Lateness: mean {:.3f} ms, p99 {:.3f} ms, max {:.3f} ms{}\n",
                     milliseconds(total.lateness.mean()),
                     milliseconds(static_cast<double>(total.lateness.percentile(0.99))),
                     milliseconds(static_cast<double>(total.lateness.max())),
                     report.spins ? "" : " (more threads than processors: no spinning)");
  if (total.negative_gaps > 0) {
    out += fmt::format(
        "{} operations were recorded to start before what they follow had ended; "
        "they started at once\n",
        total.negative_gaps);
  }
  for (int i = 1; i < kSubstituteCount; ++i) {
    const std::uint64_t count = total.substitutes[static_cast<std::size_t>(i)];
    if (count > 0) {
      out += fmt::format("Not as recorded: {} x {}\n", count, textOf(static_cast<Substitute>(i)));
    }
  }
  if (total.differences == 0) {
    out += "Results: as recorded\n";
  } else {
    out +=
        fmt::format("Results: {} differ from the recorded ones; the first:\n", total.differences);
    for (const Difference& difference : report.differences) {
      out += fmt::format("  rank {}, thread {}, event {}: {}{}{}: {} was recorded, got {}\n",
                         difference.rank, difference.thread, difference.event, difference.call,
                         difference.location.empty() ? "" : " ",
                         base::printable(difference.location), difference.expected, difference.got);
    }
  }
  if (!report.trace.empty()) out += fmt::format("Trace: {}\n", base::printable(report.trace));
  return out;
}

}  // namespace omnio::replay
