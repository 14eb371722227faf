// Rings that their process has not emptied: the tail of its log while it runs, and after it was
// killed. They are read like the chunks of a container.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tracefile/container_file.hpp"
#include "core/wire/ring.hpp"

namespace omnio::tracefile {

// The parts of the name of a ring's file (core/wire/ring.hpp).
struct RingName {
  wire::RunId run;
  std::uint64_t token = 0;
};
// Nothing when it is not the name of a ring.
std::optional<RingName> ringNameOf(std::string_view file_name);

// The content of a ring when it was read. The chunks' payloads are in `data`.
struct RingContent {
  std::filesystem::path path;
  wire::RunId run;
  wire::Supervisor supervisor;
  std::uint64_t directory_device = 0;
  std::uint64_t directory_inode = 0;
  uid_t uid = 0;         // owner of the file
  uid_t stated_uid = 0;  // as its header says; another one: the file was copied
  std::uint64_t token = 0;
  std::uint32_t pid = 0;
  std::uint64_t process_start = 0;
  std::uint64_t pid_namespace = 0;  // in which pid is the number; 0: not known
  bool alive = false;               // the process still runs
  std::string trace_directory;
  std::optional<wire::Account> note;
  std::vector<char> data;
  std::vector<StoredChunk> chunks;      // of events
  std::vector<std::string_view> facts;  // payloads of info chunks, in `data`

  RingContent() = default;
  RingContent(RingContent&&) = default;
  RingContent& operator=(RingContent&&) = default;
  RingContent(const RingContent&) = delete;  // `facts` points into `data`
  RingContent& operator=(const RingContent&) = delete;
};

// Directories where rings may be: the usual ones, OMNIO_RING_DIR, and those named besides.
std::vector<std::filesystem::path> ringDirectories(const std::vector<std::string>& besides = {});

// Files in these directories whose names begin as those of rings do, in order.
std::vector<std::filesystem::path> ringFiles(const std::vector<std::filesystem::path>& directories);

// Reads a ring; nothing when it is none, is gone, or cannot be read. Never follows a link and never
// waits, whatever is found there.
std::optional<RingContent> readRing(const std::filesystem::path& path);

// Whether any process has the file open, or mapped, for writing; nothing when the kernel does not
// tell (only the file's owner may ask, and root).
std::optional<bool> hasWriter(const std::filesystem::path& path);

}  // namespace omnio::tracefile
