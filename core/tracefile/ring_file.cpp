#include "core/tracefile/ring_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "core/tracefile/process.hpp"
#include "core/wire/info.hpp"
#include "core/wire/notes.hpp"
#include "core/wire/run.hpp"
#include "core/wire/settings.hpp"

namespace omnio::tracefile {
namespace {

namespace fs = std::filesystem;

// Unlike base::File::open(), follows no link and never waits.
base::Descriptor openRing(const fs::path& path) {
  return base::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// Reads the data area as it stood with `progress`. False when the process emptied it meanwhile.
bool readData(const base::File& file, const wire::RingHeader& header, wire::Progress progress,
              std::vector<char>& data) {
  const std::uint64_t used =
      std::uint64_t{progress.chunk} + sizeof(wire::ChunkHeader) + progress.bytes;
  data.resize(static_cast<std::size_t>(std::min<std::uint64_t>(used, header.data_bytes)));
  data.resize(file.readAt(header.data_offset, data.data(), data.size()));
  std::uint64_t word = 0;
  if (file.readAt(offsetof(wire::RingHeader, progress), &word, sizeof word) != sizeof word) {
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

// As facts, which the log keeps when the ring is gone.
void takeCallState(RingContent& ring, const wire::RingHeader& header) {
  static constexpr auto kYes = [](std::string_view key) {
    return std::string(key) + std::string("\0yes\0", 5);
  };
  static const std::string between = kYes(wire::info::kEndedBetweenCalls);
  static const std::string in_call = kYes(wire::info::kEndedInCall);
  switch (header.call_state.load(std::memory_order_relaxed)) {
    case wire::CallState::kBetween:
      ring.facts.emplace_back(between);
      break;
    case wire::CallState::kUnderWay:
      ring.facts.emplace_back(in_call);
      break;
    case wire::CallState::kUnknown:
      break;
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
    for (const fs::directory_entry& entry : entriesOf(directory)) {
      if (entry.path().filename().native().starts_with(wire::kRingPrefix)) {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<RingName> ringNameOf(std::string_view file_name) {
  constexpr std::size_t kTokenDigits = 16;
  const std::string_view prefix = wire::kRingPrefix;
  if (!file_name.starts_with(prefix)) return {};
  file_name.remove_prefix(prefix.size());
  RingName name;
  if (!wire::takeRunId(file_name, name.run) || !file_name.starts_with('-')) return {};
  file_name.remove_prefix(1);
  const std::size_t before = file_name.size();
  if (!wire::takeHexNumber(file_name, kTokenDigits, name.token) ||
      before - file_name.size() != kTokenDigits || !file_name.starts_with('-')) {
    return {};
  }
  return name;
}

namespace {

// Reads the note that a process left in place of a ring (core/wire/notes.hpp).
std::optional<RingContent> readLostNote(const fs::path& path, uid_t owner) {
  const auto name = ringNameOf(path.filename().native());
  std::error_code error;
  const std::string text = fs::read_symlink(path, error).native();
  wire::LostNote note;
  if (!name || error || !wire::parseLostNote(text, note)) return {};
  RingContent ring;
  ring.path = path;
  ring.run = name->run;
  ring.token = name->token;
  ring.supervisor = note.supervisor;
  ring.directory_device = note.directory_device;
  ring.directory_inode = note.directory_inode;
  ring.uid = owner;
  ring.stated_uid = static_cast<uid_t>(note.uid);
  ring.pid = static_cast<std::uint32_t>(note.pid);
  ring.process_start = note.process_start;
  ring.pid_namespace = note.pid_namespace;
  // Whether a process of another container runs cannot be told: its note is left alone.
  ring.alive = isAlive(ring.pid, ring.process_start, ring.pid_namespace).value_or(true);
  ring.trace_directory = note.directory;
  wire::Account account;
  account.state = note.state <= static_cast<std::uint64_t>(wire::AccountState::kCollected)
                      ? static_cast<wire::AccountState>(note.state)
                      : wire::AccountState::kRunning;
  account.error = static_cast<std::uint32_t>(note.error);
  account.events_lost = note.events_lost;
  ring.note = account;
  for (const std::string& part :
       {std::string(wire::info::kProgram), std::string(note.program),
        std::string(wire::info::kProcessStart), std::to_string(note.process_start),
        std::string(wire::info::kBoot), thisBoot(), std::string(wire::info::kHost), thisHost()}) {
    ring.data.insert(ring.data.end(), part.begin(), part.end());
    ring.data.push_back('\0');
  }
  ring.facts.emplace_back(ring.data.data(), ring.data.size());
  return ring;
}

}  // namespace

std::optional<RingContent> readRing(const fs::path& path) {
  struct stat named {};
  if (lstat(path.c_str(), &named) != 0) return {};
  if (S_ISLNK(named.st_mode)) return readLostNote(path, named.st_uid);
  base::Descriptor opened = openRing(path);
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const base::File file(std::move(opened));
  const auto header = std::make_unique<wire::RingHeader>();
  constexpr int kTries = 5;  // a process that writes without a pause empties its ring now and then
  for (int i = 0; i < kTries; ++i) {
    if (file.readAt(0, header.get(), sizeof *header) != sizeof *header ||
        header->magic != wire::kRingMagic || header->version != wire::kFormatVersion ||
        header->data_bytes > kMaxPayloadBytes) {
      return {};
    }
    const auto progress = wire::Progress::unpack(header->progress.load(std::memory_order_relaxed));
    RingContent ring;
    if (!readData(file, *header, progress, ring.data) && i + 1 < kTries) continue;
    ring.path = path;
    ring.run = header->run;
    ring.supervisor = header->supervisor;
    ring.directory_device = header->directory_device;
    ring.directory_inode = header->directory_inode;
    ring.uid = status.st_uid;
    ring.stated_uid = header->uid;
    ring.token = header->token;
    ring.pid = header->pid;
    ring.process_start = header->process_start;
    ring.pid_namespace = header->pid_namespace;
    // For a process that has another container's pids, the kernel's word on the file has to do.
    const auto seen_alive = isAlive(ring.pid, ring.process_start, ring.pid_namespace);
    ring.alive = seen_alive ? *seen_alive : hasWriter(path).value_or(true);
    ring.trace_directory.assign(header->trace_directory,
                                strnlen(header->trace_directory, sizeof header->trace_directory));
    // A byte that is neither 0 nor 1 makes no valid bool: it is looked at as a byte.
    unsigned char has_note = 0;
    std::memcpy(&has_note, &header->has_note, sizeof has_note);
    if (has_note != 0) ring.note = header->note;
    findChunks(ring, progress);
    if (!ring.alive) takeCallState(ring, *header);
    return ring;
  }
  return {};
}

std::optional<bool> hasWriter(const fs::path& path) {
  const base::Descriptor opened = openRing(path);
  if (!opened) return {};
  // A lease on reading is given only while no process has the file open for writing (fcntl(2)); a
  // shared mapping that may be written counts as open.
  if (fcntl(opened.get(), F_SETLEASE, F_RDLCK) == 0) {
    fcntl(opened.get(), F_SETLEASE, F_UNLCK);
    return false;
  }
  if (errno == EAGAIN) return true;
  return {};
}

}  // namespace omnio::tracefile
