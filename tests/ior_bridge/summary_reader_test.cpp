// The samples in fixtures/ are what IOR wrote: 4.1.0+dev, and the releases that their names say.
#include "ior_bridge/ior/summary_reader.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ior_bridge/runner/phase_results.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::ior {
namespace {

using Numbers = std::vector<double>;

std::string fixture(const std::string& name) { return std::string(FIXTURES "/") + name; }

Summary summaryOf(const std::string& path) {
  base::Result<Summary> summary = readSummary(path);
  EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.failure().sentence);
  return summary.ok() ? std::move(*summary) : Summary{.tests = {{}}};
}

// The refusal of a sample in which a text was replaced, without the path.
std::string refusal(const std::string& sample, const std::string& from = "",
                    const std::string& to = "") {
  std::string text = test::readAll(fixture(sample));
  if (!from.empty()) {
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    text.replace(place, from.size(), to);
  }
  const test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "summary.json";
  test::writeAll(path, text);
  const base::Result<Summary> summary = readSummary(path);
  EXPECT_FALSE(summary.ok());
  if (summary.ok()) return "";
  const std::string& sentence = summary.failure().sentence;
  EXPECT_TRUE(sentence.starts_with(path.native() + ": ")) << sentence;
  return sentence.substr(path.native().size() + 2);
}

TEST(SummaryReader, InterleavedIterations) {
  const Summary summary = summaryOf(fixture("mpiio_collective_3_iterations.json"));
  ASSERT_EQ(summary.tests.size(), 1U);
  EXPECT_EQ(summary.mended, 0U);
  const SummaryTest& test = summary.tests[0];
  EXPECT_EQ(test.bandwidth_mib_s.write, (Numbers{632.2615, 729.8250, 1003.8273}));
  EXPECT_EQ(test.bandwidth_mib_s.read, (Numbers{1481.4973, 1398.6258, 4842.6082}));
  EXPECT_EQ(test.tasks, 4U);
  EXPECT_EQ(test.transfer_bytes, 262144U);
}

TEST(SummaryReader, AFileForEachProcess) {
  const Summary summary = summaryOf(fixture("posix_file_per_process_random.json"));
  ASSERT_EQ(summary.tests.size(), 1U);
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.write, (Numbers{3805.0045, 4320.6840}));
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.read.size(), 2U);
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.read[0], 11019.5179);
}

TEST(SummaryReader, SeveralTests) {
  const Summary summary = summaryOf(fixture("script_three_tests.json"));
  ASSERT_EQ(summary.tests.size(), 3U);
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.write, (Numbers{1273.3129}));
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.read, Numbers{});
  EXPECT_EQ(summary.tests[1].bandwidth_mib_s.read.size(), 1U);
  EXPECT_EQ(summary.tests[2].bandwidth_mib_s.read, (Numbers{13134.4418}));
  EXPECT_EQ(summary.tests[2].id, 2);
  EXPECT_EQ(summary.tests[2].tasks, 2U);
}

TEST(SummaryReader, AnAbortedRunIsRefusedByName) {
  EXPECT_EQ(refusal("aborted_missing_file.json"),
            "line 78, column 16: test 0 has nothing in its \"Results\": the run was aborted");
}

TEST(SummaryReader, RanksOf3_2WriteOverTheBeginning) {
  const Summary summary = summaryOf(fixture("release_3_2_1_overwritten.json"));
  ASSERT_EQ(summary.tests.size(), 1U);
  EXPECT_GT(summary.mended, 0U);
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.write, (Numbers{359.6399, 2013.1033}));
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.read, (Numbers{21567.9931, 27966.5520}));
}

TEST(SummaryReader, Verbose4_0ClosesAnArrayTwice) {
  const Summary summary = summaryOf(fixture("release_4_0_0_verbose.json"));
  ASSERT_EQ(summary.tests.size(), 1U);
  EXPECT_EQ(summary.mended, 1U);
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.write, (Numbers{359.0553, 5729.9235}));
}

TEST(SummaryReader, WhatIsMissingIsNamed) {
  const std::string sample = "mpiio_collective_3_iterations.json";
  EXPECT_EQ(refusal(sample, "\"Results\"", "\"Outcomes\""),
            "line 7, column 5: test 0 has no \"Results\": the run was aborted");
  EXPECT_EQ(refusal(sample, "\"tests\"", "\"texts\""),
            "line 1, column 1: not a summary of IOR: it has no \"tests\"");
  EXPECT_EQ(refusal(sample, "\"bwMiB\"", "\"bandwidth\""),
            "line 80, column 13: a result of write without \"bwMiB\"");
  EXPECT_EQ(refusal(sample, "\"access\": \"read\"", "\"kind\": \"read\""),
            "line 93, column 13: a result without \"access\"");
  EXPECT_EQ(refusal(sample, "\"access\": \"read\"", "\"access\": \"remove\""),
            "line 79, column 16: test 0 has 2 of 3 results of its reads: the run was aborted");
}

TEST(SummaryReader, ABandwidthThatIsNone) {
  for (const char* value : {"0.0000", "-1", "inf", "nan", "\"inf\"", "null"}) {
    EXPECT_EQ(refusal("mpiio_collective_3_iterations.json", "1481.4973", value),
              "line 95, column 18: \"bwMiB\" of iteration 1 of read is not a number above 0");
  }
}

// A locale with decimal commas, thousands, and whatever else printf() does not write.
TEST(SummaryReader, ANumberThatIsNotJson) {
  constexpr const char* kRule =
      "; a number is digits with a point before the decimals, and has no comma";
  for (const char* value : {"1481,4973", "1,481.4973", "1481.", "01481", "+1481", ".5", "1481e",
                            "0x5c9", "1.2.3", "1e5e5", "MiB", "-"}) {
    EXPECT_EQ(
        refusal("mpiio_collective_3_iterations.json", "1481.4973", value),
        std::string("line 95, column 18: not JSON: ") + value + " is not a value of JSON" + kRule);
  }
  EXPECT_EQ(refusal("mpiio_collective_3_iterations.json", "1481.4973", "1 481.4973"),
            std::string("line 95, column 20: not JSON: 481.4973 is not a name") + kRule);
}

// Each count that is read has a range, and is named where it is another quantity.
TEST(SummaryReader, ACountThatIsNone) {
  const std::string sample = "mpiio_collective_3_iterations.json";
  const auto range = [](const std::string& key, const std::string& is, const std::string& most,
                        const char* least = "1") {
    return "\"" + key + "\" is " + is + "; it has to be a whole number from " + least + " to " +
           most;
  };
  const auto said = [&](const std::string& from, const std::string& to) {
    const std::string text = refusal(sample, from, to);
    const std::size_t place = text.find(": ");
    EXPECT_TRUE(text.starts_with("line ")) << text;
    return text.substr(place + 2);
  };
  EXPECT_EQ(said("\"repetitions\": 3", "\"repetitions\": 2.5"),
            range("repetitions", "2.5", "1000000000"));
  EXPECT_EQ(said("\"repetitions\": 3", "\"repetitions\": \"3\""),
            range("repetitions", "a text", "1000000000"));
  EXPECT_EQ(said("\"transferSize\": 262144", "\"transferSize\": -262144"),
            range("transferSize", "-262144", "1152921504606846976"));
  EXPECT_EQ(said("\"blockSize\": 2097152", "\"blockSize\": 0"),
            range("blockSize", "0", "1152921504606846976"));
  EXPECT_EQ(said("\"segmentCount\": 2", "\"segmentCount\": null"),
            range("segmentCount", "null", "1125899906842624"));
  EXPECT_EQ(said("\"TestID\": 0", "\"TestID\": 1763686310000"),
            range("TestID", "1763686310000", "1000000000", "0"));
  for (const char* flag : {"writeFile", "readFile", "filePerProc", "collective", "randomOffset",
                           "fsync", "reorderTasks"}) {
    const std::string key = "\"" + std::string(flag) + "\": ";
    EXPECT_EQ(
        said(key, key + "1763686310"),
        range(flag,
              test::readAll(fixture(sample)).find(key + "1") != std::string::npos ? "17636863101"
                                                                                  : "17636863100",
              "1000", "0"));
  }
  EXPECT_EQ(said("\"tasks\": 4", "\"tasks\": 0.5"), range("tasks", "0.5", "1000000000"));
}

TEST(SummaryReader, ABandwidthThatIsAnotherQuantity) {
  EXPECT_EQ(refusal("mpiio_collective_3_iterations.json", "1481.4973", "1763686310"),
            "line 95, column 18: \"bwMiB\" of iteration 1 of read is 1763686310, more than any "
            "storage has (1000000000 MiB/s): it is another quantity, or in another unit");
}

TEST(SummaryReader, EveryCutIsRefused) {
  const std::string text = test::readAll(fixture("script_three_tests.json"));
  const test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "cut.json";
  const std::size_t end = text.find_last_not_of(" \n");
  for (std::size_t size = 0; size < end; size += 7) {
    test::writeAll(path, text.substr(0, size));
    const base::Result<Summary> summary = readSummary(path);
    ASSERT_FALSE(summary.ok()) << size;
    EXPECT_TRUE(summary.failure().sentence.starts_with(path.native() + ": "));
    EXPECT_EQ(summary.failure().sentence.find('\n'), std::string::npos);
  }
}

// Whatever the bytes, there is a summary with a bandwidth or one sentence.
TEST(SummaryReader, DamagedBytesNeverDoHarm) {
  std::mt19937 random(1);
  const test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "damaged.json";
  constexpr std::string_view kBytes = "{}[]\",:\\0-.eu\n\0x";
  int refused = 0;
  for (const char* sample : {"script_three_tests.json", "release_3_2_1_overwritten.json"}) {
    const std::string text = test::readAll(fixture(sample));
    for (int run = 0; run < 1000; ++run) {
      std::string damaged = text;
      for (unsigned i = random() % 8; i < 8; ++i) {
        damaged[random() % damaged.size()] = kBytes[random() % kBytes.size()];
      }
      test::writeAll(path, damaged);
      const base::Result<Summary> summary = readSummary(path);
      if (summary.ok()) {
        for (const SummaryTest& one : summary->tests) {
          EXPECT_FALSE(one.bandwidth_mib_s.write.empty() && one.bandwidth_mib_s.read.empty());
        }
      } else {
        ++refused;
        EXPECT_EQ(summary.failure().sentence.find('\n'), std::string::npos);
      }
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(SummaryReader, WhatIsNoSummary) {
  const test::TemporaryDirectory directory;
  const auto sentence = [&](const std::string& text) {
    test::writeAll(directory / "file", text);
    const base::Result<Summary> summary = readSummary(directory / "file");
    EXPECT_FALSE(summary.ok()) << text;
    return summary.ok() ? ""
                        : summary.failure().sentence.substr((directory / "file").native().size());
  };
  EXPECT_EQ(sentence(""), ": empty");
  EXPECT_EQ(sentence("hello"), ": line 1, column 1: not JSON: no JSON object is in it");
  EXPECT_EQ(sentence("{\"format\": \"omnio-phases\"}"),
            ": line 1, column 12: neither a summary of IOR nor omnio-phase-results");
  EXPECT_EQ(sentence("{\"format\": \"omnio-phase-results\",\n \"version\": 1}"),
            ": line 2, column 13: another version of omnio-phase-results than 2");
  EXPECT_EQ(sentence("{\"tests\": []}"),
            ": line 1, column 11: no test is in it: the run was aborted");
  EXPECT_FALSE(readSummary(directory / "missing").ok());
}

TEST(SummaryReader, OurOwnResults) {
  PhaseTest test{.phase = 7, .api = "MPIIO", .tasks = 4, .iterations = 2};
  test.request_bytes = 1 << 20;
  test.block_bytes = 8 << 20;
  for (const double seconds : {0.5, 0.25}) {
    test.measurements.push_back({.bytes = 32 << 20, .requests = 32, .total_s = seconds});
  }
  const std::string text =
      jsonOf({.version = "1",
              .target = "/scratch",
              .identity = {.model_digest = "0123", .mount = "/ ext4 disk", .hosts = {"a", "b"}},
              .tests = {test},
              .runs = {{.io = {.data_ns = 7, .metadata_ns = 20, .sync_ns = 3, .waiting_ns = 5},
                        .sum_ns = 40,
                        .chain_ns = 50,
                        .differences = 2}}});
  const test::TemporaryDirectory directory;
  test::writeAll(directory / "results.json", text);
  const Summary summary = summaryOf(directory / "results.json");
  ASSERT_EQ(summary.tests.size(), 1U);
  EXPECT_EQ(summary.tests[0].phase, 7);
  EXPECT_EQ(summary.tests[0].bandwidth_mib_s.write, (Numbers{64, 128}));
  EXPECT_EQ(summary.tests[0].tasks, 4U);
  EXPECT_EQ(summary.tests[0].transfer_bytes, 1U << 20);
  EXPECT_EQ(summary.of.model, "0123");
  EXPECT_EQ(summary.of.target, "/scratch (/ ext4 disk) from a, b");
  ASSERT_EQ(summary.runs.size(), 1U);
  EXPECT_DOUBLE_EQ(summary.runs[0].io_s, 30e-9);
  EXPECT_DOUBLE_EQ(summary.runs[0].waiting_s, 5e-9);
  EXPECT_DOUBLE_EQ(summary.runs[0].sum_s, 40e-9);
  EXPECT_DOUBLE_EQ(summary.runs[0].chain_s.value(), 50e-9);
  EXPECT_EQ(summary.runs[0].differences, 2U);
  std::string no_model = text;
  no_model.replace(no_model.find("\"model\""), 7, "\"mobel\"");
  test::writeAll(directory / "no_model.json", no_model);
  const base::Result<Summary> anonymous = readSummary(directory / "no_model.json");
  ASSERT_FALSE(anonymous.ok());
  EXPECT_NE(anonymous.failure().sentence.find("of which \"model\" it is"), std::string::npos);

  // Ours are JSON or damaged; what is forgiven to IOR is not to us.
  std::string damaged = text;
  damaged.erase(damaged.rfind(']'), 1);
  test::writeAll(directory / "damaged.json", damaged);
  EXPECT_FALSE(readSummary(directory / "damaged.json").ok());
  std::string no_phase = text;
  no_phase.replace(no_phase.find("\"phase\""), 7, "\"phrase\"");
  test::writeAll(directory / "no_phase.json", no_phase);
  const base::Result<Summary> refused = readSummary(directory / "no_phase.json");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.failure().sentence.find("a test without its \"phase\""), std::string::npos);
}

}  // namespace
}  // namespace omnio::ior
