#include "phase_model/request_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/integers.hpp"

namespace omnio::phases {
namespace {

// An end before a start can only be damage.
std::int64_t duration(const Access& access) {
  std::int64_t ns = 0;
  if (__builtin_sub_overflow(access.end_ns, access.start_ns, &ns)) return 0;
  return std::max<std::int64_t>(ns, 0);
}

std::int64_t endOf(const Access& access) {
  return access.offset + static_cast<std::int64_t>(access.bytes);
}

BytePlaces placesOf(const Access& access) {
  if (access.end_of_blocks) return access.blocks;
  BytePlaces places;
  places.add(static_cast<std::uint64_t>(access.offset), access.bytes);
  return places;
}

// Behind the last byte in the file.
std::int64_t furthestOf(const Access& access) {
  return std::max(endOf(access), access.end_of_blocks.value_or(0));
}

// A request on its own has its size as displacement, as in the file.
std::optional<ViewRun> viewRunOf(const Access& access) {
  if (!access.in_view) return {};
  const auto etypes = static_cast<std::int64_t>(access.bytes / access.manner.etype_bytes);
  return ViewRun{.first = *access.in_view, .last = *access.in_view, .displacement = etypes};
}

// Requests so far, and those to come: no run where they do not make one.
void appendRun(std::optional<ViewRun>& run, const std::optional<ViewRun>& next,
               std::uint64_t before, std::uint64_t later) {
  if (run && (!next || !run->append(*next, before, later))) run.reset();
}

}  // namespace

bool ViewRun::append(const ViewRun& next, std::uint64_t before, std::uint64_t later) {
  std::int64_t step = 0;
  if (__builtin_sub_overflow(next.first, last, &step)) return false;
  if (before > 1 && step != displacement) return false;
  if (later > 1 && step != next.displacement) return false;
  displacement = step;
  last = next.last;
  return true;
}

Pattern::Pattern(const Access& first)
    : operation(first.operation),
      manner(first.manner),
      shape(first.offset_known ? Shape::kConstant : Shape::kRandom),
      offset_known(first.offset_known),
      offset(first.offset),
      size(first.bytes),
      displacement(static_cast<std::int64_t>(first.bytes)),
      last(first.offset),
      end(endOf(first)),
      furthest(furthestOf(first)),
      lowest(first.offset),
      in_view(viewRunOf(first)),
      several_blocks(first.end_of_blocks.has_value()),
      places(placesOf(first)),
      bytes(first.bytes),
      smallest(first.bytes),
      largest(first.bytes),
      first_tick(first.tick),
      last_tick(first.tick),
      first_step(first.step),
      last_step(first.step),
      begin_ns(first.start_ns),
      end_ns(std::max(first.end_ns, first.start_ns)),
      io_ns(duration(first)) {
  if (offset_known) list({offset, size});
}

void Pattern::list(Request request) {
  const std::size_t most = shape == Shape::kRandom ? kMaxListed : kLongRun;
  if (list_ended_ || listed.size() >= most) {
    list_ended_ = true;
  } else {
    listed.push_back(request);
  }
}

void Pattern::listAll(const Pattern& pattern) {
  if (!offset_known) return;
  if (pattern.shape == Shape::kConstant) {
    for (std::uint64_t i = 0; i < pattern.requests && !list_ended_; ++i) {
      list({pattern.offset + static_cast<std::int64_t>(i) * pattern.displacement, pattern.size});
    }
    return;
  }
  if (pattern.shape == Shape::kNested) {
    for (std::uint64_t i = 0; i < pattern.requests && !list_ended_; ++i) {
      const pattern::Request request = pattern::requestOf(pattern.part, i);
      list({pattern.offset + request.offset, request.bytes});
    }
    return;
  }
  for (const Request& request : pattern.listed) list(request);
  list_ended_ = list_ended_ || pattern.list_ended_;
}

void Pattern::become(Shape wanted) {
  if ((shape == Shape::kConstant || shape == Shape::kNested) && wanted == Shape::kRandom) {
    const Pattern before = *this;
    listed.clear();
    list_ended_ = false;
    shape = wanted;
    listAll(before);
  }
  shape = wanted;
}

void Pattern::becomeLoops(pattern::Part all) {
  shape = Shape::kNested;
  offset = all.offset;
  size = pattern::requestOf(all, 0).bytes;
  listed.clear();
  part = std::move(all);
  part.offset = 0;
}

void Pattern::append(const Pattern& later) {
  listAll(later);
  last = later.last;
  end = later.end;
  furthest = std::max(furthest, later.furthest);
  lowest = std::min(lowest, later.lowest);
  appendRun(in_view, later.in_view, requests, later.requests);
  several_blocks = several_blocks || later.several_blocks;
  places.add(later.places);
  requests += later.requests;
  bytes += later.bytes;
  smallest = std::min(smallest, later.smallest);
  largest = std::max(largest, later.largest);
  first_tick = std::min(first_tick, later.first_tick);
  last_tick = std::max(last_tick, later.last_tick);
  first_step = std::min(first_step, later.first_step);
  last_step = std::max(last_step, later.last_step);
  begin_ns = std::min(begin_ns, later.begin_ns);
  end_ns = std::max(end_ns, later.end_ns);
  io_ns = base::saturatingSum(io_ns, later.io_ns);
}

bool Pattern::continuesStride(const Access& access) const {
  return shape == Shape::kConstant && access.offset_known && access.bytes == size &&
         (requests == 1 || access.offset - last == displacement);
}

bool Pattern::continuesContiguously(const Access& access) const {
  return offset_known && access.offset_known && access.offset == end;
}

void Pattern::add(const Access& access) {
  if (requests == 1 && shape == Shape::kConstant) displacement = access.offset - last;
  last = access.offset;
  end = endOf(access);
  furthest = std::max(furthest, furthestOf(access));
  lowest = std::min(lowest, access.offset);
  appendRun(in_view, viewRunOf(access), requests, 1);
  several_blocks = several_blocks || access.end_of_blocks.has_value();
  places.add(placesOf(access));
  ++requests;
  bytes += access.bytes;
  smallest = std::min(smallest, access.bytes);
  largest = std::max(largest, access.bytes);
  first_tick = std::min(first_tick, access.tick);
  last_tick = std::max(last_tick, access.tick);
  last_step = std::max(last_step, access.step);
  end_ns = std::max(end_ns, access.end_ns);
  io_ns = base::saturatingSum(io_ns, duration(access));
  if (offset_known) list({access.offset, access.bytes});
}

model::AccessMode Pattern::mode() const {
  if (shape == Shape::kRandom) return model::AccessMode::kRandom;
  if (shape == Shape::kNested) return model::AccessMode::kNested;
  return isContiguous() ? model::AccessMode::kSequential : model::AccessMode::kStrided;
}

bool Pattern::isContiguous() const {
  return shape == Shape::kVarying ||
         (shape == Shape::kConstant && displacement == static_cast<std::int64_t>(size));
}

Burst::Burst(const Access& first) {
  begin(first);
  if (first.offset_known) loops_.add(first.offset, first.bytes);
}

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
  if (access.offset_known) loops_.add(access.offset, access.bytes);
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
  Pattern last = std::move(pieces_.back());
  pieces_.pop_back();
  foldBelow(kLongRun);
  if (pieces_.size() >= kMaxLongRuns) foldBelow(std::numeric_limits<std::uint64_t>::max());
  pieces_.push_back(std::move(last));
}

// The whole burst as loops, where that says more than its runs do.
std::optional<pattern::Part> Burst::loops() {
  if (loops_.gaveUp() || !pieces_.front().offset_known) return {};
  if (pieces_.size() == 1 && !remainder_) return {};
  std::vector<pattern::Part> parts = loops_.finish();
  if (parts.size() == 1) {
    // Two runs of one length are two runs.
    const pattern::Part& loop = parts.front();
    constexpr std::uint64_t kTurns = 3;
    if (pattern::summaryOf(loop).depth > pattern::kMaxNesting) return {};
    const bool runs = loop.body.size() == 1 && pattern::isStride(loop.body.front());
    if (!loop.isLoop() || pattern::isStride(loop) || (runs && loop.count < kTurns)) return {};
    return std::move(parts.front());
  }
  // A tail is usual, and three pieces are told one by one.
  std::uint64_t requests = 0;
  bool nested = false;
  for (const pattern::Part& part : parts) {
    if (pattern::summaryOf(part).depth >= pattern::kMaxNesting) return {};
    requests += part.requests;
    nested = nested || (part.isLoop() && !pattern::isStride(part));
  }
  if (parts.size() > kMaxParts || requests < kLongRun * parts.size() || !nested) return {};
  const std::int64_t first = parts.front().offset;
  for (pattern::Part& part : parts) part.offset -= first;
  return pattern::loopOf(first, 1, 0, std::move(parts));
}

std::vector<Pattern> Burst::finish() {
  if (std::optional<pattern::Part> all = loops()) {
    foldBelow(std::numeric_limits<std::uint64_t>::max());
    Pattern nested = std::move(*remainder_);
    nested.becomeLoops(std::move(*all));
    return {std::move(nested)};
  }
  const auto short_runs = static_cast<std::size_t>(std::count_if(
      pieces_.begin(), pieces_.end(), [](const Pattern& p) { return p.requests < kLongRun; }));
  if (remainder_ || short_runs > kMaxPieces) {
    foldBelow(kLongRun);
    pieces_.push_back(std::move(*remainder_));
  }
  std::stable_sort(pieces_.begin(), pieces_.end(),
                   [](const Pattern& a, const Pattern& b) { return a.begin_ns < b.begin_ns; });
  return std::move(pieces_);
}

// Folds the runs that are shorter than `long_run` requests.
void Burst::foldBelow(std::uint64_t long_run) {
  const auto is_short = [long_run](const Pattern& p) { return p.requests < long_run; };
  for (Pattern& pattern : pieces_) {
    if (is_short(pattern)) foldInto(remainder_, std::move(pattern));
  }
  std::erase_if(pieces_, is_short);  // one that was moved away has kept its number of requests
}

void foldInto(std::optional<Pattern>& remainder, Pattern&& pattern) {
  if (remainder) {
    remainder->append(pattern);
  } else {
    pattern.become(Shape::kRandom);
    remainder = std::move(pattern);
  }
}

}  // namespace omnio::phases
