#include "core/storage/counters.hpp"

#include <gtest/gtest.h>

namespace omnio::storage {
namespace {

TEST(DiskStats, HaveBytesAndBusyTimeByNumber) {
  // Linux 4.18 and 5.5 added columns; 2.6 had no more than the first fourteen.
  const auto devices = parseDiskStats(
      "   8       0 sda 10663 746 928449 2528 5151 2473 7876084 35490 2 8232 41947 7 0 0 0 36 "
      "3928\n"
      "   8       1 sda1 3 0 8 1 2 0 16 4 0 5 5\n"
      " 259       3 nvme0n1p2 1 0 8\n");
  ASSERT_EQ(devices.size(), 2U);
  const DeviceCounters& disk = devices.at("8:0");
  EXPECT_EQ(disk.name, "sda");
  EXPECT_EQ(disk.moved.read_bytes, 928449U * 512);
  EXPECT_EQ(disk.moved.written_bytes, 7876084U * 512);
  EXPECT_EQ(disk.busy_ms, 8232U);
  EXPECT_EQ(devices.at("8:1").moved.written_bytes, 16U * 512);
}

TEST(MountStats, TellWhatTheServerOfAMountWasAskedFor) {
  const char* const text =
      "device rootfs mounted on / with fstype rootfs\n"
      "device filer:/home mounted on /home with fstype nfs4 statvers=1.1\n"
      "\topts:\trw,vers=4.1,rsize=1048576,wsize=1048576,namlen=255\n"
      "\tage:\t7863311\n"
      "\tevents:\t11 22 33 44\n"
      "\tbytes:\t1024 2048 512 256 4096 8192 1 2\n"
      "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
      "device filer:/scratch mounted on /scratch with fstype nfs statvers=1.1\n"
      "\tbytes:\t9 9 9 9 70000 80000 9 9\n";
  EXPECT_EQ(parseMountStats(text, "/home")->read_bytes, 4096U);
  EXPECT_EQ(parseMountStats(text, "/home")->written_bytes, 8192U);
  EXPECT_EQ(parseMountStats(text, "/scratch")->written_bytes, 80000U);
  EXPECT_FALSE(parseMountStats(text, "/"));
  EXPECT_FALSE(parseMountStats(text, "/hom"));
}

TEST(LustreStats, SumTheBytesOfRequests) {
  const Moved moved = parseLustreStats(
      "snapshot_time             1699999999.123456789 secs.nsecs\n"
      "req_waittime              51 samples [usec] 40 9000 91234 99999999\n"
      "read_bytes                12 samples [bytes] 4096 1048576 9437184 8246337208320\n"
      "write_bytes               3 samples [bytes] 100 200 450\n"
      "open                      5 samples [regs]\n");
  EXPECT_EQ(moved.read_bytes, 9437184U);
  EXPECT_EQ(moved.written_bytes, 450U);
  EXPECT_EQ(parseLustreStats("snapshot_time 1 secs.nsecs\n").read_bytes, 0U);
}

TEST(GroupBytes, AreThoseOfTheDevice) {
  const char* const first_version =
      "8:0 Read 4096\n8:0 Write 1048576\n8:0 Sync 0\n8:0 Async 1052672\n8:0 Total 1052672\n"
      "8:16 Read 7\n8:16 Write 8\nTotal 1052687\n";
  EXPECT_EQ(parseGroupBytes(first_version, "8:0")->written_bytes, 1048576U);
  EXPECT_EQ(parseGroupBytes(first_version, "8:16")->read_bytes, 7U);
  const char* const second_version =
      "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n";
  EXPECT_EQ(parseGroupBytes(second_version, "8:16")->read_bytes, 1459200U);
  EXPECT_EQ(parseGroupBytes(second_version, "8:16")->written_bytes, 314773504U);
  EXPECT_FALSE(parseGroupBytes(second_version, "8:1"));
}

TEST(MemInfo, HasWhatIsNotWrittenYet) {
  const MemoryUse use = parseMemInfo(
      "MemTotal:       24684084 kB\nBuffers:           28368 kB\nCached:          2553448 kB\n"
      "SwapCached:            0 kB\nDirty:              7596 kB\nWriteback:           404 kB\n");
  EXPECT_EQ(use.dirty_bytes, 8000U * 1024);
  EXPECT_EQ(use.cached_bytes, 2553448U * 1024);
}

TEST(Moved, StaysAtNothingWhereACounterBeganAnew) {
  const Moved since =
      Moved{.read_bytes = 5, .written_bytes = 9}.since({.read_bytes = 7, .written_bytes = 4});
  EXPECT_EQ(since.read_bytes, 0U);
  EXPECT_EQ(since.written_bytes, 5U);
}

}  // namespace
}  // namespace omnio::storage
