// Candidates side by side: which storage system is the faster one for an application, and how sure
// that is.
//
// Times of repeated runs are compared by their logarithms, since they vary by a share of
// themselves: their mean is that of the geometric mean, and a difference is a ratio. The 95 %
// interval of a candidate is Student's. Two candidates are compared by Welch's t (B. L. Welch, "The
// generalization of Student's problem when several different population variances are involved",
// Biometrika 34, 1947); the level is divided by the number of pairs (Bonferroni), so that among any
// number of equal candidates a winner is found in at most 5 % of all comparisons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::ior {

// The two ends of a 95 % interval. Not there: of one run nothing is known.
struct Interval {
  double least = 0;
  double most = 0;
};

struct Measure {
  std::size_t runs = 0;
  double middle = 0;  // geometric mean
  std::optional<Interval> interval;
};
// There is at least one value, and each is above 0.
Measure measureOf(const std::vector<double>& values);

// How many times as long as the second the first takes. `pairs`: that are compared at a time.
struct Ratio {
  double middle = 1;
  std::optional<Interval> interval;

  // Whether the first takes longer, or less long, than the second, surely.
  bool isSlower() const { return interval && interval->least > 1; }
  bool isFaster() const { return interval && interval->most < 1; }
};
Ratio ratioOf(const std::vector<double>& first, const std::vector<double>& second,
              std::size_t pairs);

// The times of a candidate in seconds, by run.
struct Candidate {
  std::string name;
  std::string target;                // in words; may be empty
  std::vector<std::string> sources;  // files and traces
  std::vector<double> io_s;
  std::map<int, std::vector<double>> phase_s;  // by phase of the model
  std::optional<double> peak_write_mib_s;      // of the system
  std::optional<double> peak_read_mib_s;
};

struct ComparedPhase {
  int phase = 0;
  std::uint64_t weight_bytes = 0;
  // By candidate; nothing where it has no result of the phase.
  std::vector<std::optional<Measure>> times{};
  std::vector<std::optional<double>> peak_share{};  // of the peak of its operations, 0 to 1
};

struct ComparedCandidate {
  Candidate candidate;
  Measure io_s;
  double bandwidth_mib_s = 0;  // weight over I/O time
  Ratio to_best;               // of I/O times
  std::optional<int> slowest_phase;
};

struct Comparison {
  std::string source;  // the model's
  std::uint64_t weight_bytes = 0;
  std::vector<ComparedCandidate> ranking;  // the shortest I/O time first
  std::vector<std::string> order;          // candidates as given
  std::vector<ComparedPhase> phases;       // candidates in the order of `ranking`
  // The one that is surely faster than each of the others. Nothing: there is not a winner.
  std::optional<std::string> winner;
  // Those that the first of the ranking cannot be told from.
  std::vector<std::string> not_told_apart;
};

// At least two candidates, each with a time.
Comparison compare(const model::PhaseModel& model, std::vector<Candidate> candidates);

std::string textOf(const Comparison& comparison, std::size_t rows);
std::string jsonOf(const Comparison& comparison);
std::string csvOf(const Comparison& comparison);

}  // namespace omnio::ior
