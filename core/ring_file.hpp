// Rings that their process has not emptied: the tail of its log while it runs, and after it was
// killed. They are read like the chunks of a container.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/chunk_scan.hpp"
#include "core/wire/ring.hpp"

namespace omnio {

// What a ring held when it was read. The chunks' payloads are in `data`.
struct RingContent {
  std::filesystem::path path;
  std::uint64_t token = 0;
  std::uint32_t pid = 0;
  std::uint64_t process_start = 0;
  bool alive = false;  // the process still runs
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

// Files in these directories whose names are those of rings, in order.
std::vector<std::filesystem::path> ringFiles(const std::vector<std::filesystem::path>& directories);

// Reads a ring; nothing when it is none, is gone, or cannot be read.
std::optional<RingContent> readRing(const std::filesystem::path& path);

}  // namespace omnio
