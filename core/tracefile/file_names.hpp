// Which names of a trace lead to one file: hard and symbolic links, and names that were renamed, by
// themselves or with a directory above them.
//
// The kernel decides, by the inode that each open found. Two names are one file where their
// opens found one inode and a link or rename that was recorded made the one of the other, or where
// they found it on one node and no name of it was ever renamed, replaced or removed: an inode that
// is free is soon that of another file. A name that led to several inodes, or that several others
// were renamed to, is a file of its own: which of them a call by that name was on is not told
// apart. So files that are one may be taken for two, and never two for one, unless a file was
// removed by what is not in the trace.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {

class FileNames {
 public:
  // `paths` are those of the events, and outlive this object.
  explicit FileNames(event::PathTable& paths) : paths_(paths) {}
  FileNames(const FileNames&) = delete;
  FileNames& operator=(const FileNames&) = delete;

  // Takes every event of a rank, in the order of time. The ranks come in any order.
  void take(const Process& process, const event::Event& event);
  // Takes what another object, with paths of its own, has seen of other ranks.
  void add(const FileNames& other);

  // For each path, by its number, the one that stands for all names of the file: one that is there
  // at the end, if any is; of several the first in alphabetical order.
  std::vector<event::FileId> standing() const;

 private:
  struct Name {
    std::uint64_t inode = 0;  // that opens by this name found; 0: none did
    std::uint64_t device = 0;
    std::uint64_t node = 0;    // the one of the first open
    bool has_several = false;  // inodes
    bool was_removed = false;
    bool isOfOneFile() const { return inode != 0 && !has_several; }
  };
  struct Made {
    event::FileId from;
    event::FileId to;
    bool by_rename;
    auto operator<=>(const Made&) const = default;
  };
  class Classes;
  class Renames;

  Name& of(event::FileId file);
  const Name& known(event::FileId file) const;
  std::uint64_t nodeOf(const Process& process);
  void takeNames(const event::Event& event);
  void joinMade(const Renames& renames, Classes& classes) const;
  void joinStable(const Renames& renames, Classes& classes) const;

  event::PathTable& paths_;
  std::vector<Name> names_;  // by number of the path
  std::set<Made> made_;
  const Process* process_ = nullptr;  // that the last file was opened by
  std::uint64_t node_ = 0;            // of that one
};

}  // namespace omnio::tracefile
