// Reads the events of a thread while its process runs, from the memory that it records into
// (core/wire/ring.hpp). The thread does nothing more than it does for a trace, and is never waited
// for.
//
// The thread may overwrite what is being copied: the ring's generation moves before that begins,
// and a copy during which it has moved is dropped. Who is too slow loses the events up to there,
// and goes on with the next chunk, which defines all that it refers to.
//
// Memory: a mapping of the ring, and a copy of its open chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/chunk_events.hpp"
#include "core/tracefile/process.hpp"
#include "core/wire/ring.hpp"

namespace omnio::prefetch {

// The memory of a ring, mapped to be read.
class RingMemory {
 public:
  // Nothing where the file is none of this user's that a process may record into.
  static std::optional<RingMemory> open(const std::filesystem::path& path);
  RingMemory(RingMemory&& other) noexcept;
  RingMemory& operator=(RingMemory&&) = delete;
  ~RingMemory();

  const wire::RingHeader& header() const { return *static_cast<const wire::RingHeader*>(memory_); }
  const char* data() const { return static_cast<const char*>(memory_) + wire::kRingHeaderBytes; }
  std::uint64_t inode() const { return inode_; }

 private:
  RingMemory(void* memory, std::uint64_t inode) : memory_(memory), inode_(inode) {}
  void* memory_;
  std::uint64_t inode_;
};

class LiveLog {
 public:
  // `process` and `paths` outlive it.
  LiveLog(RingMemory ring, const tracefile::Process& process, event::PathTable& paths,
          tracefile::Stacks stacks);

  // Whether there is anything that next() would read. Costs one look at the memory.
  bool hasMore() const;
  // The next event; nullptr where there is none yet. Valid until the next call.
  const event::Event* next();
  // The number of the thread that the event is of.
  std::uint32_t thread() const { return thread_; }
  // Events that were overwritten before they were read, as far as the chunks tell.
  std::uint64_t lost() const { return lost_; }
  const RingMemory& ring() const { return ring_; }
  // Ends it.
  RingMemory takeRing() && { return std::move(ring_); }

 private:
  enum class Copied { kSomething, kNothing, kOverwritten };
  Copied copyMore();
  void takeHeader(const wire::ChunkHeader& header);
  void beginAt(std::uint32_t chunk);

  RingMemory ring_;
  tracefile::ChunkEvents events_;
  std::unique_ptr<char[]> payload_;  // of the chunk that is read
  std::uint64_t generation_ = 0;
  std::uint32_t chunk_ = 0;   // where it stands in the ring
  std::uint32_t copied_ = 0;  // bytes of its payload
  bool has_begun_ = false;    // its header was taken
  bool is_whole_ = false;     // nothing will be added to it
  std::uint32_t next_chunk_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t log_ = 0;
  std::vector<std::uint64_t> expected_;  // by log: the number of its next event
  std::uint64_t lost_ = 0;
};

}  // namespace omnio::prefetch
