// Two parts: CommunicationOrder keeps the rule by which the next step of each thread is due; Sweep
// walks over calls, MPI events, processes and waits of threads by time, and says who waited for
// whom. The sweep is one class, and long, since each of its steps changes what all others look at:
// where each thread is, which calls are under way, and who goes on next. Matching and the tree of
// processes stand alone, in core/order.
#include "preprocess/order/communication.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/integers.hpp"
#include "core/calls/role.hpp"
#include "core/order/matched_event.hpp"
#include "core/order/process_tree.hpp"
#include "preprocess/process_places.hpp"

namespace omnio::preprocess {

namespace {

constexpr int kMostMeetings = 8;  // one behind the other

bool comeAfter(const std::vector<Predecessor>& steps, const EventRef& event,
               const Meetings& meetings, int depth) {
  return std::any_of(steps.begin(), steps.end(), [&](const Predecessor& before) {
    const EventRef& step = before.step;
    if (step.thread != kMeeting) {
      return step.thread == event.thread && step.sequence >= event.sequence;
    }
    return (meetings.threadOf(step.sequence) == event.thread &&
            meetings.behindOf(step.sequence) >= static_cast<std::int64_t>(event.sequence)) ||
           (depth > 0 && comeAfter(meetings.at(step.sequence).after, event, meetings, depth - 1));
  });
}

}  // namespace

bool comeAfter(const std::vector<Predecessor>& steps, const EventRef& event,
               const Meetings& meetings) {
  return comeAfter(steps, event, meetings, kMostMeetings);
}

CommunicationOrder::CommunicationOrder(std::vector<std::int64_t> recorder_ns, std::int64_t begin_ns)
    : begin_ns_(begin_ns), threads_(recorder_ns.size()), steps_(recorder_ns.size()) {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].recorder_ns = recorder_ns[i];
    threads_[i].last_ns = begin_ns;
  }
}

void CommunicationOrder::advance(Thread& thread, std::int64_t to_ns) {
  const std::int64_t gap = to_ns - thread.last_ns;
  if (gap <= 0) return;
  thread.rule.add(thread.in_mpi ? Work{.communication_ns = gap} : Work{.compute_ns = gap});
  thread.last_ns = to_ns;
}

void CommunicationOrder::dropImplied(DueTime& rule) const {
  if (rule.terms().size() == 1) return;
  std::vector<DueTerm> meetings;
  std::vector<DueTerm> begun;
  for (const DueTerm& term : rule.terms()) {
    if (term.from.thread == kMeeting) {
      meetings.push_back(term);
    } else if (term.from.thread != kBeginning && threads_[term.from.thread].waited_to_begin) {
      begun.push_back(term);
    }
  }
  if (!begun.empty()) {
    rule.removeIf([&](const DueTerm& term) {
      return std::any_of(begun.begin(), begun.end(), [&](const DueTerm& later) {
        const Thread& thread = threads_[later.from.thread];
        const Work behind{.compute_ns = later.along_thread_ns - thread.first_along_ns};
        return term.from.thread != later.from.thread &&
               thread.first_rule.implies(term, behind + later.work);
      });
    });
  }
  if (meetings.empty() || rule.terms().size() == 1) return;
  rule.removeIf([&](const DueTerm& term) {
    return std::any_of(meetings.begin(), meetings.end(), [&](const DueTerm& meeting) {
      const bool is_itself =
          term.from.thread == kMeeting && term.from.sequence == meeting.from.sequence;
      if (is_itself) return false;
      const DueTime* const rule = ruleOfMeeting(meeting.from.sequence);
      return rule != nullptr && rule->implies(term, meeting.work);
    });
  });
}

void CommunicationOrder::step(Thread& thread, const EventRef& ref, Work& own,
                              std::vector<Predecessor>& after) {
  const DueTime rule = std::exchange(thread.rule, DueTime{});
  const DueTerm* const last = rule.find(thread.last);
  if (last != nullptr) own = last->work;
  for (const DueTerm& term : rule.terms()) {
    if (&term == last) continue;
    if (last != nullptr && thread.last_rule.implies(term, last->work)) continue;
    after.push_back({term.from, term.work, term.reason});
  }
  thread.along_ns += own.total();
  thread.rule = DueTime(DueTerm{.from = ref,
                                .since_beginning_ns = rule.sinceBeginning(),
                                .along_thread_ns = thread.along_ns,
                                .work = {}});
  thread.last = ref;
  thread.last_rule = rule;
  if (!std::exchange(thread.has_step, true)) {
    thread.first_along_ns = thread.along_ns;
    const auto& terms = rule.terms();
    thread.waited_to_begin = std::any_of(terms.begin(), terms.end(), [](const DueTerm& term) {
      return term.from.thread != kBeginning;
    });
    if (thread.waited_to_begin) thread.first_rule = rule;
  }
}

void CommunicationOrder::operation(const EventRef& ref, std::int64_t start_ns,
                                   std::int64_t end_ns) {
  Thread& thread = threads_[ref.thread];
  advance(thread, start_ns);
  StepOrder order{.sequence = ref.sequence, .own = {}, .after = {}};
  step(thread, ref, order.own, order.after);
  if (!order.after.empty() || thread.communicated) steps_[ref.thread].add(order);
  // An operation inside of MPI is followed by communication.
  thread.communicated = thread.in_mpi;
  thread.last_event = static_cast<std::int64_t>(ref.sequence);
  thread.last_ns = std::max(thread.last_ns, end_ns + thread.recorder_ns);
}

void CommunicationOrder::enter(std::uint32_t place, std::int64_t at_ns) {
  Thread& thread = threads_[place];
  advance(thread, at_ns);
  thread.in_mpi = thread.communicated = true;
}

void CommunicationOrder::waitFor(std::uint32_t place, const DueTime& other, std::int64_t came_ns,
                                 model::Reason reason) {
  Thread& thread = threads_[place];
  DueTime awaited = other;
  awaited.setReason(reason);
  thread.rule.join(awaited);
  dropImplied(thread.rule);
  thread.last_ns = std::max(thread.last_ns, came_ns);
}

void CommunicationOrder::wakeUp(std::uint32_t place, const DueTime& other, std::int64_t came_ns,
                                std::int64_t awake_ns, model::Reason reason) {
  Thread& thread = threads_[place];
  std::vector<DueTerm> later;
  for (DueTerm term : other.terms()) {
    if (thread.rule.implies(term, {})) continue;
    term.work = term.work + Work{.compute_ns = awake_ns - came_ns};
    term.reason = reason;
    later.push_back(term);
  }
  if (!later.empty()) {
    thread.rule.join(std::move(later));
    dropImplied(thread.rule);
  }
  thread.last_ns = std::max(thread.last_ns, awake_ns);
}

void CommunicationOrder::leave(std::uint32_t place, std::int64_t at_ns) {
  Thread& thread = threads_[place];
  advance(thread, at_ns);
  thread.in_mpi = false;
  thread.last_ns = std::max(thread.last_ns, at_ns + thread.recorder_ns);
  simplify(place);
}

void CommunicationOrder::reach(std::uint32_t place, std::int64_t at_ns) {
  advance(threads_[place], at_ns);
  threads_[place].communicated = true;
}

void CommunicationOrder::leaveOut(std::uint32_t place, std::int64_t length_ns,
                                  std::int64_t most_ns) {
  Thread& thread = threads_[place];
  if (length_ns <= 0 || most_ns <= thread.last_ns) return;
  thread.last_ns += std::min(length_ns, most_ns - thread.last_ns);
  thread.communicated = true;
}

void CommunicationOrder::leaveOutBetween(std::uint32_t place, std::int64_t from_ns,
                                         std::int64_t to_ns) {
  Thread& thread = threads_[place];
  advance(thread, std::min(from_ns, to_ns));
  thread.last_ns = std::max(thread.last_ns, to_ns);
}

DueTime CommunicationOrder::ruleAt(std::uint32_t place, std::int64_t at_ns) const {
  DueTime rule = threads_[place].rule;
  const std::int64_t gap = at_ns - threads_[place].last_ns;
  if (gap > 0) rule.add({.compute_ns = gap});
  return rule;
}

void CommunicationOrder::simplify(std::uint32_t place, std::size_t most) {
  Thread& thread = threads_[place];
  if (thread.rule.terms().size() <= most) return;
  Meeting meeting{.thread = place,
                  .behind = thread.last_event,
                  .at_ns = std::max(thread.last_ns, begin_ns_),
                  .own = {},
                  .after = {}};
  const EventRef ref{kMeeting, meetings_.count()};
  step(thread, ref, meeting.own, meeting.after);
  thread.meetings.push_back(meetings_.count());
  keepRule(thread.last_rule);
  meetings_.add(meeting);
}

const DueTime* CommunicationOrder::ruleOfMeeting(std::uint64_t number) const {
  const std::uint64_t first = meetings_.count() - latest_rules_.size();
  return number < first ? nullptr : &latest_rules_[number - first];
}

void CommunicationOrder::keepRule(const DueTime& rule) {
  latest_rules_.push_back(rule);
  latest_terms_ += rule.terms().size();
  while (latest_terms_ > kMostTermsKept && latest_rules_.size() > 1) {
    latest_terms_ -= latest_rules_.front().terms().size();
    latest_rules_.pop_front();
  }
}

namespace {

using order::MatchedEvent;
using order::MpiEventRef;
using order::MpiOperation;
using order::OperationKind;
using order::Part;

// An MPI call of the application: the n-th of its thread.
struct CallKey {
  mpi::ProcessIndex process = 0;
  std::uint32_t thread = 0;
  std::uint64_t number = 0;
  bool operator==(const CallKey&) const = default;
};
struct CallKeyHash {
  std::size_t operator()(const CallKey& key) const {
    return base::mixed(key.number, (std::uint64_t{key.process} << 32) | key.thread);
  }
};
CallKey keyOf(const MpiEventRef& ref) { return {ref.process, ref.thread, ref.number}; }

// Another call that this one may have to wait for before it ends.
struct Need {
  CallKey call;
  // Otherwise it is only over for the other call that this one is done with it.
  bool is_awaited = true;
  // This call is the only one that will ask for the other's rule by this need.
  bool is_counted = true;
  // It gets a large message, which may have come only when the sender was in MPI again.
  bool is_large = false;
};

struct Gathering;

// An MPI call while something may still have to know of it.
struct Call {
  std::uint32_t place = 0;  // thread, in SourceThreads
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool can_wait = false;  // it may not end before others come
  bool is_entered = false;
  bool is_settled = false;
  bool is_left = false;
  bool has_operations = false;  // its thread made calls of the schedule inside of it
  int users = 0;  // calls that still will ask for its rule; may be below 0 until it is settled
  DueTime rule;   // when it is entered
  std::int64_t came_ns = 0;  // the last that it waited for; start_ns when it did not wait
  // It begins a large send and goes on. Its thread may have to enter MPI again for the data to go:
  // when it did, and the rule then; the last times until the send was complete.
  struct Again {
    std::int64_t at_ns = 0;
    std::shared_ptr<const DueTime> rule;
  };
  bool is_send_begun = false;
  std::vector<Again> again;
  std::vector<CallKey> completes;  // such sends
  std::vector<Need> needs;
  struct Member {
    std::shared_ptr<Gathering> gathering;
    bool is_waiting = false;  // it cannot end before the others have come
    bool is_arrival = false;  // it began the operation too, and so did nothing in between
    bool has_joined = false;
  };
  std::vector<Member> member_of;                       // collective calls that it ends
  std::vector<std::shared_ptr<Gathering>> arrives_at;  // collective calls that wait for it
  std::vector<std::uint32_t> stalled;                  // threads that wait until it is entered
};

// A collective call: who has come, and what those that leave have to wait for.
struct Gathering {
  std::vector<CallKey> arrivals;
  std::size_t absent = 0;        // of the arrivals that others wait for
  std::size_t not_left = 0;      // members
  std::int64_t complete_ns = 0;  // when the last one came that others wait for
  std::vector<CallKey> awaited;  // whose rules are joined
  bool is_joined = false;
  DueTime rule;
  std::vector<std::uint32_t> stalled;
  // Calls that threads made inside of it, such as the writes of the ranks that collect data, by
  // their end; the latest few of each thread.
  struct Inner {
    std::int64_t end_ns = 0;
    EventRef step;
    DueTime rule;
  };
  std::vector<Inner> inner;
  std::size_t inner_threads = 0;  // that the last look found; a bound for how many are kept
  // Where a member would wait for very many of these, it waits for a rule that all such members
  // share. The rule covers the first `shared` of `inner`.
  std::size_t shared = 0;
  DueTime shared_rule;
  // It moves so little that its members need no more than some us for it.
  bool is_small = false;
  // By node: when the first member that had left it came to its storage. Who stayed until then,
  // though all had come, had no processor: that member had it.
  std::map<std::size_t, std::int64_t> yielded;
  // The first open of each file, and whether another member opened it without waiting for that.
  struct Maker {
    Inner open;
    bool is_contested = false;
  };
  std::unordered_map<event::FileId, Maker> makers;
};
// Of one thread, and of the entries behind one of them.
constexpr std::size_t kMostSendsBegun = 64;
constexpr std::size_t kMostEntriesKept = 8;
constexpr std::size_t kInnerKept = 4;
// A member that leaves waits for up to so many threads by an edge each, found among so many of the
// latest calls inside.
constexpr std::size_t kMostInner = 8;
constexpr std::ptrdiff_t kMostLooked = 64;
// A rule of more terms becomes a step of its own, for others to wait for.
constexpr std::size_t kMostShared = 4;
// The same where that step makes more wait than had to: behind what a thread did since it began a
// nonblocking call, or since it came.
constexpr std::size_t kMostUnshared = 64;
// A collective call of so many bytes is small. So many are what a stream keeps in memory, too.
constexpr std::uint64_t kSmall = 4096;
// More calls than this wait for others only where something is missing: then some go on.
constexpr std::size_t kMostCalls = 1'000'000;

// An object by which threads of a process wait for each other (core/calls/threads.def), with the
// rule that the next thread to take it has to wait for.
struct Object {
  std::uint32_t giver = 0;  // place of the thread that gave it last
  std::int64_t given_ns = std::numeric_limits<std::int64_t>::max();  // never
  DueTime rule;
  bool has_posts = false;  // of a semaphore, which no thread has taken yet: the rule is of them all
  // The threads that meet at a barrier. One that comes when another has left is of the next turn.
  struct Turn {
    std::int64_t left_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t complete_ns = 0;
    std::vector<std::uint32_t> done;  // with their parts of a team's work; not with tasks behind it
    DueTime rule;
  };
  std::shared_ptr<Turn> turn;
};

// Whether the call may wait for storage, and leave its processor to others: not so where a stream
// or a position in memory changes alone.
bool mayYield(const event::Event& event) {
  const calls::Class what = event.row->call_class;
  if (what == calls::Class::kSeek) return false;
  const bool moves = what == calls::Class::kRead || what == calls::Class::kWrite;
  return event.row->api != calls::Api::kStdio || !moves || event.bytes >= kSmall;
}

bool isWait(const event::Event* event) {
  return event != nullptr && event->row->api == calls::Api::kThreads;
}

class Sweep : public order::MpiPictureSink {
 public:
  // `slack_ns`: how far the clocks of two hosts may be apart.
  Sweep(const SourceThreads& sources, const ProcessPlaces& processes, AnalysisProgress& analysis,
        const mpi::MpiGroups& groups, std::int64_t slack_ns, event::IoLayer layer,
        Communication& result)
      : processes_(processes),
        sources_(sources),
        analysis_(analysis),
        groups_(groups),
        slack_ns_(slack_ns),
        layer_(layer),
        result_(result) {
    for (std::uint32_t place = 0; place < sources.threads.size(); ++place) {
      const SourceThread& thread = sources.threads[place];
      Thread& own = threads_.emplace_back();
      own.events =
          thread.open(paths_, {.layer = layer, .thread_waits = true, .is_progress = false});
      for (const tracefile::Log* lane : thread.lanes) {
        places_[{static_cast<mpi::ProcessIndex>(thread.process_index), lane->thread}] = place;
      }
      threads_of_[thread.process_index].push_back(place);
      pull(place);
    }
    threads_.resize(processes.places.size());
    for (std::uint32_t place = 0; place < threads_.size(); ++place) {
      threads_[place].is_begun =
          !processes.places[place].is_started && processes.places[place].before.empty();
      push(place);
    }
  }

  void seen(std::uint64_t, const MpiEventRef& ref, const event::Event& event) override {
    const auto place = places_.find({ref.process, ref.thread});
    if (place == places_.end() || isOnlyStep(place->second, event) ||
        ref.row->sync == calls::Sync::kNone) {
      return;
    }
    Call& call = calls_[keyOf(ref)];
    call.place = place->second;
    call.start_ns = ref.start_ns;
    call.end_ns = std::max(ref.end_ns, ref.start_ns);
    call.came_ns = call.start_ns;
    // The request of a matched probe is a message that it found.
    const bool goes_on = calls::has(*ref.row, calls::Role::kRequest) &&
                         !calls::has(*ref.row, calls::Role::kGot) &&
                         event::argumentOf(event, calls::Role::kRequest) != 0;
    const calls::Sync sync = ref.row->sync;
    call.can_wait = !goes_on && sync != calls::Sync::kStart;
    const bool begins_send =
        goes_on && (sync == calls::Sync::kSend || sync == calls::Sync::kSyncSend);
    const auto bytes = static_cast<std::uint64_t>(event::argumentOf(event, calls::Role::kSize));
    call.is_send_begun =
        sync == calls::Sync::kStart || (begins_send && bytes >= order::kMayWaitForReceiver);
    Thread& thread = threads_[call.place];
    const bool was_idle = thread.calls.empty();
    thread.calls.push_back(keyOf(ref));
    if (was_idle) push(call.place);
    seen_ns_ = ref.start_ns;
    run();
    if (calls_.size() > kMostCalls) goOn();
  }

  void settled(const MatchedEvent& event) override {
    if (event.event.row->sync == calls::Sync::kNone) return;
    const CallKey key = keyOf(event.event);
    const auto found = calls_.find(key);
    if (found == calls_.end()) return;
    ++result_.events;
    if (!event.matched()) {
      ++result_.unmatched;
      if (found->second.can_wait) ++threads_[found->second.place].unmatched_waits;
    }
    found->second.came_ns = event.event.start_ns + event.waited_ns.value_or(0);
    if (event.early_ns > 0) {
      ++result_.early;
      result_.early_most_ns = std::max(result_.early_most_ns, event.early_ns);
    }
    for (const order::EventPart& part : event.parts) take(*part.operation, part.part, event, key);
    found->second.is_settled = true;
    push(found->second.place);
    if (found->second.is_left) release(found->second);
    dismiss(key);
    run();
  }

  // All events have been settled.
  void finish() {
    seen_ns_ = std::numeric_limits<std::int64_t>::max();
    run();
    // Clocks that could not be put right may make calls wait for each other in a circle.
    while (goOn()) run();
    for (std::uint32_t place = 0; place < sources_.threads.size(); ++place) {
      while (threads_[place].event != nullptr) pull(place);
      result_.steps += threads_[place].sequence;
    }
  }

 private:
  // Whether the call is a step of the schedule and orders ranks by itself there: one of MPI-IO, or
  // one that waits for requests of it alone.
  bool isOnlyStep(std::uint32_t place, const event::Event& event) {
    if (layer_ != event::IoLayer::kMpi) return false;
    event::IoRequests& requests = threads_[place].requests;
    return requests.take(event) && !requests.hasOthers();
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  struct Thread {
    std::unique_ptr<event::EventSource> events;
    const event::Event* event = nullptr;  // the next call of the schedule
    std::uint64_t sequence = 0;           // its own
    event::IoRequests requests;           // of MPI-IO, as far as they have been seen
    std::deque<CallKey> calls;            // MPI calls that are not left
    bool is_inside = false;               // of the first of these
    std::vector<CallKey> sends;           // large ones that have begun and are not complete
    std::shared_ptr<Gathering> left;      // small, and the thread's last call
    bool is_waiting = false;              // inside of `event`, which waits for another thread
    std::shared_ptr<Object::Turn> turn;   // that it waits for
    bool is_begun = true;                 // its process has been started, or become this program
    std::size_t next_step = 0;            // of its processes
    std::uint64_t unmatched_waits = 0;    // since its last call of the schedule
    std::vector<std::uint32_t> stalled;   // threads that wait until it has gone on
  };

  void pull(std::uint32_t place) {
    Thread& thread = threads_[place];
    // Steps of a schedule are counted without the calls by which threads wait for each other.
    if (thread.event != nullptr && !isWait(thread.event)) ++thread.sequence;
    thread.event = thread.events->next();
  }

  // When the thread's next step is; kNever when none is known.
  std::int64_t timeOf(std::uint32_t place) const {
    const Thread& thread = threads_[place];
    std::int64_t time = std::min(eventTimeOf(thread), stepTimeOf(place));
    if (!thread.is_begun && !processes_.places[place].before.empty()) {
      time = std::min(time, processes_.places[place].begin_ns);
    }
    if (!thread.calls.empty()) {
      const Call& call = calls_.at(thread.calls.front());
      time = std::min(time, thread.is_inside ? call.end_ns : call.start_ns);
    }
    return time;
  }

  static std::int64_t eventTimeOf(const Thread& thread) {
    if (thread.event == nullptr) return kNever;
    return thread.is_waiting ? std::max(thread.event->end_ns, thread.event->start_ns)
                             : thread.event->start_ns;
  }

  // When the next step of its processes is.
  std::int64_t stepTimeOf(std::uint32_t place) const {
    const auto& steps = processes_.places[place].steps;
    const std::size_t next = threads_[place].next_step;
    return next == steps.size() ? kNever : steps[next].at_ns();
  }

  // Lets the earliest thread go on without what it waits for. False when all are at their ends.
  bool goOn() {
    std::uint32_t first = kNone;
    for (std::uint32_t place = 0; place < threads_.size(); ++place) {
      if (timeOf(place) < (first == kNone ? kNever : timeOf(first))) first = place;
    }
    if (first == kNone) return false;
    process(first, true);
    push(first);
    wake(threads_[first].stalled);
    return true;
  }

  void push(std::uint32_t place) {
    const std::int64_t time = timeOf(place);
    if (time != kNever) heap_.emplace(time, place);
  }

  void wake(std::vector<std::uint32_t>& threads) {
    for (const std::uint32_t place : std::exchange(threads, {})) push(place);
  }

  // Goes on with all threads until more of the trace has to be known.
  void run() {
    while (!heap_.empty() && heap_.top().first < seen_ns_) {
      const auto [time, place] = heap_.top();
      heap_.pop();
      if (timeOf(place) != time) continue;  // it went on meanwhile
      if (!process(place, false)) continue;
      push(place);
      wake(threads_[place].stalled);
    }
  }

  // The thread's next step. False when something else has to come first; then the thread is woken
  // when it has. `anyway`: nothing else will come.
  bool process(std::uint32_t place, bool anyway) {
    Thread& thread = threads_[place];
    if (!thread.is_begun) return begin(place, anyway);
    const CallKey key = thread.calls.empty() ? CallKey{} : thread.calls.front();
    Call* const call = thread.calls.empty() ? nullptr : &calls_.at(key);
    const std::int64_t call_ns = call == nullptr    ? kNever
                                 : thread.is_inside ? call->end_ns
                                                    : call->start_ns;
    const std::int64_t event_ns = eventTimeOf(thread);
    if (const std::int64_t step_ns = stepTimeOf(place);
        step_ns != kNever && step_ns <= std::min(event_ns, call_ns)) {
      return processStep(place, anyway);
    }
    if (event_ns < call_ns) {
      if (isWait(thread.event)) return wait(place, anyway);
      // Only now, since the first pass may have just come by the call.
      if (analysis_.isDropped({place, thread.sequence})) {
        pull(place);
        return true;
      }
      return operation(place, thread.is_inside ? call : nullptr, anyway);
    }
    if (call == nullptr) return false;
    if (!thread.is_inside) {
      enter(place, key, *call);
      return true;
    }
    return leave(place, key, *call, anyway);
  }

  // Whether these have nothing more to do before `at_ns`; `place` is woken when one has gone on.
  bool haveReached(const std::vector<std::uint32_t>& places, std::int64_t at_ns,
                   std::uint32_t place) {
    for (const std::uint32_t other : places) {
      if (other == place || timeOf(other) > at_ns) continue;
      threads_[other].stalled.push_back(place);
      return false;
    }
    return true;
  }

  // A call by which the thread waits for others of its process, or lets them go on: its beginning,
  // and then its end.
  bool wait(std::uint32_t place, bool anyway) {
    Thread& thread = threads_[place];
    const event::Event& event = *thread.event;
    const std::int64_t end_ns = eventTimeOf(thread);
    if (!thread.is_waiting) result_.order.leaveOut(place, event.recorder_ns, event.start_ns);
    if (event.row->sync == calls::Sync::kGive) {
      give(place, objectOf(place, event, calls::Role::kObject));
      if (Object* const mutex = mutexOf(place, event)) give(place, *mutex);
    } else if (event.row->sync == calls::Sync::kArrive) {
      arrive(place, objectOf(place, event, calls::Role::kObject));
    } else if (!std::exchange(thread.is_waiting, true)) {
      if (event.row->sync == calls::Sync::kMeet) {
        Object& object = objectOf(place, event, calls::Role::kObject);
        arrive(place, object);
        object.turn->left_ns = std::min(object.turn->left_ns, event.end_ns);
        thread.turn = object.turn;
      }
      return true;
    } else {
      const auto& others = threads_of_.at(sources_.threads[place].process_index);
      if (!haveReached(others, end_ns - 1, place) && !anyway) return false;
      result_.order.reach(place, event.start_ns);
      if (thread.turn != nullptr) {
        joinTurn(place, *std::exchange(thread.turn, nullptr));
      } else {
        take(place, event, end_ns);
      }
    }
    thread.is_waiting = false;
    pull(place);
    return true;
  }

  Object& objectAt(std::uint32_t place, std::uint64_t address) {
    return objects_[{sources_.threads[place].process_index, address}];
  }
  Object& objectOf(std::uint32_t place, const event::Event& event, calls::Role role) {
    return objectAt(place, static_cast<std::uint64_t>(event::argumentOf(event, role)));
  }
  // The changes that signals under a mutex tell of, of the call's own or a condition's mutex;
  // nullptr when it has none. Mutexes are at even addresses.
  Object* mutexOf(std::uint32_t place, const event::Event& event) {
    const bool is_mutex = event.row->plain == calls::CallId::pthread_mutex_lock;
    const calls::Role role = is_mutex ? calls::Role::kObject : calls::Role::kMutex;
    const auto address = calls::has(*event.row, role)
                             ? static_cast<std::uint64_t>(event::argumentOf(event, role))
                             : 0;
    return address == 0 ? nullptr : &objectAt(place, address | 1);
  }

  void give(std::uint32_t place, Object& object) {
    const event::Event& event = *threads_[place].event;
    const bool is_post = event.row->plain == calls::CallId::sem_post;
    DueTime rule = result_.order.ruleAt(place, event.start_ns);
    if (object.has_posts && is_post) {
      if (object.giver != place) object.giver = kNone;
      object.rule.join(rule);
    } else {
      object.giver = place;
      object.rule = std::move(rule);
    }
    object.given_ns = event.start_ns;
    object.has_posts = is_post;
  }

  void take(std::uint32_t place, const event::Event& event, std::int64_t end_ns) {
    Object& object = objectOf(place, event, calls::Role::kObject);
    Object* const mutex = mutexOf(place, event);
    // Without a mutex it is a semaphore, which may have been given at any time before. Others wake
    // only threads that wait.
    const bool is_awaited = mutex == nullptr || object.given_ns >= event.start_ns;
    if (is_awaited && !event.failed) takeObject(place, object, event.start_ns, end_ns);
    if (mutex != nullptr) takeObject(place, *mutex, event.start_ns, end_ns);
    if (calls::has(*event.row, calls::Role::kMutex)) {
      // The thread that told of the change may have gone on before it unlocked the mutex.
      Object& lock = objectOf(place, event, calls::Role::kMutex);
      if (lock.given_ns >= event.start_ns) takeObject(place, lock, event.start_ns, end_ns);
    }
  }

  void takeObject(std::uint32_t place, Object& object, std::int64_t start_ns, std::int64_t end_ns) {
    if (object.given_ns > end_ns || object.giver == place) return;
    object.has_posts = false;
    waitUntilAwake(place, object.rule, object.given_ns, start_ns, end_ns);
    result_.order.simplify(place);
  }

  // The thread, in a call from `start_ns` to `end_ns`, waited for what came at `came_ns`. Waking up
  // took the rest of the call: that is a part of the wait, and no work where nothing is waited for.
  void waitUntilAwake(std::uint32_t place, const DueTime& rule, std::int64_t came_ns,
                      std::int64_t start_ns, std::int64_t end_ns) {
    if (came_ns <= start_ns || came_ns >= end_ns) {
      result_.order.waitFor(place, rule, came_ns, model::Reason::kThread);
      return;
    }
    result_.order.wakeUp(place, rule, came_ns, end_ns, model::Reason::kThread);
  }

  void arrive(std::uint32_t place, Object& object) {
    const event::Event& event = *threads_[place].event;
    // A thread of a team does tasks inside of a barrier; these are recorded before it.
    const std::int64_t at_ns = std::max(event.start_ns, result_.order.lastOf(place));
    if (object.turn == nullptr || object.turn->left_ns < event.start_ns) {
      object.turn = std::make_shared<Object::Turn>();
      object.turn->rule = result_.order.ruleAt(place, at_ns);
    } else {
      object.turn->rule.join(result_.order.ruleAt(place, at_ns));
    }
    object.turn->complete_ns = std::max(object.turn->complete_ns, at_ns);
    if (event.row->sync == calls::Sync::kArrive) object.turn->done.push_back(place);
  }

  void joinTurn(std::uint32_t place, Object::Turn& turn) {
    for (const std::uint32_t other : std::exchange(turn.done, {})) {
      turn.rule.join(result_.order.rule(other));
      turn.complete_ns = std::max(turn.complete_ns, result_.order.lastOf(other));
    }
    result_.order.waitFor(place, turn.rule, turn.complete_ns, model::Reason::kThread);
    if (turn.rule.terms().size() <= kMostShared) return;
    result_.order.simplify(place, kMostShared);
    turn.rule = result_.order.rule(place);
  }

  // The first step of a thread whose process another one starts, or that has become another
  // program.
  bool begin(std::uint32_t place, bool anyway) {
    Thread& thread = threads_[place];
    const ProcessPlaces::Place& at = processes_.places[place];
    if (!at.before.empty()) {
      if (!haveReached(at.before, at.begin_ns, place) && !anyway) return false;
      follow(place, at.before, at.begin_ns, at.begin_ns, at.begin_ns);
    } else if (!anyway) {
      return false;  // the step that starts it wakes it
    }
    thread.is_begun = true;
    return true;
  }

  // Everything that comes next in `place` has to wait for all that these threads have done. The
  // first of them went on until `came_ns`; the call that waited for that is from `start_ns` to
  // `end_ns`.
  void follow(std::uint32_t place, const std::vector<std::uint32_t>& others, std::int64_t came_ns,
              std::int64_t start_ns, std::int64_t end_ns) {
    DueTime rule = result_.order.ruleAt(others.front(), came_ns);
    for (const std::uint32_t other : others) {
      if (other != others.front()) rule.join(result_.order.rule(other));
    }
    result_.order.reach(place, 0);
    waitUntilAwake(place, rule, came_ns, start_ns, end_ns);
    if (isInSchedule(place)) result_.order.simplify(place);
  }

  bool processStep(std::uint32_t place, bool anyway) {
    Thread& thread = threads_[place];
    order::ProcessStep step = processes_.places[place].steps[thread.next_step];
    // A parent that asks again and again, and works in between, waits since its last call.
    step.begin_ns = std::max(step.begin_ns, std::min(result_.order.lastOf(place), step.end_ns));
    const ProcessPlaces::Process& child = processes_.processes[step.child];
    if (step.kind == order::ProcessStep::Kind::kWait) {
      const bool is_over = haveReached(child.last, step.end_ns, place);
      if (!is_over && !anyway) return false;
      result_.order.reach(place, step.begin_ns);
      follow(place, child.last, endOf(child, step), step.begin_ns, step.end_ns);
      ++thread.next_step;
      return true;
    }
    ++thread.next_step;
    result_.order.reach(place, step.begin_ns);
    for (const std::uint32_t other : child.first) {
      threads_[other].is_begun = true;
      result_.order.reach(other, 0);
      result_.order.waitFor(other, result_.order.rule(place), step.begin_ns,
                            model::Reason::kThread);
      // Children to come can wait for the step that stands for all that this one waits for.
      if (isInSchedule(other) && !isInSchedule(place) &&
          result_.order.rule(other).terms().size() > kMostShared) {
        result_.order.simplify(other, kMostShared);
        result_.order.waitFor(place, result_.order.rule(other), step.begin_ns,
                              model::Reason::kThread);
      }
      push(other);
      wake(threads_[other].stalled);
    }
    return true;
  }

  // When the child ended, as far as that is known. A wait that took long ended with it.
  std::int64_t endOf(const ProcessPlaces::Process& child, const order::ProcessStep& wait) const {
    constexpr std::int64_t kLongWait = 100'000;
    const std::int64_t last_ns = result_.order.lastOf(child.last.front());
    if (child.end_ns != 0) return std::min(std::max(child.end_ns, last_ns), wait.end_ns);
    const bool ended_inside = last_ns > wait.begin_ns || wait.end_ns - wait.begin_ns > kLongWait;
    return ended_inside ? wait.end_ns : last_ns;
  }

  bool isInSchedule(std::uint32_t place) const { return place < sources_.threads.size(); }

  bool operation(std::uint32_t place, Call* call, bool anyway) {
    Thread& thread = threads_[place];
    const std::int64_t start_ns = thread.event->start_ns;
    if (call != nullptr && call->can_wait) {
      if (!call->is_settled && !anyway) return false;
      for (Call::Member& member : call->member_of) {
        if (!member.is_waiting || start_ns < member.gathering->complete_ns) continue;
        if (!isComplete(*member.gathering, place) && !anyway) return false;
        join(place, member);
        joinMaker(place, *member.gathering, start_ns);
      }
    }
    const EventRef ref{place, thread.sequence};
    const std::int64_t end_ns = std::max(thread.event->end_ns, start_ns);
    result_.unmatched_waits += std::exchange(thread.unmatched_waits, 0);
    if (thread.left != nullptr && mayYield(*thread.event)) {
      thread.left->yielded.try_emplace(sources_.threads[place].node, start_ns);
      thread.left = nullptr;
    }
    result_.order.leaveOut(place, thread.event->recorder_ns, start_ns);
    result_.order.operation(ref, start_ns, end_ns);
    if (call != nullptr) {
      call->has_operations = true;
      for (const Call::Member& member : call->member_of) {
        Gathering::Inner inner{end_ns, ref, result_.order.rule(place)};
        if (isOpen(*thread.event)) noteOpen(*member.gathering, *thread.event, inner);
        addInner(*member.gathering, std::move(inner));
      }
    }
    pull(place);
    return true;
  }

  // The thread enters MPI while sends of it are under way.
  void noteAgain(std::uint32_t place, const Call& entered) {
    auto& sends = threads_[place].sends;
    std::erase_if(sends, [&](const CallKey& send) { return !calls_.contains(send); });
    if (sends.empty()) return;
    const auto rule = std::make_shared<const DueTime>(entered.rule);
    for (const CallKey& send : sends) {
      auto& again = calls_.at(send).again;
      if (again.size() == kMostEntriesKept) again.erase(again.begin());
      again.push_back({entered.start_ns, rule});
    }
  }

  void enter(std::uint32_t place, const CallKey& key, Call& call) {
    threads_[place].left = nullptr;
    result_.order.enter(place, call.start_ns);
    call.rule = result_.order.rule(place);
    noteAgain(place, call);
    if (call.is_send_begun) {
      auto& sends = threads_[place].sends;
      if (sends.size() == kMostSendsBegun) sends.erase(sends.begin());
      sends.push_back(key);
    }
    call.is_entered = true;
    threads_[place].is_inside = true;
    for (const auto& gathering : call.arrives_at) --gathering->absent;
    wake(call.stalled);
  }

  bool isComplete(Gathering& gathering, std::uint32_t place) {
    if (gathering.absent == 0) return true;
    for (const CallKey& key : gathering.awaited) {
      const auto found = calls_.find(key);
      if (found == calls_.end() || found->second.is_entered) continue;
      found->second.stalled.push_back(place);
      return false;
    }
    return true;
  }

  // Whether the call waits in the collective call and has done nothing since it came: what its
  // thread would wait for, it waits for anyway, and nothing of its own comes before that.
  static bool onlyWaits(const Call& call, const Gathering& gathering) {
    return !call.has_operations && std::any_of(call.member_of.begin(), call.member_of.end(),
                                               [&](const Call::Member& member) {
                                                 return member.gathering.get() == &gathering &&
                                                        member.is_waiting && member.is_arrival;
                                               });
  }

  // The member in whose thread all of a collective call meet: the first in the schedule that is
  // still in the call and only waits; kNone when there is none. Which one leaves it first differs
  // from call to call, and a loop over such calls would not repeat.
  std::uint32_t hostOf(const Gathering& gathering) const {
    std::uint32_t host = kNone;
    for (const CallKey& key : gathering.awaited) {
      const auto found = calls_.find(key);
      if (found == calls_.end() || !found->second.is_entered || found->second.is_left) continue;
      if (onlyWaits(found->second, gathering)) host = std::min(host, found->second.place);
    }
    return host;
  }

  // Everything that comes next has to wait for all that a collective call awaits.
  void join(std::uint32_t place, Call::Member& member) {
    if (std::exchange(member.has_joined, true)) return;
    Gathering& gathering = *member.gathering;
    if (!std::exchange(gathering.is_joined, true)) {
      std::vector<DueTerm> terms;
      for (const CallKey& key : gathering.awaited) {
        const auto found = calls_.find(key);
        if (found == calls_.end() || !found->second.is_entered) continue;
        const auto& own = found->second.rule.terms();
        terms.insert(terms.end(), own.begin(), own.end());
      }
      if (!terms.empty()) gathering.rule = DueTime(terms.front());
      gathering.rule.join(std::move(terms));
      result_.order.dropImplied(gathering.rule);
      const std::uint32_t waiting = hostOf(gathering);
      const std::size_t most = waiting != kNone ? kMostShared : kMostUnshared;
      if (gathering.rule.terms().size() > most) {
        const std::uint32_t host = waiting != kNone ? waiting : place;
        result_.order.waitFor(host, gathering.rule, gathering.complete_ns);
        result_.order.simplify(host, most);
        gathering.rule = result_.order.rule(host);
        if (host == place) return;
      }
    }
    result_.order.waitFor(place, gathering.rule, gathering.complete_ns);
  }

  static bool isOpen(const event::Event& event) {
    return event.row->call_class == calls::Class::kOpen && event.file != event::kNoFile &&
           !event.failed;
  }

  static void noteOpen(Gathering& gathering, const event::Event& event,
                       const Gathering::Inner& open) {
    const auto [maker, is_first] = gathering.makers.try_emplace(event.file, open, false);
    // A member that opened the file at the same time did not wait.
    if (!is_first && event.start_ns < maker->second.open.end_ns) maker->second.is_contested = true;
  }

  // Whoever makes a file opens it first, and the others wait for that.
  void joinMaker(std::uint32_t place, const Gathering& gathering, std::int64_t at_ns) {
    const event::Event& event = *threads_[place].event;
    if (!isOpen(event)) return;
    const auto found = gathering.makers.find(event.file);
    if (found == gathering.makers.end() || found->second.is_contested) return;
    const Gathering::Inner& maker = found->second.open;
    if (maker.step.thread == place || maker.end_ns > at_ns + slack_ns_) return;
    result_.order.waitFor(place, maker.rule, maker.end_ns);
  }

  static void addInner(Gathering& gathering, Gathering::Inner step) {
    auto& inner = gathering.inner;
    auto at = inner.end();
    while (at != inner.begin() && (at - 1)->end_ns > step.end_ns) --at;
    if (static_cast<std::size_t>(at - inner.begin()) < gathering.shared) {
      gathering.shared_rule.join(step.rule);
      ++gathering.shared;
    }
    inner.insert(at, std::move(step));
    if (inner.size() > 2 * kInnerKept * (gathering.inner_threads + kInnerKept))
      forgetOld(gathering);
  }

  // Keeps the latest few calls of each thread.
  static void forgetOld(Gathering& gathering) {
    std::unordered_map<std::uint32_t, std::size_t> kept;
    std::vector<Gathering::Inner> late;
    std::size_t shared = 0;
    for (std::size_t i = gathering.inner.size(); i-- > 0;) {
      Gathering::Inner& step = gathering.inner[i];
      if (++kept[step.step.thread] > kInnerKept) continue;
      if (i < gathering.shared) ++shared;
      late.push_back(std::move(step));
    }
    std::reverse(late.begin(), late.end());
    gathering.inner = std::move(late);
    gathering.inner_threads = kept.size();
    gathering.shared = shared;
  }

  // What members did inside of the call and ended while this one stayed, until `at_ns`, comes
  // first.
  void joinInner(std::uint32_t place, Gathering& gathering, std::int64_t at_ns) {
    const auto& inner = gathering.inner;
    const auto after = [](std::int64_t ns, const Gathering::Inner& step) {
      return ns < step.end_ns;
    };
    const auto end = std::upper_bound(inner.begin(), inner.end(), at_ns + slack_ns_, after);
    const std::int64_t since_ns =
        std::max(gathering.complete_ns, result_.order.lastOf(place)) - slack_ns_;
    std::vector<const Gathering::Inner*> last;  // of each thread
    bool are_many = false;
    for (auto step = end; !are_many && step != inner.begin() && (step - 1)->end_ns > since_ns;
         --step) {
      const Gathering::Inner& candidate = *(step - 1);
      if (candidate.step.thread == place) continue;
      const bool is_known = std::any_of(last.begin(), last.end(), [&](const auto* other) {
        return other->step.thread == candidate.step.thread;
      });
      if (!is_known) last.push_back(&candidate);
      are_many = last.size() > kMostInner || end - step > kMostLooked;
    }
    if (last.empty()) return;
    const std::int64_t came_ns = std::max(gathering.complete_ns, last.front()->end_ns);
    if (!are_many) {
      for (const Gathering::Inner* each : last) result_.order.waitFor(place, each->rule, came_ns);
      return;
    }
    const auto count = static_cast<std::size_t>(end - inner.begin());
    std::vector<DueTerm> terms;
    for (std::size_t i = gathering.shared; i < count; ++i) {
      const auto& own = inner[i].rule.terms();
      terms.insert(terms.end(), own.begin(), own.end());
    }
    if (gathering.shared == 0) gathering.shared_rule = DueTime(terms.front());
    gathering.shared_rule.join(std::move(terms));
    gathering.shared = std::max(gathering.shared, count);
    result_.order.waitFor(place, gathering.shared_rule, came_ns);
    if (gathering.shared_rule.terms().size() > kMostShared) {
      result_.order.simplify(place, kMostShared);
      gathering.shared_rule = result_.order.rule(place);
    }
  }

  // Where ranks share processors, a member may leave late since it had none. It gets one when a
  // member that left before it waits for its storage; in the recording that one may not have had to
  // wait. Replays have this by themselves: the time from then on does not count as communication.
  void leaveOutYielded(std::uint32_t place, const Gathering& gathering, std::int64_t end_ns) {
    if (!isInSchedule(place)) return;
    const auto found = gathering.yielded.find(sources_.threads[place].node);
    if (found == gathering.yielded.end()) return;
    result_.order.leaveOutBetween(place, found->second, end_ns);
  }

  // When the sender was in MPI again, if the call got the message only then: it stayed until then,
  // and for longer than for anyone else. nullptr: it got the message before.
  static const Call::Again* cameAgain(const Call& call, const Call& send) {
    const std::int64_t waited_ns = std::max(call.start_ns, call.came_ns);
    for (std::size_t i = send.again.size(); i-- > 0;) {
      const Call::Again& again = send.again[i];
      if (again.at_ns < call.end_ns) return again.at_ns > waited_ns ? &again : nullptr;
    }
    return nullptr;
  }

  bool leave(std::uint32_t place, const CallKey& key, Call& call, bool anyway) {
    if (call.can_wait && !anyway) {
      if (!call.is_settled) return false;
      for (const Need& need : call.needs) {
        const auto found = calls_.find(need.call);
        if (!need.is_awaited || found == calls_.end() || found->second.is_entered) continue;
        found->second.stalled.push_back(place);
        return false;
      }
      for (const Need& need : call.needs) {
        if (!need.is_large) continue;
        const auto found = calls_.find(need.call);
        if (found == calls_.end() || !found->second.is_send_begun) continue;
        if (!haveReached({found->second.place}, call.end_ns - 1 - slack_ns_, place)) return false;
      }
      for (const Call::Member& member : call.member_of) {
        if (member.is_waiting && !isComplete(*member.gathering, place)) return false;
      }
    }
    if (call.can_wait) {
      for (const Need& need : call.needs) {
        const auto found = calls_.find(need.call);
        if (!need.is_awaited || found == calls_.end() || !found->second.is_entered) continue;
        const Call& other = found->second;
        if (const Call::Again* const again = need.is_large ? cameAgain(call, other) : nullptr) {
          result_.order.waitFor(place, *again->rule, again->at_ns);
        } else {
          result_.order.waitFor(place, other.rule, call.came_ns);
        }
      }
      for (Call::Member& member : call.member_of) {
        if (!member.is_waiting) continue;
        join(place, member);
        joinInner(place, *member.gathering, call.end_ns);
        leaveOutYielded(place, *member.gathering, call.end_ns);
      }
    }
    result_.order.leave(place, call.end_ns);
    Thread& thread = threads_[place];
    if (isInSchedule(place) && call.member_of.size() == 1 && call.member_of.front().is_waiting &&
        call.member_of.front().gathering->is_small) {
      thread.left = call.member_of.front().gathering;
    }
    for (const CallKey& send : call.completes) std::erase(thread.sends, send);
    thread.calls.pop_front();
    thread.is_inside = false;
    call.is_left = true;
    if (call.is_settled) release(call);
    dismiss(key);
    return true;
  }

  // The call is over, and asks no other for its rule any more.
  void release(Call& call) {
    for (const Need& need : call.needs) {
      const auto found = calls_.find(need.call);
      if (!need.is_counted || found == calls_.end() || &found->second == &call) continue;
      --found->second.users;
      dismiss(need.call);
    }
    for (const Call::Member& member : call.member_of) leaveGathering(*member.gathering, call);
  }

  void leaveGathering(Gathering& gathering, const Call& last) {
    if (gathering.not_left == 0 || --gathering.not_left > 0) return;
    for (const CallKey& arrival : gathering.arrivals) {
      const auto found = calls_.find(arrival);
      if (found == calls_.end()) continue;
      --found->second.users;
      if (&found->second != &last) dismiss(arrival);
    }
    if (!gathering.arrivals.empty()) gatherings_.erase(gathering.arrivals.front());
  }

  // Lets go of a call that has no more to tell.
  void dismiss(const CallKey& key) {
    const auto found = calls_.find(key);
    if (found == calls_.end()) return;
    const Call& call = found->second;
    if (call.is_left && call.is_settled && call.users <= 0) calls_.erase(found);
  }

  // Notes an operation in the call that begins it, ends it, or does both.
  void take(const MpiOperation& operation, Part part, const MatchedEvent& event,
            const CallKey& key) {
    if (operation.match != order::Match::kMatched) return;
    Call& call = calls_.at(key);
    const bool begins = part == Part::kWhole || part == Part::kBegun;
    // A request of number 0 is complete where it begins, and no call ends it.
    const bool ends = part == Part::kWhole || part == Part::kEnded ||
                      (part == Part::kBegun && operation.request == 0);
    const MpiEventRef& other = operation.counterpart;
    switch (operation.kind) {
      case OperationKind::kSend:
      case OperationKind::kSyncSend:
        if (begins) ++call.users;
        if (ends) call.needs.push_back({keyOf(other), waitsForReceiver(operation, event), true});
        if (part == Part::kEnded) call.completes.push_back(keyOf(operation.started));
        break;
      case OperationKind::kReceive:
        if (begins) ++call.users;
        if (ends) {
          const bool is_large = operation.bytes >= order::kMayWaitForReceiver;
          call.needs.push_back({keyOf(other), true, true, is_large});
        }
        break;
      case OperationKind::kProbe:
        call.needs.push_back({keyOf(other), true, false});
        break;
      case OperationKind::kPost:
        ++call.users;  // for good: how many ask for an epoch is not counted
        break;
      case OperationKind::kStart:
        ++call.users;
        call.needs.push_back({keyOf(other), isInTime(other, call), false});
        break;
      case OperationKind::kComplete:
        ++call.users;
        if (operation.awaited.row != nullptr) {
          call.needs.push_back(
              {keyOf(operation.awaited), isInTime(operation.awaited, call), false});
        }
        break;
      case OperationKind::kWait:
        ++call.users;
        call.needs.push_back({keyOf(other), true, false});
        break;
      case OperationKind::kCollective:
        if (begins) ++call.users;
        if (ends && operation.collective != nullptr) takeCollective(operation, event, call, key);
        break;
      case OperationKind::kLocal:
        break;
    }
  }

  // Whoever comes after a call has ended was not waited for.
  bool isInTime(const MpiEventRef& peer, const Call& call) const {
    return peer.start_ns <= call.end_ns + slack_ns_;
  }

  // A send that is complete when its message has been copied does not wait. Others do where they
  // stayed until the receive began, and where they would have had to.
  bool waitsForReceiver(const MpiOperation& operation, const MatchedEvent& event) const {
    const std::int64_t came_ns = operation.counterpart.start_ns;
    if (came_ns > event.event.end_ns + slack_ns_) return false;
    if (operation.kind == OperationKind::kSyncSend) return true;
    const calls::Row* const row = operation.started.row;
    const bool is_buffered = row != nullptr && calls::does(*row, calls::Effect::kBuffered);
    if (is_buffered) return false;
    if (operation.bytes >= order::kWaitsForReceiver) return true;
    return came_ns > event.event.start_ns && event.waited_ns.value_or(0) > 0;
  }

  void takeCollective(const MpiOperation& operation, const MatchedEvent& event, Call& call,
                      const CallKey& own) {
    const auto& arrivals = operation.collective->arrivals;
    if (arrivals.empty()) return;
    using calls::Sync;
    const Sync sync = operation.started.row->sync;
    auto& gathering = gatherings_[keyOf(arrivals.front().event)];
    const bool is_new = gathering == nullptr;
    if (is_new) {
      gathering = std::make_shared<Gathering>();
      gathering->not_left = arrivals.size();
      for (const auto& arrival : arrivals) {
        gathering->arrivals.push_back(keyOf(arrival.event));
      }
      gathering->is_small =
          operation.started.row->call_class == calls::Class::kMpiSync && operation.bytes <= kSmall;
    }
    const order::MpiCollective::Arrival* const root = rootOf(operation, groups_);
    const bool is_root = root != nullptr && keyOf(root->event) == keyOf(operation.started);
    switch (sync) {
      case Sync::kAll:
        if (is_new) awaitAll(*gathering, arrivals);
        break;
      case Sync::kToRoot:
        if (is_root) awaitAll(*gathering, arrivals);
        break;
      case Sync::kFromRoot:
        if (root != nullptr && !is_root) {
          call.needs.push_back({keyOf(root->event), isInTime(root->event, call), false});
        }
        break;
      case Sync::kPrefix:
        awaitLower(operation, call);
        break;
      case Sync::kNeighbours:
        awaitNeighbours(operation, call);
        break;
      default:
        break;
    }
    if (const auto* const peer = order::stayedFor(operation, event.event, groups_)) {
      call.needs.push_back({keyOf(peer->event), true, false});
    }
    const bool awaits_all = sync == Sync::kAll || (sync == Sync::kToRoot && is_root);
    call.member_of.push_back({gathering, awaits_all && isInTime(arrivals.back().event, call),
                              keyOf(operation.started) == own, false});
  }

  void awaitAll(Gathering& gathering, const std::vector<order::MpiCollective::Arrival>& arrivals) {
    gathering.awaited = gathering.arrivals;
    gathering.complete_ns = arrivals.back().event.start_ns;
    for (const CallKey& key : gathering.awaited) {
      const auto found = calls_.find(key);
      if (found == calls_.end() || found->second.is_entered) continue;
      ++gathering.absent;
      found->second.arrives_at.push_back(gatherings_.at(gathering.arrivals.front()));
    }
  }

  // A scan of very many ranks awaits the nearest of the lower ranks and the one that came last:
  // that one covers the others as a rule.
  void awaitLower(const MpiOperation& operation, Call& call) const {
    constexpr std::size_t kMostLower = 64;
    const order::MpiCollective& collective = *operation.collective;
    const auto self = static_cast<std::size_t>(operation.own->rank);
    for (std::size_t member = self > kMostLower ? self - kMostLower : 0; member < self; ++member) {
      if (const auto* arrival = collective.of(member)) {
        call.needs.push_back({keyOf(arrival->event), isInTime(arrival->event, call), false});
      }
    }
    if (self < collective.last_below.size() && collective.last_below[self] != 0) {
      const auto& last = collective.arrivals[collective.last_below[self] - 1];
      call.needs.push_back({keyOf(last.event), isInTime(last.event, call), false});
    }
  }

  void awaitNeighbours(const MpiOperation& operation, Call& call) const {
    const mpi::RankGroup& group = groups_.group(operation.own->group);
    const unsigned side = groups_.sideOfPeers(*operation.own);
    for (const std::int32_t source : operation.own->sources) {
      if (source < 0 || source >= group.size[side]) continue;
      if (const auto* arrival = operation.collective->of(group.memberOf(side, source))) {
        call.needs.push_back({keyOf(arrival->event), isInTime(arrival->event, call), false});
      }
    }
  }

  const ProcessPlaces& processes_;
  const SourceThreads& sources_;
  AnalysisProgress& analysis_;
  const mpi::MpiGroups& groups_;
  const std::int64_t slack_ns_;
  const event::IoLayer layer_;
  Communication& result_;
  event::PathTable paths_;
  std::vector<Thread> threads_;
  std::map<std::pair<mpi::ProcessIndex, std::uint32_t>, std::uint32_t> places_;
  std::map<std::size_t, std::vector<std::uint32_t>> threads_of_;     // processes
  std::map<std::pair<std::size_t, std::uint64_t>, Object> objects_;  // by process and address
  std::unordered_map<CallKey, Call, CallKeyHash> calls_;
  std::unordered_map<CallKey, std::shared_ptr<Gathering>, CallKeyHash> gatherings_;
  using Head = std::pair<std::int64_t, std::uint32_t>;  // when a thread's next step is
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heap_;
  std::int64_t seen_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace

Communication readCommunication(const tracefile::Trace& trace, const SourceThreads& sources,
                                AnalysisProgress& analysis, event::IoLayer layer,
                                order::PictureProgress shown) {
  std::vector<std::int64_t> recorder_ns;
  for (const SourceThread& thread : sources.threads) {
    recorder_ns.push_back(thread.header.recorder_ns);
  }
  const ProcessPlaces places = processPlaces(order::readProcessTree(trace), trace, sources);
  recorder_ns.resize(places.places.size());
  Communication result{.order = {std::move(recorder_ns), analysis.firstStart()}};
  const mpi::MpiGroups groups = order::mpiGroupsOf(trace);
  event::PathTable paths;
  std::int64_t error_ns = 0;
  for (const tracefile::HostClock& clock : trace.clocks()) {
    error_ns = std::max(error_ns, clock.error_ns.value_or(0));
  }
  Sweep sweep(sources, places, analysis, groups, 2 * error_ns, layer, result);
  const order::MpiPictureEnd end = order::readMpiPicture(trace, groups, paths, sweep, {}, shown);
  sweep.finish();
  std::set<std::size_t> processes;
  for (const SourceThread& thread : sources.threads) processes.insert(thread.process_index);
  for (const std::size_t process : processes) result.undecodable += end.undecodable_of[process];
  return result;
}

}  // namespace omnio::preprocess
