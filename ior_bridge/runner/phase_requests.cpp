#include "ior_bridge/runner/phase_requests.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/base/integers.hpp"

namespace omnio::ior {
namespace {

using Wide = __int128;  // offsets of an edited model may lead anywhere
constexpr std::int64_t kFurthest = std::numeric_limits<std::int64_t>::max();

std::int64_t clamped(Wide offset) {
  return static_cast<std::int64_t>(
      std::clamp<Wide>(offset, std::numeric_limits<std::int64_t>::min(), kFurthest));
}

// The begin of the n-th of `parts` parts of `whole`, which differ by one at most.
std::uint64_t partBegin(std::uint64_t whole, std::uint64_t parts, std::uint64_t n) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(whole) * n / parts);
}

// The share of one process in an operation.
struct Share {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;
  std::int64_t begin = 0;               // f(initOffset)
  std::int64_t step = 0;                // disp
  const pattern::Part* part = nullptr;  // of nested requests
};

Share shareOf(const model::Phase& phase, const model::PhaseOperation& op, int rank) {
  const auto place = std::lower_bound(phase.ranks.begin(), phase.ranks.end(), rank);
  const auto n = static_cast<std::uint64_t>(place - phase.ranks.begin());
  const std::uint64_t ranks = phase.ranks.size();
  const std::uint64_t weight = model::weightOf(phase, op);
  Share share{op.repetitions, op.repetitions * op.request_bytes, op.init_offset.at(rank),
              op.displacement_bytes};
  for (const model::NestedRequests& nested : op.nested) {
    if (!std::binary_search(nested.ranks.begin(), nested.ranks.end(), rank)) continue;
    share.part = &nested.part;
    share.requests = nested.part.requests;
    return share;
  }
  if (!op.init_offset.known) {
    share.begin = static_cast<std::int64_t>(partBegin(weight, ranks, n));
    share.step = static_cast<std::int64_t>(op.request_bytes);
  }
  if (op.varying) {
    const std::uint64_t first = partBegin(op.requests, ranks, n);
    share.requests = partBegin(op.requests, ranks, n + 1) - first;
    share.bytes = partBegin(weight, ranks, n + 1) - partBegin(weight, ranks, n);
    // Fewer requests than processes: the bytes of this one still have to be moved.
    if (share.requests == 0 && share.bytes > 0) share.requests = 1;
  }
  return share;
}

// Requests of one size, or of varying ones made even, or nested; not random.
Request regularRequest(const model::PhaseOperation& op, const Share& share, std::uint64_t n) {
  if (share.part != nullptr) {
    const pattern::Request request = pattern::requestOf(*share.part, n);
    return {op.operation, clamped(static_cast<Wide>(share.begin) + request.offset), request.bytes};
  }
  const Wide step = static_cast<Wide>(n) * share.step;
  if (!op.varying) return {op.operation, clamped(share.begin + step), op.request_bytes};
  const std::uint64_t from = partBegin(share.bytes, share.requests, n);
  const std::uint64_t bytes = partBegin(share.bytes, share.requests, n + 1) - from;
  const bool contiguous =
      share.step >= 0 && static_cast<std::uint64_t>(share.step) == op.request_bytes;
  return {op.operation, clamped(share.begin + (contiguous ? static_cast<Wide>(from) : step)),
          bytes};
}

}  // namespace

std::uint64_t shuffled(std::uint64_t n, std::uint64_t count, std::uint64_t seed) {
  if (count < 2) return 0;
  const int half_bits = (std::bit_width(count - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t value = n;
  do {
    std::uint64_t left = value >> half_bits;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (base::mixed(right ^ base::mixed(seed * 4 + round)) & mask);
      left = right;
      right = next;
    }
    value = (left << half_bits) | right;
  } while (value >= count);
  return value;
}

PhaseRequests::PhaseRequests(const model::Phase& phase, int rank)
    : phase_(phase), rank_(rank), stored_(phase.operations.size(), nullptr) {
  for (const model::PhaseOperation& op : phase.operations) {
    counts_.push_back(shareOf(phase, op, rank).requests);
  }
  for (const model::RandomAccess& access : phase.random) {
    if (access.rank != rank) continue;
    const auto operation = static_cast<std::size_t>(access.operation);
    stored_[operation] = &access;
    counts_[operation] = access.requests.size() + access.left_out;
  }
  rounds_ = counts_;
}

Request PhaseRequests::requestOf(std::size_t operation, std::uint64_t n) const {
  const model::PhaseOperation& op = phase_.operations[operation];
  if (phase_.mode == model::AccessMode::kRandom) {
    const model::RandomAccess* stored = stored_[operation];
    if (stored != nullptr && n < stored->requests.size()) {
      const auto& [offset, bytes] = stored->requests[n];
      return {op.operation, offset, bytes};
    }
    const std::uint64_t seed =
        (static_cast<std::uint64_t>(phase_.id) << 32) + static_cast<std::uint64_t>(rank_);
    const std::uint64_t place = shuffled(n, counts_[operation], seed);
    return {op.operation,
            clamped(shareOf(phase_, op, rank_).begin + static_cast<Wide>(place) * op.request_bytes),
            op.request_bytes};
  }
  return regularRequest(op, shareOf(phase_, op, rank_), n);
}

std::optional<Request> PhaseRequests::next() {
  while (true) {
    if (operation_ == rounds_.size()) {
      operation_ = 0;
      ++round_;
    }
    if (std::none_of(rounds_.begin(), rounds_.end(),
                     [&](std::uint64_t count) { return round_ < count; })) {
      return std::nullopt;
    }
    const std::size_t operation = operation_++;
    if (round_ < counts_[operation]) return requestOf(operation, round_);
    if (round_ < rounds_[operation]) return Request{phase_.operations[operation].operation, 0, 0};
  }
}

RequestExtent extentOf(const model::Phase& phase, int rank) {
  RequestExtent extent;
  extent.begin = extent.read_begin = kFurthest;
  for (std::size_t i = 0; i < phase.operations.size(); ++i) {
    const model::PhaseOperation& op = phase.operations[i];
    const bool reads = op.operation == model::Operation::kRead;
    const auto reach = [&](Wide begin, Wide end) {
      extent.begin = std::min(extent.begin, clamped(begin));
      extent.end = std::max(extent.end, clamped(end));
      if (reads) extent.read_begin = std::min(extent.read_begin, clamped(begin));
      if (reads) extent.read_end = std::max(extent.read_end, clamped(end));
    };
    const auto touch = [&](Wide begin, std::uint64_t bytes) {
      reach(begin, begin + bytes);
      extent.largest_bytes = std::max(extent.largest_bytes, bytes);
    };
    Share share = shareOf(phase, op, rank);
    if (phase.mode == model::AccessMode::kRandom) {
      std::uint64_t rest = share.requests;
      for (const model::RandomAccess& access : phase.random) {
        if (access.rank != rank || access.operation != static_cast<int>(i)) continue;
        for (const auto& [offset, bytes] : access.requests) touch(offset, bytes);
        share.requests = access.requests.size() + access.left_out;
        rest = access.left_out;
      }
      if (rest > 0) {
        touch(share.begin, op.request_bytes);
        touch(share.begin + static_cast<Wide>(share.requests - 1) * op.request_bytes,
              op.request_bytes);
      }
    } else if (share.part != nullptr) {
      const pattern::PartSummary all = pattern::summaryOf(*share.part);
      reach(static_cast<Wide>(share.begin) + all.begin, static_cast<Wide>(share.begin) + all.end);
      extent.largest_bytes = std::max(extent.largest_bytes, all.largest);
    } else if (share.requests > 0) {
      const Request first = regularRequest(op, share, 0);
      const Request last = regularRequest(op, share, share.requests - 1);
      touch(first.offset, first.bytes);
      touch(last.offset, last.bytes);
      // One in the middle may be a byte larger than both.
      extent.largest_bytes = std::max(extent.largest_bytes, first.bytes + (op.varying ? 1 : 0));
    }
    extent.requests += share.requests;
  }
  if (extent.requests == 0) extent.begin = extent.end = 0;
  if (extent.read_end == 0) extent.read_begin = 0;
  return extent;
}

}  // namespace omnio::ior
