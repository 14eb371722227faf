// The phase model of an application: its I/O as phases that hold on any storage system
// (docs/formats/phase_model.md).
//
// S. Mendez, D. Rexachs, E. Luque: Modeling Parallel Scientific Applications through their
// Input/Output Phases (IEEE Cluster Workshops 2012). Terms are the paper's: a local access pattern
// (LAP) is one operation of one process on one file, `rep` times with request size `rs` and
// displacement `disp`; a phase is the similar LAPs of processes at similar ticks;
// weight = sum of rep * rs over them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/event/io_time.hpp"
#include "core/pattern/part.hpp"
#include "core/pattern/rank_function.hpp"

namespace omnio::base {
class JsonWriter;
}  // namespace omnio::base

namespace omnio::model {

inline constexpr std::string_view kPhaseModelFormat = "omnio-phases";
inline constexpr int kPhaseModelVersion = 3;

// Bandwidths are in MiB/s, as IOR gives them.
inline constexpr double kMiB = 1024.0 * 1024.0;

enum class Operation : std::uint8_t { kWrite, kRead };
enum class AccessMode : std::uint8_t { kSequential, kStrided, kNested, kRandom };
enum class PointerKind : std::uint8_t { kExplicit, kIndividual, kShared };
enum class Interface : std::uint8_t { kMpiIo, kPosix, kStdio };

// f(initOffset): the offset in bytes at which process idP begins, as an expression in idP where it
// is one, else as a table. An offset that the trace does not tell (shared file pointers) is not
// known.
struct OffsetFunction : pattern::RankFunction {
  bool known = true;
  std::vector<std::pair<int, std::int64_t>> table;  // idP, offset; empty where it is an expression

  std::int64_t at(int rank) const;  // 0 for a rank that is not in the table
};

// Regular requests without one stride: nested strides, and loops over offsets.
struct NestedRequests {
  std::vector<int> ranks;  // ascending
  pattern::Part part;      // the requests of each rank; offsets count from its initial offset
};

// Values that differ between the processes of a phase. An entry holds for the phase's ranks from
// `rank` up to the next entry's.
struct ProcessTicks {
  int rank = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
struct ProcessRequests {
  int rank = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;  // of all of them
  std::uint64_t smallest_bytes = 0;
  std::uint64_t largest_bytes = 0;
};

// Where an operation is in the views of the processes, in etypes, as the application gives it.
struct ViewOffsets {
  OffsetFunction init_offset;
  std::int64_t displacement = 0;
};

// One operation of each process of a phase.
struct PhaseOperation {
  Operation operation = Operation::kWrite;
  std::uint64_t request_bytes = 0;      // rs; of a varying one the mean, rounded, and at least 1
  std::uint64_t repetitions = 0;        // rep; of a varying one the mean of the processes
  std::int64_t displacement_bytes = 0;  // disp, from one request's begin to the next one's
  OffsetFunction init_offset;           // in the file, behind the view
  // The requests are of several blocks of a view; offsets are those of the first block, unless they
  // are nominal: the blocks of all processes fill a region without gaps, and the offsets, and disp,
  // are those that whole requests would have, one process behind another, as the paper prints them
  // for BT-IO.
  bool several_blocks = false;
  bool nominal = false;
  // There where a view is set and all processes have this one stride in it.
  std::optional<ViewOffsets> in_view;
  // Filled for mode kNested. Ranks with the same requests share an entry; each rank is in one.
  std::vector<NestedRequests> nested;

  // Requests differ in size, or processes in the number of requests: rs and rep are means, and what
  // is exact is in the four that follow. They have no meaning where it is false.
  bool varying = false;
  std::uint64_t smallest_bytes = 0;
  std::uint64_t largest_bytes = 0;
  std::uint64_t requests = 0;      // of all processes
  std::uint64_t weight_bytes = 0;  // of all processes
  // Filled where `varying` is true; empty where the model lacks them.
  std::vector<ProcessRequests> by_process;
};

// Sequences that are no constant stride are given request by request, as offset and bytes.
struct RandomAccess {
  int rank = 0;
  int operation = 0;                                             // index in Phase::operations
  std::vector<std::pair<std::int64_t, std::uint64_t>> requests;  // in the order they were made
  std::uint64_t left_out = 0;  // requests behind those that are given
};

// How an access was made: the requests of a phase were made alike.
struct Manner {
  Interface interface = Interface::kMpiIo;
  PointerKind pointer = PointerKind::kExplicit;
  bool collective = false;
  bool blocking = true;
  bool has_view = false;
  std::uint64_t etype_bytes = 1;

  auto operator<=>(const Manner&) const = default;
};

// How the file of a phase was opened. Texts are empty where the trace does not have them.
struct OpenedFile {
  std::string flags = {};  // "MPI_MODE_CREATE|MPI_MODE_RDWR", "O_WRONLY|O_CREAT"
  bool atomic = false;     // MPI_File_set_atomicity
  std::vector<std::pair<std::string, std::string>> hints =
      {};  // key, value; as the application gave
};

// The work of a metadata phase: calls that move no data, on names and files that have no data in
// any phase (mkdir, stat, unlink, an open and its close). Their numbers are in Phase::calls.
struct MetadataWork {
  std::uint64_t operations = 0;  // the weight: calls of all processes
  std::uint64_t creates = 0;     // of these, the opens that may make the file (O_CREAT)
  // Different directories in which the names lie, of all processes; of more than
  // kMaxCountedDirectories of a process, that number.
  std::uint64_t directories = 0;
};
inline constexpr std::size_t kMaxCountedDirectories = 1024;

// A phase of data has operations, a metadata phase has none: of a Manner, only its interface has a
// meaning.
struct Phase : Manner {
  int id = 1;  // idPH, 1, 2, ...: those of data by the time they began, then those of metadata
  // idF: index in PhaseModel::files. Of a metadata phase: the deepest directory that has all names.
  int file = 0;
  // More than one: they alternate (W R W R ...), as in MADbench2's third phase.
  std::vector<PhaseOperation> operations;
  MetadataWork metadata;
  std::vector<int> ranks;  // the processes of the phase, ascending
  std::uint64_t weight_bytes = 0;
  std::uint64_t first_tick = 0;
  std::uint64_t last_tick = 0;
  std::vector<ProcessTicks> ticks;  // where processes differ in them
  AccessMode mode = AccessMode::kSequential;
  // As measured in the application, for comparison. The phase lasts from the start of its first
  // request to the end of its last one, counted from the first event of the trace. `io` is the time
  // in all calls of the phase; the process with the longest such time counts.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  event::IoTime io;
  OpenedFile opened;
  int ranks_per_node = 0;  // maximum over the nodes; 0: not known
  // Number of calls of the phase by name, over all ranks, including open, seek, sync and close.
  std::vector<std::pair<std::string, std::uint64_t>> calls;
  std::vector<RandomAccess> random;  // only of mode kRandom, and only up to a stated number

  bool isMetadata() const { return operations.empty(); }
};

// All strings of a model are text (core/base/printable.hpp), for people: no path is opened.
struct ModelFile {
  // A file of each rank has {rank} in place of the rank ({rank:04} when it has
  // leading zeros), or the name that the lowest rank has.
  std::string path;
  bool shared = true;            // one file of all processes; else one each
  std::uint64_t size_bytes = 0;  // furthest byte touched; 0 for a directory
  bool directory = false;        // of metadata phases
};

struct PhaseModel {
  std::string source;  // the trace directory
  bool source_whole = true;
  std::vector<std::string> command;
  int processes = 1;  // np
  std::vector<ModelFile> files;
  std::vector<Phase> phases;
  std::vector<std::string> left_out;  // in words: what the trace has and the model has not
  // As measured: the I/O time of the application, which is that of its slowest rank, and of the
  // calls that are of no phase. These are not summed up from the phases, whose slowest ranks
  // differ.
  event::IoTime io;
  int slowest_rank = 0;
  event::IoTime io_outside;
  // The longest path through the I/O of all ranks (core/order/io_chain.hpp), where a schedule was
  // made.
  std::optional<std::int64_t> chain_ns;
  // Collective calls of MPI-IO of which it is not known how long ranks waited in them.
  std::uint64_t unmatched_waits = 0;
  // A schedule of all calls in their order, which the phase runner follows: its file, beside the
  // model's own. Empty: there is none.
  std::string schedule;
};

// The name of a metadata phase, where a data phase has an operation.
inline constexpr std::string_view kMetadataName = "metadata";

// Bytes and requests of one operation over all processes of its phase.
std::uint64_t weightOf(const Phase& phase, const PhaseOperation& operation);
std::uint64_t requestsOf(const Phase& phase, const PhaseOperation& operation);

// The entry that holds for the rank; nullptr where there is none.
template <typename Entry>
const Entry* entryOf(const std::vector<Entry>& entries, int rank) {
  const auto next = std::upper_bound(entries.begin(), entries.end(), rank,
                                     [](int wanted, const Entry& e) { return wanted < e.rank; });
  return next == entries.begin() ? nullptr : &*(next - 1);
}

// MPI events of this process up to its first and last request of the phase.
ProcessTicks ticksOf(const Phase& phase, int rank);

// The words of the document: "write", "strided", "individual", "mpi-io".
std::string_view nameOf(Operation operation);
std::string_view nameOf(AccessMode mode);
std::string_view nameOf(PointerKind pointer);
std::string_view nameOf(Interface interface);

// Fails with one sentence that names file, line, column and reason: not JSON, not a
// phase model, of another version; keys that are unknown or not there, values of another type,
// sizes that do not add up, ranks and files that do not exist.
base::Result<PhaseModel> readPhaseModel(const std::filesystem::path& path);
base::Result<void> writePhaseModel(const std::filesystem::path& path, const PhaseModel& model);
std::string jsonOf(const PhaseModel& model);  // the document, with the newline
void putInitOffset(base::JsonWriter& json, const OffsetFunction& f);  // the member "init_offset"
// 16 hexadecimal digits, the same for models that say the same.
std::string digestOf(const PhaseModel& model);

}  // namespace omnio::model
