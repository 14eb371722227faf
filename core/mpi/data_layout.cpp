#include "core/mpi/data_layout.hpp"

#include <algorithm>
#include <utility>

namespace omnio::mpi {

void StridedPieces::add(Stride next) {
  if (is_full_ || next.count <= 0 || next.bytes <= 0) return;
  if (may_add_-- == 0) {
    is_full_ = true;
    return;
  }
  if (!strides_.empty()) {
    Stride& last = strides_.back();
    const std::int64_t last_begin = last.first + last.stride * (last.count - 1);
    if (last_begin + last.bytes == next.first) {
      // The last piece and the first one are one.
      const Stride joined{
          .first = last_begin, .bytes = last.bytes + next.bytes, .stride = 0, .count = 1};
      if (last.count == 1) {
        strides_.pop_back();
      } else if (--last.count == 1) {
        last.stride = 0;
      }
      addSeparate(joined);
      if (next.count == 1) return;
      next.first += next.stride;
      if (--next.count == 1) next.stride = 0;
    }
  }
  addSeparate(next);
}

void StridedPieces::addSeparate(Stride next) {
  if (is_full_) return;
  if (!strides_.empty() && strides_.back().bytes == next.bytes) {
    Stride& last = strides_.back();
    const std::int64_t distance = next.first - (last.first + last.stride * (last.count - 1));
    const bool last_agrees = last.count == 1 || last.stride == distance;
    const bool next_agrees = next.count == 1 || next.stride == distance;
    if (last_agrees && next_agrees && distance != 0) {
      last.stride = distance;
      last.count += next.count;
      return;
    }
  }
  if (strides_.size() == most_) {
    is_full_ = true;
    return;
  }
  strides_.push_back(next);
}

std::int64_t StridedPieces::bytes() const {
  std::int64_t sum = 0;
  for (const Stride& stride : strides_) sum += stride.bytes * stride.count;
  return sum;
}

std::int64_t StridedPieces::count() const {
  std::int64_t sum = 0;
  for (const Stride& stride : strides_) sum += stride.count;
  return sum;
}

std::int64_t DataLayout::checked(bool overflows, std::int64_t value) {
  if (!overflows && value <= kMost && value >= -kMost) return value;
  fits_ = false;
  return 0;
}

std::int64_t DataLayout::product(std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &value);
  return checked(overflows, value);
}

std::int64_t DataLayout::sum(std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  const bool overflows = __builtin_add_overflow(a, b, &value);
  return checked(overflows, value);
}

DataLayout::Id DataLayout::bytes(std::int64_t count) {
  Parts plain = parts();
  plain.addBytes(0, 0, 1, count);
  return plain.finish();
}

DataLayout::Id DataLayout::repeat(Id data, std::int64_t count, std::int64_t step) {
  if (count == 1) return data;
  Parts repeated = parts();
  repeated.add(0, step, count, data);
  return repeated.finish();
}

bool DataLayout::isPlain(Id id) const {
  const std::vector<Run>& runs = nodes_[id].runs;
  return runs.size() == 1 && runs[0].data == Run::kBytes && runs[0].count == 1 &&
         runs[0].displacement == 0;
}

void DataLayout::Parts::add(std::int64_t displacement, std::int64_t step, std::int64_t count,
                            Id data) {
  const Node& node = layout_.nodes_[data];
  if (node.size == 0 || count <= 0) return;
  Run run{.displacement = displacement,
          .step = count == 1 ? 0 : step,
          .count = count,
          .size = node.size,
          .data = data};
  // Data of one run, repeated, may be one run itself.
  if (node.runs.size() == 1) {
    const Run& inner = node.runs[0];
    const std::int64_t begin = layout_.sum(displacement, inner.displacement);
    if (count == 1) {
      run = inner;
    } else if (inner.count == 1) {
      run = inner;
      run.step = step;
      run.count = count;
    } else if (step == layout_.product(inner.step, inner.count)) {
      run = inner;
      run.count = layout_.product(count, inner.count);
    } else {
      push(run);
      return;
    }
    run.displacement = begin;
  }
  push(run);
}

void DataLayout::Parts::addBytes(std::int64_t displacement, std::int64_t step, std::int64_t count,
                                 std::int64_t bytes) {
  if (bytes <= 0 || count <= 0) return;
  push(
      {.displacement = displacement, .step = count == 1 ? 0 : step, .count = count, .size = bytes});
}

void DataLayout::Parts::push(Run run) {
  if (!layout_.fits_) return;
  if (run.data == Run::kBytes && run.count > 1 && run.step == run.size) {
    run.size = layout_.product(run.size, run.count);
    run.count = 1;
    run.step = 0;
  }
  if (!runs_.empty()) {
    Run& last = runs_.back();
    const std::int64_t last_begin =
        layout_.sum(last.displacement, layout_.product(last.step, last.count - 1));
    const bool both_bytes = last.data == Run::kBytes && run.data == Run::kBytes;
    if (both_bytes && last.count == 1 && run.count == 1 &&
        layout_.sum(last.displacement, last.size) == run.displacement) {
      last.size = layout_.sum(last.size, run.size);
      return;
    }
    const std::int64_t distance = layout_.sum(run.displacement, -last_begin);
    if (last.data == run.data && last.size == run.size &&
        (last.count == 1 || last.step == distance) && (run.count == 1 || run.step == distance)) {
      last.step = distance;
      last.count = layout_.sum(last.count, run.count);
      return;
    }
  }
  if (++layout_.run_count_ > kMostRuns) {
    layout_.fits_ = false;
    return;
  }
  runs_.push_back(run);
}

DataLayout::Id DataLayout::Parts::finish() {
  Node node;
  bool is_first = true;
  for (Run& run : runs_) {
    run.before = node.size;
    node.size = layout_.sum(node.size, layout_.product(run.size, run.count));
    const std::int64_t last =
        layout_.sum(run.displacement, layout_.product(run.step, run.count - 1));
    std::int64_t low = 0;
    std::int64_t high = run.size;
    if (run.data != Run::kBytes) {
      low = layout_.nodes_[run.data].low;
      high = layout_.nodes_[run.data].high;
    }
    low = layout_.sum(std::min(run.displacement, last), low);
    high = layout_.sum(std::max(run.displacement, last), high);
    node.low = is_first ? low : std::min(node.low, low);
    node.high = is_first ? high : std::max(node.high, high);
    is_first = false;
  }
  if (!layout_.fits_) {
    node = {};
    runs_.clear();
  }
  node.runs = std::move(runs_);
  layout_.nodes_.push_back(std::move(node));
  return static_cast<Id>(layout_.nodes_.size() - 1);
}

const DataLayout::Run* DataLayout::runAt(const Node& node, std::int64_t at) const {
  return &*(std::ranges::upper_bound(node.runs, at, {}, &Run::before) - 1);
}

std::optional<std::int64_t> DataLayout::placeOf(Id id, std::int64_t at) const {
  std::int64_t base = 0;
  while (true) {
    const Node& node = nodes_[id];
    if (at < 0 || at >= node.size) return {};
    const Run& run = *runAt(node, at);
    const std::int64_t in_run = at - run.before;
    base += run.displacement + in_run / run.size * run.step;
    at = in_run % run.size;
    if (run.data == Run::kBytes) return base + at;
    id = run.data;
  }
}

void DataLayout::pieces(Id id, std::int64_t from, std::int64_t to, std::int64_t base,
                        StridedPieces& out) const {
  from = std::max<std::int64_t>(from, 0);
  to = std::min(to, nodes_[id].size);
  if (from < to) emit(id, base, from, to, out);
}

// False when going on is of no use. The recursion is as deep as the type.
bool DataLayout::emit(Id id, std::int64_t base, std::int64_t from, std::int64_t to,
                      StridedPieces& out) const {
  const Node& node = nodes_[id];
  const Run* const end = node.runs.data() + node.runs.size();
  for (const Run* run = runAt(node, from); run != end && run->before < to; ++run) {
    std::int64_t at = std::max(from - run->before, std::int64_t{0});
    const std::int64_t behind = std::min(to - run->before, run->size * run->count);
    while (at < behind) {
      const std::int64_t item = at / run->size;
      const std::int64_t in_item = at % run->size;
      const std::int64_t begin = base + run->displacement + item * run->step;
      const std::int64_t item_end = std::min(behind - item * run->size, run->size);
      if (run->data != Run::kBytes) {
        if (!emit(run->data, begin, in_item, item_end, out)) return false;
        at = item * run->size + item_end;
      } else if (in_item == 0 && item_end == run->size) {
        const std::int64_t whole = (behind - at) / run->size;
        out.add({.first = begin,
                 .bytes = run->size,
                 .stride = whole == 1 ? 0 : run->step,
                 .count = whole});
        at += whole * run->size;
      } else {
        out.add({.first = begin + in_item, .bytes = item_end - in_item, .stride = 0, .count = 1});
        at = item * run->size + item_end;
      }
      if (out.isFull()) return false;
    }
  }
  return true;
}

}  // namespace omnio::mpi
