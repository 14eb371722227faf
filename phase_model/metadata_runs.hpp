// Turns the calls that belong to no data phase (mkdir, stat, unlink, an open and its close) into
// metadata phases.
//
// The calls of a rank, of all its processes and threads in the order of time, become runs, as the
// reads and writes of a thread become local access patterns. A run
// repeats a cycle of calls: `open close open close ...`, `stat stat ...`. It is settled when
// kSettled calls in a row were of kinds that it had before; what came before its cycle (a mkdir, an
// access) is a run of its own. A run ends at a call of another kind, and at an MPI call other than
// MPI-IO, such as the barriers between the steps of mdtest; after such a call, the same kinds in
// the same directory go on with it. A gap ends it for good (lap_stream.hpp). A run that comes again
// after one other (a, b, a) is one cycle with it, where both are short. Irregular sequences stay in
// bounded memory: of more than kMaxRunsInSection runs between two gaps, the short ones are put
// together in one, and of the others those that are alike.
//
// Runs of processes are similar, and one phase, when they have the same kinds of calls in the same
// directory, or each in its own: the k-th of a kind in one process belongs to the k-th of that kind
// in the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/calls/table.hpp"
#include "core/event/event.hpp"
#include "core/event/io_time.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::phases {

inline constexpr std::size_t kSettled = 16;
inline constexpr std::uint64_t kLongestCycle = 256;  // calls of a run that comes again
inline constexpr std::size_t kMaxRunsInSection = 16;
// Runs of a rank, and stretches of steps in them: when there are more, all of them become one.
inline constexpr std::size_t kMaxRuns = 4096;
inline constexpr std::size_t kMaxStretches = std::size_t{1} << 16;

// Opens that may make their file are of another kind than those that do not.
struct MetadataKind {
  std::uint16_t call = 0;  // number of the plain call
  bool creates = false;

  auto operator<=>(const MetadataKind&) const = default;
};

struct MetadataCall {
  MetadataKind kind;
  model::Interface interface = model::Interface::kPosix;
  std::string directory;     // in which the name lies; empty: not known
  std::size_t process = 0;   // by place in the trace
  std::uint32_t thread = 0;  // of its log
  std::uint64_t step = 0;    // of that thread (phase_model/step_phases.hpp)
  // MPI calls of the thread since its call before, but for those of MPI-IO.
  std::uint64_t mpi_calls_ago = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  event::IoTime io;  // what it adds to the I/O time of its rank
};

// The call of an event.
MetadataCall metadataCallOf(const event::Event& event);

// Steps of one thread: all of its calls from the first to the last that are of no data phase.
struct MetadataStretch {
  std::size_t process = 0;
  std::uint32_t thread = 0;
  std::uint64_t first_step = 0;
  std::uint64_t last_step = 0;
};

struct MetadataRun {
  std::map<MetadataKind, std::uint64_t> calls;
  std::uint64_t operations = 0;
  model::Interface interface = model::Interface::kPosix;
  std::string directory;                          // the deepest that has all names
  std::unordered_set<std::uint64_t> directories;  // digests; at most kMaxCountedDirectories
  std::vector<MetadataStretch> stretches;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  event::IoTime io;
  bool mixed = false;  // short runs put together

  void add(const MetadataCall& call);
  // `is_next`: no call of another run lies between the two.
  void add(const MetadataRun& other, bool is_next);
  bool hasSameKinds(const MetadataRun& other) const;
  bool isLike(const MetadataRun& other) const;  // and in the same directory

 private:
  void add(const MetadataStretch& stretch, bool is_next);

  // By process and thread, its last stretch.
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> last_of_thread_;
};

// One rank. Calls come in the order of time.
class MetadataRuns {
 public:
  explicit MetadataRuns(std::uint64_t longest_gap) : longest_gap_(longest_gap) {}

  void add(MetadataCall call);
  // All runs by the time they began. The rank is over.
  std::vector<MetadataRun> finish();

 private:
  void settle();
  void closeRun();
  void closeSection();
  void push(MetadataRun run);
  void foldSection();

  std::uint64_t longest_gap_;
  std::vector<MetadataCall> young_;  // calls of a run that is not settled
  std::map<MetadataKind, std::uint64_t> young_kinds_;
  std::size_t newest_kind_ = 0;  // where in young_ a kind came for the first time
  bool settled_ = false;         // whether run_ is one
  MetadataRun run_;
  std::size_t at_once_ = 0;  // runs at the end of the section that no MPI call separates
  std::vector<MetadataRun> section_;
  std::vector<MetadataRun> runs_;
};

struct RankRun {
  int rank = 0;
  MetadataRun run;
};

// Appends the phases to the model, with the directories as files; `phase_of`: by run, the id of its
// phase. Ranks ascend in `runs`; times are counted from `origin_ns`.
void addMetadataPhases(const std::vector<RankRun>& runs, std::int64_t origin_ns,
                       model::PhaseModel& model, std::vector<int>& phase_of);

}  // namespace omnio::phases
