#include "replay/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/json_writer.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/order/io_chain.hpp"
#include "replay/plan/bytes.hpp"
#include "replay/target/memory.hpp"

namespace omnio::replay {
RankCounts Report::total() const {
  RankCounts all;
  for (const RankCounts& rank : ranks) all.merge(rank);
  return all;
}

storage::Moved Report::movedByCalls() const {
  const RankCounts all = total();
  return {.read_bytes = all.bytes_read, .written_bytes = all.bytes_written};
}

std::optional<std::int64_t> Report::stretchNs() const {
  if (timing == model::Timing::kAsap) return std::nullopt;
  const auto own = [](const RankCounts& counts) {
    return std::max<std::int64_t>(counts.end_ns - counts.on_time_end_ns, 0);
  };
  if (!ranks_meet) return own(total());
  std::int64_t largest = 0;
  for (const RankCounts& rank : ranks) largest = std::max(largest, own(rank));
  return largest;
}

double Report::stretchShare() const {
  if (makespan_ns <= 0) return 0;
  return static_cast<double>(stretchNs().value_or(0)) / static_cast<double>(makespan_ns);
}

std::optional<Report::RankIo> Report::slowestIo() const {
  std::map<std::uint32_t, event::IoTime> by_rank;
  for (const PhaseIo& one : io) by_rank[one.rank] += one.time;
  const auto slowest =
      std::ranges::max_element(by_rank, {}, [](const auto& each) { return each.second.total(); });
  if (slowest == by_rank.end()) return std::nullopt;
  return RankIo{slowest->first, slowest->second};
}

template <typename Io>
void parts(Io& io, PartsOf<Difference> auto& difference) {
  io.items(difference.rank, difference.thread, difference.event, difference.call,
           difference.location, difference.expected, difference.got);
}

std::string encodeShare(const Engine& engine, const std::vector<std::vector<std::int64_t>>& last) {
  ByteWriter writer;
  writer.items(engine.counts(), engine.places(), engine.differences(), engine.ioByPhase(last),
               engine.knowsChain(), engine.chains());
  return writer.bytes;
}

namespace {

bool addShare(const std::string& bytes, Report& report, std::vector<order::ThreadChain>& chains,
              bool& knows_chains) {
  std::vector<RankCounts> ranks;
  std::vector<ThreadPlace> threads;
  std::vector<Difference> differences;
  std::vector<PhaseIo> io;
  std::vector<std::vector<std::int64_t>> words;
  ByteReader reader(bytes);
  bool knows_chain = true;
  reader.items(ranks, threads, differences, io, knows_chain, words);
  knows_chains = knows_chains && knows_chain;
  for (std::vector<std::int64_t>& thread : words) {
    chains.push_back(order::ThreadChain::ofWords(std::move(thread)));
  }
  std::ranges::move(io, std::back_inserter(report.io));
  std::ranges::sort(report.io, {},
                    [](const PhaseIo& one) { return std::tuple(one.phase, one.rank); });
  std::ranges::move(ranks, std::back_inserter(report.ranks));
  std::ranges::move(threads, std::back_inserter(report.threads));
  std::ranges::move(differences, std::back_inserter(report.differences));
  const auto place = [](const auto& item) { return std::tuple(item.rank, item.thread); };
  std::ranges::sort(report.ranks, {}, &RankCounts::rank);
  std::ranges::sort(report.threads, {}, place);
  std::ranges::sort(report.differences, {}, [](const Difference& difference) {
    return std::tuple(difference.rank, difference.thread, difference.event);
  });
  if (report.differences.size() > kKeptDifferences) report.differences.resize(kKeptDifferences);
  return reader.isDone();
}

}  // namespace

bool addShares(const std::vector<std::string>& shares, Report& report) {
  std::vector<order::ThreadChain> chains;
  bool knows_chains = true;
  for (const std::string& share : shares) {
    if (!addShare(share, report, chains, knows_chains)) return false;
  }
  // A part of it would be another one.
  if (!chains.empty() && knows_chains) report.chain_ns = order::longestChain(chains);
  return true;
}

namespace {

void putCounts(base::JsonWriter& json, const RankCounts& counts) {
  json.put("operations", counts.operations);
  json.put("bytes_read", counts.bytes_read);
  json.put("bytes_written", counts.bytes_written);
  json.put("io_ns", counts.io_ns);
  json.put("begin_ns", counts.operations == 0 ? 0 : counts.begin_ns);
  json.put("makespan_ns", counts.end_ns);
  json.put("negative_gaps", counts.negative_gaps);
  json.put("differences", counts.differences);
  json.put("not_issued", counts.substitutes[static_cast<std::size_t>(Substitute::kNotIssued)]);
  json.object("lateness_ns", [&] {
    json.put("max", counts.lateness.max());
    json.put("mean", counts.lateness.mean());
    json.put("p99", counts.lateness.percentile(0.99));
  });
}

std::vector<std::uint32_t> idleProcesses(const Report& report) {
  std::vector<std::uint32_t> idle;
  for (std::uint32_t i = 0; i < report.ranks_by_process.size(); ++i) {
    if (report.ranks_by_process[i].empty()) idle.push_back(i);
  }
  return idle;
}

void putPlacement(base::JsonWriter& json, const Report& report) {
  json.put("place", base::wordOf(kPlaces, report.place));
  json.list("ranks_by_process", report.ranks_by_process,
            [&](const std::vector<std::uint32_t>& ranks) { json.value(rangesText(ranks)); });
  json.put("idle_processes", rangesText(idleProcesses(report)));
}

}  // namespace

std::string jsonOf(const Report& report) {
  const RankCounts total = report.total();
  constexpr base::JsonLayout kLayout{.indent = 1, .lists_on_one_line = true};
  return base::jsonDocument(kReportFormat, kReportVersion, kLayout, [&](auto& json) {
    json.put("schedule", base::printable(report.schedule));
    json.put("schedule_digest", report.schedule_digest);
    json.put("target", base::printable(report.targets.front().directory));
    json.put("tree", base::printable(report.targets.front().tree));
    json.list("targets", report.targets, [&json](const TargetReport& target) {
      json.object([&] {
        if (!target.name.empty()) json.put("name", base::printable(target.name));
        json.put("directory", base::printable(target.directory));
        json.put("tree", base::printable(target.tree));
        json.put("file_system", target.file_system);
        if (target.is_adopted) json.put("adopted", true);
        json.put("files", target.prepared.files);
        json.put("bytes", target.prepared.bytes);
      });
    });
    for (const auto& [key, trees] : {std::pair("node_trees", &report.node_trees),
                                     std::pair("memory_trees", &report.memory_trees),
                                     std::pair("adopted_node_trees", &report.adopted_node_trees)}) {
      if (trees->empty()) continue;
      json.list(key, *trees,
                [&json](const std::string& tree) { json.value(base::printable(tree)); });
    }
    if (report.in_memory.files > 0) {
      json.object("in_memory", [&] {
        json.put("files", report.in_memory.files);
        json.put("bytes", report.in_memory.bytes);
        json.put("bytes_prepared", report.prepared_in_memory.bytes);
      });
    }
    json.put("time_replay", base::wordOf(model::kTimings, report.timing));
    json.put("order", base::wordOf(model::kOrders, report.order));
    json.put("network_scale", report.network_scale);
    json.put("write_overwrite", report.write_overwrite);
    json.put("inputs", base::wordOf(kOrigins, report.inputs));
    if (report.inputs == Origin::kKept) {
      json.object("kept", [&] {
        json.put("files", report.kept.files);
        json.put("bytes", report.kept.bytes);
        json.list("made_anew", report.remade,
                  [&json](const std::string& sentence) { json.value(sentence); });
      });
    }
    if (!report.in_place.empty()) {
      json.list("in_place", report.in_place, [&json](const InPlaceReport& file) {
        json.object([&] {
          json.put("location", base::printable(file.location));
          json.put("source", base::printable(file.source));
          json.put("real", base::printable(file.real));
          json.put("bytes", file.size);
        });
      });
    }
    json.put("cache", base::wordOf(kCaches, report.cache));
    json.put("data", report.data);
    json.put("fence", base::printable(report.fence));
    json.put("traced", !report.trace.empty());
    json.put("processes", report.processes);
    json.put("nodes", report.nodes);
    putPlacement(json, report);
    json.put("spins", report.spins);
    json.put("compute", base::wordOf(kComputes, report.compute));
    if (report.computing) json.put("computing", std::round(*report.computing * 100) / 100);
    json.put("wait", base::wordOf(kWaitKinds, report.wait));
    json.put("wait_in_mpi", base::wordOf(kWaitKinds, report.wait_in_mpi));
    json.object("preparation", [&] {
      json.put("files", report.prepared.files);
      json.put("bytes", report.prepared.bytes);
      json.put("time_ns", report.preparation_ns);
      json.put("sampled_pages", report.residency.pages);
      json.put("resident_pages", report.residency.resident);
    });
    json.put("makespan_ns", report.makespan_ns);
    if (const auto stretch_ns = report.stretchNs()) {
      json.put("stretch_ns", *stretch_ns);
      json.put("stretch_share", std::round(report.stretchShare() * 1e4) / 1e4);
      json.put("late_limit", report.late_limit);
      json.put(kLateKey, report.isLate());
    }
    json.put("sync", base::wordOf(kSyncs, report.sync));
    json.put("sync_ns", report.sync_ns);
    json.put("makespan_with_sync_ns", report.makespan_ns + report.sync_ns);
    if (const auto io = report.slowestIo()) {
      json.object("io", [&] {
        json.put("slowest_rank", io->rank);
        json.put("data_ns", io->time.data_ns);
        json.put("metadata_ns", io->time.metadata_ns);
        json.put("sync_ns", io->time.sync_ns);
        json.put("waiting_ns", io->time.waiting_ns);
        if (report.chain_ns) json.put("chain_ns", *report.chain_ns);
      });
    }
    storage::putHeldBytes(json, report.held);
    storage::putMeasuredParts(json, report.movedByCalls(), report.storage);
    storage::putStorage(json, report.storage);
    json.object("total", [&] { putCounts(json, total); });
    json.list("ranks", report.ranks, [&](const RankCounts& rank) {
      json.object([&] {
        json.put("rank", rank.rank);
        putCounts(json, rank);
      });
    });
    json.object("substitutes", [&] {
      for (int i = 1; i < kSubstituteCount; ++i) {
        const std::uint64_t count = total.substitutes[static_cast<std::size_t>(i)];
        if (count > 0) json.put(textOf(static_cast<Substitute>(i)), count);
      }
    });
    json.list("first_differences", report.differences, [&](const Difference& difference) {
      json.object([&] {
        json.put("rank", difference.rank);
        json.put("thread", difference.thread);
        json.put("event", difference.event);
        json.put("call", base::printable(difference.call));
        json.put("location", base::printable(difference.location));
        json.put("expected", base::printable(difference.expected));
        json.put("got", base::printable(difference.got));
      });
    });
    json.list("threads", report.threads, [&](const ThreadPlace& thread) {
      json.object([&] {
        json.put("rank", thread.rank);
        json.put("thread", thread.thread);
        json.put("pid", thread.pid);
        json.put("tid", thread.tid);
      });
    });
  });
}

namespace {

double milliseconds(double ns) { return ns / 1e6; }
double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string seconds(std::int64_t ns) {
  return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

constexpr const char* kLateRemedy =
    "use more processors for each thread, --wait block, or fewer ranks a node; where calls take "
    "less "
    "than a microsecond, compare the I/O time";

// Whether the cache is as it was asked for: a file system in memory is never cold.
std::string cacheSentence(const Report& report) {
  if (report.residency.pages == 0) return {};
  const double share =
      static_cast<double>(report.residency.resident) / static_cast<double>(report.residency.pages);
  const bool is_cold = share < 0.05;
  const bool is_warm = share > 0.95;
  const bool is_other =
      (report.cache == Cache::kCold && !is_cold) || (report.cache == Cache::kWarm && !is_warm);
  return fmt::format(
      "Cache: {:.0f} % of {} sampled pages of them are in memory{}\n", 100 * share,
      report.residency.pages,
      is_other ? fmt::format(", although it was to be {}", base::wordOf(kCaches, report.cache))
               : std::string());
}

// Which ranks share a process, and which processes have none; nothing where each has one.
std::string placementText(const Report& report) {
  constexpr std::size_t kMost = 4;
  const auto& all = report.ranks_by_process;
  const bool is_shared =
      std::ranges::any_of(all, [](const auto& ranks) { return ranks.size() > 1; });
  std::string text;
  if (is_shared) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
      shown.push_back(fmt::format("process {}: {}", i, rangesText(all[i])));
    }
    text += fmt::format("Ranks share processes ({}): {}{}\n", base::wordOf(kPlaces, report.place),
                        fmt::join(shown, "; "),
                        all.size() > kMost ? fmt::format("; and {} more", all.size() - kMost) : "");
  }
  const std::vector<std::uint32_t> idle = idleProcesses(report);
  if (!idle.empty()) text += fmt::format("Processes without ranks: {}\n", rangesText(idle));
  return text;
}

std::string line(std::string_view name, const RankCounts& counts) {
  return fmt::format("{:>6}  {:>10}  {:>10.2f}  {:>10.2f}  {:>10.3f}  {:>10.3f}  {:>11}\n", name,
                     counts.operations, mib(counts.bytes_read), mib(counts.bytes_written),
                     milliseconds(static_cast<double>(counts.io_ns)),
                     milliseconds(static_cast<double>(counts.end_ns)), counts.differences);
}

}  // namespace

std::string lateSentence(const std::string& output, std::int64_t stretch_ns,
                         std::int64_t makespan_ns, double limit) {
  const double share =
      makespan_ns <= 0 ? 0 : static_cast<double>(stretch_ns) / static_cast<double>(makespan_ns);
  return fmt::format(
      "{}: the replayer itself was late: {} of the makespan of {} ({:.1f} %) is its own, more than "
      "--late-limit {:g}%, so the time says nothing of the storage; {}",
      base::printable(output), seconds(stretch_ns), seconds(makespan_ns), 100 * share, 100 * limit,
      kLateRemedy);
}

// "Think time asleep: threads share processors"
std::string computeSentence(const Report& report) {
  std::string text = "Think time ";
  if (report.compute == Compute::kSpin) return text + "on busy processors\n";
  if (report.compute == Compute::kSleep) return text + "asleep\n";
  if (!report.computing) return text + "asleep: the schedule does not say what threads computed\n";
  if (!report.spins) return text + "asleep: threads share processors\n";
  return text + fmt::format("as in the recording: {:.0f} % of it on a busy processor\n",
                            100 * *report.computing);
}

std::string textOf(const Report& report) {
  constexpr std::size_t kRanksShown = 16;
  const RankCounts total = report.total();
  std::vector<std::string> directories;
  for (const TargetReport& target : report.targets) {
    directories.push_back(base::printable(
        target.name.empty() ? target.directory : target.name + "=" + target.directory));
  }
  std::string out = fmt::format("Replay of {} in {}\n", base::printable(report.schedule),
                                fmt::join(directories, ", "));
  out += fmt::format(
      "Timing {}, order {}, cache {}, {} on {}, fence: {}\n",
      base::wordOf(model::kTimings, report.timing), base::wordOf(model::kOrders, report.order),
      base::wordOf(kCaches, report.cache),
      base::counted(static_cast<std::uint64_t>(report.processes), "process", "processes"),
      base::counted(static_cast<std::uint64_t>(report.nodes), "node", "nodes"), report.fence);
  if (report.in_memory.files > 0) {
    out += fmt::format(
        "In memory: {} below {} of the nodes, removed at the end; recorded calls "
        "moved {} to and from them\n",
        base::counted(report.in_memory.files, "file", "files"), base::printable(kMemoryDirectory),
        base::humanBytes(static_cast<double>(report.in_memory.bytes)));
  }
  out += placementText(report);
  if (report.data != "random") out += fmt::format("Data: {}\n", report.data);
  out += fmt::format("Prepared {} files, {:.2f} MiB in {}\n", report.prepared.files,
                     mib(report.prepared.bytes), seconds(report.preparation_ns));
  if (report.targets.size() > 1) {
    for (std::size_t i = 0; i < report.targets.size(); ++i) {
      const TargetReport& target = report.targets[i];
      out += fmt::format("  in {} ({}): {} files, {:.2f} MiB\n", directories[i], target.file_system,
                         target.prepared.files, mib(target.prepared.bytes));
    }
  }
  if (report.inputs == Origin::kKept) {
    out += fmt::format("Kept {} of the replay before, {:.2f} MiB\n",
                       base::counted(report.kept.files, "file", "files"), mib(report.kept.bytes));
    constexpr std::size_t kMostShown = 3;
    for (std::size_t i = 0; i < std::min(report.remade.size(), kMostShown); ++i) {
      out += fmt::format("  made anew: {}\n", report.remade[i]);
    }
    if (report.remade.size() > kMostShown) {
      out += fmt::format("  made anew: {} more\n", report.remade.size() - kMostShown);
    }
  }
  if (!report.in_place.empty()) {
    const auto sum = std::accumulate(
        report.in_place.begin(), report.in_place.end(), std::uint64_t{0},
        [](std::uint64_t bytes, const InPlaceReport& file) { return bytes + file.size; });
    out += fmt::format("{} read in place, {:.2f} MiB\n",
                       base::counted(report.in_place.size(), "input is", "inputs are"), mib(sum));
  }
  out += cacheSentence(report);
  if (report.timing != model::Timing::kAsap) out += computeSentence(report);
  out += "\n  rank  operations    read MiB   write MiB      I/O ms     ends ms  differences\n";
  for (std::size_t i = 0; i < std::min(report.ranks.size(), kRanksShown); ++i) {
    out += line(std::to_string(report.ranks[i].rank), report.ranks[i]);
  }
  if (report.ranks.size() > kRanksShown) {
    out += fmt::format("   ... and {} more ranks\n", report.ranks.size() - kRanksShown);
  }
  out += line("total", total);
  const auto slowest = std::ranges::max_element(report.ranks, {}, &RankCounts::io_ns);
  if (const auto io = report.slowestIo()) {
    out += fmt::format(
        "\nI/O time: {} on the slowest rank ({}): {} data, {} metadata, {} sync; beside it {} of "
        "waiting in collective calls\n",
        seconds(io->time.total()), io->rank, seconds(io->time.data_ns),
        seconds(io->time.metadata_ns), seconds(io->time.sync_ns), seconds(io->time.waiting_ns));
    if (report.chain_ns) {
      out += fmt::format("Chain: {}, the longest path through the I/O of all ranks\n",
                         seconds(*report.chain_ns));
    }
  } else if (slowest != report.ranks.end()) {
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
  if (const auto stretch_ns = report.stretchNs()) {
    out +=
        fmt::format("Stretch: {}, {:.1f} % of the makespan, by lateness that was not made up for",
                    seconds(*stretch_ns), 100 * report.stretchShare());
    if (report.isLate()) out += fmt::format("; the replayer itself was late: {}", kLateRemedy);
    out += '\n';
  }
  out += storage::heldText(report.held);
  out += storage::storageText(report.movedByCalls(), report.storage);
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
