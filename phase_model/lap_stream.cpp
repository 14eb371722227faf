#include "phase_model/lap_stream.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace omnio::phases {
namespace {

constexpr std::uint64_t kAnyLength = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kTurnsToSee = 4;  // W R W R
// Files that are worked on at a time, by threads. Of more than these, the half that has waited
// longest is taken to be done with; what comes for it later is another pattern.
constexpr std::size_t kMaxStreams = 4096;

std::int64_t beginOf(const Operations& operations) { return operations.front().begin_ns; }

void sortByBegin(std::vector<Operations>& laps) {
  std::stable_sort(laps.begin(), laps.end(), [](const Operations& a, const Operations& b) {
    return beginOf(a) < beginOf(b);
  });
}

// Whether `next` carries on the stride of `so_far`, whose turns have `turn` requests each.
bool isNextTurn(const Pattern& so_far, const Pattern& next, std::uint64_t turn) {
  if (so_far.shape != Shape::kConstant || next.shape != Shape::kConstant ||
      so_far.operation != next.operation || so_far.manner != next.manner ||
      so_far.size != next.size || next.requests != turn) {
    return false;
  }
  if (turn > 1 && next.displacement != so_far.displacement) return false;
  return so_far.requests == 1 || next.offset - so_far.last == so_far.displacement;
}

void appendTurn(Pattern& so_far, const Pattern& next) {
  if (so_far.requests == 1) so_far.displacement = next.offset - so_far.last;
  so_far.append(next);
}

}  // namespace

// Clocks and ticks of threads may come in another order: what is not behind is not a gap.
bool LapStream::isBehindGap(const Access& access) const {
  if (access.others > others_ && access.others - others_ > longest_gap_) return true;
  return access.session > session_ && !burst_->isContinuedBy(access);
}

void LapStream::add(const Access& access) {
  if (burst_ && isBehindGap(access)) {
    closeSection();
  } else if (burst_ && !burst_->takes(access)) {
    closeBurst();
  }
  others_ = std::max(others_, access.others);
  session_ = std::max(session_, access.session);
  if (burst_) {
    burst_->add(access);
  } else {
    burst_.emplace(access);
  }
}

void LapStream::closeBurst() {
  if (!burst_) return;
  std::vector<Pattern> patterns = burst_->finish();
  burst_.reset();
  for (Pattern& pattern : patterns) push(std::move(pattern));
}

void LapStream::push(Pattern pattern) {
  if (takesTurn(pattern) || beginTurns(pattern)) return;
  release();
  section_.push_back({std::move(pattern)});
  if (section_.size() > kMaxSection) {
    // The last ones may yet turn out to alternate.
    fold(section_, section_.size() - kTurnsToSee, kLongRun, section_remainders_);
    if (section_.size() > kMaxSection) {
      fold(section_, section_.size() - kTurnsToSee, kAnyLength, section_remainders_);
    }
  }
}

// Whether the pattern belongs to the two that alternate at the end of the section.
bool LapStream::takesTurn(Pattern& pattern) {
  if (section_.empty() || section_.back().size() < 2) return false;
  Operations& alternating = section_.back();
  if (!held_) {
    if (!isNextTurn(alternating[0], pattern, turn_[0])) return false;
    held_ = std::move(pattern);
    return true;
  }
  if (!isNextTurn(alternating[1], pattern, turn_[1])) return false;
  appendTurn(alternating[0], *held_);
  appendTurn(alternating[1], pattern);
  held_.reset();
  return true;
}

// Whether the last three of the section and this one are two turns of each of two operations.
bool LapStream::beginTurns(const Pattern& pattern) {
  if (held_ || section_.size() < kTurnsToSee - 1) return false;
  Operations& first = section_[section_.size() - 3];
  Operations& second = section_[section_.size() - 2];
  const Operations& third = section_.back();
  if (first.size() != 1 || second.size() != 1 || third.size() != 1) return false;
  if (first[0].operation == second[0].operation) return false;
  if (!isNextTurn(first[0], third[0], first[0].requests) ||
      !isNextTurn(second[0], pattern, second[0].requests)) {
    return false;
  }
  turn_[0] = first[0].requests;
  turn_[1] = second[0].requests;
  appendTurn(first[0], third[0]);
  appendTurn(second[0], pattern);
  first.push_back(std::move(second[0]));
  section_.resize(section_.size() - 2);
  return true;
}

// The turn that no turn of the other operation followed is a LAP of its own.
void LapStream::release() {
  if (!held_) return;
  section_.push_back({std::move(*held_)});
  held_.reset();
}

void LapStream::closeSection() {
  closeBurst();
  release();
  // When most of a section became random, the rest is not more regular.
  if (!section_remainders_.empty()) {
    fold(section_, section_.size(), kLongRun, section_remainders_);
  }
  drain(section_remainders_, section_);
  sortByBegin(section_);
  std::move(section_.begin(), section_.end(), std::back_inserter(laps_));
  section_.clear();
  if (laps_.size() > kMaxLaps) {
    overflowed_ = true;
    fold(laps_, laps_.size(), kAnyLength, remainders_);
  }
}

std::vector<Operations> LapStream::finish() {
  closeSection();
  drain(remainders_, laps_);
  sortByBegin(laps_);
  return std::move(laps_);
}

// Makes random patterns of the first `count` LAPs, without those that are long runs.
void LapStream::fold(std::vector<Operations>& laps, std::size_t count, std::uint64_t long_run,
                     Remainders& into) {
  const auto end = laps.begin() + static_cast<std::ptrdiff_t>(count);
  const auto kept = std::remove_if(laps.begin(), end, [&](Operations& lap) {
    const bool is_long = std::any_of(
        lap.begin(), lap.end(), [long_run](const Pattern& p) { return p.requests >= long_run; });
    if (is_long) return false;
    for (Pattern& pattern : lap) {
      auto& remainder = into[{pattern.operation, pattern.manner, pattern.offset_known}];
      foldInto(remainder, std::move(pattern));
    }
    return true;
  });
  laps.erase(kept, end);
}

void LapStream::drain(Remainders& from, std::vector<Operations>& into) {
  for (auto& [what, pattern] : from) into.push_back({std::move(*pattern)});
  from.clear();
}

void RankPatterns::add(const Access& access) {
  const Key key{access.file, access.thread};
  auto stream = streams_.find(key);
  if (stream == streams_.end()) {
    if (streams_.size() >= kMaxStreams) closeOldHalf();
    stream = streams_.emplace(key, Stream{.laps = LapStream(longest_gap_), .last_use = 0}).first;
    if (!thread_numbers_.contains(key)) thread_numbers_[key] = threads_[access.file]++;
  }
  stream->second.laps.add(access);
  stream->second.last_use = ++accesses_;
}

void RankPatterns::close(const Key& key, Stream& stream) {
  const std::uint32_t thread = thread_numbers_[key];
  for (Operations& operations : stream.laps.finish()) {
    laps_.push_back({.rank = rank_,
                     .file = key.first,
                     .thread = thread,
                     .source = key.second,
                     .operations = std::move(operations)});
  }
  if (stream.laps.overflowed()) overflowed_.push_back(key.first);
}

void RankPatterns::closeOldHalf() {
  std::vector<std::uint64_t> uses;
  for (const auto& [key, stream] : streams_) uses.push_back(stream.last_use);
  const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
  std::nth_element(uses.begin(), middle, uses.end());
  for (auto stream = streams_.begin(); stream != streams_.end();) {
    if (stream->second.last_use < *middle) {
      close(stream->first, stream->second);
      stream = streams_.erase(stream);
    } else {
      ++stream;
    }
  }
}

std::vector<Lap> RankPatterns::finish() {
  for (auto& [key, stream] : streams_) close(key, stream);
  streams_.clear();
  return std::move(laps_);
}

}  // namespace omnio::phases
