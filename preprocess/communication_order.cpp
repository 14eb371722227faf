#include "preprocess/communication_order.hpp"

#include <algorithm>
#include <utility>

namespace omnio::preprocess {

namespace {

constexpr int kMostMeetings = 8;  // one behind the other

bool comeAfter(const std::vector<Predecessor>& steps, const EventRef& event,
               const std::vector<Meeting>& meetings, int depth) {
  return std::any_of(steps.begin(), steps.end(), [&](const Predecessor& before) {
    const EventRef& step = before.step;
    if (step.thread != kMeeting) {
      return step.thread == event.thread && step.sequence >= event.sequence;
    }
    const Meeting& meeting = meetings[step.sequence];
    return (meeting.thread == event.thread &&
            meeting.behind >= static_cast<std::int64_t>(event.sequence)) ||
           (depth > 0 && comeAfter(meeting.after, event, meetings, depth - 1));
  });
}

}  // namespace

bool comeAfter(const std::vector<Predecessor>& steps, const EventRef& event,
               const std::vector<Meeting>& meetings) {
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
  std::vector<DueTerm> meetings;
  for (const DueTerm& term : rule.terms()) {
    if (term.from.thread == kMeeting) meetings.push_back(term);
  }
  if (meetings.empty() || rule.terms().size() == 1) return;
  rule.removeIf([&](const DueTerm& term) {
    return std::any_of(meetings.begin(), meetings.end(), [&](const DueTerm& meeting) {
      return meeting.from.sequence !=
                 (term.from.thread == kMeeting ? term.from.sequence : kNoStep) &&
             rule_of_meeting_[meeting.from.sequence].implies(term, meeting.work);
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
    after.push_back({term.from, term.work});
  }
  thread.along_ns += own.total();
  thread.rule = DueTime(DueTerm{.from = ref,
                                .since_beginning_ns = rule.sinceBeginning(),
                                .along_thread_ns = thread.along_ns,
                                .work = {}});
  thread.last = ref;
  thread.last_rule = rule;
}

void CommunicationOrder::operation(const EventRef& ref, std::int64_t start_ns,
                                   std::int64_t end_ns) {
  Thread& thread = threads_[ref.thread];
  advance(thread, start_ns);
  StepOrder order{.sequence = ref.sequence, .own = {}, .after = {}};
  step(thread, ref, order.own, order.after);
  if (!order.after.empty() || thread.communicated) steps_[ref.thread].push_back(std::move(order));
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

void CommunicationOrder::waitFor(std::uint32_t place, const DueTime& other, std::int64_t came_ns) {
  Thread& thread = threads_[place];
  thread.rule.join(other);
  dropImplied(thread.rule);
  thread.last_ns = std::max(thread.last_ns, came_ns);
}

void CommunicationOrder::leave(std::uint32_t place, std::int64_t at_ns) {
  Thread& thread = threads_[place];
  advance(thread, at_ns);
  thread.in_mpi = false;
  thread.last_ns = std::max(thread.last_ns, at_ns + thread.recorder_ns);
  simplify(place);
}

void CommunicationOrder::simplify(std::uint32_t place, std::size_t most) {
  Thread& thread = threads_[place];
  if (thread.rule.terms().size() <= most) return;
  Meeting meeting{.thread = place,
                  .behind = thread.last_event,
                  .at_ns = std::max(thread.last_ns, begin_ns_),
                  .own = {},
                  .after = {}};
  const EventRef ref{kMeeting, meetings_.size()};
  step(thread, ref, meeting.own, meeting.after);
  thread.meetings.push_back(meetings_.size());
  rule_of_meeting_.push_back(thread.last_rule);
  meetings_.push_back(std::move(meeting));
}

}  // namespace omnio::preprocess
