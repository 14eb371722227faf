// Files by number: each absolute path that occurs in a trace is stored once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace omnio::event {

// A file of one PathTable, by the order in which its path first came up.
enum class FileId : std::uint32_t {};
inline constexpr FileId kNoFile{0xFFFFFFFF};

// The path as a file's identity: "//" and "/./" are taken out and a "/" at the end is dropped. ".."
// stays, since what it leads to depends on links that only the traced system knew.
std::string normalisedPath(std::string_view absolute);

class PathTable {
 public:
  PathTable() = default;
  PathTable(const PathTable&) = delete;  // the index points into the paths
  PathTable& operator=(const PathTable&) = delete;

  FileId idOf(std::string_view absolute);
  // Lives as long as the table; empty for kNoFile.
  std::string_view path(FileId id) const;
  std::size_t size() const { return paths_.size(); }

 private:
  std::deque<std::string> paths_;  // a deque, since its elements never move
  std::unordered_map<std::string_view, FileId> index_;
};

}  // namespace omnio::event
