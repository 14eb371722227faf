#include "preprocess/scale/ranks/event_clock.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace omnio::preprocess::scale {

void EventClock::setOwn(std::uint64_t events) {
  own_ = events;
  whole_.reset();
}

const std::shared_ptr<const EventClock::Counts>& EventClock::whole() const {
  if (whole_ == nullptr) {
    auto counts = std::make_shared<Counts>(*others_);
    (*counts)[thread_] = own_;
    whole_ = std::move(counts);
  }
  return whole_;
}

void EventClock::join(std::span<const EventClock* const> others) {
  if (others.empty()) return;
  if (others.size() == 1) {
    // Where all ranks meet, the list of the meeting is that of all.
    const std::shared_ptr<const Counts>& theirs = others.front()->whole();
    bool has_all = true;
    for (std::uint32_t t = 0; t < theirs->size() && has_all; ++t) {
      has_all = t == thread_ || (*theirs)[t] >= (*others_)[t];
    }
    if (has_all) {
      others_ = theirs;
      whole_.reset();
      return;
    }
  }
  auto joined = std::make_shared<Counts>(*others_);
  std::unordered_set<const Counts*> known{others_.get()};
  for (const EventClock* other : others) {
    if (known.insert(other->others_.get()).second) {
      for (std::size_t t = 0; t < joined->size(); ++t) {
        (*joined)[t] = std::max((*joined)[t], (*other->others_)[t]);
      }
    }
    std::uint64_t& count = (*joined)[other->thread_];
    count = std::max(count, other->own_);
  }
  others_ = std::move(joined);
  whole_.reset();
}

}  // namespace omnio::preprocess::scale
