#include "preprocess/order/due_time.hpp"

#include <algorithm>
#include <tuple>

namespace omnio::preprocess {
namespace {

auto orderOf(const EventRef& step) { return std::tie(step.thread, step.sequence); }
auto orderOf(const DueTerm& term) { return orderOf(term.from); }

// Whether a step that waits for `later` waits long enough for `earlier` too.
bool covers(const DueTerm& later, const DueTerm& earlier) {
  if (earlier.from.thread == kBeginning) {
    return earlier.work.total() <= later.since_beginning_ns + later.work.total();
  }
  return earlier.from.thread == later.from.thread && earlier.from.thread != kMeeting &&
         earlier.work.total() <=
             later.along_thread_ns - earlier.along_thread_ns + later.work.total();
}

}  // namespace

void DueTime::add(const Work& work) {
  for (DueTerm& term : terms_) term.work = term.work + work;
}

void DueTime::join(std::vector<DueTerm> all) {
  const auto is_before = [](const DueTerm& a, const DueTerm& b) { return orderOf(a) < orderOf(b); };
  all.insert(all.end(), terms_.begin(), terms_.end());
  std::stable_sort(all.begin(), all.end(), is_before);
  terms_.clear();
  for (const DueTerm& term : all) {
    if (!terms_.empty() && orderOf(terms_.back()) == orderOf(term)) {
      if (term.work.total() > terms_.back().work.total()) terms_.back() = term;
      continue;
    }
    if (!terms_.empty() && covers(term, terms_.back())) terms_.pop_back();
    terms_.push_back(term);
  }
  // The beginning of the run has the largest number of a thread, and so is last.
  if (terms_.size() > 1 && terms_.back().from.thread == kBeginning &&
      std::any_of(terms_.begin(), terms_.end() - 1,
                  [this](const DueTerm& term) { return covers(term, terms_.back()); })) {
    terms_.pop_back();
  }
}

const DueTerm* DueTime::find(const EventRef& step) const {
  const auto found = std::find_if(terms_.begin(), terms_.end(), [&](const DueTerm& term) {
    return orderOf(term) == orderOf(step);
  });
  return found == terms_.end() ? nullptr : &*found;
}

bool DueTime::implies(const DueTerm& term, const Work& behind) const {
  auto known = std::lower_bound(
      terms_.begin(), terms_.end(), term.from,
      [](const DueTerm& at, const EventRef& step) { return orderOf(at) < orderOf(step); });
  for (; known != terms_.end() && known->from.thread == term.from.thread; ++known) {
    const bool is_same = known->from.sequence == term.from.sequence;
    if (!is_same && term.from.thread == kMeeting) return false;
    const std::int64_t along = is_same ? 0 : known->along_thread_ns - term.along_thread_ns;
    if (term.work.total() <= along + known->work.total() + behind.total()) return true;
  }
  return false;
}

std::int64_t DueTime::sinceBeginning() const {
  std::int64_t latest = 0;
  for (const DueTerm& term : terms_) {
    latest = std::max(latest, term.since_beginning_ns + term.work.total());
  }
  return latest;
}

}  // namespace omnio::preprocess
