#include "trace/runtime/ring/ring.hpp"

#include <cstring>
#include <optional>

#include "core/wire/checksum.hpp"
#include "trace/runtime/handle_table.hpp"
#include "trace/runtime/identity.hpp"
#include "trace/runtime/moved_bytes.hpp"
#include "trace/runtime/process.hpp"
#include "trace/runtime/recording_switch.hpp"
#include "trace/runtime/ring/container_writer.hpp"
#include "trace/runtime/ring/log_helper.hpp"
#include "trace/runtime/ring/place_count.hpp"
#include "trace/runtime/ring/ring_memory.hpp"
#include "trace/runtime/stack/call_stack.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"
#include "trace/runtime/sys/thread_sanitizer.hpp"
#include "trace/runtime/sys/waiting.hpp"

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
  std::memset(static_cast<void*>(ring.stacks), 0, sizeof ring.stacks);
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

// Counts as lost the events in the ring that are not accounted for: they could not be written.
void countLost(Ring& ring) {
  const std::uint64_t accounted = ring.accounted.load();
  accountFor(ring, accounted, ring.closed_events.load() + progressOf(ring).events,
             process.events_lost);
}

// Writes all chunks of the ring to the container without touching the ring: its owner may still be
// recording. The caller has the claim. False when they could not be written.
bool writeOut(Ring& ring) {
  const std::uint64_t accounted = ring.accounted.load();
  const wire::Progress progress = progressOf(ring);
  const std::uint32_t events = ring.closed_events.load() + progress.events;
  if (events <= static_cast<std::uint32_t>(accounted)) return true;
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
  accountFor(ring, accounted, events, process.events_written);
  return true;
}

std::atomic<std::uint32_t> noted_pid{0};  // of the process that has left a note

// A process that has neither a container nor a ring that is a file leaves a note of it, since
// nothing else would be left when it is killed.
void noteFirstLoss() {
  if (hasContainer() || firstRingFile() != nullptr) return;
  if (noted_pid.exchange(process.pid) != process.pid) leaveLostNote(currentAccount());
}

// What the ring holds is about to be overwritten.
void beginGeneration(Ring& ring) {
  ring.header.generation.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

// Writes out what the ring holds, or drops and counts it. A reader that comes meanwhile, or after
// the death of the process, finds the ring as it was or empty.
void empty(Ring& ring) {
  if (!writeOut(ring)) {
    countLost(ring);
    if (!writeAccount()) noteFirstLoss();
  }
  ring.accounted.store(((ring.accounted.load() >> 32) + 1) << 32);
  ring.closed_events.store(0);
  beginGeneration(ring);
  // A death between these stores finds an empty ring, or one whose chunk the container has too.
  ring.header.progress.store(0);
}

// Facts that go with what was recorded: a process that is killed does not come to finish().
void tellFacts() {
  tellModules(false);
  if (tellMovedBytesNowAndThen()) tellLostStacks(false);
}

// The same for a thread that waits for it, and a new chunk in the empty ring.
void emptyInto(Ring& ring, Thread& self, unsigned lane) {
  const std::uint64_t before = wire::systemNs(CLOCK_MONOTONIC);
  empty(ring);
  LogHelper::noteWrite(wire::systemNs(CLOCK_MONOTONIC) - before);
  tellFacts();
  beginChunk(ring, self, lane, ring.data());
}

// Writes out a ring that was handed over, and makes it free for any thread.
void freeRing(Ring& ring) {
  const RingClaim claim(ring);
  empty(ring);
  tellFacts();
  ring.chunk = nullptr;
  ring.cursor = nullptr;
  ring.events = 0;
  ring.owner.store(kFree, std::memory_order_release);
}

// Makes the ring, whose owner was another thread or none, that of the lane: what it holds stays,
// a new chunk follows it.
void beginOwnership(Ring& ring, Thread& self, unsigned lane) {
  constexpr std::size_t kWorthwhile = wire::kRingDataBytes / 4;
  const RingClaim claim(ring);
  if (ring.chunk == nullptr) {
    beginChunk(ring, self, lane, ring.data());
    return;
  }
  // Only what the former owner has published counts: it may have ended in the middle of more.
  const wire::Progress progress = progressOf(ring);
  char* const payload = reinterpret_cast<char*>(ring.chunk + 1);
  char* behind = reinterpret_cast<char*>(ring.chunk);  // an empty chunk is taken over
  if (progress.events > 0) {
    behind = payload + wire::aligned(progress.bytes);
  } else {
    beginGeneration(ring);
  }
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

}  // namespace

void accountFor(Ring& ring, std::uint64_t accounted, std::uint32_t events,
                std::atomic<std::uint64_t>& counter) {
  std::uint64_t now = accounted;
  std::uint32_t known = 0;
  do {
    known = static_cast<std::uint32_t>(now);
    if ((now ^ accounted) >> 32 != 0 || events <= known) return;
  } while (!ring.accounted.compare_exchange_weak(now, (now >> 32 << 32) | events));
  counter.fetch_add(events - known, std::memory_order_relaxed);
}

void drain(Ring& ring, Thread& self, unsigned lane) {
  const RingClaim claim(ring);
  self.lanes[lane].events += ring.events;
  emptyInto(ring, self, lane);
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

std::uint8_t defineText(Ring& ring, char*& out, const wire::PathParts& text, TextUse use) {
  std::uint64_t hash = wire::checksum(text.name.data(), text.name.size());
  if (text.isJoined()) {
    hash ^= wire::checksum(text.directory.data(), text.directory.size()) * wire::kGoldenStep;
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
                                    .inode = info.inode,
                                    .size = info.size,
                                    .position = info.position};
  definition.text_slot = defineText(ring, out, partsOf(info));
  // A handle that another thread has closed meanwhile leaves its number, but no facts to trust: its
  // place may already hold another's. Looked at when all facts have been copied.
  if (!isStill(info, handle)) {
    definition = {.handle = handle};
    definition.text_slot = defineText(ring, out, {.directory = {}, .name = "?"});
  }
  out = wire::encodeHandle(out, definition, ring.prediction);
}

// The pool of rings. A ring whose thread has ended is used again: the kernel is asked for the
// thread when a ring is wanted, so that no thread has to say good-bye.
namespace {

constexpr std::uint32_t kMaxRings = 32768;
// How many rings of others are looked at for one that is free before a new one is made: bounds
// what a new thread costs among thousands of live ones.
constexpr std::uint32_t kMostProbes = 16;

std::atomic<Ring*> rings[kMaxRings];
constinit PlaceCount<kMaxRings> ring_places;
std::atomic<std::uint32_t> probe_at{0};

bool threadIsGone(std::uint32_t tid) {
  return rawSyscall(SYS_tgkill, process.pid, static_cast<long>(tid), 0) == -ESRCH;
}

// The first ring of which `is_it` says so; nullptr when there is none.
template <typename IsIt>
Ring* findRing(IsIt is_it) {
  const std::uint32_t count = ringCount();
  for (std::uint32_t i = 0; i < count; ++i) {
    Ring* ring = rings[i].load(std::memory_order_acquire);
    if (ring != nullptr && is_it(*ring)) return ring;
  }
  return nullptr;
}

template <typename Action>
void forEachRing(Action action) {
  findRing([&action](Ring& ring) {
    action(ring);
    return false;
  });
}

Ring* makeRing(const Thread& self) {
  const RingBeingMade being_made;
  Ring* ring = mapRing();
  if (ring == nullptr) return nullptr;
  // Its place is taken when there is a ring to put there: where memory is short this fails often.
  const std::optional<std::uint32_t> place = ring_places.take();
  if (!place) {
    removeRingFile(*ring);
    unmapRing(*ring);
    return nullptr;
  }
  ring->owner.store(self.tid, std::memory_order_relaxed);
  rings[*place].store(ring, std::memory_order_release);
  return ring;
}

// A ring of a thread that is gone, now ours; nullptr when none is found soon.
Ring* takeUsedRing(const Thread& self) {
  const std::uint32_t count = ringCount();
  for (std::uint32_t i = 0; i < kMostProbes && i < count; ++i) {
    const std::uint32_t n = probe_at.fetch_add(1, std::memory_order_relaxed) % count;
    Ring* ring = rings[n].load(std::memory_order_acquire);
    if (ring == nullptr || ring == self.lanes[0].ring || ring == self.lanes[1].ring) continue;
    std::uint32_t owner = ring->owner.load(std::memory_order_acquire);
    if (owner == kHandedOver) continue;
    if (owner != kFree && owner != self.tid && !threadIsGone(owner)) continue;
    if (ring->owner.compare_exchange_strong(owner, self.tid, std::memory_order_acq_rel)) {
      return ring;
    }
  }
  return nullptr;
}

std::atomic<std::uint32_t> spare_rings{0};  // made since a device was slow

// A ring that is free; nullptr when there is none.
Ring* takeFreeRing(const Thread& self) {
  return findRing([&self](Ring& ring) {
    std::uint32_t owner = kFree;
    return ring.owner.load(std::memory_order_relaxed) == kFree &&
           ring.owner.compare_exchange_strong(owner, self.tid, std::memory_order_acq_rel);
  });
}

Ring* makeSpareRing(const Thread& self) {
  const std::uint32_t threads = process.next_thread.load(std::memory_order_relaxed);
  const std::uint32_t share = threads * kSpareRingsOfThread;
  const std::uint32_t most = share < kSpareRings ? share : kSpareRings;
  if (spare_rings.fetch_add(1, std::memory_order_relaxed) < most) {
    if (Ring* ring = makeRing(self); ring != nullptr) return ring;
  }
  spare_rings.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

// Gives the lane's full ring to the log helper and goes on in another. False when the event has to
// be dropped, since no other ring exists and nothing is to be waited for.
bool handOver(Thread& self, unsigned lane_number) {
  Lane& lane = self.lanes[lane_number];
  std::uint64_t waits_since = 0;
  while (true) {
    if (!LogHelper::start()) {
      drain(*lane.ring, self, lane_number);
      break;
    }
    Ring* next = takeFreeRing(self);
    if (next == nullptr) next = makeSpareRing(self);
    if (next != nullptr) {
      Ring& full = *lane.ring;
      lane.events += full.events;
      lane.ring = next;
      beginOwnership(*next, self, lane_number);
      full.header.call_state.store(wire::CallState::kBetween, std::memory_order_relaxed);
      full.owner.store(kHandedOver, std::memory_order_release);
      LogHelper::wake();
      break;
    }
    if (LogHelper::dropsEvents()) {
      ++lane.events;
      process.error.store(wire::kSlowError);
      process.events_lost.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    if (waits_since == 0) waits_since = wire::systemNs(CLOCK_MONOTONIC);
    LogHelper::awaitRing();
  }
  if (waits_since != 0) LogHelper::noteWrite(wire::systemNs(CLOCK_MONOTONIC) - waits_since);
  return true;
}

// The thread's first event in this process, or its first since an exec failed.
void beginEpoch(Thread& self) {
  noticeFork();
  const std::uint64_t epoch = process.epoch_page->load(std::memory_order_relaxed);
  if (imageOf(self.epoch) == imageOf(epoch)) {
    // Before the exec all rings were written out, and lost their names.
    for (const Lane& lane : self.lanes) {
      if (lane.ring == nullptr) continue;
      const RingClaim claim(*lane.ring);
      giveRingFile(*lane.ring);
    }
  } else {
    for (Lane& lane : self.lanes) lane = {};
    // Of a parent's thread; a new thread has only waited for a processor.
    if (self.epoch != kNoEpoch) self.own_work = 0;
    self.waits = self.own_work_until = 0;
    self.polling = {};
    self.tid = static_cast<std::uint32_t>(rawSyscall(SYS_gettid));
    self.number = process.next_thread.fetch_add(1, std::memory_order_relaxed);
    if (process.on_thread != nullptr) process.on_thread();
  }
  self.epoch = epoch & ~kStoppedBit;
}

}  // namespace

void finishLostNote(bool all_written) {
  const bool is_noted = noted_pid.load() == process.pid;
  if (all_written || hasContainer() || firstRingFile() != nullptr) {
    if (is_noted) removeLostNote();
  } else if (is_noted || process.events_lost.load() > 0) {
    leaveLostNote(currentAccount());
  }
}

Ring* makeRoom(Thread& self, unsigned lane_number, std::size_t need) {
  if (!isActive()) return nullptr;
  if (isStoppedEpoch()) {
    reportStopped();
    return nullptr;
  }
  const HeldSignals held;
  if (self.epoch != process.epoch_page->load(std::memory_order_relaxed)) beginEpoch(self);
  if (isStoppedEpoch()) return nullptr;  // a forked child's, whose page said nothing until now
  Lane& lane = self.lanes[lane_number];
  if (lane.ring == nullptr) {
    Ring* ring = takeUsedRing(self);
    if (ring == nullptr) {
      // With the first ring, so that a process that is killed soon is known by name and rank. Where
      // the log is not to be waited for, its helper does it.
      if (ringCount() == 0 && !(LogHelper::dropsEvents() && LogHelper::start())) openContainer();
      ring = makeRing(self);
    }
    if (ring == nullptr) {
      // Counted here and not by the caller, who cannot tell this from a stop that is over by now.
      process.events_lost.fetch_add(1, std::memory_order_relaxed);
      noteFirstLoss();
      return nullptr;
    }
    if (lane.sequence == 0) lane.log = process.next_log.fetch_add(1, std::memory_order_relaxed);
    beginOwnership(*ring, self, lane_number);
    {
      const RingClaim claim(*ring);
      giveRingFile(*ring);  // one that has lost it, or was made where there was no room for it
    }
    // Killed now, the process would leave nothing at all.
    if (!ring->has_file.load()) noteFirstLoss();
    lane.ring = ring;
  }
  if (!lane.ring->hasRoom(need)) {
    if (!LogHelper::isWanted()) {
      drain(*lane.ring, self, lane_number);
    } else if (!handOver(self, lane_number)) {
      return nullptr;
    }
  }
  if (!lane.ring->hasRoom(need)) {  // more than any ring holds
    process.events_lost.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  return lane.ring;
}

bool writeHandedOver() {
  Ring* const full = findRing(
      [](Ring& ring) { return ring.owner.load(std::memory_order_acquire) == kHandedOver; });
  if (full != nullptr) freeRing(*full);
  return full != nullptr;
}

void addRecordedBytes(wire::MovedAccount& account) {
  const std::uint32_t count = ringCount();
  for (std::uint32_t i = 0; i < count; ++i) {
    const Ring* ring = rings[i].load(std::memory_order_acquire);
    if (ring == nullptr) continue;
    account.recorded.read += ring->read_bytes.load(std::memory_order_relaxed);
    account.recorded.written += ring->written_bytes.load(std::memory_order_relaxed);
    account.uncounted.read += ring->uncounted_read.load(std::memory_order_relaxed);
    account.uncounted.written += ring->uncounted_written.load(std::memory_order_relaxed);
    account.turned += ring->turned_bytes.load(std::memory_order_relaxed);
    account.unsized_reads += ring->unsized_reads.load(std::memory_order_relaxed);
  }
}

bool writeOutAll() {
  bool all = true;
  forEachRing([&all](Ring& ring) {
    const RingClaim claim(ring);
    if (writeOut(ring)) return;
    all = false;
    countLost(ring);
  });
  return all;
}

void unlinkRings(bool keep_one) {
  RingBeingMade::awaitAll();
  forEachRing([&keep_one](Ring& ring) {
    const RingClaim claim(ring);
    if (keep_one && ring.has_file.load()) {
      keep_one = false;
    } else {
      removeRingFile(ring);
    }
  });
}

Ring* firstRingFile() {
  return findRing([](Ring& ring) { return ring.has_file.load(); });
}

std::uint32_t ringCount() { return ring_places.taken(); }

void forgetRings() {
  RingBeingMade::forgetAll();
  // A signal handler that forks in the middle of a record returns there in the child too, or into
  // the few lines that look at the thread's ring between records (noteCall, eventsOf).
  const bool is_in_use = thread.level > 0;
  forEachRing([is_in_use](Ring& ring) {
    if (is_in_use || &ring == thread.lanes[0].ring) {
      replaceRing(ring);
    } else {
      unmapRing(ring);
    }
  });
  for (std::uint32_t i = 0, count = ringCount(); i < count; ++i) {
    rings[i].store(nullptr, std::memory_order_relaxed);
  }
  ring_places.forget();
  spare_rings.store(0);
}

}  // namespace omnio::trace
