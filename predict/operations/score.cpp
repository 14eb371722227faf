#include "predict/operations/score.hpp"

namespace omnio::predict {

void Score::add(const Score& other) {
  operations += other.operations;
  contexts_right += other.contexts_right;
  whole_right += other.whole_right;
  sized += other.sized;
  sizes_right += other.sizes_right;
  size_errors += other.size_errors;
  size_error += other.size_error;
  placed += other.placed;
  offsets_right += other.offsets_right;
  hits += other.hits;
  for (std::size_t i = 0; i < hit.size(); ++i) hit[i] += other.hit[i];
  gaps += other.gaps;
  gap_ns += other.gap_ns;
  gap_said_ns += other.gap_said_ns;
  gap_error_ns += other.gap_error_ns;
}

void Learning::take(std::uint64_t operations, std::size_t symbols) {
  if (symbols > most_symbols_) {
    most_symbols_ = symbols;
    if (pending_ == settled_) growing_at_ = operations;
    pending_at_ = operations;
    ++pending_;
  } else if (pending_ != settled_ && !isLate(pending_at_, operations)) {
    settled_ = pending_;
    settled_at_ = pending_at_;
  }
}

bool Learning::hasStopped(std::uint64_t operations) const {
  return settled_ > 0 && (pending_ == settled_ || isLate(growing_at_, operations));
}

void PhasedScore::keepUp(const Learning& learning) {
  if (settled_ != learning.settled()) {
    settled_score_ = pending_ == learning.settled() ? pending_score_ : Score();
    settled_ = learning.settled();
  }
  if (pending_ != learning.pending()) {
    pending_score_ = Score();
    pending_ = learning.pending();
  }
}

void PhasedScore::add(const Score& one, const Learning& learning) {
  keepUp(learning);
  whole_.add(one);
  settled_score_.add(one);
  if (pending_ != settled_) pending_score_.add(one);
}

Score PhasedScore::settled(const Learning& learning) {
  keepUp(learning);
  return settled_score_;
}

}  // namespace omnio::predict
