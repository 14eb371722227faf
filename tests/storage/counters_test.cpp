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

// Lines as clients print them: one by a Kubernetes plug-in with pNFS, one by an older kernel with
// Kerberos. The fifth and sixth number of "bytes:" are those of the server.
constexpr const char* kMountStats =
    "device rootfs mounted on / with fstype rootfs\n"
    "device proc mounted on /proc with fstype proc\n"
    "no device mounted on /run with fstype tmpfs\n"
    "device systemd-1 mounted on /mnt/shared with fstype autofs\n"
    "device 10.101.106.68:/default-shared-0 mounted on /mnt/shared with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.1,rsize=262144,wsize=262144,soft,proto=tcp,timeo=100,retrans=2\n"
    "\tage:\t3379\n"
    "\tnfsv4:\tbm0=0xfdffafff,bm1=0x40fdbe3e,bm2=0x803,acl=0x0,sessions,pnfs=LAYOUT_SCSI\n"
    "\tsec:\tflavor=1,pseudoflavor=1\n"
    "\tevents:\t39 11 0 1 0 2 25 524289 0 0 0 34 0 2 5 3 0 5 0 2 1 0 0 0 0 499616 173895\n"
    "\tbytes:\t0 2147487744 2172592128 717307904 2172592129 2864795648 0 524289\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 6 0 29 169588 169584 0 4885578 0 31 7116 4400333\n"
    "\tper-op statistics\n"
    "\t        READ: 30802 30802 0 5 6 0 1 2\n"
    "\n"
    "device elwe:/space mounted on /srv/my\\040space with fstype nfs4 statvers=1.1 \n"
    "       age:    3542 \n"
    "       events: 114 1579 5 3 132 20 3019 1 2 3 4 5 115 1 4 1 2 4 3 4 5 6 7 8 9 0 1  \n"
    "       bytes:  1 2 3 4 5 6 7 8  \n"
    "       RPC iostats version: 1.0  p/v: 100003/4 (nfs) \n";

TEST(MountStats, TellWhatTheServerOfAMountWasAskedFor) {
  EXPECT_EQ(parseMountStats(kMountStats, "/mnt/shared")->read_bytes, 2172592129U);
  EXPECT_EQ(parseMountStats(kMountStats, "/mnt/shared")->written_bytes, 2864795648U);
  EXPECT_EQ(parseMountStats(kMountStats, "/srv/my space")->read_bytes, 5U);
  EXPECT_EQ(parseMountStats(kMountStats, "/srv/my space")->written_bytes, 6U);
  for (const char* const point : {"/", "/run", "/srv", "/mnt/share", "/mnt/shared/data"}) {
    EXPECT_FALSE(parseMountStats(kMountStats, point)) << point;
  }
}

TEST(LustreStats, SumTheBytesOfRequests) {
  // Of a connection to an object server with years of traffic: its sums of squares do not fit.
  const Moved moved = parseLustreStats(
      "snapshot_time             1637627183.394337 secs.usecs\n"
      "req_waittime              393905757 samples [usec] 31 17820911 483362372205 "
      "28824671200467887\n"
      "req_active                393906200 samples [reqs] 1 8243 1164349055 731470318467\n"
      "read_bytes                299768458 samples [bytes] 0 4194304 6895163247966 "
      "-3193831078871982772\n"
      "write_bytes               10208130 samples [bytes] 1 4194304 10917616761706 "
      "4366299781827334380\n"
      "ost_read                  299768458 samples [usec] 60 17820911 271513537128 "
      "5512071507059074\n"
      "ost_write                 10208130 samples [usec] 86 15329179 98396534435 "
      "5245570501603571\n");
  EXPECT_EQ(moved.read_bytes, 6895163247966U);
  EXPECT_EQ(moved.written_bytes, 10917616761706U);
}

TEST(LustreStats, HaveNoSquaresInOlderReleases) {
  const Moved moved = parseLustreStats(
      "snapshot_time             1301585789.189183 secs.usecs\n"
      "dirty_pages_hits          276 samples [regs]\n"
      "read_bytes                449131 samples [bytes] 1 23553884 101262334767\n"
      "write_bytes               201770 samples [bytes] 1 20971520 236938468092\n"
      "brw_read                  13 samples [pages] 4096 4096 53248\n");
  EXPECT_EQ(moved.read_bytes, 101262334767U);
  EXPECT_EQ(moved.written_bytes, 236938468092U);
  // Nothing was moved since the mount.
  EXPECT_EQ(parseLustreStats("snapshot_time 1602841753.046578144 secs.nsecs\n").read_bytes, 0U);
}

TEST(LustreFileSystem, IsTheFirstFolderOfTheSource) {
  EXPECT_EQ(lustreFileSystem("10.0.0.1@tcp:/scratch"), "scratch");
  EXPECT_EQ(lustreFileSystem("10.0.0.1@o2ib,10.0.0.2@o2ib:10.0.0.3@o2ib:/data/home/me"), "data");
  EXPECT_EQ(lustreFileSystem("/dev/sda1"), "");
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
