// Finds out which events of a schedule wait for which. Edges are few: once a thread has waited for
// an event, it has waited for all that came before it in the other thread.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"
#include "core/base/interval_set.hpp"
#include "core/model/schedule.hpp"

namespace omnio::preprocess {

using base::IntervalSet;
using Range = base::ByteRange;

// An event of the trace: the n-th of a thread, by place in SourceThreads.
struct EventRef {
  std::uint32_t thread = 0;
  std::uint64_t sequence = 0;
};

// An event that happened, and when.
struct PastEvent {
  EventRef ref;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  // The step is a call of MPI-IO, and this one of those that a library made for it: in which order
  // these come, where such steps overlap, is the library's matter.
  bool is_below = false;
};
using ByThread = std::map<std::uint32_t, PastEvent>;  // the last event of each thread

// Whether `later` began when `earlier` was over. Calls that overlap are in no order by themselves.
inline bool isOver(const PastEvent& earlier, const PastEvent& later) {
  return earlier.end_ns <= later.start_ns;
}

// Events that others have to wait for. When very many wait for very many, they meet in a step of
// their own, so edges grow with the number of threads and not with its square.
class Crowd {
 public:
  void add(const PastEvent& event) { events_[event.ref.thread] = event; }
  void add(const Crowd& other);
  void clear() { *this = Crowd{}; }
  bool isEmpty() const { return events_.empty() && meetings_.empty(); }

 private:
  friend class Dependencies;
  ByThread events_;
  std::vector<std::uint64_t> meetings_;  // the steps that have waited for others that were here
};

// A step that issues no call, right before the event `before` of its thread.
struct FileMeeting {
  PastEvent before;
  std::uint64_t id = 0;
  std::vector<model::Wait> after;
};

// Whether results tell that the earlier of two calls that overlap came first.
enum class Overlap : std::uint8_t { kHasNoOrder, kIsOrdered };

class Dependencies {
 public:
  using Reason = model::Reason;

  // From now on nothing waits: for a schedule without an order (model::Order::kNone), so that no
  // edges are kept for it.
  void keepNone() { keeps_none_ = true; }

  // `later` conflicts with `earlier`, which took effect before. Makes an edge between two threads
  // when no other edge implies it. Two that ran at the same time get none, unless results tell
  // their order.
  void require(const PastEvent& later, const PastEvent& earlier, Reason reason = Reason::kFile,
               Overlap overlap = Overlap::kHasNoOrder);
  void require(const PastEvent& later, const ByThread& earlier, Reason reason = Reason::kFile);
  void require(const PastEvent& later, Crowd& earlier, Reason reason = Reason::kFile,
               Overlap overlap = Overlap::kHasNoOrder);
  // An edge to an id that is not of an event of the trace.
  void requireId(EventRef later, std::uint64_t id, Reason reason = Reason::kFile);
  std::uint64_t newId() {
    named_.emplace_back();
    return named_.size();
  }
  // Ids are 1 to this.
  std::uint64_t ids() const { return named_.size(); }
  // The event of that id; nothing when it is not of an event of the trace.
  const std::optional<EventRef>& named(std::uint64_t id) const { return named_[id - 1]; }
  // The id of the event, which gets one if it has none.
  std::uint64_t nameOf(EventRef event);
  // Takes the ids that the event waits for so far, for a step in front of it to wait for instead.
  std::vector<model::Wait> takeBefore(EventRef event);

  // Empty when the event does not wait.
  const std::vector<model::Wait>& before(EventRef event) const;
  // An event that waits.
  struct Waiting {
    std::uint64_t sequence = 0;
    const std::vector<model::Wait>* waits = nullptr;
  };
  // All of them, by thread, and by sequence in it: for those who go through threads event by event.
  // Good until the next change.
  std::vector<std::vector<Waiting>> waiting(std::size_t threads) const;
  bool hasWaiting() const { return !before_.empty(); }
  // Calls `action` with each event that waits, and its waits.
  template <typename Action>
  void forEachWaiting(Action action) const {
    for (const auto& [event, waits] : before_) action(event, waits);
  }
  // Takes all that there are.
  std::vector<FileMeeting> takeMeetings() { return std::exchange(meetings_, {}); }

  std::uint64_t edges() const { return edges_; }

 private:
  // Whether the thread of `later` has waited for that event already; from now on it has.
  bool isImplied(const PastEvent& later, const PastEvent& earlier);

  struct Hash {
    std::size_t operator()(const EventRef& ref) const {
      return base::mixed(ref.sequence, ref.thread);
    }
  };
  struct Equal {
    bool operator()(const EventRef& a, const EventRef& b) const {
      return a.thread == b.thread && a.sequence == b.sequence;
    }
  };

  bool keeps_none_ = false;
  std::vector<std::optional<EventRef>> named_;  // by id less 1
  std::uint64_t edges_ = 0;
  std::unordered_map<EventRef, std::uint64_t, Hash, Equal> ids_;
  std::unordered_map<EventRef, std::vector<model::Wait>, Hash, Equal> before_;
  // Later thread and earlier thread: one past the last event that was waited for.
  std::unordered_map<std::uint64_t, std::uint64_t> waited_;
  std::vector<FileMeeting> meetings_;
  // Threads that have waited for a meeting, by its id.
  std::unordered_map<std::uint64_t, std::unordered_set<std::uint32_t>> met_;
};

// Reads that have to wait for writes of other threads to the same bytes.
// Per file the ranges that each thread wrote, and by which event last. Bounded: of a thread that
// writes in many places, close ranges are taken together, which may make a read wait for a write
// beside the bytes it reads, but never lets it run ahead of one to them.
class DataConflicts {
 public:
  explicit DataConflicts(Dependencies& dependencies) : dependencies_(dependencies) {}

  void wrote(std::size_t content, Range range, const PastEvent& when);
  // Bytes from `size` on are gone: whoever reads there does not read what was written.
  void cut(std::size_t content, std::uint64_t size);
  // Returns whether a write that was over wrote the last byte of the range.
  bool reads(std::size_t content, Range range, const PastEvent& reader);

 private:
  struct Written {
    Range range;
    PastEvent last;
    // The one before it: when a read begins while the last is under way, this one is surely over.
    PastEvent before_last;
  };
  using Writer = std::vector<Written>;

  static void mergeClosest(Writer& writer);

  Dependencies& dependencies_;
  std::vector<std::map<std::uint32_t, Writer>> writers_;  // by content, and thread
};

}  // namespace omnio::preprocess
