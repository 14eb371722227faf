// A metadata phase as a run of mdtest, the benchmark of metadata that IOR brings, with what mdtest
// cannot express said in words; and what mdtest prints.
//
// mdtest makes, looks at, reads and removes items: files or directories, each task its own, in one
// directory of all tasks or in one for each (-u). It measures each step between two barriers. A
// phase that does several things in turns is several steps, whose times add.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::ior {

// A step of mdtest that the phase has, by the name of its row in the summary.
struct MdtestStep {
  std::string_view row;     // "File creation"
  std::uint64_t items = 0;  // of all processes, in the phase

  bool operator==(const MdtestStep&) const = default;
};

struct MdtestRun {
  int tasks = 1;
  bool files = false;        // without directories: -F
  bool directories = false;  // without files: -D
  bool stats = false;        // -T
  bool reads = false;        // -E
  bool renames = false;      // -U: of directories
  bool unique = false;       // -u: a directory for each task
  // Directories of a task, or of all tasks in a shared tree. More than one: leaves of a tree of
  // depth 1 (-b -z 1 -L), each with as many items (-I).
  std::uint64_t directories_in_tree = 1;
  std::uint64_t items = 1;  // of a task, in all (-n), or in each directory of a tree (-I)
  int iterations = 1;       // -i
  std::string name;         // of the file that it prints into: phase-3
  std::vector<MdtestStep> steps;
};

struct MdtestPlan {
  MdtestRun run;
  std::vector<std::string> approximations;  // a sentence each
};

// Of a metadata phase. Every run makes its items (-C) and removes them (-r).
MdtestPlan mdtestFor(const model::PhaseModel& model, const model::Phase& phase, int iterations);

// The words behind `mdtest`, as a POSIX shell reads them; the items are below $DIR.
std::vector<std::string> argumentsOf(const MdtestRun& run);
std::string outputOf(const MdtestRun& run);  // phase-3.txt, in $RESULTS
std::string commandLineOf(const MdtestRun& run);

// Items a second, over the iterations.
struct MdtestRate {
  double most = 0;
  double least = 0;
  double mean = 0;
};

struct MdtestSummary {
  int iterations = 1;
  std::map<std::string, MdtestRate, std::less<>> rates;  // by row
};

// Reads what mdtest printed (IOR 3.0 to 4.1). Fails with a sentence where the text has no
// summary of rates, which mdtest prints at its end.
base::Result<MdtestSummary> readMdtest(const std::filesystem::path& path);

}  // namespace omnio::ior
