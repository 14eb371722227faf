// The file a process writes: a header block, then chunks of all its threads as they were drained.
// Byte by byte in docs/formats/trace.md. Numbers are little-endian.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/wire/checksum.hpp"
#include "core/wire/clock.hpp"

namespace omnio::wire {

inline constexpr std::uint64_t kContainerMagic = 0x315254'4F494E4D4FULL;  // "OMNIOTR1"
inline constexpr std::uint32_t kChunkMagic = 0x4B48434F;                  // "OCHK"
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kContainerHeaderBytes = 4096;
inline constexpr std::size_t kAccountOffset = 512;
inline constexpr const char* kContainerSuffix = ".omnio";

// The start of a container. Written once.
struct ContainerHeader {
  std::uint64_t magic = kContainerMagic;
  std::uint32_t version = kFormatVersion;
  std::uint32_t header_bytes = kContainerHeaderBytes;
  std::uint64_t token = 0;  // random, of this process image; its chunks and rings carry it too
  std::uint32_t pid = 0;
  ClockKind clock = ClockKind::kMonotonic;
  Anchor begin;
  std::uint64_t check = 0;
};

enum class AccountState : std::uint32_t {
  kRunning = 0,   // as created; a process that is gone and still says so was killed
  kEnded = 1,     // exit, _exit, the end of main
  kReplaced = 2,  // by exec: the next image of the same pid has a container of its own
  kAborted = 3,   // abort, MPI_Abort
  kCollected = 4  // killed; its rings were collected afterwards
};

// In place of an errno: the log has reached the size that it was allowed (info.hpp, max_log_size).
inline constexpr std::uint32_t kLogLimitError = 0x10000;
// The process has a filter of system calls that keeps its log from being written.
inline constexpr std::uint32_t kFilterError = 0x10001;
// Events were not waited for (--when-slow drop), and the log's device did not keep up.
inline constexpr std::uint32_t kSlowError = 0x10002;

// The figures of the whole log. They are rewritten in place, in a block that exists since the
// beginning, so that a log on a full device can still say what it lost.
struct Account {
  AccountState state = AccountState::kRunning;
  std::uint32_t error = 0;           // errno of the last write that failed, or one of the above
  std::uint64_t events_written = 0;  // in chunks of this file
  std::uint64_t events_lost = 0;     // that had to be dropped
  std::uint64_t file_bytes = 0;      // where the last chunk ends
  Anchor end{};
  std::uint64_t check = 0;
};

enum class ChunkKind : std::uint8_t {
  kEvents = 1,
  kInfo = 2,         // facts about the process: key, NUL, value, NUL, ... (info.hpp)
  kPackedEvents = 3  // events, packed by `omnio pack`: the payload is one zstd frame that says how
                     // long it is unpacked
};

struct ChunkHeader {
  std::uint32_t magic = kChunkMagic;
  ChunkKind kind = ChunkKind::kEvents;
  std::uint8_t lane = 0;  // 1: events of signal handlers that came in the middle of a record
  std::uint16_t omp_thread_plus_1 = 0;  // 0: not an OpenMP thread
  std::uint64_t token = 0;
  std::uint32_t log = 0;          // number of the log (thread and lane) in the process, from 0
  std::uint32_t thread = 0;       // ordinal of the thread in the process, in order of first event
  std::uint32_t tid = 0;          // the operating system's
  std::uint32_t sequence = 0;     // of this chunk in its log; of two alike the longer is right
  std::uint64_t first_event = 0;  // number of its first event in the log: gaps are losses
  std::uint64_t base_ticks = 0;   // the first record's gap counts from here
  std::uint64_t base_monotonic_ns = 0;  // the same moment by the system's clock
  std::uint32_t event_count = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t payload_check = 0;
  std::uint64_t check = 0;
};

static_assert(sizeof(ContainerHeader) == 64 && std::is_trivially_copyable_v<ContainerHeader>);
static_assert(sizeof(Account) == 64 && std::is_trivially_copyable_v<Account>);
static_assert(sizeof(ChunkHeader) == 80 && std::is_trivially_copyable_v<ChunkHeader>);
static_assert(kAccountOffset + sizeof(Account) <= kContainerHeaderBytes);

template <typename T>
void stamp(T& block) {
  block.check = checksumOfRest(block);
}

template <typename T>
bool isWhole(const T& block) {
  return block.check == checksumOfRest(block);
}

// Chunks start at multiples of this, in files and in rings.
inline constexpr std::size_t kChunkAlignment = 8;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kChunkAlignment - 1) & ~(kChunkAlignment - 1);
}

}  // namespace omnio::wire
