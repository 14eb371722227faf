// Who held which locks on which part of a file (flock(2), fcntl(2)), and who waited for whom: a
// lock is had once those have let go of it who were in its way.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "preprocess/files/file_history.hpp"
#include "preprocess/files/open_table.hpp"
#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

// Locks of one kind are not in the way of those of another one.
enum class LockKind : std::uint8_t { kWhole, kRecord };  // flock; fcntl

// Whose a lock is: a process's (fcntl), or an open file description's (flock, and fcntl's F_OFD_).
struct LockOwner {
  enum class Kind : std::uint8_t { kProcess, kDescription };
  Kind kind = Kind::kProcess;
  std::uint64_t number = 0;

  friend auto operator<=>(const LockOwner&, const LockOwner&) = default;
};

// What a call asks for.
struct LockSubject {
  ContentId content = kNoContent;
  LockKind kind = LockKind::kRecord;
  LockOwner owner;
  Range range;
  bool is_range_known = true;         // else it is all of the file
  InstanceId instance = kNoInstance;  // of the descriptor that the call was made with
};

class LockHistory {
 public:
  explicit LockHistory(Dependencies& dependencies) : dependencies_(dependencies) {}

  // The owner has the lock on the range from now on, in place of what it had of it. Calls come in
  // the order in which they took effect: a lock at the end of its call, a release at the start.
  void locks(const LockSubject& subject, bool is_exclusive, const PastEvent& when);
  void unlocks(const LockSubject& subject, const PastEvent& when);
  // A close that ends all that the owner has of the file.
  void closed(ContentId content, LockOwner owner, const PastEvent& when);
  // Whether the owner has a lock on all of the range that others cannot have.
  bool isExclusive(const LockSubject& subject) const;

  // Descriptors that nothing has locked or unlocked by since others had their locks: the process
  // may have ended. Those others come with them.
  const std::map<InstanceId, std::vector<PastEvent>>& lost() const { return lost_; }

 private:
  template <typename Part>
  using Parts = std::map<std::uint64_t, Part>;  // of a file, by begin, apart from each other

  struct Holder {
    bool is_exclusive = false;
    PastEvent taken;
    InstanceId instance = kNoInstance;
  };
  struct Held {
    std::uint64_t end = 0;
    std::map<LockOwner, Holder> holders;
  };
  // Those who let go of a part of the file, and for whom later locks wait: an exclusive one for
  // all, a shared one for those who had it for themselves.
  struct Released {
    std::uint64_t end = 0;
    Crowd exclusive;
    Crowd shared;
  };
  struct Locks {
    Parts<Held> held;
    std::map<LockOwner, Range> reach;  // all that the owner has lies in there
    Parts<Released> released;          // bounded
  };
  enum class Was : std::uint8_t { kShared, kExclusive, kNotKnown };

  void waitForOthers(Locks& locks, const LockSubject& subject, bool is_exclusive,
                     const PastEvent& when);
  void loseToOthers(Locks& locks, const LockSubject& subject, bool is_exclusive,
                    const PastEvent& when);
  void letGo(Locks& locks, const LockSubject& subject, const PastEvent& when);
  static void hold(Locks& locks, const LockSubject& subject, const Holder& holder);
  static void release(Locks& locks, Range range, Was was, const PastEvent& when);

  Dependencies& dependencies_;
  std::map<std::pair<ContentId, LockKind>, Locks> locks_;
  std::map<InstanceId, std::vector<PastEvent>> lost_;
};

}  // namespace omnio::preprocess
