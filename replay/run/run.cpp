#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/base/document_file.hpp"
#include "core/base/file.hpp"
#include "core/base/file_system.hpp"
#include "core/base/log.hpp"
#include "core/base/node_memory.hpp"
#include "core/base/printable.hpp"
#include "core/wire/moved_bytes.hpp"
#include "replay/issue/libc.hpp"
#include "replay/launch.hpp"
#include "replay/plan/lanes.hpp"
#include "replay/plan/placement.hpp"
#include "replay/report.hpp"
#include "replay/run/flags.hpp"
#include "replay/run/memory.hpp"
#include "replay/run/mpi_files.hpp"
#include "replay/run/node_storage.hpp"
#include "replay/run/receivers.hpp"
#include "replay/run/session.hpp"
#include "replay/run/signals.hpp"
#include "replay/target/kept.hpp"
#include "replay/target/memory.hpp"
#include "replay/target/sources.hpp"

namespace omnio::replay {
namespace {

constexpr int kDone = 0;
constexpr int kDifferences = 3;
// From the decision when to begin to the beginning: all have to hear of it.
constexpr std::int64_t kLeadNs = 20000000;
// Between looks at what goes on; where others count on this process for messages, more eagerly.
constexpr std::int64_t kRestNs = 1000000;
constexpr std::int64_t kLongRestNs = 20000000;
constexpr std::int64_t kShortRestNs = 50000;

std::vector<std::uint32_t> ranksOf(const Placement& placement, const Session& session) {
  return placement.ranksByProcess()[static_cast<std::size_t>(session.rank())];
}

// getline takes as much memory as a line is long, and in a file with holes a line may be as long as
// numbers go. While this lives, the process gets so much more, and no call gets all there is.
class GrowthLimit {
 public:
  GrowthLimit() {
    constexpr std::uint64_t kGrowth = std::uint64_t{512} << 20;
    const std::uint64_t now = bytesIn("/proc/self/status", "VmData:");
    if (now == UINT64_MAX || getrlimit(RLIMIT_DATA, &before_) != 0) return;
    rlimit limit = before_;
    limit.rlim_cur = std::min<rlim_t>(before_.rlim_cur, now + kGrowth);
    is_set_ = setrlimit(RLIMIT_DATA, &limit) == 0;
  }
  GrowthLimit(const GrowthLimit&) = delete;
  GrowthLimit& operator=(const GrowthLimit&) = delete;
  ~GrowthLimit() {
    if (is_set_) setrlimit(RLIMIT_DATA, &before_);
  }

 private:
  rlimit before_{};
  bool is_set_ = false;
};

// That are at work at once.
std::uint64_t ownThreads(const Plan& plan, const Placement& placement, const Session& session) {
  return lanesOf(threadsByProcess(plan, placement)[session.rank()]).largest.size();
}

// The part of their think time in which the recorded threads computed, on average over those of
// which it is known.
std::optional<double> computingOf(const Plan& plan) {
  double sum = 0;
  std::size_t known = 0;
  for (const PlannedThread& thread : plan.threads) {
    if (!thread.recorded.computing) continue;
    sum += *thread.recorded.computing;
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum / static_cast<double>(known);
}

// Whether at most `most` threads share a processor, on the whole node and in each of its processes:
// a launcher may bind processes with different numbers of threads to one processor each. `threads`
// are those of this process. All processes of the node have to call it.
bool shareProcessors(std::uint64_t threads, std::uint64_t most, Session& session) {
  const std::uint64_t here = session.sumOnNode(threads);
  const std::uint64_t crowded = session.sumOnNode(threads > most * session.ownProcessors() ? 1 : 0);
  return here <= most * session.nodeProcessors() && crowded == 0;
}

bool haveProcessorEach(const Plan& plan, const Placement& placement, Session& session) {
  return shareProcessors(ownThreads(plan, placement, session), 1, session);
}

// MPI libraries wait by asking again and again, so that a processor is never idle, and let others
// have it where ranks share it. A replay does the same: a file system answers sooner on a processor
// that is awake. Not where very many ranks are folded into few processes.
bool mayPollInMpi(const Placement& placement, Session& session) {
  constexpr std::uint64_t kMostPolling = 4;
  return shareProcessors(ranksOf(placement, session).size(), kMostPolling, session);
}

// Tells the other processes, round by round, how this one stands, and finds out when all are done
// or nothing moves any more.
class Rounds {
 public:
  Rounds(Session& session, const Engine& engine, std::int64_t stall_ns)
      : session_(session), engine_(engine), stall_ns_(stall_ns) {}

  // True when all processes are done.
  bool look() {
    const std::int64_t now = nowNs();
    const bool is_done = engine_.isDone();
    const std::uint64_t progress = engine_.progress();
    if (progress != progress_ || moved_ns_ == 0) {
      progress_ = progress;
      moved_ns_ = now;
    }
    const std::int64_t still_ns = is_done ? INT64_MAX : now - moved_ns_;
    if (is_under_way_) {
      if (const auto least = session_.roundOver()) {
        if (least->done != 0) return true;
        is_under_way_ = false;
        if (!is_done && least->still_ns >= stall_ns_) giveUp(still_ns, "");
      } else if (!is_done && still_ns >= stall_ns_ && now - begun_ns_ >= stall_ns_) {
        giveUp(still_ns, ", and another process does not answer");
      }
      return false;
    }
    // A long replay is asked once a second, a short one does not wait that long for its end.
    constexpr std::int64_t kMostBetweenNs = 1000000000;
    const std::int64_t between = std::min(kMostBetweenNs, (now - started_ns_) / 20);
    if (now - begun_ns_ < between && !is_done) return false;
    session_.beginRound({.done = is_done ? 1 : 0, .still_ns = still_ns});
    begun_ns_ = now;
    is_under_way_ = true;
    return false;
  }

 private:
  void giveUp(std::int64_t still_ns, std::string_view more) {
    session_.abort(fmt::format("nothing has moved for {:.0f} s{}: {}",
                               static_cast<double>(still_ns) / 1e9, more, engine_.waits()));
  }

  Session& session_;
  const Engine& engine_;
  const std::int64_t stall_ns_;
  const std::int64_t started_ns_ = nowNs();
  std::uint64_t progress_ = 0;
  std::int64_t moved_ns_ = 0;
  std::int64_t begun_ns_ = 0;
  bool is_under_way_ = false;
};

// The main thread shares a processor with the replay, so it seldom looks after a long one: its end
// may be found 20 ms late.
std::int64_t restNs(std::int64_t elapsed_ns, bool gets_messages) {
  return gets_messages ? kRestNs : std::clamp(elapsed_ns / 100, kRestNs, kLongRestNs);
}

// Until all processes are done: looks after failures and messages.
void attend(Session& session, Engine& engine, Signals* signals, bool is_eager,
            std::int64_t stall_ns) {
  Rounds rounds(session, engine, stall_ns);
  const std::int64_t begin = nowNs();
  for (;;) {
    if (const auto failure = engine.failure()) session.abort(failure->sentence);
    if (signals != nullptr) signals->receive();
    if (rounds.look()) return;
    std::this_thread::sleep_for(std::chrono::nanoseconds(
        is_eager ? kShortRestNs : restNs(nowNs() - begin, signals != nullptr)));
  }
}

// Each file that the schedule writes, on each node, since a node has what its own ranks wrote; the
// processes of a node take turns.
void syncFiles(const Session& session, const Plan& plan, const Trees& trees) {
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (i % static_cast<std::size_t>(session.nodeProcesses()) !=
            static_cast<std::size_t>(session.nodeRank()) ||
        plan.files[i].role == model::FileRole::kInput ||
        plan.files[i].role == model::FileRole::kDirectory) {
      continue;
    }
    const int fd = trees.of(plan.files[i]).openFile(plan.files[i].location, O_RDONLY | O_NONBLOCK);
    if (fd < 0) continue;  // it was removed
    raw::syncData(fd);
    raw::closeFd(fd);
  }
}

// As many times as long as nothing may move at all: a collective call may have much to write.
constexpr std::int64_t kLongestMeeting = 10;

// What the replayer moved on its own account, past the tracer, is not missing in its trace.
void tellTracer() {
  const auto tell = [](std::atomic<std::uint64_t>& bytes, int command) {
    posix_madvise(reinterpret_cast<void*>(bytes.exchange(0)), wire::kControlKey, command);
  };
  tell(raw::bytes_read, wire::kOwnReadCommand);
  tell(raw::bytes_written, wire::kOwnWrittenCommand);
}

// Makes the tree of this node below a directory that each node has for itself. All processes call
// it; ends the replay where several nodes see the same directory.
std::filesystem::path makeNodeTree(Session& session, const Request& request) {
  namespace fs = std::filesystem;
  const fs::path& directory = request.node_local;
  // Each node leaves a file there for a moment, with a number of this replay. Where one finds
  // another's, the directory is that of several.
  const std::int64_t replay = session.largest(session.rank() == 0 ? nowNs() : 0);
  const std::string mark = fmt::format("{}{}.", kNodeMark, replay);
  const fs::path own = directory / fmt::format("{}{}", mark, session.node());
  std::string failure;
  std::error_code error;
  bool is_made = false;
  if (session.isNodeLeader()) {
    const auto target = checkTarget(directory, request.fresh);
    if (!target) failure = target.failure().sentence;
    if (failure.empty()) fs::create_directories(directory, error);
    const int fd = failure.empty()
                       ? raw::openAt(AT_FDCWD, own.c_str(),
                                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                       : -1;
    is_made = fd >= 0;
    if (is_made) {
      raw::closeFd(fd);
    } else if (failure.empty()) {
      failure = base::systemFailure(directory, errno, "cannot write in").sentence;
    }
  }
  session.barrier();
  if (is_made) {
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename();
      if (!name.starts_with(mark) || name == own.filename()) continue;
      failure = fmt::format(
          "--node-local {}: nodes of this replay have the directory in common; name one "
          "that each has for itself",
          base::printable(directory.native()));
    }
  }
  session.barrier();
  if (is_made) fs::remove(own, error);
  // All have removed theirs before one ends the replay.
  session.barrier();
  if (!failure.empty()) session.abort(failure);
  if (session.isNodeLeader()) {
    const base::Result<fs::path> made = makeTree(directory, request.fresh);
    if (!made) session.abort(made.failure().sentence);
  }
  session.barrier();
  const fs::path real = fs::canonical(directory, error);
  if (error) session.abort(base::systemFailure(directory, error.value()).sentence);
  return real / kTreeName;
}

// The tree of this node in its memory, where files of the plan go there. All processes make it, and
// end it, together.
class MemoryTree {
 public:
  MemoryTree(Session& session, const Plan& plan)
      : session_(session),
        is_used_(std::ranges::find(plan.files, kMemoryTree, &PlannedFile::tree) !=
                 plan.files.end()) {
    if (!is_used_) return;
    replay_ = session.largest(session.rank() == 0 ? wallNs() : 0);
    if (session.isNodeLeader()) {
      if (const auto made = makeMemoryTree(replay_); !made) session.abort(made.failure().sentence);
    }
    session.barrier();
    path_ = memoryTreeOf(replay_);
  }
  MemoryTree(const MemoryTree&) = delete;
  MemoryTree& operator=(const MemoryTree&) = delete;
  ~MemoryTree() {
    if (!is_used_) return;
    session_.barrier();
    if (session_.isNodeLeader()) removeMemoryTree(replay_);
  }

  // Empty where there is none.
  const std::filesystem::path& path() const { return path_; }

 private:
  // Unlike on any node since it was started.
  static std::int64_t wallNs() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  Session& session_;
  const bool is_used_;
  std::int64_t replay_ = 0;
  std::filesystem::path path_;
};

std::vector<int> nodeOfRank(const Plan& plan, const Placement& placement, const Session& session) {
  std::vector<int> nodes;
  for (std::uint32_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const int process = placement.processOf(rank);
    nodes.push_back(session.nodeOf()[static_cast<std::size_t>(process)]);
  }
  return nodes;
}

// Whether what a node has for itself fits there. All processes call it; ends the replay, with
// nothing left in any target, where it does not.
void checkNodeRoom(Session& session, const Request& request, const Plan& plan,
                   const Places& places) {
  if (request.node_local.empty() || request.ignores_room) return;
  std::string failure;
  if (session.isNodeLeader()) {
    const auto is_there = [&](std::size_t file) {
      return places[file] == session.node() && plan.files[file].tree == kNodeTree;
    };
    const auto fits = checkRoom(
        roomNeededOnNode(request.targets, request.node_local, plan, is_there), request.node_local);
    if (!fits) failure = fits.failure().sentence;
  }
  if (session.largest(failure.empty() ? 0 : 1) == 0) return;
  if (session.isNodeLeader()) removeTree(request.node_local);
  if (session.rank() == 0) removeTrees(request.targets);
  session.barrier();
  if (!failure.empty()) session.abort(failure);
  session.barrier();  // until that one has ended all
}

std::string fileSystemOf(int directory) {
  struct statfs facts {};
  if (raw::systemCall(SYS_fstatfs, directory, &facts) != 0) return {};
  return base::fileSystemName(static_cast<std::uint32_t>(facts.f_type));
}

// Kept files, as process 0 knows them.
void tellKept(Session& session, KeptInputs& kept) {
  std::string marks;
  for (const bool is_kept : kept.is_kept) marks += is_kept ? '1' : '0';
  marks = session.fromFirst(std::move(marks));
  kept.is_kept.clear();
  for (const char mark : marks) kept.is_kept.push_back(mark == '1');
}

Prepared sumOf(const PreparedByTree& prepared) {
  Prepared sum;
  for (const auto& [tree, one] : prepared) {
    sum.files += one.files;
    sum.bytes += one.bytes;
  }
  return sum;
}

std::int64_t syncAfter(Session& session, Sync sync, const Plan& plan, const Trees& trees) {
  session.barrier();  // all have written out what their streams hold
  const std::int64_t begin = nowNs();
  if (sync == Sync::kFile) syncFiles(session, plan, trees);
  if (sync == Sync::kFinal && session.isNodeLeader()) {
    for (const Tree& tree : trees.targets()) raw::syncFileSystem(tree.fd());
    if (trees.onNode()) raw::syncFileSystem(trees.onNode()->fd());
  }
  return sync == Sync::kNone ? 0 : session.largest(nowNs() - begin);
}

}  // namespace

Replayed replayOnce(Session& session, const Request& request,
                    const std::filesystem::path& tree_path) {
  const auto check = [&session](const auto& result) {
    if (!result) session.abort(result.failure().sentence);
  };
  const std::filesystem::path programs = programsIn(request.output);
  // What one rank goes through, the others do too.
  base::LoggedSteps steps(session.rank() == 0 ? base::LogLevel::kInfo : base::LogLevel::kDebug);
  steps.begin("reading the plan");
  std::optional<Placement> placement;
  const base::Result<Plan> plan =
      readPlan(programs / kPlanName, [&](const Plan& shared, std::uint32_t rank) {
        if (!placement) placement = placementOf(shared, session.size(), request.place);
        return placement->processOf(rank) == session.rank();
      });
  check(plan);
  if (!placement) placement = placementOf(*plan, session.size(), request.place);
  if (plan->global.mpi) check(checkProcesses(*plan, session.size()));
  std::filesystem::path node_tree;
  if (usesNodeTree(request.node_local, *plan)) {
    node_tree = makeNodeTree(session, request);
  }
  const base::Result<std::vector<std::filesystem::path>> tree_paths =
      treesOf(request.targets, tree_path);
  check(tree_paths);
  const MemoryTree memory(session, *plan);
  const base::Result<Trees> trees = Trees::open(*tree_paths, node_tree, memory.path());
  check(trees);
  const base::Result<Places> places = placesOf(*plan, nodeOfRank(*plan, *placement, session));
  check(places);
  base::raiseOpenFileLimit();

  if (session.isNodeLeader()) {
    const auto is_here = [&session](int process) {
      return session.nodeOf()[static_cast<std::size_t>(process)] == session.node();
    };
    check(checkMemory(memoryNeeded(*plan, *placement, request.content, is_here),
                      base::availableMemoryBytes()));
  }

  checkNodeRoom(session, request, *plan, *places);

  steps.begin("preparing files");
  const std::int64_t preparing = nowNs();
  const bool keeps_inputs = request.changes.inputs == Origin::kKept;
  KeptInputs kept;
  if (session.rank() == 0) {
    check(noteDirectories(request.targets, *plan, *trees));
    check(prepareDirectories(*plan, *trees, *places, kInTarget));
    if (keeps_inputs) {
      base::Result<KeptInputs> taken = takeInputs(request.targets, *plan, *trees, request.content);
      check(taken);
      kept = std::move(*taken);
    }
  }
  if (session.isNodeLeader() && !node_tree.empty()) {
    const auto is_on_node = [&](std::size_t file) {
      return (*places)[file] == session.node() && plan->files[file].tree == kNodeTree;
    };
    check(noteDirectoriesOnNode(request.node_local, *plan, *trees->onNode(), is_on_node));
    check(prepareDirectories(*plan, *trees, *places, session.node()));
  }
  if (session.isNodeLeader() && !memory.path().empty()) {
    // Those of a tree of --node-local are there already.
    check(prepareDirectories(*plan, *trees, *places, session.node()));
  }
  if (keeps_inputs) tellKept(session, kept);
  session.barrier();
  const Share share{.process = session.rank(),
                    .processes = session.size(),
                    .node = session.node(),
                    .node_process = session.nodeRank(),
                    .node_processes = session.nodeProcesses()};
  const base::Result<PreparedByTree> prepared =
      prepareFiles(*plan, *trees, *places, share, request.cache, request.content, kept.is_kept);
  check(prepared);
  settleSources(*plan, request.cache, share);
  session.barrier();
  if (keeps_inputs && session.rank() == 0) {
    check(noteInputs(request.targets, *plan, *trees, request.content));
  }
  const Residency residency = sampleCache(*plan, *trees, *places, share);
  session.barrier();
  const std::int64_t preparation_ns = nowNs() - preparing;

  steps.begin("starting threads");
  findSymbols();
  std::vector<std::filesystem::path> writable = *tree_paths;
  writable.insert(writable.end(), {request.output, "/dev/shm"});
  if (const char* rings = getenv("OMNIO_RING_DIR")) writable.emplace_back(rings);
  if (!node_tree.empty()) writable.push_back(node_tree);
  if (!memory.path().empty()) writable.push_back(memory.path());
  // MPI libraries copy from process to process (process_vm_readv), which no process behind a fence
  // may do; calls of MPI-IO name files below the tree alone.
  if (plan->global.mpi) {
    writable.clear();
    // What a type or a handle is not fit for is told by the calls, and does not end the job.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    // Launchers tell a rank its directory, and MPI libraries believe it: else they ask the file
    // system for the path of the one that they are in.
    setenv("PWD", tree_path.c_str(), 1);
  }
  const Fence fence(writable);
  const FlagWaiters& waiters = plan->flag_waiters;
  const bool has_due_times = plan->global.timing != model::Timing::kAsap;
  Flags flags(
      session.sharedWords(Flags::words(waiters.flags(), waiters.loopFlags(), has_due_times)),
      waiters.flags(), has_due_times);
  const Paths paths(*plan, *trees, ranksOf(*placement, session));
  const bool may_spin = haveProcessorEach(*plan, *placement, session);
  const WaitKind wait = request.wait.value_or(may_spin ? WaitKind::kSpin : WaitKind::kBlock);
  const WaitKind wait_in_mpi =
      request.wait.value_or(mayPollInMpi(*placement, session) ? WaitKind::kYield : wait);
  std::optional<Signals> signals;
  if (session.leaderOf().size() > 1) signals.emplace(*plan, *placement, session, flags);
  Engine::Settings settings{.plan = *plan,
                            .paths = paths,
                            .programs = programs,
                            .fence = fence,
                            .flags = flags,
                            .may_spin = may_spin,
                            .wait = wait,
                            .wait_in_mpi = wait_in_mpi,
                            .compute = request.compute,
                            .content = request.content,
                            .is_traced = isTraced(),
                            .longest_meeting_ns = kLongestMeeting * request.stall_ns,
                            .announce = {},
                            .await = {}};
  if (signals) {
    settings.announce = [&signals](FlagPass raised, RaisedEnd end) {
      signals->announce(raised, end);
    };
    settings.await = [&signals](FlagPass awaited, WaitKind kind) {
      return signals->wait(awaited, kind);
    };
    signals->connect();
  }
  // One that sleeps in a wait does not look for messages.
  const bool is_eager = signals && (signals->isCountedOn() || wait == WaitKind::kBlock ||
                                    wait_in_mpi == WaitKind::kBlock);
  std::optional<MpiFiles> mpi_files;
  if (plan->global.mpi) {
    if (!session.letsThreadsUseMpi()) {
      session.abort(
          fmt::format("calls of MPI-IO need MPI_THREAD_MULTIPLE, and this MPI library gives {}; "
                      "use one that was "
                      "built with threads, or make the schedule with --layer posix",
                      session.threadLevelName()));
    }
    const auto of_rank = std::ranges::count(plan->threads, session.rank(), [](const auto& thread) {
      return static_cast<int>(thread.recorded.rank);
    });
    mpi_files.emplace(*plan, paths, session.turn(), !signals && of_rank == 1);
    check(mpi_files->prepare(session.world()));
    settings.mpi = &*mpi_files;
  }
  Engine engine(std::move(settings), ranksOf(*placement, session));
  NodeStorage storage(session, request.targets, session.isNodeLeader());
  storage.begin();
  raw::endOwnWork();
  check(engine.start());
  // Reading the plan leaves memory unused. Where memory is limited, the application had that much
  // more page cache, which decides how long a write takes.
  malloc_trim(0);
  session.barrier();
  steps.begin("replaying");
  {
    const GrowthLimit limit;
    engine.go(session.momentForAll(kLeadNs));
    attend(session, engine, signals ? &*signals : nullptr, is_eager, request.stall_ns);
    engine.finish();
    if (mpi_files) mpi_files->finish();
    if (signals) signals->receiveAll();
  }
  raw::beginOwnWork();
  storage.end();
  storage.beginSync();
  steps.begin("gathering the report");
  std::vector<std::vector<std::int64_t>> last_arrivals;
  if (mpi_files) last_arrivals = mpi_files->lastArrivals(engine.meetings());

  Replayed replayed{.global = plan->global};
  Report& report = replayed.report;
  report.sync = request.sync;
  report.sync_ns = syncAfter(session, request.sync, *plan, *trees);
  report.storage = storage.report();
  report.compute = request.compute;
  report.computing = computingOf(*plan);
  report.wait = wait;
  report.wait_in_mpi = wait_in_mpi;
  report.schedule = plan->schedule;
  report.schedule_digest = plan->schedule_digest;
  for (std::uint32_t i = 0; i < request.targets.size(); ++i) {
    const auto found = prepared->find(i);
    const Prepared own = found == prepared->end() ? Prepared() : found->second;
    report.targets.push_back(
        {.name = request.targets[i].name,
         .directory = request.targets[i].directory.native(),
         .tree = (*tree_paths)[i].native(),
         .file_system = fileSystemOf(trees->targets()[i].fd()),
         .is_adopted = trees->targets()[i].isAdopted(),
         .prepared = {.files = session.sum(own.files), .bytes = session.sum(own.bytes)}});
  }
  const auto once = [&session](const std::string& tree) {
    std::vector<std::string> all = session.gather(tree);
    std::ranges::sort(all);
    const auto again = std::ranges::unique(all);
    all.erase(again.begin(), again.end());
    std::erase(all, "");
    return all;
  };
  report.node_trees = once(node_tree.native());
  const bool is_adopted = trees->onNode() && trees->onNode()->isAdopted();
  if (!memory.path().empty()) report.memory_trees = {memory.path().native()};
  if (const auto found = prepared->find(kMemoryTree); found != prepared->end()) {
    report.prepared_in_memory = found->second;
  }
  report.prepared_in_memory = {.files = session.sum(report.prepared_in_memory.files),
                               .bytes = session.sum(report.prepared_in_memory.bytes)};
  report.in_memory = plan->global.in_memory;
  report.adopted_node_trees = once(is_adopted ? node_tree.native() : "");
  if (isTraced()) report.trace = request.output.native();
  report.timing = plan->global.timing;
  report.ranks_meet = plan->global.mpi.has_value();
  report.late_limit = request.late_limit.value_or(report.late_limit);
  report.write_overwrite = plan->global.write_overwrite;
  report.inputs = request.changes.inputs;
  for (const PlannedFile* file : filesInPlace(*plan)) {
    std::error_code ignored;
    report.in_place.push_back({.location = file->location,
                               .source = file->source,
                               .real = std::filesystem::weakly_canonical(file->source, ignored),
                               .size = file->size});
  }
  for (std::size_t i = 0; i < kept.is_kept.size(); ++i) {
    if (!kept.is_kept[i]) continue;
    ++report.kept.files;
    report.kept.bytes += wantedSize(*plan, plan->files[i]).value_or(0);
  }
  report.remade = kept.remade;
  report.cache = request.cache;
  report.data = request.content.word();
  report.order = request.changes.order;
  report.network_scale = request.changes.network_scale;
  report.fence = fence.name();
  report.processes = session.size();
  report.nodes = static_cast<int>(session.leaderOf().size());
  report.place = request.place;
  report.ranks_by_process = placement->ranksByProcess();
  report.spins = session.largest(may_spin ? 0 : 1) == 0;
  const Prepared all = sumOf(*prepared);
  report.prepared = {.files = session.sum(all.files), .bytes = session.sum(all.bytes)};
  report.residency.pages = session.sum(residency.pages);
  report.residency.resident = session.sum(residency.resident);
  report.preparation_ns = preparation_ns;
  tellTracer();  // of this replay, or of the program that it is part of
  const std::vector<std::string> shares = session.gather(encodeShare(engine, last_arrivals));
  if (session.rank() != 0) return replayed;
  if (!addShares(shares, report)) session.abort("a process sent a report that cannot be read");
  report.makespan_ns = report.total().end_ns;
  if (report.storage.size() == 1) report.storage.front().calls = report.movedByCalls();
  return replayed;
}

int run(Session& session, const Request& request, const std::filesystem::path& tree) {
  const storage::HeldMemory memory(session.isNodeLeader() ? request.fill_memory : 0);
  const storage::HeldBytes held = heldOnNodes(session, memory);
  Replayed replayed = replayOnce(session, request, tree);
  if (session.rank() != 0) return kDone;
  replayed.report.held = held;
  const Report& report = replayed.report;
  const auto check = [&session](const auto& result) {
    if (!result) session.abort(result.failure().sentence);
  };
  check(base::writeDocument(request.output / kReportName, jsonOf(report)));
  check(sayReport(request, base::safeText(textOf(report), "\n")));
  // `omnio replay` reads what was left for it, and removes it; a launcher would comment on a status
  // that is not 0.
  if (request.compiled) return kDone;
  std::error_code ignored;
  std::filesystem::remove_all(programsIn(request.output), ignored);
  const bool lacks_data = !request.partial && !replayed.global.source_whole;
  if (lacks_data) {
    fmt::print(stderr, "omnio-replay: {}\n",
               base::safeText(lackSentence(request.schedule, replayed.global)));
  }
  const bool is_late = request.late_limit && report.isLate();
  if (is_late) {
    fmt::print(stderr, "omnio-replay: {}\n",
               base::safeText(lateSentence(request.output.native(), *report.stretchNs(),
                                           report.makespan_ns, report.late_limit)));
  }
  return report.total().differences > 0 || lacks_data || is_late ? kDifferences : kDone;
}

}  // namespace omnio::replay
