// The phases of a model as starts of IOR, or of mdtest (mdtest.hpp), with what these cannot express
// said in words.
//
// After Mendez, Rexachs, Luque (2012): phases that `omnio phases` prints as one line, a family, are
// one start of IOR. t = rs, -F for a file a process, -c for collective calls, -z for random ones.
// Beyond the paper: a stride of np * rs is -b rs -t rs -s rep, the operations of a mixed phase are
// measured one after the other and their times add, and opens, syncs and closes count as often as
// the application made them (family_rate.hpp).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/phase_model.hpp"
#include "core/model/phase_series.hpp"
#include "ior_bridge/ior/mdtest.hpp"

namespace omnio::ior {

// One start of IOR, and what its parameters mean: the offsets of each task, and the command line.
// Whatever is emitted or compared is derived from this one structure.
//
// IOR's parameters (-b -t -s -F -N): a task transfers `transfer_bytes` at a time until it has done
// a block, block after block, one a segment. In a shared file a segment holds the blocks of all
// tasks one after another; with -F each task has a file of its own.
enum class Api { kPosix, kMpiIo };
std::string_view nameOf(Api api);  // as -a takes it

struct IorRun {
  int file = -1;  // of the model, that the run is in place of; none for a peak
  Api api = Api::kMpiIo;
  bool writes = false;               // -w
  bool reads = false;                // -r: after the write, where both are set
  int tasks = 1;                     // -N
  std::uint64_t transfer_bytes = 8;  // -t
  std::uint64_t block_bytes = 8;     // -b, a multiple of the transfer
  std::uint64_t segments = 1;        // -s
  bool file_per_process = false;     // -F
  bool collective = false;           // -c
  bool random = false;               // -z: the order of the transfers is IOR's own
  // In a random run a task ends after so many transfers, spread over all of the file; 0: after
  // all.
  std::uint64_t transfers_of_task = 0;
  bool fsync = false;          // -e: after the last write
  bool fsync_each = false;     // -Y: after each write
  bool barriers = false;       // -g: between open, transfers and close, so that each has its time
  bool keep = false;           // -k: for a run that follows
  bool reordered = false;      // -C: a task reads what a task of the next node wrote
  bool several_files = false;  // -m: each iteration has a file of its own
  int iterations = 1;          // -i
  // Before the start, the script makes the files that it reads, and has their pages given up.
  bool filled = false;
  bool cold = false;
  // Hints for MPI-IO, key and value, as the application gave them.
  std::vector<std::pair<std::string, std::string>> hints = {};
  std::string name;  // of the script and the summary: phase-1, phase-3-read
  std::string data;  // of the data file, where it has another name

  bool has(model::Operation operation) const {
    return operation == model::Operation::kWrite ? writes : reads;
  }
};

// Per task and iteration.
std::uint64_t transfersOf(const IorRun& run);

// The offset in bytes of a task's n-th transfer, n from 0; in its own file with -F. Random runs
// have the same offsets in another order, but for a shared file: there IOR deals the transfers of
// all tasks out by lot.
std::uint64_t offsetOf(const IorRun& run, int task, std::uint64_t n);

// The words after `ior`, as a POSIX shell reads them. The data file is below $DIR, the summary
// below $RESULTS.
std::string dataOf(const IorRun& run);     // phase-1.dat
std::string summaryOf(const IorRun& run);  // phase-1.json
std::string argumentsOf(const IorRun& run);

std::uint64_t roundedUp(std::uint64_t value, std::uint64_t unit);

enum class Fsync { kModel, kAlways, kNever };  // kModel: where the application had one

struct PlanOptions {
  std::optional<Api> api = {};  // else the phase's own
  Fsync fsync = Fsync::kModel;
  int iterations = 3;
};

struct FamilyPlan {
  model::Series phases;              // of the model that the plan is made for
  std::vector<std::size_t> runs;     // of each operation of a phase, its index in IorPlan::runs
  std::optional<MdtestRun> mdtest;   // of a metadata phase, which has no operations
  std::vector<std::string> remarks;  // why it has starts of its own; a sentence each
  // A sentence each; none: IOR does what the phases do.
  std::vector<std::string> approximations;
};

struct IorPlan {
  std::string source;  // the model's
  std::string model;   // digest
  PlanOptions options;
  std::vector<IorRun> runs;  // the starts of IOR, each of one family or of several
  std::vector<FamilyPlan> families;
};

// The model outlives the plan.
IorPlan planFor(const model::PhaseModel& model, const PlanOptions& options);

}  // namespace omnio::ior
