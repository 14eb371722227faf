// Puts the calls of all threads into an order in which they can have taken effect. A call takes
// effect at some moment between its start and its end. Where calls of several threads overlap,
// their results say which came first: mkdir fails with EEXIST after another one has succeeded, and
// a short read comes before the write that makes the file longer.
//
// The order keeps that of each thread, and a call that ended before another one began comes before
// it. All waits that preprocess makes for the sake of files lead from earlier to later calls of
// this one order, so they cannot form a circle.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event/event.hpp"
#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

// A name, the size of a file, or how many names a directory has. The caller chooses the numbers; 0
// is none.
using Subject = std::uint64_t;

// A statement that the result of a call makes about the moment at which it took effect.
struct Claim {
  enum class Kind : std::uint8_t { kThere, kAbsent, kSizeIs, kSizeAtLeast, kSizeAtMost };
  Subject subject = 0;
  Kind kind = Kind::kThere;
  std::uint64_t size = 0;  // bytes
  Subject or_absent = 0;   // the claim also holds when this name is absent
};

// The effect of a call on a name or a size.
struct Change {
  enum class Kind : std::uint8_t { kMakes, kRemoves, kSetsSize, kReachesSize, kAddsSize };
  Subject subject = 0;
  Kind kind = Kind::kMakes;
  std::uint64_t size = 0;  // bytes; a number that is added may be negative, modulo 2^64
};

struct Evidence {
  std::vector<Claim> claims;
  std::vector<Change> changes;

  bool isEmpty() const { return claims.empty() && changes.empty(); }
  void clear() {
    claims.clear();
    changes.clear();
  }
};

enum class Truth : std::uint8_t { kNo, kUnknown, kYes };

// The names and sizes at one moment, as the calls that were taken so far left them.
class FileScene {
 public:
  FileScene() = default;
  FileScene(const FileScene&) = delete;
  FileScene& operator=(const FileScene&) = delete;
  virtual ~FileScene() = default;

  // Adds what the call says and changes; nothing when it tells nothing.
  virtual void gather(const event::Event& event, std::uint32_t thread, Evidence& evidence) = 0;
  virtual Truth holds(const Claim& claim) const = 0;
  // Whether the claim would hold if the change, which is of the same subject, came next.
  virtual bool holdsAfter(const Claim& claim, const Change& change) const = 0;
  // The call takes effect now.
  virtual void take(const event::Event& event, EventRef ref) = 0;
};

class EffectOrder {
 public:
  // One source by thread. They and the scene outlive this.
  EffectOrder(FileScene& scene, std::vector<std::unique_ptr<event::EventSource>> sources);

  // Hands all events to the scene. Needs time linear in the events and, where calls overlap and
  // disagree, in those that do. Holds one event a thread.
  void run();
  // When the first event began, in ns; before run(). 0 when there is none.
  std::int64_t firstStart() const;
  // While it runs: whether the thread has no call left.
  bool isOver(std::uint32_t thread) const { return heads_[thread].event == nullptr; }
  // After run().
  event::ThinkTime thinkTime(std::size_t thread) const {
    return heads_[thread].source->thinkTime();
  }
  std::uint64_t undecodable(std::size_t thread) const {
    return heads_[thread].source->undecodable();
  }

 private:
  struct Head {
    std::unique_ptr<event::EventSource> source;
    const event::Event* event = nullptr;  // the next of the thread
    std::uint64_t sequence = 0;           // of it
    std::int64_t end_ns = 0;              // of it
    bool is_pending = false;              // it has begun, and did not yet take effect
    bool is_being_settled = false;
    Evidence evidence;
  };
  using Start = std::pair<std::int64_t, std::uint32_t>;
  using End = std::pair<std::int64_t, std::uint32_t>;

  void pull(std::uint32_t thread);
  // The pending call that ends first; nothing when there is none.
  std::optional<End> firstEnd();
  void begin(std::uint32_t thread);
  bool agrees(const Evidence& evidence) const;
  void hold(std::uint32_t thread);
  void letGo(std::uint32_t thread);
  void settle(std::uint32_t thread);
  void settleBroken(std::uint32_t thread);
  void settleMissing(std::uint32_t thread);
  bool mayComeLater(std::uint32_t thread, std::uint32_t changer, const Claim& claim) const;
  bool leadsTo(const Change& change, const Claim& claim) const;
  void apply(std::uint32_t thread);
  void takeThoseThatAgree(const std::vector<Change>& changes);

  FileScene& scene_;
  std::vector<Head> heads_;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts_;
  // Ends of pending calls, and of some that are over; the earliest comes first.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::size_t pending_ = 0;
  // Pending threads, in order, by what they claim, and by what they change. Those of a subject that
  // has none now keep their memory: the next call on it comes soon.
  using BySubject = std::unordered_map<Subject, std::vector<std::uint32_t>>;
  static void remember(BySubject& held, Subject subject, std::uint32_t thread);
  static void forget(BySubject& held, Subject subject, std::uint32_t thread);
  BySubject claiming_;
  BySubject changing_;
  std::vector<Change> spare_;  // memory for the next changes
};

}  // namespace omnio::preprocess
