#include "preprocess/order/step_order.hpp"

#include <algorithm>

#include "core/wire/record.hpp"

namespace omnio::preprocess {

namespace {

constexpr std::size_t kOfPredecessor = 4;  // varints, and of a step besides its predecessors:
constexpr std::size_t kOfStep = 4;

std::size_t mostBytes(const std::vector<Predecessor>& after) {
  return (kOfStep + kOfPredecessor * after.size()) * wire::kMaxVarint;
}

char* putSigned(char* out, std::int64_t value) { return wire::putVarint(out, wire::zigzag(value)); }

char* putWork(char* out, const Work& work) {
  return putSigned(putSigned(out, work.compute_ns), work.communication_ns);
}

// Where a predecessor may stand: 0 and 1 are steps that are not of a thread.
std::uint64_t placeOf(std::uint32_t thread) {
  return thread == kBeginning ? 0 : thread == kMeeting ? 1 : std::uint64_t{thread} + 2;
}

std::uint32_t threadAt(std::uint64_t place) {
  return place == 0 ? kBeginning : place == 1 ? kMeeting : static_cast<std::uint32_t>(place - 2);
}

// `near`: a number that those of its predecessors are close to, as threads do the same.
char* put(char* out, const std::vector<Predecessor>& after, std::uint64_t near) {
  out = wire::putVarint(out, after.size());
  for (const Predecessor& before : after) {
    out = wire::putVarint(
        out, placeOf(before.step.thread) << 2 | static_cast<std::uint64_t>(before.reason));
    out = putSigned(out, static_cast<std::int64_t>(before.step.sequence - near));
    out = putWork(out, before.work);
  }
  return out;
}

// Reads what was put, and nothing else.
class Unpacked {
 public:
  explicit Unpacked(const char* in) : in_(in) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    in_ = wire::getVarint(in_, in_ + wire::kMaxVarint, value);
    return value;
  }
  std::int64_t signedNumber() { return wire::unzigzag(number()); }
  Work work() {
    const std::int64_t compute_ns = signedNumber();
    return {compute_ns, signedNumber()};
  }
  void predecessors(std::uint64_t near, std::vector<Predecessor>& after) {
    after.resize(number());
    for (Predecessor& before : after) {
      const std::uint64_t place = number();
      before.reason = static_cast<model::Reason>(place & 3);
      before.step.thread = threadAt(place >> 2);
      before.step.sequence = near + static_cast<std::uint64_t>(signedNumber());
      before.work = work();
    }
  }
  const char* end() const { return in_; }

 private:
  const char* in_;
};
static_assert(static_cast<int>(model::Reason::kThread) == 3);  // it takes two bits

}  // namespace

char* ByteStore::room(std::size_t most) {
  constexpr std::size_t kSmallest = 256;
  constexpr std::size_t kLargest = std::size_t{1} << 16;
  most += wire::kMaxVarint;  // the last varint is read where so many bytes could stand
  const bool is_full = blocks_.empty() || blocks_.back().size - blocks_.back().used < most;
  if (is_full) {
    const std::size_t next =
        blocks_.empty() ? kSmallest : std::min(2 * blocks_.back().size, kLargest);
    const std::size_t size = std::max(next, most);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size, 0});
  }
  return blocks_.back().bytes.get() + blocks_.back().used;
}

void StepOrders::add(const StepOrder& step) {
  char* out = bytes_.room(mostBytes(step.after));
  out = wire::putVarint(out, step.sequence - last_);
  out = putWork(out, step.own);
  bytes_.take(put(out, step.after, step.sequence));
  last_ = step.sequence;
}

const StepOrder* StepOrders::Reader::next() {
  const auto& blocks = orders_->bytes_.blocks();
  while (block_ < blocks.size() && at_ == blocks[block_].used) {
    ++block_;
    at_ = 0;
  }
  if (block_ == blocks.size()) return nullptr;
  const char* const begin = blocks[block_].bytes.get();
  Unpacked in(begin + at_);
  step_.sequence += in.number();
  step_.own = in.work();
  in.predecessors(step_.sequence, step_.after);
  at_ = static_cast<std::size_t>(in.end() - begin);
  return &step_;
}

void Meetings::add(const Meeting& meeting) {
  char* const begin = bytes_.room(mostBytes(meeting.after));
  char* out = putSigned(begin, meeting.at_ns);
  out = putWork(out, meeting.own);
  bytes_.take(put(out, meeting.after, static_cast<std::uint64_t>(meeting.behind)));
  heads_.push_back({meeting.thread, meeting.behind, begin});
}

Meeting Meetings::at(std::uint64_t number) const {
  const Head& head = heads_[number];
  Unpacked in(head.rest);
  Meeting meeting{.thread = head.thread, .behind = head.behind, .at_ns = 0, .own = {}, .after = {}};
  meeting.at_ns = in.signedNumber();
  meeting.own = in.work();
  in.predecessors(static_cast<std::uint64_t>(meeting.behind), meeting.after);
  return meeting;
}

}  // namespace omnio::preprocess
