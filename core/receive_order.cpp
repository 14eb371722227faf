#include "core/receive_order.hpp"

#include <algorithm>
#include <limits>

namespace omnio {
namespace {

constexpr std::int32_t kAny = -1;
constexpr ReceiveOrder::Place kLast = std::numeric_limits<ReceiveOrder::Place>::max();

bool isWild(const ReceiveOrder::Stream& asked) { return asked.source < 0 || asked.tag < 0; }

ReceiveOrder::Stream plain(const ReceiveOrder::Stream& asked) {
  return {asked.group, std::max(asked.source, kAny), std::max(asked.tag, kAny)};
}

}  // namespace

std::size_t ReceiveOrder::Hash::operator()(const Stream& stream) const {
  std::uint64_t x = (std::uint64_t{stream.group} << 32) ^ static_cast<std::uint32_t>(stream.tag);
  x ^= std::uint64_t{static_cast<std::uint32_t>(stream.source)} * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;  // SplitMix64's mixer
  return x ^ (x >> 31);
}

ReceiveOrder::Place ReceiveOrder::post(const Stream& asked) {
  if (isWild(asked)) ++wild_;
  outstanding_[plain(asked)].push_back(++last_);
  return last_;
}

void ReceiveOrder::remove(Place place, const Stream& asked) {
  const auto found = outstanding_.find(plain(asked));
  if (found == outstanding_.end()) return;
  std::vector<Place>& places = found->second;
  const auto at = std::lower_bound(places.begin(), places.end(), place);
  if (at == places.end() || *at != place) return;
  places.erase(at);
  if (isWild(asked)) --wild_;
  if (places.empty()) outstanding_.erase(found);
}

ReceiveOrder::Place ReceiveOrder::firstOutstanding(const Stream& stream) const {
  Place first = kLast;
  const auto look = [&](const Stream& asked) {
    const auto found = outstanding_.find(asked);
    if (found != outstanding_.end()) first = std::min(first, found->second.front());
  };
  look(stream);
  if (wild_ > 0) {
    look({stream.group, kAny, stream.tag});
    look({stream.group, stream.source, kAny});
    look({stream.group, kAny, kAny});
  }
  return first;
}

void ReceiveOrder::complete(std::uint32_t operation, Place place, const Stream& asked,
                            const Stream& stream, std::uint64_t number, std::vector<Final>& out) {
  remove(place, asked);
  const bool others_wait = waiting_.find(stream) != waiting_.end();
  if (!others_wait && (outstanding_.empty() || firstOutstanding(stream) > place)) {
    out.push_back({operation, number});
  } else {
    Queue& into = waiting_[stream];
    const auto later = std::upper_bound(into.by_place.begin(), into.by_place.end(), place,
                                        [](Place a, const Waiting& b) { return a < b.place; });
    // What a probe found was behind all received ones, and behind this one as well.
    for (auto it = later; it != into.by_place.end(); ++it) {
      if (it->probe) ++it->number;
    }
    into.by_place.insert(later, {place, operation, false, 0});
    into.numbers.insert(std::upper_bound(into.numbers.begin(), into.numbers.end(), number), number);
  }
  if (isWild(asked)) {
    settleAfter(asked, out);
  } else if (others_wait) {
    settleAfter(stream, out);
  }
}

void ReceiveOrder::probe(std::uint32_t operation, const Stream& stream, std::uint64_t number,
                         std::vector<Final>& out) {
  // A probe finds what no receive has taken that was posted before its end.
  const Place place = ++last_;
  const auto queue = waiting_.find(stream);
  if (queue == waiting_.end() && (outstanding_.empty() || firstOutstanding(stream) > place)) {
    out.push_back({operation, number});
    return;
  }
  waiting_[stream].by_place.push_back({place, operation, true, number});
}

void ReceiveOrder::drop(Place place, const Stream& asked, std::vector<Final>& out) {
  remove(place, asked);
  settleAfter(asked, out);
}

void ReceiveOrder::settleAfter(const Stream& asked, std::vector<Final>& out) {
  const auto settleOne = [&](auto found) {
    settle(found->second, firstOutstanding(found->first), out);
    return found->second.by_place.empty() ? waiting_.erase(found) : std::next(found);
  };
  if (!isWild(asked)) {
    const auto found = waiting_.find(asked);
    if (found != waiting_.end()) settleOne(found);
    return;
  }
  for (auto it = waiting_.begin(); it != waiting_.end();) it = settleOne(it);
}

void ReceiveOrder::settle(Queue& queue, Place before, std::vector<Final>& out) {
  auto done = queue.by_place.begin();
  auto number = queue.numbers.begin();
  for (; done != queue.by_place.end() && done->place < before; ++done) {
    out.push_back({done->operation, done->probe ? done->number : *number++});
  }
  queue.by_place.erase(queue.by_place.begin(), done);
  queue.numbers.erase(queue.numbers.begin(), number);
}

void ReceiveOrder::finish(std::vector<Final>& out) {
  for (auto& [stream, queue] : waiting_) settle(queue, kLast, out);
  waiting_.clear();
  outstanding_.clear();
  wild_ = 0;
}

}  // namespace omnio
