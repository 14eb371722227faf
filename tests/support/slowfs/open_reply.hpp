// Replies to OPEN and CREATE with a flag that libfuse before 3.15 cannot set.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace slowfs {

struct OpenReply {
  std::uint64_t handle = 0;
  bool cached = false;  // the kernel keeps pages of the file
};

// The payload of a reply to OPEN. A file that is not cached may be written by several processes at
// a time, as on a parallel file system. The kernel takes turns nevertheless where a write makes
// the file longer.
std::string openPayload(const OpenReply& reply);

// The payload of a reply to CREATE. The kernel may use the name and the attributes for `valid_s`
// seconds.
std::string createPayload(const OpenReply& reply, std::uint64_t node_id, const struct stat& status,
                          std::uint64_t valid_s);

}  // namespace slowfs
