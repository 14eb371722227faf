// omnio log: the recorded events, one a line.
#include "cli/log/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "core/base/printable.hpp"
#include "core/base/progress.hpp"
#include "core/event/event_text.hpp"
#include "core/tracefile/completeness.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/merged_reader.hpp"
#include "core/wire/info.hpp"

namespace omnio::cli {
namespace {

struct LogOptions {
  TraceSelection selection;
  bool json = false;
  bool mpi = false;
  bool callstack = false;
};

// A thread's logs by lane.
using ThreadLogs = std::map<std::uint32_t, std::vector<const tracefile::Log*>>;

ThreadLogs threadsOf(const tracefile::Process& process, std::optional<unsigned> only) {
  ThreadLogs threads;
  for (const tracefile::Log& log : process.logs) {
    if (!only || log.thread == *only) threads[log.thread].push_back(&log);
  }
  return threads;
}

void appendHeader(std::string& out, const EventOrigin& origin, const std::string& host,
                  const tracefile::Log& log) {
  fmt::format_to(std::back_inserter(out), "# rank={} thread={} host={} pid={} tid={}",
                 origin.rank ? fmt::format("{}", *origin.rank) : "none", origin.thread,
                 host.empty() ? "unknown" : base::printable(host, " "), origin.pid, origin.tid);
  if (log.omp_thread_plus_1 != 0) {
    fmt::format_to(std::back_inserter(out), " omp_thread={}", log.omp_thread_plus_1 - 1);
  }
  out += '\n';
}

class Printer {
 public:
  Printer(const tracefile::Trace& trace, const LogOptions& options)
      : trace_(trace),
        json_(options.json),
        callstack_(options.callstack),
        output_(options.json ? OutputForm::kJson : OutputForm::kText) {
    if (json_) mpi_io_.emplace(trace);
  }

  // Comments have no place among JSON lines: there they go to stderr.
  void note(std::string_view sentence) {
    if (json_) {
      printFailure(sentence);
    } else {
      fmt::format_to(std::back_inserter(output_.text()), "# {}\n", sentence);
    }
  }

  // False when going on is of no use.
  bool print(const tracefile::Process& process, const std::vector<const tracefile::Log*>& lanes) {
    const tracefile::Log& first = *lanes.front();
    const EventOrigin origin{.rank = trace_.rankOf(process),
                             .thread = first.thread,
                             .pid = process.pid,
                             .tid = first.tid};
    if (!json_) {
      appendHeader(output_.text(), origin, process.info.text(wire::info::kHost), first);
    }
    tracefile::MergedReader reader;
    for (const tracefile::Log* lane : lanes) {
      reader.addLog<tracefile::LogReader>(
          process, *lane, paths_, callstack_ ? tracefile::Stacks::kRead : tracefile::Stacks::kLeft);
    }
    while (const event::Event* event = reader.next()) {
      if (reader.missingBefore() > 0) noteGap(reader.missingBefore());
      if (json_) {
        json_line_.object([&] {
          putEvent(json_line_, *event, origin, paths_);
          mpi_io_->put(json_line_, process, *event);
          if (callstack_) putStack(json_line_, *event);
        });
        output_.text() += '\n';
      } else {
        event::appendText(output_.text(), *event);
        if (callstack_ && event->stack != nullptr) appendStack(*event->stack);
      }
      if (!output_.drain()) return false;
    }
    if (reader.missingBefore() > 0) noteGap(reader.missingBefore());
    return true;
  }

  int finish() { return output_.finish(); }

 private:
  // On the event's line.
  void appendStack(const event::CallStack& stack) {
    std::string& text = output_.text();
    text.pop_back();
    fmt::format_to(std::back_inserter(text), " | stack={:016x}", stack.hash);
    for (const event::StackFrame& frame : stack.frames) text += ' ' + event::textOf(frame);
    text += '\n';
  }

  // JSON readers see the sum alone, which assess() told.
  void noteGap(std::uint64_t events) {
    if (json_) return;
    note(fmt::format("{} event{} missing here", events, events == 1 ? " is" : "s are"));
  }

  const tracefile::Trace& trace_;
  const bool json_;
  const bool callstack_;
  std::optional<MpiIoJson> mpi_io_;
  event::PathTable paths_;
  Output output_;
  base::JsonWriter json_line_{output_.text()};  // one for all lines: it keeps its memory
};

int runLog(const LogOptions& options) {
  const ProgressLine progress;
  const base::Result<tracefile::Trace> trace = options.selection.open();
  if (!trace) return fail(trace.failure());
  const base::Result<std::vector<const tracefile::Process*>> processes =
      trace->processesOf(options.selection.rank, options.selection.thread);
  if (!processes) return fail(processes.failure());
  Printer printer(*trace, options);
  const tracefile::Wholeness wholeness = tracefile::assess(*trace);
  if (!wholeness.whole) {
    printer.note(fmt::format("{}: the trace is not whole; {}",
                             base::printable(options.selection.trace),
                             tracefile::missingSentence(wholeness)));
    for (const std::string& reason : tracefile::reasonsInBrief(wholeness)) printer.note(reason);
  }
  for (const std::string& note : wholeness.notes) printer.note(note);
  if (options.callstack) {
    for (const std::string& note : tracefile::missingStackSentences(wholeness)) printer.note(note);
  }
  if (options.mpi) {
    const int status = printer.finish();
    return status == kDone ? printMpiLog(*trace, options.selection, options.json) : status;
  }
  const base::ProgressStage stage("reading the trace", "events",
                                  tracefile::storedEvents(*processes));
  for (const tracefile::Process* process : *processes) {
    for (const auto& [thread, lanes] : threadsOf(*process, options.selection.thread)) {
      if (!printer.print(*process, lanes)) return printer.finish();
    }
  }
  return printer.finish();
}

}  // namespace

void addLogCommand(base::Command program) {
  const auto options = std::make_shared<LogOptions>();
  const base::Command command = program.subcommand(
      "log", "The recorded events, one a line: START_NS END_NS CALL key=value,...");
  options->selection.addTrace(command);
  options->selection.addRank(command);
  options->selection.addThread(command);
  command.flag("--json", options->json, "A JSON object a line");
  const base::OptionHandle mpi =
      command.flag("--mpi", options->mpi,
                   "The MPI calls of all ranks by time, each with its counterparts and how long "
                   "it waited for them");
  command
      .flag("--callstack", options->callstack,
            "Add the call stack of each event, where it was recorded (omnio trace --callstack)")
      .excludes(mpi);
  command.callback([options] { return runLog(*options); });
}

}  // namespace omnio::cli
