// Where in the files that moved most bytes the calls of a run read and wrote, over time.
//
// Offsets are those of the application's calls: told by the call, or known from the calls of the
// same rank before it (core/event/file_positions.hpp); of MPI-IO through the view
// (core/mpi/file_offsets.hpp). They are nominal where a position cannot be known for sure: appends
// count from what the rank itself has seen of the file, and descriptors that were open before the
// recording began count from there.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/model/phase_model.hpp"
#include "core/mpi/file_offsets.hpp"
#include "core/mpi/shared_offsets.hpp"
#include "phase_model/file_position.hpp"
#include "report/offset_plane.hpp"
#include "statistics/report.hpp"

namespace omnio::report {

// The most files that are shown, and that are read: pipes and devices among these have no offsets.
inline constexpr std::size_t kMostOffsetFiles = 12;
inline constexpr std::size_t kMostOffsetCandidates = 16;

// Reads, or writes, whose offset the trace does not tell.
struct Unplaced {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

struct FileOffsets {
  std::string name;   // as of the statistics: text
  OffsetPlane plane;  // the sums of its cells and `unplaced` are what the statistics have
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  Unplaced unplaced_read;
  Unplaced unplaced_write;

  std::uint64_t bytes() const { return bytes_read + bytes_written; }
};

// The phases of the model on the file of this name, in order.
std::vector<const model::Phase*> phasesOf(const model::PhaseModel& model, std::string_view name);

// The files that are read, shared by the workers that read ranks.
class OffsetCollector {
 public:
  explicit OffsetCollector(const std::vector<std::string>& names);
  // The file of that number has this name, too.
  void addName(std::size_t file, const std::string& name) { index_.emplace(name, file); }

  // By the name as text; nothing for files that are not read.
  std::optional<std::size_t> find(const std::string& name) const;
  std::size_t size() const { return files_.size(); }
  void add(std::size_t file, const std::vector<PlacedBytes>& placed);
  void addUnplaced(std::size_t file, bool writes, const Unplaced& unplaced);

  // Those that moved bytes, the most first. Nothing is left in it.
  std::vector<FileOffsets> take();

 private:
  struct File {
    FileOffsets offsets;
    std::mutex mutex;
  };
  std::vector<std::unique_ptr<File>> files_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// Follows the calls of one rank. One object serves one worker at a time.
class OffsetFollower {
 public:
  // All but `processes`, which are those of the rank, outlives it.
  OffsetFollower(OffsetCollector& collector,
                 const std::vector<const tracefile::Process*>& processes, event::PathTable& paths,
                 const mpi::MpiSharedOffsets& shared, User user);
  ~OffsetFollower();
  OffsetFollower(const OffsetFollower&) = delete;
  OffsetFollower& operator=(const OffsetFollower&) = delete;

  // Where a read or write went.
  struct Region {
    std::optional<std::size_t> file;  // nothing: of no file that is read
    bool writes = false;
    bool is_known = false;
    std::int64_t begin = 0;
    std::int64_t end = 0;             // behind the last byte
    std::vector<mpi::Stride> pieces;  // of a request that has gaps, where these are few
  };

  // Takes every call of the application, in the order of time. What it returns holds until the next
  // call.
  const Region& take(const tracefile::Process& process, const event::Event& event);

  // Counts bytes that were moved there.
  void add(const Region& region, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes);

 private:
  struct Buffer {
    std::vector<PlacedBytes> placed;
    std::array<Unplaced, 2> unplaced;  // reads, writes
  };

  std::optional<std::size_t> fileOf(event::FileId id);
  void findMpi(const tracefile::Process& process, const event::Event& event);
  void findPosix(const tracefile::Process& process, const event::Event& event);
  void put(std::size_t file, const PlacedBytes& placed);

  OffsetCollector& collector_;
  event::PathTable& paths_;
  const mpi::MpiSharedOffsets& shared_;
  User user_;
  std::uint64_t sessions_ = 0;
  phases::Doubts doubts_;
  phases::PosixPositions posix_;
  std::map<const tracefile::Process*, mpi::MpiFileOffsets> mpi_;
  std::vector<std::int16_t> files_;  // by FileId: the file, or one of the values below
  std::vector<Buffer> buffers_;      // by file
  Region region_;
};

}  // namespace omnio::report
