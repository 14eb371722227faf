// The accesses to storage that the calls of a schedule make: their sizes, and where they lie behind
// the access before; the bytes that a sync or a close finds unwritten; which calls make a file.
//
// A buffered stream accesses storage when its buffer is full, empty or written out. Calls that only
// change what a process knows (seeks, locks, mappings) make no access. Pages of a mapped file are
// read and written outside of calls: no I/O time has that, and only a sync that finds them dirty
// accesses storage.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/interval_set.hpp"
#include "core/calls/table.hpp"
#include "core/model/schedule.hpp"
#include "predict/access_time/access.hpp"

namespace omnio::access_time {

// A file of the schedule, over all ranks.
struct FileFacts {
  bool exists = false;
  std::uint64_t size = 0;
  double names = 1;                  // in its location
  bool is_shared = false;            // several ranks name it
  bool is_in_shared_folder = false;  // several ranks name files in its directory
  bool is_in_memory = false;         // of nodes: no storage has it
};

// Bytes that the calls of a schedule move.
struct MovedBytes {
  double by_calls = 0;      // in the estimate
  double direct = 0;        // of those, by descriptors with O_DIRECT
  double asynchronous = 0;  // of those, by operations that go on beside the application
  double mapped = 0;        // pages of mapped files, beside those of calls

  // Bytes that were moved since `before`, so many times.
  void addSince(const MovedBytes& before, const MovedBytes& now, double times) {
    by_calls += times * (now.by_calls - before.by_calls);
    direct += times * (now.direct - before.direct);
    asynchronous += times * (now.asynchronous - before.asynchronous);
    mapped += times * (now.mapped - before.mapped);
  }
};

// The access of a call of which nothing but its name is known: a call on metadata or a sync.
std::optional<Access> accessOfCall(const calls::Row& row);

// Which accesses of a thread come after a pause (Access::is_paused).
class Pauses {
 public:
  // Marks the accesses of the thread's next event.
  void mark(const model::ScheduleEvent& event, std::vector<Access>& accesses);

 private:
  std::int64_t end_ns_ = 0;  // of the events before
  std::bitset<32> done_{};   // since the last pause, by operation
};

class CallAccesses {
 public:
  // `files` outlives this.
  explicit CallAccesses(const std::vector<FileFacts>& files);

  // Descriptors are those of one rank. Files that an earlier rank has made are there.
  void beginRank();
  // Mappings are those of one process.
  void beginThread(std::uint32_t pid) { pid_ = pid; }
  // The accesses of the event, the thread's next one; valid until the next call. All but
  // `processes` is set.
  const std::vector<Access>& of(const model::ScheduleEvent& event);
  // The file that the event names, or that its descriptor is open on; asked before of() takes the
  // event. kNoFileNumber where neither is known.
  model::FileNumber fileOf(const model::ScheduleEvent& event) const;

  // Bytes that are written from now on count so many times where a sync or a close finds them: a
  // call stands for so many.
  void setDirtyScale(double scale) { dirty_scale_ = scale; }
  double dirtyScale() const { return dirty_scale_; }

  const MovedBytes& moved() const { return moved_; }
  // Reads and writes of MPI-IO, of which the calibration knows nothing.
  std::uint64_t mpiCalls() const { return mpi_calls_; }

 private:
  struct FileState {
    bool exists = false;
    double size = 0;
    double before = 0;            // what is there from before the run
    double there = 0;             // the end of that, and of what this rank has written or read
    double dirty_bytes = 0;       // written by this rank since its last sync
    bool is_new = false;          // made by this rank, and not synced since
    base::IntervalSet written{};  // by this rank
    double read_end = 0;          // of what this rank has read
    bool is_changed = false;      // `there`, `written` or `read_end`, by this rank
  };
  struct Open {
    model::FileNumber file = model::kNoFileNumber;
    bool is_direct = false;
    bool syncs = false;  // each write waits for storage
    bool appends = false;
    std::int64_t position = 0;
    std::int64_t delta_offset = 0;  // of the last access that was not sequential
    double buffered_bytes = 0;      // of a stream: written, and still in its buffer
    double read_ahead_bytes = 0;    // of a stream: read, and still in its buffer
    double unsynced_bytes = 0;      // written, and not synced by this descriptor
  };

  FileState* stateOf(model::FileNumber file);
  Open& openOf(model::Descriptor descriptor);
  void open(const model::ScheduleEvent& event);
  void close(const model::ScheduleEvent& event);
  void transfer(const model::ScheduleEvent& event);
  void touchPages(const model::ScheduleEvent& event, double bytes);
  void syncMapping(const model::ScheduleEvent& event);
  void sync(const model::ScheduleEvent& event);
  void metadata(const model::ScheduleEvent& event);
  void rename(model::FileNumber from, model::FileNumber to, bool exchanges);
  void cut(model::FileNumber file, double length);
  void setThere(model::FileNumber file, double end);
  void noteChanged(model::FileNumber file, FileState& state);
  void noteWritten(model::FileNumber file, FileState& state, double begin, double end);
  static void noteRead(FileState& state, Access& access, double begin, double bytes);
  void makeDirty(Open& open, double bytes);
  void data(CellOperation operation, Open& open, double bytes, std::int64_t offset);
  void flush(Open& open);
  void add(CellOperation operation, model::FileNumber file, double bytes = 0,
           bool stands_for_another = false);
  void addSync(CellOperation operation, model::FileNumber file, double bytes);
  // Whether it is about a file that no storage has.
  bool isInMemory(const model::ScheduleEvent& event) const;
  double lookUpsOf(const model::ScheduleEvent& event) const;

  const std::vector<FileFacts>& files_;
  std::vector<FileState> states_;
  std::vector<std::uint32_t> touched_;  // files with dirty bytes of this rank
  std::vector<std::uint32_t> made_;     // new files
  std::vector<std::uint32_t> changed_;  // files with `is_changed`
  std::unordered_map<std::int64_t, std::shared_ptr<Open>> opens_;
  std::uint32_t pid_ = 0;
  std::map<std::pair<std::uint32_t, std::int64_t>, model::FileNumber> mappings_;  // by pid, number
  std::set<std::int64_t> of_mappings_;  // descriptors that the schedule has for them alone
  std::vector<Access> found_;
  double dirty_scale_ = 1;
  MovedBytes moved_;
  std::uint64_t mpi_calls_ = 0;
};

}  // namespace omnio::access_time
