// The names by which calls reach the files of the trees.
//
// A storage system that asks a server for each name in a path makes "a/b/c" dearer than "c". So a
// call looks up as many names as the recorded one did (ScheduleEvent::lookups), from where that one
// did: a directory that it has open, or the thread's working directory. Names come from locations,
// which have no "..", so that from a directory inside of the tree no name leads out of it. Where
// the application looked up names above the directory that it ran in, as it does by an absolute
// path, the names of the directories above the tree stand in for them.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/issue/descriptors.hpp"
#include "replay/plan/plan.hpp"
#include "replay/plan/program.hpp"
#include "replay/target/trees.hpp"

namespace omnio::replay {

// The files of the plan, and the directories from which names are looked up: for all threads.
class Paths {
 public:
  // `ranks`: those that this process replays. The plan and the trees outlive it.
  Paths(const Plan& plan, const Trees& trees, const std::vector<std::uint32_t>& ranks = {});
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;
  ~Paths();

  const PlannedFile* planned(std::uint32_t file) const;  // nullptr for kNoFile
  const Trees& trees() const { return trees_; }
  // "" for kNoFile: no call finds it. Of an input that is read in place, its source.
  std::string absolute(std::uint32_t file) const;

  // How many directories lie between the root of the file system that a tree is in and the tree,
  // which counts.
  std::size_t depth(std::uint32_t tree) const { return above(tree).size(); }
  // The directory so many levels above the tree, 1 to depth().
  int above(std::uint32_t tree, std::size_t levels) const { return above(tree)[levels - 1]; }

  // A directory by its location in a tree, for fchdir(2); "" is the tree. `is_own`: the caller
  // closes it. -1 when it is not there.
  struct Base {
    int fd = -1;
    bool is_own = false;
  };
  Base base(std::uint32_t tree, const std::string& location) const;

 private:
  const std::vector<int>& above(std::uint32_t tree) const;

  const Plan& plan_;
  const Trees& trees_;
  // Those that were there before the run, by tree and location.
  std::map<std::pair<std::uint32_t, std::string>, int> bases_;
  std::vector<std::vector<int>> above_;  // by tree, the nearest first
  std::vector<int> above_node_tree_;
  std::vector<int> above_memory_tree_;
};

// The names that the calls of one thread use.
class Names {
 public:
  explicit Names(const Paths& paths) : paths_(paths) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // Gives the calling thread, which makes all calls from now on, a working directory of its own:
  // the first tree. Names are absolute where that has not been done, or cannot be.
  void enterTree();

  // The names that a call takes.
  struct Wanted {
    bool path = false;
    bool new_path = false;
    bool may_be_empty = false;       // AT_EMPTY_PATH
    bool may_be_descriptor = false;  // the path may stand for the descriptor that it is relative to
    bool from_first_tree = false;    // a name outside of the first tree has to be absolute
  };
  // Finds the names of the next call, and goes to the directory that they are looked up from.
  void find(const Op& op, Wanted wanted, const Descriptors& descriptors);
  // They hold until the next find().
  const char* path() const { return first_.text; }
  const char* newPath() const { return second_.text; }
  // The directories that they are relative to, for calls that take one.
  int directory() const { return first_.directory; }
  int newDirectory() const { return second_.directory; }

  // The thread changed its working directory to that of the file.
  void changedTo(std::uint32_t file);

 private:
  struct Name {
    const char* text = "";
    int directory = AT_FDCWD;
    std::string buffer{};
  };

  void set(Name& name, std::uint32_t file, std::uint16_t lookups, std::uint32_t directory,
           const Descriptors& descriptors, bool may_move, const Wanted& wanted);
  void setAbsolute(Name& name, std::uint32_t file);
  void setFromAbove(Name& name, std::uint32_t file, std::size_t levels, bool may_move);
  bool isAt(std::uint32_t tree, std::string_view base) const;
  bool goTo(std::uint32_t tree, std::string_view base);
  bool stand(int directory, std::uint32_t tree, std::string_view name);

  const Paths& paths_;
  bool is_in_tree_ = false;
  // The tree of the working directory, and its location there; "" is the tree, "../" for each level
  // above it.
  std::uint32_t tree_ = 0;
  std::string at_;
  Name first_;
  Name second_;
};

}  // namespace omnio::replay
