// The open instances of a trace, and what a descriptor of the schedule stands for at a time.
//
// The trace names an open instance by (process, handle). Schedules number them within a rank, over
// all of its processes. A stream made of a descriptor (fdopen) is an instance of its own from then
// on, so that a replay knows which of the two a call was made with.
#pragma once

#include <fcntl.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"
#include "core/event/file_positions.hpp"
#include "core/model/schedule.hpp"
#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

// By place in OpenTable.
enum class InstanceId : std::uint32_t {};
inline constexpr InstanceId kNoInstance{0xFFFFFFFF};

// An open file description, which dup and fork share.
struct Description {
  event::OpenFile open{};
  bool appended_at_first = false;
  std::int64_t first_position = 0;  // bytes
  // The threads that moved the position.
  std::optional<std::uint32_t> first_thread{};  // by place in SourceThreads
  bool of_many_threads = false;                 // their order is not kept
  std::optional<PastEvent> last_seek{};         // or read
  ByThread writes{};                            // since then
  std::size_t open_instances = 0;               // that are known
  bool has_lock = false;                        // of its own: flock, F_OFD_SETLK
  // A position that a call returns may show the size of the file. For that:
  std::optional<std::int64_t> sought_from_end{};  // fseek to there came last
  bool has_just_appended = false;
  std::optional<std::int64_t> scanned_from{};  // fscanf has read since, how far is not known
};

struct Instance {
  int rank = 0;
  std::uint32_t description = 0;  // by place in OpenTable
  std::size_t content = 0;        // by place in FileHistory
  PastEvent made{};
  bool before_run = false;                              // preopened: there before any event
  model::FileNumber file = model::kNoFileNumber;        // by which name it was opened
  std::optional<int> access{};                          // O_ACCMODE and O_APPEND of its flags
  model::Descriptor descriptor = model::kNoDescriptor;  // OpenTable::make
  std::uint64_t step_id = 0;                            // of the step that makes it, if no event
  bool is_open = true;
  bool counts = true;  // in Description::open_instances
  bool has_written = false;
  bool is_stream = false;
  bool is_below = false;  // opened for a call of MPI-IO, whose step it is part of: no descriptor
  ByThread used{};
};

// Items that stay where they are. A std::deque divides to find one of this size.
template <typename T>
class Chunked {
 public:
  void push_back(T item) {
    if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<T[]>(kChunk));
    (*this)[size_++] = std::move(item);
  }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return chunks_[index / kChunk][index % kChunk]; }

 private:
  static constexpr std::size_t kChunk = 32;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

class OpenTable {
 public:
  // Gives it the next descriptor of its rank. References to others stay good.
  InstanceId make(Instance instance) {
    if (!instance.is_below) instance.descriptor = model::Descriptor{next_[instance.rank]++};
    ++descriptions_[instance.description].open_instances;
    instances_.push_back(std::move(instance));
    return InstanceId{static_cast<std::uint32_t>(instances_.size() - 1)};
  }
  std::uint32_t makeDescription(int open_flags, std::int64_t position = 0) {
    const bool appends = (open_flags & O_APPEND) != 0;
    descriptions_.push_back({.open = {.appends = appends, .position = position},
                             .appended_at_first = appends,
                             .first_position = position});
    return static_cast<std::uint32_t>(descriptions_.size() - 1);
  }

  void close(InstanceId id) {
    Instance& instance = instances_[static_cast<std::size_t>(id)];
    if (std::exchange(instance.is_open, false)) uncount(instance);
  }
  // A stream has taken over the descriptor (fdopen), and closes it.
  void becomesStream(InstanceId id) { uncount(instances_[static_cast<std::size_t>(id)]); }

  Instance& operator[](InstanceId id) { return instances_[static_cast<std::size_t>(id)]; }
  Description& description(std::uint32_t place) { return descriptions_[place]; }

  // From `start_ns` on the handle of the process means this instance.
  void bind(std::size_t process, std::uint32_t handle, std::int64_t start_ns, InstanceId instance) {
    bound_[boundKey(process, handle)].emplace_back(start_ns, instance);
  }
  InstanceId instanceOf(std::size_t process, std::uint32_t handle, std::int64_t time_ns) const {
    const auto found = bound_.find(boundKey(process, handle));
    if (found == bound_.end()) return kNoInstance;
    // Mostly one, and two after an fdopen.
    InstanceId instance = found->second.front().second;
    for (const auto& [since, bound] : found->second) {
      if (since <= time_ns) instance = bound;
    }
    return instance;
  }

  // The system's number, as long as the instance is open.
  void setNumber(std::size_t process, int fd, InstanceId instance) {
    numbers_[{process, fd}] = instance;
  }
  void clearNumber(std::size_t process, int fd) {
    const auto found = numbers_.find({process, fd});
    if (found == numbers_.end()) return;
    closed_[found->first] = found->second;
    numbers_.erase(found);
  }
  InstanceId atNumber(std::size_t process, int fd) const {
    const auto found = numbers_.find({process, fd});
    return found == numbers_.end() ? kNoInstance : found->second;
  }
  // The instances that the process has open, and after them the one that it closed last at each
  // number.
  std::vector<InstanceId> openOrClosed(std::size_t process) const {
    std::vector<InstanceId> instances;
    for (const Numbers* numbers : {&numbers_, &closed_}) {
      for (auto at = numbers->lower_bound({process, INT_MIN});
           at != numbers->end() && at->first.first == process; ++at) {
        instances.push_back(at->second);
      }
    }
    return instances;
  }

 private:
  using Numbers = std::map<std::pair<std::size_t, int>, InstanceId>;

  void uncount(Instance& instance) {
    if (std::exchange(instance.counts, false)) {
      --descriptions_[instance.description].open_instances;
    }
  }

  static std::uint64_t boundKey(std::size_t process, std::uint32_t handle) {
    return std::uint64_t{process} << 32 | handle;
  }
  struct BoundHash {
    std::size_t operator()(std::uint64_t key) const { return base::mixed(key, 0); }
  };

  Chunked<Instance> instances_;
  Chunked<Description> descriptions_;
  std::unordered_map<int, std::int64_t> next_;  // of a rank
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::int64_t, InstanceId>>, BoundHash>
      bound_;
  Numbers numbers_;
  Numbers closed_;
};

}  // namespace omnio::preprocess
