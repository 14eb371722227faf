#include "replay/overview.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/model/schedule_keys.hpp"
#include "replay/target/prepare.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

constexpr const char* kHead = R"({"format":"omnio-schedule","version":1,
"global":{"time_replay":"dt","write_overwrite":false,"size_scale":2,"time_scale":1,"ranks":2,
 "source":{"trace":"run.trace","whole":false,"events_missing":3,"command":["./app","a b"],
  "left_out":["2 calls of mq_open"]}},
"files":[
{"location":"in","role":"input","exists":true,"size":8192,"holes":[{"begin":4096,"end":8192}]},
{"location":"out","role":"output","exists":false,"size":0},
{"location":"both","role":"updated","exists":true,"size":1000},
{"location":"dir","role":"directory","exists":true},
{"location":"none","role":"absent","exists":false},
{"location":"spare","role":"input","exists":true,"size":10}],
)";

// Thread 0 of rank 0 reads through fd 7, which thread 1 opens: the document has it later.
constexpr const char* kRanks = R"("ranks":[
{"rank":0,"threads":[
{"thread":0,"pid":1,"tid":1,"host":"node1","events":[
{"start":0,"end":0,"command":"preopened","location":"in","flags":"O_RDONLY","offset":0,"result":5},
{"start":100,"end":200,"command":"open","location":"out","flags":"O_WRONLY|O_CREAT","mode":"0644","result":0,"id":1},
{"repeat":3,"body":[{"start":1000,"end":1900,"command":"pwrite64","fd":0,"count":4096,"offset":0,"result":4096,"phase":1,
  "step":{"start":1000,"end":1000,"offset":4096}}]},
{"start":5000,"end":5500,"command":"read","fd":5,"count":4096,"offset":0,"result":100,"compute":50,"communication":7},
{"start":5400,"end":5600,"command":"pread64","fd":7,"count":10,"offset":0,"result":10},
{"start":6000,"end":6010,"command":"close","fd":0,"result":0,"id":2}]},
{"thread":1,"pid":1,"tid":2,"host":"node1","events":[
{"start":50,"end":60,"command":"open","location":"both","flags":"O_RDWR","mode":"0","result":7}]}]},
{"rank":1,"threads":[
{"thread":0,"pid":9,"tid":9,"host":"node2","events":[
{"start":10,"end":20,"command":"open","location":"none","flags":"O_RDONLY","mode":"0","errno":"ENOENT"},
{"start":300,"end":400,"command":"open","location":"out","flags":"O_RDONLY","mode":"0","result":0,"compute":9000,
  "after":[{"id":1,"why":"name"},{"id":2,"why":"mpi"}]},
{"repeat":2,"body":[{"start":7000,"end":7100,"command":"read","fd":0,"count":4096,"offset":0,"result":4096,
  "step":{"start":1000,"end":1000,"offset":4096}}]},
{"start":9000,"end":9100,"command":"open","location":"both","flags":"O_RDWR","mode":"0","result":1},
{"start":9200,"end":9999,"command":"pwrite64","fd":1,"count":500,"offset":800,"result":500}]}]}]}
)";

std::string withoutWaits(std::string text) {
  const std::size_t begin = text.find(",\n  \"after\"");
  return text.erase(begin, text.find("}]", begin) + 2 - begin);
}

class OverviewTest : public ::testing::Test {
 protected:
  base::Result<Overview> read(const std::string& text, model::Order order = model::Order::kAll) {
    std::ofstream(path()) << text;
    return readOverview(path(), {.order = order});
  }
  std::filesystem::path path() const { return directory_ / "s.json"; }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(OverviewTest, CountsEachTurnOfARepeatByRankFileCallAndPhase) {
  for (const model::Order order : {model::Order::kNone, model::Order::kAll}) {
    const auto overview = read(std::string(kHead) + kRanks, order);
    ASSERT_TRUE(overview) << overview.failure().sentence;
    const Traffic rank0{.operations = 8,
                        .reads = 2,
                        .read_bytes = 110,
                        .writes = 3,
                        .written_bytes = 12288,
                        .time_ns = 100 + 3 * 900 + 500 + 200 + 10 + 10};
    const Traffic rank1{.operations = 6,
                        .reads = 2,
                        .read_bytes = 8192,
                        .writes = 1,
                        .written_bytes = 500,
                        .time_ns = 10 + 100 + 2 * 100 + 100 + 799};
    EXPECT_EQ(overview->by_rank, (std::vector{rank0, rank1}));
    Traffic total = rank0;
    total.add(rank1);
    EXPECT_EQ(overview->total, total);
    EXPECT_EQ(overview->events, 15U);
    const auto& files = overview->by_file;
    ASSERT_EQ(files.size(), 6U);
    EXPECT_EQ(files[0], (Traffic{.operations = 1, .reads = 1, .read_bytes = 100, .time_ns = 500}));
    EXPECT_EQ(files[1], (Traffic{.operations = 8,
                                 .reads = 2,
                                 .read_bytes = 8192,
                                 .writes = 3,
                                 .written_bytes = 12288,
                                 .time_ns = 100 + 2700 + 10 + 100 + 200}));
    EXPECT_EQ(files[2], (Traffic{.operations = 4,
                                 .reads = 1,
                                 .read_bytes = 10,
                                 .writes = 1,
                                 .written_bytes = 500,
                                 .time_ns = 10 + 200 + 100 + 799}));
    EXPECT_EQ(files[3], Traffic{});
    EXPECT_EQ(files[4], (Traffic{.operations = 1, .time_ns = 10}));
    EXPECT_EQ(files[5], Traffic{});
    EXPECT_EQ(overview->without_file, Traffic{});
    EXPECT_EQ(overview->by_call.at("pwrite64").operations, 4U);
    EXPECT_EQ(overview->by_call.at("open").operations, 5U);
    EXPECT_EQ(overview->by_phase.at(1).written_bytes, 12288U);
    EXPECT_EQ(overview->by_phase.at(0).operations, 11U);
    EXPECT_EQ(overview->hosts, (std::set<std::string>{"node1", "node2"}));
  }
}

TEST_F(OverviewTest, KnowsOrderDurationAndWork) {
  const auto overview = read(std::string(kHead) + kRanks, model::Order::kNone);
  ASSERT_TRUE(overview) << overview.failure().sentence;
  EXPECT_EQ(overview->waiting_events, 1U);
  const auto waits = [&](model::Reason reason) {
    return overview->waits[static_cast<std::size_t>(reason)];
  };
  EXPECT_EQ(waits(model::Reason::kMpi), 1U);
  EXPECT_EQ(waits(model::Reason::kName), 1U);
  EXPECT_EQ(waits(model::Reason::kFile), 0U);
  EXPECT_EQ(overview->first_start_ns, 10);
  EXPECT_EQ(overview->last_end_ns, 9999);
  // Rank 1: 10 to the first call, 9000, and the gaps 400 to 7000, 7100 to 8000, 8100 to 9000, 9100
  // to 9200.
  EXPECT_EQ(overview->longest_work_ns, 10 + 9000 + 6600 + 900 + 900 + 100);
  ASSERT_TRUE(overview->longest_worker);
  EXPECT_EQ(overview->longest_worker->rank, 1);
  EXPECT_EQ(overview->longest_worker->thread, 0);
}

// A schedule with one rank and one thread, with these keys and events.
std::string oneThread(const std::string& keys, const std::string& events) {
  return R"({"format":"omnio-schedule","version":1,"global":{"time_replay":"dt","ranks":1},"files":[
{"location":"out","role":"output","exists":false,"size":0}],"ranks":[{"rank":0,"threads":[
{"thread":0,"pid":1,"tid":1,)" +
         keys + R"("host":"node1","events":[
{"start":100,"end":200,"command":"open","location":"out","flags":"O_WRONLY|O_CREAT","mode":"0","result":0},
)" + events +
         "]}]}]}";
}

TEST_F(OverviewTest, WorkIsThatOfTheEngine) {
  struct Case {
    const char* what;
    const char* keys;
    const char* events;
    std::int64_t work_ns;
  };
  const Case cases[] = {
      {"the recorder takes its time after each operation, and no more than there is",
       R"("recorder":30,)",
       R"({"start":300,"end":400,"command":"fsync","fd":0,"result":0},
          {"start":410,"end":420,"command":"close","fd":0,"result":0})",
       70 + 70 + 0},
      {"a delay adds its time and moves the end", "",
       R"({"start":250,"end":900,"command":"delay"},
          {"start":1000,"end":1010,"command":"close","fd":0,"result":0})",
       100 + 700 + 100},
      {"a delay with work adds both", "",
       R"({"start":250,"end":900,"command":"delay","compute":20,"communication":3},
          {"start":1000,"end":1010,"command":"close","fd":0,"result":0})",
       100 + 23 + 650 + 100},
      {"inherited moves the end alone", "",
       R"({"start":500,"end":600,"command":"inherited","fd":0,"result":1,"compute":7},
          {"start":1000,"end":1010,"command":"close","fd":0,"result":0})",
       100 + 400},
      {"a delay behind the last call takes none of it", "",
       R"({"start":250,"end":900,"command":"delay"})", 100},
      {"the beginning of the run is not an event of others", "",
       R"({"start":300,"end":400,"command":"close","fd":0,"result":0,
           "after":[{"id":0,"why":"mpi"}]})",
       100 + 100},
  };
  for (const Case& one : cases) {
    const auto overview = read(oneThread(one.keys, one.events), model::Order::kNone);
    ASSERT_TRUE(overview) << overview.failure().sentence;
    EXPECT_EQ(overview->longest_work_ns, one.work_ns) << one.what;
    EXPECT_EQ(overview->waiting_events, 0U) << one.what;
    EXPECT_EQ(overview->waits, (std::array<std::uint64_t, kReasonCount>{})) << one.what;
    EXPECT_EQ(overview->overlaps, 0U) << one.what;
  }
}

TEST_F(OverviewTest, SumsStayAtTheLargestNumber) {
  Traffic sum{.operations = 1, .written_bytes = UINT64_MAX - 1, .time_ns = UINT64_MAX};
  sum.add({.operations = 1, .written_bytes = 2, .time_ns = 1});
  EXPECT_EQ(sum, (Traffic{.operations = 2, .written_bytes = UINT64_MAX, .time_ns = UINT64_MAX}));
  // Each turn needs 20 years.
  const auto overview = read(oneThread("", R"({"repeat":100,"body":[
{"start":300,"end":400,"command":"fsync","fd":0,"result":0,
 "compute":315360000000000000,"communication":315360000000000000}]})"));
  ASSERT_TRUE(overview) << overview.failure().sentence;
  EXPECT_EQ(overview->longest_work_ns, INT64_MAX);
}

TEST_F(OverviewTest, FilesThatTheRunMakesExistBeforeToBeOverwritten) {
  std::string text = std::string(kHead) + kRanks;
  text.replace(text.find("\"write_overwrite\":false"), 23, "\"write_overwrite\":true");
  const auto overview = read(text);
  ASSERT_TRUE(overview) << overview.failure().sentence;
  EXPECT_NE(textOf(*overview, "s.json", OverviewBy::kRank)
                .find("\n    1             1  12.0 KiB    12.0 KiB    8.00 KiB       12.0 KiB  "
                      "output\n"),
            std::string::npos)
      << textOf(*overview, "s.json", OverviewBy::kRank);
}

TEST_F(OverviewTest, SaysOnlyWhatIsKnownOfTheSource) {
  std::string text = std::string(kHead) + kRanks;
  text.replace(text.find("2 calls of"), 10, "2\\nWarning: calls of");
  const auto forged = read(text);
  ASSERT_TRUE(forged) << forged.failure().sentence;
  EXPECT_NE(textOf(*forged, "s.json", OverviewBy::kRank)
                .find("\nLeft out: 2\\x0AWarning: calls of mq_open\n"),
            std::string::npos);
  EXPECT_EQ(warningsOf(*forged)[1], "left out: 2\\x0AWarning: calls of mq_open");
  const auto without = read(oneThread("", R"({"start":300,"end":400,"command":"delay"})"));
  ASSERT_TRUE(without) << without.failure().sentence;
  EXPECT_EQ(textOf(*without, "s.json", OverviewBy::kRank).find("Source"), std::string::npos);
}

TEST_F(OverviewTest, NeedsTheRoomOfAReplay) {
  const auto overview = read(std::string(kHead) + kRanks, model::Order::kNone);
  ASSERT_TRUE(overview) << overview.failure().sentence;
  const RoomNeeded room = roomNeeded(overview->plan, [](std::size_t) { return true; });
  EXPECT_EQ(room.prepared, 4096U + 1000U + 10U);
  EXPECT_EQ(room.at_end, room.prepared + 12288U + 300U);
}

TEST_F(OverviewTest, CheckSaysWhatMayNotBeMeant) {
  const auto overview = read(std::string(kHead) + kRanks);
  ASSERT_TRUE(overview) << overview.failure().sentence;
  const std::vector<std::string> wanted = {
      "the trace was not whole, so the schedule lacks data; a replay ends with status 3 without "
      "--partial",
      "left out: 2 calls of mq_open",
      "size_scale is 2: the events were scaled when the schedule was made; editing it changes "
      "nothing",
      "no event names 1 file of the list: spare",
      "1 event starts before the recorded end of an earlier one of the same thread, and a replay "
      "starts them one after another; the first is in rank 0, thread 0"};
  EXPECT_EQ(warningsOf(*overview), wanted);
  const auto unordered = read(withoutWaits(std::string(kHead) + kRanks));
  ASSERT_TRUE(unordered) << unordered.failure().sentence;
  EXPECT_EQ(warningsOf(*unordered).back(),
            "several ranks use 2 files that the run writes, and no wait orders 2 ranks with other "
            "ranks: 0, 1");
  // Rank 2 uses a file by itself, and one that all read.
  std::string more = withoutWaits(std::string(kHead) + kRanks);
  more.replace(more.find("\"ranks\":2"), 9, "\"ranks\":3");
  more.replace(more.rfind("]}"), 2, R"(,{"rank":2,"threads":[
{"thread":0,"pid":9,"tid":9,"host":"node2","events":[
{"start":10,"end":20,"command":"open","location":"in","flags":"O_RDONLY","mode":"0","result":0},
{"start":30,"end":40,"command":"open","location":"spare","flags":"O_RDWR","mode":"0","result":1},
{"start":50,"end":60,"command":"pwrite64","fd":1,"count":5,"offset":0,"result":5}]}]}]})");
  const auto apart = read(more);
  ASSERT_TRUE(apart) << apart.failure().sentence;
  EXPECT_EQ(warningsOf(*apart).back(), warningsOf(*unordered).back());
}

TEST_F(OverviewTest, RefusesWhatAReplayRefuses) {
  std::string text = std::string(kHead) + kRanks;
  text.replace(text.find("\"fd\":7"), 6, "\"fd\":8");
  const auto unknown = read(text);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(
      unknown.failure().sentence,
      path().native() + ": line 20, column 85: fd 8 is used, but no event of rank 0 opens it");
  // Event 2 waits for the one that waits for it.
  text = std::string(kHead) + kRanks;
  text.replace(text.find("\"result\":0,\"id\":2"), 17, "\"result\":0,\"id\":2,\"after\":[3]");
  text.replace(text.find("\"compute\":9000"), 14, "\"compute\":9000,\"id\":3");
  const auto circle = read(text);
  ASSERT_FALSE(circle);
  EXPECT_NE(circle.failure().sentence.find("s.json: events wait for each other in a circle: id "),
            std::string::npos)
      << circle.failure().sentence;
}

TEST_F(OverviewTest, AScheduleWithoutRanksIsTaken) {
  const auto overview =
      read(R"({"format":"omnio-schedule","version":1,"global":{"time_replay":"asap","ranks":0},)"
           R"("files":[],"ranks":[]})");
  ASSERT_TRUE(overview) << overview.failure().sentence;
  EXPECT_EQ(checkTextOf(*overview, "s.json"),
            "s.json: a replay takes it: 0 ranks, 0 threads on 0 hosts, 0 events on 0 files, timing "
            "asap\nOrder: 0 events wait for others\n");
  EXPECT_NE(textOf(*overview, "s.json", OverviewBy::kRank)
                .find("\nWithout I/O: dt takes at least 0 ns\n"),
            std::string::npos);
}

TEST_F(OverviewTest, FilesOfTheSameTimeAreInTheOrderOfTheirNames) {
  const auto overview = read(
      R"({"format":"omnio-schedule","version":1,"global":{"time_replay":"asap","ranks":1},"files":[)"
      R"({"location":"b","role":"directory","exists":false},{"location":"a","role":"directory","exists":false}],)"
      R"("ranks":[{"rank":0,"threads":[{"thread":0,"events":[)"
      R"({"start":0,"end":5,"command":"mkdir","location":"b","mode":"0755","result":0},)"
      R"({"start":7,"end":12,"command":"mkdir","location":"a","mode":"0755","result":0}]}]}]})");
  ASSERT_TRUE(overview) << overview.failure().sentence;
  const std::string text = textOf(*overview, "s.json", OverviewBy::kFile);
  EXPECT_LT(text.find("5 ns  a\n"), text.find("5 ns  b\n")) << text;
  EXPECT_NE(text.find("5 ns  b\n"), std::string::npos) << text;
}

TEST_F(OverviewTest, PrintsTablesAndADocument) {
  const auto overview = read(std::string(kHead) + kRanks, model::Order::kNone);
  ASSERT_TRUE(overview) << overview.failure().sentence;
  EXPECT_EQ(textOf(*overview, "s.json", OverviewBy::kFile),
            R"(Schedule s.json: 2 ranks, 3 threads on 2 hosts, 15 events on 6 files
Timing: dt
Scaled when it was made: sizes by 2, times by 1
Source: run.trace, not whole, 3 events are missing
Command: ./app 'a b'
Left out: 2 calls of mq_open
Order: 1 event waits for others (mpi 1, name 1)
Recorded: 9.99 us from the first start to the last end
Without I/O: dt takes at least 17.5 us, which rank 1, thread 0 needs by itself
Room in the target: at least 17.3 KiB; 4.99 KiB for files that are prepared, 17.3 KiB at the end

files  exist before  prepared  at the end  bytes read  bytes written  role
    2             2  4.01 KiB    4.01 KiB       100 B            0 B  input
    1             0       0 B    12.0 KiB    8.00 KiB       12.0 KiB  output
    1             1    1000 B    1.27 KiB        10 B          500 B  updated
    1             1       0 B         0 B         0 B            0 B  directory
    1             0       0 B         0 B         0 B            0 B  absent

operations  reads  bytes read  writes  bytes written     time  file
         8      2    8.00 KiB       3       12.0 KiB  3.11 us  out
         4      1        10 B       1          500 B  1.11 us  both
         1      1       100 B       0            0 B   500 ns  in
         1      0         0 B       0            0 B    10 ns  none
        14      4    8.11 KiB       4       12.5 KiB  4.73 us  (all)

operations  reads  bytes read  writes  bytes written     time  phase
        11      4    8.11 KiB       1          500 B  2.03 us  (none)
         3      0         0 B       3       12.0 KiB  2.70 us  1
)");
  const std::string document = jsonOf(*overview, "s.json", OverviewBy::kRank);
  EXPECT_NE(document.find(R"("role": "updated",
      "files": 1,
      "exist_before": 1,
      "prepared_bytes": 1000,
      "at_end_bytes": 1300,
      "read_bytes": 10,
      "written_bytes": 500)"),
            std::string::npos)
      << document;
}

}  // namespace
}  // namespace omnio::replay
