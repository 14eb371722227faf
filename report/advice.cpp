#include "report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/calls/table.hpp"
#include "core/event/event.hpp"
#include "core/event/io_time.hpp"

namespace omnio::report {
namespace {

using stats::Group;
using stats::RankTime;
using stats::Transfer;

constexpr std::size_t kNamed = 3;  // files or calls in a sentence

std::string percent(double part) {
  return part < 0.1 ? fmt::format("{:.1f} %", 100 * part) : fmt::format("{:.0f} %", 100 * part);
}
double asDouble(std::uint64_t number) { return static_cast<double>(number); }
std::string times(std::uint64_t count) { return base::counted(count, "time", "times"); }

// Sizes of transfers that moved anything: a read that finds the end of the file moves nothing.
struct Sizes {
  std::uint64_t all = 0;
  std::uint64_t small = 0;  // below a bound, rounded down to a power of two
};
Sizes sizesOf(const stats::Histogram& histogram, double bound) {
  Sizes sizes;
  for (const stats::Histogram::Bin& bin : histogram.powersOfTwo()) {
    if (bin.to == 0) continue;
    sizes.all += bin.count;
    if (asDouble(bin.to) < bound) sizes.small += bin.count;
  }
  return sizes;
}

class Adviser {
 public:
  Adviser(const AdviceInput& input, const AdviceSettings& settings)
      : input_(input), settings_(settings) {
    for (const RankTime& rank : input.by_rank.ranks) {
      run_ns_ = std::max(run_ns_, asDouble(static_cast<std::uint64_t>(rank.run_ns)));
    }
    if (!input.by_rank.ranks.empty()) slowest_ = stats::slowestOf(input.by_rank.ranks);
  }

  std::vector<Finding> findings() {
    notSeen();
    if (slowest_ && run_ns_ > 0 &&
        asDouble(static_cast<std::uint64_t>(slowest_->io.total())) >=
            settings_.least_io_share * run_ns_) {
      smallRequests(Way{"small-writes", "writes", &Group::write});
      smallRequests(Way{"small-reads", "reads", &Group::read});
      metadata();
      syncs();
      imbalance();
      oneRank();
      opens();
      smallFiles();
      independent();
      failures();
    }
    waiting();
    std::ranges::stable_sort(found_, std::greater<>(), [](const Finding& finding) {
      return std::pair(finding.grade, finding.run_share);
    });
    return std::move(found_);
  }

 private:
  struct Way {
    std::string_view code;
    std::string_view name;
    Transfer Group::*transfer;
  };

  // `ns` of the slowest rank are concerned.
  Finding& add(std::string_view code, double ns, std::string title) {
    Finding finding{.code = code,
                    .grade = Grade::kNote,
                    .run_share = run_ns_ > 0 ? std::min(1.0, ns / run_ns_) : 0,
                    .title = std::move(title),
                    .evidence = {},
                    .why = {},
                    .remedy = {}};
    if (finding.run_share >= settings_.warning_share) finding.grade = Grade::kWarning;
    if (finding.run_share >= settings_.serious_share) finding.grade = Grade::kSerious;
    return found_.emplace_back(std::move(finding));
  }

  // A time over all ranks, as the part of the slowest one.
  double ofSlowest(std::uint64_t all_ns) const {
    const std::uint64_t io_ns = input_.by_call.total.time_ns.total;
    const auto own = static_cast<double>(slowest_->io.total() + slowest_->io.waiting_ns);
    return io_ns == 0 ? 0 : own * asDouble(all_ns) / asDouble(io_ns);
  }

  // "/scratch/a (12 of them), /scratch/b (3)": the groups with most of it.
  template <typename Amount>
  std::string most(const std::vector<Group>& groups, Amount amount) const {
    std::vector<std::pair<std::uint64_t, const Group*>> ordered;
    for (const Group& group : groups) {
      if (amount(group) > 0) ordered.emplace_back(amount(group), &group);
    }
    const auto end =
        ordered.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, ordered.size()));
    std::ranges::partial_sort(ordered, end, std::greater<>(),
                              &std::pair<std::uint64_t, const Group*>::first);
    std::string text;
    for (auto each = ordered.begin(); each != end; ++each) {
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", each->second->name, each->first);
    }
    return text;
  }

  // Left out are calls whose data is gathered before it reaches the storage: by streams in their
  // buffers, and by MPI-IO over all ranks of a collective call.
  static bool isGathered(const calls::Row& row) {
    return row.api == calls::Api::kStdio || row.sync == calls::Sync::kAll;
  }

  void smallRequests(const Way& way) {
    Sizes sizes;
    std::uint64_t ns = 0;  // of the calls that are mostly small
    bool has_gathered = false;
    for (const Group& call : input_.by_call.groups) {
      const Transfer& transfer = call.*way.transfer;
      const Sizes own = sizesOf(transfer.size_bytes.histogram, settings_.small_bytes);
      if (own.all == 0) continue;
      if (isGathered(*call.row)) {
        has_gathered = true;
        continue;
      }
      sizes.all += own.all;
      sizes.small += own.small;
      if (asDouble(own.small) >= settings_.small_share * asDouble(own.all)) {
        ns += transfer.time_ns.total;
      }
    }
    if (sizes.small == 0 || asDouble(sizes.all) < settings_.least_calls ||
        asDouble(sizes.small) < settings_.small_share * asDouble(sizes.all)) {
      return;
    }
    Finding& finding = add(way.code, ofSlowest(ns),
                           fmt::format("{} of {} {} move less than {}", sizes.small, sizes.all,
                                       way.name, base::humanBytes(settings_.small_bytes)));
    finding.evidence.push_back(fmt::format("Calls that are mostly small take {} over all ranks.",
                                           base::humanNs(asDouble(ns))));
    if (!has_gathered) {
      const auto small_of = [&](const Group& group) {
        return sizesOf((group.*way.transfer).size_bytes.histogram, settings_.small_bytes).small;
      };
      finding.evidence.push_back(
          fmt::format("Files with most: {}.", most(input_.by_file.groups, small_of)));
    }
    finding.why =
        "Each request costs the latency of the storage, however little it moves; bandwidth comes "
        "with requests of a MiB and more.";
    finding.remedy =
        "Gather data in memory and move it in larger pieces: buffered streams, collective calls "
        "of MPI-IO, chunks and caches of HDF5.";
  }

  static bool isMetadata(const Group& call) {
    return call.time_ns.count > 0 && event::ioKindOf(*call.row) == event::IoKind::kMetadata;
  }

  void metadata() {
    const auto io_ns = static_cast<double>(slowest_->io.total());
    const auto own_ns = static_cast<double>(slowest_->io.metadata_ns);
    std::uint64_t count = 0;
    for (const Group& call : input_.by_call.groups) count += isMetadata(call) ? call.events() : 0;
    if (asDouble(count) < settings_.least_calls || own_ns < settings_.metadata_share * io_ns ||
        own_ns == 0) {
      return;
    }
    Finding& finding = add("metadata-time", own_ns,
                           fmt::format("Rank {} spends {} of its I/O time in metadata calls",
                                       slowest_->rank, percent(own_ns / io_ns)));
    finding.evidence.push_back(
        fmt::format("{} of {}.", base::humanNs(own_ns), base::humanNs(io_ns)));
    std::string calls;
    std::size_t named = 0;
    for (const Group& call : input_.by_call.groups) {
      if (!isMetadata(call) || named == kNamed) continue;
      ++named;
      calls += fmt::format("{}{} {} in {}", calls.empty() ? "" : ", ", call.name,
                           times(call.time_ns.count), base::humanNs(asDouble(call.time_ns.total)));
    }
    finding.evidence.push_back(fmt::format("Calls with most time: {}.", calls));
    finding.why =
        "Opens, closes and the like go to metadata servers, which all jobs of a site share.";
    finding.remedy =
        "Open files once and keep them open; let one rank create directories; write one shared "
        "file "
        "in place of many; ask for the size of a file once.";
  }

  // Flushing a stream hands its buffer to the kernel, and waits for no device.
  static std::uint64_t deviceSyncs(const Group& call) {
    return call.row->api == calls::Api::kStdio ? 0 : call.of(calls::Class::kSync);
  }

  void syncs() {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    for (const Group& call : input_.by_call.groups) {
      count += deviceSyncs(call);
      if (deviceSyncs(call) > 0) ns += call.time_ns.total;
    }
    if (count == 0) return;
    const auto io_ns = static_cast<double>(slowest_->io.total());
    const double own_ns = ofSlowest(ns);
    const double each = asDouble(input_.by_file.total.write.size_bytes.total) / asDouble(count);
    if (own_ns < settings_.sync_share * io_ns || each > settings_.sync_bytes) return;
    Finding& finding = add("sync-often", own_ns,
                           fmt::format("Files are synced {}, for {} written each time",
                                       times(count), base::humanBytes(each)));
    finding.evidence.push_back(fmt::format("Syncs take {} over all ranks; calls with most: {}.",
                                           base::humanNs(asDouble(ns)),
                                           most(input_.by_call.groups, deviceSyncs)));
    finding.why = "A sync waits until the device has the data, and nothing is gathered across it.";
    finding.remedy = "Sync once after a whole checkpoint, not after each piece of it.";
  }

  void imbalance() {
    const auto& ranks = input_.by_rank.ranks;
    const double average = stats::averageIoNs(ranks);
    const auto own_ns = static_cast<double>(slowest_->io.total());
    if (ranks.size() < 2 || own_ns < settings_.imbalance * average) return;
    Finding& finding = add("rank-imbalance", own_ns - average,
                           fmt::format("Rank {} has {:.1f} times the average I/O time of all ranks",
                                       slowest_->rank, own_ns / average));
    finding.evidence.push_back(fmt::format("{}, and {} on average over {}.", base::humanNs(own_ns),
                                           base::humanNs(average),
                                           base::counted(ranks.size(), "rank", "ranks")));
    finding.why =
        "The others wait for it at the next barrier: the job is as slow as its slowest rank.";
    finding.remedy =
        "Spread the data, or the files, evenly; look whether that rank writes what all could write "
        "together (one-rank), or shares its node or storage server with others.";
  }

  void oneRank() {
    const auto& ranks = input_.by_rank.ranks;
    constexpr std::size_t kFew = 4;
    if (ranks.size() < kFew) return;
    const auto bytesOf = [](const Group& group) {
      return group.read.size_bytes.total + group.write.size_bytes.total;
    };
    // Behind the ranks may be a group of the processes that have none.
    const auto& groups = input_.by_rank.groups;
    const auto top = std::ranges::max_element(groups, {}, bytesOf);
    const std::uint64_t all = bytesOf(input_.by_rank.total);
    const auto time = std::ranges::find_if(
        ranks, [&](const RankTime& rank) { return fmt::format("{}", rank.rank) == top->name; });
    if (time == ranks.end() || asDouble(all) < settings_.one_rank_bytes || all == 0 ||
        asDouble(bytesOf(*top)) < settings_.one_rank_share * asDouble(all)) {
      return;
    }
    Finding& finding = add("one-rank", static_cast<double>(time->io.data_ns),
                           fmt::format("Rank {} moves {} of all bytes", top->name,
                                       percent(asDouble(bytesOf(*top)) / asDouble(all))));
    finding.evidence.push_back(fmt::format("{} of {}, of {} ranks.",
                                           base::humanBytes(asDouble(bytesOf(*top))),
                                           base::humanBytes(asDouble(all)), ranks.size()));
    finding.why =
        "One process cannot use the bandwidth of a parallel file system, and the others wait for "
        "it.";
    finding.remedy =
        "Let all ranks move their part: MPI-IO with collective calls, parallel HDF5 or NetCDF, or "
        "one rank of each node. Small input is better read by one rank and sent to the others.";
  }

  void opens() {
    const Group* worst = nullptr;
    std::uint64_t files = 0;
    std::uint64_t found = 0;
    const auto opensOf = [](const Group& group) {
      const std::uint64_t opens = group.of(calls::Class::kOpen);
      return opens - std::min(opens, group.failed);
    };
    for (const Group& file : input_.by_file.groups) {
      const std::uint64_t ranks = std::max<std::uint64_t>(1, file.ranks);
      const bool is_many = opensOf(file) > 0 &&
                           asDouble(opensOf(file)) >= settings_.opens_each * asDouble(ranks) &&
                           asDouble(opensOf(file)) >= settings_.least_calls;
      if (!is_many || file.name == stats::kNoFileName) continue;
      ++files;
      found += opensOf(file);
      if (worst == nullptr || opensOf(file) > opensOf(*worst)) worst = &file;
    }
    if (worst == nullptr) return;
    std::uint64_t all = 0;
    std::uint64_t ns = 0;
    for (const Group& call : input_.by_call.groups) {
      const std::uint64_t opens = call.of(calls::Class::kOpen);
      all += opens;
      if (opens > 0 || call.of(calls::Class::kClose) > 0) ns += call.time_ns.total;
    }
    Finding& finding =
        add("many-opens", ofSlowest(ns) * asDouble(found) / asDouble(std::max(all, found)),
            files == 1 ? "A file is opened again and again"
                       : fmt::format("{} files are opened again and again", files));
    finding.evidence.push_back(
        fmt::format("{} is opened {} by {}.", worst->name, times(opensOf(*worst)),
                    base::counted(std::max<std::uint64_t>(1, worst->ranks), "rank", "ranks")));
    finding.why =
        "Each open asks the metadata server, and drops what was cached of the file on some "
        "systems.";
    finding.remedy =
        "Keep the file open, or read it once into memory and send it to the other ranks.";
  }

  void smallFiles() {
    std::uint64_t files = 0;
    std::uint64_t ns = 0;
    std::uint64_t bytes = 0;
    for (const Group& file : input_.by_file.groups) {
      const std::uint64_t moved = file.read.size_bytes.total + file.write.size_bytes.total;
      if (file.name == stats::kNoFileName || moved == 0 ||
          asDouble(moved) >= settings_.small_file_bytes) {
        continue;
      }
      ++files;
      bytes += moved;
      ns += file.time_ns.total;
    }
    if (files == 0 || asDouble(files) < settings_.small_files) return;
    Finding& finding = add("small-files", ofSlowest(ns),
                           fmt::format("{} files have less than {} read or written", files,
                                       base::humanBytes(settings_.small_file_bytes)));
    finding.evidence.push_back(fmt::format(
        "{} in all, {} a file on average, in {}.", base::humanBytes(asDouble(bytes)),
        base::humanBytes(asDouble(bytes) / asDouble(files)), base::humanNs(asDouble(ns))));
    finding.why =
        "Parallel file systems are made for few large files: each file costs several metadata "
        "calls.";
    finding.remedy =
        "Put many into one: HDF5, NetCDF, ADIOS, an archive; or use the node's own storage.";
  }

  void independent() {
    std::uint64_t alone = 0;
    std::uint64_t together = 0;
    std::uint64_t bytes = 0;
    std::uint64_t ns = 0;
    for (const Group& call : input_.by_call.groups) {
      if (call.row == nullptr || !calls::isMpiIo(*call.row) || !event::transfersData(*call.row))
        continue;
      if (call.row->sync == calls::Sync::kAll) {
        together += call.events();
        continue;
      }
      alone += call.events();
      bytes += call.read.size_bytes.total + call.write.size_bytes.total;
      ns += call.time_ns.total;
    }
    if (input_.by_rank.ranks.size() < 2 || alone == 0 || asDouble(alone) < settings_.least_calls ||
        together > alone / 10 || asDouble(bytes) / asDouble(alone) >= settings_.small_file_bytes) {
      return;
    }
    Finding& finding = add("independent-mpi-io", ofSlowest(ns),
                           fmt::format("{} of {} data calls of MPI-IO are independent, and small",
                                       alone, alone + together));
    finding.evidence.push_back(fmt::format("They move {} each on average.",
                                           base::humanBytes(asDouble(bytes) / asDouble(alone))));
    finding.why =
        "In collective calls the library joins the pieces of all ranks to large requests; in "
        "independent ones it cannot.";
    finding.remedy =
        "Use MPI_File_write_at_all, MPI_File_write_all and their like where all ranks come to the "
        "call; set a view for scattered pieces.";
  }

  void failures() {
    std::uint64_t failed = 0;
    std::uint64_t all = 0;
    double ns = 0;
    const auto countOf = [](const Group& call) {
      return call.of(calls::Class::kOpen) + call.of(calls::Class::kMetadata);
    };
    for (const Group& call : input_.by_call.groups) {
      if (countOf(call) == 0) continue;
      all += countOf(call);
      failed += call.failed;
      ns += asDouble(call.time_ns.total) * asDouble(call.failed) / asDouble(countOf(call));
    }
    if (failed == 0 || asDouble(failed) < settings_.least_calls ||
        asDouble(failed) < settings_.failed_share * asDouble(all)) {
      return;
    }
    Finding& finding =
        add("failed-calls", ofSlowest(static_cast<std::uint64_t>(ns)),
            fmt::format("{} of {} opens and other metadata calls fail", failed, all));
    finding.evidence.push_back(
        fmt::format("Calls with most: {}.", most(input_.by_call.groups, [&](const Group& call) {
                      return countOf(call) > 0 ? call.failed : 0;
                    })));
    finding.why =
        "Often these look for files along search paths, which costs a request for each folder, of "
        "every rank.";
    finding.remedy =
        "Shorten search paths of libraries and modules (LD_LIBRARY_PATH, PYTHONPATH); pack Python "
        "environments; let one rank look and send the result to the others.";
  }

  void waiting() {
    const auto& ranks = input_.by_rank.ranks;
    if (ranks.size() < 2 || run_ns_ <= 0) return;
    const RankTime& most = *std::ranges::max_element(
        ranks, {}, [](const RankTime& rank) { return rank.io.waiting_ns; });
    const auto own_ns = static_cast<double>(most.io.waiting_ns);
    if (own_ns < settings_.waiting_share * run_ns_) return;
    Finding& finding = add(
        "waiting-for-ranks", own_ns,
        fmt::format("Rank {} waits for other ranks in collective calls of MPI-IO for {} of the run",
                    most.rank, percent(own_ns / run_ns_)));
    finding.evidence.push_back(fmt::format("{}, and {} of I/O of its own.", base::humanNs(own_ns),
                                           base::humanNs(static_cast<double>(most.io.total()))));
    finding.why =
        "A collective call begins when the last rank has come: what made that one late costs all.";
    finding.remedy =
        "See who comes late, and why, with omnio log --mpi: uneven work before the call, or one "
        "rank that does other I/O first.";
  }

  void notSeen() {
    const auto& bytes = input_.by_file.wholeness.bytes;
    const std::uint64_t seen = bytes.seen.read + bytes.seen.written;
    const std::uint64_t unseen = bytes.unseen.read + bytes.unseen.written;
    if (unseen == 0 || asDouble(unseen) < settings_.unseen_share * asDouble(seen + unseen)) return;
    Finding& finding = add("not-seen", run_ns_,
                           fmt::format("{} of the bytes moved are not in the trace",
                                       percent(asDouble(unseen) / asDouble(seen + unseen))));
    finding.evidence.push_back(
        fmt::format("The kernel counted {} more than the recorded calls moved.",
                    base::humanBytes(asDouble(unseen))));
    finding.why = "All other advice is of the part that was seen.";
    finding.remedy =
        "See the notes of omnio stats: io_uring, static programs and the like are not recorded.";
  }

  const AdviceInput& input_;
  const AdviceSettings& settings_;
  double run_ns_ = 0;
  std::optional<RankTime> slowest_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> adviceOn(const AdviceInput& input, const AdviceSettings& settings) {
  return Adviser(input, settings).findings();
}

std::string textOf(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{}: {} [{}]\n", base::wordOf(kGrades, finding.grade), finding.title,
                        finding.code);
    for (const std::string& sentence : finding.evidence) text += fmt::format("  {}\n", sentence);
    text += fmt::format("  Why: {}\n  Try: {}\n\n", finding.why, finding.remedy);
  }
  if (findings.empty()) return "No advice: nothing in the I/O of this run stands out.\n";
  text.pop_back();
  return text;
}

void putFindings(base::JsonWriter& json, const std::vector<Finding>& findings) {
  json.list(findings, [&](const Finding& finding) {
    json.object([&] {
      json.put("code", finding.code);
      json.put("grade", base::wordOf(kGrades, finding.grade));
      json.put("run_share", finding.run_share);
      json.put("title", finding.title);
      json.put("evidence", finding.evidence);
      json.put("why", finding.why);
      json.put("remedy", finding.remedy);
    });
  });
}

}  // namespace omnio::report
