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
      unevenBytes();
      misaligned();
      random();
      redundantReads();
      readAfterWrite();
      locks();
      tinyBuffers();
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

  // So few ranks that one of them may have most of the bytes.
  static constexpr std::size_t kSeveral = 4;
  // Whether the rank is the one of several that moves most of all bytes.
  bool isOneRank(const Group& rank, std::uint64_t all) const {
    return input_.by_rank.ranks.size() >= kSeveral &&
           asDouble(bytesOf(rank)) >= settings_.one_rank_share * asDouble(all);
  }

  void oneRank() {
    const auto& ranks = input_.by_rank.ranks;
    if (ranks.size() < kSeveral) return;
    // Behind the ranks may be a group of the processes that have none.
    const auto& groups = input_.by_rank.groups;
    const auto top = std::ranges::max_element(groups, {}, bytesOf);
    const std::uint64_t all = bytesOf(input_.by_rank.total);
    const auto time = std::ranges::find_if(
        ranks, [&](const RankTime& rank) { return fmt::format("{}", rank.rank) == top->name; });
    if (time == ranks.end() || asDouble(all) < settings_.one_rank_bytes || all == 0 ||
        !isOneRank(*top, all)) {
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
      const std::uint64_t moved = bytesOf(file);
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

  static std::uint64_t bytesOf(const Group& group) {
    return group.read.size_bytes.total + group.write.size_bytes.total;
  }

  void unevenBytes() {
    const auto& ranks = input_.by_rank.ranks;
    const std::uint64_t all = bytesOf(input_.by_rank.total);
    if (ranks.size() < 2 || all == 0 || asDouble(all) < settings_.one_rank_bytes) return;
    const auto& groups = input_.by_rank.groups;
    const Group& top = *std::ranges::max_element(groups, {}, bytesOf);
    const double average = asDouble(all) / static_cast<double>(ranks.size());
    if (asDouble(bytesOf(top)) < settings_.imbalance * average || isOneRank(top, all)) {
      return;
    }
    const auto time = std::ranges::find_if(
        ranks, [&](const RankTime& rank) { return fmt::format("{}", rank.rank) == top.name; });
    if (time == ranks.end()) return;
    Finding& finding =
        add("uneven-bytes",
            static_cast<double>(time->io.data_ns) * (1 - average / asDouble(bytesOf(top))),
            fmt::format("Rank {} moves {:.1f} times the average bytes of all ranks", top.name,
                        asDouble(bytesOf(top)) / average));
    finding.evidence.push_back(fmt::format("{}, and {} on average over {} ranks.",
                                           base::humanBytes(asDouble(bytesOf(top))),
                                           base::humanBytes(average), ranks.size()));
    finding.why = "The rank with most data ends last, and the others wait for it.";
    finding.remedy =
        "Spread the data evenly; with collective calls of MPI-IO the library does it, over as many "
        "aggregators as the hints say (cb_nodes).";
  }

  static std::uint64_t transferNs(const Group& file) {
    return file.read.time_ns.total + file.write.time_ns.total;
  }
  // The mean size of requests that went to the storage: of the calls on the file where it has any,
  // else unknown.
  static double meanBytes(const Group& file) {
    const std::uint64_t calls = file.read.size_bytes.count + file.write.size_bytes.count;
    return calls == 0 ? 0 : asDouble(bytesOf(file)) / asDouble(calls);
  }

  // Files in which a part of the requests stands out.
  struct OfFiles {
    std::uint64_t part = 0;
    std::uint64_t all = 0;
    double ns = 0;  // over all ranks
    std::vector<const Group*> files;
  };
  // Sums up the files in which part(file) is at least `share` of all(file).
  template <typename Part, typename All>
  OfFiles inFiles(Part part, All all, double share, double most_bytes, double least_bytes) const {
    OfFiles sum;
    for (const Group& file : input_.by_file.groups) {
      if (file.name == stats::kNoFileName || part(file) == 0) continue;
      if (asDouble(part(file)) < share * asDouble(all(file))) continue;
      if (meanBytes(file) > most_bytes || meanBytes(file) < least_bytes) continue;
      sum.part += part(file);
      sum.all += all(file);
      sum.ns += asDouble(transferNs(file)) * asDouble(part(file)) / asDouble(all(file));
      sum.files.push_back(&file);
    }
    return sum;
  }
  static constexpr double kAnyBytes = 1e18;

  void misaligned() {
    const auto part = [](const Group& file) {
      return file.pattern.read.misaligned + file.pattern.write.misaligned;
    };
    const OfFiles found = inFiles(
        part,
        [](const Group& file) { return file.pattern.read.checked + file.pattern.write.checked; },
        settings_.misaligned_share, kAnyBytes, settings_.alignment_bytes);
    if (found.part == 0 || asDouble(found.all) < settings_.least_calls) return;
    Finding& finding =
        add("misaligned", ofSlowest(static_cast<std::uint64_t>(found.ns)),
            fmt::format("{} of {} requests of {} do not begin at a multiple of {}", found.part,
                        found.all, base::counted(found.files.size(), "file", "files"),
                        base::humanBytes(settings_.alignment_bytes)));
    finding.evidence.push_back(
        fmt::format("Files with most: {}.", most(input_.by_file.groups, part)));
    finding.why =
        "Such a request touches a block, or a stripe, more than it has to; a write reads the rest "
        "of a block first, and ranks that share a block wait for its lock.";
    finding.remedy =
        "Put data at multiples of the block: H5Pset_alignment in HDF5, nc_var_align in PnetCDF, "
        "the "
        "hint striping_unit of MPI-IO, a header padded to a whole block.";
  }

  void random() {
    const auto part = [](const Group& file) {
      return file.pattern.read.random() + file.pattern.write.random();
    };
    const OfFiles found = inFiles(
        part,
        [](const Group& file) {
          return file.pattern.read.follows() + file.pattern.write.follows();
        },
        settings_.random_share, settings_.random_bytes, 0);
    if (found.part == 0 || asDouble(found.all) < settings_.least_calls) return;
    Finding& finding =
        add("random", ofSlowest(static_cast<std::uint64_t>(found.ns)),
            fmt::format("{} of {} requests of {} begin before the end of the one before",
                        found.part, found.all, base::counted(found.files.size(), "file", "files")));
    finding.evidence.push_back(
        fmt::format("Files with most: {}.", most(input_.by_file.groups, part)));
    finding.why =
        "Nothing is read ahead for such requests, and writes are not joined; disks seek for each.";
    finding.remedy =
        "Sort requests by offset, or collect them with MPI-IO's collective calls; read a small "
        "file "
        "whole; lay data out in the order in which it is used.";
  }

  void redundantReads() {
    std::uint64_t again = 0;
    std::uint64_t by_same_rank = 0;
    std::uint64_t all = 0;
    double ns = 0;
    for (const Group& file : input_.by_file.groups) {
      const stats::AccessPattern& pattern = file.pattern;
      all += pattern.read_bytes;
      const std::uint64_t own = pattern.rereadByAny();
      if (own == 0) continue;
      again += own;
      by_same_rank += std::min(own, pattern.reread_bytes);
      ns += asDouble(file.read.time_ns.total) * asDouble(own) / asDouble(pattern.read_bytes);
    }
    if (asDouble(again) < settings_.reread_bytes || again == 0 ||
        asDouble(again) < settings_.reread_share * asDouble(all)) {
      return;
    }
    Finding& finding =
        add("redundant-reads", ofSlowest(static_cast<std::uint64_t>(ns)),
            fmt::format("{} of the {} that are read had been read before",
                        base::humanBytes(asDouble(again)), base::humanBytes(asDouble(all))));
    finding.evidence.push_back(
        fmt::format("The same rank read {} of that again; the rest had been read by other ranks.",
                    base::humanBytes(asDouble(by_same_rank))));
    finding.evidence.push_back(fmt::format(
        "Files with most bytes: {}.",
        most(input_.by_file.groups, [](const Group& file) { return file.pattern.rereadByAny(); })));
    finding.why = "The storage sends the same bytes again, where no cache of the node has them.";
    finding.remedy =
        "Keep what was read; let one rank read what all need, and send it (MPI_Bcast), or read it "
        "with a collective call.";
  }

  void readAfterWrite() {
    const auto part = [](const Group& file) { return file.pattern.read_back; };
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    double ns = 0;
    for (const Group& file : input_.by_file.groups) {
      const stats::AccessPattern& pattern = file.pattern;
      if (pattern.read_back == 0 ||
          asDouble(pattern.read_back) < settings_.read_back_share * asDouble(pattern.read.placed) ||
          asDouble(pattern.read_back_bytes) >=
              settings_.small_bytes * asDouble(pattern.read_back)) {
        continue;
      }
      count += pattern.read_back;
      bytes += pattern.read_back_bytes;
      ns += asDouble(file.read.time_ns.total);
    }
    if (asDouble(count) < settings_.least_calls || count == 0) return;
    Finding& finding =
        add("read-after-write", ofSlowest(static_cast<std::uint64_t>(ns)),
            fmt::format("{} reads fetch what the same rank has just written", count));
    finding.evidence.push_back(fmt::format("{} each on average. Files with most: {}.",
                                           base::humanBytes(asDouble(bytes) / asDouble(count)),
                                           most(input_.by_file.groups, part)));
    finding.why =
        "Each change between writing and reading ends what the file system gathers, and on some "
        "systems waits for the data to reach the servers.";
    finding.remedy =
        "Keep the data in memory until it is complete; write and read in separate phases; with "
        "MPI-IO switch data sieving of writes off (romio_ds_write) or use collective calls.";
  }

  void locks() {
    const stats::AccessPattern& all = input_.by_file.total.pattern;
    if (all.locks == 0) return;
    const double own_ns = ofSlowest(all.locks_ns);
    const bool takes_long =
        own_ns >= settings_.lock_share * static_cast<double>(slowest_->io.total()) && own_ns > 0;
    const bool is_refused =
        asDouble(all.locks_refused) >= settings_.least_calls &&
        asDouble(all.locks_refused) >= settings_.refused_share * asDouble(all.locks);
    if (!takes_long && !is_refused) return;
    Finding& finding =
        add("lock-contention", own_ns,
            fmt::format("Locks of files are asked for {}, and take {} over all ranks",
                        times(all.locks), base::humanNs(asDouble(all.locks_ns))));
    finding.evidence.push_back(fmt::format(
        "{} refused. Files with most locks: {}.", all.locks_refused,
        most(input_.by_file.groups, [](const Group& file) { return file.pattern.locks; })));
    finding.why = "A lock lets one rank go on and keeps the others waiting, at the lock server.";
    finding.remedy =
        "Give each rank a region or a file of its own; let MPI-IO coordinate (collective calls, "
        "atomicity off); for HDF5, HDF5_USE_FILE_LOCKING=FALSE where no one else writes the file.";
  }

  void tinyBuffers() {
    const auto part = [](const Group& file) { return file.pattern.tiny_buffered; };
    const std::uint64_t count = part(input_.by_file.total);
    if (count == 0 || asDouble(count) < settings_.least_calls) return;
    double ns = 0;
    for (const Group& file : input_.by_file.groups) {
      if (part(file) > 0) ns += asDouble(transferNs(file));
    }
    Finding& finding = add("tiny-buffers", ofSlowest(static_cast<std::uint64_t>(ns)),
                           fmt::format("{} requests go through streams without a buffer, or with "
                                       "one of less than a page",
                                       count));
    finding.evidence.push_back(
        fmt::format("Files with most: {}.", most(input_.by_file.groups, part)));
    finding.why = "Each such request is a system call, and a request to the storage.";
    finding.remedy = "Leave out setvbuf(…, _IONBF, …), or give it a buffer of a MiB.";
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
    for (const std::string& sentence : input_.lateness) finding.evidence.push_back(sentence);
    finding.why =
        "A collective call begins when the last rank has come: what made that one late costs all.";
    finding.remedy =
        "See who comes late, and why, with omnio stats --waits and omnio log --mpi: uneven work "
        "before the call, or one "
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

stats::PatternOptions patternsFor(const AdviceSettings& settings) {
  // At least a byte; no file system aligns to more than that.
  constexpr double kMost = 1ULL << 40;
  return {static_cast<std::uint64_t>(std::clamp(settings.alignment_bytes, 1.0, kMost))};
}

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
