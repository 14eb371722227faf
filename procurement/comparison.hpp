// Candidates side by side: which storage system is the faster one for an application, and how sure
// that is (core/base/repeats.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/repeats.hpp"
#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"
#include "ior_bridge/ior/summary_reader.hpp"
#include "procurement/rounds.hpp"
#include "procurement/run_evidence.hpp"

namespace omnio::procurement {

inline constexpr double kNsInSecond = 1e9;

using base::Interval;
using base::Measure;
using base::measureOf;
using base::Ratio;

// The times of a phase in seconds, by run.
struct PhaseTimes {
  std::vector<double> all_s;
  // The writes alone and the reads alone. Empty when the phase has none, or has no separate times.
  std::vector<double> write_s;
  std::vector<double> read_s;
};

// Peak bandwidths of a storage system in MiB/s: BW_PK of Mendez, Rexachs, Luque (2012).
struct Peak {
  double write_mib_s = 0;
  double read_mib_s = 0;
  std::string source;  // a file; empty: given as numbers
};

// Kinds of times, which cannot be compared with each other. Where candidates have I/O times of both
// kinds, setBesideSums() makes the first the second.
enum class TimeKind : std::uint8_t {
  kTogether,  // I/O time of the slowest process, in runs of all phases together
  kSum,       // the sum over the phases, which were run one by one
  kRun        // from the begin of a run to the end of writing back what it left in memory
};

std::string_view kindText(TimeKind kind);

// Where the times of a candidate are from.
enum class Origin : std::uint8_t { kApplication, kReplay, kPhaseRun, kIor };

// The times of a candidate in seconds, by run.
struct Candidate {
  std::string name;
  std::string target;                // in words; may be empty
  std::vector<std::string> sources;  // files and traces
  std::set<Origin> origins;
  std::optional<TimeKind> kind;         // nothing: no times yet
  std::vector<double> io_s;             // of that kind
  std::vector<double> run_s{};          // run times of replays; as many, or none
  bool is_elsewhere = false;            // its runs have no rounds in common with those of others
  std::map<int, PhaseTimes> phases;     // by phase of the model
  std::vector<ior::SummaryRun> runs;    // as many, or none: phases were run one by one
  bool is_summed = false;               // by setBesideSums()
  std::vector<RunEvidence> evidence{};  // of the runs that say something of it
  std::optional<Peak> peak;
};

// The part of the peak that was used, 0 to 1: the bandwidth over that of the peak, which is the
// SystemUsage of the paper's equation 5. Nothing: no peak, no such bytes, or no time of theirs.
struct PeakShare {
  std::optional<double> write;
  std::optional<double> read;
};

// A phase, or a family of them.
struct ComparedPhase {
  int phase = 0;    // the first
  std::string ids;  // "7", "1-40"
  std::uint64_t weight_bytes = 0;
  std::uint64_t weight_operations = 0;  // calls, of a metadata phase; it has no operations
  std::vector<model::Operation> operations{};
  std::string file{};  // as the model has it
  // By candidate; nothing where it has no result of the phase.
  std::vector<std::optional<Measure>> times{};
  // The same for the writes alone and the reads alone, where these were measured.
  std::vector<std::optional<Measure>> write_times{};
  std::vector<std::optional<Measure>> read_times{};
  std::vector<PeakShare> peak_share{};
  // As recorded in the application, by the model.
  std::optional<double> application_s{};
};

struct ComparedCandidate {
  Candidate candidate;
  Measure io_s;
  double bandwidth_mib_s = 0;  // weight over I/O time
  Ratio to_best;               // of I/O times
  // The median of each time of the runs; nothing where there are none.
  std::optional<ior::SummaryRun> parts;
  double median_s = 0;  // of the times of the runs
  std::optional<double>
      spread;            // the largest distance of a run from it, as a share; of one run none
  PeakShare peak_share;  // over all phases whose writes and reads were measured apart
  std::optional<int> slowest_phase;
};

struct Comparison {
  std::string source;  // the model's
  bool source_whole = true;
  int processes = 0;        // of the application
  std::uint64_t calls = 0;  // of its phases: requests and metadata calls
  // Why the times are not those of calls that an application did; empty: they are.
  std::string projection;
  std::optional<Rounds> rounds;  // nothing: the n-th runs of candidates have nothing in common
  std::uint64_t weight_bytes = 0;
  std::uint64_t weight_operations = 0;  // calls of metadata phases
  TimeKind kind = TimeKind::kTogether;  // of all candidates
  // The I/O time of the application where it was recorded, by the model: a time of the kind of the
  // candidates. Nothing: the model does not have it.
  std::optional<double> application_s;
  std::vector<ComparedCandidate> ranking;  // the shortest I/O time first
  std::vector<std::string> order;          // candidates as given
  std::vector<ComparedPhase> phases;       // candidates in the order of `ranking`
  std::vector<ComparedPhase> families;     // the same by family (core/model/phase_series.hpp)
  // The one that is surely faster than each of the others. Nothing: there is not a winner.
  std::optional<std::string> winner;
  // Those that the first of the ranking cannot be told from.
  std::vector<std::string> not_told_apart;
  // Those that are surely slower than the first of the ranking.
  std::vector<std::string> slower;
};

std::string_view kindWord(TimeKind kind);  // "run times"

// Up to where the time that decides was taken.
storage::MeasuredUntil measuredUntil(const Comparison& comparison);

// Makes the I/O times of the candidate the sums over the data phases of each run. False, and
// nothing is changed, where not all phases have a time in each run.
bool setBesideSums(const model::PhaseModel& model, Candidate& candidate);

// Does so for all candidates where one has sums; fails where another cannot be set beside them.
base::Result<void> setBeside(const model::PhaseModel& model, std::vector<Candidate>& candidates);

// At least one candidate, each with a time, and all of one kind. `rounds`: the n-th runs of all
// candidates are those of the n-th round, except of those that are elsewhere.
Comparison compare(const model::PhaseModel& model, std::vector<Candidate> candidates,
                   const std::optional<Rounds>& rounds = {});

// Which candidate is the fastest, or that it is not known; why the result may be wrong; what else a
// reader has to know. Each is a sentence without its full stop.
std::string verdictOf(const Comparison& comparison);
std::vector<std::string> warningsOf(const Comparison& comparison);
std::vector<std::string> notesOf(const Comparison& comparison);

// With rows for the families of phases that take longest, or for the phases themselves.
std::string textOf(const Comparison& comparison, std::size_t rows, bool is_each = false);
std::string jsonOf(const Comparison& comparison);
std::string csvOf(const Comparison& comparison);

// The page of a comparison says this about itself.
struct PageAbout {
  std::string made;                  // when, as of RFC 3339
  std::string version;               // of omnio
  std::string model;                 // the file, as it was given
  std::string all_command;           // prints all phases
  std::vector<std::string> notes{};  // sentences beside those of the comparison
  std::string projections{};         // JSON, as of jsonOf(Projections); empty: none
};
// The most phases that a page shows: those that take longest.
inline constexpr std::size_t kMostPagePhases = 200;
// The data of the page of a comparison (docs/formats/comparison_page.md).
std::string pageDataOf(const Comparison& comparison, const PageAbout& about);

}  // namespace omnio::procurement
