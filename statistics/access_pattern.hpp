// How the requests of a rank follow each other in a file, as the storage sees them: POSIX and
// stream calls, those that MPI-IO made for the application too. The counters are those of Darshan's
// POSIX module (POSIX_SEQ_*, POSIX_CONSEC_*, POSIX_RW_SWITCHES, POSIX_FILE_NOT_ALIGNED), by rank
// and file, with one difference: the first request of a rank in a file has none before it, and is
// told apart.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/posix_offsets.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::stats {

struct AccessPattern {
  // Reads, or writes, that moved bytes.
  struct Way {
    std::uint64_t placed = 0;       // their offset is known
    std::uint64_t unplaced = 0;     // it is not
    std::uint64_t first = 0;        // of the placed: none of the rank in the file is before it
    std::uint64_t consecutive = 0;  // begins where the one before ended
    std::uint64_t forward = 0;      // begins further on
    std::uint64_t checked = 0;      // of the placed: not of a stream, which has a buffer
    std::uint64_t misaligned = 0;   // of the checked: the offset is not a multiple of the alignment

    void add(const Way& other);
    std::uint64_t follows() const { return placed - first; }
    // Consecutive ones are sequential, too.
    std::uint64_t sequential() const { return consecutive + forward; }
    std::uint64_t random() const { return follows() - sequential(); }

    // put(name, value) for each counter of the documents (docs/commands/stats.md).
    template <typename Put>
    void eachCounter(Put put) const {
      put("placed", placed);
      put("unplaced", unplaced);
      put("first", first);
      put("consecutive", consecutive);
      put("sequential", sequential());
      put("random", random());
      put("alignment_checked", checked);
      put("misaligned", misaligned);
    }
  };
  Way read;
  Way write;
  std::uint64_t switches = 0;  // from reading to writing, or back
  // Reads that come right after a write, and of bytes between the first and the last that the rank
  // has written.
  std::uint64_t read_back = 0;
  std::uint64_t read_back_bytes = 0;
  // Bytes that a rank read again: what it read beyond the range that its reads cover. At the least,
  // since the range may have holes.
  std::uint64_t reread_bytes = 0;
  // The range that reads of all ranks cover, and what they got there.
  std::uint64_t read_begin = UINT64_MAX;
  std::uint64_t read_end = 0;
  std::uint64_t read_bytes = 0;
  // The same as rereadByAny(), of contents that are gone: the file was cut to nothing, or removed.
  std::uint64_t reread_before_bytes = 0;
  // Locks of files that were asked for, and the time of these calls.
  std::uint64_t locks = 0;
  std::uint64_t locks_refused = 0;  // another had it
  std::uint64_t locks_ns = 0;
  // Requests of streams that have no buffer, or one of less than a page.
  std::uint64_t tiny_buffered = 0;

  void add(const AccessPattern& other);
  bool isEmpty() const {
    return read.placed + read.unplaced + write.placed + write.unplaced + locks == 0;
  }
  // The same over all ranks: of a file that each of them reads, all but one have read again.
  std::uint64_t rereadByAny() const {
    const std::uint64_t range = read_end > read_begin ? read_end - read_begin : 0;
    return reread_before_bytes + read_bytes - std::min(read_bytes, range);
  }
  // From now on other contents are read.
  void beginAnew();

  // As that of Way, for the counters that are of reads and writes together.
  template <typename Put>
  void eachCounter(bool has_reread_by_any, Put put) const {
    put("switches", switches);
    put("read_back", read_back);
    put("read_back_bytes", read_back_bytes);
    put("reread_bytes", reread_bytes);
    if (has_reread_by_any) put("reread_by_any_bytes", rereadByAny());
    put("locks", locks);
    put("locks_refused", locks_refused);
    put("locks_ns", locks_ns);
    put("tiny_buffered", tiny_buffered);
  }
};

// Offsets count as aligned at multiples of that: a page, and a block of most file systems.
inline constexpr std::uint64_t kUsualAlignment = 4096;

// Counts the patterns of one rank after the other.
class PatternCounter {
 public:
  // `paths` are those of the events. They outlive this object.
  PatternCounter(event::PathTable& paths, std::uint64_t alignment)
      : paths_(paths), alignment_(alignment) {}

  void beginRank(const std::vector<const tracefile::Process*>& processes);
  // Every POSIX and stream call of the rank, also those that do not count: they move positions.
  void take(const tracefile::Process& process, const event::Event& event, bool counts);

  // Hands out the pattern of each file that the rank used: use(file, pattern).
  template <typename Use>
  void endRank(Use use) {
    for (const event::FileId file : touched_) {
      OfFile& found = files_[static_cast<std::size_t>(file)];
      finish(found);
      if (!found.pattern.isEmpty()) use(file, found.pattern);
      found = {};
    }
    touched_.clear();
  }

 private:
  struct OfFile {
    AccessPattern pattern;
    std::uint64_t read_end = 0;   // of the last read
    std::uint64_t write_end = 0;  // of the last write
    std::uint64_t written_begin = UINT64_MAX;
    std::uint64_t written_end = 0;
    enum class Last : std::uint8_t { kNone, kRead, kWrite } last = Last::kNone;
    bool has_read = false;
    bool has_written = false;
    bool is_touched = false;
  };

  OfFile& of(event::FileId file);
  void place(const event::Event& event, std::uint64_t offset, bool counts);
  static bool endsContents(const event::Event& event);
  void setBuffer(const tracefile::Process& process, const event::Event& event);
  static void finish(OfFile& file);

  event::PathTable& paths_;
  std::uint64_t alignment_;
  std::uint64_t sessions_ = 0;
  std::optional<tracefile::PosixOffsets> offsets_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> tiny_;  // by process and handle
  std::vector<OfFile> files_;                               // by number
  std::vector<event::FileId> touched_;
};

}  // namespace omnio::stats
