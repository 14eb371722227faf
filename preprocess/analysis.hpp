// The first pass over a trace: all threads together, in the order in which their calls took effect.
// It finds out what each descriptor
// stands for, what the files were before the run, and which events have to wait for which. What
// the last pass, thread by thread, cannot see for itself is kept here; that is of the order of
// opens and edges, not of events.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/event/file_lock.hpp"
#include "core/model/schedule.hpp"
#include "core/tracefile/log_reader.hpp"
#include "core/tracefile/trace.hpp"
#include "preprocess/analysis_progress.hpp"
#include "preprocess/files/file_history.hpp"
#include "preprocess/files/open_table.hpp"
#include "preprocess/filter.hpp"
#include "preprocess/mpi_tables.hpp"
#include "preprocess/order/dependencies.hpp"
#include "preprocess/order/effect_order.hpp"
#include "preprocess/order/lock_history.hpp"

namespace omnio::preprocess {

// The threads of a trace as a schedule has them: those of each rank in order, over all processes of
// the rank.
struct SourceThread {
  model::ScheduleThread header;
  const tracefile::Process* process = nullptr;
  std::size_t process_index = 0;  // in Trace::processes()
  std::size_t node = 0;           // in SourceThreads::nodes
  std::vector<const tracefile::Log*>
      lanes;  // the thread's own log, and that of its signal handlers

  const Filter* filter = nullptr;  // none: all of its calls are in the schedule

  // Its calls that are in the schedule, by the time they began (core/tracefile/log_reader.hpp).
  // `counts`, which may be null, counts the others.
  std::unique_ptr<event::EventSource> open(event::PathTable& paths, tracefile::IoChoice choice,
                                           FilterCounts* counts = nullptr) const;
  // The same of all of its calls.
  std::unique_ptr<event::EventSource> openAll(event::PathTable& paths,
                                              tracefile::IoChoice choice) const;
};

struct SourceThreads {
  std::vector<SourceThread> threads;  // by rank, then as they come in the trace
  std::vector<NodeMounts::Node> nodes;
  int ranks = 0;
  std::size_t processes_without_rank = 0;  // of a job's launcher or tools; left out
};
SourceThreads sourceThreads(const tracefile::Trace& trace);

// The last pass needs this of an event besides the event.
struct EventNote {
  std::uint64_t sequence = 0;  // of the event in its thread
  InstanceId made = kNoInstance;
  InstanceId replaced = kNoInstance;
  InstanceId source = kNoInstance;
  InstanceId directory = kNoInstance;  // what its path is relative to
  InstanceId new_directory = kNoInstance;
  // For a call without a descriptor, the content of its mapping, or of the name that it cuts.
  ContentId content = kNoContent;
  bool dropped = false;
};

// A step of the schedule that no event of the trace is: preopened, inherited, an open that was not
// recorded.
struct ExtraStep {
  std::int64_t behind = -1;  // the event of its thread that it follows; -1: before the first
  model::ScheduleEvent event;
  ContentId content = kNoContent;  // of a preopened descriptor
};

// Whether a step in front of an event takes over the work and the waits of communication that the
// event has: calls and delays do.
inline bool takesOrder(const ExtraStep& step) {
  return step.event.step == model::Step::kCall || step.event.step == model::Step::kDelay;
}

struct ThreadNotes {
  std::vector<EventNote> notes;   // by sequence
  std::vector<ExtraStep> extras;  // by what they follow, once the pass is over
  event::ThinkTime think;         // that was looked at
};

// Whether the call works on a descriptor or stream.
bool hasHandle(const calls::Row& row);
// The descriptor whose file gets a name, where the call says it by /proc/self/fd or by an empty
// path.
std::optional<int> descriptorLinkedBy(const event::Event& event);
// The first path that a call names, nullptr when there is none, when it stands for a descriptor, or
// when the call failed for an empty path.
const event::Text* pathOf(const event::Event& event);
// The second path that a call names: where a rename or link leads, what a symbolic link points to.
// Absolute; empty when there is none, or when the call failed for an empty path.
std::string otherPathOf(const event::Event& event);

class Analysis : private FileScene {
 public:
  // `sizes`: what sizes in the schedule are multiplied by. `layer`: whose calls its steps are.
  // Those below MPI-IO tell of files with either; with kMpi, what they tell is of the call of
  // MPI-IO that they were made for. All but `mpi` and `progress` are only read, and all of them
  // outlive the analysis.
  Analysis(const SourceThreads& sources, const LocationMap& locations, const NodeMounts& mounts,
           const SizeRules& sizes, event::IoLayer layer, MpiTables& mpi, AnalysisProgress& progress)
      : sources_(sources),
        layer_(layer),
        mpi_(mpi),
        progress_(progress),
        conflicts_(dependencies_),
        files_(locations, mounts, dependencies_, conflicts_, sizes),
        locks_(dependencies_),
        threads_(sources.threads.size()),
        last_(sources.threads.size()) {}

  // Reads the whole trace.
  void run(event::PathTable& paths);

  Dependencies& dependencies() { return dependencies_; }
  const Dependencies& dependencies() const { return dependencies_; }
  OpenTable& opens() { return opens_; }
  FileHistory& files() { return files_; }
  const MpiTables& mpiTables() const { return mpi_; }
  // The file that an absolute path is on the node of that thread.
  model::FileNumber fileOf(std::string_view absolute, std::uint32_t thread) {
    return files_.numberOf(absolute, sources_.threads[thread].node);
  }
  const std::vector<ThreadNotes>& threads() const { return threads_; }
  std::vector<ThreadNotes>& threads() { return threads_; }
  std::int64_t firstStart() const { return first_start_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }
  // Events of the threads that could not be read.
  std::uint64_t undecodable() const { return undecodable_; }
  const FilterCounts& filtered() const { return filtered_; }
  // That calls moved to and from files in the memory of nodes.
  std::uint64_t bytesInMemory() const { return bytes_in_memory_; }
  // What has no event in the trace and was done all the same, by a shell for example: steps of the
  // schedule do it.
  struct MadeUp {
    std::uint64_t names = 0;
    std::string first_name;  // location
    std::uint64_t opens = 0;
    std::string first_open;  // location of the file
  };
  const MadeUp& madeUp() const { return made_up_; }

 private:
  // Bytes in a stream's buffer.
  struct Buffered {
    Range range;
    InstanceId stream = kNoInstance;
    std::uint32_t thread = 0;  // that wrote it last
    PastEvent first;           // of what is in it
  };

  std::uint64_t bytes_in_memory_ = 0;

  void readCalls(event::PathTable& paths);
  void gather(const event::Event& event, std::uint32_t thread, Evidence& evidence) override;
  event::FileSize sizeOf(Subject subject) const;
  Truth holds(const Claim& claim) const override;
  bool holdsAfter(const Claim& claim, const Change& change) const override;
  void take(const event::Event& event, EventRef ref) override;
  void takeCall(const event::Event& event, EventRef ref);
  void takeMpiIo(const event::Event& event, const PastEvent& when);
  void drop(EventNote note, EventRef ref);

  void gatherName(const event::Event& event, model::FileNumber file, model::FileNumber new_file,
                  Evidence& evidence);
  void gatherFailure(const event::Event& event, model::FileNumber file, model::FileNumber new_file,
                     Evidence& evidence);
  model::FileNumber lookedUp(const event::Event& event, model::FileNumber file) const;
  void gatherData(const event::Event& event, std::uint32_t thread, Evidence& evidence);
  void gatherLock(const event::Event& event, std::uint32_t thread, Evidence& evidence);
  bool isUsable(const event::Event& event) const;
  InstanceId resolve(const event::Handle& handle, const PastEvent& when);
  InstanceId preopened(const event::Handle& handle, const PastEvent& when);
  Instance openBefore(model::FileNumber file, int flags, std::int64_t position, EventRef ref);
  Instance openedUnseen(model::FileNumber file, int flags, const wire::HandleDefinition& definition,
                        const PastEvent& when);
  void seekUnseen(InstanceId instance, std::int64_t position, const PastEvent& when);
  InstanceId copyOf(InstanceId base);
  InstanceId sharedWithinProcesses(const event::Handle& handle, const PastEvent& when);
  InstanceId originalOf(const event::Handle& handle, std::size_t process, std::int64_t time_ns);
  enum class Position : std::uint8_t { kIsNot, kMayBe, kIsIt };
  Position positionAt(InstanceId id, const wire::HandleDefinition& handle);
  InstanceId givenBy(const event::Handle& handle, const SourceThread& thread);
  InstanceId unboundOf(const wire::HandleDefinition& handle, std::size_t process,
                       std::int64_t time_ns);
  void takeMaker(const event::Event& event, const PastEvent& when, InstanceId from,
                 ContentId content, EventNote& note);
  void takeLink(const event::Event& event, const PastEvent& when, InstanceId linked);
  InstanceId takeDirectory(const event::Event& event, const PastEvent& when, calls::Role path,
                           calls::Role number);
  void takeSource(const event::Event& event, const PastEvent& when, Instance& source);
  void takeData(const event::Event& event, const PastEvent& when, InstanceId instance,
                const event::Transfer& transfer, const event::FileSize& before);
  void keepSize(const event::Event& event, ContentId content, const event::Transfer& transfer);
  void takePosition(const event::Event& event, ContentId content,
                    const std::optional<event::Transfer>& transfer, Description& description);
  void takeRead(const event::Event& event, const PastEvent& when, ContentId content,
                const event::Transfer& transfer);
  void takeTwoCalls(const event::Event& event, const PastEvent& when);
  ContentId contentWithout(const event::Event& event, std::uint32_t thread) const;
  void takeMapping(const event::Event& event, const PastEvent& when, InstanceId instance);
  void beginRead(const event::Event& event, const PastEvent& when, ContentId content);
  void takeHole(const event::Event& event, ContentId content);
  void takeSeek(const event::Event& event, const PastEvent& when, ContentId content,
                const event::FileSize& before);
  void takeLock(const event::Event& event, const PastEvent& when, InstanceId instance);
  std::pair<std::optional<event::FileLock>, LockSubject> lockOf(const event::Event& event,
                                                                std::uint32_t thread,
                                                                InstanceId id);
  LockOwner processOwner(std::uint32_t thread) const;
  void closeInstance(InstanceId id, const PastEvent& when);
  void noteEarlyReads(ContentId content, const Range& range, const PastEvent& when);
  void addBehind(const PastEvent& past, calls::CallId call, model::Descriptor descriptor,
                 std::uint64_t id);
  void flushAtExit();
  void closeAtExit();
  void addMadeUp();
  void addMeetings();
  void publish(std::uint32_t description, ContentId content, const PastEvent& when);
  void orderByPosition(const event::Event& event, const PastEvent& when, Description& description);
  void useInstance(const event::Event& event, const PastEvent& when, Instance& instance);
  // The call closes the instance: it comes after all calls on it.
  void endUse(const PastEvent& when, const Instance& instance);
  void takeReopened(const event::Event& event, const PastEvent& when);

  const SourceThreads& sources_;
  const event::IoLayer layer_;
  MpiTables& mpi_;
  AnalysisProgress& progress_;
  // The call that is being taken was made for one of MPI-IO, whose step it is part of.
  bool is_below_ = false;
  const EffectOrder* order_ = nullptr;  // while calls are read
  Dependencies dependencies_;
  OpenTable opens_;
  DataConflicts conflicts_;
  FileHistory files_;
  LockHistory locks_;
  std::vector<ThreadNotes> threads_;
  // A duplicate whose call does not name its handle, which the next call on it does.
  struct Unbound {
    std::size_t process = 0;
    InstanceId instance = kNoInstance;
    int number = -1;  // the system's, where the call tells it
  };
  std::vector<Unbound> unbound_;
  // Files that several processes were given open: rank, device, inode, access.
  std::map<std::tuple<int, std::uint64_t, std::uint64_t, int>, InstanceId> given_;
  // Descriptors that were opened before a window, by what dup and fork share.
  std::unordered_map<tracefile::DescriptionKey, InstanceId, tracefile::DescriptionKey::Hash>
      shared_before_;
  // A mapping: its bytes that are not yet unmapped, and the descriptor of its own, if it has one.
  struct Mapped {
    std::int64_t bytes = 0;
    ContentId content = kNoContent;
    InstanceId instance = kNoInstance;
  };
  std::map<std::pair<std::size_t, std::int64_t>, Mapped> mapped_;  // by process and number
  // Calls that began something which later calls are about: by process, role of its number, number.
  using BegunKey = std::tuple<std::size_t, calls::Role, std::int64_t>;
  std::map<BegunKey, PastEvent> begun_;
  std::map<std::pair<ContentId, std::uint32_t>, Buffered> buffered_;  // content, description
  // The first read, by each thread, of what another process had in a stream's buffer.
  std::map<std::tuple<ContentId, std::uint32_t, std::uint32_t>, PastEvent> early_reads_;
  std::vector<PastEvent> last_;  // by thread
  std::int64_t first_start_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t undecodable_ = 0;
  FilterCounts filtered_;
  MadeUp made_up_;
};

}  // namespace omnio::preprocess
