// Results of benchmarks: what IOR writes with `-O summaryFormat=JSON` (3.2 to 4.1), and what
// omnio-phase-run writes (docs/formats/ior_results.md). One reader for both.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/base/result.hpp"
#include "core/model/phase_model.hpp"

namespace omnio::ior {

// JSON as IOR writes it, which is not always JSON: several releases leave out or double a closing
// bracket, put progress lines or what other ranks wrote in between, or write inf. Read is what can
// be meant in one way only; what was mended is counted, and where the text ends too early is said.
struct LooseDocument {
  base::JsonNode root;     // an object; numbers are doubles, and may be infinite or no number
  std::size_t mended = 0;  // places that are no JSON
  std::optional<base::TextPlace> ends_early;  // where the text ends within a value
  // Where and why the text is not such a document; then the root has no meaning.
  std::optional<base::TextPlace> error_place;
  std::string error;
};

// Places of the nodes are where they begin.
LooseDocument readLooseJson(std::string_view text);

// By iteration.
template <typename Value>
struct OfOperations {
  std::vector<Value> write;
  std::vector<Value> read;

  std::vector<Value>& of(model::Operation operation) {
    return operation == model::Operation::kWrite ? write : read;
  }
  const std::vector<Value>& of(model::Operation operation) const {
    return operation == model::Operation::kWrite ? write : read;
  }
};

// In MiB/s, over the time from the first open to the last close.
using Bandwidths = OfOperations<double>;

// IOR's separate columns: the bandwidth without opens and closes, and the time of these.
struct Columns {
  double data_mib_s = 0;
  double open_s = 0;
  double close_s = 0;
};

// Parameters of the run, as far as the summary has them; a flag is 0 or 1.
struct SummaryParameters {
  std::optional<std::uint64_t> block_bytes;
  std::optional<std::uint64_t> segments;
  std::optional<std::uint64_t> file_per_process;
  std::optional<std::uint64_t> collective;
  std::optional<std::uint64_t> random;
  std::optional<std::uint64_t> fsync;
  std::optional<std::uint64_t> reordered;
  std::optional<std::uint64_t> several_files;
  std::optional<std::uint64_t> fsync_each;
};

struct SummaryTest {
  int id = 0;                // TestID
  std::optional<int> phase;  // only in our own results
  Bandwidths bandwidth_mib_s;
  OfOperations<Columns> columns;         // of IOR, and where all of its iterations have them
  std::vector<double> operations_per_s;  // of a metadata phase, by iteration
  // As far as the summary tells them.
  std::optional<std::uint64_t> tasks;
  std::optional<std::uint64_t> transfer_bytes;
  SummaryParameters parameters;
  std::string api;        // POSIX, MPIIO; may be empty
  std::string data_file;  // may be empty
};

// A run of all phases together, by the schedule of the model; in our own results alone. Times in
// seconds, of the process that spent most in its calls.
struct SummaryRun {
  double io_s = 0;
  double data_s = 0;
  double metadata_s = 0;
  double sync_s = 0;
  double waiting_s = 0;  // not in io_s
  double sum_s = 0;      // over the phases, each of its slowest process
  // The longest path through the I/O of all processes; nothing in older results.
  std::optional<double> chain_s{};
  std::uint64_t differences = 0;
};

// What our own results say they are of; empty in a summary of IOR.
struct SummaryIdentity {
  std::string model;   // digest
  std::string target;  // in words: directory, mount, hosts
};

struct Summary {
  SummaryIdentity of{};
  std::vector<SummaryRun> runs{};
  std::size_t mended = 0;          // places at which IOR's text is not JSON
  std::vector<SummaryTest> tests;  // at least one, each with a bandwidth or a rate
};

// Refuses by name what is missing: a test without results (an aborted run), fewer results than
// repetitions, a bandwidth that is not a number, a text that ends too early.
base::Result<Summary> readSummary(const std::filesystem::path& path);

}  // namespace omnio::ior
