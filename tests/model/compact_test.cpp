// The compact form of schedules: what is written as loops and programs of several ranks, and read
// again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/compact/times_file.hpp"
#include "core/model/flat_digest.hpp"
#include "core/model/rewrite_schedule.hpp"
#include "core/model/schedule_reader.hpp"
#include "core/model/schedule_writer.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::model {
namespace {

constexpr ScheduleForm kExact{.is_compact = true};
constexpr ScheduleForm kMeans{.is_compact = true, .has_exact_times = false};

// Writes down what it is given, a line for each part.
class Lines final : public ScheduleSink {
 public:
  Complaint file(FileNumber, const ScheduleFile& file) override {
    locations_.push_back(file.location);
    return {};
  }
  Complaint beginThread(const ScheduleThread& t) override {
    lines_.push_back(
        fmt::format("rank {} thread {} pid {} tid {} host {} recorder {} computing {:.2f}", t.rank,
                    t.thread, t.pid, t.tid, t.host, t.recorder_ns, t.computing.value_or(-1)));
    return {};
  }
  Complaint event(const ScheduleEvent& e) override {
    std::string line = fmt::format("{}-{} {}", e.start_ns, e.end_ns, e.row ? e.row->name : "step");
    if (e.file != kNoFileNumber) line += " " + locations_.at(static_cast<std::size_t>(e.file));
    line += fmt::format(" fd {} offset {} bytes {} result {} id {}",
                        static_cast<std::int64_t>(e.fd), e.offset, e.request, e.result, e.id);
    if (e.own) line += fmt::format(" own {}+{}", e.own->compute_ns, e.own->communication_ns);
    for (const Wait& wait : e.after) {
      line += fmt::format(" after {} {} {}+{}", wait.id, static_cast<int>(wait.reason),
                          wait.work.compute_ns, wait.work.communication_ns);
    }
    lines_.push_back(std::move(line));
    return {};
  }

  std::vector<std::string> locations_;
  std::vector<std::string> lines_;
};

class Compact : public testing::Test {
 protected:
  std::string path() const { return directory_ / "s.json"; }
  std::string text() const { return test::readAll(path()); }

  // A schedule of these ranks, each a list of threads, each a list of events; files are all that
  // events name in `locations`.
  static std::string schedule(const std::vector<std::string>& locations,
                              const std::vector<std::vector<std::string>>& ranks) {
    std::string text = fmt::format(
        "{{\"format\":\"omnio-schedule\",\"version\":1,\n\"global\":{{\"time_replay\":\"dt\","
        "\"ranks\":{}}},\n\"files\":[",
        ranks.size());
    for (const std::string& location : locations) {
      text += fmt::format(
          "{}\n{{\"location\":\"{}\",\"role\":\"output\",\"exists\":false,\"source\":\"/app/{}\"}}",
          &location == &locations.front() ? "" : ",", location, location);
    }
    text += "],\n\"ranks\":[";
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      text += fmt::format("{}\n{{\"rank\":{},\"threads\":[", rank == 0 ? "" : ",", rank);
      for (std::size_t thread = 0; thread < ranks[rank].size(); ++thread) {
        text += fmt::format(
            "{}\n{{\"thread\":{},\"pid\":{},\"tid\":{},\"recorder\":{},\"host\":\"h\","
            "\"computing\":0.{},\"events\":[{}]}}",
            thread == 0 ? "" : ",", thread, 100 + rank, 200 + 10 * rank + thread, 10 + rank,
            5 + rank % 3, ranks[rank][thread]);
      }
      text += "]}";
    }
    return text + "]}\n";
  }

  static std::string mkdir(std::int64_t start, const std::string& location,
                           const std::string& more = "") {
    return fmt::format(
        "{{\"start\":{},\"end\":{},\"command\":\"mkdir\",\"location\":\"{}\",\"mode\":\"0755\","
        "\"result\":0{}}}",
        start, start + 10 + start % 7, location, more);
  }
  // Calls on names d.RANK.0, d.RANK.1, ..., at times that follow no rule.
  static std::string turns(std::size_t rank, int turns, int but = -1) {
    std::string events;
    std::int64_t start = 5 + static_cast<std::int64_t>(rank);
    for (int turn = 0; turn < turns; ++turn) {
      if (turn == but) continue;
      if (!events.empty()) events += ",\n";
      events += mkdir(start, fmt::format("d.{}.{}", rank, turn));
      start += 100 + turn * turn % 13;
    }
    return events;
  }
  static std::vector<std::string> namesOfTurns(std::size_t ranks, int turns) {
    std::vector<std::string> names;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (int turn = 0; turn < turns; ++turn) names.push_back(fmt::format("d.{}.{}", rank, turn));
    }
    return names;
  }

  std::vector<std::string> linesOf(const std::string& path) {
    Lines lines;
    const auto read = readSchedule(path, lines);
    EXPECT_TRUE(read) << read.failure().sentence;
    return lines.lines_;
  }
  // Writes the flat text in its compact form, and says whether that reads as the flat one does.
  testing::AssertionResult staysTheSame(const std::string& flat) {
    const std::string original = directory_ / "flat.json";
    test::writeAll(original, flat);
    if (const auto made = rewriteSchedule(original, path(), kExact); !made) {
      return testing::AssertionFailure() << made.failure().sentence;
    }
    const auto wanted = linesOf(original);
    const auto found = linesOf(path());
    for (std::size_t i = 0; i < std::min(wanted.size(), found.size()); ++i) {
      if (wanted[i] != found[i]) {
        return testing::AssertionFailure() << found[i] << "\n  instead of " << wanted[i];
      }
    }
    if (wanted.size() != found.size()) {
      return testing::AssertionFailure() << found.size() << " lines, not " << wanted.size();
    }
    return testing::AssertionSuccess();
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Compact, ALoopIsWrittenOnceAndKeepsEachTime) {
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(1, 50), {{turns(0, 50)}})));
  EXPECT_NE(text().find("\"repeat\":50"), std::string::npos) << text();
  EXPECT_NE(text().find("\"location\":\"d.0.{turn}\""), std::string::npos) << text();
}

TEST_F(Compact, RanksThatDoTheSameAreWrittenOnce) {
  std::vector<std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < 5; ++rank) ranks.push_back({turns(rank, 20)});
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(5, 20), ranks)));
  EXPECT_NE(text().find("{\"ranks\":\"0-4\""), std::string::npos) << text();
  EXPECT_NE(text().find("d.{rank}.{turn}"), std::string::npos) << text();
}

TEST_F(Compact, ARankThatDiffersDividesTheOthers) {
  std::vector<std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < 7; ++rank)
    ranks.push_back({turns(rank, 20, rank == 3 ? 7 : -1)});
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(7, 20), ranks)));
  EXPECT_NE(text().find("{\"ranks\":\"0-2\""), std::string::npos) << text();
  EXPECT_NE(text().find("{\"rank\":3,"), std::string::npos) << text();
  EXPECT_NE(text().find("{\"ranks\":\"4-6\""), std::string::npos) << text();
}

TEST_F(Compact, ARankWhoseNumbersFollowNoRuleDividesTheOthers) {
  std::vector<std::vector<std::string>> ranks;
  std::vector<std::string> names;
  for (const int number : {0, 1, 2, 9, 10, 11}) {
    names.push_back(fmt::format("x{}", number));
    ranks.push_back({mkdir(number, names.back())});
  }
  EXPECT_TRUE(staysTheSame(schedule(names, ranks)));
  EXPECT_NE(text().find("{\"ranks\":\"0-2\""), std::string::npos) << text();
  EXPECT_NE(text().find("{\"ranks\":\"3-5\""), std::string::npos) << text();
}

TEST_F(Compact, RanksWhoseThreadsAreOfOtherProcessesDivideTheOthers) {
  std::vector<std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < 6; ++rank) ranks.push_back({turns(rank, 20), turns(rank, 20)});
  std::string flat = schedule(namesOfTurns(6, 20), ranks);
  // The second threads of two ranks are of a process that these started.
  for (const int rank : {2, 3}) {
    const std::string own = fmt::format("\"thread\":1,\"pid\":{},", 100 + rank);
    flat.replace(flat.find(own), own.size(), fmt::format("\"thread\":1,\"pid\":{},", 900 + rank));
  }
  EXPECT_TRUE(staysTheSame(flat));
  const std::string original = directory_ / "flat.json";
  ASSERT_TRUE(rewriteSchedule(original, path(), kMeans));
  for (const char* ranks_text : {"\"0-1\"", "\"2-3\"", "\"4-5\""}) {
    EXPECT_NE(text().find(ranks_text), std::string::npos) << ranks_text;
  }
}

TEST_F(Compact, RanksWithoutThreadsAreShared) {
  std::vector<std::vector<std::string>> ranks(9);
  ranks[4] = {turns(4, 5)};
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(9, 5), ranks)));
  EXPECT_NE(text().find("{\"ranks\":\"0-3\",\"threads\":[]}"), std::string::npos) << text();
  EXPECT_NE(text().find("{\"ranks\":\"5-8\",\"threads\":[]}"), std::string::npos) << text();
}

TEST_F(Compact, ThreadsOfARankHaveTheirOwnTimes) {
  std::vector<std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks.push_back({turns(2 * rank, 6), "", turns(2 * rank + 1, 9)});
  }
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(6, 9), ranks)));
  EXPECT_NE(text().find("\"times\":\"{3*rank+2}\""), std::string::npos) << text();
}

// Names that differ by no rule, so that nothing of them is a loop without lists.
std::string scattered(std::size_t rank, int count) {
  std::string events;
  for (int i = 0; i < count; ++i) {
    if (i > 0) events += ",\n";
    // Three kinds of lines by turns that never come back.
    const int kind = i * i % 7 + i / 7 % 3;
    events += fmt::format(
        "{{\"start\":{0},\"end\":{1},\"command\":\"mkdir\",\"location\":\"d.{2}.0\",\"mode\":"
        "\"0{3}\",\"result\":0}}",
        10 * i, 10 * i + i % 9, rank, 700 + kind % 8);
  }
  return events;
}

TEST_F(Compact, ProgramsThatAreTooLargeToBeHeldAreWrittenAsTheyCome) {
  std::string large;
  std::uint64_t state = 1;
  constexpr int kEvents = 40'000;
  for (int i = 0; i < kEvents; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    large += fmt::format(
        "{}{{\"start\":{},\"end\":{},\"command\":\"mkdir\",\"location\":\"d.0.0\","
        "\"mode\":\"0{:o}\",\"result\":0}}",
        i == 0 ? "" : ",\n", 10 * i, 10 * i + 3, 64 + (state >> 33) % 400);
  }
  const std::vector<std::vector<std::string>> ranks = {
      {scattered(0, 9)}, {scattered(1, 9)}, {large, turns(0, 7), large}, {scattered(3, 9)}, {},
      {scattered(5, 9)}};
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(6, 7), ranks)));
  EXPECT_NE(text().find("{\"ranks\":\"0-1\""), std::string::npos);
  EXPECT_NE(text().find("{\"rank\":2,"), std::string::npos);
  EXPECT_NE(text().find("{\"rank\":4,\"threads\":[]}"), std::string::npos);
}

TEST_F(Compact, WaitsKeepTheirIdsAndTheirWork) {
  std::string events = mkdir(1, "d.0.0", ",\"id\":1") + ",\n" + mkdir(20, "d.0.0", ",\"id\":2");
  for (int i = 0; i < 9; ++i) {
    events +=
        ",\n" + mkdir(100 + 50 * i, "d.0.0",
                      fmt::format(",\"compute\":{},\"communication\":{},\"after\":[{{\"id\":1,"
                                  "\"why\":\"mpi\",\"compute\":{},\"communication\":{}}},{}]",
                                  i, i % 2, 3 * i, 7 * i, 1 + i % 2));
  }
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(1, 1), {{events}})));
}

TEST_F(Compact, StepsThatAreNoCallsKeepTheirTimes) {
  EXPECT_TRUE(staysTheSame(schedule(
      {"a", "b"},
      {{"{\"start\":5,\"end\":9,\"command\":\"mkdir\",\"location\":\"b\",\"mode\":\"0755\","
        "\"result\":0},\n"
        "{\"start\":0,\"end\":0,\"command\":\"preopened\",\"location\":\"a\",\"flags\":"
        "\"O_RDWR\",\"offset\":0,\"result\":0},\n"
        "{\"start\":9,\"end\":9,\"command\":\"inherited\",\"fd\":0,\"result\":1},\n"
        "{\"start\":0,\"end\":0,\"command\":\"inherited\",\"fd\":0,\"result\":2},\n"
        "{\"start\":20,\"end\":30,\"command\":\"delay\"}"}})));
}

TEST_F(Compact, ALoopMayHaveMoreThan64ListsOfValues) {
  constexpr int kLists = 70;
  std::string events;
  std::uint64_t state = 1;
  for (int turn = 0; turn < 6; ++turn) {
    for (int i = 0; i < kLists; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      events += fmt::format(
          "{}{{\"start\":{},\"end\":{},\"command\":\"setxattr\",\"location\":\"d.0.0\","
          "\"attribute\":\"a{}\",\"size\":{},\"flags\":0,\"result\":0}}",
          events.empty() ? "" : ",\n", 100 * turn + i, 100 * turn + i, i, state >> 40);
    }
  }
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(1, 1), {{events}})));
  EXPECT_NE(text().find("\"bm\":["), std::string::npos) << "as many lists";
}

TEST_F(Compact, NestsAreNotDeeperThanASchedule) {
  // Each bit of the turn has a step that no other bits add up to.
  constexpr int kBits = 12;
  std::string events;
  std::vector<std::string> names;
  for (int turn = 0; turn < 1 << kBits; ++turn) {
    std::int64_t number = 0;
    std::int64_t step = 1;
    for (int bit = 0; bit < kBits; ++bit, step *= 5) number += (turn >> bit & 1) * step;
    events += fmt::format(
        "{}{{\"start\":{},\"end\":{},\"command\":\"setxattr\",\"location\":\"d.0.0\","
        "\"attribute\":\"a\",\"size\":{},\"flags\":0,\"result\":0}}",
        turn == 0 ? "" : ",\n", turn, turn, number);
  }
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(1, 1), {{events}})));
}

TEST_F(Compact, ThreeTurnsOfEachLoopAreNotDeeperThanASchedule) {
  constexpr int kLoops = 8;
  std::string events;
  int turns = 1;
  for (int i = 0; i < kLoops; ++i) turns *= 3;
  for (int turn = 0; turn < turns; ++turn) {
    std::int64_t number = 0;
    std::int64_t step = 1;
    for (int loop = 0, rest = turn; loop < kLoops; ++loop, step *= 5, rest /= 3)
      number += rest % 3 * step;
    events += fmt::format(
        "{}{{\"start\":{},\"end\":{},\"command\":\"setxattr\",\"location\":\"d.0.0\","
        "\"attribute\":\"a\",\"size\":{},\"flags\":0,\"result\":0}}",
        turn == 0 ? "" : ",\n", turn, turn, number);
  }
  EXPECT_TRUE(staysTheSame(schedule(namesOfTurns(1, 1), {{events}})));
}

// Three turns each, as the writer has them, are more than can be read for a test.
TEST_F(Compact, AsManyLoopsAsTurnsAllowMayBeInsideOfEachOther) {
  constexpr int kLoops = 26;
  std::string event =
      "{\"gap\":1,\"duration\":1,\"command\":\"rmdir\",\"location\":\"a\",\"result\":0,"
      "\"after\":[{\"id\":0,\"why\":\"mpi\",\"compute\":1}]}";
  for (int i = 0; i < kLoops; ++i) {
    event = fmt::format("{{\"repeat\":{},\"body\":[{}]}}", i < 2 ? 2 : 1, event);
  }
  test::writeAll(path(), schedule({"a"}, {{event}}));
  EXPECT_EQ(linesOf(path()).size(), 5U);
}

TEST_F(Compact, BracesInNamesAndOtherTextsStay) {
  std::string events;
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(fmt::format("{{{0}}}{{turn}}{0:03}", i));
    if (i > 0) events += ",\n";
    events += mkdir(i, names.back());
    events += fmt::format(
        ",\n{{\"start\":{0},\"end\":{0},\"command\":\"setxattr\",\"location\":\"{1}\","
        "\"attribute\":\"{{x}}\",\"size\":{0},\"flags\":0,\"result\":0}},\n"
        "{{\"start\":{0},\"end\":{0},\"command\":\"fopen64\",\"location\":\"{1}\",\"type\":\"{{r}}"
        "\","
        "\"errno\":\"EINVAL\"}}",
        i, names.back());
  }
  EXPECT_TRUE(staysTheSame(schedule(names, {{events}})));
  EXPECT_NE(text().find("\"repeat\":5"), std::string::npos) << text();
}

TEST_F(Compact, NamesWithVeryManyNumbersOrBracesStay) {
  std::string events;
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    std::string digits;
    std::string braces;
    for (int k = 0; k < 8000; ++k) digits += fmt::format("{}.", (k + i) % 10);
    for (int k = 0; k < 16'000; ++k) braces += i % 2 == k % 3 ? '{' : '}';
    for (const std::string& name : {digits, braces + std::to_string(i)}) {
      names.push_back(name);
      events += fmt::format(
          "{}{{\"start\":{},\"end\":{},\"command\":\"rmdir\",\"location\":\"{}\","
          "\"errno\":\"ENAMETOOLONG\"}}",
          events.empty() ? "" : ",\n", i, i, name);
    }
    events += ",\n" + mkdir(i, "short");
  }
  names.emplace_back("short");
  std::string flat = schedule(names, {{events}});
  // Names of files have to be shorter.
  for (std::size_t at = 0; (at = flat.find("\"output\"", at)) != std::string::npos; ++at) {
    flat.replace(at, 8, "\"absent\"");
  }
  EXPECT_TRUE(staysTheSame(flat));
}

TEST_F(Compact, CommentsOfLoopsAndEventsMayHaveBraces) {
  test::writeAll(path(), schedule({"a"}, {{R"({"repeat":2,"comment":"{z}","body":[
{"gap":1,"duration":2,"command":"mkdir","location":"a","mode":"0755","result":0,
 "comment":{"why":"{z}","location":"{"}}]},
{"start":9,"end":9,"command":"rmdir","location":"a","result":0,"comment":["{"]})"}}));
  EXPECT_EQ(linesOf(path()).size(), 4U);
}

TEST_F(Compact, IsReadBackBeforeItTakesThePlaceOfTheOldOne) {
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule(namesOfTurns(1, 20), {{turns(0, 20)}}));
  test::writeAll(path(), "the old one");
  ScheduleWriter writer(path(), kExact);
  Rewriter copy(writer);
  ASSERT_TRUE(readSchedule(original, copy));
  ASSERT_TRUE(writer.complete());
  Lines lines;
  const auto read = writer.readBack(lines);
  ASSERT_TRUE(read) << read.failure().sentence;
  EXPECT_EQ(lines.lines_, linesOf(original));
  EXPECT_EQ(text(), "the old one");
  EXPECT_FALSE(std::filesystem::exists(timesPath(path())));
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(linesOf(path()), lines.lines_);
}

TEST_F(Compact, TheTimesOfAnEarlierFormGoWithIt) {
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule(namesOfTurns(1, 20), {{turns(0, 20)}}));
  for (const ScheduleForm form : {ScheduleForm{}, kMeans}) {
    ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
    ASSERT_TRUE(std::filesystem::exists(timesPath(path())));
    ASSERT_TRUE(rewriteSchedule(path(), path(), form));
    EXPECT_FALSE(std::filesystem::exists(timesPath(path())));
  }
  // A file of that name that is not one of times is not ours.
  test::writeAll(timesPath(path()), "precious");
  ASSERT_TRUE(rewriteSchedule(original, path(), {}));
  EXPECT_EQ(test::readAll(timesPath(path())), "precious");
}

TEST_F(Compact, TheTimesAreBesideTheScheduleAndNotBesideALink) {
  namespace fs = std::filesystem;
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule(namesOfTurns(1, 20), {{turns(0, 20)}}));
  fs::create_directory(directory_ / "links");
  const fs::path link = directory_ / "links" / "link.json";
  fs::create_symlink("../s.json", link);
  test::writeAll(path(), "the old one");
  ASSERT_TRUE(rewriteSchedule(original, link, kExact));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::exists(timesPath(path())));
  EXPECT_EQ(linesOf(link), linesOf(original));
  EXPECT_EQ(linesOf(path()), linesOf(original));
}

TEST_F(Compact, OldTimesBesideANewScheduleAreRefused) {
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule(namesOfTurns(1, 20), {{turns(0, 20)}}));
  ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
  const std::string old = text();
  test::writeAll(original, schedule(namesOfTurns(1, 21), {{turns(0, 21)}}));
  ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
  test::writeAll(path(), old);
  Lines lines;
  const auto read = readSchedule(path(), lines);
  ASSERT_FALSE(read);
  EXPECT_NE(read.failure().sentence.find("the times of another schedule (the digests differ)"),
            std::string::npos)
      << read.failure().sentence;
}

TEST_F(Compact, TheDigestIsThatOfAllFormsAndOfAllThatIsSaid) {
  std::vector<std::vector<std::string>> ranks;
  for (std::size_t rank = 0; rank < 4; ++rank) ranks.push_back({turns(rank, 20)});
  std::string flat = schedule(namesOfTurns(4, 20), ranks);
  const std::string original = directory_ / "flat.json";
  const auto digest_of = [&](const std::string& text) {
    test::writeAll(original, text);
    FlatDigest digest;
    const auto read = readSchedule(original, digest);
    EXPECT_TRUE(read) << read.failure().sentence;
    return digest.value();
  };
  // Half of the last digit, in all four threads: 0.125 and 0.135.
  for (const auto& [from, to] : {std::pair("0.5,", "0.125,"), std::pair("0.6,", "0.135,")}) {
    for (std::size_t at = 0; (at = flat.find(from, at)) != std::string::npos;)
      flat.replace(at, 4, to);
  }
  const std::uint64_t digest = digest_of(flat);
  ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
  EXPECT_EQ(digest_of(text()), digest) << "compact";
  ASSERT_TRUE(rewriteSchedule(original, path(), {}));
  EXPECT_EQ(digest_of(text()), digest) << "flat";
  const auto differs = [&](std::string_view from, std::string_view to) {
    std::string changed = flat;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    EXPECT_NE(digest_of(changed), digest) << to;
  };
  differs("\"dt\"", "\"asap\"");
  differs("\"ranks\":4}", R"("ranks":4,"mpi":{"groups":[[0,1]],"types":[]}})");
  differs("\"ranks\":4}", R"("ranks":4,"mpi":{"groups":[],"types":["x"]}})");
  differs("\"exists\":false", R"("exists":false,"target":"bb")");
}

TEST_F(Compact, WithoutExactTimesALoopHasItsMeans) {
  const std::string original = directory_ / "flat.json";
  std::string events;
  std::int64_t start = 1000;
  for (int turn = 0; turn < 4; ++turn) {
    if (turn > 0) events += ",\n";
    events += fmt::format(
        "{{\"start\":{},\"end\":{},\"command\":\"mkdir\",\"location\":\"a\","
        "\"mode\":\"0755\",\"result\":0}}",
        start, start + 10 + 2 * turn);
    start += 10 + 2 * turn + 100 + turn;
  }
  test::writeAll(original, schedule({"a"}, {{events}}));
  ASSERT_TRUE(rewriteSchedule(original, path(), kMeans));
  EXPECT_FALSE(std::filesystem::exists(timesPath(path())));
  EXPECT_EQ(text().find("\"times\""), std::string::npos) << text();
  const std::string fact = "mkdir a fd -1 offset -1 bytes 0 result 0 id 0";
  // The time before the loop is that of the recording; between turns there are 100, 101 and 102 ns.
  EXPECT_EQ(
      linesOf(path()),
      (std::vector<std::string>{"rank 0 thread 0 pid 100 tid 200 host h recorder 10 computing 0.50",
                                "1000-1013 " + fact, "1114-1127 " + fact, "1228-1241 " + fact,
                                "1342-1355 " + fact}));
}

TEST_F(Compact, AnEditedLoopHasItsMeansAndTheNextOneItsTimes) {
  const std::string original = directory_ / "flat.json";
  std::string events = turns(0, 20);
  for (int turn = 0; turn < 20; ++turn) {
    const std::int64_t start = 10'000 + 70 * turn + turn * turn % 5;
    events += fmt::format(
        ",\n{{\"start\":{},\"end\":{},\"command\":\"rmdir\",\"location\":"
        "\"d.0.{}\",\"result\":0}}",
        start, start + turn % 3, turn);
  }
  test::writeAll(original, schedule(namesOfTurns(1, 20), {{events}}));
  ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
  const auto wanted = linesOf(path());
  ASSERT_EQ(wanted.size(), 41U);
  std::string edited = text();
  const std::size_t loop = edited.find("{\"repeat\":20,", edited.find("\"ranks\":["));
  ASSERT_NE(loop, std::string::npos);
  edited.replace(loop, 13, "{\"repeat\":12,");
  test::writeAll(path(), edited);
  const auto found = linesOf(path());
  ASSERT_EQ(found.size(), 33U);
  const auto durationOf = [](const std::string& line) {
    const std::size_t dash = line.find('-');
    return std::stoll(line.substr(dash + 1)) - std::stoll(line.substr(0, dash));
  };
  for (std::size_t turn = 1; turn < 12; ++turn)
    EXPECT_EQ(durationOf(found[1 + turn]), durationOf(found[1])) << "means";
  for (std::size_t turn = 0; turn < 20; ++turn)
    EXPECT_EQ(durationOf(found[13 + turn]), durationOf(wanted[21 + turn])) << "exact";
}

TEST_F(Compact, AnEventThatIsAddedToALoopLeavesTheOthersTheirTimes) {
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule(namesOfTurns(1, 20), {{turns(0, 20)}}));
  ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
  const auto wanted = linesOf(path());
  std::string edited = text();
  const std::size_t body = edited.find("\"body\":[", edited.find("\"ranks\":[")) + 8;
  edited.insert(body,
                "{\"start\":0,\"end\":5,\"command\":\"rmdir\",\"location\":\"d.0.0\","
                "\"result\":0,\"compute\":3},");
  test::writeAll(path(), edited);
  const auto found = linesOf(path());
  ASSERT_EQ(found.size(), 41U);
  for (std::size_t turn = 0; turn < 20; ++turn) {
    EXPECT_TRUE(found[1 + 2 * turn].ends_with(" own 3+0")) << found[1 + 2 * turn];
    const auto durationOf = [](const std::string& line) {
      const std::size_t dash = line.find('-');
      return std::stoll(line.substr(dash + 1)) - std::stoll(line.substr(0, dash));
    };
    EXPECT_EQ(durationOf(found[2 + 2 * turn]), durationOf(wanted[1 + turn])) << turn;
  }
}

TEST_F(Compact, WorkThatFewEventsHaveKeepsItsSum) {
  const auto with_work = [](std::int64_t start, const std::string& name, std::int64_t compute) {
    const std::string work =
        compute == 0 ? ""
                     : fmt::format(",\"compute\":{},\"communication\":{}", compute, compute / 2);
    return mkdir(start, name, work);
  };
  std::vector<std::vector<std::string>> ranks;
  std::int64_t exact = 0;
  int events_with_work = 0;
  for (std::size_t rank = 0; rank < 5; ++rank) {
    std::string events;
    for (int turn = 0; turn < 30; ++turn) {
      // Few turns of some ranks have some, and then most turns of all.
      const std::int64_t compute = rank % 2 == 1 && turn % 13 == 4 ? 1000 + turn : 0;
      const std::int64_t often = turn % 4 != 0 ? 500 + turn : 0;
      exact += compute + often;
      events_with_work += (compute != 0) + (often != 0);
      events += events.empty() ? "" : ",\n";
      events += with_work(200 * turn, fmt::format("d.{}.{}", rank, turn), compute) + ",\n" +
                with_work(200 * turn + 100, fmt::format("e.{}.{}", rank, turn), often);
    }
    ranks.push_back({events});
  }
  std::vector<std::string> names = namesOfTurns(5, 30);
  for (const std::string& name : namesOfTurns(5, 30)) names.push_back("e" + name.substr(1));
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule(names, ranks));
  ASSERT_TRUE(rewriteSchedule(original, path(), kMeans));
  EXPECT_NE(text().find("\"ranks\":\"0-4\""), std::string::npos) << text();
  EXPECT_NE(text().find("\"share\":[2,75]"), std::string::npos)
      << "2 of 30 turns of 2 of 5 ranks" << text();
  std::int64_t sum = 0;
  int found = 0;
  for (const std::string& line : linesOf(path())) {
    const std::size_t own = line.find(" own ");
    if (own == std::string::npos) continue;
    ++found;
    sum += std::stoll(line.substr(own + 5));
  }
  EXPECT_EQ(found, events_with_work);
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(exact), 0.5 * events_with_work);
}

TEST_F(Compact, AShareThatMakesNoSenseIsRefused) {
  for (const char* share :
       {"[0,5]", "[6,5]", "[1]", "[1,2,3]", "[-1,5]", "7", "[1,9223372036854775807]"}) {
    test::writeAll(
        path(),
        schedule(
            {"a"},
            {{fmt::format(
                R"({{"repeat":2,"body":[{{"gap":1,"duration":1,"command":"rmdir","location":"a","result":0,"compute":1,"share":{}}}]}})",
                share)}}));
    Lines lines;
    const auto read = readSchedule(path(), lines);
    ASSERT_FALSE(read) << share;
    EXPECT_NE(read.failure().sentence.find("share"), std::string::npos) << read.failure().sentence;
  }
}

TEST_F(Compact, AWaitForAFileThatGetsWorkTakesNoTimesOfTheNextLine) {
  const std::string original = directory_ / "flat.json";
  test::writeAll(original, schedule({"a", "b"},
                                    {{mkdir(0, "a", ",\"id\":1"),
                                      mkdir(40, "b", ",\"after\":[1]") + ",\n" + mkdir(77, "a")}}));
  ASSERT_TRUE(rewriteSchedule(original, path(), kExact));
  const auto wanted = linesOf(path());
  std::string edited = text();
  const std::size_t after = edited.find("\"after\":[1]");
  ASSERT_NE(after, std::string::npos);
  edited.replace(after, 11, "\"after\":[{\"id\":1,\"why\":\"file\",\"compute\":7}]");
  test::writeAll(path(), edited);
  auto found = linesOf(path());
  ASSERT_EQ(found.size(), wanted.size());
  EXPECT_EQ(found.at(4), wanted.at(4));
  EXPECT_TRUE(found.at(3).ends_with(" after 1 0 7+0")) << found.at(3);
}

TEST_F(Compact, TimesThatNoEventCanHaveAreRefused) {
  constexpr std::int64_t kTooLong = std::int64_t{11} * 365 * 86400 * 1'000'000'000;
  const std::vector<std::vector<std::int64_t>> streams = {
      {kTooLong, 0, 0, 0, 0, 1, 1},  {-kTooLong, 0, 0, 0, 0, 1, 1}, {0, -1, 0, 0, 0, 1, 1},
      {0, kTooLong, 0, 0, 0, 1, 1},  {0, 0, 2, 0, 0, 1, 1},         {0, 0, 1, -1, 0, 1, 1},
      {0, 0, 1, 0, INT64_MIN, 1, 1}, {0, 0, 1, 0, 0, INT64_MAX, 1}, {0, 0, 1, 0, 0, 1, -5}};
  for (const std::vector<std::int64_t>& values : streams) {
    TimesWriter times(timesPath(path()));
    times.beginStream({.rank = 0, .thread = 0, .pid = 1, .tid = 1, .host = "h"});
    times.add(values);
    const auto digest = times.complete();
    ASSERT_TRUE(digest && times.finish());
    test::writeAll(
        path(),
        fmt::format(
            R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"dt","ranks":1,)"
            R"("times":{{"file":"s.json.times","digest":"{}"}}}},"files":[{{"location":"a","role":"output","exists":false}}],)"
            R"("ranks":[{{"rank":0,"threads":[{{"thread":0,"times":0,"events":[)"
            R"({{"times":[0,7],"command":"rmdir","location":"a","result":0,"after":[{{"id":0,"why":"mpi"}}]}}]}}]}}]}})",
            *digest));
    Lines lines;
    const auto read = readSchedule(path(), lines);
    ASSERT_FALSE(read) << values[0];
    EXPECT_NE(read.failure().sentence.find("the file of times has "), std::string::npos)
        << read.failure().sentence;
  }
}

TEST_F(Compact, RankAndRanksTogetherAreRefused) {
  std::string flat = schedule({"a"}, {{mkdir(0, "a")}});
  const std::string rank = "{\"rank\":0,";
  flat.replace(flat.find(rank), rank.size(), "{\"rank\":0,\"ranks\":\"0-0\",");
  test::writeAll(path(), flat);
  Lines lines;
  const auto read = readSchedule(path(), lines);
  ASSERT_FALSE(read);
  EXPECT_NE(read.failure().sentence.find("\"rank\" and \"ranks\" together"), std::string::npos)
      << read.failure().sentence;
}

}  // namespace
}  // namespace omnio::model
