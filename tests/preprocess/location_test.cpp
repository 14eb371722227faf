#include "preprocess/files/location.hpp"

#include <gtest/gtest.h>

#include "core/model/schedule.hpp"

namespace omnio::preprocess {
namespace {

TEST(LocationMap, TheRunsOwnDirectoryIsTheTarget) {
  const LocationMap map({}, "/home/u/run");
  EXPECT_EQ(map.locationOf("/home/u/run/out/a.dat"), "out/a.dat");
  EXPECT_EQ(map.locationOf("/home/u/run//./out/../a.dat"), "a.dat");
  EXPECT_EQ(map.locationOf("/home/u/run"), ".");
  EXPECT_EQ(map.locationOf("/home/u/runner"), "@root/home/u/runner");
  EXPECT_EQ(map.locationOf("/home/u/run/../x"), "@root/home/u/x");
  EXPECT_EQ(map.locationOf("/../../etc/passwd"), "@root/etc/passwd");
  EXPECT_EQ(map.locationOf("/"), "@root");
}

TEST(LocationMap, FilesInMemoryHaveARootOfTheirOwn) {
  const LocationMap map({}, "/home/u/run");
  EXPECT_EQ(map.locationOf("/dev/shm/a/b"), "@memory/dev/shm/a/b");
  EXPECT_EQ(map.locationOf("/dev/shm"), "@memory/dev/shm");
  EXPECT_EQ(map.locationOf("/dev/shmem/a"), "@root/dev/shmem/a");
  EXPECT_TRUE(model::isInMemory("@memory/dev/shm/a"));
  EXPECT_TRUE(model::isInMemory("@node/n1/@memory/dev/shm/a"));
  EXPECT_FALSE(model::isInMemory("@memory"));
  EXPECT_FALSE(model::isInMemory("a/@memory/b"));
  // A run that began there has its storage there.
  EXPECT_EQ(LocationMap({}, "/dev/shm/run").locationOf("/dev/shm/run/a"), "a");
  EXPECT_EQ(LocationMap({}, "/dev/shm/run").locationOf("/dev/shm/b"), "@root/dev/shm/b");
  EXPECT_EQ(LocationMap({*parseMapRule("/dev/shm=s")}, "/r").locationOf("/dev/shm/b"), "s/b");
}

TEST(LocationMap, AProgramThatRanAtTheTopKeepsAbsolutePaths) {
  const LocationMap map({}, "/");
  EXPECT_EQ(map.locationOf("/scratch/x"), "@root/scratch/x");
}

TEST(LocationMap, TheLongestRuleWins) {
  const LocationMap map({*parseMapRule("/scratch=s"), *parseMapRule("/scratch/deep=d/e"),
                         *parseMapRule("/home/u/run=.")},
                        "/home/u/run");
  EXPECT_EQ(map.locationOf("/scratch/a"), "s/a");
  EXPECT_EQ(map.locationOf("/scratch/deep/a"), "d/e/a");
  EXPECT_EQ(map.locationOf("/scratch/deeper"), "s/deeper");
  EXPECT_EQ(map.locationOf("/home/u/run/a"), "a");
}

TEST(LocationMap, ARuleMayTakeEverything) {
  const LocationMap map({*parseMapRule("/=all")}, "/home/u");
  EXPECT_EQ(map.locationOf("/etc/x"), "all/etc/x");
  EXPECT_EQ(map.locationOf("/home/u/x"), "x");
}

TEST(LocationMap, IsTheBytesOfTheName) {
  EXPECT_EQ(LocationMap({}, "/r").locationOf("/r/a\xff\n\\"), "a\xff\n\\");
}

TEST(MapRule, NonsenseIsRefused) {
  const auto refusal = [](const char* text) { return parseMapRule(text).failure().sentence; };
  EXPECT_EQ(refusal("x"), "--map x: has to be FROM=TO");
  EXPECT_EQ(refusal("x=y"), "--map x=y: FROM has to be an absolute path");
  EXPECT_EQ(refusal("=y"), "--map =y: FROM has to be an absolute path");
  EXPECT_EQ(refusal("/x=/y"), "--map /x=/y: TO has to be relative to the target");
  EXPECT_EQ(refusal("/x=a/../../y"), "--map /x=a/../../y: TO leads out of the target");
}

}  // namespace
}  // namespace omnio::preprocess
