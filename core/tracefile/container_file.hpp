// Containers as files: finding their chunks and reading payloads, adding chunks, and keeping others
// from changing one meanwhile.
//
// Damage is stepped over and reported, and the search goes on for the next whole chunk:
// a failed write, a cut file or a flipped bit costs what it hit.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/file.hpp"
#include "core/base/result.hpp"
#include "core/wire/container.hpp"

namespace omnio::tracefile {

class ProcessInfo;

// An open container, and its fixed start.
struct ContainerFile {
  base::File file;
  wire::ContainerHeader header{};
  std::optional<wire::Account> account{};
};
base::Result<ContainerFile> openContainerFile(const std::filesystem::path& path);

// Payloads are as large as a ring at most; nothing larger is believed, whatever a header says.
inline constexpr std::uint32_t kMaxPayloadBytes = 16U << 20;

// A chunk of events, by place. `header` is as stored, but event_count and payload_bytes say what
// can be read of a chunk that is cut. readPayload() reads it, packed or not.
struct StoredChunk {
  wire::ChunkHeader header;
  std::uint64_t payload_offset = 0;  // in its source
  std::uint32_t source = 0;          // 0: the container; else the ring of that number, from 1

  // Whether both are forms of one chunk of a process: one may have been cut, or packed.
  bool isSame(const StoredChunk& other) const {
    return header.log == other.header.log && header.sequence == other.header.sequence;
  }
};

// Bytes of a container that are no whole chunk (holes do not count).
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct ContainerScan {
  std::vector<StoredChunk> chunks;  // of events, packed or not, in the order of the file
  std::vector<Damage> damage;
  std::uint64_t end = 0;  // behind the last whole chunk
};

// Reads all of the file once, in pieces of a fixed size. Facts go to `info`. Packed events are not
// unpacked: the checksum is of what is stored.
ContainerScan scanContainer(const base::File& file, std::uint64_t token, ProcessInfo& info);

// Takes in the facts at the start of a container alone, which cost one small read.
void readFirstFacts(const base::File& file, std::uint64_t token, ProcessInfo& info);

// Reads the payload of a chunk in `file` into `out`, which is reused, and unpacks it when the chunk
// is packed: one zstd frame (RFC 8878) that says how long it is unpacked. False when it cannot be
// read, is damaged, or claims to be more than kMaxPayloadBytes: this is checked before anything is
// allocated. `file` is the chunk's container, not a ring.
bool readPayload(const base::File& file, const StoredChunk& chunk, std::vector<char>& out);

// The entries of a directory, in no order; where reading it fails, those that were read until then.
std::vector<std::filesystem::directory_entry> entriesOf(const std::filesystem::path& directory,
                                                        std::error_code& error);
std::vector<std::filesystem::directory_entry> entriesOf(const std::filesystem::path& directory);

// A program that was stopped while it held a lock must not stop everybody else for ever.
inline constexpr std::chrono::milliseconds kLockPatience{60'000};

enum class Locked {
  kYes,
  kNotKnown,  // the file system has no locks, or this file cannot be locked
  kBusy,      // another still had it when the time was up
};

// Takes the exclusive flock() of an open file, waiting for at most `patience`.
Locked lockWithin(int fd, std::chrono::milliseconds patience = kLockPatience);

// "PATH: another `omnio collect` or `omnio pack` has been at work on it for 60 s; end it, or wait".
base::Failure busyFailure(const std::filesystem::path& path);

// Keeps others from changing a container that is collected into or packed: one adds to the file,
// the other puts another file in its place. Waits until the container is free; nothing when it is
// not within `patience`. Where the file system knows no locks, goes on without (no descriptor).
std::optional<base::Descriptor> lockContainer(const std::filesystem::path& path,
                                              std::chrono::milliseconds patience = kLockPatience);

// Adds chunks to a container whose process is gone, packed or not, and rewrites its account.
class ContainerAppender {
 public:
  // Opens an existing container; chunks go behind its present end.
  static base::Result<ContainerAppender> open(const std::filesystem::path& path);
  // Makes a new one, which must not exist.
  static base::Result<ContainerAppender> create(const std::filesystem::path& path,
                                                const wire::ContainerHeader& header);

  // Stamps the header for this payload and writes both. Each returns 0 or an errno value; what was
  // written of a chunk that failed is taken back.
  int append(wire::ChunkHeader header, std::string_view payload);
  int writeAccount(wire::Account account);

  std::uint64_t end() const { return end_; }

 private:
  ContainerAppender(base::Descriptor file, std::uint64_t end, base::Descriptor lock)
      : file_(std::move(file)), end_(end), lock_(std::move(lock)) {}
  base::Descriptor file_;
  std::uint64_t end_;
  base::Descriptor lock_;  // packing puts another file in the container's place
};

}  // namespace omnio::tracefile
