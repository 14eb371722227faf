#include "predict/calibration/document.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"

namespace omnio::predict {
namespace {

Cell cellOf(const CellKey& key, std::vector<AccessRun> runs) {
  Cell cell{.key = key, .runs = std::move(runs)};
  for (const AccessRun& run : cell.runs) {
    for (const std::int64_t time : run.times_ns) cell.all.add(time);
  }
  return cell;
}

// A calibration with everything in it that the document can say.
Calibration example() {
  Calibration c;
  c.tool = "omnio 0.1.0";
  c.date = "2026-11-27T11:00:00Z";
  c.target = {.path = "/scratch/a\\x0a",
              .file_system = "ext4",
              .mount = "/scratch ext4 /dev/sda1",
              .size_bytes = 1 << 30,
              .host = "node1",
              .kernel = "Linux 6.1.0",
              .processors = 2,
              .memory_bytes = 8 << 20};
  c.cache = CacheState::kCold;
  c.cache_check = {.is_automatic = true, .checks = 12, .least_percent = 0, .most_percent = 0.5};
  c.seed = 17;
  c.budget_ns = 600'000'000'000;
  c.spent_ns = 60'000'000'001;
  c.reserved_ns = 20'000'000'000;
  c.sessions = 2;
  c.processes = 4;
  c.accesses = 1000;
  c.largest_bytes = 16 << 20;
  c.shared_file_bytes = 1 << 28;
  c.own_file_bytes = 1 << 25;
  c.directory_names = 2048;
  c.has_malloc_memory = true;
  c.rounds = 3;
  c.clock_ns = 21;
  c.references = {{.round = 0, .begin_ns = 5, .accesses = 16, .mean_ns = 1200, .median_ns = 1100},
                  {.round = 1, .begin_ns = 50, .accesses = 16, .mean_ns = 1300, .median_ns = 1150}};
  Cell random =
      cellOf({.operation = CellOperation::kRead, .order = AccessOrder::kRandom, .bytes = 4096},
             {{.round = 0,
               .process = 0,
               .begin_ns = 7,
               .times_ns = {900, 1500, 70000},
               .offsets = {40960, 4096, 8192}},
              {.round = 2, .process = 0, .begin_ns = 70, .times_ns = {0}, .offsets = {4096}}});
  random.all.add(5);  // more than the sample
  Cell write = cellOf({.operation = CellOperation::kWrite,
                       .order = AccessOrder::kStrided,
                       .sharing = FileSharing::kShared,
                       .extends = true,
                       .bytes = 100,
                       .processes = 4},
                      {{.round = 1,
                        .process = 3,
                        .begin_ns = 40,
                        .position = 200,
                        .times_ns = {3000, 2000, 2500},
                        .offsets = {300, 700, 1100}}});
  write.writeback_bytes = 1200;
  write.writeback_ns = 5'000'000;
  const Cell sync = cellOf({.operation = CellOperation::kFsync, .bytes = 65536},
                           {{.round = 0, .process = 0, .begin_ns = 9, .times_ns = {12'000'000}}});
  const Cell sync_of_new =
      cellOf({.operation = CellOperation::kFsync, .is_new = true, .bytes = 4096},
             {{.round = 0, .process = 0, .begin_ns = 8, .times_ns = {14'000'000}}});
  const Cell paused = cellOf({.operation = CellOperation::kOpen, .is_paused = true},
                             {{.round = 0, .process = 0, .begin_ns = 7, .times_ns = {6000}}});
  const Cell open =
      cellOf({.operation = CellOperation::kOpen, .sharing = FileSharing::kShared, .processes = 2},
             {{.round = 3, .process = 1, .begin_ns = 90, .times_ns = {4000, 4100}}});
  c.cells = {random, write, sync, sync_of_new, paused, open};
  c.unreached = {
      {.key = {.operation = CellOperation::kRead, .order = AccessOrder::kSequential, .bytes = 1},
       .reason = "O_DIRECT moves whole blocks of 512 bytes"}};
  return c;
}

class CalibrationDocument : public testing::Test {
 protected:
  CalibrationDocument() : path_(directory_ / "calibration.json") {}

  base::Result<Calibration> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return readCalibration(path_);
  }

  // What is said after the path; "taken" where nothing is.
  std::string complaintAbout(const std::string& text) {
    const auto calibration = read(text);
    if (calibration) return "taken";
    const std::string& sentence = calibration.failure().sentence;
    EXPECT_TRUE(sentence.starts_with(path_.native())) << sentence;
    return sentence.substr(path_.native().size());
  }

  // The same for the example with a part replaced, without the line and the column.
  std::string complaint(const std::string& old_part, const std::string& new_part) {
    std::string text = jsonOf(example());
    const std::size_t at = text.find(old_part);
    EXPECT_NE(at, std::string::npos) << old_part << text;
    if (at != std::string::npos) text.replace(at, old_part.size(), new_part);
    const std::string all = complaintAbout(text);
    const std::size_t column = all.find("column ");
    return column == std::string::npos ? all : all.substr(all.find(": ", column) + 2);
  }

  test::TemporaryDirectory directory_;
  const std::filesystem::path path_;
};

TEST_F(CalibrationDocument, ReadsAsItWasWritten) {
  const Calibration written = example();
  ASSERT_TRUE(writeCalibration(path_, written));
  const auto back = readCalibration(path_);
  ASSERT_TRUE(back) << back.failure().sentence;
  EXPECT_EQ(jsonOf(*back), jsonOf(written));
  EXPECT_EQ(back->cache, CacheState::kCold);
  EXPECT_EQ(back->target.path, written.target.path);
  ASSERT_EQ(back->cells.size(), written.cells.size());
  for (std::size_t i = 0; i < written.cells.size(); ++i) {
    const Cell& mine = back->cells[i];
    const Cell& other = written.cells[i];
    EXPECT_EQ(mine.key, other.key);
    EXPECT_EQ(mine.all.classes(), other.all.classes());
    EXPECT_EQ(mine.all.totalNs(), other.all.totalNs());
    EXPECT_NEAR(mine.all.deviationNs(), other.all.deviationNs(), 1e-6 * other.all.deviationNs());
    EXPECT_EQ(mine.writeback_ns, other.writeback_ns);
    ASSERT_EQ(mine.runs.size(), other.runs.size());
    for (std::size_t k = 0; k < other.runs.size(); ++k) {
      EXPECT_EQ(mine.runs[k].times_ns, other.runs[k].times_ns);
      EXPECT_EQ(mine.runs[k].offsets, other.runs[k].offsets);
      EXPECT_EQ(mine.runs[k].position, other.runs[k].position);
      EXPECT_EQ(mine.runs[k].begin_ns, other.runs[k].begin_ns);
    }
  }
  EXPECT_EQ(back->find(written.cells[2].key), &back->cells[2]);
  EXPECT_EQ(back->find(written.unreached[0].key), nullptr);
}

TEST_F(CalibrationDocument, DeltaOffsetsAreThoseOfThePaper) {
  // Schmid and Kunkel: delta-offset = offset[i] - (offset[i-1] + size[i-1]).
  const AccessRun run{.position = 100, .times_ns = {1, 1, 1}, .offsets = {100, 110, 50}};
  EXPECT_EQ(run.deltaOffset(0, 10), 0);
  EXPECT_EQ(run.deltaOffset(1, 10), 0);
  EXPECT_EQ(run.deltaOffset(2, 10), -70);
}

TEST_F(CalibrationDocument, OtherDocumentsAreRefused) {
  EXPECT_EQ(readCalibration(directory_ / "none").failure().code, base::Code::kNotFound);
  EXPECT_EQ(complaintAbout(""), ": empty");
  EXPECT_EQ(complaintAbout("[]"), ": line 1, column 1: has to be an object");
  EXPECT_EQ(complaintAbout("{\"format\":\"omnio-phases\",\"version\":3}"),
            ": line 1, column 24: not a calibration: \"format\" is not \"omnio-calibration\"");
  EXPECT_EQ(complaint("\"version\": 1", "\"version\": 9"),
            "a calibration of version 9, but this omnio reads version 1");
}

TEST_F(CalibrationDocument, EveryCutIsRefused) {
  const std::string text = jsonOf(example());
  for (std::size_t length = 0; length + 2 < text.size(); length += 11) {
    EXPECT_FALSE(read(text.substr(0, length))) << length;
  }
}

TEST_F(CalibrationDocument, NonsenseIsRefused) {
  EXPECT_EQ(complaint("\"operation\": \"fsync\"", "\"operation\": \"fsink\"").substr(0, 25),
            "unknown operation \"fsink\"");
  EXPECT_EQ(complaint("\"order\": \"random\"", "\"order\": \"none\""),
            "reads and writes have an order, and other operations have none");
  EXPECT_EQ(complaint("\"bytes\": 4096", "\"bytes\": 0"), "reads and writes have bytes");
  EXPECT_EQ(complaint("\"files\": \"own\"", "\"files\": \"shared\""),
            "one process alone shares nothing");
  EXPECT_EQ(complaint("\"files\": \"own\"", "\"files\": \"own\", \"extends\": true"),
            "only writes extend a file");
  EXPECT_EQ(complaint("\"files\": \"own\"", "\"files\": \"own\", \"new\": true"),
            "only fsync has a new file, and reads in order new data");
  EXPECT_EQ(complaint("\"new\": true", "\"paused\": true"),
            "only one process pauses, and not before it syncs");
  EXPECT_EQ(complaint("\"accesses\": 5", "\"accesses\": 6"),
            "the numbers cannot be of the same accesses");
  EXPECT_EQ(complaint("\"total_ns\": 72405", "\"total_ns\": 5"),
            "the numbers cannot be of the same accesses");
  EXPECT_EQ(complaint("70000]", "90000]"), "\"runs\" has accesses that \"all\" does not have");
  EXPECT_EQ(complaint("[40960, 4096, 8192]", "[40960, 4096]"),
            "\"offsets\" has 2 items, and \"times_ns\" has 3");
  EXPECT_EQ(complaint("\"stride\": 400", "\"stride\": 1152921504606846976"),
            "\"stride\" leads beyond what any file has");
  EXPECT_EQ(complaint("[12000000]", "[]"), "\"times_ns\" is empty");
  EXPECT_EQ(complaint("\"process\": 3", "\"process\": 4"),
            "\"process\" is 4; it has to be from 0 to 3");
  EXPECT_EQ(complaint("\"most_percent\": 0.5", "\"most_percent\": 101"),
            "\"most_percent\" has to be from 0 to 100");
  EXPECT_EQ(complaint("\"spent_ns\"", "\"spent\""), "\"spent_ns\" is missing");
  EXPECT_EQ(complaint("\"seed\": 17", "\"seed\": 17, \"more\": 1"), "\"more\" has no place here");
}

TEST_F(CalibrationDocument, CellsComeOnceAndInOrder) {
  Calibration c = example();
  std::swap(c.cells[0], c.cells[1]);
  EXPECT_NE(complaintAbout(jsonOf(c)).find("has to come after those before it"), std::string::npos);
  c = example();
  c.cells[1] = c.cells[0];
  EXPECT_NE(complaintAbout(jsonOf(c)).find("has to come after those before it"), std::string::npos);
  c = example();
  c.unreached[0].key = c.cells[0].key;
  EXPECT_NE(complaintAbout(jsonOf(c)).find("among those reached"), std::string::npos);
}

// Whatever a document has in it: it is refused, or it is one that says the same when written.
TEST_F(CalibrationDocument, ChangedDocumentsAreRefusedOrSound) {
  const std::string good = jsonOf(example());
  const std::vector<std::string> words = {"-1",   "0",  "1e99",  "18446744073709551615",
                                          "null", "{}", "[]",    "\"\\u0000\"",
                                          "true", ",",  "[[[[]", "9223372036854775807"};
  std::mt19937 chance(11);
  int sound = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = good;
    for (unsigned changes = chance() % 3 + 1; changes > 0; --changes) {
      const std::size_t at = chance() % text.size();
      const std::size_t digit = text.find_first_of("0123456789", at);
      if (chance() % 4 == 0 || digit == std::string::npos) {
        text[at] = static_cast<char>(chance() % 256);
      } else {
        const std::size_t end = text.find_first_not_of("0123456789", digit);
        text.replace(digit, end - digit, words[chance() % words.size()]);
      }
    }
    const base::Result<Calibration> calibration = read(text);
    if (!calibration) {
      EXPECT_TRUE(calibration.failure().sentence.starts_with(path_.native()));
      continue;
    }
    ++sound;
    const std::string written = jsonOf(*calibration);
    const base::Result<Calibration> again = read(written);
    ASSERT_TRUE(again) << again.failure().sentence << text;
    EXPECT_EQ(jsonOf(*again), written);
  }
  EXPECT_GT(sound, 0);
}

TEST(CalibrationNoise, DriftAndFloorAreToldApart) {
  std::vector<Reference> references;
  EXPECT_FALSE(noiseOf(references));
  std::mt19937 chance(5);
  std::normal_distribution<double> noise(0, 50);
  for (int i = 0; i < 1000; ++i) {
    // From 1000 to 1200 ns along a line; each tenth was disturbed by something else.
    const std::int64_t time = 1000 + 200 * i / 999 + static_cast<std::int64_t>(noise(chance));
    references.push_back(
        {.begin_ns = 1000 * i, .accesses = 16, .median_ns = i % 10 == 3 ? 90'000 : time});
  }
  const auto found = noiseOf(references);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->drift_percent, 100 * 200 / 1100.0, 3);
  EXPECT_NEAR(found->floor_percent, 100 * 50 / 1100.0, 1);
}

TEST(CalibrationText, CellsHaveNames) {
  EXPECT_EQ(textOf({.operation = CellOperation::kRead,
                    .order = AccessOrder::kRandom,
                    .sharing = FileSharing::kShared,
                    .bytes = 4096,
                    .processes = 2}),
            "4.00 KiB random reads by 2 processes in a shared file");
  EXPECT_EQ(textOf({.operation = CellOperation::kWrite,
                    .order = AccessOrder::kSequential,
                    .extends = true,
                    .bytes = 1}),
            "1 B sequential writes that extend the file by 1 process");
  EXPECT_EQ(textOf({.operation = CellOperation::kRead,
                    .order = AccessOrder::kSequential,
                    .is_new = true,
                    .bytes = 1}),
            "1 B sequential reads of new data by 1 process");
  EXPECT_EQ(textOf({.operation = CellOperation::kFsync, .bytes = 65536, .processes = 2}),
            "fsync after 64.0 KiB by 2 processes in own files");
  EXPECT_EQ(textOf({.operation = CellOperation::kFsync, .is_new = true, .bytes = 65536}),
            "fsync of a new file after 64.0 KiB by 1 process");
  EXPECT_EQ(textOf({.operation = CellOperation::kStat, .is_paused = true}),
            "stat by 1 process after a pause");
  EXPECT_EQ(
      textOf({.operation = CellOperation::kMkdir, .sharing = FileSharing::kShared, .processes = 4}),
      "mkdir by 4 processes in a shared directory");
}

}  // namespace
}  // namespace omnio::predict
