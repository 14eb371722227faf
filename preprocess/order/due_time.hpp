// When a step of a thread is due, as a rule that holds on any storage: the latest, over some
// earlier steps, of that step's end plus the work that lies behind it. Work is what the
// application did itself (computing) and what its communication took, without waiting for anybody.
//
// Rules are carried from call to call, so that a schedule has only steps that decide something: a
// message hands the sender's rule to the receiver, a barrier joins the rules of all.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/model/schedule.hpp"
#include "preprocess/order/dependencies.hpp"

namespace omnio::preprocess {

using model::Work;

// Steps that are not events of a thread, in EventRef::thread.
inline constexpr std::uint32_t kBeginning = std::numeric_limits<std::uint32_t>::max();
// A step made for many that wait for many (DueTerm's `sequence` is its number).
inline constexpr std::uint32_t kMeeting = kBeginning - 1;

// The end of a step, and the work behind it.
struct DueTerm {
  EventRef from;
  // Least time from the run's beginning to the end of `from` on storage that takes no time, and the
  // same along its own thread alone: by these a later step of the same thread covers an earlier.
  std::int64_t since_beginning_ns = 0;
  std::int64_t along_thread_ns = 0;
  Work work{};
  // Why the thread that this rule is of has to wait for it.
  model::Reason reason = model::Reason::kMpi;
};

class DueTime {
 public:
  // The beginning of the run.
  DueTime() : terms_{DueTerm{.from = {kBeginning, 0}}} {}
  explicit DueTime(const DueTerm& term) : terms_{term} {}

  void add(const Work& work);
  // Due when this and the others are: of two terms of one thread the one that covers the other
  // stays, both where neither does.
  void join(const DueTime& other) { join(std::vector<DueTerm>(other.terms_)); }
  void join(std::vector<DueTerm> others);
  // Gives all terms this reason.
  void setReason(model::Reason reason) {
    for (DueTerm& term : terms_) term.reason = reason;
  }
  // Drops the terms that `remove` holds for.
  template <typename Predicate>
  void removeIf(Predicate remove) {
    std::erase_if(terms_, remove);
  }

  // By thread and sequence; never empty.
  const std::vector<DueTerm>& terms() const { return terms_; }
  // The term of that step.
  const DueTerm* find(const EventRef& step) const;
  // Whether waiting for a step with this rule, and for `behind` more, is waiting for the term too.
  bool implies(const DueTerm& term, const Work& behind) const;
  // Least time from the run's beginning until it is due.
  std::int64_t sinceBeginning() const;

 private:
  std::vector<DueTerm> terms_;
};

}  // namespace omnio::preprocess
