// Events of a schedule in a file without a name, so that memory does not grow with them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/model/schedule.hpp"

namespace omnio::preprocess::scale {

// An event as its line (core/model/compact/line_kinds.hpp) without id and waits, and these.
struct EventRecord {
  std::uint32_t kind = 0;
  std::uint64_t id = 0;
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> measures;  // by name: EventTimes
  std::vector<model::Wait> waits;
  // Delays that follow it in its thread: where many ranks wait for many. Which calls have some is a
  // matter of chance.
  std::vector<EventRecord> delays;
};

// The measures of an event by name, in the order of its line.
struct EventTimes {
  std::int64_t gap_ns = 0;
  std::int64_t duration_ns = 0;
  bool has_work = false;  // else it waits as long as in the recording
  model::Work work;

  static EventTimes of(const EventRecord& event);
  void store(EventRecord& event) const;
  // Between what comes before it, and itself.
  model::Work workBefore() const { return has_work ? work : model::Work{.compute_ns = gap_ns}; }
};

class EventSpool {
 public:
  // The file is in `directory`.
  explicit EventSpool(const std::filesystem::path& directory);

  // Returns where the next event will be.
  std::uint64_t end() const { return end_; }
  void append(const EventRecord& event);
  // Reads the event there, and moves on to the next one. Only after the last append().
  void read(std::uint64_t& place, EventRecord& event);
  // Whether all was written and read so far. Writes out what is still in memory.
  base::Result<void> state();
  // Then events that are read are empty.
  bool failed() const { return error_ != 0; }

 private:
  void putOne(const EventRecord& event);
  void takeOne(EventRecord& event);
  void put(const void* bytes, std::size_t size);
  void take(void* bytes, std::size_t size);
  // The bytes of the file from there on; none where it cannot be read. The events of all ranks are
  // read side by side, so some blocks of the file stay in memory.
  std::string_view blockAt(std::uint64_t place);

  struct Block {
    std::uint64_t number = UINT64_MAX;
    std::string bytes;
  };

  std::filesystem::path directory_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::uint64_t end_ = 0;
  std::uint64_t read_place_ = 0;
  bool is_written_ = true;  // all of it, so that it can be read
  std::vector<Block> blocks_;
  int error_ = 0;
};

}  // namespace omnio::preprocess::scale
