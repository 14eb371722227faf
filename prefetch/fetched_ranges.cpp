#include "prefetch/fetched_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace omnio::prefetch {

ByteRange FetchedRanges::missing(ByteRange wanted) const {
  while (!wanted.isEmpty()) {
    auto behind = requests_.upper_bound(wanted.begin);
    if (behind != requests_.begin()) {
      const auto at = std::prev(behind);
      if (at->second.end > wanted.begin) {
        wanted.begin = at->second.end;
        continue;
      }
    }
    if (behind != requests_.end()) wanted.end = std::min(wanted.end, behind->first);
    return wanted;
  }
  return wanted;
}

void FetchedRanges::add(ByteRange range, const Owner& owner) {
  requests_[range.begin] = {.end = range.end,
                            .bytes = range.bytes(),
                            .used = 0,
                            .unused = {range},
                            .made = reads_,
                            .is_given_up = false,
                            .owner = owner};
  fetched_ += range.bytes();
  waiting_ += range.bytes();
}

void FetchedRanges::cancel(std::int64_t begin) {
  const auto found = requests_.find(begin);
  if (found == requests_.end()) return;
  Request& request = found->second;
  fetched_ -= request.bytes;
  used_ -= request.used;
  if (!request.is_given_up) waiting_ -= request.bytes - request.used;
  requests_.erase(found);
}

FetchedRanges::Requests::iterator FetchedRanges::drop(Requests::iterator place,
                                                      const Ended& ended) {
  const Request& request = place->second;
  const std::int64_t left = request.bytes - request.used;
  wasted_ += left;
  if (!request.is_given_up) {
    waiting_ -= left;
    ended(request.owner, 2 * request.used >= request.bytes);
  }
  return requests_.erase(place);
}

// How many bytes of the part no read has used before: the same bytes are used once.
std::int64_t FetchedRanges::use(Request& request, ByteRange part) {
  std::vector<ByteRange> left;
  std::int64_t used = 0;
  for (const ByteRange& one : request.unused) {
    const ByteRange common{.begin = std::max(one.begin, part.begin),
                           .end = std::min(one.end, part.end)};
    if (common.isEmpty()) {
      left.push_back(one);
      continue;
    }
    used += common.bytes();
    if (one.begin < common.begin) left.push_back({.begin = one.begin, .end = common.begin});
    if (common.end < one.end) left.push_back({.begin = common.end, .end = one.end});
  }
  request.unused = std::move(left);
  request.used += used;
  return used;
}

std::int64_t FetchedRanges::read(ByteRange range, const Ended& ended) {
  ++reads_;
  std::int64_t covered = 0;
  auto place = requests_.upper_bound(range.begin);
  if (place != requests_.begin()) --place;
  while (place != requests_.end() && place->first < range.end) {
    Request& request = place->second;
    const std::int64_t bytes =
        std::min(request.end, range.end) - std::max(place->first, range.begin);
    if (bytes <= 0) {
      ++place;
      continue;
    }
    const std::int64_t used = use(request, range);
    used_ += used;
    covered += bytes;
    if (!request.is_given_up) waiting_ -= used;
    place = request.used == request.bytes ? drop(place, ended) : std::next(place);
  }
  giveUpPassed(ended);
  return covered;
}

void FetchedRanges::giveUpPassed(const Ended& ended) {
  if (reads_ % kPassedBy != 0 && requests_.size() <= kMostRequests) return;
  for (auto place = requests_.begin(); place != requests_.end(); ++place) {
    Request& request = place->second;
    if (request.is_given_up || request.made + kPassedBy > reads_) continue;
    request.is_given_up = true;
    waiting_ -= request.bytes - request.used;
    ended(request.owner, 2 * request.used >= request.bytes);
  }
  while (requests_.size() > kMostRequests) {
    drop(std::ranges::min_element(requests_, {},
                                  [](const auto& entry) { return entry.second.made; }),
         ended);
  }
}

void FetchedRanges::finish(const Ended& ended) {
  for (auto place = requests_.begin(); place != requests_.end();) place = drop(place, ended);
}

}  // namespace omnio::prefetch
