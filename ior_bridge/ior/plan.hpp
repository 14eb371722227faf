// A phase as runs of IOR, or of mdtest (mdtest.hpp), with what these cannot express said in words.
//
// After Mendez, Rexachs, Luque (2012): s = 1, b = the process's part of the weight, t = rs, -F for
// a file a process, -c for collective calls, -z for random ones. Beyond the paper: a stride of np *
// rs is -b rs -t rs -s rep, and the operations of a mixed phase are runs whose times add.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/mdtest.hpp"

namespace omnio::ior {

// One run of IOR, and what its parameters mean: the offsets of each task, and the command line.
// Whatever is emitted or compared is derived from this one structure.
//
// IOR's parameters (-b -t -s -F -N): a task transfers `transfer_bytes` at a time until it has done
// a block, block after block, one a segment. In a shared file a segment holds the blocks of all
// tasks one behind another; with -F each task has a file of its own.
enum class Api { kPosix, kMpiIo };
std::string_view nameOf(Api api);  // as -a takes it

struct IorRun {
  Api api = Api::kMpiIo;
  model::Operation operation = model::Operation::kWrite;
  int tasks = 1;                     // -N
  std::uint64_t transfer_bytes = 8;  // -t
  std::uint64_t block_bytes = 8;     // -b, a multiple of the transfer
  std::uint64_t segments = 1;        // -s
  bool file_per_process = false;     // -F
  bool collective = false;           // -c
  bool random = false;               // -z: the order of the transfers is IOR's own
  bool fsync = false;                // -e: before the file is closed
  bool keep = false;                 // -k: for a read that follows
  bool reordered = false;            // -C: a task reads what a task of the next node wrote
  int iterations = 1;                // -i; of a cold run or one apart, runs of their own
  bool cold = false;                 // the file's pages are given up before each iteration
  bool apart = false;                // each iteration is a start of IOR, as others come between
  std::string name;                  // of the summary and the data file: phase-1, phase-3-read
  std::string data;                  // of the data file, where it has another name
  bool measured = true;              // else it prepares the file that a read wants
};

// Per task and iteration.
std::uint64_t transfersOf(const IorRun& run);
std::uint64_t bytesOf(const IorRun& run);

// The offset in bytes of a task's n-th transfer, n from 0; in its own file with -F. Random runs
// have the same offsets in another order, but for a shared file: there IOR deals the transfers of
// all tasks out by lot.
std::uint64_t offsetOf(const IorRun& run, int task, std::uint64_t n);

// The words behind `ior`, as a POSIX shell reads them. The data file is below $DIR, the summary
// below $RESULTS; a run whose iterations are starts of IOR is one iteration, whose number is $i.
bool isOneStartEach(const IorRun& run);    // cold, or apart
std::string summaryOf(const IorRun& run);  // phase-1.json, phase-2.$i.json
std::vector<std::string> argumentsOf(const IorRun& run);
std::string commandLineOf(const IorRun& run);  // with `ior`, without a launcher

std::uint64_t roundedUp(std::uint64_t value, std::uint64_t unit);

struct PlanOptions {
  std::optional<Api> api = {};  // else the phase's own
  bool fsync = true;            // writes end on the storage, not in the page cache
  int iterations = 3;
};

struct PhasePlan {
  int phase = 1;
  std::vector<IorRun> runs;                 // in this order, the preparing ones among them
  std::optional<MdtestRun> mdtest;          // of a metadata phase, which has no runs of IOR
  std::vector<std::string> approximations;  // a sentence each; none: IOR does what the phase does
  // Hints for MPI-IO, key and value, as the application gave them.
  std::vector<std::pair<std::string, std::string>> hints = {};
};

struct IorPlan {
  std::string source;  // the model's
  std::string model;   // digest
  PlanOptions options;
  std::vector<PhasePlan> phases;
};

IorPlan planFor(const model::PhaseModel& model, const PlanOptions& options);

}  // namespace omnio::ior
