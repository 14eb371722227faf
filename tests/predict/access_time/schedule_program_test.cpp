// What the calls of a schedule access, and that loops are counted as they would be written out.
#include "predict/access_time/schedule_program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/core/temporary_directory.hpp"
#include "tests/predict/access_time/schedule_text.hpp"

namespace omnio::access_time {
namespace {

using test::Events;
using test::scheduleOf;

class ScheduleProgramTest : public ::testing::Test {
 protected:
  Program read(const std::string& document, double most_steps = kMostSteps) {
    omnio::test::writeAll(directory_ / "s.json", document);
    auto program = readProgram(directory_ / "s.json", most_steps);
    EXPECT_TRUE(program) << program.failure().sentence;
    return program ? std::move(*program) : Program{};
  }

  // "create; write 100 sequential extends; ..." of one rank, in order.
  std::string accessesOf(const Program& program, std::size_t rank = 0) {
    std::string text;
    for (const ProgramStep& step : program.threads[rank].steps) {
      if (step.access == kNoAccess) continue;
      text += (text.empty() ? "" : "; ") + nameOf(program.accesses[step.access]);
    }
    return text;
  }

  static std::string nameOf(const Access& access) {
    std::string text(predict::nameOf(access.operation));
    if (access.bytes > 0) text += fmt::format(" {}", access.bytes);
    if (access.order != AccessOrder::kNone) {
      text += fmt::format(" {}", predict::nameOf(access.order));
    }
    if (access.extends) text += " extends";
    if (access.is_new) text += " new";
    if (access.sharing == FileSharing::kShared) text += " shared";
    if (access.stands_for_another) text += " alike";
    return text;
  }

  omnio::test::TemporaryDirectory directory_;
};

TEST_F(ScheduleProgramTest, TellsSequentialAccessesFromOthersAndGrowthFromOverwriting) {
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .write(0, 0, 100)
                                               .write(0, 100, 100)
                                               .write(0, 50, 100)
                                               .read(0, 150, 20)
                                               .read(0, 0, 20)
                                               .text()}));
  EXPECT_EQ(accessesOf(program),
            "create; write 4096 sequential extends; write 100 sequential; write 100 random; "
            "read 20 sequential new; read 20 random");
  EXPECT_EQ(program.moved_bytes, 340);
}

TEST_F(ScheduleProgramTest, FollowsLengthsAndNamesThatMpiChanges) {
  const auto call = [](const char* name, const char* members) {
    return fmt::format(R"({{"start":1,"end":2,"command":"MPI_File_{}",{}}})", name, members);
  };
  const auto opened = [&call](int fd) {
    const std::string members = fmt::format(
        R"("location":"a","amode":"MPI_MODE_CREATE|MPI_MODE_RDWR","group":0,"result":{})", fd);
    return call("open", members.c_str());
  };
  const std::string write = call("write_at", R"("fd":0,"count":8192,"offset":0,"result":8192)");
  const std::string events = fmt::format("{},{},{},{},{},{},{}", opened(0), write,
                                         call("set_size", R"("fd":0,"length":0,"result":0)"), write,
                                         call("close", R"("fd":0,"result":0)"),
                                         call("delete", R"("location":"a","result":0)"), opened(1));
  const Program program =
      read(R"({"format":"omnio-schedule","version":1,"global":{"time_replay":"dt","ranks":1,)"
           R"("mpi":{"groups":[[0]],"types":["b1"]}},)"
           R"("files":[{"location":"a","role":"output","exists":false}],)"
           R"("ranks":[{"rank":0,"threads":[{"thread":0,"events":[)" +
           events + "]}]}]}");
  EXPECT_EQ(accessesOf(program),
            "create; write 8192 sequential extends; ftruncate; write 8192 sequential extends; "
            "close 16384; unlink; create");
}

TEST_F(ScheduleProgramTest, CreatEmptiesAFileAsOpenDoes) {
  const auto accessesBy = [this](const char* again) {
    return accessesOf(read(
        scheduleOf({Events().open("a", 0).write(0, 0, 8192).put(again).write(1, 0, 4096).text()})));
  };
  const std::string wanted =
      "create; write 8192 sequential extends; open; ftruncate; write 4096 sequential extends";
  EXPECT_EQ(accessesBy(R"("command":"creat","location":"a","mode":"0644","result":1)"), wanted);
  EXPECT_EQ(
      accessesBy(
          R"("command":"open","location":"a","flags":"O_WRONLY|O_CREAT|O_TRUNC","mode":"0644","result":1)"),
      wanted);
}

TEST_F(ScheduleProgramTest, FcntlTurnsAppendingOnAndOff) {
  const std::string write = R"("command":"write","fd":{},"count":4096,"result":4096)";
  const auto writes = [&write](int fd) {
    return std::string(write).replace(write.find("{}"), 2, std::to_string(fd));
  };
  const auto set = [](int flags) {
    return fmt::format(R"("command":"fcntl","fd":0,"cmd":"F_SETFL","value":{},"result":0)", flags);
  };
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .write(0, 0, 16384)
                                               .put(R"("command":"dup","fd":0,"result":1)")
                                               .put(set(O_APPEND))
                                               .put(writes(1))
                                               .put(set(0))
                                               .write(0, 0, 4096)
                                               .text()}));
  EXPECT_EQ(accessesOf(program),
            "create; write 16384 sequential extends; write 4096 sequential extends; "
            "write 4096 random");
}

TEST_F(ScheduleProgramTest, KnowsWhichReadsAreTheFirstOfNewData) {
  const std::string text = accessesOf(read(scheduleOf({Events()
                                                           .open("a", 0)
                                                           .write(0, 0, 8192)
                                                           .write(0, 8192, 8192)
                                                           .open("a", 1)
                                                           .read(1, 0, 8192)
                                                           .read(1, 8192, 4096)
                                                           .read(1, 12288, 4096)
                                                           .open("a", 2)
                                                           .read(2, 0, 8192)
                                                           .open("old", 3)
                                                           .read(3, 0, 8192)
                                                           .text()})));
  EXPECT_EQ(text.substr(text.find("read")),
            "read 8192 sequential new; read 4096 sequential new; read 4096 sequential new; open; "
            "read 8192 sequential; open; read 8192 sequential");
}

TEST_F(ScheduleProgramTest, KnowsFirstReadsAfterGoingBack) {
  const std::string text = accessesOf(read(scheduleOf({Events()
                                                           .open("a", 0)
                                                           .write(0, 0, 8192)
                                                           .read(0, 8192, 0)
                                                           .read(0, 0, 8192)
                                                           .read(0, 0, 8192)
                                                           .text()})));
  EXPECT_EQ(text.substr(text.find("read")),
            "read 1 sequential; read 8192 sequential new; read 8192 random");
}

// Data of other ranks may lie on another node.
TEST_F(ScheduleProgramTest, KnowsNewDataOfTheRankThatWroteIt) {
  const std::string own =
      Events().open("a", 0).write(0, 0, 8192).open("a", 1).read(1, 0, 8192).text();
  const Program program =
      read(scheduleOf({own, own, Events().open("a", 0).read(0, 0, 8192).text()}));
  for (const int rank : {0, 1}) {
    const std::string text = accessesOf(program, rank);
    EXPECT_EQ(text.substr(text.find("read")), "read 8192 sequential new shared") << rank;
  }
  EXPECT_EQ(accessesOf(program, 2), "open shared; read 8192 sequential shared");
  // Each reads what the other one has written between its own parts.
  const auto other = [](long own) {
    return Events()
        .open("a", 0)
        .write(0, own * 8192, 8192)
        .write(0, (own + 2) * 8192, 8192)
        .open("a", 1)
        .read(1, (1 - own) * 8192, 8192)
        .text();
  };
  const Program crossed = read(scheduleOf({other(0), other(1)}));
  for (const int rank : {0, 1}) {
    EXPECT_EQ(accessesOf(crossed, rank).find("new"), std::string::npos) << rank;
  }
}

TEST_F(ScheduleProgramTest, TakesWhatWasThereBeforeForOldBelowWhatIsAppended) {
  const std::string text = accessesOf(read(scheduleOf({Events()
                                                           .open("old", 0)
                                                           .write(0, 1000000, 8192)
                                                           .open("old", 1)
                                                           .read(1, 0, 1000000)
                                                           .read(1, 1000000, 8192)
                                                           .read(1, 1008192, 0)
                                                           .text()})));
  EXPECT_EQ(text.substr(text.find("read")),
            "read 1000000 sequential; read 8192 sequential new; read 1 sequential");
}

// Data that is cut off and written again is new again.
TEST_F(ScheduleProgramTest, KnowsNewDataBehindACut) {
  const std::string text =
      accessesOf(read(scheduleOf({Events()
                                      .open("a", 0)
                                      .write(0, 0, 8192)
                                      .open("a", 1)
                                      .read(1, 0, 8192)
                                      .put(R"("command":"ftruncate","fd":0,"length":0,"result":0)")
                                      .write(0, 0, 8192)
                                      .open("a", 2)
                                      .read(2, 0, 8192)
                                      .text()})));
  EXPECT_EQ(text,
            "create; write 8192 sequential extends; open; read 8192 sequential new; ftruncate; "
            "write 8192 sequential extends; open; read 8192 sequential new");
}

// A calibration's small writes mostly go into the page of the one before.
TEST_F(ScheduleProgramTest, TakesSmallWritesByThePagesThatTheyNeed) {
  Events events;
  events.open("a", 0);
  for (int i = 0; i < 5; ++i) events.write(0, i * 1000, 1000);
  events.write(0, 5000, 8192);
  EXPECT_EQ(accessesOf(read(scheduleOf({events.text()}))),
            "create; write 4096 sequential extends; write 1000 sequential; write 1000 sequential; "
            "write 1000 sequential; write 4096 sequential extends; write 8192 sequential extends");
}

TEST_F(ScheduleProgramTest, GivesSyncsAndClosesTheBytesThatTheyFind) {
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .write(0, 0, 100)
                                               .write(0, 100, 50)
                                               .call("fsync", 0)
                                               .write(0, 150, 30)
                                               .call("fdatasync", 0)
                                               .call("close", 0)
                                               .open("d/b", 1)
                                               .write(1, 0, 70)
                                               .call("close", 1)
                                               .text()}));
  EXPECT_EQ(accessesOf(program),
            "create; write 4096 sequential extends; write 50 sequential; fsync 150 new; write 30 "
            "sequential; fdatasync 30; close; create; write 4096 sequential extends; close 70");
}

TEST_F(ScheduleProgramTest, KnowsWhichSyncsAreOfNewFiles) {
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .write(0, 0, 10)
                                               .call("fdatasync", 0)
                                               .call("fsync", 0)
                                               .open("old", 1)
                                               .write(1, 0, 10)
                                               .call("fsync", 1)
                                               .text()}));
  EXPECT_EQ(
      accessesOf(program),
      "create; write 4096 sequential extends; fsync 10 new; fsync; open; write 10 sequential; "
      "fsync 10");
}

TEST_F(ScheduleProgramTest, GivesACloseTheBytesSinceItsOpenAlone) {
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .write(0, 0, 100)
                                               .call("close", 0)
                                               .open("a", 1)
                                               .write(1, 100, 50)
                                               .call("close", 1)
                                               .text()}));
  EXPECT_EQ(
      accessesOf(program),
      "create; write 4096 sequential extends; close 100; open; write 50 sequential; close 50");
}

TEST_F(ScheduleProgramTest, KnowsWhichOpensMakeAFile) {
  const Program program =
      read(scheduleOf({Events().open("a", 0).call("close", 0).open("a", 1).open("old", 2).text()}));
  EXPECT_EQ(accessesOf(program), "create; close; open; open");
  // Who empties a file with something in it waits for that too.
  EXPECT_EQ(accessesOf(read(
                scheduleOf({Events().open("old", 0, "O_WRONLY|O_TRUNC").write(0, 0, 10).text()}))),
            "open; ftruncate; write 4096 sequential extends");
}

TEST_F(ScheduleProgramTest, NamesMetadataCallsByWhatIsMeasured) {
  const Program program = read(
      scheduleOf({Events()
                      .put(R"("command":"mkdir","location":"d","mode":"0755","result":0)")
                      .put(R"("command":"stat","location":"old","result":0)")
                      .put(R"("command":"rename","location":"old","newlocation":"a","result":0)")
                      .put(R"("command":"chmod","location":"a","mode":"0644","result":0)")
                      .put(R"("command":"unlink","location":"a","result":0)")
                      .put(R"("command":"stat","location":"a","errno":"ENOENT")")
                      .text()}));
  EXPECT_EQ(accessesOf(program), "mkdir; stat; rename; stat alike; unlink; stat");
}

TEST_F(ScheduleProgramTest, GivesStreamsTheAccessesOfTheirBuffers) {
  Events events;
  events.put(R"("command":"fopen","location":"a","type":"w","result":0)");
  for (int i = 0; i < 5; ++i) {
    events.put(R"("command":"fwrite","fd":0,"size":1,"nmemb":1000,"result":1000)");
  }
  events.call("fclose", 0);
  EXPECT_EQ(accessesOf(read(scheduleOf({events.text()}))),
            "create; write 4096 sequential extends; write 4096 sequential extends; close 5000");
}

TEST_F(ScheduleProgramTest, SeesWhichFilesRanksShareAndWhereTheyTakeTurns) {
  const auto rank = [](long first) {
    return Events()
        .open("a", 0)
        .write(0, first, 100)
        .write(0, first + 200, 100)
        .write(0, first + 400, 100)
        .text();
  };
  const Program program = read(scheduleOf({rank(0), rank(100)}));
  EXPECT_EQ(accessesOf(program, 0),
            "create shared; write 100 strided extends shared; write 100 strided extends shared; "
            "write 100 strided extends shared");
  EXPECT_EQ(accessesOf(program, 1),
            "open shared; write 100 strided extends shared; write 100 strided extends shared; "
            "write 100 strided extends shared");
}

// The name is free again, and what is made with it is empty.
TEST_F(ScheduleProgramTest, LetsAFileTakeItsBytesAlongToItsNewName) {
  const std::string rename = R"("command":"rename","location":"a","newlocation":"d/b","result":0)";
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .write(0, 0, 8192)
                                               .put(rename)
                                               .call("fsync", 0)
                                               .call("close", 0)
                                               .open("a", 1)
                                               .write(1, 0, 8192)
                                               .call("close", 1)
                                               .open("d/b", 2)
                                               .write(2, 0, 8192)
                                               .text()}));
  EXPECT_EQ(accessesOf(program),
            "create; write 8192 sequential extends; rename; fsync 8192 new; close; create; "
            "write 8192 sequential extends; close 8192; open; write 8192 sequential");
}

TEST_F(ScheduleProgramTest, PutsWritesBehindTheEndWhereADescriptorAppends) {
  const std::string appending =
      Events().open("a", 0, "O_WRONLY|O_CREAT|O_APPEND").write(0, 0, 8192).write(0, 0, 8192).text();
  EXPECT_EQ(accessesOf(read(scheduleOf({appending}))),
            "create; write 8192 sequential extends; write 8192 sequential extends");
  EXPECT_EQ(accessesOf(read(scheduleOf({appending, appending})), 1),
            "open shared; write 8192 strided extends shared; write 8192 strided extends shared");
}

TEST_F(ScheduleProgramTest, SeesRanksGrowAFileThatOneOfThemHasEmptied) {
  const std::string first = Events().open("old", 0, "O_WRONLY|O_TRUNC").write(0, 0, 8192).text();
  const std::string second = Events().open("old", 0, "O_WRONLY").write(0, 8192, 8192).text();
  EXPECT_EQ(accessesOf(read(scheduleOf({first, second})), 1),
            "open shared; write 8192 strided extends shared");
  const std::string keeps = Events().open("old", 0, "O_WRONLY").write(0, 0, 8192).text();
  EXPECT_EQ(accessesOf(read(scheduleOf({keeps, second})), 1),
            "open shared; write 8192 strided shared");
}

TEST_F(ScheduleProgramTest, KnowsTwoFilesThatTakeEachOthersNames) {
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0)
                                               .put(R"("command":"renameat2","location":"a",)"
                                                    R"("newlocation":"old","flags":2,"result":0)")
                                               .write(0, 0, 8192)
                                               .open("a", 1, "O_WRONLY")
                                               .write(1, 0, 8192)
                                               .text()}));
  EXPECT_EQ(accessesOf(program),
            "create; rename; write 8192 sequential extends; open; write 8192 sequential");
}

// The length is set, and no byte is there.
TEST_F(ScheduleProgramTest, TakesWritesBelowALengthThatWasSetForGrowth) {
  const Program program =
      read(scheduleOf({Events()
                           .open("a", 0)
                           .put(R"("command":"ftruncate","fd":0,"length":1000000,"result":0)")
                           .write(0, 0, 8192)
                           .write(0, 0, 8192)
                           .text()}));
  EXPECT_EQ(accessesOf(program),
            "create; ftruncate; write 8192 sequential extends; write 8192 random");
}

// The events of these tests have 1 ms of work before each.
TEST_F(ScheduleProgramTest, KnowsWhatIsTheFirstOfItsKindAfterAPause) {
  const auto at = [](long start) {
    return fmt::format(
        R"("start":{},"end":{},"command":"pwrite64","fd":0,"count":10,"offset":0,"result":10)",
        start, start + 1000);
  };
  const std::string open =
      R"({"start":0,"end":1000,"command":"open","location":"old","flags":"O_RDWR","mode":"0644","result":0})";
  std::string events = open;
  for (const long start : {2000, 4000, 90'000, 200'000}) events += ",{" + at(start) + "}";
  const Program program = read(scheduleOf({events}));
  std::string paused;
  for (const ProgramStep& step : program.threads[0].steps) {
    paused += program.accesses[step.access].is_paused ? 'p' : '-';
  }
  EXPECT_EQ(paused, "pp--p");
}

// Writes that wait for storage are a write and a sync.
TEST_F(ScheduleProgramTest, AddsASyncToWritesThatWaitForStorage) {
  EXPECT_EQ(accessesOf(read(scheduleOf(
                {Events().open("a", 0, "O_WRONLY|O_CREAT|O_SYNC").write(0, 0, 10).text()}))),
            "create; write 4096 sequential extends; fsync 10 new");
}

TEST_F(ScheduleProgramTest, CountsTheBytesOfDirectDescriptors) {
  const Program program = read(scheduleOf({Events()
                                               .open("a", 0, "O_WRONLY|O_CREAT|O_DIRECT")
                                               .write(0, 0, 512)
                                               .open("old", 1, "O_RDONLY")
                                               .read(1, 0, 1024)
                                               .text()}));
  EXPECT_EQ(program.moved_bytes, 1536);
  EXPECT_EQ(program.direct_bytes, 512);
}

constexpr char kMapped[] =
    "8.79 KiB of mapped files are read and written outside of calls: no I/O time has that, and the "
    "estimate has not either";

// Pages are touched outside of calls. The close of the descriptor that a mapping has in a schedule
// is the application's munmap.
TEST_F(ScheduleProgramTest, LeavesPagesOfMappedFilesToTheSyncThatFindsThem) {
  const std::string document = scheduleOf(
      {Events()
           .open("a", 0)
           .put(R"("command":"inherited","fd":0,"result":1)")
           .put(
               R"("command":"mmap","fd":0,"length":8192,"offset":0,"value":3,"flags":1,"mapping":1,"result":0)")
           .put(
               R"_("command":"(map_write)","fd":1,"count":5000,"offset":0,"mapping":1,"result":5000)_")
           .put(
               R"_("command":"(map_read)","fd":1,"count":4000,"offset":5000,"mapping":1,"result":4000)_")
           .put(
               R"("command":"msync","mapping":1,"range_offset":0,"length":8192,"flags":1,"result":0)")
           .put(
               R"("command":"msync","mapping":1,"range_offset":0,"length":4096,"flags":4,"result":0)")
           .put(R"("command":"munmap","mapping":1,"range_offset":0,"length":8192,"result":0)")
           .call("close", 1)
           .call("fsync", 0)
           .call("close", 0)
           .text()});
  const Program program = read(document);
  EXPECT_EQ(accessesOf(program), "create; fsync 4096 new; fsync 904; close");
  EXPECT_EQ(program.moved_bytes, 0);
  EXPECT_EQ(program.notes, std::vector<std::string>{kMapped});
  EXPECT_EQ(read(document, 1).notes, std::vector<std::string>{kMapped});
}

TEST_F(ScheduleProgramTest, SaysWhatIsMovedByAsynchronousOperations) {
  const std::string document = scheduleOf(
      {Events()
           .open("a", 0)
           .put(R"("command":"aio_write64","fd":0,"count":5000,"offset":0,"request":1,"result":0)")
           .put(
               R"_("command":"(aio_write_end)","fd":0,"count":5000,"offset":0,"request":1,"result":5000)_")
           .text()});
  const Program program = read(document);
  EXPECT_EQ(accessesOf(program), "create; write 5000 sequential extends");
  const std::vector<std::string> notes{
      "4.88 KiB are moved by asynchronous operations: each counts as if the application waited for "
      "all of it at its end"};
  EXPECT_EQ(program.notes, notes);
  EXPECT_EQ(read(document, 1).notes, notes);
}

TEST_F(ScheduleProgramTest, SaysWhatTheScheduleDoesNotHave) {
  std::string document = scheduleOf({Events().open("a", 0).text()});
  const std::string global = R"("global":{)";
  document.replace(
      document.find(global), global.size(),
      global +
          R"("source":{"trace":"t","whole":true,"events_missing":0,"command":["a"],"left_out":["two calls, by --exclude"]},)");
  EXPECT_EQ(read(document).notes,
            std::vector<std::string>{
                "not in the schedule, nor in the estimate: two calls, by --exclude"});
}

class LoopsOfPrograms : public ScheduleProgramTest {
 protected:
  static std::string loop(std::int64_t turns) {
    return fmt::format(
        R"({{"gap":5,"duration":7,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0}},)"
        R"({{"repeat":{},"body":[)"
        R"({{"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":512,"offset":"{{1024*turn}}","result":512}},)"
        R"({{"gap":3,"duration":4,"command":"pread64","fd":0,"count":"{{turn+1}}","offset":0,"result":"{{turn+1}}"}},)"
        R"({{"repeat":3,"body":[{{"gap":1,"duration":2,"command":"fsync","fd":0,"result":0}}]}}]}})",
        turns);
  }
  // How often there is each operation, and the bytes of all together, of rank 0.
  static std::map<std::string, std::pair<double, double>> totals(const Program& program) {
    std::map<std::string, std::pair<double, double>> result;
    const auto add = [&](std::uint32_t number, double count) {
      const Access& access = program.accesses[number];
      auto& [times, bytes] = result[std::string(predict::nameOf(access.operation))];
      times += count;
      bytes += count * access.bytes;
    };
    if (program.isCounted()) {
      for (const auto& each : program.ranks[0].counts) add(each.access, each.count);
    } else {
      for (const ProgramStep& step : program.threads[0].steps) {
        if (step.access != kNoAccess) add(step.access, 1);
      }
    }
    return result;
  }
};

TEST_F(LoopsOfPrograms, AreCountedAsTheyWouldBeWrittenOut) {
  constexpr std::int64_t kTurns = 50000;
  const auto written_out = totals(read(scheduleOf({loop(kTurns)})));
  const Program counted = read(scheduleOf({loop(kTurns)}), 10);
  ASSERT_TRUE(counted.isCounted());
  const auto of_loop = totals(counted);
  ASSERT_EQ(of_loop.size(), written_out.size());
  for (const auto& [operation, total] : written_out) {
    EXPECT_NEAR(of_loop.at(operation).first, total.first, 1e-6 * total.first) << operation;
    EXPECT_NEAR(of_loop.at(operation).second, total.second, 0.01 * total.second) << operation;
  }
  EXPECT_NEAR(counted.moved_bytes, read(scheduleOf({loop(kTurns)})).moved_bytes,
              0.01 * counted.moved_bytes);
}

TEST_F(LoopsOfPrograms, LeaveWhatTheyWriteToASyncBehindThem) {
  const std::string document =
      R"({"gap":5,"duration":7,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0},)"
      R"({"repeat":200000,"body":[)"
      R"({"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":512,"offset":"{512*turn}","result":512}]},)"
      R"({"gap":1,"duration":2,"command":"fsync","fd":0,"result":0},)"
      R"({"repeat":200000,"body":[)"
      R"({"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":10,"offset":"{10*turn}","result":10}]},)"
      R"({"gap":1,"duration":2,"command":"close","fd":0,"result":0})";
  const Program counted = read(scheduleOf({document}), 10);
  ASSERT_TRUE(counted.isCounted());
  const auto of_loop = totals(counted);
  const auto written_out = totals(read(scheduleOf({document})));
  EXPECT_EQ(written_out.at("fsync").second, 200000 * 512);
  EXPECT_NEAR(of_loop.at("fsync").second, written_out.at("fsync").second, 1);
  EXPECT_EQ(written_out.at("close").second, 200000 * 10);
  EXPECT_NEAR(of_loop.at("close").second, written_out.at("close").second, 1);
}

TEST_F(LoopsOfPrograms, OfAThousandMillionTurnsAreCountedAtOnce) {
  const Program program = read(scheduleOf({loop(1'000'000'000)}));
  ASSERT_TRUE(program.isCounted());
  const auto found = totals(program);
  EXPECT_NEAR(found.at("write").first, 1e9, 1);
  EXPECT_NEAR(found.at("fsync").first, 3e9, 1);
  EXPECT_NEAR(found.at("fsync").second, 512e9, 1e9);
  // The work of its thread, too: 9 ns in each turn.
  EXPECT_NEAR(program.ranks[0].own_s, 9, 0.1);
}

}  // namespace
}  // namespace omnio::access_time
