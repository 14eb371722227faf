// The plan is what all processes of a replay share besides the operations of their threads: the
// files to prepare, the threads, and who waits for whom. Made by compile.hpp; kept in one file
// beside the programs, in the replayer's own form (see program.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/text_table.hpp"
#include "core/model/schedule.hpp"
#include "replay/plan/bytes.hpp"
#include "replay/plan/flag_numbers.hpp"
#include "replay/plan/instruction.hpp"

namespace omnio::replay {

// The number of the tree that a node has for itself, beside those of the targets; and of the one in
// its memory.
inline constexpr std::uint32_t kNodeTree = 0xFFFFFFFF;
inline constexpr std::uint32_t kMemoryTree = 0xFFFFFFFE;
constexpr bool isTreeOfNode(std::uint32_t tree) { return tree >= kMemoryTree; }

// What a file that exists before the run has in it.
enum class Origin : std::uint8_t {
  kMade,     // made-up content
  kCopied,   // that of its source
  kInPlace,  // it is its source
  kKept,     // made-up content, which the next replay may have again
};

// The words of --inputs.
inline constexpr base::Word<Origin> kOrigins[] = {{Origin::kMade, "make"},
                                                  {Origin::kCopied, "copy"},
                                                  {Origin::kInPlace, "in-place"},
                                                  {Origin::kKept, "keep"}};

struct PlannedFile : model::ScheduleFile {
  Origin origin = Origin::kMade;
  // That it lies in: of a target, by number, kNodeTree, or kMemoryTree.
  std::uint32_t tree = 0;
  // A mkdir, rename or link makes it, or a directory above it: not to be there before.
  bool made_by_events = false;
  std::uint64_t written_end = 0;  // furthest byte that a write of known place reaches
  // At the end of the run, at the least: bytes beside those that were prepared (room.hpp).
  std::uint64_t added_bytes = 0;
  bool may_shrink = false;  // what was prepared may be gone by then
  // Bytes that lines end with, by place: offset << 8 | byte, sorted. Only where `lines`.
  std::vector<std::uint64_t> line_ends{};
  // All bytes that lines end with: they stand nowhere else.
  std::string delimiters{};
  // The ranks whose events name the file, each once, if it is on a node or in the memory of one.
  std::vector<std::uint32_t> users{};
};

// A descriptor that was open before the recording began.
struct Preopened {
  std::uint32_t slot = 0;
  std::uint32_t file = 0;
  std::int32_t flags = 0;
  std::int64_t offset = 0;
};

// A flag of a loop is raised once in each pass.
struct FlagPass {
  std::uint32_t flag = kNoFlag;
  std::int64_t pass = 0;
  // The end of a single event that one pass of a loop waits for; else not here.
  std::int64_t recorded_end_ns = 0;
  bool operator==(const FlagPass&) const = default;
};

// How the passes of a line of a loop go on. Times of the schedule are in the order in which the
// line's waits have them.
struct LoopWait {
  std::int64_t step = 0;         // in each pass, it waits for so many passes later
  std::vector<FlagPass> each{};  // by pass, where the steps differ
  std::int32_t time = -1;        // place of its exact time; negative: it has the mean
};

// An operation that waits for others than its thread's own last one has a Wait; so has a line of a
// loop, for all its passes.
struct Wait {
  std::int64_t recorded_end_ns = 0;    // the latest recorded end among those waited for
  std::int64_t least_ns = 0;           // since the beginning of the replay
  std::vector<std::uint32_t> flags;    // by number among all flags of the replay
  std::vector<model::Work> work;       // by flag: between that event's end and this operation
  bool in_mpi = false;                 // the thread waited in a call of MPI
  std::vector<std::int64_t> passes{};  // by flag; none: all are those of single events
  std::vector<LoopWait> loop{};        // by flag, of a line of a loop
  std::int32_t least_time = -1;        // place of the exact time in place of least_ns
};

// The largest requests of a thread or of several, in bytes.
struct LargestRequests {
  std::uint64_t read_request = 0;
  std::uint64_t read_moved = 0;  // that a read returned
  std::uint64_t write_request = 0;
  std::uint64_t write_failed = 0;  // of a write that failed, as far as one can be done

  void include(const LargestRequests& other);
  bool covers(const LargestRequests& other) const;  // there is room for all of the other's, too
};

struct PlannedThread : LargestRequests {
  model::ScheduleThread recorded;
  std::uint64_t operations = 0;  // calls
  // In the recording; in ns since the first event of the run.
  std::int64_t first_start_ns = 0;
  std::int64_t last_end_ns = 0;
  std::vector<Wait> waits;  // of a process's own ranks (readPlan)
  // By the order of the thread's operations that have an id: the flag that its end raises, or
  // kNoFlag when no other thread waits for it.
  std::vector<std::uint32_t> raises;
};

// A directory from which names are looked up, there throughout the run.
struct PlannedBase {
  std::uint32_t tree = 0;  // as of a file
  std::string location;
};

struct PlannedRank {
  std::uint32_t slots = 0;         // one more than the largest number of a descriptor
  std::uint64_t made = 0;          // descriptors that its events make
  std::uint64_t open_at_once = 0;  // of them, as far as is known; not in the plan's file
  std::vector<Preopened> preopened;
  std::vector<PlannedBase> bases;
};

// The calls of a phase, and the bytes that they move; of phase 0, those that are of none.
struct PhaseWork {
  std::int64_t phase = 0;
  std::uint64_t bytes = 0;
  std::uint64_t operations = 0;
};

// By flag, the ranks that wait for it, each once: in two vectors, since each process has those of
// all flags, of which there may be millions.
class FlagWaiters {
 public:
  FlagWaiters() = default;
  explicit FlagWaiters(const std::vector<std::vector<std::uint32_t>>& by_flag,
                       const std::vector<std::vector<std::uint32_t>>& by_loop_flag = {});
  std::size_t flags() const { return ends_.size() - loop_flags_; }  // without those of loops
  std::size_t loopFlags() const { return loop_flags_; }
  std::size_t placeOf(std::uint32_t flag) const {  // among all
    return isLoopFlag(flag) ? flags() + (flag - kFirstLoopFlag) : flag;
  }
  std::span<const std::uint32_t> of(std::uint32_t flag) const;

  bool operator==(const FlagWaiters&) const = default;
  template <typename Io>
  friend void parts(Io& io, PartsOf<FlagWaiters> auto& waiters);

 private:
  std::vector<std::uint32_t> ranks_;
  std::vector<std::uint64_t> ends_;  // in ranks_
  std::size_t loop_flags_ = 0;       // the last ones
};

// Requests of files opened with O_DIRECT that are not of whole blocks (descriptor_use.hpp).
struct UnalignedRequests {
  std::uint64_t requests = 0;
  std::uint32_t first_file = kNoFile;
};

struct Plan {
  model::ScheduleGlobal global;
  std::string schedule;  // path
  std::string schedule_digest;
  std::vector<PlannedFile> files;
  std::vector<PlannedRank> ranks;
  std::vector<PlannedThread> threads;  // in the schedule's order
  std::vector<PhaseWork> phase_work{};
  FlagWaiters flag_waiters;
  UnalignedRequests unaligned{};  // not in its file
};

inline constexpr const char* kPlanName = "plan";
std::filesystem::path programName(const std::filesystem::path& directory, std::size_t thread);

base::Result<void> writePlan(const std::filesystem::path& path, const Plan& plan);
// With the waits of a process's own ranks alone: those of all would be most of its memory.
// `is_own` gets the plan without any waits, and the number of a rank.
base::Result<Plan> readPlan(const std::filesystem::path& path,
                            const std::function<bool(const Plan&, std::uint32_t)>& is_own);

// Where lines end in files that are read by lines, so that the made-up content has its newlines (or
// other delimiters) there and nowhere else: a replayed fgets then takes as many bytes as the
// recorded one did.

// Gathers while the schedule is read.
class LineEnds {
 public:
  // Notes where the line ends that a call on the file of that number read, and how far it
  // wrote.
  void note(const model::ScheduleEvent& event, std::uint32_t number, PlannedFile& file);
  // The bytes that a write puts into the file, as far as that counts for its size.
  static std::int64_t writtenBytes(const model::ScheduleEvent& event);
  // The arguments of a call as it is replayed: those of the recorded one. Where it is not known at
  // which offset a line begins that fgets read, it is not known either where lines end there: the
  // replayed one gets room for as many bytes as the line had, and so ends where that ended.
  static std::array<std::int64_t, calls::kMaxArguments> argumentsOf(
      const model::ScheduleEvent& event);
  // At the end of each rank's last event: descriptors are numbered anew.
  void moveInto(std::vector<PlannedFile>& files);

 private:
  std::vector<std::vector<std::uint64_t>> ends_;  // by file
};

// Sets the bytes of a piece of a file's content that begins at `offset`: delimiters where lines
// end, and nowhere else; no NUL, which would end a string.
void setLineEnds(const PlannedFile& file, std::uint64_t offset, std::span<char> content);

}  // namespace omnio::replay
