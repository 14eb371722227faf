#include "core/ring_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>

#include "core/process_life.hpp"
#include "core/wire/settings.hpp"

namespace omnio {
namespace {

namespace fs = std::filesystem;

// The data area as it stood with `progress`. Tells false when the process emptied it meanwhile.
bool readData(const File& file, const wire::RingHeader& header, wire::Progress progress,
              std::vector<char>& data) {
  const std::uint64_t used =
      std::uint64_t{progress.chunk} + sizeof(wire::ChunkHeader) + progress.bytes;
  data.resize(static_cast<std::size_t>(std::min<std::uint64_t>(used, header.data_bytes)));
  data.resize(file.readAt(header.data_offset, data.data(), data.size()));
  std::uint64_t word = 0;
  if (file.readAt(offsetof(wire::RingHeader, progress), reinterpret_cast<char*>(&word),
                  sizeof word) != sizeof word) {
    return false;
  }
  const auto now = wire::Progress::unpack(word);
  return now.chunk >= progress.chunk && (now.chunk > progress.chunk || now.bytes >= progress.bytes);
}

void takeChunk(RingContent& ring, const wire::ChunkHeader& header, std::size_t payload_at) {
  if (header.kind == wire::ChunkKind::kInfo) {
    ring.facts.emplace_back(ring.data.data() + payload_at, header.payload_bytes);
  } else if (header.kind == wire::ChunkKind::kEvents && header.event_count > 0) {
    ring.chunks.push_back({.header = header, .payload_offset = payload_at});
  }
}

// In a ring a header is trusted for its magic number and token, and its lengths are checked against
// the data: checksums are not computed before a chunk is written to the container.
void findChunks(RingContent& ring, wire::Progress progress) {
  std::size_t at = 0;
  while (at <= progress.chunk && at + sizeof(wire::ChunkHeader) <= ring.data.size()) {
    wire::ChunkHeader header;
    std::memcpy(&header, ring.data.data() + at, sizeof header);
    const std::size_t payload_at = at + sizeof header;
    const bool open = at == progress.chunk;
    if (open) {
      header.payload_bytes = progress.bytes;
      header.event_count = progress.events;
    }
    if (header.magic != wire::kChunkMagic || header.token != ring.token ||
        header.payload_bytes > ring.data.size() - payload_at) {
      if (open) return;
      at = progress.chunk;  // a closed chunk that does not hold: the open one stands by itself
      continue;
    }
    takeChunk(ring, header, payload_at);
    if (open) return;
    at = wire::aligned(payload_at + header.payload_bytes);
  }
}

}  // namespace

std::vector<fs::path> ringDirectories(const std::vector<std::string>& besides) {
  std::vector<fs::path> directories;
  const auto add = [&directories](const fs::path& path) {
    std::error_code error;
    fs::path real = fs::canonical(path, error);
    if (error || std::find(directories.begin(), directories.end(), real) != directories.end()) {
      return;
    }
    directories.push_back(std::move(real));
  };
  if (const char* chosen = std::getenv(wire::settingOf(wire::SettingId::kRingDirectory).variable);
      chosen != nullptr && *chosen != '\0') {
    add(chosen);
  }
  for (const char* usual : wire::kRingDirectories) add(usual);
  for (const std::string& other : besides) {
    if (other.starts_with('/')) add(other);
  }
  return directories;
}

std::vector<fs::path> ringFiles(const std::vector<fs::path>& directories) {
  std::vector<fs::path> files;
  for (const fs::path& directory : directories) {
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().filename().native().starts_with(wire::kRingPrefix)) {
        files.push_back(entry->path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<RingContent> readRing(const fs::path& path) {
  // Anyone may put a file into these directories: one that leads elsewhere is none of ours.
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return {};
  const Result<File> file = File::open(path);
  if (!file) return {};
  const auto header = std::make_unique<wire::RingHeader>();
  constexpr int kTries = 5;  // a process that writes without a pause empties its ring now and then
  for (int i = 0; i < kTries; ++i) {
    if (file->readAt(0, reinterpret_cast<char*>(header.get()), sizeof *header) != sizeof *header ||
        header->magic != wire::kRingMagic || header->version != wire::kFormatVersion ||
        header->data_bytes > kMaxPayloadBytes) {
      return {};
    }
    const auto progress = wire::Progress::unpack(header->progress.load(std::memory_order_relaxed));
    RingContent ring;
    if (!readData(*file, *header, progress, ring.data) && i + 1 < kTries) continue;
    ring.path = path;
    ring.token = header->token;
    ring.pid = header->pid;
    ring.process_start = header->process_start;
    ring.alive = isAlive(header->pid, header->process_start);
    ring.trace_directory.assign(header->trace_directory,
                                strnlen(header->trace_directory, sizeof header->trace_directory));
    // A byte that is neither 0 nor 1 makes no valid bool: it is looked at as a byte.
    unsigned char has_note = 0;
    std::memcpy(&has_note, &header->has_note, sizeof has_note);
    if (has_note != 0) ring.note = header->note;
    findChunks(ring, progress);
    return ring;
  }
  return {};
}

}  // namespace omnio
