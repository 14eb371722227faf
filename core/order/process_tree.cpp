#include "core/order/process_tree.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/tracefile/container_file.hpp"
#include "core/wire/info.hpp"

namespace omnio::order {
namespace {

namespace fs = std::filesystem;
using Kind = ProcessStep::Kind;
using NoteKind = wire::ChildNote;

// From CLOCK_MONOTONIC of a host to the time of the trace: by the anchors of its processes.
class HostTime {
 public:
  void add(const tracefile::Process& process) {
    add(process, process.begin);
    if (process.account) add(process, process.account->end);
  }
  void finish() { std::sort(points_.begin(), points_.end()); }
  std::int64_t of(std::int64_t monotonic_ns) const {
    if (points_.empty()) return monotonic_ns;
    const auto next = std::upper_bound(points_.begin(), points_.end(), Point{monotonic_ns, kLast});
    const Point& near = next == points_.begin() ? points_.front() : *(next - 1);
    return near.second + (monotonic_ns - near.first);
  }

 private:
  using Point = std::pair<std::int64_t, std::int64_t>;
  static constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

  void add(const tracefile::Process& process, const wire::Anchor& anchor) {
    if (anchor.monotonic_ns == 0 || process.clock == nullptr) return;
    points_.emplace_back(static_cast<std::int64_t>(anchor.monotonic_ns),
                         process.clock->segmentOf(anchor.ticks).ns(anchor.ticks));
  }
  std::vector<Point> points_;
};

// Puts the tree of one host together, by time.
class TreeOfHost {
 public:
  explicit TreeOfHost(std::vector<TreeProcess>& processes) : processes_(processes) {}

  void takeStart(const ChildNote& note) {
    const std::size_t parent = find(note.pid, note.parent, note.begin_ns);
    if (note.child == 0) {
      const bool ends = note.kind == NoteKind::kRun;
      unnamed_.push_back({parent, note.begin_ns, note.tid, ends ? note.end_ns : kNever, {}});
      return;
    }
    if (note.kind == NoteKind::kExec) {
      // A shell looks for a program in one directory after the other.
      const auto there = alive_.find(pidOf(note));
      if (there != alive_.end() && there->second.parent == parent) return;
    }
    start(parent, note.tid, note.begin_ns, note.end_ns, pidOf(note));
  }

  void takeWait(const ChildNote& note) {
    const std::size_t parent = find(note.pid, note.parent, note.end_ns);
    const auto there = alive_.find(pidOf(note));
    if (there == alive_.end() || there->second.process == parent) return;
    stepsOf(parent, note.tid)
        .push_back({Kind::kWait, note.begin_ns, note.end_ns, there->second.process});
    alive_.erase(there);
  }

  // The end of a call that started a child and waited for it.
  void takeRunEnd(const ChildNote& note) {
    const auto run = std::find_if(unnamed_.begin(), unnamed_.end(), [&](const Unnamed& start) {
      return start.tid == note.tid && start.begin_ns == note.begin_ns;
    });
    if (run == unnamed_.end()) return;
    if (run->child) {
      stepsOf(run->parent, run->tid)
          .push_back({Kind::kWait, note.begin_ns, note.end_ns, *run->child});
    }
    unnamed_.erase(run);
  }

  void takeCreate(const ChildNote& note) {
    const std::size_t process = find(note.pid, note.parent, note.begin_ns);
    std::vector<ProcessStep>& steps = stepsOf(process, note.tid);
    const std::size_t created = processes_.size();
    steps.push_back({Kind::kStart, note.begin_ns, note.end_ns, created});
    threads_[{process, note.child}] = created;
    const std::size_t program = processes_[process].programs.size() - 1;
    processes_.push_back({.pid = note.pid,
                          .is_started = true,
                          .programs = {},
                          .thread = TreeProcess::ThreadOf{process, program, 0}});
  }

  void takeSelf(const ChildNote& note) {
    const std::size_t process = find(note.pid, note.parent, note.begin_ns);
    const auto created = threads_.find({process, note.child});
    if (created == threads_.end() || processes_[created->second].thread->tid != 0) return;
    stepsOf(process, note.tid);
    processes_[created->second].thread->tid = note.tid;
  }

  void takeJoin(const ChildNote& note) {
    const std::size_t process = find(note.pid, note.parent, note.end_ns);
    const auto joined = threads_.find({process, note.child});
    if (joined == threads_.end()) return;
    stepsOf(process, note.tid).push_back({Kind::kWait, note.begin_ns, note.end_ns, joined->second});
    threads_.erase(joined);
  }

  void takeLog(std::size_t log, const tracefile::Process& process, std::int64_t begin_ns) {
    const auto start = process.info.text(wire::info::kProcessStart);
    const auto parent =
        static_cast<std::uint32_t>(process.info.number(wire::info::kParent).value_or(0));
    if (const auto there = alive_.find(process.pid); there != alive_.end()) {
      // The number of a process that has ended unseen.
      const std::string& known = there->second.start;
      if (!known.empty() && known != start) alive_.erase(there);
    }
    TreeProcess& found = processes_[find(process.pid, parent, begin_ns)];
    alive_.at(process.pid).start = start;
    found.programs.push_back({.log = log, .begin_ns = begin_ns, .lanes = {}});
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Alive {
    std::size_t process = 0;
    std::size_t parent = kNone;
    std::string start;  // as in /proc/<pid>/stat; empty: not known
  };
  // A start of a child that the C library did not name. The first process that nothing else has
  // started, and that says it is a child of this one, is it.
  struct Unnamed {
    std::size_t parent;
    std::int64_t begin_ns;
    std::uint32_t tid;
    std::int64_t end_ns;  // of the call, where the child ends in it
    std::optional<std::size_t> child;
  };

  static std::uint32_t pidOf(const ChildNote& note) {
    return static_cast<std::uint32_t>(note.child);
  }

  std::size_t make(std::uint32_t pid, std::size_t parent) {
    processes_.push_back({.pid = pid, .is_started = parent != kNone, .programs = {}, .thread = {}});
    alive_[pid] = {.process = processes_.size() - 1, .parent = parent, .start = {}};
    return processes_.size() - 1;
  }

  std::size_t start(std::size_t parent, std::uint32_t tid, std::int64_t begin_ns,
                    std::int64_t end_ns, std::uint32_t pid) {
    const std::size_t child = make(pid, parent);
    stepsOf(parent, tid).push_back({Kind::kStart, begin_ns, end_ns, child});
    return child;
  }

  // The process that has this number now.
  std::size_t find(std::uint32_t pid, std::uint32_t parent, std::int64_t now_ns) {
    if (const auto there = alive_.find(pid); there != alive_.end()) return there->second.process;
    for (auto at = unnamed_.begin(); at != unnamed_.end(); ++at) {
      Unnamed& start = *at;
      if (start.child || processes_[start.parent].pid != parent || start.end_ns < now_ns) continue;
      const std::size_t child =
          this->start(start.parent, start.tid, start.begin_ns, start.begin_ns, pid);
      if (start.end_ns == kNever) {
        unnamed_.erase(at);  // no end of the call will ask for it
      } else {
        start.child = child;
      }
      return child;
    }
    return make(pid, kNone);
  }

  std::vector<ProcessStep>& stepsOf(std::size_t process, std::uint32_t tid) {
    TreeProcess& owner = processes_[process];
    if (tid == 0) tid = owner.pid;
    if (owner.programs.empty()) owner.programs.emplace_back();
    std::vector<ProcessLane>& lanes = owner.programs.back().lanes;
    const auto [at, is_new] =
        lane_of_.try_emplace({process, owner.programs.size(), tid}, lanes.size());
    if (is_new) lanes.push_back({.tid = tid, .steps = {}});
    return lanes[at->second].steps;
  }

  std::vector<TreeProcess>& processes_;
  std::map<std::uint32_t, Alive> alive_;  // by pid
  std::vector<Unnamed> unnamed_;
  // Places of lanes, by process, number of its program from 1, and thread: there may be a lane for
  // each of very many threads.
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::size_t> lane_of_;
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> threads_;  // by process and handle
};

// The child of a vfork knows its parent, and not that one's parent: a later note of it does.
void fillParents(std::vector<ChildNote>& notes) {
  std::stable_sort(notes.begin(), notes.end(),
                   [](const ChildNote& a, const ChildNote& b) { return a.begin_ns < b.begin_ns; });
  std::map<std::uint32_t, std::uint32_t> parents;
  for (auto note = notes.rbegin(); note != notes.rend(); ++note) {
    if (note->parent != 0) parents[note->pid] = note->parent;
    if (const auto known = parents.find(note->pid); known != parents.end()) {
      note->parent = known->second;
    }
  }
}

std::vector<ChildNote> readNotes(const fs::path& path) {
  std::vector<ChildNote> notes;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return notes;  // a pipe would be waited for
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    if (const auto note = parseChildNote(line)) notes.push_back(*note);
  }
  fillParents(notes);
  return notes;
}

}  // namespace

std::optional<ChildNote> parseChildNote(std::string_view line) {
  ChildNote note;
  const std::string_view word = line.substr(0, line.find(' '));
  bool is_known = false;
  for (const NoteKind kind : {NoteKind::kFork, NoteKind::kExec, NoteKind::kWait, NoteKind::kRun,
                              NoteKind::kCreate, NoteKind::kJoin, NoteKind::kSelf}) {
    if (word != wire::describe(kind)) continue;
    note.kind = kind;
    is_known = true;
  }
  if (!is_known) return std::nullopt;
  line.remove_prefix(word.size());
  const auto take = [&line](auto& number) {
    if (line.empty() || line.front() != ' ') return false;
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + 1, end, number);
    if (error != std::errc() || number < 0) return false;
    line.remove_prefix(static_cast<std::size_t>(stop - line.data()));
    return true;
  };
  if (!take(note.pid) || !take(note.parent) || !take(note.tid) || !take(note.child) ||
      !take(note.begin_ns) || !take(note.end_ns) || !line.empty() || note.end_ns < note.begin_ns) {
    return std::nullopt;
  }
  return note;
}

ProcessTree readProcessTree(const tracefile::Trace& trace) {
  ProcessTree tree;
  std::map<std::string, std::vector<std::size_t>> hosts;
  for (std::size_t i = 0; i < trace.processes().size(); ++i) {
    hosts[trace.processes()[i]->info.text(wire::info::kHost)].push_back(i);
  }
  for (const auto& [host, logs] : hosts) {
    HostTime time;
    for (const std::size_t log : logs) time.add(*trace.processes()[log]);
    time.finish();
    std::vector<ChildNote> notes;
    // The name of a host comes from the trace, and must not lead elsewhere.
    if (host.find('/') == std::string::npos) {
      notes = readNotes(trace.directory() / (host + wire::kProcessesSuffix));
    }
    // A start counts when it began, a wait when it ended.
    struct Item {
      std::int64_t at_ns;
      int order;  // of the same time
      std::size_t index;
    };
    enum { kStarts, kLogs, kSelves, kWaits };
    std::vector<Item> items;
    for (std::size_t i = 0; i < notes.size(); ++i) {
      ChildNote& note = notes[i];
      const std::int64_t took = note.end_ns - note.begin_ns;
      note.begin_ns = time.of(note.begin_ns);
      note.end_ns = note.begin_ns + took;
      if (note.kind == NoteKind::kSelf) {
        items.push_back({note.begin_ns, kSelves, i});
        continue;
      }
      const bool only_waits = note.kind == NoteKind::kWait || note.kind == NoteKind::kJoin;
      if (!only_waits) items.push_back({note.begin_ns, kStarts, i});
      if (only_waits || note.kind == NoteKind::kRun) items.push_back({note.end_ns, kWaits, i});
    }
    for (const std::size_t log : logs) {
      const tracefile::Process& process = *trace.processes()[log];
      if (process.clock == nullptr) continue;
      const std::uint64_t ticks = process.begin.ticks;
      items.push_back({process.clock->segmentOf(ticks).ns(ticks), kLogs, log});
    }
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return std::pair(a.at_ns, a.order) < std::pair(b.at_ns, b.order);
    });
    TreeOfHost builder(tree.processes);
    for (const Item& item : items) {
      if (item.order == kLogs) {
        builder.takeLog(item.index, *trace.processes()[item.index], item.at_ns);
        continue;
      }
      const ChildNote& note = notes[item.index];
      switch (note.kind) {
        case NoteKind::kFork:
        case NoteKind::kExec:
          builder.takeStart(note);
          break;
        case NoteKind::kWait:
          builder.takeWait(note);
          break;
        case NoteKind::kRun:
          if (item.order == kStarts) {
            builder.takeStart(note);
          } else {
            builder.takeRunEnd(note);
          }
          break;
        case NoteKind::kCreate:
          builder.takeCreate(note);
          break;
        case NoteKind::kSelf:
          builder.takeSelf(note);
          break;
        case NoteKind::kJoin:
          builder.takeJoin(note);
          break;
      }
    }
  }
  for (TreeProcess& process : tree.processes) {
    for (ProgramRun& program : process.programs) {
      for (ProcessLane& lane : program.lanes) {
        std::stable_sort(lane.steps.begin(), lane.steps.end(),
                         [](const auto& a, const auto& b) { return a.at_ns() < b.at_ns(); });
      }
    }
  }
  return tree;
}

}  // namespace omnio::order
