#include "core/order/receive_order.hpp"

#include <algorithm>
#include <limits>

#include "core/base/integers.hpp"

namespace omnio::order {
namespace {

constexpr std::int32_t kAny = -1;
constexpr ReceiveOrder::PostNumber kBehindAll =
    std::numeric_limits<ReceiveOrder::PostNumber>::max();

bool isWild(const ReceiveOrder::Stream& asked) { return asked.source < 0 || asked.tag < 0; }

ReceiveOrder::Stream plain(const ReceiveOrder::Stream& asked) {
  return {asked.group, std::max(asked.source, kAny), std::max(asked.tag, kAny)};
}

}  // namespace

std::size_t ReceiveOrder::Hash::operator()(const Stream& stream) const {
  const std::uint64_t tag =
      std::uint64_t{stream.group} << 32 | static_cast<std::uint32_t>(stream.tag);
  return base::mixed(tag, static_cast<std::uint32_t>(stream.source));
}

ReceiveOrder::PostNumber ReceiveOrder::post(const Stream& asked) {
  if (isWild(asked)) ++wild_;
  std::set<PostNumber>& posts = outstanding_[plain(asked)];
  posts.insert(posts.end(), ++last_);
  return last_;
}

// If it was the first of its kind, the one that is now; else 0: no call waited for it alone.
ReceiveOrder::PostNumber ReceiveOrder::remove(PostNumber posted, const Stream& asked) {
  const auto found = outstanding_.find(plain(asked));
  if (found == outstanding_.end()) return 0;
  std::set<PostNumber>& posts = found->second;
  const auto at = posts.find(posted);
  if (at == posts.end()) return 0;
  const bool was_first = at == posts.begin();
  posts.erase(at);
  if (isWild(asked)) --wild_;
  const PostNumber next = posts.empty() ? kBehindAll : *posts.begin();
  if (posts.empty()) outstanding_.erase(found);
  return was_first ? next : 0;
}

ReceiveOrder::PostNumber ReceiveOrder::firstOutstanding(const Stream& asked) const {
  const auto found = outstanding_.find(asked);
  return found == outstanding_.end() ? kBehindAll : *found->second.begin();
}

ReceiveOrder::PostNumber ReceiveOrder::firstFromAnyone(const Stream& stream) const {
  if (wild_ == 0) return kBehindAll;
  return std::min({firstOutstanding({stream.group, kAny, stream.tag}),
                   firstOutstanding({stream.group, stream.source, kAny}),
                   firstOutstanding({stream.group, kAny, kAny})});
}

ReceiveOrder::PostNumber ReceiveOrder::firstThatCouldBeOf(const Stream& stream) const {
  if (outstanding_.empty()) return kBehindAll;
  return std::min(firstOutstanding(stream), firstFromAnyone(stream));
}

void ReceiveOrder::complete(std::uint32_t operation, PostNumber posted, const Stream& asked,
                            const Stream& stream, std::uint64_t number, std::vector<Final>& out) {
  const PostNumber next = remove(posted, asked);
  auto found = waiting_.find(stream);
  if (found == waiting_.end() && firstThatCouldBeOf(stream) > posted) {
    out.push_back({operation, seqOf(posted, number)});
  } else {
    if (found == waiting_.end()) found = waiting_.try_emplace(stream).first;
    Queue& into = found->second;
    into.by_post.emplace_hint(into.by_post.end(), posted, Waiting{operation, false, 0});
    into.numbers.push(number);
    settle(found, out);
  }
  if (isWild(asked)) settleBehind(posted, next, out);
}

// It is not known which numbers the receives that were given up got, and so not which are left for
// the receives that were posted before them.
std::uint64_t ReceiveOrder::seqOf(PostNumber posted, std::uint64_t number) const {
  return lost_until_ != 0 && posted <= lost_until_ ? 0 : number;
}

ReceiveOrder::PostNumber ReceiveOrder::probe(std::uint32_t operation, const Stream& stream,
                                             std::uint64_t number, std::vector<Final>& out) {
  // A probe finds what no receive has taken that was posted before its end.
  const PostNumber posted = ++last_;
  auto found = waiting_.find(stream);
  if (found == waiting_.end() && firstThatCouldBeOf(stream) > posted) {
    out.push_back({operation, number});
    return posted;
  }
  if (found == waiting_.end()) found = waiting_.try_emplace(stream).first;
  Queue& queue = found->second;
  // `number` is behind those of this queue that were received by now, all of which were posted
  // before: what the probe found is behind those before it that are received later, as well.
  const std::uint64_t received = queue.left + queue.numbers.size();
  queue.by_post.emplace_hint(queue.by_post.end(), posted,
                             Waiting{operation, true, number - received});
  note(found);
  return posted;
}

void ReceiveOrder::drop(PostNumber posted, const Stream& asked, std::vector<Final>& out) {
  const PostNumber next = remove(posted, asked);
  if (isWild(asked)) {
    settleBehind(posted, next, out);
    return;
  }
  const auto found = waiting_.find(asked);
  if (found != waiting_.end()) settle(found, out);
}

void ReceiveOrder::giveUp(PostNumber posted, const Stream& stream, std::vector<Final>& out) {
  const auto found = waiting_.find(stream);
  if (found == waiting_.end()) return;
  Queue& queue = found->second;
  const auto at = queue.by_post.find(posted);
  if (at == queue.by_post.end()) return;
  out.push_back({at->second.operation, 0});
  if (!at->second.probe) {
    // Whichever of those before it and of it gets which: together they have the lowest numbers.
    queue.takeNumber();
    lost_until_ = std::max(lost_until_, posted);
  }
  queue.by_post.erase(at);
  note(found);
}

void ReceiveOrder::forget(PostNumber posted, const Stream& asked) {
  // The first stays, for others to wait for.
  const auto found = outstanding_.find(plain(asked));
  if (found != outstanding_.end() && *found->second.begin() != posted) remove(posted, asked);
  has_forgotten_ = true;
}

// The queues that wait for a receive that was the first of its kind from anyone stand between it
// and the next.
void ReceiveOrder::settleBehind(PostNumber posted, PostNumber next, std::vector<Final>& out) {
  for (auto at = first_waiting_.upper_bound(posted);
       at != first_waiting_.end() && at->first < next;) {
    ++looks_;
    const PostNumber first = at->first;
    settle(waiting_.find(at->second), out);
    at = first_waiting_.upper_bound(first);
  }
}

std::uint64_t ReceiveOrder::Queue::takeNumber() {
  const std::uint64_t lowest = numbers.top();
  numbers.pop();
  ++left;
  return lowest;
}

void ReceiveOrder::settle(Queues::iterator found, std::vector<Final>& out) {
  Queue& queue = found->second;
  const PostNumber before = firstThatCouldBeOf(found->first);
  ++looks_;
  while (!queue.by_post.empty() && queue.by_post.begin()->first < before) {
    const auto& [posted, done] = *queue.by_post.begin();
    out.push_back(
        {done.operation, done.probe ? queue.foundBy(done) : seqOf(posted, queue.takeNumber())});
    queue.by_post.erase(queue.by_post.begin());
    ++looks_;
  }
  note(found);
}

void ReceiveOrder::note(Queues::iterator found) {
  Queue& queue = found->second;
  const PostNumber first = queue.by_post.empty() ? 0 : queue.by_post.begin()->first;
  if (first != queue.first) {
    if (queue.first != 0) first_waiting_.erase(queue.first);
    if (first != 0) first_waiting_.emplace(first, found->first);
    queue.first = first;
  }
  if (first == 0) waiting_.erase(found);
}

void ReceiveOrder::finish(bool cut_off, std::vector<Final>& out) {
  for (auto& [stream, queue] : waiting_) {
    const PostNumber unsure = !cut_off         ? kBehindAll
                              : has_forgotten_ ? firstThatCouldBeOf(stream)
                                               : firstFromAnyone(stream);
    const auto outstanding = cut_off ? outstanding_.find(stream) : outstanding_.end();
    std::uint64_t taken = 0;  // by those never found complete
    for (const auto& [posted, waiting] : queue.by_post) {
      std::uint64_t seq = waiting.probe ? queue.foundBy(waiting) : queue.takeNumber();
      if (outstanding != outstanding_.end()) {
        std::set<PostNumber>& posts = outstanding->second;
        while (!posts.empty() && *posts.begin() < posted) {
          posts.erase(posts.begin());
          ++taken;
        }
      }
      seq = posted > unsure ? 0 : seqOf(posted, seq + taken);
      out.push_back({waiting.operation, seq});
    }
  }
  waiting_.clear();
  first_waiting_.clear();
  outstanding_.clear();
  wild_ = 0;
}

}  // namespace omnio::order
