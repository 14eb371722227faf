#include "core/tracefile/completeness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "core/base/integers.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"
#include "core/tracefile/container_file.hpp"
#include "core/tracefile/prefetch_notes.hpp"
#include "core/wire/info.hpp"
#include "core/wire/run.hpp"
#include "core/wire/settings.hpp"

namespace omnio::tracefile {
namespace {

namespace info = wire::info;

std::int64_t nsOf(const Process& process, std::uint64_t ticks) {
  return process.clock == nullptr ? 0 : process.clock->segmentOf(ticks).ns(ticks);
}

// The last moment that the log knows of, in ticks.
std::uint64_t endOf(const Process& process) {
  std::uint64_t end = process.begin.ticks;
  // The end that a killed process has is the moment it was collected.
  if (process.account && process.account->state != wire::AccountState::kCollected) {
    end = std::max(end, process.account->end.ticks);
  }
  for (const StoredChunk& chunk : process.chunks) end = std::max(end, chunk.header.base_ticks);
  return end;
}

}  // namespace

std::vector<LeftOut> leftOutOf(const Trace& trace) {
  std::map<std::string_view, LeftOut> by_pattern;
  const std::string_view prefix = info::kLeftOutPrefix;
  for (const auto& process : trace.processes()) {
    const auto& facts = process->info.all();
    for (auto fact = facts.lower_bound(prefix);
         fact != facts.end() && std::string_view(fact->first).starts_with(prefix); ++fact) {
      std::istringstream words(fact->second);
      std::uint64_t calls = 0;
      wire::MovedBytes moved;
      if (!(words >> calls >> moved.read >> moved.written)) continue;
      LeftOut& sum = by_pattern[std::string_view(fact->first).substr(prefix.size())];
      sum.calls += calls;
      sum.moved.read += moved.read;
      sum.moved.written += moved.written;
    }
  }
  std::vector<LeftOut> result;
  for (auto& [pattern, sum] : by_pattern) {
    sum.pattern = pattern;
    result.push_back(std::move(sum));
  }
  // Those that moved most come first.
  std::ranges::stable_sort(result, [](const LeftOut& a, const LeftOut& b) {
    return a.moved.read + a.moved.written > b.moved.read + b.moved.written;
  });
  return result;
}

Stops stopsOf(const Process& process) {
  Stops stops;
  stops.count = process.info.number(info::kStops).value_or(0);
  if (stops.count == 0) return stops;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(stops.count, info::kNamedStops); ++i) {
    const std::string_view pair = process.info.text(fmt::format("{}{}", info::kStopPrefix, i));
    const std::size_t space = pair.find(' ');
    if (space == pair.npos) continue;
    const auto begin = base::wholeNumber<std::uint64_t>(pair.substr(0, space));
    const auto end = base::wholeNumber<std::uint64_t>(pair.substr(space + 1));
    if (!begin || !end || *begin > *end) continue;
    stops.known.push_back({.begin_ns = nsOf(process, *begin), .end_ns = nsOf(process, *end)});
  }
  // A sum has no place on the clock, so it is led from the process's begin.
  const std::uint64_t origin = process.begin.ticks;
  const std::uint64_t sum = process.info.number(info::kStoppedTicks).value_or(0);
  stops.total_ns = std::max<std::int64_t>(nsOf(process, origin + sum) - nsOf(process, origin), 0);
  const std::uint64_t since = process.info.number(info::kStoppedSince).value_or(0);
  const std::uint64_t end = endOf(process);
  if (since != 0) {
    const Stop last{.begin_ns = nsOf(process, since),
                    .end_ns = nsOf(process, std::max(since, end))};
    stops.known.push_back(last);
    stops.total_ns += last.end_ns - last.begin_ns;
  }
  return stops;
}

namespace {

// Notes "recording was stopped on request in 4 of 4 processes, for up to 3.200 s: what they did
// then is not in the trace, nor where they left their files", if it ever was.
void noteStops(const Trace& trace, Wholeness& result) {
  std::size_t processes = 0;
  std::int64_t longest_ns = 0;
  for (const auto& process : trace.processes()) {
    const Stops stops = stopsOf(*process);
    if (stops.count == 0) continue;
    ++processes;
    longest_ns = std::max(longest_ns, stops.total_ns);
  }
  if (processes == 0) return;
  const std::size_t all = trace.processes().size();
  result.notes.push_back(fmt::format(
      "recording was stopped on request in {} of {}, for {}{:.3f} s: what {} did then is "
      "not in the trace, nor where {} left {} files",
      processes, base::counted(all, "process", "processes"), processes == 1 ? "" : "up to ",
      static_cast<double>(longest_ns) / 1e9, processes == 1 ? "it" : "they",
      processes == 1 ? "it" : "they", processes == 1 ? "its" : "their"));
}

// "left out by default: 12 calls on /dev/shm/mpich_*, which wrote 4.00 MiB; 3 calls on
// /proc/*, which read 1.20 KiB; and 4 patterns more, which manifest.json has".
std::string leftOutSentence(const std::vector<LeftOut>& left_out) {
  constexpr std::size_t kNamed = 3;
  std::string words;
  for (std::size_t i = 0; i < std::min(kNamed, left_out.size()); ++i) {
    const LeftOut& one = left_out[i];
    const std::string moved = unseenWords(one.moved);
    words += fmt::format("{}{} on {}{}{}", words.empty() ? "" : "; ",
                         base::counted(one.calls, "call", "calls"), base::printable(one.pattern),
                         moved.empty() ? "" : ", which ", moved);
  }
  if (left_out.size() > kNamed) {
    words += fmt::format("; and {} more, which manifest.json has",
                         base::counted(left_out.size() - kNamed, "pattern", "patterns"));
  }
  return "left out by default: " + words;
}

void noteLeftOut(const Trace& trace, Wholeness& result) {
  result.left_out = leftOutOf(trace);
  if (!result.left_out.empty()) result.left_out_note = leftOutSentence(result.left_out);
}

// Notes the values of settings that no process could make sense of.
void noteRefusedSettings(const Trace& trace, Wholeness& result) {
  std::set<std::string> values;
  for (const auto& process : trace.processes()) {
    const std::string& refused = process->info.text(info::kSettingsRefused);
    if (!refused.empty()) values.insert(refused);
  }
  for (const std::string& value : values) {
    result.notes.push_back(
        fmt::format("{} means nothing, and the default was taken instead", base::printable(value)));
  }
}

// Processes that MPI_Comm_spawn started and that are not in the trace: the launcher starts them
// with an environment of its own.
void checkSpawned(const Trace& trace, Wholeness& result) {
  std::uint64_t started = 0;
  std::uint64_t recorded = 0;
  std::set<std::string> commands;
  for (const auto& process : trace.processes()) {
    if (!process->info.text(info::kIsSpawned).empty()) ++recorded;
    for (std::uint64_t number = 1;; ++number) {
      const std::string& told =
          process->info.text(fmt::format("{}{}", info::kSpawnedPrefix, number));
      if (told.empty()) break;
      const std::size_t blank = std::min(told.find(' '), told.size());
      started += base::wholeNumber<std::uint64_t>(told.substr(0, blank), 10).value_or(0);
      commands.insert(base::printable(told.substr(std::min(blank + 1, told.size()))));
    }
  }
  if (recorded >= started) return;
  result.reasons.push_back(fmt::format(
      "{} of {} that MPI_Comm_spawn started ({}) {} not traced: the launcher starts them without "
      "the tracer's environment; run the launcher under `omnio trace`",
      started - recorded, base::counted(started, "process", "processes"), fmt::join(commands, ", "),
      started - recorded == 1 ? "was" : "were"));
  result.at_least = true;
}

// The processes of this node that run as ranks for the trace directory and have told it nothing
// yet: [rank, pid], by what their environment said when they were started. Those that this user may
// not look at are left out.
std::map<int, std::uint32_t> runningRanks(const std::filesystem::path& directory) {
  std::map<int, std::uint32_t> running;
  std::error_code error;
  const std::string real = std::filesystem::canonical(directory, error).native();
  for (const std::filesystem::directory_entry& entry : entriesOf("/proc")) {
    const auto pid = base::wholeNumber<std::uint32_t>(entry.path().filename().native());
    if (!pid) continue;
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    std::map<std::string, std::string> variables;
    for (std::string one; std::getline(in, one, '\0');) {
      const std::size_t equals = std::min(one.find('='), one.size() - 1);
      variables.emplace(one.substr(0, equals), one.substr(equals + 1));
    }
    const auto of = variables.find(wire::kDirectoryVariable);
    if (of == variables.end() || of->second != real) continue;
    for (const wire::LauncherVariables& launcher : wire::kLaunchers) {
      const auto rank = variables.find(launcher.rank);
      if (rank == variables.end()) continue;
      if (const auto number = base::wholeNumber<int>(rank->second)) {
        running.emplace(*number, *pid);
      }
      break;
    }
  }
  return running;
}

struct Job {
  int ranks = 1;
  std::set<int> reporting;
};

void checkRanks(const Trace& trace, Wholeness& result) {
  std::map<std::string, Job> jobs;
  for (const auto& process : trace.processes()) {
    const auto rank = process->info.rank();
    if (!rank) continue;
    Job& job = jobs[process->info.text(wire::info::kJob)];
    job.ranks = std::max(job.ranks, process->info.ranks());
    job.reporting.insert(*rank);
  }
  if (jobs.empty()) {
    result.ranks_expected = 1;
    result.ranks_reporting = trace.processes().empty() ? 0 : 1;
    return;
  }
  for (const auto& [name, job] : jobs) {
    result.ranks_expected += job.ranks;
    result.ranks_reporting += static_cast<int>(job.reporting.size());
    // A long list would hide the rest of the report.
    constexpr int kNamed = 5;
    int silent = 0;
    std::optional<std::map<int, std::uint32_t>> running;
    for (int rank = 0; rank < job.ranks; ++rank) {
      if (job.reporting.contains(rank)) continue;
      if (++silent > kNamed) continue;
      if (!running) running = runningRanks(trace.directory());
      const auto process = running->find(rank);
      result.reasons.push_back(
          process == running->end()
              ? fmt::format("rank {} of {} did not report", rank, job.ranks)
              : fmt::format("rank {} of {} has not reported yet: its process {} still runs", rank,
                            job.ranks, process->second));
    }
    if (silent > kNamed) {
      result.reasons.push_back(fmt::format("{} ranks more did not report", silent - kNamed));
    }
  }
}

// The bytes that a process without a traced end moved, where no signal ended it; nullptr
// where that is not known.
const EndedProcess* endBySystemCall(const Trace& trace, const Process& process) {
  const std::string& host = process.info.text(info::kHost);
  const auto end = std::ranges::find_if(trace.ended(), [&](const EndedProcess& other) {
    return other.pid == process.pid && other.host == host;
  });
  return process.life == Life::kKilled && end != trace.ended().end() && end->signal == 0 ? &*end
                                                                                         : nullptr;
}

// The processes that a signal ended between two calls: their rings, which were read or collected,
// have all that they did. Python's pools of processes end their workers so. Those whose parent is
// not in the trace, or was killed too, are not among them: a rank, or a program as a whole, that
// was killed did not do what it was to do.
std::set<const Process*> endedBetweenCalls(const Trace& trace) {
  const auto node = [](const Process& process) {
    return process.info.text(info::kBoot) + process.info.text(info::kPidNamespace);
  };
  std::set<std::pair<std::string, std::uint64_t>> living;
  for (const auto& process : trace.processes()) {
    if (process->life != Life::kKilled) living.emplace(node(*process), process->pid);
  }
  std::set<const Process*> ended;
  for (const auto& process : trace.processes()) {
    const ProcessInfo& facts = process->info;
    if (process->life == Life::kKilled && !facts.text(info::kEndedBetweenCalls).empty() &&
        facts.text(info::kEndedInCall).empty() && endBySystemCall(trace, *process) == nullptr &&
        living.contains({node(*process), facts.number(info::kParent).value_or(0)})) {
      ended.insert(process.get());
    }
  }
  return ended;
}

void noteKilled(const Trace& trace, std::size_t count, Wholeness& result) {
  if (count == 0) return;
  result.notes.push_back(fmt::format(
      "{} of {} {} ended by a signal, or in a way that the tracer does not see, between two calls: "
      "all that {} did until then is in the trace",
      count, base::counted(trace.processes().size(), "process", "processes"),
      count == 1 ? "was" : "were", count == 1 ? "it" : "they"));
}

void checkLife(const Trace& trace, const Process& process, bool has_ended_between_calls,
               Wholeness& result) {
  const auto because = [&](std::string_view what) {
    result.reasons.push_back(fmt::format("{} {}", process.name(), what));
  };
  constexpr base::Word<Life> kUnfinished[] = {
      {Life::kAborted, "aborted"},
      {Life::kKilled, "was killed"},
      {Life::kRunning, "is still running"},
      {Life::kUnknown, "did not say that it ended: it was killed, or still runs on its node"}};
  if (const EndedProcess* const end = endBySystemCall(trace, process)) {
    because(end->endSentence());
  } else if (const std::string_view why = base::wordOf(kUnfinished, process.life);
             !why.empty() && !has_ended_between_calls) {
    because(why);
  }
  if (process.container.empty()) because("could not create its file in the trace directory");
  const std::string& ended = process.info.text(wire::info::kRecordingEnded);
  if (!ended.empty()) {
    because(fmt::format("was recorded only until {}", base::printable(ended)));
  }
  const std::string& refused = process.info.text(wire::info::kMpiRefused);
  if (!refused.empty()) {
    because(fmt::format("used an MPI library that this omnio cannot trace ({})",
                        base::printable(refused)));
  }
  const std::string& unrecorded = process.info.text(wire::info::kMpiUnrecorded);
  if (!unrecorded.empty()) {
    because(fmt::format("used MPI calls that are not recorded ({})", base::printable(unrecorded)));
  }
}

// The events that the log's numbering counts and its chunks do not have.
std::uint64_t gapsOf(const Process& process, const Log& log) {
  std::uint64_t expected = 0;
  std::uint64_t gaps = 0;
  for (std::size_t i = 0; i < log.chunk_count; ++i) {
    const wire::ChunkHeader& header = process.chunks[log.first_chunk + i].header;
    if (header.first_event > expected) gaps += header.first_event - expected;
    expected = std::max(expected, header.first_event + header.event_count);
  }
  return gaps;
}

// Whether the process told its end: its account then counts every event that it ever recorded.
bool finalAccount(const Process& process) {
  return process.account && process.account->state != wire::AccountState::kRunning &&
         process.account->state != wire::AccountState::kCollected;
}

std::string dropReason(const Process& process, const wire::Account& account) {
  if (account.error == 0) return {};
  if (account.error == wire::kFilterError) {
    return ": a filter of system calls, which the process set, does not let its log be written";
  }
  if (account.error == wire::kSlowError) {
    return ": the device of the log was too slow (--when-slow drop)";
  }
  if (account.error != wire::kLogLimitError) {
    return fmt::format(": {}", std::strerror(static_cast<int>(account.error)));
  }
  const std::string& limit = process.info.text(wire::info::kMaxLogSize);
  return fmt::format(": the log reached its limit{} ({})",
                     limit.empty() ? limit : fmt::format(" of {} bytes", limit),
                     wire::settingOf(wire::SettingId::kMaxLogSize).variable);
}

// Adds what can be read and what cannot; returns how many events of this process cannot.
std::uint64_t countEvents(const Process& process, Wholeness& result) {
  std::uint64_t events = 0;
  std::uint64_t gaps = 0;
  for (const StoredChunk& chunk : process.chunks) events += chunk.header.event_count;
  for (const Log& log : process.logs) gaps += gapsOf(process, log);
  result.events += events;

  const wire::Account account = process.account.value_or(wire::Account{});
  const std::uint64_t recorded = account.events_written + account.events_lost;
  std::uint64_t missing = recorded > events ? recorded - events : 0;
  if (!finalAccount(process)) {
    // The account is as old as the last chunk written, and gaps are of events it may count as lost
    // too: the largest figure is what is sure.
    missing = std::max({missing, gaps, account.events_lost});
    // Without an account nothing tells what came behind the last chunk. A killed process's tail is
    // in its rings or was collected.
    // Killed where its rings are out of reach (another node, or memory alone): unknown.
    const bool tail_unknown = process.account &&
                              process.account->state == wire::AccountState::kRunning &&
                              process.rings.empty() && process.life != Life::kRunning;
    if (missing > 0 || !process.account || !process.damage.empty() || tail_unknown) {
      result.at_least = true;
    }
  }
  result.events_missing += missing;

  // Rings may have brought back some of the events that were lost when they were recorded.
  const std::uint64_t dropped = std::min(account.events_lost, missing);
  if (dropped > 0) {
    result.reasons.push_back(
        fmt::format("{} of {} {} dropped{}", base::counted(dropped, "event", "events"),
                    process.name(), dropped == 1 ? "was" : "were", dropReason(process, account)));
  }
  if (missing > dropped) {
    result.reasons.push_back(fmt::format("{} of {} {} missing in its file",
                                         base::counted(missing - dropped, "event", "events"),
                                         process.name(), missing - dropped == 1 ? "is" : "are"));
  }
  return missing;
}

void checkFile(const Process& process, std::uint64_t missing, Wholeness& result) {
  if (process.container.empty()) return;
  const std::string file = base::printable(process.container.filename().native());
  if (!process.account) result.reasons.push_back(fmt::format("{}: its account is damaged", file));
  // A thread that the end of its process cuts off in the middle of writing leaves a hole. Where the
  // account is final and every event it counts is there, nothing was in it.
  if (finalAccount(process) && missing == 0) return;
  constexpr std::size_t kNamed = 3;
  for (std::size_t i = 0; i < std::min(process.damage.size(), kNamed); ++i) {
    const Damage& damage = process.damage[i];
    result.reasons.push_back(fmt::format("{}: {} from byte {} on {} not form a whole chunk", file,
                                         base::counted(damage.bytes, "byte", "bytes"),
                                         damage.offset, damage.bytes == 1 ? "does" : "do"));
  }
  if (process.damage.size() > kNamed) {
    result.reasons.push_back(
        fmt::format("{}: damaged in {}", file,
                    base::counted(process.damage.size() - kNamed, "more place", "more places")));
  }
}

// Where a process set a filter that refuses what a log needs, the image that followed it may have
// been unable to make one; that it did nothing cannot be told from that.
void checkRefusedImages(const Trace& trace, Wholeness& result) {
  for (const auto& process : trace.processes()) {
    std::string program = base::printable(process->info.text(wire::info::kRefusedImage));
    if (process->info.text(wire::info::kRefusingFilter).empty() ||
        process->life != Life::kReplaced) {
      continue;
    }
    if (program.empty()) program = "another program";
    const auto is_next = [&process](const auto& other) {
      return other->pid == process->pid && other->token != process->token &&
             other->begin.realtime_ns >= process->begin.realtime_ns &&
             other->info.text(wire::info::kProcessStart) ==
                 process->info.text(wire::info::kProcessStart);
    };
    if (std::any_of(trace.processes().begin(), trace.processes().end(), is_next)) continue;
    result.reasons.push_back(
        fmt::format("{} became {}, which left no log: its filter of system calls does not let one "
                    "be made",
                    process->name(), program));
  }
}

// "process 7 on host a read 32.0 MiB and wrote 4.00 MiB by calls that are not recorded"
void checkBytes(const Trace& trace, Wholeness& result) {
  const std::vector<std::optional<SeenBytes>> all = seenBytes(trace);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    const SeenBytes& bytes = *all[i];
    result.bytes += bytes;
    const std::string words = unseenWords(bytes.unseen);
    if (words.empty()) continue;
    result.reasons.push_back(
        fmt::format("{} {} by calls that are not recorded, as the kernel counts",
                    trace.processes()[i]->name(), words));
  }
}

// Ways that neither events nor the kernel's account tell of.
void checkUnseenWays(const Trace& trace, Wholeness& result) {
  for (const auto& process : trace.processes()) {
    if (const auto rings = process->info.number(info::kUringRings).value_or(0); rings > 0) {
      result.reasons.push_back(
          fmt::format("{} used io_uring ({}): what it moved by that is not recorded, and the "
                      "kernel does not count it",
                      process->name(), base::counted(rings, "ring", "rings")));
    }
    if (const auto count = process->info.number(info::kNotFollowed).value_or(0); count > 0) {
      result.reasons.push_back(
          fmt::format("{}: what it moved by {} is not recorded (they were too many at once, moved "
                      "in part, mapped by its parent, or on storage that did not answer)",
                      process->name(),
                      base::counted(count, "mapping or asynchronous operation",
                                    "mappings and asynchronous operations")));
    }
  }
}

}  // namespace

Wholeness assess(const Trace& trace) {
  Wholeness result;
  checkRanks(trace, result);
  checkRefusedImages(trace, result);
  const std::set<const Process*> ended = endedBetweenCalls(trace);
  for (const auto& process : trace.processes()) {
    ++result.processes;
    result.stalled_ns += process->info.number(wire::info::kStalled).value_or(0);
    result.stacks_not_kept += process->info.number(wire::info::kStacksLost).value_or(0);
    if (!process->info.text(wire::info::kStacksShortened).empty()) {
      ++result.processes_with_short_stacks;
    }
    checkLife(trace, *process, ended.contains(process.get()), result);
    const std::uint64_t missing = countEvents(*process, result);
    checkFile(*process, missing, result);
  }
  for (const base::Failure& failure : trace.unreadable()) {
    result.reasons.push_back(failure.sentence);
    result.at_least = true;
  }
  for (const UntracedProgram& program : trace.untraced()) {
    result.reasons.push_back(program.sentence());
    result.at_least = true;
  }
  checkSpawned(trace, result);
  result.stack_breaks = stackBreaksOf(trace);
  result.settled = result.reasons.empty();
  for (const EndedProcess& process : trace.ended()) {
    if (process.has_log) continue;
    (process.isMissed() ? result.reasons : result.notes).push_back(process.sentence());
    if (process.isMissed()) result.at_least = true;
  }
  checkBytes(trace, result);
  checkUnseenWays(trace, result);
  result.whole = result.reasons.empty();
  noteStops(trace, result);
  noteKilled(trace, ended.size(), result);
  noteLeftOut(trace, result);
  noteRefusedSettings(trace, result);
  for (const std::filesystem::path& document : prefetchDocuments(trace.directory())) {
    const auto sentence = prefetchSentence(document);
    result.notes.push_back(sentence ? "prefetching on " + *sentence : sentence.failure().sentence);
  }
  return result;
}

void addUndecodable(Wholeness& wholeness, std::uint64_t events) {
  if (events == 0) return;
  wholeness.whole = false;
  wholeness.events -= std::min(wholeness.events, events);
  wholeness.events_missing += events;
  wholeness.reasons.push_back(
      fmt::format("{} could not be decoded", base::counted(events, "event", "events")));
}

std::vector<std::string> reasonsInBrief(const Wholeness& wholeness) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> brief = wholeness.reasons;
  if (brief.size() > kMost + 1) {
    brief.resize(kMost);
    brief.push_back(fmt::format("and {} reasons more, which `omnio stats --json` has in full",
                                wholeness.reasons.size() - kMost));
  }
  return brief;
}

std::vector<std::string> missingStackSentences(const Wholeness& wholeness) {
  std::vector<std::string> sentences;
  if (const std::uint64_t calls = wholeness.stacks_not_kept; calls > 0) {
    sentences.push_back(fmt::format(
        "the call {} of {} {} missing, since the tracer had no room for more or could not look at "
        "{} in time",
        calls == 1 ? "stack" : "stacks", base::counted(calls, "call", "calls"),
        calls == 1 ? "is" : "are", calls == 1 ? "it" : "them"));
  }
  if (const std::uint64_t processes = wholeness.processes_with_short_stacks; processes > 0) {
    sentences.push_back(fmt::format(
        "the call stacks of {} have one frame from some moment on, since the tracer could not tell "
        "more frames from other data",
        base::counted(processes, "process", "processes")));
  }
  constexpr std::size_t kMost = 4;
  const std::size_t breaks = wholeness.stack_breaks.size();
  for (std::size_t i = 0; i < std::min(breaks, kMost); ++i) {
    sentences.push_back(wholeness.stack_breaks[i].sentence());
  }
  if (breaks > kMost) {
    sentences.push_back(fmt::format("and so in {} more, which `omnio stats --json` has",
                                    base::counted(breaks - kMost, "file", "files")));
  }
  return sentences;
}

std::string unseenWords(const wire::MovedBytes& unseen) {
  std::string words;
  const auto add = [&words](std::uint64_t count, std::string_view verb) {
    if (count == 0) return;
    words += fmt::format("{}{} {}", words.empty() ? "" : " and ", verb,
                         base::humanBytes(static_cast<double>(count)));
  };
  add(unseen.read, "read");
  add(unseen.written, "wrote");
  return words;
}

std::vector<std::string> allNotes(const Wholeness& wholeness) {
  std::vector<std::string> notes = wholeness.notes;
  if (!wholeness.left_out_note.empty()) notes.push_back(wholeness.left_out_note);
  return notes;
}

std::string missingSentence(const Wholeness& wholeness) {
  const std::uint64_t missing = wholeness.events_missing;
  if (missing == 0) {
    if (wholeness.at_least) return "how many events are missing is not known";
    return wholeness.whole ? "no events are missing" : "all that was recorded is there";
  }
  return fmt::format("{}{} {} missing", wholeness.at_least ? "at least " : "",
                     base::counted(missing, "event", "events"), missing == 1 ? "is" : "are");
}

}  // namespace omnio::tracefile
