// `omnio log`, `omnio stats` and `omnio collect` as a user meets them: what they print where, and
// the exit status.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "tests/core/temporary_directory.hpp"
#include "tests/core/trace_builder.hpp"

namespace omnio {
namespace {

// Sends a descriptor into a file while it lives.
class Redirection {
 public:
  Redirection(int fd, const std::filesystem::path& path) : fd_(fd), saved_(dup(fd)) {
    flushAll();
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, fd_);
    close(file);
  }
  ~Redirection() {
    flushAll();
    dup2(saved_, fd_);
    close(saved_);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

 private:
  static void flushAll() { std::fflush(nullptr); }
  int fd_;
  int saved_;
};

struct Ran {
  int status = -1;
  std::string out;
  std::string err;
};

Ran omnio(std::vector<const char*> arguments, const char* out = nullptr) {
  const test::TemporaryDirectory directory;
  arguments.insert(arguments.begin(), "omnio");
  Ran ran;
  {
    const Redirection to_out(STDOUT_FILENO, out != nullptr ? out : (directory / "out").c_str());
    const Redirection to_err(STDERR_FILENO, directory / "err");
    ran.status = cli::run(static_cast<int>(arguments.size()), arguments.data());
  }
  if (out == nullptr) ran.out = test::readAll(directory / "out");
  ran.err = test::readAll(directory / "err");
  return ran;
}

class ReadingCommands : public testing::Test {
 protected:
  void SetUp() override {
    for (const int rank : {0, 1}) {
      const auto token = static_cast<std::uint64_t>(900 + rank);
      test::ContainerBuilder container(token, static_cast<std::uint32_t>(300 + rank));
      container.facts(test::usualFacts(rank, 2));
      for (const std::uint32_t log : {0U, 1U}) {
        test::ChunkBuilder chunk(token, log, 0, 0, 1000);
        chunk.write(2000 + log, 2100 + log, 4096);
        container.chunk(chunk);
      }
      container.ended(2).save(directory_ / fmt::format("node1.{}.0.omnio", 300 + rank));
    }
  }
  const char* trace() const { return directory_.path().c_str(); }
  test::TemporaryDirectory directory_;
};

TEST_F(ReadingCommands, LogPrintsASectionForEachThread) {
  const Ran ran = omnio({"log", trace()});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out,
            "# rank=0 thread=0 host=node1 pid=300 tid=5000\n"
            "2000 2100 write count=4096,fd=3,path=out.bin,result=4096\n"
            "# rank=0 thread=1 host=node1 pid=300 tid=5001\n"
            "2001 2101 write count=4096,fd=3,path=out.bin,result=4096\n"
            "# rank=1 thread=0 host=node1 pid=301 tid=5000\n"
            "2000 2100 write count=4096,fd=3,path=out.bin,result=4096\n"
            "# rank=1 thread=1 host=node1 pid=301 tid=5001\n"
            "2001 2101 write count=4096,fd=3,path=out.bin,result=4096\n");
}

TEST_F(ReadingCommands, LogOfOneThreadOfOneRank) {
  EXPECT_EQ(omnio({"log", trace(), "--rank", "1", "--thread", "1"}).out,
            "# rank=1 thread=1 host=node1 pid=301 tid=5001\n"
            "2001 2101 write count=4096,fd=3,path=out.bin,result=4096\n");
}

TEST_F(ReadingCommands, LogAsJson) {
  const Ran ran = omnio({"log", trace(), "--rank", "0", "--thread", "0", "--json"});
  EXPECT_EQ(
      ran.out,
      "{\"rank\":0,\"thread\":0,\"pid\":300,\"tid\":5000,\"start_ns\":2000,\"end_ns\":2100,"
      "\"call\":\"write\",\"class\":\"write\",\"depth\":0,\"file\":\"/data/out.bin\",\"fd\":3,"
      "\"args\":{\"count\":4096,\"path\":\"out.bin\"},\"result\":4096,\"bytes\":4096,"
      "\"failed\":false}\n");
}

TEST_F(ReadingCommands, LogSaysWhatIsMissingAndWhere) {
  test::ContainerBuilder container(900, 300);
  test::ChunkBuilder late(900, 0, 3, 6, 1000);
  late.write(2000, 2100, 1);
  container.facts(test::usualFacts(0, 1)).chunk(late).ended(1, 6, ENOSPC);
  const test::TemporaryDirectory directory;
  container.save(directory / "node1.300.0.omnio");
  const std::string path = directory.path().native();
  const Ran ran = omnio({"log", path.c_str()});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "# " + path +
                         ": the trace is not whole; 6 events are missing\n"
                         "# 6 events of process 300 on host node1 were dropped: No space left on "
                         "device\n"
                         "# rank=0 thread=0 host=node1 pid=300 tid=5000\n"
                         "# 6 events are missing here\n"
                         "2000 2100 write count=1,fd=3,path=out.bin,result=1\n");
  const Ran json = omnio({"log", path.c_str(), "--json"});
  EXPECT_EQ(json.out.find('#'), std::string::npos);
  EXPECT_NE(json.err.find("6 events are missing"), std::string::npos);
}

TEST_F(ReadingCommands, StatsInBothForms) {
  const Ran text = omnio({"stats", trace(), "--by", "call"});
  EXPECT_EQ(text.status, 0);
  EXPECT_TRUE(text.out.starts_with(fmt::format(
      "Trace {}: 4 events, 2 processes, 2 of 2 ranks\nWhole: yes; no events are missing\n",
      trace())))
      << text.out;
  const Ran json = omnio({"stats", trace(), "--by", "rank", "--rank", "1", "--json"});
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(json.out.c_str()).HasParseError());
  EXPECT_EQ(document["groups"].Size(), 1U);
  EXPECT_STREQ(document["groups"][0]["name"].GetString(), "1");
}

// A process that could not write a byte of its log.
class EmptyLog : public testing::Test {
 protected:
  void SetUp() override { test::writeAll(file_, ""); }
  const char* trace() const { return directory_.path().c_str(); }
  const std::string reason() const {
    return file_.native() + ": empty: the process could not write its log";
  }
  test::TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "node1.300.0.omnio";
};

TEST_F(EmptyLog, IsReadAsAnIncompleteTraceWithoutEvents) {
  const Ran stats = omnio({"stats", trace()});
  EXPECT_EQ(stats.status, 0);
  EXPECT_EQ(stats.out, fmt::format("Trace {}: 0 events, 0 processes, 0 of 1 rank\n"
                                   "Whole: no; how many events are missing is not known\n  - {}\n",
                                   trace(), reason()));
  EXPECT_EQ(stats.err, "");
  for (const char* by : {"rank", "thread", "call", "file"}) {
    const Ran json = omnio({"stats", trace(), "--by", by, "--json"});
    EXPECT_EQ(json.status, 0);
    rapidjson::Document document;
    ASSERT_FALSE(document.Parse(json.out.c_str()).HasParseError());
    EXPECT_FALSE(document["trace"]["whole"].GetBool());
    EXPECT_EQ(document["trace"]["reasons"][0].GetString(), reason());
    EXPECT_TRUE(document["clocks"].Empty());
    EXPECT_TRUE(document["groups"].Empty());
  }
  const std::string notes =
      fmt::format("# {}: the trace is not whole; how many events are missing is not known\n# {}\n",
                  trace(), reason());
  EXPECT_EQ(omnio({"log", trace()}).out, notes);
  EXPECT_EQ(omnio({"log", trace(), "--json"}).out, "");
  const Ran mpi = omnio({"log", trace(), "--mpi"});
  EXPECT_EQ(mpi.status, 0);
  EXPECT_TRUE(mpi.out.starts_with(notes)) << mpi.out;
  EXPECT_EQ(omnio({"log", trace(), "--mpi", "--json"}).status, 0);
}

TEST_F(EmptyLog, NoRankOrThreadCanBeChosen) {
  const Ran ran = omnio({"stats", trace(), "--rank", "2"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err, fmt::format("omnio: {}: no rank 2 in this trace; it has no rank\n", trace()));
}

TEST_F(EmptyLog, OtherCommandsSayWhatIsThere) {
  const Ran phases = omnio({"phases", trace(), "--json"});
  EXPECT_EQ(phases.status, 0) << phases.err;
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(phases.out.c_str()).HasParseError());
  EXPECT_TRUE(document["phases"].Empty());
  EXPECT_EQ(omnio({"phases", trace()}).status, 0);
  const Ran collected = omnio({"collect", trace()});
  EXPECT_EQ(collected.status, 0) << collected.err;
  EXPECT_EQ(collected.out, "0 events of 0 ended processes collected\n");
  const Ran packed = omnio({"pack", trace()});
  EXPECT_EQ(packed.status, 0);
  EXPECT_EQ(packed.err, "omnio: " + reason() + "; it is left as it is\n");
  EXPECT_EQ(omnio({"pack", trace(), "--json"}).status, 0);
  const test::TemporaryDirectory directory;
  const std::string schedule = directory / "s.json";
  const Ran preprocessed = omnio({"preprocess", trace(), "-o", schedule.c_str()});
  EXPECT_EQ(preprocessed.status, 1);
  EXPECT_EQ(preprocessed.err,
            fmt::format("omnio: {0}: the trace is not whole: {1}; how many events are missing is "
                        "not known\nomnio: {0}: holds no I/O on files that could be replayed\n",
                        trace(), reason()));
}

TEST_F(ReadingCommands, CollectOfAWholeTraceHasNothingToDo) {
  const Ran ran = omnio({"collect", trace()});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "0 events of 0 ended processes collected\n");
}

TEST_F(ReadingCommands, WhatFailsIsSaidInOneSentenceWithStatus1) {
  for (const char* command : {"log", "stats", "collect"}) {
    const Ran ran = omnio({command, "/does/not/exist"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, "omnio: /does/not/exist: No such file or directory\n");
  }
  const Ran rank = omnio({"stats", trace(), "--rank", "7"});
  EXPECT_EQ(rank.status, 1);
  EXPECT_EQ(rank.err,
            fmt::format("omnio: {}: no rank 7 in this trace; it has ranks 0, 1\n", trace()));
  for (const char* command : {"log", "stats"}) {
    const Ran thread = omnio({command, trace(), "--thread", "9"});
    EXPECT_EQ(thread.status, 1);
    EXPECT_EQ(thread.err, fmt::format("omnio: {}: no thread 9 in what was chosen\n", trace()));
  }
}

TEST_F(ReadingCommands, AFullDeviceUnderStandardOutputIsNoticed) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  const Ran ran = omnio({"log", trace()}, "/dev/full");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err, "omnio: standard output: No space left on device\n");
}

TEST(Usage, WrongUsageIsStatus2WithAHint) {
  const auto error = [](std::vector<const char*> arguments) {
    const Ran ran = omnio(std::move(arguments));
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_EQ(error({}), "omnio: A subcommand is required\nTry `omnio --help`.\n");
  EXPECT_EQ(error({"bogus"}), "omnio: unknown command `bogus`\nTry `omnio --help`.\n");
  EXPECT_EQ(error({"log"}), "omnio: TRACE is required\nTry `omnio log --help`.\n");
  EXPECT_EQ(error({"stats", "T", "--by", "colour"}),
            "omnio: --by: colour not in {file,rank,thread,call}\nTry `omnio stats --help`.\n");
  EXPECT_EQ(error({"schedule"}), "omnio: A subcommand is required\nTry `omnio schedule --help`.\n");
  EXPECT_EQ(error({"schedule", "show"}),
            "omnio: SCHEDULE is required\nTry `omnio schedule show --help`.\n");
  EXPECT_NE(error({"log", "T", "--rank", "-1"}), "");
  EXPECT_NE(error({"log", "T", "--colour"}), "");
  EXPECT_EQ(error({"stats", "T", "--window", "2..1"}),
            "omnio: --window: `2..1` ends before it begins\nTry `omnio stats --help`.\n");
}

TEST(Usage, ANameThatIsAlmostOneIsGuessed) {
  const auto error = [](std::vector<const char*> arguments) {
    const std::string text = omnio(std::move(arguments)).err;
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(error({"stat"}), "omnio: unknown command `stat`; did you mean `stats`?");
  EXPECT_EQ(error({"proprecess"}),
            "omnio: unknown command `proprecess`; did you mean `preprocess`?");
  EXPECT_EQ(error({"verbose"}), "omnio: unknown command `verbose`");
  EXPECT_EQ(error({"schedule", "shwo", "S"}),
            "omnio: unknown command `schedule shwo`; did you mean `schedule show`?");
  EXPECT_EQ(error({"schedule", "S"}), "omnio: unknown command `schedule S`");
  EXPECT_EQ(error({"schedule", "show", "S", "--jsn"}),
            "omnio: The following argument was not expected: --jsn; did you mean `--json`?");
  EXPECT_EQ(error({"stats", "T", "--jsn"}),
            "omnio: The following argument was not expected: --jsn; did you mean `--json`?");
  EXPECT_EQ(
      error({"stats", "T", "--widnow=1.."}),
      "omnio: The following argument was not expected: --widnow=1..; did you mean `--window`?");
  EXPECT_EQ(error({"stats", "T", "--colour"}),
            "omnio: The following argument was not expected: --colour");
}

TEST(Usage, HelpOfACommandIsThatOfItsOption) {
  EXPECT_EQ(omnio({"help"}).out, omnio({"--help"}).out);
  EXPECT_EQ(omnio({"help", "stats"}).out, omnio({"stats", "--help"}).out);
  EXPECT_EQ(omnio({"help", "help"}).out, omnio({"help", "--help"}).out);
  const std::string nested = omnio({"schedule", "show", "--help"}).out;
  EXPECT_NE(nested.find("Usage: omnio schedule show "), std::string::npos) << nested;
  EXPECT_EQ(omnio({"help", "schedule", "show"}).out, nested);
}

TEST(Usage, HelpListsExcludedOptionsByName) {
  for (int again = 0; again < 20; ++again) {
    EXPECT_NE(omnio({"stats", "--help"}).out.find("  --csv Excludes: --json --waits\n"),
              std::string::npos);
  }
}

TEST(Usage, HelpOfEachCommandNamesIt) {
  const std::string all = omnio({"--help"}).out;
  std::istringstream lines(all.substr(all.find("Subcommands:\n")));
  std::string line;
  std::getline(lines, line);
  int commands = 0;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const Ran ran = omnio({"help", name.c_str()});
    EXPECT_EQ(ran.status, 0) << name;
    EXPECT_NE(ran.out.find("Usage: omnio " + name + ' '), std::string::npos) << ran.out;
    ++commands;
  }
  EXPECT_GE(commands, 17);
}

TEST(Usage, HelpOfAnUnknownCommandIsRefused) {
  const Ran ran = omnio({"help", "stat"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, "omnio: unknown command `stat`; did you mean `stats`?\nTry `omnio --help`.\n");
  EXPECT_EQ(omnio({"help", "stats", "TRACE"}).status, 2);
  EXPECT_EQ(omnio({"help", "schedule", "shwo"}).err,
            "omnio: unknown command `schedule shwo`; did you mean `schedule show`?\n"
            "Try `omnio schedule --help`.\n");
}

TEST(Usage, HelpNamesTheExitStatuses) {
  const std::string usual =
      "Exit status:\n"
      "  0                           the work is done\n"
      "  1                           the work failed; standard error says why\n"
      "  2                           wrong usage\n";
  EXPECT_NE(omnio({"stats", "--help"}).out.find(usual), std::string::npos);
  EXPECT_NE(omnio({"verify", "--help"}).out.find(usual + "  3   "), std::string::npos);
}

TEST(Usage, HelpAndVersionAreDone) {
  for (const auto& arguments : std::vector<std::vector<const char*>>{{"--help"},
                                                                     {"log", "--help"},
                                                                     {"stats", "--help"},
                                                                     {"collect", "--help"},
                                                                     {"--version"}}) {
    const Ran ran = omnio(arguments);
    EXPECT_EQ(ran.status, 0);
    EXPECT_NE(ran.out, "");
    EXPECT_EQ(ran.err, "");
  }
}

}  // namespace
}  // namespace omnio
