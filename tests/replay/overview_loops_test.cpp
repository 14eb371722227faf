// An overview of loops is that of their events, written out. The documents are made here, with a
// generator of numbers for those that are random.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "core/model/rewrite_schedule.hpp"
#include "replay/overview.hpp"
#include "tests/core/temporary_directory.hpp"

namespace omnio::replay {
namespace {

class OverviewOfLoops : public ::testing::Test {
 protected:
  std::filesystem::path loops() const { return directory_.path() / "loops.json"; }
  std::filesystem::path flat() const { return directory_.path() / "flat.json"; }
  std::filesystem::path compact() const { return directory_.path() / "compact.json"; }

  // All that the commands print.
  static std::string textOfAll(Overview overview) {
    overview.mean_lines.clear();  // a document without loops has none
    std::string text = checkJsonOf(overview, "a schedule");
    for (const OverviewBy by : {OverviewBy::kRank, OverviewBy::kFile, OverviewBy::kCall}) {
      text += jsonOf(overview, "a schedule", by);
    }
    return text + textOf(overview, "a schedule", OverviewBy::kFile);
  }

  void expectSame(const std::string& document, const Changes& changes = {}) {
    SCOPED_TRACE(document);
    std::ofstream(loops()) << document;
    const auto written = model::rewriteSchedule(loops(), flat(), {});
    ASSERT_TRUE(written) << written.failure().sentence;
    const auto with_times = model::rewriteSchedule(flat(), compact(), {.is_compact = true});
    ASSERT_TRUE(with_times) << with_times.failure().sentence;
    const auto of_loops = readOverview(loops(), changes);
    const auto of_exact = readOverview(compact(), changes);
    const auto of_events = readOverview(flat(), changes);
    ASSERT_TRUE(of_loops) << of_loops.failure().sentence;
    ASSERT_TRUE(of_events) << of_events.failure().sentence;
    ASSERT_TRUE(of_exact) << of_exact.failure().sentence;
    ASSERT_EQ(textOfAll(*of_loops), textOfAll(*of_events));
    ASSERT_EQ(textOfAll(*of_exact), textOfAll(*of_events));
  }

  base::Result<Overview> read(const std::string& document) {
    std::ofstream(loops()) << document;
    return readOverview(loops(), {});
  }

  test::TemporaryDirectory directory_;
};

// With a thread for each list of events, one of each rank.
std::string schedule(const std::vector<std::string>& threads) {
  std::string ranks;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    ranks += fmt::format(
        R"({}{{"rank":{},"threads":[{{"thread":0,"host":"n{}","recorder":{},"events":[{}]}}]}})",
        i == 0 ? "" : ",", i, i / 2, i * 3, threads[i]);
  }
  return fmt::format(
      R"({{"format":"omnio-schedule","version":1,"global":{{"time_replay":"dt","ranks":{}}},"files":[)"
      R"({{"location":"a","role":"output","exists":false}},{{"location":"b","role":"updated","exists":true,"size":700000}},)"
      R"({{"repeat":6,"body":[{{"location":"f.{{turn:03}}","role":"output","exists":false}}]}}],"ranks":[{}]}})",
      threads.size(), ranks);
}

std::string opened(const char* name, const std::string& descriptor) {
  return fmt::format(
      R"({{"gap":40,"duration":7,"command":"open","location":"{}","flags":"O_RDWR|O_CREAT","mode":"0644","result":{}}})",
      name, descriptor);
}

std::string written(const std::string& more = "") {
  return fmt::format(
      R"({{"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":512,"offset":"{{512*turn}}","result":512{}}})",
      more);
}

std::string loop(const std::string& body, std::int64_t turns = 9, const std::string& more = "") {
  return fmt::format(R"({{"repeat":{},{}"body":[{}]}})", turns, more, body);
}

const std::string kDelay = R"({"gap":11,"duration":5,"command":"delay"})";

TEST_F(OverviewOfLoops, CountsSizesThatFollowTheTurn) {
  expectSame(schedule(
      {opened("a", "0") + "," + opened("b", "1") + "," +
       loop(
           R"({"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":"{7+3*turn}","offset":"{90*turn}","result":"{7+3*turn}","phase":2},)"
           R"({"gap":2,"duration":9,"command":"pread64","fd":1,"count":"{900-5*turn}","offset":"{512*turn}","result":"{300-turn}"})")}));
}

TEST_F(OverviewOfLoops, CountsFilesOfTurns) {
  const std::string turns = loop(
      opened("f.{turn:03}", "\"{turn}\"") + "," +
          loop(
              R"({"gap":1,"duration":2,"command":"write","fd":"{turn2}","count":"{100*turn2+50+turn}","offset":"{600*turn}","result":"{100*turn2+50+turn}"})",
              5) +
          R"(,{"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0})",
      6, R"("gap":100,)");
  expectSame(schedule({turns, turns}));
  expectSame(schedule({turns, turns}), {.order = model::Order::kNone});
}

TEST_F(OverviewOfLoops, CountsListsAndFailures) {
  expectSame(schedule(
      {opened("a", "0") + "," +
       loop(
           R"({"gap":3,"duration":4,"command":"pwrite64","fd":0,"count":"{b}","offset":"{a+10*turn}","result":"{b}"},)"
           R"({"gap":3,"duration":4,"command":"pread64","fd":0,"count":"{b}","offset":"{a}","errno":"EIO"},)"
           R"({"gap":3,"duration":4,"command":"open","location":"b","flags":"O_RDWR|O_CREAT|O_EXCL","mode":"0644","errno":"EEXIST"})",
           6, R"("values":{"a":[7,900000,0,512,3,88],"b":[1,2,30,4,50,6]},)")}));
}

TEST_F(OverviewOfLoops, KnowsWorkBeforeTheLastCall) {
  // Delays behind the last call are not part of it, in all turns or in the last one.
  const std::string open = opened("a", "0") + ",";
  for (const char* work : {"", R"(,"compute":90,"communication":20)"}) {
    const std::string call = written(work);
    expectSame(schedule({open + loop(call + "," + kDelay)}));
    expectSame(schedule({open + loop(kDelay + "," + call, 9, R"("gap":500,)")}));
    expectSame(schedule({open + loop(kDelay)}));
    expectSame(schedule({open + loop(call + "," + loop(kDelay, 7, R"("gap":60,)"))}));
    expectSame(schedule({open + loop(loop(kDelay, 7) + "," + call) + "," + loop(kDelay)}));
  }
}

TEST_F(OverviewOfLoops, KnowsWorkOfWhichSomeEventsHaveAShare) {
  const std::string open = opened("a", "0") + ",";
  for (const char* share : {"[1,8]", "[3,8]", "[7,8]", "[8,8]", "[5,100]"}) {
    const std::string work = fmt::format(R"(,"compute":900,"share":{})", share);
    const std::string delay = R"({"gap":11,"duration":5,"command":"delay")" + work + "}";
    expectSame(schedule({open + loop(written(work), 9, R"("gap":70,)")}));
    expectSame(schedule({open + loop(written() + "," + written(work))}));
    expectSame(schedule({open + loop(written() + "," + delay + "," + delay)}));
    expectSame(schedule({open + loop(written() + "," + loop(delay, 6, R"("gap":60,)"), 5)}));
    expectSame(schedule({open + loop(loop(written(work), 6), 5) + "," + loop(delay, 4)}));
  }
}

TEST_F(OverviewOfLoops, KnowsWorkBesideARecorderAndOverlaps) {
  const std::string late =
      R"({"start":0,"end":800,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0},)"
      R"({"start":10,"end":20,"command":"fsync","fd":0,"result":0},)";
  const std::string overlapping =
      R"({"gap":-3,"duration":9,"command":"pwrite64","fd":0,"count":512,"offset":"{512*turn}","result":512})";
  expectSame(schedule({opened("a", "0"), late + loop(written(), 400)}));
  expectSame(schedule({opened("a", "0"), late + loop(overlapping, 400)}));
  expectSame(schedule({opened("a", "0"), late + loop(loop(overlapping, 5) + "," + written(), 40)}));
}

TEST_F(OverviewOfLoops, KnowsTimesThatAreSteps) {
  const std::string open =
      R"({"start":0,"end":4,"command":"open","location":"a","flags":"O_RDWR|O_CREAT","mode":"0644","result":0},)";
  for (const auto& [start, end] :
       {std::pair(20, 20), std::pair(0, 0), std::pair(3, 3), std::pair(20, 21), std::pair(2, 1)}) {
    const std::string steps = fmt::format(R"("step":{{"start":{},"end":{}}})", start, end);
    expectSame(schedule(
        {open +
         loop(
             R"({"start":10,"end":60,"command":"write","fd":0,"count":512,"offset":0,"result":512,)" +
                 steps + R"(},{"start":61,"end":99,"command":"fsync","fd":0,"result":0,)" + steps +
                 "}",
             30)}));
  }
}

TEST_F(OverviewOfLoops, CountsWaits) {
  const auto rank = [](int own, int other) {
    return opened("a", "0") + "," +
           loop(
               written(fmt::format(R"(,"compute":2,"id":"{{{}+turn}}")", own)) + "," +
               fmt::format(
                   R"({{"gap":1,"duration":2,"command":"delay","compute":3,"after":[{{"id":"{{{}+turn}}","why":"mpi"}},{{"id":0,"why":"thread","compute":4}}]}})",
                   other));
  };
  expectSame(schedule({rank(100, 500), rank(500, 100)}));
  expectSame(schedule({rank(100, 500), rank(500, 100), opened("a", "0") + "," + loop(written())}));
}

TEST_F(OverviewOfLoops, CountsRandomNests) {
  std::mt19937_64 random(20261127);
  const auto upTo = [&random](int most) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(most + 1));
  };
  const auto turnOf = [](int level) {
    return level == 1 ? std::string("turn") : fmt::format("turn{}", level);
  };
  constexpr int kDocuments = 300;
  for (int i = 0; i < kDocuments; ++i) {
    const bool has_shares = upTo(3) == 0;
    const std::function<std::string(int)> nest = [&](int depth) -> std::string {
      std::string body;
      const int parts = 1 + upTo(2);
      for (int part = 0; part < parts; ++part) {
        if (!body.empty()) body += ',';
        if (depth < 3 && upTo(2) == 0) {
          body += nest(depth + 1);
          continue;
        }
        std::string more = upTo(3) == 0 ? R"(,"compute":5,"communication":70)" : "";
        if (has_shares && !more.empty()) more += fmt::format(R"(,"share":[{},7])", 1 + upTo(6));
        const std::string times = fmt::format(R"("gap":{},"duration":{})", upTo(50) - 5, upTo(100));
        if (upTo(4) == 0) {
          body += fmt::format(R"({{{},"command":"delay"{}}})", times, more);
          continue;
        }
        std::string offset = fmt::format("{{{}", upTo(5000));
        for (int level = 1; level <= depth; ++level) {
          if (upTo(1) == 0) offset += fmt::format("+{}*{}", 1 + upTo(9000), turnOf(level));
        }
        const int count = 1 + upTo(4095);
        const std::string size = upTo(2) == 0 ? fmt::format("\"{{{}+{}*{}}}\"", count, upTo(99),
                                                            turnOf(1 + upTo(depth - 1)))
                                              : std::to_string(count);
        body += fmt::format(
            R"({{{},"command":"{}","fd":{},"count":{},"offset":"{}}}","result":{},"phase":{}{}}})",
            times, upTo(1) == 0 ? "pread64" : "pwrite64", upTo(1), size, offset, size, 1 + upTo(2),
            more);
      }
      const std::string gap = upTo(2) == 0 ? fmt::format(R"("gap":{},)", upTo(1000)) : "";
      return loop(body, (depth == 1 ? 4 : 1) + upTo(5), gap);
    };
    const auto rank = [&] {
      return opened("a", "0") + "," + opened("b", "1") + "," + nest(1) + "," + nest(1) +
             R"(,{"gap":5,"duration":7,"command":"close","fd":0,"result":0})";
    };
    const std::string first = rank();
    expectSame(schedule({first, rank()}));
    if (HasFatalFailure()) return;
  }
}

TEST_F(OverviewOfLoops, CountsWhatCannotBeWrittenOut) {
  constexpr std::int64_t kTurns = 1'000'000'000;
  const std::string turn =
      opened("a", "\"{turn}\"") + "," +
      R"({"gap":1,"duration":2,"command":"write","fd":"{turn}","count":100,"offset":0,"result":100},)"
      R"({"gap":2,"duration":3,"command":"close","fd":"{turn}","result":0})";
  const auto overview = read(schedule(
      {loop(turn, kTurns) + R"(,{"gap":2,"duration":3,"command":"fsync","fd":12345678,"result":0})",
       opened("b", "0") + "," +
           loop(
               R"({"gap":9,"duration":3,"command":"pread64","fd":0,"count":"{turn}","offset":0,"result":"{turn}"})",
               kTurns)}));
  ASSERT_TRUE(overview) << overview.failure().sentence;
  const Traffic rank0{.operations = 3'000'000'001,
                      .reads = 0,
                      .read_bytes = 0,
                      .writes = 1'000'000'000,
                      .written_bytes = 100'000'000'000,
                      .time_ns = 12'000'000'003};
  const Traffic rank1{.operations = 1'000'000'001,
                      .reads = 1'000'000'000,
                      .read_bytes = 499'999'999'500'000'000,
                      .writes = 0,
                      .written_bytes = 0,
                      .time_ns = 3'000'000'007};
  EXPECT_EQ(overview->by_rank, (std::vector{rank0, rank1}));
  EXPECT_EQ(overview->by_file[0], rank0);
  EXPECT_EQ(overview->by_file[1], rank1);
  EXPECT_EQ(overview->events, 4'000'000'002U);
  EXPECT_EQ(overview->longest_work_ns, 43'000'000'002);
  EXPECT_EQ(overview->last_end_ns, 55'000'000'005);
}

}  // namespace
}  // namespace omnio::replay
