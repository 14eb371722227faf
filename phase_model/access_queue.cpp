#include "phase_model/access_queue.hpp"

namespace omnio::phases {

void AccessQueue::add(const Access& access) {
  if (held_.empty()) {
    ++passed_;
    take_(access);
    return;
  }
  held_.push_back({access, true});
  keepBounds();
}

std::size_t AccessQueue::addBegun(const Access& access) {
  held_.push_back({access, false});
  keepBounds();
  return passed_ + held_.size() - 1;
}

void AccessQueue::keepBounds() {
  if (held_.size() <= kMost) return;
  ++ended_too_late_;
  passFront();
  passKnown();
}

void AccessQueue::gotBytes(std::size_t number, std::uint64_t bytes) {
  if (number < passed_) return;  // given up
  Held& held = held_[number - passed_];
  held.access.bytes = bytes;
  held.is_known = true;
  passKnown();
}

void AccessQueue::finish() {
  for (Held& held : held_) {
    if (held.is_known) continue;
    ++never_ended_;
    held.access.bytes = 0;
    held.is_known = true;
  }
  passKnown();
}

void AccessQueue::passKnown() {
  while (!held_.empty() && held_.front().is_known) passFront();
}

void AccessQueue::passFront() {
  ++passed_;
  if (held_.front().access.bytes > 0) take_(held_.front().access);
  held_.pop_front();
}

}  // namespace omnio::phases
