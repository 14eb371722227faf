#include "prefetch/live_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/file.hpp"

namespace omnio::prefetch {
namespace {

constexpr std::size_t kRingBytes = wire::kRingHeaderBytes + wire::kRingDataBytes;
// Of more, those beyond are not counted when events are lost.
constexpr std::size_t kMostLogs = 4096;

}  // namespace

std::optional<RingMemory> RingMemory::open(const std::filesystem::path& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  if (facts.st_uid != geteuid() || facts.st_size < static_cast<off_t>(kRingBytes)) return {};
  void* const memory = mmap(nullptr, kRingBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return {};
  RingMemory ring(memory, facts.st_ino);
  const wire::RingHeader& header = ring.header();
  const bool is_ring = header.magic == wire::kRingMagic && header.version == wire::kFormatVersion &&
                       header.data_offset == wire::kRingHeaderBytes &&
                       header.data_bytes == wire::kRingDataBytes;
  return is_ring ? std::optional(std::move(ring)) : std::nullopt;
}

RingMemory::RingMemory(RingMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), inode_(other.inode_) {}

RingMemory::~RingMemory() {
  if (memory_ != nullptr) munmap(memory_, kRingBytes);
}

LiveLog::LiveLog(RingMemory ring, const tracefile::Process& process, event::PathTable& paths,
                 tracefile::Stacks stacks)
    : ring_(std::move(ring)),
      events_(process, paths, stacks),
      // Not touched where a ring has little in it.
      payload_(std::make_unique_for_overwrite<char[]>(wire::kRingDataBytes)),
      generation_(ring_.header().generation.load(std::memory_order_acquire)) {}

bool LiveLog::hasMore() const {
  const wire::RingHeader& header = ring_.header();
  const auto progress = wire::Progress::unpack(header.progress.load(std::memory_order_acquire));
  if (header.generation.load(std::memory_order_relaxed) != generation_) return progress.events > 0;
  return progress.chunk != chunk_ || progress.bytes > copied_;
}

const event::Event* LiveLog::next() {
  // A thread that records without a pause may overwrite each copy: others wait for their turn.
  constexpr int kTries = 4;
  for (int i = 0; i < kTries;) {
    if (events_.isOpen()) {
      if (const event::Event* const event = events_.next()) return event;
    }
    if (is_whole_) beginAt(next_chunk_);
    switch (copyMore()) {
      case Copied::kSomething:
        break;
      case Copied::kNothing:
        return nullptr;
      case Copied::kOverwritten:
        ++i;
        break;
    }
  }
  return nullptr;
}

void LiveLog::beginAt(std::uint32_t chunk) {
  chunk_ = chunk;
  copied_ = 0;
  has_begun_ = is_whole_ = false;
  events_.leave();
}

LiveLog::Copied LiveLog::copyMore() {
  const wire::RingHeader& ring = ring_.header();
  const auto has_moved = [&] {
    std::atomic_thread_fence(std::memory_order_acquire);
    return ring.generation.load(std::memory_order_relaxed) != generation_;
  };
  const std::uint64_t now = ring.generation.load(std::memory_order_acquire);
  if (now != generation_) {
    generation_ = now;
    beginAt(0);
  }
  const auto progress = wire::Progress::unpack(ring.progress.load(std::memory_order_acquire));
  const bool is_open = progress.chunk == chunk_;
  if (progress.chunk < chunk_ || (is_open && progress.bytes <= copied_)) return Copied::kNothing;
  wire::ChunkHeader header;
  std::memcpy(&header, ring_.data() + chunk_, sizeof header);
  const std::uint32_t bytes = is_open ? progress.bytes : header.payload_bytes;
  const std::size_t payload_at = chunk_ + sizeof header;
  const bool holds = header.magic == wire::kChunkMagic && header.token == ring.token &&
                     payload_at <= wire::kRingDataBytes && bytes >= copied_ &&
                     bytes <= wire::kRingDataBytes - payload_at;
  if (holds) {
    std::memcpy(payload_.get() + copied_, ring_.data() + payload_at + copied_, bytes - copied_);
  }
  if (has_moved()) return Copied::kOverwritten;
  if (!holds) {
    // A closed chunk that does not hold: the open one stands by itself.
    if (is_open) return Copied::kNothing;
    beginAt(progress.chunk);
    return Copied::kSomething;
  }
  if (!has_begun_) {
    takeHeader(header);
    events_.begin({payload_.get(), bytes}, header.base_ticks);
  } else {
    events_.extend(bytes - copied_);
  }
  copied_ = bytes;
  is_whole_ = !is_open;
  next_chunk_ = static_cast<std::uint32_t>(wire::aligned(payload_at + bytes));
  if (log_ < expected_.size()) {
    expected_[log_] = header.first_event + (is_open ? progress.events : header.event_count);
  }
  return Copied::kSomething;
}

void LiveLog::takeHeader(const wire::ChunkHeader& header) {
  has_begun_ = true;
  thread_ = header.thread;
  log_ = header.log;
  if (log_ >= kMostLogs) return;
  if (log_ >= expected_.size()) expected_.resize(log_ + 1, header.first_event);
  if (header.first_event > expected_[log_]) lost_ += header.first_event - expected_[log_];
}

}  // namespace omnio::prefetch
