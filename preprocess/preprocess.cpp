#include "preprocess/preprocess.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "core/base/printable.hpp"
#include "core/event/path_table.hpp"
#include "core/model/schedule_writer.hpp"
#include "core/wire/info.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/thread_pass.hpp"

namespace omnio::preprocess {
namespace {

// Of the first process of the run.
std::string runDirectory(const SourceThreads& sources) {
  const std::string& directory = sources.threads.front().process->info.text(wire::info::kDirectory);
  return directory.empty() ? "/" : directory;
}

std::vector<std::string> commandOf(const SourceThreads& sources) {
  std::vector<std::string> words;
  std::istringstream text(sources.threads.front().process->info.text(wire::info::kCommand));
  for (std::string word; std::getline(text, word, '\x01');) words.push_back(word);
  return words;
}

std::vector<std::string> leftOut(const SourceThreads& sources, const Analysis& analysis,
                                 const tracefile::Wholeness& wholeness) {
  std::vector<std::string> words;
  if (sources.processes_without_rank > 0) {
    words.push_back(fmt::format("the calls of {} processes that are not ranks of the job",
                                sources.processes_without_rank));
  }
  if (analysis.dropped() > 0) {
    words.push_back(fmt::format(
        "{} calls without effect, or on descriptors or paths that the trace does not name",
        analysis.dropped()));
  }
  if (wholeness.events_missing > 0 || wholeness.at_least) {
    words.push_back(
        fmt::format("what the trace has lost: {}", tracefile::missingSentence(wholeness)));
  }
  return words;
}

}  // namespace

base::Result<Summary> preprocess(const tracefile::Trace& trace,
                                 const tracefile::Wholeness& wholeness, const Settings& settings,
                                 const std::filesystem::path& schedule) {
  const SourceThreads sources = sourceThreads(trace);
  const auto nothing = [&trace] {
    return base::Failure{base::Code::kInvalid,
                         fmt::format("{}: holds no I/O on files that could be replayed",
                                     base::printable(trace.directory().native()))};
  };
  if (sources.threads.empty()) return nothing();
  const LocationMap locations(settings.map, runDirectory(sources));
  event::PathTable paths;
  Analysis analysis(sources, locations);
  analysis.run(paths);
  if (analysis.events() == 0) return nothing();

  Summary summary;
  summary.ranks = sources.ranks;
  summary.threads = sources.threads.size();
  summary.edges = analysis.dependencies().edges();
  summary.left_out = leftOut(sources, analysis, wholeness);
  model::ScheduleWriter writer(schedule);
  writer.global({.timing = settings.timing,
                 .write_overwrite = settings.write_overwrite,
                 .size_scale = settings.size_scale,
                 .time_scale = settings.time_scale,
                 .ranks = sources.ranks,
                 .source = trace.directory().native(),
                 .source_whole = wholeness.whole,
                 .source_events_missing = wholeness.events_missing,
                 .command = commandOf(sources),
                 .left_out = summary.left_out});
  const PassSettings pass{.size_scale = SizeScale(settings.size_scale),
                          .time_scale = settings.time_scale};
  for (model::ScheduleFile& file : analysis.files().files()) {
    file.size = pass.size_scale.position(file.size);
    file.read_before_written = pass.size_scale.position(file.read_before_written);
    writer.file(file);
    ++summary.files;
  }
  for (std::uint32_t place = 0; place < sources.threads.size(); ++place) {
    model::ScheduleThread header = sources.threads[place].header;
    header.recorder_ns =
        std::llround(static_cast<double>(header.recorder_ns) * settings.time_scale);
    writer.beginThread(header);
    summary.events += writeThread(sources, place, analysis, pass, paths, writer);
    writer.endThread();
  }
  if (summary.events + analysis.dropped() != analysis.events()) {
    return base::Failure{
        base::Code::kSystem,
        fmt::format("{}: {} events could be read the first time, {} the second: it "
                    "changes, or is of more processes than files may be open here",
                    base::printable(trace.directory().native()), analysis.events(),
                    summary.events + analysis.dropped())};
  }
  if (auto failure = writer.finish()) return *failure;
  return summary;
}

}  // namespace omnio::preprocess
