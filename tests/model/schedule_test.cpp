// Schedules as they are written, edited, broken and read.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/calls/mpi_errors.hpp"
#include "core/model/schedule_keys.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/model/schedule_writer.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::model {
namespace {

const calls::Row* row(std::string_view name) {
  for (const calls::Row& r : calls::kTable) {
    if (r.number != 0 && r.name == name) return &r;
  }
  throw std::runtime_error("no such call");
}

// Keeps all that it is given.
class Keeper final : public ScheduleSink {
 public:
  Complaint global(const ScheduleGlobal& g) override {
    global_ = g;
    return std::nullopt;
  }
  Complaint file(FileNumber number, const ScheduleFile& file) override {
    EXPECT_EQ(static_cast<std::size_t>(number), files_.size());
    files_.push_back(file);
    return std::nullopt;
  }
  Complaint beginThread(const ScheduleThread& thread) override {
    threads_.push_back(thread);
    return std::nullopt;
  }
  Complaint event(const ScheduleEvent& event) override {
    events_.push_back(event);
    return refusal_;
  }
  Complaint endThread() override {
    ++ended_;
    return std::nullopt;
  }

  ScheduleGlobal global_;
  std::vector<ScheduleFile> files_;
  std::vector<ScheduleThread> threads_;
  std::vector<ScheduleEvent> events_;
  std::size_t ended_ = 0;
  Complaint refusal_;
};

class Schedule : public testing::Test {
 protected:
  std::string path() const { return directory_ / "s.json"; }
  void save(const std::string& text) { std::ofstream(path()) << text; }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  // The sentence without the path, "" when the schedule is accepted.
  std::string refusal(const std::string& text) {
    save(text);
    Keeper keeper;
    const auto read = readSchedule(path(), keeper);
    if (read) return "";
    const std::string& sentence = read.failure().sentence;
    EXPECT_TRUE(sentence.starts_with(path() + ": ")) << sentence;
    return sentence.substr(path().size() + 2);
  }
  // A schedule of one rank and one thread with these events, one a line from line 7 on.
  static std::string withEvents(const std::string& events) {
    return "{\"format\":\"omnio-schedule\",\"version\":1,\n"
           "\"global\":{\"time_replay\":\"dt\",\"ranks\":1},\n"
           "\"files\":[\n"
           "{\"location\":\"a\",\"role\":\"output\",\"exists\":false}],\n"
           "\"ranks\":[{\"rank\":0,\"threads\":[{\"thread\":0,\n"
           "\"events\":[\n" +
           events + "]}]}]}";
  }
  static std::string open(const std::string& more = "") {
    return "{\"start\":1,\"end\":2,\"command\":\"open\",\"location\":\"a\","
           "\"flags\":\"O_WRONLY|O_CREAT\",\"mode\":\"0644\",\"result\":0" +
           more + "}";
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Schedule, AListOfTargetsHasNamesOnceAndAllThatFilesName) {
  const auto with = [](const std::string& targets, const std::string& target) {
    return "{\"format\":\"omnio-schedule\",\"version\":1,\n"
           "\"global\":{\"time_replay\":\"dt\",\"ranks\":0,\"targets\":" +
           targets +
           "},\n\"files\":[{\"location\":\"a\",\"role\":\"output\",\"exists\":false,\"target\":\"" +
           target + "\"}],\"ranks\":[]}";
  };
  EXPECT_EQ(
      refusal(with(R"([{"name":"bb","directory":"/bb","comment":{"by":"me"}},{"name":"x"}])", "x")),
      "");
  EXPECT_EQ(refusal(with("[]", "x")), "");
  const auto refused = [&](const std::string& targets, const char* words) {
    const std::string sentence = refusal(with(targets, "x"));
    EXPECT_NE(sentence.find(words), std::string::npos) << targets << ": " << sentence;
  };
  refused(R"([{"name":"bb"}])", "names the target x, which \"targets\" does not have");
  refused(R"([{"name":"x"},{"name":"x"}])", "the target x appears twice");
  for (const char* name : {"", "a/b", "a=b", "a:b", "a\\\\x00"}) {
    refused(fmt::format(R"([{{"name":"{}"}}])", name), "the name of a target has no /, = or :");
  }
  for (const char* directory : {"", "bb", "./bb", "../bb", "/a\\\\x00"}) {
    refused(fmt::format(R"([{{"name":"x","directory":"{}"}}])", directory),
            "has to be an absolute path");
  }
  refused(R"([{"directory":"/bb"}])", "\"name\" is missing");
  refused(R"([{"name":"x","size":1}])", "\"size\" has no place here");
  refused(R"({"x":"/bb"})", "\"targets\" has to be a list");
  refused(R"(["x"])", "has to be an object");
}

TEST_F(Schedule, WhatIsLeftOutOfACopyAndABufferMeansThePositionAndNone) {
  save(withEvents(open() +
                  ",\n{\"start\":3,\"end\":4,\"command\":\"copy_file_range\",\"source\":0,\"fd\":0,"
                  "\"offset\":-1,\"position\":300,\"count\":9,\"flags\":0,\"result\":9},\n"
                  "{\"start\":5,\"end\":6,\"command\":\"setvbuf\",\"fd\":0,\"value\":0,\"count\":9,"
                  "\"result\":0}"));
  Keeper keeper;
  const auto read = readSchedule(path(), keeper);
  ASSERT_TRUE(read) << read.failure().sentence;
  const ScheduleEvent& copy = keeper.events_.at(1);
  EXPECT_EQ(argumentOf(copy, calls::Role::kSourceOffset), -1);
  EXPECT_EQ(argumentOf(copy, calls::Role::kOffset), -1);
  EXPECT_EQ(copy.offset, 300);
  EXPECT_EQ(argumentOf(keeper.events_.at(2), calls::Role::kOwnBuffer), 0);
}

TEST_F(Schedule, OnlyTheModeOfANodeHasAType) {
  const auto made = [](const std::string& command, const std::string& mode) {
    return withEvents("{\"start\":1,\"end\":2,\"command\":\"" + command +
                      "\",\"location\":\"a\",\"mode\":\"" + mode + "\",\"result\":0}");
  };
  EXPECT_EQ(refusal(made("mknod", "010600")), "");
  EXPECT_EQ(refusal(made("chmod", "0600")), "");
  EXPECT_NE(refusal(made("chmod", "010600")).find("\"mode\" is beyond 07777"), std::string::npos);
  EXPECT_NE(refusal(made("mknod", "0200000")).find("\"mode\" is beyond 0177777"),
            std::string::npos);
}

TEST_F(Schedule, WhatIsWrittenIsRead) {
  const std::string kOddName = "y\xC2\x9B\xFF\n\\x41";
  ScheduleEvent opened;
  opened.row = row("openat64");
  opened.start_ns = 10;
  opened.end_ns = 25;
  opened.file = FileNumber{1};
  opened.arguments[2] = O_RDWR | O_CREAT | O_SYNC | O_LARGEFILE;
  opened.arguments[3] = 0640;
  opened.new_fd = Descriptor{0};
  opened.id = 7;
  ScheduleEvent written;
  written.row = row("pwritev64");
  written.start_ns = 30;
  written.end_ns = 40;
  written.fd = Descriptor{0};
  written.pieces = {10, 0, 90};
  written.arguments[3] = 4096;
  written.offset = 4096;
  written.result = 100;
  written.request = 100;
  ScheduleEvent line;
  line.row = row("fgets");
  line.start_ns = line.end_ns = 50;
  line.fd = Descriptor{0};
  line.arguments[1] = 256;
  line.offset = 12;
  line.failed = true;
  line.request = 256;
  line.own = Work{.compute_ns = 3, .communication_ns = 4};
  line.after = {{7}, {9, Reason::kMpi, {.compute_ns = 5, .communication_ns = 6}}};
  ScheduleEvent renamed;
  renamed.row = row("rename");
  renamed.start_ns = 60;
  renamed.end_ns = 61;
  renamed.file = FileNumber{0};
  renamed.new_file = FileNumber{1};
  renamed.failed = true;
  renamed.result = EXDEV;
  renamed.id = 9;
  ScheduleEvent inherited;
  inherited.step = Step::kInherited;
  inherited.fd = Descriptor{0};
  inherited.new_fd = Descriptor{1};
  ScheduleEvent preopened;
  preopened.step = Step::kPreopened;
  preopened.file = FileNumber{1};
  preopened.arguments[0] = O_WRONLY | O_APPEND;
  preopened.offset = 0;
  preopened.new_fd = Descriptor{2};
  {
    ScheduleWriter writer(path());
    writer.global({.timing = Timing::kAsap,
                   .write_overwrite = true,
                   .size_scale = 0.5,
                   .size_scales = {{"y\\*\xff", 3}, {"/a/*", 0.25}},
                   .keep_below = 100,
                   .time_scale = 2,
                   .ranks = 4,
                   .targets = {{"fast", "/bb/\xff"}, {"slow", ""}},
                   .source = "t\"\n",
                   .source_whole = false,
                   .source_events_missing = 3,
                   .command = {"app", "-x"},
                   .left_out = {}});
    writer.file({.location = "in/x",
                 .source = "/data/in/x",
                 .role = FileRole::kInput,
                 .exists = true,
                 .size = 100,
                 .read_before_written = 90,
                 .lines = true,
                 .holes = {{.begin = 0, .end = 10}, {.begin = 20, .end = 95}},
                 .target = "fast"});
    writer.file({.location = kOddName, .source = "/data/y", .role = FileRole::kOutput});
    writer.beginThread({.rank = 1, .thread = 0, .pid = 5, .tid = 6, .host = "node"});
    writer.event(opened);
    writer.event(written);
    writer.endThread();
    writer.beginThread({.rank = 1,
                        .thread = 1,
                        .pid = 5,
                        .tid = 7,
                        .host = "node",
                        .recorder_ns = 18,
                        .computing = 0.25});
    writer.event(preopened);
    writer.event(inherited);
    writer.event(line);
    writer.event(renamed);
    writer.endThread();
    ASSERT_TRUE(writer.finish());
  }
  Keeper got;
  const auto read = readSchedule(path(), got);
  ASSERT_TRUE(read) << read.failure().sentence << "\n" << text();
  EXPECT_EQ(got.global_.timing, Timing::kAsap);
  EXPECT_TRUE(got.global_.write_overwrite);
  EXPECT_EQ(got.global_.size_scale, 0.5);
  EXPECT_EQ(got.global_.size_scales, (std::vector<SizeScale>{{"y\\*\xff", 3}, {"/a/*", 0.25}}));
  EXPECT_EQ(got.global_.keep_below, 100U);
  EXPECT_EQ(got.global_.ranks, 4);
  EXPECT_EQ(got.global_.targets, (std::vector<ScheduleTarget>{{"fast", "/bb/\xff"}, {"slow", ""}}));
  EXPECT_EQ(got.global_.source_events_missing, 3U);
  EXPECT_EQ(got.global_.command, (std::vector<std::string>{"app", "-x"}));
  ASSERT_EQ(got.files_.size(), 2U);
  EXPECT_EQ(got.files_[0].location, "in/x");
  EXPECT_EQ(got.files_[0].role, FileRole::kInput);
  EXPECT_EQ(got.files_[1].location, kOddName);
  EXPECT_NE(text().find(R"("location":"y\\xC2\\x9B\\xFF\\x0A\\x5Cx41")"), std::string::npos)
      << text();
  EXPECT_EQ(got.files_[0].read_before_written, 90U);
  EXPECT_TRUE(got.files_[0].lines);
  EXPECT_EQ(got.files_[0].holes,
            (std::vector<Hole>{{.begin = 0, .end = 10}, {.begin = 20, .end = 95}}));
  EXPECT_TRUE(got.files_[1].holes.empty());
  EXPECT_EQ(got.files_[0].target, "fast");
  EXPECT_EQ(got.files_[1].target, "");
  EXPECT_FALSE(got.files_[1].exists);
  ASSERT_EQ(got.threads_.size(), 2U);
  EXPECT_EQ(got.threads_[1].rank, 1);
  EXPECT_EQ(got.threads_[1].thread, 1);
  EXPECT_EQ(got.threads_[1].tid, 7U);
  EXPECT_EQ(got.threads_[0].recorder_ns, 0);
  EXPECT_EQ(got.threads_[1].recorder_ns, 18);
  EXPECT_FALSE(got.threads_[0].computing.has_value());
  EXPECT_EQ(got.threads_[1].computing, 0.25);
  EXPECT_EQ(got.ended_, 2U);
  ASSERT_EQ(got.events_.size(), 6U);
  EXPECT_EQ(got.events_[0].row, row("openat64"));
  EXPECT_EQ(got.events_[0].arguments[2], O_RDWR | O_CREAT | O_SYNC | O_LARGEFILE);
  EXPECT_EQ(got.events_[0].arguments[3], 0640);
  EXPECT_EQ(got.events_[0].new_fd, Descriptor{0});
  EXPECT_EQ(got.events_[0].id, 7U);
  EXPECT_EQ(got.events_[1].pieces, written.pieces);
  EXPECT_EQ(got.events_[1].offset, 4096);
  EXPECT_EQ(got.events_[1].request, 100U);
  EXPECT_EQ(got.events_[2].step, Step::kPreopened);
  EXPECT_EQ(got.events_[2].arguments[0], O_WRONLY | O_APPEND);
  EXPECT_EQ(got.events_[3].step, Step::kInherited);
  EXPECT_EQ(got.events_[3].new_fd, Descriptor{1});
  EXPECT_TRUE(got.events_[4].failed);
  EXPECT_EQ(got.events_[4].result, 0);
  EXPECT_EQ(got.events_[4].offset, 12);
  EXPECT_EQ(got.events_[4].after, line.after);
  EXPECT_EQ(got.events_[4].own, line.own);
  EXPECT_EQ(got.events_[5].result, EXDEV);
  EXPECT_EQ(got.events_[5].new_file, FileNumber{1});
}

TEST_F(Schedule, EmptyOnesAreWhole) {
  ScheduleWriter writer(path());
  writer.global({.ranks = 2});
  ASSERT_TRUE(writer.finish());
  Keeper got;
  EXPECT_TRUE(readSchedule(path(), got)) << text();
  EXPECT_TRUE(got.threads_.empty());
}

TEST_F(Schedule, WithoutFinishNothingIsLeft) {
  {
    ScheduleWriter writer(path());
    writer.global({.ranks = 1});
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  std::filesystem::create_directory(directory_ / "taken");
  ScheduleWriter taken(directory_ / "taken");
  EXPECT_EQ(taken.finish().failure().sentence,
            "cannot write " + (directory_ / "taken").native() + ": not a regular file");
  // A link stays one, and what it leads to is written.
  std::filesystem::create_symlink(directory_ / "real.json", directory_ / "link.json");
  test::writeAll(directory_ / "real.json", "old");
  ScheduleWriter linked(directory_ / "link.json");
  linked.global({.ranks = 0});
  ASSERT_TRUE(linked.finish());
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link.json"));
  EXPECT_GT(std::filesystem::file_size(directory_ / "real.json"), 3U);
  ScheduleWriter nowhere(directory_ / "no" / "s.json");
  const auto written = nowhere.finish();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.failure().sentence, "cannot write " + (directory_ / "no" / "s.json").native() +
                                            ": No such file or directory");
}

TEST_F(Schedule, RepeatsAreExpandedWithTheirSteps) {
  save(withEvents(open() +
                  ",\n{\"repeat\":3,\"body\":[{\"start\":10,\"end\":11,\"command\":\"pwrite\","
                  "\"fd\":0,\"count\":8,\"offset\":100,\"result\":8,"
                  "\"step\":{\"offset\":8,\"start\":5,\"end\":5}}]}"));
  Keeper got;
  const auto read = readSchedule(path(), got);
  ASSERT_TRUE(read) << read.failure().sentence;
  ASSERT_EQ(got.events_.size(), 4U);
  EXPECT_EQ(got.events_[3].offset, 116);
  EXPECT_EQ(got.events_[3].start_ns, 20);
}

TEST_F(Schedule, TheSinksComplaintBecomesASentence) {
  save(withEvents(open()));
  Keeper keeper;
  keeper.refusal_ = "no such thing";
  EXPECT_EQ(readSchedule(path(), keeper).failure().sentence,
            path() + ": line 7, column 102: no such thing");
}

TEST_F(Schedule, WhatIsNoScheduleIsSaid) {
  Keeper keeper;
  EXPECT_EQ(readSchedule(directory_ / "none", keeper).failure().sentence,
            (directory_ / "none").native() + ": No such file or directory");
  EXPECT_EQ(readSchedule(directory_.path(), keeper).failure().sentence,
            directory_.path().native() + ": Is a directory");
  EXPECT_EQ(refusal(""), "empty");
  EXPECT_EQ(refusal("{}"),
            "line 1, column 2: not a schedule: it has no \"format\" and \"version\"");
  EXPECT_EQ(refusal("[1]"), "line 1, column 1: the document has to be an object");
  EXPECT_EQ(refusal("{\"format\":\"omnio-phases\"}"),
            "line 1, column 24: not a schedule: \"format\" is not \"omnio-schedule\"");
  EXPECT_EQ(refusal("{\"format\":\"omnio-schedule\",\n\"version\":2}"),
            "line 2, column 11: schedule version 2, but this omnio reads version 1");
  EXPECT_EQ(refusal("garbage"), "line 1, column 1: not JSON: Invalid value");
}

TEST_F(Schedule, CutAnywhereItIsRefusedWithItsPlace) {
  const std::string whole = withEvents(open());
  ASSERT_EQ(refusal(whole), "");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const std::string sentence = refusal(whole.substr(0, length));
    ASSERT_TRUE(sentence.starts_with("line ")) << length << ": " << sentence;
  }
}

// Under the sanitizers this is what finds a reader that trusts its input.
TEST_F(Schedule, ChangedAnywhereItIsRefusedOrRead) {
  const std::string whole = withEvents(
      open() +
      ",\n{\"repeat\":3,\"body\":[{\"start\":10,\"end\":11,\"command\":\"pwritev\",\"fd\":0,"
      "\"iov\":[8,9],\"offset\":100,\"result\":17,\"step\":{\"offset\":8}}]},\n"
      "{\"start\":20,\"end\":30,\"command\":\"close\",\"fd\":0,\"errno\":\"EIO\",\"id\":7}");
  ASSERT_EQ(refusal(whole), "");
  std::mt19937 random(11);
  const std::string bytes = "{}[]\",:0123456789-.eE\\ntrufals\x80\xFF";
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = whole;
    for (unsigned change = 0; change < 1 + random() % 3; ++change) {
      const std::size_t at = random() % changed.size();
      const char byte = bytes[random() % bytes.size()];
      switch (random() % 3) {
        case 0:
          changed[at] = byte;
          break;
        case 1:
          changed.insert(at, 1, byte);
          break;
        default:
          changed.erase(at, 1 + random() % 5);
      }
    }
    if (!refusal(changed).empty()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(Schedule, NonsenseIsRefusedWithItsPlace) {
  const auto bad = [this](const std::string& event) { return refusal(withEvents(event)); };
  const std::string write = "{\"start\":3,\"end\":4,\"command\":\"write\",\"result\":1,";
  EXPECT_EQ(bad(open() + ",\n" + write + "\"fd\":0,\"count\":-1}"),
            "line 8, column 65: \"count\" is -1; it has to be 0 or more");
  EXPECT_EQ(bad(open() + ",\n" + write + "\"fd\":5,\"count\":1}"),
            "line 8, column 64: fd 5 is used, but no event of rank 0 opens it");
  EXPECT_EQ(bad(write + "\"fd\":0,\"count\":1},\n" + open()),
            "line 7, column 64: fd 0 is used before its own thread opens it");
  EXPECT_EQ(bad("{\"start\":1,\"end\":2,\"command\":\"dup\",\"fd\":0,\"result\":0}"),
            "line 7, column 52: fd 0 is used before its own thread opens it");
  EXPECT_EQ(bad(open() + ",\n" + write + "\"fd\":0,\"count\":1.5}"),
            "line 8, column 66: \"count\" has to be a whole number, not a number");
  EXPECT_EQ(bad(open() + ",\n" + write + "\"fd\":0}"), "line 8, column 54: \"count\" is missing");
  EXPECT_EQ(bad(open() + ",\n" + write + "\"fd\":0,\"count\":1,\"speed\":1}"),
            "line 8, column 74: \"speed\" has no place here");
  EXPECT_EQ(bad(open() + ",\n" + open()), "line 8, column 102: fd 0 of rank 0 is made twice");
  EXPECT_EQ(bad(open(",\"after\":[4]")),
            "line 7, column 114: \"after\" names id 4, which no event has");
  EXPECT_EQ(bad(open(",\"after\":[0]")),
            "line 7, column 113: \"after\" is 0; it has to be 1 or more");
  EXPECT_EQ(bad(open(",\"after\":[{\"id\":4}]")), "line 7, column 119: \"why\" is missing");
  EXPECT_EQ(
      bad(open(",\"after\":[{\"id\":4,\"why\":\"luck\"}]")),
      "line 7, column 132: unknown why \"luck\"; it has to be one of file, mpi, name, thread");
  EXPECT_EQ(bad(open(",\"after\":[{\"id\":0,\"why\":\"mpi\",\"compute\":-1}]")),
            "line 7, column 144: \"compute\" is -1; it has to be from 0 to 315360000000000000");
  EXPECT_EQ(bad(open(",\"after\":[{\"id\":0,\"why\":\"mpi\",\"speed\":1}]")),
            "line 7, column 141: \"speed\" has no place here");
  EXPECT_EQ(
      bad(open(",\"communication\":-1")),
      "line 7, column 121: \"communication\" is -1; it has to be from 0 to 315360000000000000");
  for (const char* mode : {"999", "644", "0x1ff", "08", "-1", ""}) {
    const std::string wrong = std::string("\"mode\":\"") + mode + "\"";
    std::string event = open();
    event.replace(event.find("\"mode\":\"0644\""), 13, wrong);
    EXPECT_TRUE(bad(event).ends_with(std::string("unknown mode \"") + mode + "\"")) << bad(event);
  }
  EXPECT_EQ(bad(open(",\"id\":0")), "line 7, column 109: \"id\" is 0; it has to be 1 or more");
  EXPECT_EQ(
      bad("{\"start\":1,\"end\":2,\"command\":\"unlink\",\"location\":\"/etc\",\"result\":0}"),
      "line 7, column 55: location \"/etc\" is not in the list of files");
  EXPECT_EQ(bad("{\"start\":1,\"end\":2,\"command\":\"reboot\"}"),
            "line 7, column 37: no call has the name \"reboot\"");
  EXPECT_EQ(bad("{\"start\":1,\"end\":2,\"command\":\"MPI_Init\",\"result\":0}"),
            "line 7, column 50: no call has the name \"MPI_Init\"");
  EXPECT_EQ(bad("{\"start\":2,\"end\":1,\"command\":\"delay\"}"),
            "line 7, column 36: it ends before it starts");
  const std::string longer(16000, 'x');
  EXPECT_EQ(bad("{\"start\":1,\"end\":2,\"command\":\"" + longer + "\"}"),
            "line 7, column 16031: no call has the name \"" + longer.substr(0, 200) + "...\"");
  EXPECT_EQ(bad("{\"start\":1,\"end\":2,\"command\":\"unlink\",\"location\":\"" + longer +
                "\",\"result\":0}"),
            "line 7, column 16051: location \"" + longer.substr(0, 200) +
                "...\" is not in the list of files");
  EXPECT_EQ(bad("7"), "line 7, column 1: has to be an object");
  const std::string deep(5000, '[');
  EXPECT_EQ(bad(deep), "line 7, column 58: nested too deeply");
  EXPECT_EQ(bad("{\"command\":\"" + std::string(1000000, 'x') + "\"}"),
            "line 7, column 1000013: a text of 1000000 bytes");
}

TEST_F(Schedule, CallsThatCannotHaveSucceededAreRefusedWithTheirPlace) {
  const auto bad = [this](const std::string& call) {
    return refusal(
        withEvents(open() + ",\n{\"start\":3,\"end\":4,\"fd\":0,\"command\":" + call + "}"));
  };
  EXPECT_EQ(bad(R"("ftruncate","length":-1,"result":0)"),
            "line 8, column 59: \"length\" is -1; it has to be 0 or more");
  EXPECT_EQ(bad(R"("posix_fallocate","offset":-1,"length":1,"result":0)"),
            "line 8, column 65: \"offset\" is -1; it has to be 0 or more");
  EXPECT_EQ(bad(R"("pwrite","count":5,"offset":-1,"result":5)"),
            "line 8, column 66: \"offset\" is -1; it has to be 0 or more");
  EXPECT_EQ(bad(R"("pwritev2","iov":[5],"offset":-2,"flags":0,"result":5)"),
            "line 8, column 68: \"offset\" is -2; it has to be -1 or more");
  EXPECT_EQ(bad(R"("lseek","offset":-5,"whence":"SEEK_SET","result":0)"),
            "line 8, column 86: a seek to offset -5");
  // Whoever edits a count leaves the result as it was.
  const std::string lock =
      R"x("(fcntl_lock)","cmd":"F_SETLK","lock":"F_WRLCK","whence":"SEEK_END","offset":-5,)x"
      R"("length":-5,"result":0)";
  for (const std::string& good :
       {std::string(R"("ftruncate","length":-1,"errno":"EINVAL")"),
        std::string(R"("write","count":5,"result":6)"),
        std::string(R"("pwrite","count":5,"offset":-1,"errno":"EINVAL")"),
        std::string(R"("pwritev2","iov":[5],"offset":-1,"flags":0,"result":5)"),
        std::string(R"("lseek","offset":-5,"whence":"SEEK_END","result":0)"),
        std::string(R"("lockf","value":1,"length":-5,"result":0)"), lock,
        std::string(R"("posix_fadvise","offset":-5,"length":5,"value":0,"result":0)")}) {
    EXPECT_EQ(bad(good), "") << good;
  }
}

// A schedule of MPI-IO of two ranks, with a group of both and one of rank 1. Their events are in
// the lines 8 and 11.
class MpiSchedule : public Schedule {
 protected:
  std::string refusalOf(const std::string& first, const std::string& second,
                        const std::string& groups = "[[0,1],[1]]") {
    const auto rank = [](int number, const std::string& events) {
      return fmt::format("{{\"rank\":{},\"threads\":[{{\"thread\":0,\n\"events\":[\n{}]}}]}}",
                         number, events);
    };
    return refusal(
        "{\"format\":\"omnio-schedule\",\"version\":1,\n"
        "\"global\":{\"time_replay\":\"dt\",\"ranks\":2,\"mpi\":{\"groups\":" +
        groups +
        ",\"types\":[\"b1\"]}},\n\"files\":[\n"
        "{\"location\":\"a\",\"role\":\"output\",\"exists\":false}],\n\"ranks\":[" +
        rank(0, first) + ",\n" + rank(1, second) + "]}");
  }
  static std::string openAs(const std::string& amode, int group = 0,
                            const std::string& result = "\"result\":0") {
    return "{\"start\":1,\"end\":2,\"command\":\"MPI_File_open\",\"location\":\"a\",\"amode\":\"" +
           amode + "\",\"group\":" + std::to_string(group) + "," + result + "}";
  }
  static std::string then(const std::string& call) {
    return ",\n{\"start\":3,\"end\":4,\"fd\":0,\"command\":" + call + "}";
  }
};

TEST_F(MpiSchedule, ContradictionsAreRefusedWithTheirPlace) {
  const std::string good = openAs("MPI_MODE_CREATE|MPI_MODE_RDWR");
  EXPECT_EQ(refusalOf(good, good), "");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_CREATE|MPI_MODE_RDONLY"), good),
            "line 7, column 122: \"amode\" has MPI_MODE_RDONLY, and MPI_MODE_CREATE or "
            "MPI_MODE_EXCL");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_CREATE"), good),
            "line 7, column 106: \"amode\" has 0 of MPI_MODE_RDONLY, MPI_MODE_WRONLY and "
            "MPI_MODE_RDWR; it has to have one");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_RDWR|MPI_MODE_WRONLY"), good),
            "line 7, column 120: \"amode\" has 2 of MPI_MODE_RDONLY, MPI_MODE_WRONLY and "
            "MPI_MODE_RDWR; it has to have one");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_RDWR|MPI_MODE_SEQUENTIAL"), good),
            "line 7, column 124: \"amode\" has MPI_MODE_RDWR and MPI_MODE_SEQUENTIAL");
  const std::string failed = openAs("0x0", 0, "\"errno\":\"MPI_ERR_AMODE\"");
  EXPECT_EQ(refusalOf(failed, failed), "");
  EXPECT_EQ(refusalOf(good, good, "[[0,2],[1]]"),
            "line 2, column 60: \"groups\" is 2; it has to be from 0 to 1");
  EXPECT_EQ(refusalOf(good, good, "[[0,0],[1]]"),
            "line 2, column 60: rank 0 is in the group twice");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_RDWR", 2), good),
            "line 7, column 93: \"group\" is 2; it has to be from 0 to 1");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_RDWR", 1), good),
            "line 7, column 104: rank 0 is not in group 1, which opens the file");
  EXPECT_EQ(refusalOf(good + then(R"("MPI_File_close","result":0)"), ""),
            "line 7, column 120: all ranks of group 0 open its files together, but rank 0 opens 1, "
            "and rank 1 opens 0");
  EXPECT_EQ(refusalOf(good + then(R"("MPI_File_set_size","length":-1,"result":0)"), good),
            "line 8, column 67: \"length\" is -1; it has to be 0 or more");
  EXPECT_EQ(
      refusalOf(good + then(R"("MPI_File_set_view","disp":-1,"etype":0,"filetype":0,"result":0)"),
                good),
      "line 8, column 65: \"disp\" is -1; it has to be 0 or more");
  EXPECT_EQ(
      refusalOf(good + then(R"("MPI_File_set_view","disp":0,"etype":1,"filetype":0,"result":0)"),
                good),
      "line 8, column 74: \"etype\" is 1; it has to be from 0 to 0");
  EXPECT_EQ(refusalOf(good + then(R"("MPI_File_write_at","count":5,"offset":-1,"result":5)"), good),
            "line 8, column 77: \"offset\" is -1; it has to be 0 or more");
}

TEST_F(MpiSchedule, ErrorsHaveTheNamesOfTheirClasses) {
  save("");
  {
    ScheduleWriter writer(path());
    writer.global({.ranks = 1, .mpi = MpiTables{.groups = {{0}}, .types = {}}});
    writer.file({.location = "a", .source = "/a", .role = FileRole::kAbsent});
    writer.beginThread({});
    for (const std::int64_t error : {42, 999}) {  // by Open MPI's numbers
      ScheduleEvent event;
      event.row = row("MPI_File_open");
      event.file = FileNumber{0};
      event.arguments[static_cast<std::size_t>(calls::indexOf(*event.row, calls::Role::kAmode))] =
          calls::kModeReadOnly;
      event.failed = true;
      event.result = error;
      writer.event(event);
    }
    writer.endThread();
    ASSERT_TRUE(writer.finish());
  }
  EXPECT_NE(text().find("\"errno\":\"MPI_ERR_NO_SUCH_FILE\""), std::string::npos) << text();
  EXPECT_NE(text().find("\"errno\":\"999\""), std::string::npos) << text();
  Keeper got;
  ASSERT_TRUE(readSchedule(path(), got));
  ASSERT_EQ(got.events_.size(), 2U);
  EXPECT_EQ(got.events_[0].result, 42);
  EXPECT_EQ(got.events_[1].result, 999);
  // Before, the word was the errno of that number.
  const std::string before = openAs("MPI_MODE_RDONLY", 0, "\"errno\":\"ENOMSG\"");
  EXPECT_EQ(refusalOf(before, before), "");
  EXPECT_EQ(refusalOf(openAs("MPI_MODE_RDONLY", 0, "\"errno\":\"MPI_ERR_LUCK\""), before),
            "line 7, column 118: unknown errno \"MPI_ERR_LUCK\"");
}

TEST(MpiErrorClass, IsOpenMpisWhicheverLibraryReturnedIt) {
  EXPECT_EQ(calls::mpiErrorClass(42), 42);
  EXPECT_EQ(calls::mpiErrorClass(0x2f1a2500 | 37), 42);  // MPICH: MPI_ERR_NO_SUCH_FILE
  EXPECT_EQ(calls::mpiErrorClass(-1), -1);
}

TEST_F(Schedule, LocationsStayBelowTheTarget) {
  const auto bad = [this](const std::string& location, const std::string& role = "output") {
    const std::string text =
        "{\"format\":\"omnio-schedule\",\"version\":1,\n"
        "\"global\":{\"time_replay\":\"dt\",\"ranks\":0},\n"
        "\"files\":[{\"location\":\"" +
        location + "\",\"role\":\"" + role + "\",\"exists\":false}],\"ranks\":[]}";
    const std::string sentence = refusal(text);
    const std::size_t at = sentence.find("location ");
    return at == std::string::npos ? sentence : sentence.substr(at);
  };
  EXPECT_EQ(bad("a/b..c/..d/e"), "");
  EXPECT_EQ(bad("/etc/passwd"),
            "location \"/etc/passwd\" leads out of the target: it begins with /");
  EXPECT_EQ(bad("../x"), "location \"../x\" leads out of the target: it has .. in it");
  EXPECT_EQ(bad("a/../../x"), "location \"a/../../x\" leads out of the target: it has .. in it");
  EXPECT_EQ(bad("a/.."), "location \"a/..\" leads out of the target: it has .. in it");
  EXPECT_EQ(bad(""), "location \"\" is empty");
  // Too long for a file; but an application may ask for it, in vain.
  const std::string name(256, 'n');
  EXPECT_EQ(bad(name),
            "location \"" + name.substr(0, 200) + "...\" has a name of more than 255 bytes");
  EXPECT_EQ(bad(name, "absent"), "");
  std::string path;
  while (path.size() < 5000) path += "dir/";
  EXPECT_EQ(bad(path + "f"),
            "location \"" + path.substr(0, 200) + "...\" is longer than a path may be");
  EXPECT_EQ(bad(path + "f", "absent"), "");
  EXPECT_EQ(bad("a\\u0000b"), "location \"a\\x00b\" has a NUL in it");
  // The character counts that an escape stands for.
  EXPECT_EQ(bad("a\\\\x00b"), "location \"a\\x00b\" has a NUL in it");
  EXPECT_EQ(bad("a/\\\\x2E\\\\x2e/x"),
            "location \"a/../x\" leads out of the target: it has .. in it");
  EXPECT_EQ(bad("\\\\x2Fetc"), "location \"/etc\" leads out of the target: it begins with /");
}

TEST_F(Schedule, TheOrderOfItsPartsIsKept) {
  const std::string head = "{\"format\":\"omnio-schedule\",\"version\":1,";
  EXPECT_EQ(refusal(head + "\"files\":[]}"),
            "line 1, column 47: \"global\" has to come before \"files\"");
  EXPECT_EQ(refusal(head + "\"global\":{\"time_replay\":\"dt\",\"ranks\":2},\"ranks\":[]}"),
            "line 1, column 87: \"files\" has to come before \"ranks\"");
  EXPECT_EQ(refusal(head + "\"global\":{\"time_replay\":\"dt\",\"ranks\":2},\"files\":[],"
                           "\"ranks\":[{\"rank\":1}]}"),
            "line 1, column 108: \"rank\" has to be 0: ranks are in order, from 0");
  EXPECT_EQ(refusal(head + "\"global\":{\"time_replay\":\"dt\",\"ranks\":2},\"files\":[],"
                           "\"ranks\":[{\"rank\":0}]}"),
            "line 1, column 111: it has 1 ranks, but \"global\" names 2");
  EXPECT_EQ(
      refusal(head + "\"global\":{\"time_replay\":\"later\",\"ranks\":2}}"),
      "line 1, column 70: unknown time_replay \"later\"; it has to be one of asap, dt, start");
}

TEST(RequestOf, DoesNotWrapAround) {
  ScheduleEvent items;
  items.row = row("fread");
  items.arguments[1] = std::int64_t{1} << 33;
  items.arguments[2] = std::int64_t{1} << 33;
  EXPECT_EQ(requestOf(items), UINT64_MAX);
  ScheduleEvent pieces;
  pieces.row = row("readv");
  pieces.pieces = {std::uint64_t{1} << 63, std::uint64_t{1} << 63, 5};
  EXPECT_EQ(requestOf(pieces), UINT64_MAX);
}

// Every call that a schedule may have is written and read back with all of its keys.
TEST_F(Schedule, EveryCallGoesRoundWhole) {
  std::vector<const calls::Row*> rows;
  for (const calls::Row& r : calls::kTable) {
    if (r.number != 0 && isSchedulable(r)) rows.push_back(&r);
  }
  ASSERT_GT(rows.size(), 100U);
  std::vector<ScheduleEvent> events;
  {
    ScheduleWriter writer(path());
    writer.global({.ranks = 1, .mpi = MpiTables{.groups = {{0}}, .types = {"b1", "b8"}}});
    writer.file({.location = "a", .source = "/a", .role = FileRole::kOutput});
    writer.beginThread({});
    ScheduleEvent start;
    start.step = Step::kPreopened;
    start.file = FileNumber{0};
    start.offset = 0;
    start.new_fd = Descriptor{0};
    writer.event(start);
    std::int64_t next = 1;
    for (const calls::Row* r : rows) {
      ScheduleEvent event;
      event.row = r;
      event.start_ns = 1;
      event.end_ns = 2;
      for (const ScheduleKey& key : keysOf(*r)) {
        if (key.kind == KeyKind::kFd) event.fd = Descriptor{0};
        if (key.kind == KeyKind::kLocation) event.file = FileNumber{0};
        if (key.kind == KeyKind::kDirectory) event.directory = Descriptor{0};
        if (key.kind == KeyKind::kNewDirectory) event.new_directory = Descriptor{0};
        if (key.kind == KeyKind::kLookups) event.lookups = 2;
        if (key.kind == KeyKind::kNewLookups) event.new_lookups = 0;
        if (key.kind == KeyKind::kNewLocation) event.new_file = FileNumber{0};
        if (key.kind == KeyKind::kText) event.text = "r+";
        if (key.kind == KeyKind::kNumber) event.arguments[key.argument] = 3;
        if (key.kind == KeyKind::kSigned) event.arguments[key.argument] = 4;
        if (key.kind == KeyKind::kOctal) event.arguments[key.argument] = 0600;
        if (key.kind == KeyKind::kOpenFlags) event.arguments[key.argument] = O_RDWR;
        if (key.kind == KeyKind::kWhence) event.arguments[key.argument] = SEEK_END;
        if (key.kind == KeyKind::kCommand) {
          event.arguments[key.argument] =
              calls::has(*r, calls::Role::kLockType) ? F_SETLK : F_SETFL;
        }
        if (key.kind == KeyKind::kTransferOffset) event.offset = event.arguments[key.argument] = 5;
        if (key.kind == KeyKind::kPieces) event.pieces = {1, 2};
        if (key.kind == KeyKind::kRequests) event.pieces = {4, 7};
        if (key.kind == KeyKind::kType) event.arguments[key.argument] = 1;
        if (key.kind == KeyKind::kAmode) {
          event.arguments[key.argument] = calls::kModeCreate | calls::kModeReadWrite;
        }
      }
      if (makesDescriptor(event)) event.new_fd = Descriptor{next++};
      event.phase = static_cast<int>(events.size() % 3);
      event.request = requestOf(event);
      events.push_back(event);
      writer.event(event);
    }
    writer.endThread();
    ASSERT_TRUE(writer.finish());
  }
  Keeper got;
  const auto read = readSchedule(path(), got);
  ASSERT_TRUE(read) << read.failure().sentence;
  ASSERT_EQ(got.events_.size(), events.size() + 1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const ScheduleEvent& a = events[i];
    const ScheduleEvent& b = got.events_[i + 1];
    EXPECT_EQ(a.row, b.row);
    EXPECT_EQ(a.arguments, b.arguments) << a.row->name;
    EXPECT_EQ(a.fd, b.fd) << a.row->name;
    EXPECT_EQ(a.new_fd, b.new_fd) << a.row->name;
    EXPECT_EQ(a.file, b.file) << a.row->name;
    EXPECT_EQ(a.new_file, b.new_file) << a.row->name;
    EXPECT_EQ(a.directory, b.directory) << a.row->name;
    EXPECT_EQ(a.new_directory, b.new_directory) << a.row->name;
    EXPECT_EQ(a.lookups, b.lookups) << a.row->name;
    EXPECT_EQ(a.new_lookups, b.new_lookups) << a.row->name;
    EXPECT_EQ(a.offset, b.offset) << a.row->name;
    EXPECT_EQ(a.pieces, b.pieces) << a.row->name;
    EXPECT_EQ(a.text, b.text) << a.row->name;
    EXPECT_EQ(a.request, b.request) << a.row->name;
    EXPECT_EQ(a.phase, b.phase) << a.row->name;
  }
  ASSERT_TRUE(got.global_.mpi);
  EXPECT_EQ(got.global_.mpi->groups, (std::vector<std::vector<int>>{{0}}));
  EXPECT_EQ(got.global_.mpi->types, (std::vector<std::string>{"b1", "b8"}));
}

// A read of -1 bytes, a place before the file, a stream of no known mode: a program may ask for it,
// and its trace has to become a schedule.
TEST_F(Schedule, WhatFailedMayHaveBeenAskedForAnything) {
  const std::string place = ",{\"start\":3,\"end\":4,\"command\":";
  const std::vector<std::string> asked = {
      R"("read","fd":0,"count":-1,"offset":0,)", R"("pread","fd":0,"count":8,"offset":-5,)",
      R"("fopen","location":"a","type":"",)", R"("fopen","location":"a","type":"name",)"};
  for (const std::string& call : asked) {
    EXPECT_EQ(refusal(withEvents(open() + place + call + R"("errno":"EINVAL"})")), "") << call;
    EXPECT_NE(refusal(withEvents(open() + place + call + R"("result":1})")), "") << call;
  }
}

}  // namespace
}  // namespace omnio::model
