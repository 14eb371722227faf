// Calls that --include and --exclude leave out, and what goes and stays with them.
#include "preprocess/filter.hpp"

#include <algorithm>

#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

FilterRule rule(const std::string& text) {
  base::Result<FilterRule> read = parseFilterRule(text);
  if (!read) throw std::runtime_error(read.failure().sentence);
  return *read;
}

Settings including(const std::string& text) {
  return {.filters = {.include = {rule(text)}, .exclude = {}}};
}
Settings excluding(const std::string& text) {
  return {.filters = {.include = {}, .exclude = {rule(text)}}};
}

std::vector<std::string> commandsOf(const std::vector<ScheduleEvent>& events) {
  std::vector<std::string> commands;
  for (const ScheduleEvent& event : events) {
    commands.emplace_back(event.step == model::Step::kCall        ? event.row->name
                          : event.step == model::Step::kPreopened ? "preopened"
                                                                  : "other");
  }
  return commands;
}
using Commands = std::vector<std::string>;
constexpr std::uint32_t kForked = 9000;

class FilteredSchedule : public TracedRun {
 protected:
  // Two files that are written in turns, from 10 us on: a call begins each 100 ns.
  void saveTwoFiles() {
    Thread thread(token(0));
    thread.open(10000, 10050, "/run/out.dat", O_WRONLY | O_CREAT | O_TRUNC, 1)
        .open(10100, 10150, "/run/run.log", O_WRONLY | O_CREAT | O_APPEND, 2)
        .data("write", 10200, 10250, 1, 4096)
        .data("write", 10300, 10350, 2, 60)
        .data("pwrite", 10400, 10450, 1, 100, 8192)
        .onHandle("fsync", 10500, 10550, 1)
        .data("write", 10600, 10650, 1, 4096)
        .close(10700, 10750, 1)
        .close(10800, 10850, 2);
    save(0, 1, {&thread});
  }
  std::vector<ScheduleEvent> events(const Settings& settings) {
    kept_ = schedule(settings);
    return kept_.threads.at(0);
  }
  Kept kept_;
};

TEST_F(FilteredSchedule, LeavesOutAFileWithAllOfItsCalls) {
  saveTwoFiles();
  EXPECT_EQ(commandsOf(events(excluding("*.log"))),
            (Commands{"open", "write", "pwrite", "fsync", "write", "close"}));
  EXPECT_FALSE(kept_.files.contains("run.log"));
  ASSERT_EQ(summary_.left_out.size(), 1U);
  EXPECT_EQ(summary_.left_out[0], "3 calls, by --exclude '*.log'");
  EXPECT_EQ(commandsOf(events(including("path=/run/*.log"))), (Commands{"open", "write", "close"}));
  EXPECT_TRUE(summary_.unused_rules.empty());
}

TEST_F(FilteredSchedule, LeavesOutRequestsBySizeAndKeepsTheirDescriptors) {
  saveTwoFiles();
  EXPECT_EQ(commandsOf(events(including("request>=4K"))),
            (Commands{"open", "open", "write", "fsync", "write", "close", "close"}));
  EXPECT_EQ(commandsOf(events(excluding("request<=100,path=*.dat"))),
            (Commands{"open", "open", "write", "write", "fsync", "write", "close", "close"}));
}

TEST_F(FilteredSchedule, KeepsTheDescriptorsOfCallsThatAreAskedFor) {
  saveTwoFiles();
  EXPECT_EQ(commandsOf(events(including("call=pwrite"))),
            (Commands{"open", "open", "pwrite", "close", "close"}));
  EXPECT_EQ(commandsOf(events(including("class=sync,*.dat"))),
            (Commands{"open", "fsync", "close"}));
}

TEST_F(FilteredSchedule, TakesAlongTheCallsOfAnOpenThatGoes) {
  saveTwoFiles();
  EXPECT_EQ(commandsOf(events(excluding("call=open,*.dat"))), (Commands{"open", "write", "close"}));
  EXPECT_FALSE(kept_.files.contains("out.dat"));
  EXPECT_EQ(summary_.left_out.back(),
            "6 calls, by --exclude 'call=open,*.dat'; 5 of them since the open of their descriptor "
            "is left out");
}

TEST_F(FilteredSchedule, KnowsFilesByTheirLargestSize) {
  saveTwoFiles();
  EXPECT_EQ(commandsOf(events(excluding("file-size>=8292"))), (Commands{"open", "write", "close"}));
  EXPECT_EQ(commandsOf(events(excluding("file-size>8292"))).size(), 9U);
  EXPECT_EQ(summary_.unused_rules, std::vector<std::string>{"--exclude 'file-size>8292'"});
}

TEST_F(FilteredSchedule, OpensBeforeAWindowWhereTheDescriptorStands) {
  saveTwoFiles();
  const auto window = events(including("window=0.00000055.."));
  ASSERT_EQ(commandsOf(window), (Commands{"preopened", "preopened", "write", "close", "close"}));
  const auto of_data = std::ranges::find_if(window, [&](const ScheduleEvent& event) {
    return event.step == model::Step::kPreopened && event.offset == 4096;
  });
  ASSERT_NE(of_data, window.end());
  EXPECT_EQ(of_data->arguments[0], O_WRONLY);
  const model::ScheduleFile& data = kept_.files.at("out.dat");
  EXPECT_TRUE(data.exists);
  EXPECT_EQ(data.size, 8292U);
}

TEST_F(FilteredSchedule, ReadsOfWhatIsNoLongerWrittenAreOfAnInput) {
  Thread thread(token(0));
  thread.open(10000, 10050, "/run/a", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .data("write", 10100, 10150, 1, 300)
      .close(10200, 10250, 1)
      .open(10300, 10350, "/run/a", O_RDONLY, 2, 300)
      .data("read", 10400, 10450, 2, 300)
      .close(10500, 10550, 2);
  save(0, 1, {&thread});
  EXPECT_EQ(commandsOf(events(including("window=0.0000003.."))),
            (Commands{"open", "read", "close"}));
  const model::ScheduleFile& file = kept_.files.at("a");
  EXPECT_TRUE(file.exists);
  EXPECT_EQ(file.size, 300U);
}

TEST_F(FilteredSchedule, ReadsAreWhereTheSeeksBeforeThemLead) {
  Thread thread(token(0));
  thread.open(10000, 10050, "/run/in", O_RDONLY, 1, 9000)
      .onHandle("lseek", 10100, 10150, 1, 8000, 8000, SEEK_SET)
      .data("read", 10200, 10250, 1, 100)
      .onHandle("fsync", 10300, 10350, 1);
  save(0, 1, {&thread});
  EXPECT_EQ(commandsOf(events(including("class=read"))), (Commands{"open", "lseek", "read"}));
}

// The parent opened it before the window, and both write to it by turns.
TEST_F(FilteredSchedule, ADescriptorSharedBeforeAWindowStaysShared) {
  Thread parent(token(0));
  parent.open(10000, 10050, "/run/out", O_WRONLY | O_CREAT, 1)
      .data("write", 10100, 10150, 1, 1000)
      .data("write", 30000, 30100, 1, 10);
  Thread child(token(0) + kForked);
  child.given("/run/out", 1, wire::Origin::kOpened, 4711, O_WRONLY)
      .data("write", 20000, 20100, 1, 10)
      .data("write", 40000, 40100, 1, 10);
  save(0, 1, {&parent});
  save(0, 1, {&child}, kForked, 4711);
  const Kept kept = schedule(including("window=0.000005.."));
  Commands made;
  for (const auto& thread : kept.threads) {
    for (const ScheduleEvent& event : thread) {
      if (event.step == model::Step::kPreopened) {
        EXPECT_EQ(event.offset, 1000);
      }
      if (event.step != model::Step::kCall) made.emplace_back(commandsOf({event}).front());
    }
  }
  std::ranges::sort(made);
  EXPECT_EQ(made, (Commands{"other", "preopened"}));
  EXPECT_EQ(kept.files.at("out").size, 1000U);
}

// Rank 1 has no call left, and passes the order of rank 0 on to rank 2.
TEST_F(FilteredSchedule, KeepsTheOrderThroughARankThatGoes) {
  Thread first(token(0));
  first.open(10000, 10100, "/run/out", O_WRONLY | O_CREAT, 1)
      .data("write", 10200, 10300, 1, 10)
      .send(1, 0, 10400, 10450);
  Thread second(token(1));
  second.open(10000, 10100, "/run/log", O_WRONLY | O_CREAT, 1)
      .receive(0, 0, 10500, 10600)
      .data("write", 10700, 10800, 1, 10)
      .send(2, 0, 10900, 10950);
  Thread third(token(2));
  third.open(10000, 10100, "/run/in", O_RDONLY, 1, 50)
      .receive(1, 0, 11000, 11100)
      .data("read", 11200, 11300, 1, 50);
  save(0, 3, {&first});
  save(1, 3, {&second});
  save(2, 3, {&third});
  const Kept kept = schedule(excluding("rank=1"));
  ASSERT_EQ(kept.threads.size(), 3U);
  EXPECT_TRUE(kept.threads[1].empty());
  const ScheduleEvent& write = kept.threads[0].at(1);
  EXPECT_NE(write.id, 0U);
  EXPECT_EQ(idsOf(kept.threads[2].at(1)), std::vector<std::uint64_t>{write.id});
}

TEST_F(FilteredSchedule, HasToLeaveSomething) {
  saveTwoFiles();
  EXPECT_THROW(schedule(including("rank=7")), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "schedule.json"));
}

TEST(FilterRule, SaysWhatItCannotRead) {
  for (const char* text :
       {"", "a,", "rank=", "rank=2-1", "rank=x", "rank<3", "call=nothing", "class=nothing",
        "request=", "request<0", "request>18446744073709551615", "request<16777216T",
        "file-size==3", "window=3", "path=", "fies=3", "request!3=1"}) {
    const base::Result<FilterRule> read = parseFilterRule(text);
    EXPECT_FALSE(read) << text;
  }
  EXPECT_NE(parseFilterRule("rank=x").failure().sentence.find("`rank=x`"), std::string::npos);
}

TEST(FilterRule, TakesAnEscapedCommaIntoAPattern) {
  const FilterRule read = rule("a\\,b*,rank=3");
  ASSERT_EQ(read.conditions.size(), 2U);
  EXPECT_EQ(read.conditions[0].pattern, "a,b*");
  EXPECT_EQ(read.conditions[1].least, 3U);
  EXPECT_EQ(read.conditions[1].most, 3U);
}

TEST(FilterRule, OpenStandsForAllOfItsForms) {
  const FilterRule read = rule("call=open");
  EXPECT_TRUE(read.conditions[0].calls[test::numberOf("open64")]);
  EXPECT_FALSE(rule("call=open64").conditions[0].calls[test::numberOf("open")]);
  EXPECT_FALSE(read.conditions[0].calls[test::numberOf("openat")]);
}

}  // namespace
}  // namespace omnio::preprocess
