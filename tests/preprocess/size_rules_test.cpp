// Factors of sizes by names of files: which factor a file has, and what calls on it have then.
#include "preprocess/files/size_rules.hpp"

#include <gtest/gtest.h>

#include "tests/preprocess/traced_run.hpp"

namespace omnio::preprocess {
namespace {

std::string whyRefused(const std::vector<std::string>& words) {
  const base::Result<SizeRules> rules = SizeRules::read(words);
  return rules ? "" : rules.failure().sentence;
}

TEST(SizeRules, TheLastPatternThatMatchesDecides) {
  const base::Result<SizeRules> rules =
      SizeRules::read({"dump.*=3", "2", "/run/in/*=0.5", "a=b=4", "dump.*=3"});
  ASSERT_TRUE(rules) << rules.failure().sentence;
  EXPECT_EQ(rules->factorOf("/run/log"), 2);
  EXPECT_EQ(rules->factorOf("/other/dump.1"), 3);
  EXPECT_EQ(rules->factorOf("/run/in/x"), 0.5);
  EXPECT_EQ(rules->factorOf("/run/in/dump.1"), 3);  // given again, after the other
  EXPECT_EQ(rules->factorOf("/run/a=b"), 4);
  EXPECT_EQ(rules->factors(), (std::vector<double>{2, 0.5, 4, 3}));
}

TEST(SizeRules, FilesThatNoPatternMatchesStayAsTheyAre) {
  const base::Result<SizeRules> rules = SizeRules::read({"dump.*=3"});
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->factorOf("/run/log"), 1);
  EXPECT_TRUE(rules->changesSizes());
  EXPECT_FALSE(SizeRules::read({"x=1", "1"})->changesSizes());
}

TEST(SizeRules, RefusalsNameTheWord) {
  EXPECT_EQ(whyRefused({"dump.*"}),
            "--size-scale dump.*: dump.* is not a number from 0.000001 to 1000000");
  EXPECT_EQ(whyRefused({"dump.*=two"}),
            "--size-scale dump.*=two: two is not a number from 0.000001 to 1000000");
  EXPECT_EQ(whyRefused({"x=-1"}), "--size-scale x=-1: -1 is not a number from 0.000001 to 1000000");
  EXPECT_EQ(whyRefused({"x="}), "--size-scale x=:  is not a number from 0.000001 to 1000000");
  EXPECT_EQ(whyRefused({"=2"}), "--size-scale =2: the pattern in front of = is empty");
  EXPECT_EQ(whyRefused({"x=2", "y=2", "x=3"}),
            "--size-scale x=3: the factor of x was given before, as 2");
  EXPECT_EQ(whyRefused({"2", "x=2", "3"}),
            "--size-scale 3: the factor of all other files was given before, as 2");
}

class SizesByName : public TracedRun {
 protected:
  Kept scaled(std::vector<model::SizeScale> patterns, double plain = 1) {
    return schedule(
        {.timing = model::Timing::kAsap, .size_scale = plain, .size_scales = std::move(patterns)});
  }
};

TEST_F(SizesByName, EachFileHasTheFactorOfItsName) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/dump.1", O_WRONLY | O_CREAT | O_TRUNC, 1)
      .open(10200, 10300, "/run/log", O_WRONLY | O_CREAT | O_TRUNC, 2)
      .open(10400, 10500, "/run/in", O_RDONLY, 3)
      .data("write", 10600, 10700, 1, 100)
      .data("write", 10800, 10900, 2, 31)
      .data("write", 11000, 11100, 1, 50)
      .data("write", 11200, 11300, 2, 7)
      .data("pread", 11400, 11500, 3, 60, 20);
  save(0, 1, {&thread});
  const Kept kept = scaled({{"dump.*", 3}, {"/run/in", 0.5}});
  const auto& events = kept.threads.at(0);
  EXPECT_EQ(events.at(3).request, 300U);
  EXPECT_EQ(events.at(3).result, 300);
  EXPECT_EQ(events.at(4).request, 31U);
  EXPECT_EQ(events.at(5).offset, 300);
  EXPECT_EQ(events.at(5).request, 150U);
  EXPECT_EQ(events.at(6).offset, 31);
  EXPECT_EQ(events.at(6).request, 7U);
  EXPECT_EQ(events.at(7).offset, 10);
  EXPECT_EQ(events.at(7).request, 30U);
  EXPECT_EQ(kept.files.at("in").size, 40U);
  EXPECT_TRUE(summary_.left_out.empty());
  EXPECT_EQ(kept.global.size_scale, 1);
  EXPECT_EQ(kept.global.size_scales,
            (std::vector<model::SizeScale>{{"dump.*", 3}, {"/run/in", 0.5}}));
}

TEST_F(SizesByName, ARenamedFileKeepsTheFactorOfItsFirstName) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/dump.tmp", O_RDWR | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 100)
      .rename(10400, 10500, "/run/dump.tmp", "/run/final")
      .data("write", 10600, 10700, 1, 10)
      .open(10800, 10900, "/run/final", O_RDONLY, 2)
      .data("read", 11000, 11100, 2, 110)
      .open(11200, 11300, "/run/dump.tmp", O_WRONLY | O_CREAT | O_TRUNC, 3)
      .data("write", 11400, 11500, 3, 5);
  save(0, 1, {&thread});
  const Kept kept = scaled({{"dump.*", 2}}, 5);
  const auto& events = kept.threads.at(0);
  EXPECT_EQ(events.at(1).request, 200U);
  EXPECT_EQ(events.at(3).offset, 200);
  EXPECT_EQ(events.at(3).request, 20U);
  EXPECT_EQ(events.at(5).request, 220U);
  EXPECT_EQ(events.at(7).request, 10U);
  EXPECT_EQ(summary_.left_out,
            std::vector<std::string>{
                "the factors that --size-scale gives to later names of 1 files, final the first: a "
                "file keeps the factor of its first name"});
}

TEST_F(SizesByName, ALinkLeadsToTheFactorOfTheFile) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/dump.1", O_RDWR | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 100)
      .symlink(10400, 10500, "dump.1", "/run/last")
      .open(10600, 10700, "/run/last", O_RDONLY, 2)
      .data("read", 10800, 10900, 2, 100);
  save(0, 1, {&thread});
  EXPECT_EQ(scaled({{"dump.*", 2}}).threads.at(0).at(4).request, 200U);
  EXPECT_EQ(summary_.left_out.size(), 1U);
}

TEST_F(SizesByName, FilesThatACallCopiesBetweenHaveOneFactor) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/a", O_RDONLY, 1)
      .open(10200, 10300, "/run/dump.1", O_WRONLY | O_CREAT | O_TRUNC, 2)
      .open(10400, 10500, "/run/dump.2", O_WRONLY | O_CREAT | O_TRUNC, 3)
      .data("write", 10600, 10700, 2, 40)
      .copyRange(10800, 10900, 3, 2, 300, 300)
      .data("write", 11000, 11100, 3, 40);
  save(0, 1, {&thread});
  const Kept kept = scaled({{"dump.*", 0.5}, {"a", 2}});
  const auto& events = kept.threads.at(0);
  // Both have the factor of the one that was used first.
  EXPECT_EQ(events.at(3).request, 80U);
  EXPECT_EQ(events.at(4).request, 600U);
  EXPECT_EQ(events.at(4).offset, 80);
  EXPECT_EQ(events.at(5).request, 20U);
  EXPECT_EQ(kept.files.at("a").size, 600U);
  EXPECT_EQ(summary_.left_out,
            std::vector<std::string>{
                "the factors that --size-scale gives to 1 files, dump.1 the first: calls copied "
                "bytes between files of different factors, and all of these have that of the file "
                "that was used first"});
}

TEST_F(SizesByName, SmallRequestsKeepTheirSizesAndTheRestFollowsThem) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/dump", O_RDWR | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 20)
      .data("write", 10400, 10500, 1, 100)
      .data("write", 10600, 10700, 1, 49)
      .data("write", 10800, 10900, 1, 50)
      .data("pread", 11000, 11100, 1, 219, 0)
      .shortRead(11200, 11300, 1, 19, 40, 200);
  save(0, 1, {&thread});
  const Kept kept = schedule({.timing = model::Timing::kAsap, .size_scale = 2, .keep_below = 50});
  const auto& events = kept.threads.at(0);
  EXPECT_EQ(events.at(1).request, 20U);
  EXPECT_EQ(events.at(2).offset, 20);
  EXPECT_EQ(events.at(2).request, 200U);
  EXPECT_EQ(events.at(3).offset, 220);
  EXPECT_EQ(events.at(3).request, 49U);
  EXPECT_EQ(events.at(4).offset, 269);
  // Its last 19 bytes are read by a small request, too.
  EXPECT_EQ(events.at(4).request, 2 * 31U + 19);
  EXPECT_EQ(events.at(5).result, 269 + 2 * 31 + 19);
  EXPECT_EQ(events.at(6).offset, 269 + 2 * 31);
  EXPECT_EQ(events.at(6).request, 40U);
  EXPECT_EQ(events.at(6).result, 19);
  EXPECT_EQ(kept.global.keep_below, 50U);
}

TEST_F(SizesByName, AppendedRequestsKeepTheirSizesWhereverTheyCameToLie) {
  Thread first(token(0));
  first.open(10000, 10100, "/run/log", O_WRONLY | O_APPEND | O_CREAT, 1)
      .data("write", 10200, 10300, 1, 30)
      .data("write", 10400, 10500, 1, 20);
  Thread second(token(1));
  second.open(10120, 10130, "/run/log", O_WRONLY | O_APPEND | O_CREAT, 1)
      .open(10140, 10150, "/run/mixed", O_WRONLY | O_APPEND | O_CREAT, 2)
      .data("write", 10320, 10330, 1, 40)
      .data("write", 10600, 10700, 2, 40)
      .data("write", 10800, 10900, 2, 60)
      .open(11000, 11100, "/run/log", O_RDONLY, 3)
      .data("read", 11200, 11300, 3, 90);
  save(0, 2, {&first});
  save(1, 2, {&second});
  // Larger requests that are appended lie where others decide: all of that file is multiplied.
  const Kept kept = schedule(
      {.timing = model::Timing::kAsap, .size_scale = 2, .keep_below = 50, .partial = true});
  std::vector<std::uint64_t> requests;
  for (const auto& events : kept.threads) {
    for (const ScheduleEvent& event : events) {
      if (event.request > 0) requests.push_back(event.request);
    }
  }
  EXPECT_EQ(requests, (std::vector<std::uint64_t>{30, 20, 40, 80, 120, 90}));
}

TEST_F(SizesByName, FilesThatACallCopiesBetweenKeepNoSizes) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/a", O_RDWR | O_CREAT | O_TRUNC, 1)
      .data("write", 10200, 10300, 1, 30)
      .onHandle("lseek", 10310, 10320, 1, 0, 0, SEEK_SET)
      .open(10400, 10500, "/run/b", O_WRONLY | O_CREAT | O_TRUNC, 2)
      .copyRange(10600, 10700, 3, 2, 30, 3000);
  save(0, 1, {&thread});
  const Kept kept = schedule({.timing = model::Timing::kAsap, .size_scale = 2, .keep_below = 50});
  EXPECT_EQ(kept.threads.at(0).at(1).request, 60U);
  EXPECT_EQ(kept.threads.at(0).at(4).result, 60);
}

TEST_F(SizesByName, APatternThatMatchesNoFileIsRefused) {
  Thread thread(token(0));
  thread.open(10000, 10100, "/run/in", O_RDONLY, 1)
      .data("read", 10200, 10300, 1, 100)
      .failedOpen(10400, 10500, "/run/dump.1", ENOENT);
  save(0, 1, {&thread});
  try {
    scaled({{"in", 2}, {"dump.*", 2}});
    FAIL();
  } catch (const std::runtime_error& refused) {
    EXPECT_EQ(refused.what(),
              (directory_ / "trace").string() +
                  ": no file of the run matches the pattern dump.* of --size-scale");
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "schedule.json"));
}

}  // namespace
}  // namespace omnio::preprocess
