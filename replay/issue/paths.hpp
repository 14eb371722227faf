// The names by which calls reach the files of the tree.
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
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/issue/descriptors.hpp"
#include "replay/plan/plan.hpp"
#include "replay/plan/program.hpp"
#include "replay/target/tree.hpp"

namespace omnio::replay {

// The files of the plan, and the directories from which names are looked up: for all threads.
class Paths {
 public:
  // `tree`: its absolute path; it is there. `ranks`: those that this process replays. `on_node`:
  // the tree of this node, if it has one.
  Paths(const Plan& plan, std::string tree, const std::vector<std::uint32_t>& ranks = {},
        const std::string& on_node = {});
  Paths(const Paths&) = delete;
  Paths& operator=(const Paths&) = delete;
  ~Paths();

  const PlannedFile* planned(std::uint32_t file) const;  // nullptr for kNoFile
  const std::string& tree() const { return path_; }
  std::string absolute(std::uint32_t file) const;  // "" for kNoFile: no call finds it
  // Whether the location is not below tree(), but in the tree of this node.
  bool isApart(std::string_view location) const { return tree_ && tree_->isApart(location); }

  // How many directories lie between the root of the tree's file system and the tree, which counts.
  std::size_t depth() const { return above_.size(); }
  // The directory so many levels above the tree, 1 to depth().
  int above(std::size_t levels) const { return above_[levels - 1]; }

  // A directory by its location, for fchdir(2); "" is the tree. `is_own`: the caller closes it.
  // -1 when it is not there.
  struct Base {
    int fd = -1;
    bool is_own = false;
  };
  Base base(const std::string& location) const;

 private:
  void openAbove();

  const Plan& plan_;
  std::string path_;
  std::optional<Tree> tree_;
  std::map<std::string, int, std::less<>> bases_;  // those that were there before the run
  std::vector<int> above_;                         // the nearest first
};

// The names that the calls of one thread use.
class Names {
 public:
  explicit Names(const Paths& paths) : paths_(paths) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // Gives the calling thread, which makes all calls from now on, a working directory of its own:
  // the tree. Names are absolute where that has not been done, or cannot be.
  void enterTree();

  // The names that a call takes.
  struct Wanted {
    bool path = false;
    bool new_path = false;
    bool may_be_empty = false;       // AT_EMPTY_PATH
    bool may_be_descriptor = false;  // the path may stand for the descriptor that it is relative to
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
  bool goTo(std::string_view base);
  bool stand(int directory, std::string_view name);

  const Paths& paths_;
  bool is_in_tree_ = false;
  // The location of the working directory; "" is the tree, "../" for each level above it.
  std::string at_;
  Name first_;
  Name second_;
};

}  // namespace omnio::replay
