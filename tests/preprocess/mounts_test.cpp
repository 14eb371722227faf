#include "preprocess/files/mounts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/schedule.hpp"
#include "core/wire/info.hpp"

namespace omnio::preprocess {
namespace {

TEST(MountPoints, TheNamesBelowTheLongestOneCount) {
  const MountPoints mounts(
      "dev / ext4 rw 0 0\nserver /mnt/slow fuse rw 0 0\n"
      "a /mnt/with\\040blank xfs rw 0 0\ntmpfs /mnt/slow/in tmpfs rw 0 0");
  ASSERT_TRUE(mounts.isKnown());
  EXPECT_EQ(namesBelow(mounts, "/mnt/slow/a/b"), 2U);
  EXPECT_EQ(namesBelow(mounts, "/mnt/slower/a"), 3U);
  EXPECT_EQ(namesBelow(mounts, "/mnt/slow/in/x"), 1U);
  EXPECT_EQ(namesBelow(mounts, "/mnt/with blank/./x/../y"), 1U);
  EXPECT_EQ(namesBelow(mounts, "/mnt/slow"), 0U);
  EXPECT_FALSE(MountPoints("").isKnown());
}

TEST(Lookups, AreTheNamesThatThePathHasOnItsFileSystem) {
  const MountPoints mounts("dev / ext4 rw 0 0\nserver /mnt/slow fuse rw 0 0");
  EXPECT_EQ(lookupsOf("a/b", "a/b", mounts), model::kAllLookups);
  EXPECT_EQ(lookupsOf("./a//b/", "a/b", mounts), model::kAllLookups);
  EXPECT_EQ(lookupsOf("b", "a/b", mounts), 1);
  EXPECT_EQ(lookupsOf("../a/b", "a/b", mounts), model::kAllLookups);
  EXPECT_EQ(lookupsOf(".", "a", mounts), 0);
  EXPECT_EQ(lookupsOf("/mnt/slow/run/b", "b", mounts), 2);
  EXPECT_EQ(lookupsOf("/mnt/slow/b", "@root/mnt/slow/b", mounts), 1);
  EXPECT_EQ(lookupsOf("/mnt/slow/run/b", "b", MountPoints("")), model::kAllLookups);
}

TEST(MountPoints, OfTheKernelTellWhichFileSystemIsWhere) {
  const MountPoints mounts(
      "21 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"
      "40 21 0:45 /job /mnt/with\\040blank rw master:3 propagate_from:2 - tmpfs scratch "
      "rw,size=1g\n"
      "41 21 0:46 / /home rw - nfs4 server:/home rw\nhalf a li");
  ASSERT_EQ(mounts.mounts().size(), 3U);
  const Mount& scratch = mounts.mounts()[mounts.holding("/mnt/with blank/a")];
  EXPECT_EQ(scratch.root, "/job");
  EXPECT_EQ(scratch.device, "0:45");
  EXPECT_EQ(scratch.type, "tmpfs");
  EXPECT_EQ(scratch.source, "scratch");
  EXPECT_EQ(namesBelow(mounts, "/home/u/run/x"), 3U);
  EXPECT_EQ(namesBelow(mounts, "/srv/x"), 2U);
}

TEST(MountPoints, TheLastOfSeveralAtOnePointIsSeen) {
  const MountPoints mounts(
      "21 1 8:2 / / rw - ext4 /dev/sda2 rw\n30 21 8:3 / /a rw - ext4 /dev/sda3 rw\n"
      "31 30 0:40 / /a rw - tmpfs none rw");
  EXPECT_EQ(mounts.mounts()[mounts.holding("/a/x")].type, "tmpfs");
}

constexpr const char* kRoot = "21 1 8:2 / / rw - ext4 /dev/sda2 rw\n";

NodeMounts twoNodes(const std::string& first, const std::string& second,
                    const std::string& second_boot = "boot two") {
  return NodeMounts({{.host = "one", .boot = "boot one", .mounts = first},
                     {.host = "two", .boot = second_boot, .mounts = second}});
}

TEST(NodeMounts, TheDisksOfTwoMachinesAreTwo) {
  const NodeMounts mounts = twoNodes(kRoot, kRoot);
  EXPECT_EQ(mounts.ownerOf(0, "/tmp/x"), "one");
  EXPECT_EQ(mounts.ownerOf(1, "/tmp/x"), "two");
}

TEST(NodeMounts, ANetworkFileSystemIsOneWhateverItsDeviceNumber) {
  const std::string home = "41 21 0:46 / /home rw - nfs4 server:/home rw\n";
  const std::string other = "55 21 0:61 / /home rw - nfs4 server:/home rw\n";
  const NodeMounts mounts = twoNodes(kRoot + home, kRoot + other);
  EXPECT_EQ(mounts.ownerOf(0, "/home/u/x"), "");
  EXPECT_EQ(mounts.ownerOf(1, "/home/u/x"), "");
  EXPECT_EQ(mounts.ownerOf(1, "/homes"), "two");
}

TEST(NodeMounts, AnExportOfEachNodesOwnServerIsNot) {
  const NodeMounts mounts = twoNodes("41 21 0:46 / /scratch rw - nfs4 rack1:/scratch rw\n",
                                     "41 21 0:46 / /scratch rw - nfs4 rack2:/scratch rw\n");
  EXPECT_EQ(mounts.ownerOf(0, "/scratch/x"), "one");
  EXPECT_EQ(mounts.ownerOf(1, "/scratch/x"), "two");
}

TEST(NodeMounts, ContainersOfOneMachineShareWhatHasOneDevice) {
  const std::string scratch = "40 21 0:45 / /scratch rw - tmpfs none rw\n";
  const std::string another = "40 21 0:47 / /scratch rw - tmpfs none rw\n";
  const NodeMounts mounts = twoNodes(kRoot + scratch, kRoot + another, "boot one");
  EXPECT_EQ(mounts.ownerOf(0, "/tmp/x"), "");
  EXPECT_EQ(mounts.ownerOf(1, "/tmp/x"), "");
  EXPECT_EQ(mounts.ownerOf(0, "/scratch/x"), "one");
  EXPECT_EQ(mounts.ownerOf(1, "/scratch/x"), "two");
}

TEST(NodeMounts, AnotherDirectoryOfTheSameFileSystemIsAnotherPlace) {
  const NodeMounts mounts = twoNodes("40 21 8:2 /a /job rw - ext4 /dev/sda2 rw\n",
                                     "40 21 8:2 /b /job rw - ext4 /dev/sda2 rw\n", "boot one");
  EXPECT_EQ(mounts.ownerOf(0, "/job/x"), "one");
  EXPECT_EQ(mounts.ownerOf(1, "/job/x"), "two");
}

TEST(NodeMounts, TheFirstOfThoseThatHaveItInCommonStandsForThem) {
  const std::string lustre = "41 21 0:46 / /project rw - lustre mgs@tcp:/project rw\n";
  const NodeMounts mounts({{.host = "login", .boot = "a", .mounts = kRoot},
                           {.host = "one", .boot = "b", .mounts = kRoot + lustre},
                           {.host = "two", .boot = "c", .mounts = kRoot + lustre}});
  EXPECT_EQ(mounts.ownerOf(0, "/project/x"), "login");
  EXPECT_EQ(mounts.ownerOf(1, "/project/x"), "one");
  EXPECT_EQ(mounts.ownerOf(2, "/project/x"), "one");
}

TEST(NodeMounts, AnAutomounterMountsWhatANodeDoesNotHaveYet) {
  const std::string automount = "40 21 0:30 / /project rw - autofs systemd-1 rw\n";
  const std::string work = "41 40 0:46 / /project rw - nfs4 server:/project rw\n";
  const NodeMounts direct = twoNodes(kRoot + automount + work, kRoot + automount);
  EXPECT_EQ(direct.ownerOf(0, "/project/x"), "");
  EXPECT_EQ(direct.ownerOf(1, "/project/x"), "");
  const std::string map = "40 21 0:30 / /home rw - autofs /etc/auto.home rw\n";
  const std::string home = "41 40 0:46 / /home/u rw - nfs4 server:/home/u rw\n";
  const NodeMounts indirect = twoNodes(kRoot + map + home, kRoot + map);
  EXPECT_EQ(indirect.ownerOf(0, "/home/u/x"), "");
  EXPECT_EQ(indirect.ownerOf(1, "/home/u/x"), "");
}

TEST(NodeMounts, AnExportBelowAnotherOneIsMountedWhenItIsWanted) {
  const std::string top = "41 21 0:46 / /data rw - nfs4 server:/ rw\n";
  const std::string below = "42 41 0:47 / /data/set rw - nfs4 server:/set rw\n";
  const NodeMounts mounts = twoNodes(kRoot + top + below, kRoot + top);
  EXPECT_EQ(mounts.ownerOf(0, "/data/set/x"), "");
  EXPECT_EQ(mounts.ownerOf(1, "/data/set/x"), "");
}

TEST(NodeMounts, WhatIsHiddenDoesNotCount) {
  const std::string twice =
      "30 21 8:3 / /a rw - ext4 s rw\n31 21 8:4 / /b rw - ext4 s rw\n"
      "32 30 8:3 / /a rw - ext4 s rw\n";
  EXPECT_EQ(NodeMounts({{.host = "one", .boot = "x", .mounts = kRoot + twice}}).ownerOf(0, "/a/x"),
            "");
  const NodeMounts mounts = twoNodes(kRoot + twice, kRoot, "boot one");
  EXPECT_EQ(mounts.ownerOf(0, "/a/x"), "one");
  EXPECT_EQ(mounts.ownerOf(1, "/a/x"), "");
}

TEST(NodeMounts, AListThatWasCutSaysNothing) {
  std::string cut = kRoot;
  while (cut.size() < wire::info::kMostMountBytes - 1) cut += ' ';
  const NodeMounts mounts = twoNodes(kRoot, cut);
  EXPECT_EQ(mounts.ownerOf(0, "/tmp/x"), "");
  EXPECT_EQ(mounts.ownerOf(1, "/tmp/x"), "");
}

TEST(NodeMounts, WhatTheUserCallsSharedIs) {
  const std::string one = "41 21 0:46 / /project rw - nfs4 vip1:/project rw\n";
  const std::string two = "41 21 0:46 / /project rw - nfs4 vip2:/project rw\n";
  const NodeMounts mounts({{.host = "one", .boot = "a", .mounts = kRoot + one},
                           {.host = "two", .boot = "b", .mounts = kRoot + two}},
                          {"/project/"});
  EXPECT_EQ(mounts.ownerOf(1, "/project/x"), "");
  EXPECT_EQ(mounts.ownerOf(1, "/worker"), "two");
}

TEST(NodeMounts, WhatIsNotKnownIsTakenForShared) {
  const NodeMounts old = twoNodes("/dev/sda2 / ext4 rw 0 0", "/dev/sda2 / ext4 rw 0 0");
  EXPECT_EQ(old.ownerOf(0, "/tmp/x"), "");
  const NodeMounts silent = twoNodes(kRoot, "");
  EXPECT_EQ(silent.ownerOf(0, "/tmp/x"), "");
  EXPECT_EQ(silent.ownerOf(1, "/tmp/x"), "");
  EXPECT_EQ(NodeMounts({{.host = "one", .boot = "b", .mounts = kRoot}}).ownerOf(0, "/tmp/x"), "");
}

TEST(NodeMounts, FileSystemsInUserSpaceAreSharedWhereTheyNameWhatTheyAreOf) {
  const auto owner = [](const std::string& mount) {
    const NodeMounts mounts = twoNodes("41 21 0:46 / /m rw - " + mount + " rw\n",
                                       "41 21 0:49 / /m rw - " + mount + " rw\n");
    return std::string(mounts.ownerOf(1, "/m/x"));
  };
  EXPECT_EQ(owner("fuse.glusterfs host:/volume"), "");
  EXPECT_EQ(owner("fuse.sshfs u@host:/home"), "");
  EXPECT_EQ(owner("beegfs beegfs_nodev"), "");
  EXPECT_EQ(owner("gpfs gpfs0"), "");
  EXPECT_EQ(owner("fuse.daos dfuse"), "");
  EXPECT_EQ(owner("fuse cvmfs2"), "");
  EXPECT_EQ(owner("fuse.unionfs union"), "two");
}

}  // namespace
}  // namespace omnio::preprocess
