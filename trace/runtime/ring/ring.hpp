// Rings in use: the shared memory of core/wire/ring.hpp with what its writer needs besides, and the
// pool they come from. Rings of threads that have ended are used again.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wire/call_stack.hpp"
#include "core/wire/definition.hpp"
#include "core/wire/moved_bytes.hpp"
#include "core/wire/path_pattern.hpp"
#include "core/wire/record.hpp"
#include "core/wire/ring.hpp"
#include "trace/runtime/sys/waiting.hpp"

namespace omnio::trace {

struct Thread;
struct HandleInfo;

// A text that the open chunk has defined; its bytes are in the chunk itself.
struct KnownText {
  std::uint64_t hash = 0;
  std::uint32_t at = 0;  // offset in the data area; 0: none, since a chunk header comes first
  std::uint32_t bytes = 0;
  std::uint32_t raw_offset = 0;
};

// In place of a thread: owned by none, and empty; full, and the log helper's to write out.
inline constexpr std::uint32_t kFree = 0;
inline constexpr std::uint32_t kHandedOver = ~std::uint32_t{0};

// The writer's part has process-private pointers in it; only the process that made the ring ever
// looks at it.
struct Ring {
  wire::RingHeader header;

  std::atomic<std::uint32_t> owner{0};  // tid, kFree or kHandedOver
  std::atomic<bool> is_claimed{false};  // RingClaim
  std::atomic<bool> has_file{false};
  std::uint32_t number = 0;  // of the ring file
  char* cursor = nullptr;    // where the next record goes
  char* limit = nullptr;     // of an event's begin and need; behind it is the reserve
  wire::ChunkHeader* chunk = nullptr;
  std::uint32_t events = 0;  // in the open chunk
  // In the chunks before it. It changes under the claim alone; atomic for the one who has lost
  // patience with its holder.
  std::atomic<std::uint32_t> closed_events{0};
  // How many of all the process's account knows, in the lower half; above it how often the ring was
  // emptied: two who write the same events out, the holder of the claim and the one who has lost
  // patience with it, count them once.
  std::atomic<std::uint64_t> accounted{0};
  // What events recorded here moved, in all since the ring was made (core/wire/moved_bytes.hpp).
  // The owner alone adds to them.
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> written_bytes{0};
  // The part of them that the kernel does not count.
  std::atomic<std::uint64_t> uncounted_read{0};
  std::atomic<std::uint64_t> uncounted_written{0};
  std::atomic<std::uint64_t> turned_bytes{0};
  std::atomic<std::uint64_t> unsized_reads{0};
  wire::Prediction prediction;
  std::uint32_t
      stacks[wire::StackPrediction::kSlots];  // that the open chunk has defined, by number
  KnownText texts[wire::kTextSlots];

  char* data() { return reinterpret_cast<char*>(this) + wire::kRingHeaderBytes; }
  // For an event of at most so many bytes; what it introduces goes into the reserve.
  bool hasRoom(std::size_t need) const { return cursor + need <= limit; }
};
// A handle that a chunk meets for the first time is defined in it, with up to two texts, of which
// the second is short (wrap/intercept.hpp); before that may stand how long the recorder worked, and
// where the call was made; and a store may touch 8 bytes beyond what it writes.
inline constexpr std::size_t kRingReserve = 3 * wire::kMaxDefinition + wire::kMaxText + 1 +
                                            wire::kMaxRecorderWork + wire::kMaxThinkSample +
                                            wire::kMaxStackDefinition + wire::kMaxStackUse + 8;
static_assert(sizeof(Ring) <= wire::kRingHeaderBytes);

inline constexpr std::size_t kRingBytes = wire::kRingHeaderBytes + wire::kRingDataBytes;

// The ring of the thread's lane with `need` bytes of room: takes one from the pool, drains it, or
// finds out that this is a forked child. nullptr when memory for one runs out, or there is not so
// much room in any, which is counted as an event lost, or recording is stopped.
Ring* makeRoom(Thread& self, unsigned lane, std::size_t need);

// Moves the ring on by one event that ends at `behind`: the one store that makes it count.
[[gnu::always_inline]] inline void publish(Ring& ring, char* behind) {
  ring.cursor = behind;
  ++ring.events;
  const auto* payload = reinterpret_cast<const char*>(ring.chunk + 1);
  const wire::Progress progress{
      .chunk = static_cast<std::uint32_t>(reinterpret_cast<char*>(ring.chunk) - ring.data()),
      .bytes = static_cast<std::uint32_t>(behind - payload),
      .events = ring.events};
  ring.header.progress.store(progress.pack(), std::memory_order_release);
}

// Writes the ring out, or drops and counts what it holds, and begins a new chunk of the lane.
void drain(Ring& ring, Thread& self, unsigned lane);
// The thread will not go on with the record it is in the middle of: what was published stays, a new
// chunk follows, since the half record has already changed what the next one would be read by.
void giveUpRecord(Thread& self, unsigned lane);
// Writes out one ring that was handed over, or drops and counts what it holds, and frees it; false
// when there is none. For the log helper alone.
bool writeHandedOver();

// A process that ends with neither a container nor a ring that is a file leaves a note with the
// final figures, unless everything could be written after all.
void finishLostNote(bool all_written);

// Whether the process has, or had, rings; how many.
std::uint32_t ringCount();
// The first ring that is a file, or nullptr.
Ring* firstRingFile();
// Adds those of the ring's events that its account does not know yet to `counter`, unless the ring
// was emptied since `accounted` was read. `events`: how many it had then.
void accountFor(Ring& ring, std::uint64_t accounted, std::uint32_t events,
                std::atomic<std::uint64_t>& counter);
// Writes out the rings of all threads. False when some could not be written.
bool writeOutAll();
// Adds what the events in the rings of all threads moved.
void addRecordedBytes(wire::MovedAccount& account);
// Takes the names of all ring files away; the memory stays. With `keep_one` the first stays, with
// the process's account in it, for a reader on this node.
void unlinkRings(bool keep_one);
// Forgets all rings, in a child after fork: they are the parent's.
void forgetRings();

// The use that an event makes of a text. An event may name one text for each use, and they must not
// take each other's slot: so each use has slots of its own.
enum class TextUse : std::uint8_t { kPath, kPathNew, kWord, kNone };
// The slot of a text in the ring's open chunk, defined there at `out` first when it is not yet
// known; `out` has room for it.
std::uint8_t defineText(Ring& ring, char*& out, const wire::PathParts& text,
                        TextUse use = TextUse::kPath);
// Defines a handle and its path at `out`.
void defineHandle(Ring& ring, char*& out, const HandleInfo& info, std::uint32_t handle);

// The right to write a ring's chunks out, or to change which chunks it holds. Its owner takes it to
// drain the ring, whoever ends the process takes it to write the rings of all threads: without it
// the one would overwrite what the other is writing, and both would count the same events. Not
// needed to record: an event only adds to the open chunk. Signals wait meanwhile
// (waiting.hpp), so that no handler finds a claim that its own thread has.
class RingClaim {
 public:
  // Goes ahead without the claim when its holder does not go on.
  explicit RingClaim(Ring& ring)
      : ring_(ring), is_ours_(waitWhile([&ring] {
          return ring.is_claimed.exchange(true, std::memory_order_acquire);
        })) {}
  ~RingClaim() {
    if (is_ours_) ring_.is_claimed.store(false, std::memory_order_release);
  }
  RingClaim(const RingClaim&) = delete;
  RingClaim& operator=(const RingClaim&) = delete;

 private:
  const HeldSignals held_{};
  Ring& ring_;
  const bool is_ours_;
};

}  // namespace omnio::trace
