#include "trace/runtime/ring.hpp"

#include <cstring>

#include "trace/runtime/container_writer.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"

namespace omnio::trace {
namespace {

// Begins a chunk of the thread's lane at `place`, in a ring whose other chunks (if any) end there.
void beginChunk(Ring& ring, Thread& self, unsigned lane_number, char* place) {
  Lane& lane = self.lanes[lane_number];
  const wire::Anchor now = {.ticks = ticks(), .monotonic_ns = wire::systemNs(CLOCK_MONOTONIC)};
  auto* chunk = reinterpret_cast<wire::ChunkHeader*>(place);
  *chunk = {};
  chunk->lane = static_cast<std::uint8_t>(lane_number);
  chunk->omp_thread_plus_1 = static_cast<std::uint16_t>(openmpThread() + 1);
  chunk->token = process.token;
  chunk->log = lane.log;
  chunk->thread = self.number;
  chunk->tid = self.tid;
  chunk->sequence = lane.sequence++;
  chunk->first_event = lane.events;
  chunk->base_ticks = now.ticks;
  chunk->base_monotonic_ns = now.monotonic_ns;
  ring.chunk = chunk;
  ring.cursor = reinterpret_cast<char*>(chunk + 1);
  ring.events = 0;
  ring.prediction.reset(now.ticks);
  std::memset(static_cast<void*>(ring.texts), 0, sizeof ring.texts);
  const wire::Progress progress{.chunk = static_cast<std::uint32_t>(place - ring.data())};
  ring.header.progress.store(progress.pack(), std::memory_order_release);
}

// The open chunk's header as it has to stand in a file.
wire::ChunkHeader stampedHeader(const Ring& ring, wire::Progress progress,
                                const wire::ChunkHeader& open) {
  (void)ring;
  wire::ChunkHeader header = open;
  header.event_count = progress.events;
  header.payload_bytes = progress.bytes;
  header.payload_check = wire::checksum(&open + 1, progress.bytes);
  wire::stamp(header);
  return header;
}

// Ends the open chunk where it stands: the next one may be another thread's.
void closeChunk(Ring& ring) {
  const wire::Progress progress =
      wire::Progress::unpack(ring.header.progress.load(std::memory_order_relaxed));
  *ring.chunk = stampedHeader(ring, progress, *ring.chunk);
  ring.closed_events += ring.events;
  char* behind = reinterpret_cast<char*>(ring.chunk + 1) + progress.bytes;
  std::size_t padding = wire::aligned(progress.bytes) - progress.bytes;
  while (padding-- > 0) *behind++ = 0;
  ring.cursor = behind;
}

}  // namespace

bool writeOut(Ring& ring) {
  const wire::Progress progress =
      wire::Progress::unpack(ring.header.progress.load(std::memory_order_acquire));
  const std::uint32_t events = ring.closed_events + progress.events;
  const std::uint32_t accounted = ring.accounted.load(std::memory_order_relaxed);
  if (events == accounted) return true;
  char* const open = ring.data() + progress.chunk;
  wire::ChunkHeader header =
      stampedHeader(ring, progress, *reinterpret_cast<wire::ChunkHeader*>(open));
  static constexpr char kPadding[wire::kChunkAlignment] = {};
  const std::size_t padding = wire::aligned(progress.bytes) - progress.bytes;
  iovec pieces[4] = {{ring.data(), progress.chunk},
                     {&header, sizeof header},
                     {open + sizeof header, progress.bytes},
                     {const_cast<char*>(kPadding), padding}};
  const std::size_t total = progress.chunk + sizeof header + progress.bytes + padding;
  if (!appendChunks(pieces, 4, total)) return false;
  ring.accounted.store(events, std::memory_order_relaxed);
  process.events_written.fetch_add(events - accounted, std::memory_order_relaxed);
  return true;
}

void drain(Ring& ring, Thread& self, unsigned lane) {
  if (!writeOut(ring)) {
    const std::uint32_t events = ring.closed_events + ring.events;
    process.events_lost.fetch_add(events - ring.accounted.load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
    writeAccount(wire::AccountState::kRunning);
  }
  self.lanes[lane].events += ring.events;
  // A death between these stores finds an empty ring, or one whose chunk the container has too.
  ring.header.progress.store(0, std::memory_order_release);
  ring.closed_events = 0;
  ring.accounted.store(0, std::memory_order_relaxed);
  beginChunk(ring, self, lane, ring.data());
}

// Called by the pool when a ring changes hands: what it holds stays, a new chunk follows it.
void beginOwnership(Ring& ring, Thread& self, unsigned lane) {
  constexpr std::size_t kWorthwhile = wire::kRingDataBytes / 4;
  if (ring.chunk == nullptr) {
    beginChunk(ring, self, lane, ring.data());
    return;
  }
  if (ring.events > 0) {
    closeChunk(ring);
  } else {
    ring.cursor = reinterpret_cast<char*>(ring.chunk);  // an empty chunk is taken over
  }
  if (ring.room() > kWorthwhile) {
    beginChunk(ring, self, lane, ring.cursor);
    return;
  }
  // The former owner is gone, so nobody else can be writing it out.
  const std::uint32_t events = ring.closed_events;
  iovec piece = {ring.data(), static_cast<std::size_t>(ring.cursor - ring.data())};
  const std::uint32_t fresh = events - ring.accounted.load(std::memory_order_relaxed);
  if (appendChunks(&piece, 1, piece.iov_len)) {
    process.events_written.fetch_add(fresh, std::memory_order_relaxed);
  } else {
    process.events_lost.fetch_add(fresh, std::memory_order_relaxed);
  }
  ring.header.progress.store(0, std::memory_order_release);
  ring.closed_events = 0;
  ring.accounted.store(0, std::memory_order_relaxed);
  beginChunk(ring, self, lane, ring.data());
}

std::uint8_t defineText(Ring& ring, char*& out, const wire::PathParts& text) {
  std::uint64_t hash = wire::checksum(text.name.data(), text.name.size());
  if (text.isJoined()) {
    hash ^= wire::checksum(text.directory.data(), text.directory.size()) * 0x9E3779B97F4A7C15ULL;
  }
  const auto slot = static_cast<std::uint8_t>(hash % wire::kTextSlots);
  KnownText& known = ring.texts[slot];
  std::size_t bytes = text.size();
  if (bytes > wire::kMaxText) bytes = wire::kMaxText;
  std::size_t raw = text.nameOffset();
  if (raw > bytes) raw = bytes;
  if (known.at != 0 && known.hash == hash && known.bytes == bytes && known.raw_offset == raw) {
    const char* there = ring.data() + known.at;
    const std::size_t directory_bytes = raw == 0 ? 0 : raw - 1;
    if (std::memcmp(there, text.directory.data(), directory_bytes) == 0 &&
        std::memcmp(there + raw, text.name.data(), bytes - raw) == 0) {
      return slot;
    }
  }
  out = wire::encodeTextHeader(out, slot, static_cast<std::uint32_t>(raw), bytes);
  known = {.hash = hash,
           .at = static_cast<std::uint32_t>(out - ring.data()),
           .bytes = static_cast<std::uint32_t>(bytes),
           .raw_offset = static_cast<std::uint32_t>(raw)};
  if (raw != 0) {
    std::memcpy(out, text.directory.data(), raw - 1);
    out[raw - 1] = '/';
  }
  std::memcpy(out + raw, text.name.data(), bytes - raw);
  out += bytes;
  return slot;
}

void defineHandle(Ring& ring, char*& out, const HandleInfo& info, std::uint32_t handle) {
  const std::string_view path = pathOf(info);
  const std::size_t raw = info.raw_offset;
  wire::PathParts parts{.directory = {}, .name = path};
  if (raw != 0) {
    parts = {.directory = {path.data(), raw - 1}, .name = {path.data() + raw, path.size() - raw}};
  }
  // A handle that another thread closed meanwhile leaves its number, but no facts to trust.
  const bool intact = info.handle.load(std::memory_order_acquire) == handle;
  if (!intact) parts = {.directory = {}, .name = "?"};
  wire::HandleDefinition definition{.handle = handle};
  definition.text_slot = defineText(ring, out, parts);
  if (intact) {
    definition.description = info.description;
    definition.birth_pid = info.birth_pid == process.pid ? 0 : info.birth_pid;
    definition.fd = info.fd;
    definition.kind = info.kind;
    definition.origin = info.origin;
    definition.open_flags = info.open_flags;
    definition.device = info.device;
    definition.inode = info.inode;
  }
  out = wire::encodeHandle(out, definition, ring.prediction);
}

}  // namespace omnio::trace
