// A ring: the memory that one thread at a time records into. It is a mapping of a file on
// node-local tmpfs, so that what it holds survives the process; whoever collects it afterwards
// needs no more than this header. The file gets its name when the header is complete, in one step.
//
// The data area holds whole chunks, the last of them open: its header is written when it begins,
// and how far it has come stands in `progress`, which one store moves on with each event. A ring
// that is full is written to the container in one piece and begins anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/container.hpp"
#include "core/wire/run.hpp"

namespace omnio::wire {

inline constexpr std::uint64_t kRingMagic = 0x3247524F'494E4D4FULL;  // "OMNIORG2"
inline constexpr std::size_t kRingHeaderBytes = 16384;
inline constexpr std::size_t kRingDataBytes = 128 * 1024;
inline constexpr std::size_t kMaxTraceDirectory = 4096;

// Names of ring files: <directory>/omnio-<run id, 32 hex digits>-<token, 16 hex digits>-<number>.
// A name that ends with "-lost" is a symbolic link: what a process says of itself that could make
// neither a log nor a ring (notes.hpp).
inline constexpr const char* kRingPrefix = "omnio-";
inline constexpr const char* kLostSuffix = "-lost";
// Where rings live: the first of these that is tmpfs and takes them; OMNIO_RING_DIR goes first.
inline constexpr const char* kRingDirectories[] = {"/dev/shm", "/run/shm", "/tmp"};

// Place of the open chunk (in units of kChunkAlignment), payload bytes and events, in one word.
struct Progress {
  std::uint32_t chunk = 0;  // offset of the open chunk's header in the data area, bytes
  std::uint32_t bytes = 0;
  std::uint32_t events = 0;

  constexpr std::uint64_t pack() const {
    return static_cast<std::uint64_t>(chunk / kChunkAlignment) << 48 |
           static_cast<std::uint64_t>(bytes) << 24 | events;
  }
  static constexpr Progress unpack(std::uint64_t word) {
    return {.chunk = static_cast<std::uint32_t>(word >> 48) *
                     static_cast<std::uint32_t>(kChunkAlignment),
            .bytes = static_cast<std::uint32_t>(word >> 24) & 0xFFFFFF,
            .events = static_cast<std::uint32_t>(word) & 0xFFFFFF};
  }
};
static_assert(kRingDataBytes < (1U << 24) && kRingDataBytes / kChunkAlignment < (1U << 16));

// Whether the ring's owner is inside of a call that would be an event. When its process is killed
// there, the call may have done what no event tells of; anywhere else nothing is lost.
enum class CallState : std::uint32_t {
  kUnknown = 0,   // as older tracers leave it
  kBetween = 1,   // the last call of the owner that is an event is in the ring
  kUnderWay = 2,  // or mapped pages, or asynchronous operations, may be
};

struct RingHeader {
  std::uint64_t magic = kRingMagic;
  std::uint32_t version = kFormatVersion;
  std::uint32_t pid = 0;
  std::uint64_t token = 0;
  std::uint32_t data_offset = 0;  // of the data area in the file
  std::uint32_t data_bytes = 0;
  std::uint64_t process_start = 0;  // start time of the process as in /proc/<pid>/stat
  std::uint64_t pid_namespace = 0;  // inode of the one in which pid is the number; 0: not known
  RunId run;
  Supervisor supervisor;
  // The trace directory as stat has it; 0 and 0 when the process could not look.
  std::uint64_t directory_device = 0;
  std::uint64_t directory_inode = 0;
  std::uint32_t uid = 0;  // of the process when it made the ring: the owner of the file
  std::atomic<CallState> call_state{CallState::kUnknown};
  // A process whose container cannot be written leaves its account here, in one ring.
  Account note;
  bool has_note = false;
  std::atomic<std::uint64_t> progress{0};
  char trace_directory[kMaxTraceDirectory] = {};
  // How often what the ring holds was taken out, or may have been overwritten otherwise. It moves
  // before that begins: who copies from the ring while its process runs (prefetch/live_log.hpp)
  // drops the copy when it has moved meanwhile.
  std::atomic<std::uint64_t> generation{0};
};
static_assert(sizeof(RingHeader) <= kRingHeaderBytes);

}  // namespace omnio::wire
