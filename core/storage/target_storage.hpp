// The bytes that the storage below one target moved in a run, summed over all nodes, beside those
// that the calls of the run moved: by these, whether a figure is of the storage or of the memory of
// the nodes. A replay, a run of phases and a calibration have it in their documents as `storage[]`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/text_table.hpp"
#include "core/storage/counters.hpp"

namespace omnio::storage {

struct TargetStorage {
  std::string target = {};       // its name; empty: the only one
  bool is_known = false;         // the kernel counts what it does, on all nodes
  bool is_memory = false;        // it is a file system in memory, on all nodes
  std::string why_unknown = {};  // a clause, where the node of process 0 does not count it
  // Bytes that the calls moved there; nothing where that is not known by target.
  std::optional<Moved> calls = {};
  // Bytes that came from the devices or servers and reached them, those of other programs too: from
  // the first call to the last, and in the final sync.
  Moved moved = {};
  Moved synced = {};
  // The part of `moved` that belongs to the control group of the run, where each node counts it.
  std::optional<Moved> own = {};
  double busy = 0;                      // share of the time, of the busiest device; 0: not known
  std::uint64_t dirty_bytes = 0;        // on the nodes, after the last call
  std::vector<std::string> nodes = {};  // JSON objects (docs/formats/storage_record.md)
};

// The sum of several runs. It is known where each of them is; the busiest device is that of any
// run.
TargetStorage sumOf(std::span<const TargetStorage> runs);

// The part of the system that a measured time is of.
enum class MeasuredPart : std::uint8_t {
  kStorage,
  kMemory,   // less than half of the bytes of the calls came from storage or reached it
  kUnknown,  // a kernel does not count them, or the calls moved none
};
inline constexpr base::Word<MeasuredPart> kMeasuredParts[] = {{MeasuredPart::kStorage, "storage"},
                                                              {MeasuredPart::kMemory, "memory"},
                                                              {MeasuredPart::kUnknown, "unknown"}};
// Up to where the time was taken.
enum class MeasuredUntil : std::uint8_t { kLastCall, kSync };

// `calls`: what the calls moved in all targets. What storage wrote beyond what the calls wrote
// counts for nothing, and so with reads: journals, reading ahead and other programs do not make up
// for the other direction.
MeasuredPart measuredPart(const Moved& calls, std::span<const TargetStorage> targets,
                          MeasuredUntil until = MeasuredUntil::kLastCall);

// A member "measured" of an object that is open, and "measured_with_sync": "storage", "memory" or
// "unknown".
void putMeasuredParts(base::JsonWriter& json, const Moved& calls,
                      std::span<const TargetStorage> targets);

// A list "storage" in an object that is open (docs/formats/replay_report.md).
void putStorage(base::JsonWriter& json, std::span<const TargetStorage> targets);

// One of that list, as it was written, but for its nodes. Members that are missing or wrong are
// refused by the reader.
TargetStorage targetStorageOf(base::JsonReader& in, const base::JsonNode& node);

// Lines for people: one a target, and one that says when the time is of memory.
//
//   Storage: calls read 0 B and wrote 40.0 GiB; 0 B came from storage and 3.0 GiB reached it in the
//   time; 37.0 GiB more reached it in the sync; the busiest device worked for 93 % of the time
std::string storageText(const Moved& calls, std::span<const TargetStorage> targets);

}  // namespace omnio::storage
