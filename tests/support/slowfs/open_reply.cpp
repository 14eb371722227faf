#include "tests/support/slowfs/open_reply.hpp"

#include <linux/fuse.h>
#include <sys/sysmacros.h>

namespace slowfs {
namespace {

template <class Part>
std::string bytesOf(const Part& part) {
  return {reinterpret_cast<const char*>(&part), sizeof part};
}

// The device number as the kernel encodes it for user space (new_encode_dev).
std::uint32_t encoded(dev_t device) {
  const unsigned low = minor(device);
  return (low & 0xff) | (major(device) << 8) | ((low & ~0xffU) << 12);
}

}  // namespace

std::string openPayload(const OpenReply& reply) {
  fuse_open_out out = {};
  out.fh = reply.handle;
  out.open_flags = reply.cached ? FOPEN_KEEP_CACHE : FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
  return bytesOf(out);
}

std::string createPayload(const OpenReply& reply, std::uint64_t node_id, const struct stat& status,
                          std::uint64_t valid_s) {
  fuse_entry_out out = {};
  out.nodeid = node_id;
  out.entry_valid = valid_s;
  out.attr_valid = valid_s;
  out.attr.ino = status.st_ino;
  out.attr.size = static_cast<std::uint64_t>(status.st_size);
  out.attr.blocks = static_cast<std::uint64_t>(status.st_blocks);
  out.attr.atime = static_cast<std::uint64_t>(status.st_atim.tv_sec);
  out.attr.mtime = static_cast<std::uint64_t>(status.st_mtim.tv_sec);
  out.attr.ctime = static_cast<std::uint64_t>(status.st_ctim.tv_sec);
  out.attr.atimensec = static_cast<std::uint32_t>(status.st_atim.tv_nsec);
  out.attr.mtimensec = static_cast<std::uint32_t>(status.st_mtim.tv_nsec);
  out.attr.ctimensec = static_cast<std::uint32_t>(status.st_ctim.tv_nsec);
  out.attr.mode = status.st_mode;
  out.attr.nlink = static_cast<std::uint32_t>(status.st_nlink);
  out.attr.uid = status.st_uid;
  out.attr.gid = status.st_gid;
  out.attr.rdev = encoded(status.st_rdev);
  out.attr.blksize = static_cast<std::uint32_t>(status.st_blksize);
  return bytesOf(out) + openPayload(reply);
}

}  // namespace slowfs
