#include "preprocess/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/file.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/base/threads.hpp"
#include "core/model/flat_digest.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/model/schedule_writer.hpp"
#include "core/wire/info.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/analysis_progress.hpp"
#include "preprocess/files/size_rules.hpp"
#include "preprocess/order/circles.hpp"
#include "preprocess/order/communication.hpp"
#include "preprocess/order/schedule_chain.hpp"
#include "preprocess/order/shared_pointers.hpp"
#include "preprocess/order/step_ids.hpp"
#include "preprocess/thread_pass.hpp"
#include "preprocess/writing_thread.hpp"

namespace omnio::preprocess {

using model::ScheduleEvent;

namespace {

// The working directory of the first process.
std::string runDirectory(const SourceThreads& sources) {
  const std::string& directory = sources.threads.front().process->info.text(wire::info::kDirectory);
  return directory.empty() ? "/" : directory;
}

// What it lacks comes first.
std::vector<std::string> leftOut(const SourceThreads& sources, Analysis& analysis,
                                 const tracefile::Wholeness& wholeness) {
  std::vector<std::string> words;
  for (const std::string& reason : tracefile::reasonsInBrief(wholeness)) {
    words.push_back(fmt::format("the trace is not whole: {}", reason));
  }
  if (wholeness.events_missing > 0 || wholeness.at_least) {
    words.push_back(
        fmt::format("what the trace has lost: {}", tracefile::missingSentence(wholeness)));
  }
  if (sources.processes_without_rank > 0) {
    words.push_back(fmt::format("the calls of {} processes that are not ranks of the job",
                                sources.processes_without_rank));
  }
  if (analysis.dropped() > 0) {
    words.push_back(fmt::format(
        "{} calls without effect, or on descriptors or paths that the trace does not name",
        analysis.dropped()));
  }
  if (const auto unknown = analysis.files().unknownSizes(); unknown.files > 0) {
    words.push_back(fmt::format(
        "the sizes of {} files before the run, {} the first: the trace does not tell them, and the "
        "files are prepared as long as calls show them",
        unknown.files, base::printable(unknown.first)));
  }
  const Analysis::MadeUp& made_up = analysis.madeUp();
  if (made_up.names > 0) {
    words.push_back(fmt::format(
        "what made {} files and directories, {} the first: it is not recorded, and steps "
        "that make them stand before the calls that found them",
        made_up.names, base::printable(made_up.first_name)));
  }
  if (made_up.opens > 0) {
    words.push_back(fmt::format(
        "what opened {} descriptors, of {} the first: it is not recorded, and opens stand "
        "before the calls that used them",
        made_up.opens, base::printable(made_up.first_open)));
  }
  const FileHistory::OtherFactors& others = analysis.files().otherFactors();
  if (others.renamed > 0) {
    words.push_back(
        fmt::format("the factors that --size-scale gives to later names of {} files, {} the first: "
                    "a file keeps the factor of its first name",
                    others.renamed, base::printable(others.first_renamed)));
  }
  if (others.copied > 0) {
    words.push_back(
        fmt::format("the factors that --size-scale gives to {} files, {} the first: calls copied "
                    "bytes between files of different factors, and all of these have that of the "
                    "file that was used first",
                    others.copied, base::printable(others.first_copied)));
  }
  return words;
}

// Begins the work in another thread; the result is not valid where the process may use one
// processor alone, or the system has no thread to give.
template <typename Task>
auto startedBeside(Task task) {
  std::future<decltype(task())> started;
  if (base::usableProcessors() == 1) return started;
  try {
    const base::SignalsBlocked blocked;  // in the thread that it makes
    started = std::async(std::launch::async, std::move(task));
  } catch (const std::system_error&) {
    // It is done in this one.
  }
  return started;
}

// Whether the first two passes may read at the same time. They have up to five files open for each
// log: each has two readers of the calls, one of them to look ahead, and one of the two has a
// reader of the messages. One after the other they have three.
bool mayReadTwice(const tracefile::Trace& trace) {
  constexpr std::uint64_t kEach = 5;
  constexpr std::uint64_t kOthers = 64;
  std::uint64_t logs = 0;
  for (const auto& process : trace.processes()) logs += process->logs.size();
  return base::openFileLimit() >= kEach * logs + kOthers;
}

// Writes a schedule, and computes what its digest has to be, and its chain, where that is asked
// for.
class CheckedWriter final : public model::ScheduleSink {
 public:
  // `chain` may be nullptr.
  CheckedWriter(const std::filesystem::path& path, const Settings& settings, ScheduleChain* chain)
      : path_(path), writer_(path, settings.form), is_checked_(settings.check), chain_(chain) {}

  Complaint global(const model::ScheduleGlobal& global) override {
    writer_.global(global);
    if (is_checked_) digest_.global(global);
    return {};
  }
  Complaint file(model::FileNumber number, const model::ScheduleFile& file) override {
    writer_.file(file);
    if (is_checked_) digest_.file(number, file);
    return {};
  }
  Complaint beginThread(const model::ScheduleThread& thread) override {
    writer_.beginThread(thread);
    if (is_checked_) digest_.beginThread(thread);
    if (chain_ != nullptr) chain_->beginThread(thread);
    return {};
  }
  Complaint event(const ScheduleEvent& event) override {
    writer_.event(event);
    if (is_checked_) digest_.event(event);
    if (chain_ != nullptr) chain_->take(event);
    return {};
  }
  Complaint endThread() override {
    writer_.endThread();
    return {};
  }

  base::Result<model::WrittenSchedule> finish() {
    if (const auto checked = check(); !checked) return checked.failure();
    if (const auto written = writer_.finish(); !written) return written.failure();
    return writer_.written();
  }

 private:
  // Before it takes the place of an earlier one.
  base::Result<void> check() {
    if (!is_checked_) return {};
    if (const auto written = writer_.complete(); !written) return written.failure();
    const base::ProgressStage stage("reading the schedule again", "events",
                                    writer_.written().events);
    model::FlatDigest read;
    if (const auto done = writer_.readBack(read); !done) return done.failure();
    if (read.value() == digest_.value()) return {};
    return base::failure(base::Code::kDamaged,
                         "{}: read again, it does not say what was written: a defect of omnio",
                         base::printable(path_.native()));
  }

  const std::filesystem::path path_;
  model::ScheduleWriter writer_;
  const bool is_checked_;
  ScheduleChain* const chain_;
  model::FlatDigest digest_;
};

}  // namespace

base::Result<Summary> passSchedule(const tracefile::Trace& trace,
                                   const tracefile::Wholeness& wholeness, const Settings& settings,
                                   std::span<const SchedulePass> passes) {
  SourceThreads sources = sourceThreads(trace);
  const auto nothing = [&trace] {
    return base::failure(base::Code::kInvalid, "{}: holds no I/O on files that could be replayed",
                         base::printable(trace.directory().native()));
  };
  if (sources.threads.empty()) return nothing();
  std::optional<Filter> filter;
  if (!settings.filters.isEmpty()) {
    const FilterRule* const splits = settings.filters.firstThatSplitsGroups();
    if (settings.layer == event::IoLayer::kMpi && splits != nullptr) {
      return base::failure(base::Code::kInvalid,
                           "'{}': ranks meet in calls of MPI-IO (--layer mpi), and this could keep "
                           "those of some ranks; --include and --exclude can name paths, calls, "
                           "classes and sizes of files there",
                           base::printable(splits->text));
    }
    filter.emplace(settings.filters, trace, sources, settings.layer);
    for (SourceThread& thread : sources.threads) thread.filter = &*filter;
  }
  const LocationMap locations(settings.map, runDirectory(sources));
  const NodeMounts mounts(sources.nodes, settings.shared);
  event::PathTable paths;
  MpiTables mpi(trace);
  const SizeRules sizes(settings.size_scale, settings.size_scales, settings.keep_below);
  AnalysisProgress progress(sources.threads.size());
  Analysis analysis(sources, locations, mounts, sizes, settings.layer, mpi, progress);
  if (settings.order == model::Order::kNone) analysis.dependencies().keepNone();
  const bool keeps_mpi = model::keepsMpi(settings.order);
  std::future<Communication> beside;
  {
    const base::ProgressStage stage("ordering calls on files", "events", trace.storedEvents());
    if (keeps_mpi && mayReadTwice(trace)) {
      beside = startedBeside([&] {
        return readCommunication(trace, sources, progress, settings.layer,
                                 order::PictureProgress::kNone);
      });
    }
    analysis.run(paths);
    if (beside.valid()) beside.wait();
  }
  mpi.settle();
  if (analysis.events() == 0 && analysis.filtered().left_out > 0) {
    return base::failure(base::Code::kInvalid, "{}: {} leaves out all of its {} calls",
                         base::printable(trace.directory().native()), settings.filters.text(),
                         analysis.filtered().left_out);
  }
  if (analysis.events() == 0) return nothing();
  if (!mpi.tables().groups.empty()) {
    const auto refuse = [&trace](std::string_view why) {
      return base::failure(base::Code::kInvalid,
                           "{}: {}: a schedule can have the calls below those of MPI-IO (--layer "
                           "posix), and not these",
                           base::printable(trace.directory().native()), why);
    };
    if (!wholeness.whole) {
      return refuse("the trace is not whole, and ranks would wait in calls that others lack");
    }
    if (!mpi.isWhole()) {
      return refuse(
          "the view of a file is not told (its data are not as in memory, it is sequential, or the "
          "type has too many parts)");
    }
    if (settings.write_overwrite) {
      return refuse("files of MPI-IO are not there before they are written (--write-overwrite)");
    }
  }

  if (settings.layer == event::IoLayer::kMpi && model::keepsFiles(settings.order)) {
    orderSharedPointers(trace, sources, mpi, paths, analysis.dependencies());
  }

  const Communication communication =
      beside.valid() ? beside.get()
      : keeps_mpi    ? readCommunication(trace, sources, progress, settings.layer,
                                         order::PictureProgress::kStage)
                  : Communication{.order = {std::vector<std::int64_t>(sources.threads.size()), 0}};
  if (keeps_mpi && (communication.steps != analysis.events() ||
                    communication.undecodable != analysis.undecodable())) {
    return base::failure(base::Code::kSystem,
                         "{}: {} events could be read and {} could not the first time, {} and {} "
                         "the second: it changes, or is of more processes than files may be open "
                         "here",
                         base::printable(trace.directory().native()), analysis.events(),
                         analysis.undecodable(), communication.steps, communication.undecodable);
  }
  if (communication.unmatched_waits > 0 && settings.timing == model::Timing::kDelta &&
      !settings.partial) {
    return base::failure(
        base::Code::kInvalid,
        "{}: {} of {} MPI calls have no counterpart in the trace; {} of these may have waited, and "
        "I/O follows them: a replay would wait for as long as in the recording. Use --partial to "
        "make the schedule anyway",
        base::printable(trace.directory().native()), communication.unmatched, communication.events,
        communication.unmatched_waits);
  }
  // The order from files alone has none.
  const std::uint64_t dropped =
      settings.order == model::Order::kAll ? breakCircles(analysis, communication.order) : 0;

  Summary summary;
  summary.begin_ns = analysis.firstStart();
  summary.mpi_events = communication.events;
  summary.mpi_unmatched = communication.unmatched;
  summary.early = communication.early;
  summary.early_most_ns = communication.early_most_ns;
  summary.ranks = sources.ranks;
  summary.threads = sources.threads.size();
  summary.left_out = leftOut(sources, analysis, wholeness);
  if (filter) summary.unused_rules = filter->unused(analysis.filtered());
  if (const FilterCounts& counts = analysis.filtered(); counts.left_out > 0) {
    summary.left_out.push_back(
        fmt::format("{} calls, by {}", counts.left_out, settings.filters.text()));
    if (counts.on_descriptors > 0) {
      summary.left_out.back() += fmt::format(
          "; {} of them since the open of their descriptor is left out", counts.on_descriptors);
    }
  }
  if (dropped > 0) {
    summary.left_out.push_back(
        fmt::format("{} waits for files that contradict the order of messages, because the clocks "
                    "of the hosts differ",
                    dropped));
  }
  const std::vector<model::ScheduleFile> files = analysis.files().files();
  if (const auto unused = analysis.files().unusedPattern(files)) {
    return base::failure(base::Code::kInvalid,
                         "{}: no file of the run matches the pattern {} of --size-scale",
                         base::printable(trace.directory().native()), base::printable(*unused));
  }
  for (const model::ScheduleFile& file : files) {
    summary.in_memory.files += model::isInMemory(file.location) ? 1 : 0;
  }
  summary.in_memory.bytes = analysis.bytesInMemory();
  const StepIds ids(analysis, communication.order);
  const auto waiting = analysis.dependencies().waiting(sources.threads.size());
  const model::ScheduleGlobal global{
      .timing = settings.timing,
      .write_overwrite = settings.write_overwrite,
      .size_scale = sizes.plain(),
      .size_scales = sizes.patterns(),
      .keep_below = sizes.keepBelow(),
      .time_scale = settings.time_scale,
      .ranks = sources.ranks,
      .source = trace.directory().native(),
      .source_whole = wholeness.whole,
      .source_events_missing = wholeness.events_missing,
      .command = sources.threads.front().process->info.command(),
      .left_out = summary.left_out,
      .in_memory = summary.in_memory,
      .mpi = settings.layer == event::IoLayer::kMpi ? std::optional(mpi.tables()) : std::nullopt};
  for (const model::ScheduleFile& file : files) {
    ++summary.files;
    summary.files_on_nodes += model::isOnNode(file.location) ? 1 : 0;
  }
  for (const SchedulePass& pass : passes) {
    pass.sink.global(global);
    for (std::uint32_t i = 0; i < files.size(); ++i) {
      pass.sink.file(model::FileNumber{i}, files[i]);
    }
    WritingThread writing(pass.sink);
    const base::ProgressStage stage(pass.stage, "events", trace.storedEvents());
    ThreadWritten all;
    for (std::uint32_t place = 0; place < sources.threads.size(); ++place) {
      model::ScheduleThread header = sources.threads[place].header;
      header.computing = analysis.threads()[place].think.computing();
      header.recorder_ns =
          std::llround(static_cast<double>(header.recorder_ns) * settings.time_scale);
      writing.beginThread(header);
      const ThreadWritten written = writeThread({.thread = sources.threads[place],
                                                 .place = place,
                                                 .analysis = analysis,
                                                 .mounts = mounts.of(sources.threads[place].node),
                                                 .order = communication.order,
                                                 .ids = ids,
                                                 .waiting = waiting[place],
                                                 .settings = settings,
                                                 .sizes = sizes},
                                                paths, writing);
      all.events += written.events;
      all.edges += written.edges;
      all.bytes_recorded += written.bytes_recorded;
      all.bytes_scaled += written.bytes_scaled;
      writing.endThread();
    }
    writing.finish();
    if (all.events + analysis.dropped() != analysis.events()) {
      return base::failure(base::Code::kSystem,
                           "{}: {} events could be read the first time, {} the last: it "
                           "changes, or is of more processes than files may be open here",
                           base::printable(trace.directory().native()), analysis.events(),
                           all.events + analysis.dropped());
    }
    summary.events = all.events;
    summary.edges = all.edges;
    summary.bytes_recorded = all.bytes_recorded;
    summary.bytes_scaled = all.bytes_scaled;
  }
  return summary;
}

base::Result<Summary> preprocess(const tracefile::Trace& trace,
                                 const tracefile::Wholeness& wholeness, const Settings& settings,
                                 const std::filesystem::path& schedule) {
  std::optional<ScheduleChain> chain;
  if (settings.chain) chain.emplace();
  CheckedWriter writer(schedule, settings, chain ? &*chain : nullptr);
  const SchedulePass pass{.sink = writer, .stage = "writing the schedule"};
  base::Result<Summary> summary = passSchedule(trace, wholeness, settings, std::span(&pass, 1));
  if (!summary) return summary;
  const base::Result<model::WrittenSchedule> written = writer.finish();
  if (!written) return written.failure();
  summary->written = *written;
  if (chain) summary->chain_ns = chain->longest();
  return summary;
}

}  // namespace omnio::preprocess
