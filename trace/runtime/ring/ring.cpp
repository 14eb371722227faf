#include "trace/runtime/ring/ring.hpp"

#include <cstring>

#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/sys/hash_mix.hpp"
#include "trace/runtime/sys/thread_sanitizer.hpp"

namespace omnio::trace {
namespace {

struct SlotRange {
  std::uint8_t first;
  std::uint8_t count;
};
constexpr SlotRange kSlotsOf[] = {{0, 96}, {96, 24}, {120, 8}};  // by TextUse
static_assert(kSlotsOf[2].first + kSlotsOf[2].count == wire::kTextSlots);

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
wire::ChunkHeader stampedHeader(wire::Progress progress, const wire::ChunkHeader& open) {
  wire::ChunkHeader header = open;
  header.event_count = progress.events;
  header.payload_bytes = progress.bytes;
  header.payload_check = wire::checksum(&open + 1, progress.bytes);
  wire::stamp(header);
  return header;
}

wire::Progress progressOf(const Ring& ring) {
  return wire::Progress::unpack(ring.header.progress.load(std::memory_order_acquire));
}

// Writes out what the ring holds, or drops and counts it. A reader that comes meanwhile, or after
// the death of the process, finds the ring as it was or empty.
void empty(Ring& ring) {
  if (!writeOut(ring)) {
    const std::uint32_t events = ring.closed_events.load() + progressOf(ring).events;
    process.events_lost.fetch_add(events - ring.accounted.exchange(events),
                                  std::memory_order_relaxed);
    if (!writeAccount()) noteFirstLoss();
  }
  ring.closed_events.store(0);
  ring.accounted.store(0);
  // A death between these stores finds an empty ring, or one whose chunk the container has too.
  ring.header.progress.store(0);
}

// The same for a thread that waits for it, and a new chunk in the empty ring.
void emptyInto(Ring& ring, Thread& self, unsigned lane) {
  const std::uint64_t before = wire::systemNs(CLOCK_MONOTONIC);
  empty(ring);
  LogHelper::noteWrite(wire::systemNs(CLOCK_MONOTONIC) - before);
  beginChunk(ring, self, lane, ring.data());
}

}  // namespace

bool writeOut(Ring& ring) {
  const wire::Progress progress = progressOf(ring);
  const std::uint32_t events = ring.closed_events.load() + progress.events;
  const std::uint32_t accounted = ring.accounted.load();
  if (events <= accounted) return true;
  char* const open = ring.data() + progress.chunk;
  wire::ChunkHeader header = stampedHeader(progress, *reinterpret_cast<wire::ChunkHeader*>(open));
  static constexpr char kPadding[wire::kChunkAlignment] = {};
  const std::size_t padding = wire::aligned(progress.bytes) - progress.bytes;
  iovec pieces[4] = {{ring.data(), progress.chunk},
                     {&header, sizeof header},
                     {open + sizeof header, progress.bytes},
                     {const_cast<char*>(kPadding), padding}};
  const std::size_t total = progress.chunk + sizeof header + progress.bytes + padding;
  if (!appendChunks(pieces, 4, total)) return false;
  ring.accounted.store(events);
  process.events_written.fetch_add(events - accounted, std::memory_order_relaxed);
  return true;
}

void drain(Ring& ring, Thread& self, unsigned lane) {
  const RingClaim claim(ring);
  self.lanes[lane].events += ring.events;
  emptyInto(ring, self, lane);
}

void freeRing(Ring& ring) {
  const RingClaim claim(ring);
  empty(ring);
  ring.chunk = nullptr;
  ring.cursor = nullptr;
  ring.events = 0;
  ring.owner.store(kFree, std::memory_order_release);
}

void giveUpRecord(Thread& self, unsigned lane) {
  Ring* ring = self.lanes[lane].ring;
  // None yet, or the parent's in a forked child: the next event begins with a new one.
  if (ring == nullptr ||
      imageOf(self.epoch) != imageOf(process.epoch_page->load(std::memory_order_relaxed))) {
    return;
  }
  ring->events = progressOf(*ring).events;
  drain(*ring, self, lane);
}

void beginOwnership(Ring& ring, Thread& self, unsigned lane) {
  constexpr std::size_t kWorthwhile = wire::kRingDataBytes / 4;
  const RingClaim claim(ring);
  if (ring.chunk == nullptr) {
    beginChunk(ring, self, lane, ring.data());
    return;
  }
  // What counts is what the former owner has published: it may have ended in the middle of more.
  const wire::Progress progress = progressOf(ring);
  char* const payload = reinterpret_cast<char*>(ring.chunk + 1);
  char* behind = reinterpret_cast<char*>(ring.chunk);  // an empty chunk is taken over
  if (progress.events > 0) behind = payload + wire::aligned(progress.bytes);
  if (behind + kWorthwhile > ring.limit) {
    emptyInto(ring, self, lane);
    return;
  }
  if (progress.events > 0) {
    *ring.chunk = stampedHeader(progress, *ring.chunk);
    std::memset(payload + progress.bytes, 0, wire::aligned(progress.bytes) - progress.bytes);
  }
  beginChunk(ring, self, lane, behind);
  ring.closed_events.fetch_add(progress.events);
}

std::uint8_t defineText(Ring& ring, char*& out, const wire::PathParts& text, TextUse use) {
  std::uint64_t hash = wire::checksum(text.name.data(), text.name.size());
  if (text.isJoined()) {
    hash ^= wire::checksum(text.directory.data(), text.directory.size()) * kGoldenStep;
  }
  const SlotRange slots = kSlotsOf[static_cast<std::size_t>(use)];
  const auto slot = static_cast<std::uint8_t>(slots.first + hash % slots.count);
  KnownText& known = ring.texts[slot];
  std::size_t bytes = text.size();
  if (bytes > wire::kMaxText) bytes = wire::kMaxText;
  std::size_t raw = text.nameOffset();
  if (raw > bytes) raw = bytes;
  if (known.at != 0 && known.hash == hash && known.bytes == bytes && known.raw_offset == raw) {
    const char* there = ring.data() + known.at;
    const std::size_t directory_bytes = raw == 0 ? 0 : raw - 1;
    // An absolute path has no directory part, and null is nothing to compare with.
    if ((directory_bytes == 0 || std::memcmp(there, text.directory.data(), directory_bytes) == 0) &&
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
  const RacingRead racing;
  wire::HandleDefinition definition{.handle = handle,
                                    .description = info.description,
                                    .birth_pid = info.birth_pid == process.pid ? 0 : info.birth_pid,
                                    .fd = info.fd,
                                    .kind = info.kind,
                                    .origin = info.origin,
                                    .open_flags = info.open_flags,
                                    .device = info.device,
                                    .inode = info.inode};
  definition.text_slot = defineText(ring, out, partsOf(info));
  // A handle that another thread has closed meanwhile leaves its number, but no facts to trust: its
  // place may already hold another's. Looked at when all facts have been copied.
  if (!isStill(info, handle)) {
    definition = {.handle = handle};
    definition.text_slot = defineText(ring, out, {.directory = {}, .name = "?"});
  }
  out = wire::encodeHandle(out, definition, ring.prediction);
}

}  // namespace omnio::trace
