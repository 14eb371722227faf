#include "ior_bridge/summary_reader.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <variant>

#include "core/file.hpp"
#include "core/model/json_document.hpp"
#include "core/printable.hpp"
#include "ior_bridge/loose_json.hpp"
#include "ior_bridge/phase_results.hpp"

namespace omnio::ior {
namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

class Reader {
 public:
  Reader(const std::filesystem::path& path, std::string_view text) : path_(path), text_(text) {}

  Result<Summary> read() {
    auto parsed = readLooseJson(text_);
    if (const LooseError* error = std::get_if<LooseError>(&parsed)) {
      return at(error->offset, "not JSON: " + error->reason);
    }
    document_ = std::move(std::get<LooseDocument>(parsed));
    Summary summary;
    summary.path = path_;
    summary.mended = document_.mended;
    if (auto failure = readKind(summary)) return *failure;
    const LooseValue* tests = document_.root.find("tests");
    if (tests == nullptr || tests->kind != LooseValue::Kind::kArray) {
      return at(document_.root.offset, "not a summary of IOR: it has no \"tests\"");
    }
    for (const LooseValue& value : tests->items) {
      Result<SummaryTest> test = readTest(value, static_cast<int>(summary.tests.size()));
      if (!test) return test.failure();
      if (summary.ours && !test->phase) return at(value.offset, "a test without its \"phase\"");
      summary.tests.push_back(std::move(*test));
    }
    if (summary.tests.empty()) return at(tests->offset, "no test is in it: the run was aborted");
    if (document_.ends_early) return at(*document_.ends_early, "the text ends too early");
    return summary;
  }

 private:
  Failure at(std::size_t offset, std::string_view reason) const {
    return model::failureAt(path_, model::placeOf(text_, offset), reason);
  }

  // IOR's summaries name no format; what names another one is none.
  std::optional<Failure> readKind(Summary& summary) const {
    const LooseValue& root = document_.root;
    summary.version = root.stringAt("Version").value_or("");
    const LooseValue* format = root.find("format");
    if (format == nullptr) return std::nullopt;
    if (format->string != kPhaseResultsFormat) {
      return at(format->offset,
                fmt::format("neither a summary of IOR nor {}", kPhaseResultsFormat));
    }
    if (root.numberAt("version") != kPhaseResultsVersion) {
      const LooseValue* version = root.find("version");
      Failure failure = at(
          (version != nullptr ? version : format)->offset,
          fmt::format("another version of {} than {}", kPhaseResultsFormat, kPhaseResultsVersion));
      failure.code = Code::kOtherVersion;
      return failure;
    }
    // Nobody's bug but a damaged file.
    if (document_.mended > 0 && !document_.ends_early) {
      return at(root.offset, fmt::format("damaged {}: it is not JSON", kPhaseResultsFormat));
    }
    summary.ours = true;
    return std::nullopt;
  }

  Result<SummaryTest> readTest(const LooseValue& value, int index) {
    SummaryTest test;
    test.id = static_cast<int>(value.numberAt("TestID").value_or(index));
    const auto count = [](std::optional<double> number) -> std::optional<std::uint64_t> {
      if (!number || !(*number >= 0) || *number > 9e18) return std::nullopt;
      return static_cast<std::uint64_t>(*number);
    };
    if (const auto phase = value.numberAt("phase")) {
      if (!(*phase >= 1 && *phase <= 1e9)) {
        return at(value.offset,
                  fmt::format("\"phase\" is {}; it has to be from 1 to 1000000000", *phase));
      }
      test.phase = static_cast<int>(*phase);
    }
    std::optional<double> writes, reads;
    if (const LooseValue* parameters = value.find("Parameters")) {
      test.api = parameters->stringAt("api").value_or("");
      test.transfer_bytes = count(parameters->numberAt("transferSize"));
      test.block_bytes = count(parameters->numberAt("blockSize"));
      test.segments = count(parameters->numberAt("segmentCount"));
      test.tasks = count(parameters->numberAt("numTasks"));
      if (const auto fsync = parameters->numberAt("fsync")) test.fsync = *fsync != 0;
      const auto repetitions = parameters->numberAt("repetitions");
      const auto writes_file = parameters->numberAt("writeFile");
      const auto reads_file = parameters->numberAt("readFile");
      if (repetitions && writes_file) writes = *writes_file != 0 ? *repetitions : 0;
      if (repetitions && reads_file) reads = *reads_file != 0 ? *repetitions : 0;
    }
    if (const LooseValue* options = value.find("Options"); options && !test.tasks) {
      test.tasks = count(options->numberAt("tasks"));
    }
    if (auto failure = readResults(value, test)) return *failure;
    for (const auto& [expected, operation] :
         {std::pair(writes, model::Operation::kWrite), std::pair(reads, model::Operation::kRead)}) {
      const std::size_t found = test.bandwidth_mib_s.of(operation).size();
      if (expected && static_cast<double>(found) != *expected) {
        return at(value.find("Results")->offset,
                  fmt::format("test {} has {} of {:.0f} results of its {}s: the run was aborted",
                              test.id, found, *expected, name(operation)));
      }
    }
    return test;
  }

  static std::string_view name(model::Operation operation) {
    return operation == model::Operation::kWrite ? "write" : "read";
  }

  std::optional<Failure> readResults(const LooseValue& value, SummaryTest& test) {
    const LooseValue* results = value.find("Results");
    if (results == nullptr) {
      return at(value.offset,
                fmt::format("test {} has no \"Results\": the run was aborted", test.id));
    }
    if (auto failure = readResultList(*results, test)) return failure;
    if (test.bandwidth_mib_s.write.empty() && test.bandwidth_mib_s.read.empty()) {
      return at(
          results->offset,
          fmt::format("test {} has nothing in its \"Results\": the run was aborted", test.id));
    }
    return std::nullopt;
  }

  // Flat in newer releases; in IOR 3.2 a list for each iteration.
  std::optional<Failure> readResultList(const LooseValue& list, SummaryTest& test) {
    for (const LooseValue& entry : list.items) {
      if (entry.kind == LooseValue::Kind::kArray) {
        if (auto failure = readResultList(entry, test)) return failure;
        continue;
      }
      const std::optional<std::string> access = entry.stringAt("access");
      if (!access) return at(entry.offset, "a result without \"access\"");
      if (*access != "write" && *access != "read") continue;  // "remove"
      const auto operation =
          *access == "write" ? model::Operation::kWrite : model::Operation::kRead;
      const LooseValue* bandwidth = entry.find("bwMiB");
      if (bandwidth == nullptr) {
        return at(entry.offset, fmt::format("a result of {} without \"bwMiB\"", *access));
      }
      if (bandwidth->kind != LooseValue::Kind::kNumber || !std::isfinite(bandwidth->number) ||
          !(bandwidth->number > 0)) {
        return at(bandwidth->offset,
                  fmt::format("\"bwMiB\" of iteration {} of {} is not a number above 0",
                              test.bandwidth_mib_s.of(operation).size() + 1, *access));
      }
      test.bandwidth_mib_s.of(operation).push_back(bandwidth->number);
    }
    return std::nullopt;
  }

  const std::filesystem::path& path_;
  std::string_view text_;
  LooseDocument document_;
};

}  // namespace

Result<Summary> readSummary(const std::filesystem::path& path) {
  const Result<File> file = File::open(path);
  if (!file) return file.failure();
  const std::uint64_t size = file->size();
  if (size == 0) return Failure{Code::kNotOurs, printable(path.native()) + ": empty"};
  if (size > kMaxBytes) {
    return Failure{Code::kNotOurs,
                   fmt::format("{}: {} bytes; a summary of IOR has at most {} bytes",
                               printable(path.native()), size, kMaxBytes)};
  }
  std::string text(size, '\0');
  text.resize(file->readAt(0, text.data(), text.size()));
  return Reader(path, text).read();
}

}  // namespace omnio::ior
