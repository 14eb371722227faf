// The accesses to storage that the calls of a schedule make: their sizes, and where they lie behind
// the access before; the bytes that a sync or a close finds unwritten; which calls make a file.
//
// A buffered stream accesses storage when its buffer is full, empty or written out. Calls that only
// change what a process knows (seeks, locks, mappings) make no access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

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
};

// The access of a call of which nothing but its name is known: a call on metadata or a sync.
std::optional<Access> accessOfCall(const calls::Row& row);

class CallAccesses {
 public:
  // `files` outlives this.
  explicit CallAccesses(const std::vector<FileFacts>& files);

  // Descriptors are those of one rank. Files that an earlier rank has made are there.
  void beginRank();
  // The accesses of the event, the thread's next one; valid until the next call. All but
  // `processes` is set.
  const std::vector<Access>& of(const model::ScheduleEvent& event);

  // Bytes that are written from now on count so many times where a sync or a close finds them: a
  // call stands for so many.
  void setDirtyScale(double scale) { dirty_scale_ = scale; }
  double dirtyScale() const { return dirty_scale_; }

  // Bytes that calls have moved, all, and by descriptors with O_DIRECT.
  double movedBytes() const { return moved_bytes_; }
  double directBytes() const { return direct_bytes_; }
  // Reads and writes of MPI-IO, of which the calibration knows nothing.
  std::uint64_t mpiCalls() const { return mpi_calls_; }

 private:
  struct FileState {
    bool exists = false;
    double size = 0;
    double dirty_bytes = 0;  // written by this rank since its last sync
    bool is_new = false;     // made by this rank, and not synced since
  };
  struct Open {
    model::FileNumber file = model::kNoFileNumber;
    bool is_direct = false;
    bool syncs = false;  // each write waits for storage
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
  void sync(const model::ScheduleEvent& event);
  void metadata(const model::ScheduleEvent& event);
  void data(CellOperation operation, Open& open, double bytes, std::int64_t offset);
  void flush(Open& open);
  void add(CellOperation operation, model::FileNumber file, double bytes = 0,
           bool stands_for_another = false);
  double lookUpsOf(const model::ScheduleEvent& event) const;

  const std::vector<FileFacts>& files_;
  std::vector<FileState> states_;
  std::vector<std::uint32_t> touched_;  // files with dirty bytes of this rank
  std::vector<std::uint32_t> made_;     // new files
  std::unordered_map<std::int64_t, std::shared_ptr<Open>> opens_;
  std::vector<Access> found_;
  double dirty_scale_ = 1;
  double moved_bytes_ = 0;
  double direct_bytes_ = 0;
  std::uint64_t mpi_calls_ = 0;
};

}  // namespace omnio::access_time
