// Counters of storage that the kernel keeps, parsed from the text of its files. Counts grow from
// the start of the node or of the mount; the difference of two readings is what happened in
// between. Damaged or foreign lines are left out: these files are for people, and grow columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace omnio::storage {

// Bytes between a node and its storage.
struct Moved {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;

  Moved& operator+=(const Moved& other);
  // The difference to an earlier reading; 0 where a counter began anew.
  Moved since(const Moved& earlier) const;
};

// A block device.
struct DeviceCounters {
  std::string name;  // "sda", "nvme0n1p2"
  Moved moved;
  std::uint64_t busy_ms = 0;  // with one request or more under way
};

// /proc/diskstats (Documentation/admin-guide/iostats.rst), by "major:minor". Its sectors are of 512
// bytes, whatever the device has.
std::map<std::string, DeviceCounters> parseDiskStats(std::string_view text);

// Bytes that an NFS mount requested from its server: the fifth and sixth number of "bytes:" in
// /proc/self/mountstats (fs/nfs/super.c). Nothing where the mount point is not in it.
std::optional<Moved> parseMountStats(std::string_view text, std::string_view point);

// The name of the file system in the source of a mount of Lustre: "scratch" of
// "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/project". Empty where it is not one.
std::string_view lustreFileSystem(std::string_view source);

// A "stats" file of Lustre (llite, osc): the sum of "read_bytes" and "write_bytes", which is the
// last number but a possible sum of squares.
Moved parseLustreStats(std::string_view text);

// Bytes that the processes of a control group moved to and from the device of that number:
// blkio.throttle.io_service_bytes of version 1, io.stat of version 2.
std::optional<Moved> parseGroupBytes(std::string_view text, std::string_view device);

// The memory of a node, in bytes, as /proc/meminfo has it.
struct MemoryUse {
  std::uint64_t dirty_bytes = 0;   // written by programs and not yet by the kernel, or under way
  std::uint64_t cached_bytes = 0;  // of files
};
MemoryUse parseMemInfo(std::string_view text);

}  // namespace omnio::storage
