#include "phase_model/burst.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace omnio::phases {

Burst::Burst(const Access& first) { begin(first); }

void Burst::begin(const Access& access) {
  pieces_.emplace_back(access);
  run_first_ = access;
  run_last_ = access;
}

bool Burst::takes(const Access& access) const {
  const Pattern& current = pieces_.back();
  return access.operation == current.operation && access.manner == current.manner &&
         access.offset_known == current.offset_known;
}

bool Burst::isContinuedBy(const Access& access) const {
  return takes(access) && pieces_.back().continuesContiguously(access);
}

void Burst::add(const Access& access) {
  Pattern* current = &pieces_.back();
  const bool contiguous = current->continuesContiguously(access);
  if (!access.offset_known || current->continuesStride(access) ||
      (current->shape == Shape::kVarying && contiguous)) {
    current->add(access);
    run_last_ = access;
    return;
  }
  if (contiguous && contiguousPieces() >= kMaxPieces) {
    foldContiguous();
    pieces_.back().add(access);
    run_last_ = access;
    return;
  }
  // Any two requests of one size make a stride. When the third does not follow it, the second may
  // as well be the begin of another.
  if (current->shape == Shape::kConstant && current->requests == 2 && !current->isContiguous() &&
      access.bytes == current->size) {
    *current = Pattern(run_first_);
    begin(run_last_);
    pieces_.back().add(access);
    run_last_ = access;
  } else {
    begin(access);
  }
  if (pieces_.size() > kMaxLongRuns) foldShort();
}

// How many pieces at the end follow each other without a gap.
std::size_t Burst::contiguousPieces() const {
  std::size_t count = 0;
  for (std::size_t i = pieces_.size(); i-- > 0;) {
    if (!pieces_[i].isContiguous()) break;
    if (count > 0 && pieces_[i].end != pieces_[i + 1].offset) break;
    ++count;
  }
  return count;
}

void Burst::foldContiguous() {
  const auto first = pieces_.end() - static_cast<std::ptrdiff_t>(contiguousPieces());
  first->become(Shape::kVarying);
  for (auto piece = first + 1; piece != pieces_.end(); ++piece) first->append(*piece);
  pieces_.erase(first + 1, pieces_.end());
}

void Burst::foldShort() {
  // The last piece is not over.
  std::vector<Pattern> last;
  last.push_back(std::move(pieces_.back()));
  pieces_.pop_back();
  foldInto(remainder_, pieces_, kLongRun);
  if (pieces_.size() >= kMaxLongRuns) {
    foldInto(remainder_, pieces_, std::numeric_limits<std::uint64_t>::max());
  }
  pieces_.push_back(std::move(last.back()));
}

std::vector<Pattern> Burst::finish() {
  const auto short_runs = static_cast<std::size_t>(std::count_if(
      pieces_.begin(), pieces_.end(), [](const Pattern& p) { return p.requests < kLongRun; }));
  if (!remainder_.empty() || short_runs > kMaxPieces) {
    foldInto(remainder_, pieces_, kLongRun);
    std::move(remainder_.begin(), remainder_.end(), std::back_inserter(pieces_));
  }
  std::stable_sort(pieces_.begin(), pieces_.end(),
                   [](const Pattern& a, const Pattern& b) { return a.begin_ns < b.begin_ns; });
  return std::move(pieces_);
}

void foldInto(std::vector<Pattern>& remainder, std::vector<Pattern>& patterns,
              std::uint64_t long_run) {
  const auto is_long = [long_run](const Pattern& p) { return p.requests >= long_run; };
  for (Pattern& pattern : patterns) {
    if (is_long(pattern)) continue;
    if (remainder.empty()) {
      pattern.become(Shape::kRandom);
      remainder.push_back(std::move(pattern));
    } else {
      remainder.front().append(pattern);
    }
  }
  // What was moved away has kept its number of requests.
  std::erase_if(patterns, [&is_long](const Pattern& p) { return !is_long(p); });
}

}  // namespace omnio::phases
