// Watches what the storage below a directory does while this node uses it: bytes that reached the
// devices or the server beside those that the application moved, how busy the devices were, and how
// much of what was written was only in memory.
//
// It reads the kernel's own counters once a second (core/storage/counters.hpp) in a thread of its
// own, which takes 0.2 to 0.3 ms of processor time each time (measured with 10 devices), and keeps
// at most 4,096 samples: a longer run has longer ones. The counters are those of the node: on a
// device or mount that others use too, theirs are in it.
//
// Block devices, NFS and Lustre are known. Of btrfs all devices are taken together; of a loop
// device its own counts, whatever the file system below its file does. Others are named as unknown.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_writer.hpp"
#include "core/storage/counters.hpp"

namespace omnio::storage {

enum class SourceKind : std::uint8_t { kDevices, kServer, kMemory, kUnknown };

struct StorageSample {
  double end_s = 0;  // since the watch began
  Moved moved;       // since the sample before
  double busy = 0;   // share of the time that the busiest device had requests, 0 to 1
  MemoryUse memory;  // at its end
};

// The counts from begin() to end().
struct StorageRecord {
  std::string mount;  // "point type source"; empty where the directory could not be looked up
  SourceKind kind = SourceKind::kUnknown;
  std::string why_unknown;           // of kUnknown
  std::vector<std::string> sources;  // names of the devices, or the server
  double seconds = 0;
  Moved moved;
  // The part of `moved` that belongs to this process's control group; the rest belongs to others.
  // Nothing in the node's root group, which counts every process.
  std::optional<Moved> own;
  std::optional<double> busy;  // of the busiest device, over the whole time; devices alone
  std::string busiest;
  MemoryUse memory_begin;
  MemoryUse memory_end;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t free_begin_bytes = 0;
  std::uint64_t free_end_bytes = 0;
  std::vector<StorageSample> samples;
};

// Adds a record of a later part of the time, by the same watch. Time between the two is left out.
void append(StorageRecord& record, StorageRecord later);

// Makes one sample of each two that follow each other.
void joinPairs(std::vector<StorageSample>& samples);

// The control group whose bytes are StorageRecord::own; "/" or empty: there are none.
std::string countedGroup();

// The text of a file of the kernel, whole; empty where it cannot be read. Called by the thread of a
// watch too.
using ReadText = std::function<std::string(const std::filesystem::path&)>;
std::string textOf(const std::filesystem::path& path);

class StorageWatch {
 public:
  // Never fails: what cannot be watched is unknown. The directory exists.
  explicit StorageWatch(const std::filesystem::path& directory, ReadText read = textOf);
  StorageWatch(const StorageWatch&) = delete;
  StorageWatch& operator=(const StorageWatch&) = delete;
  ~StorageWatch();

  // Begins to watch, `interval_s` between two samples at first. May be called again after end().
  void begin(double interval_s = 1);
  StorageRecord end();

 private:
  class Watching;
  std::unique_ptr<Watching> watching_;
};

// The record of a node, with what moved in the sync after it (docs/formats/storage_record.md). The
// host is text.
std::string nodeJson(const std::string& host, const StorageRecord& record, const Moved& synced);

}  // namespace omnio::storage
