// Makes the directories and files that the application found, in full size, with real content but
// for their holes, before the replay begins. It uses system calls that no tracer sees.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_reader.hpp"
#include "core/base/result.hpp"
#include "replay/plan/plan.hpp"
#include "replay/target/content.hpp"
#include "replay/target/trees.hpp"

namespace omnio::replay {

// Made-up content: neither zeros nor holes, it does not compress, and no block is like another, so
// that a storage system that compresses or deduplicates gains nothing by it.
// A sequence of its own for each file (by its number) and each 8 bytes of it: any piece can be made
// by itself, and is the same whoever makes it. SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014) over the place.
void fillContent(std::uint64_t file, std::uint64_t offset, std::span<char> out);

// Makes each 4 KiB of a buffer that is written again unlike all others before: `stamp` is a number
// that is used once. Neither NUL nor newline comes of it. `first` is the number of the first of
// them, where those of a buffer are stamped one by one.
void stampBlocks(std::uint64_t stamp, std::span<char> buffer, std::uint64_t first = 0);

enum class Cache : std::uint8_t {
  kCold,  // written back and dropped from this node's page cache
  kWarm,  // read once after they were made
  kAsIs,  // as making them left it
};
inline constexpr base::Word<Cache> kCaches[] = {
    {Cache::kCold, "cold"}, {Cache::kWarm, "warm"}, {Cache::kAsIs, "as-is"}};

struct Prepared {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// Which nodes files lie on: by file, the node whose own tree it is in, or kInTarget.
using Places = std::vector<int>;
inline constexpr int kInTarget = -1;
// `node_of_rank`: by recorded rank, the node that replays it. Fails where ranks of several nodes
// use a file that is on a node.
base::Result<Places> placesOf(const Plan& plan, const std::vector<int>& node_of_rank);

// This process's share of the work: files, and pieces of large ones, go round over the processes of
// the replay, and those of a node over the processes of that.
struct Share {
  int process = 0;
  int processes = 1;
  int node = 0;
  int node_process = 0;
  int node_processes = 1;
};

// How much of the prepared files is in this node's page cache, by a sample (mincore(2)). No pages
// where there is nothing to sample, or the file system does not map files.
struct Residency {
  std::uint64_t pages = 0;
  std::uint64_t resident = 0;
};
// Of the pieces that this process made.
Residency sampleCache(const Plan& plan, const Trees& trees, const Places& places, Share share);

// The size that the file has to have before the replay begins, where it has to be there. Nothing
// for directories, and for inputs that are read in place.
std::optional<std::uint64_t> wantedSize(const Plan& plan, const PlannedFile& file);

// The least room that the replay takes where `is_there` says that the file lies: for what is
// prepared, and for what is there at the end, which may be less.
struct RoomNeeded {
  std::uint64_t prepared = 0;
  std::uint64_t at_end = 0;
  std::uint64_t bytes() const { return prepared > at_end ? prepared : at_end; }
};
RoomNeeded roomNeeded(const Plan& plan, const std::function<bool(std::size_t file)>& is_there);
// The bytes that are free on the file system of a directory, which may have to be made. Nothing
// where it does not tell.
std::optional<std::uint64_t> freeBytes(const std::filesystem::path& directory);
// The bytes that the blocks of a tree take, as far as it can be read.
std::uint64_t bytesBelow(const std::filesystem::path& directory);
// Whether that fits on the file system of a directory, which may have to be made; `removed` are
// directories of that file system that are removed first. One sentence says how much is needed and
// how much is free. It begins with `name`, or with the directory where that is empty.
base::Result<void> checkRoom(const RoomNeeded& needed, const std::filesystem::path& directory,
                             const std::vector<std::filesystem::path>& removed = {},
                             const std::string& name = {});
// All directories of that place; one process does it, before any prepareFiles(). A directory that
// has files in several trees is in each of them.
base::Result<void> prepareDirectories(const Plan& plan, const Trees& trees, const Places& places,
                                      int place);
// What was made in each tree, by its number.
using PreparedByTree = std::map<std::uint32_t, Prepared>;
// `is_kept`, by file: it is there as it has to be (kept.hpp), and only the cache has to be settled;
// may be empty.
base::Result<PreparedByTree> prepareFiles(const Plan& plan, const Trees& trees,
                                          const Places& places, Share share, Cache cache,
                                          const Content& content = {},
                                          const std::vector<bool>& is_kept = {});

}  // namespace omnio::replay
