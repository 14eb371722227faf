// Where in a file a POSIX or stream call reads or writes: told by the call, or known from the calls
// before it on the same open file description (core/event/file_positions.hpp). Of the processes of
// one rank: those that a fork made share descriptions with their parent.
//
// A file is what the kernel says it is: names that lead to one inode (hard and symbolic links, a
// directory that was renamed) have one size, and a name that leads to another inode than before has
// another file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/base/integers.hpp"
#include "core/event/event.hpp"
#include "core/event/file_positions.hpp"
#include "core/tracefile/description_keys.hpp"
#include "core/tracefile/process.hpp"

namespace omnio::tracefile {

class PosixOffsets {
 public:
  struct Located {
    event::Transfer transfer;
    std::uint64_t session = 0;  // the open instance, numbered in the order in which they came up
    bool is_behind_unknown = false;  // appended to a file whose size is not known
  };

  // The processes of the rank, the paths of their events, and the number of open instances it came
  // to so far, which others count in too. All of them outlive this object.
  PosixOffsets(const std::vector<const Process*>& processes, event::PathTable& paths,
               std::uint64_t& sessions);

  // Takes every event of POSIX and streams in the order of time. Returns the place of a read or
  // write.
  std::optional<Located> take(const Process& process, const event::Event& event);

  // A descriptor after the events that were taken, as far as they tell. None where they did not use
  // it.
  struct State {
    DescriptionKey key;
    std::int64_t position = 0;  // bytes
    bool appends = false;
    std::optional<std::int64_t> size_bytes;  // of its file
  };
  std::optional<State> stateOf(const Process& process, const event::Handle& handle);

  // Files whose positions count from where they stood: they were open before the recording began.
  const std::set<event::FileId>& beganElsewhere() const { return began_elsewhere_; }

 private:
  struct Inode {
    std::uint64_t device = 0;
    std::uint64_t number = 0;  // 0: not known
    bool operator==(const Inode&) const = default;

    struct Hash {
      std::size_t operator()(const Inode& inode) const {
        return base::mixed(inode.number, inode.device);
      }
    };
  };
  struct File {
    event::FileSize size;
    Inode inode;
  };
  struct Description {
    event::OpenFile open;
    std::shared_ptr<File> file;  // that was opened, whatever its name is now
    std::uint64_t session = 0;
    bool is_shared = false;  // by dup or fork: a close is not its end
  };
  // Descriptions that were used last, by their number: most calls are on one of these.
  struct Recent {
    DescriptionKey key;
    Description* description = nullptr;
  };

  Description* find(const DescriptionKey& key);
  Description& descriptionOf(const Process& process, const event::Handle& handle);
  void opened(const Process& process, const event::Event& event);
  // The file that has the name now.
  const std::shared_ptr<File>& named(event::FileId name);
  // The file behind the handle; a new one where the call made it.
  std::shared_ptr<File> behind(const event::Handle& handle, bool is_made);
  void forgetGone();
  void takeNames(const event::Event& event);
  void close(const Process& process, const event::Event& event);

  event::PathTable& paths_;
  std::uint64_t& sessions_;
  DescriptionKeys keys_;
  std::unordered_map<DescriptionKey, Description, DescriptionKey::Hash> descriptions_;
  std::array<Recent, 64> recent_{};
  std::unordered_map<event::FileId, std::shared_ptr<File>> files_;
  std::unordered_map<Inode, std::weak_ptr<File>, Inode::Hash> by_inode_;
  std::size_t most_inodes_ = 1024;  // before those are looked for that are gone
  std::set<event::FileId> began_elsewhere_;
};

}  // namespace omnio::tracefile
