// The mappings of a recorded rank. Threads of the rank share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

namespace omnio::replay {

// A schedule may name any number and any range: what is not mapped by one of its calls is never
// touched, nor unmapped.
class Mappings {
 public:
  // Its process in the recording, and its number there.
  using Key = std::pair<std::uint32_t, std::uint64_t>;

  struct Mapping {
    char* memory = nullptr;
    std::size_t bytes = 0;
    std::uint64_t offset = 0;  // in the file, where it begins
    bool is_writable = false;
    // Its bytes that were not unmapped, in order.
    struct Rest {
      std::size_t begin;
      std::size_t end;
    };
    std::vector<Rest> rests;

    // The part of it that a range of its bytes is; where something is missing, up to there.
    std::span<char> part(std::int64_t from, std::int64_t length) const;
  };

  Mappings() = default;
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;
  ~Mappings();

  void add(Key key, const Mapping& mapping);
  // Calls `action` with the mapping while none is unmapped. False where there is none.
  template <typename Action>
  bool use(Key key, Action action) {
    const std::shared_lock lock(mutex_);
    const auto found = mappings_.find(key);
    if (found == mappings_.end()) return false;
    action(static_cast<const Mapping&>(found->second));
    return true;
  }
  // Calls `unmap` with the part that the range is. False where there is none.
  template <typename Unmap>
  bool cut(Key key, std::int64_t from, std::int64_t length, Unmap unmap) {
    const std::unique_lock lock(mutex_);
    const auto found = mappings_.find(key);
    if (found == mappings_.end()) return false;
    const std::span<char> part = found->second.part(from, length);
    if (part.empty()) return false;
    unmap(part);
    takeOut(found->second, part);
    if (found->second.rests.empty()) mappings_.erase(found);
    return true;
  }
  // Calls `move` with all of the mapping, and keeps the memory that it returns; nullptr: it failed.
  // False where there is none, or not the whole of it.
  template <typename Move>
  bool resize(Key key, std::size_t bytes, Move move) {
    const std::unique_lock lock(mutex_);
    const auto found = mappings_.find(key);
    if (found == mappings_.end() || bytes == 0) return false;
    Mapping& mapping = found->second;
    if (mapping.part(0, static_cast<std::int64_t>(mapping.bytes)).size() != mapping.bytes) {
      return false;
    }
    char* const memory = move(std::span<char>(mapping.memory, mapping.bytes));
    if (memory == nullptr) return true;
    mapping.memory = memory;
    mapping.bytes = bytes;
    mapping.rests = {{0, bytes}};
    return true;
  }

 private:
  static void takeOut(Mapping& mapping, std::span<const char> part);
  static void unmap(const Mapping& mapping);

  std::shared_mutex mutex_;
  std::map<Key, Mapping> mappings_;
};

// Reads a byte of each page, or writes `content` as often as it fits. False where the file has no
// bytes there any more: another rank may have cut it off.
bool touchRead(std::span<const char> memory);
bool touchWrite(std::span<char> memory, std::span<const char> content);

}  // namespace omnio::replay
