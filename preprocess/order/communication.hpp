// The order of steps of a schedule that follows from communication between ranks, and the work of
// their own that lies before each. Takes the calls of all threads in an order in which no message
// is received before it was sent. All times are in ns of the trace. Nothing here fails.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/order/matched_events.hpp"
#include "core/tracefile/trace.hpp"
#include "preprocess/analysis.hpp"
#include "preprocess/analysis_progress.hpp"
#include "preprocess/order/dependencies.hpp"
#include "preprocess/order/due_time.hpp"
#include "preprocess/order/step_order.hpp"

namespace omnio::preprocess {

// Whether one of the steps, directly or by way of meetings, comes behind that event in its thread.
bool comeAfter(const std::vector<Predecessor>& steps, const EventRef& event,
               const Meetings& meetings);

class CommunicationOrder {
 public:
  // `recorder_ns` by thread: time that each recorded call adds behind it. Threads that the schedule
  // does not have come after those that it has. Times before `begin_ns`,
  // the first call of the schedule, do not count.
  CommunicationOrder(std::vector<std::int64_t> recorder_ns, std::int64_t begin_ns);

  // A call of the schedule.
  void operation(const EventRef& step, std::int64_t start_ns, std::int64_t end_ns);
  // The thread calls MPI. What others that wait for this call have to wait for is rule().
  void enter(std::uint32_t thread, std::int64_t at_ns);
  // Inside MPI: what comes next has to wait for that too, which came by in the recording at
  // `came_ns`. Until then the thread waited; its own work begins then.
  void waitFor(std::uint32_t thread, const DueTime& other, std::int64_t came_ns,
               model::Reason reason = model::Reason::kMpi);
  void leave(std::uint32_t thread, std::int64_t at_ns);
  // Waits for what came at `came_ns`, and goes on at `awake_ns`: the time between the two lies
  // behind what it waited for alone. Where it need not wait on another storage, it need not wake
  // up.
  void wakeUp(std::uint32_t thread, const DueTime& other, std::int64_t came_ns,
              std::int64_t awake_ns, model::Reason reason);
  // Outside of MPI: the thread's own work goes on to this time. What it waits for then follows by
  // waitFor().
  void reach(std::uint32_t thread, std::int64_t at_ns);
  // Behind what the thread did last, so long a time is the recorder's and not its own. Not beyond
  // `most_ns`.
  void leaveOut(std::uint32_t thread, std::int64_t length_ns, std::int64_t most_ns);
  // The thread goes on with its own work to `from_ns`. From there to `to_ns` it does nothing.
  void leaveOutBetween(std::uint32_t thread, std::int64_t from_ns, std::int64_t to_ns);
  // The rule of the thread as it is at that time, or after its last call where that is later.
  DueTime ruleAt(std::uint32_t thread, std::int64_t at_ns) const;
  // When the last call of the thread ended, or what it waited for came.
  std::int64_t lastOf(std::uint32_t thread) const { return threads_[thread].last_ns; }

  const DueTime& rule(std::uint32_t thread) const { return threads_[thread].rule; }
  // Takes away what a meeting in the rule has waited for, or a thread of a step in it before its
  // first step.
  void dropImplied(DueTime& rule) const;
  // Puts a step of its own into the thread, when its rule has more than `most` terms.
  void simplify(std::uint32_t thread, std::size_t most = kMostTerms);

  // By thread and sequence; only of steps that need it.
  const std::vector<StepOrders>& steps() const { return steps_; }
  const Meetings& meetings() const { return meetings_; }
  // The numbers of those in that thread.
  const std::vector<std::uint64_t>& meetingsOf(std::uint32_t thread) const {
    return threads_[thread].meetings;
  }

 private:
  static constexpr std::size_t kMostTerms = 16;
  static constexpr std::size_t kMostTermsKept = std::size_t{1} << 18;
  struct Thread {
    DueTime rule;
    EventRef last{kBeginning, 0};  // step of the thread
    DueTime last_rule;             // what `last` waited for
    DueTime first_rule;            // the same of its first step
    std::int64_t first_along_ns = 0;
    bool waited_to_begin = false;  // for steps of other threads
    bool has_step = false;
    std::int64_t last_event = -1;
    std::int64_t along_ns = 0;
    std::int64_t last_ns = 0;
    std::int64_t recorder_ns = 0;
    bool in_mpi = false;
    bool communicated = false;  // since the last step
    std::vector<std::uint64_t> meetings;
  };
  void advance(Thread& thread, std::int64_t to_ns);
  // Takes the rule of the thread's next step apart; leaves the thread behind that step.
  void step(Thread& thread, const EventRef& ref, Work& own, std::vector<Predecessor>& after);

  std::int64_t begin_ns_;
  std::vector<Thread> threads_;
  // The rule of that meeting; nullptr where it is too long ago.
  const DueTime* ruleOfMeeting(std::uint64_t number) const;
  void keepRule(const DueTime& rule);

  std::vector<StepOrders> steps_;
  Meetings meetings_;
  // The rules of the latest meetings. A thread's rule names an older one only where the thread has
  // not communicated for long, and then keeps a term more than it needs.
  std::deque<DueTime> latest_rules_;
  std::size_t latest_terms_ = 0;  // of these together
};

struct Communication {
  CommunicationOrder order;
  std::uint64_t events = 0;     // MPI calls that order ranks
  std::uint64_t unmatched = 0;  // of these, such whose counterpart is missing
  // Calls among these that may have waited for it, and that a call of the schedule follows in their
  // thread: how much of the time before that was waiting is not known.
  std::uint64_t unmatched_waits = 0;
  // Calls that seem to have ended before what they waited for began, since the clocks of two hosts
  // differ: the delay between the two counts as 0. And by how much at most.
  std::uint64_t early = 0;
  std::int64_t early_most_ns = 0;
  // Calls of the schedule that were read, and events of its processes that could not be: as in the
  // first pass, unless one of the two could not read all.
  std::uint64_t steps = 0;
  std::uint64_t undecodable = 0;
};

// The second pass over a trace: its MPI calls and the calls of the schedule together, thread by
// thread as far as messages and collective calls allow. Leaves out the calls that the first pass
// drops. It follows that pass where it goes on in another thread (`shown` is kNone then).
Communication readCommunication(const tracefile::Trace& trace, const SourceThreads& sources,
                                AnalysisProgress& analysis, event::IoLayer layer,
                                order::PictureProgress shown);

}  // namespace omnio::preprocess
