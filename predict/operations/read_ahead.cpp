#include "predict/operations/read_ahead.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

namespace omnio::predict {
namespace {

// get_init_ra_size() and get_next_ra_size() of mm/readahead.c.
std::int64_t firstWindow(std::int64_t wanted) {
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  if (size <= ReadAhead::kWindowPages / 32) return size * 4;
  if (size <= ReadAhead::kWindowPages / 4) return size * 2;
  return ReadAhead::kWindowPages;
}

std::int64_t nextWindow(std::int64_t size) {
  if (size < ReadAhead::kWindowPages / 16) return 4 * size;
  if (size <= ReadAhead::kWindowPages / 2) return 2 * size;
  return ReadAhead::kWindowPages;
}

}  // namespace

std::int64_t ReadAhead::Pages::count(std::int64_t begin, std::int64_t end) const {
  auto run = runs_.upper_bound(begin);
  if (run != runs_.begin()) --run;
  std::int64_t count = 0;
  for (; run != runs_.end() && run->first < end; ++run) {
    const std::int64_t common = std::min(run->second, end) - std::max(run->first, begin);
    count += std::max<std::int64_t>(common, 0);
  }
  return count;
}

std::int64_t ReadAhead::Pages::add(std::int64_t begin, std::int64_t end) {
  if (end <= begin) return 0;
  const std::int64_t added = end - begin - count(begin, end);
  auto run = runs_.upper_bound(begin);
  if (run != runs_.begin() && std::prev(run)->second >= begin) --run;
  while (run != runs_.end() && run->first <= end) {
    begin = std::min(begin, run->first);
    end = std::max(end, run->second);
    run = runs_.erase(run);
  }
  runs_[begin] = end;
  if (runs_.size() > kMostRuns) runs_.erase(runs_.begin());
  return added;
}

void ReadAhead::Pages::remove(std::int64_t begin, std::int64_t end) {
  auto run = runs_.upper_bound(begin);
  if (run != runs_.begin()) --run;
  while (run != runs_.end() && run->first < end) {
    const auto [first, last] = *run;
    if (last <= begin) {
      ++run;
      continue;
    }
    run = runs_.erase(run);
    if (first < begin) runs_[first] = begin;
    if (last > end) runs_[end] = last;
  }
}

std::int64_t ReadAhead::Pages::before(std::int64_t page) const {
  auto run = runs_.lower_bound(page);
  if (run == runs_.begin()) return 0;
  --run;
  return run->second >= page ? page - run->first : 0;
}

std::int64_t ReadAhead::Pages::hole(std::int64_t page) const {
  auto run = runs_.upper_bound(page);
  if (run == runs_.begin()) return page;
  --run;
  return std::max(page, run->second);
}

void ReadAhead::fetch(OfFile& file, Window& window, std::int64_t page) {
  // The window ends further on where it begins with the page that is asked for and has none beyond.
  if (page == window.start && window.size == window.async) {
    const std::int64_t more = nextWindow(window.size);
    if (window.size + more <= kWindowPages) {
      window.async = more;
      window.size += more;
    } else {
      window.size = kWindowPages;
      window.async = kWindowPages / 2;
    }
  }
  const std::int64_t end = window.start + window.size;
  const std::int64_t added = file.cached.add(window.start, end);
  if (added == 0) return;
  fetched_ += static_cast<std::uint64_t>(added);
  file.ahead.add(window.start, end);
}

// `wanted`: pages that the read asks for from this one on.
void ReadAhead::onDemand(OfFile& file, Window& window, std::int64_t page, std::int64_t wanted,
                         bool at_marker) {
  const std::int64_t window_end = window.start + window.size;
  const auto begin = [&] {
    window.start = page;
    window.size = firstWindow(wanted);
    window.async = window.size > wanted ? window.size - wanted : window.size;
    fetch(file, window, page);
  };
  if (page == 0) return begin();
  if (window.size > 0 && (page == window_end - window.async || page == window_end)) {
    window.start = window_end;
    window.size = nextWindow(window.size);
    window.async = window.size;
    return fetch(file, window, page);
  }
  if (at_marker) {
    const std::int64_t hole = file.cached.hole(page + 1);
    if (hole - page > kWindowPages) return;
    window.start = hole;
    window.size = nextWindow(hole - page + wanted);
    window.async = window.size;
    return fetch(file, window, page);
  }
  if (wanted > kWindowPages ||
      (window.previous >= 0 && page - window.previous >= 0 && page - window.previous <= 1)) {
    return begin();
  }
  // The run of cached pages before it says that another stream reads here.
  if (const std::int64_t history = file.cached.before(page); history > wanted) {
    window.start = page;
    window.size = std::min(history >= page ? 2 * history + wanted : history + wanted, kWindowPages);
    window.async = 1;
    return fetch(file, window, page);
  }
  file.cached.add(page, page + wanted);
}

std::size_t ReadAhead::OfFile::memoryBytes() const {
  // A node of a tree has three links and a colour, one of a hash table a link and its part of the
  // buckets; the heap adds the length of the block, and rounds it up.
  constexpr std::size_t kBlock = 2 * sizeof(void*);
  constexpr std::size_t kRun = 4 * sizeof(void*) + 2 * sizeof(std::int64_t) + kBlock;
  constexpr std::size_t kEntry = 2 * sizeof(void*) + kBlock;
  return sizeof(Slot) + sizeof(OfFile) + kEntry + (cached.runs() + ahead.runs()) * kRun +
         windows.size() * (sizeof(std::uint64_t) + sizeof(Window) + kEntry);
}

// Half of the files are dropped at a time, so that this costs little for each operation.
void ReadAhead::keepBound() {
  if (bytes_ <= kMostBytes) return;
  std::vector<std::uint64_t> used;
  for (const auto& [slot, file] : files_) used.push_back(file.used);
  const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::ranges::nth_element(used, middle);
  std::erase_if(files_, [&](const auto& entry) { return entry.second.used < *middle; });
  files_.rehash(0);
  bytes_ = 0;
  for (const auto& [slot, file] : files_) bytes_ += file.memoryBytes();
}

std::int64_t ReadAhead::take(const Operation& operation) {
  if (!operation.has_offset || operation.bytes <= 0) return 0;
  const auto [found, is_new] = files_.try_emplace(operation.slot);
  OfFile& file = found->second;
  if (!is_new) bytes_ -= file.memoryBytes();
  if (file.file != operation.file) file = {.file = operation.file, .cached = {}, .ahead = {}};
  file.used = ++count_;
  if (file.windows.size() >= kMostWindows) file.windows.clear();
  Window& window = file.windows[operation.session];
  const std::int64_t first = operation.offset / kPageBytes;
  const std::int64_t end = (operation.offset + operation.bytes - 1) / kPageBytes + 1;
  std::int64_t covered = 0;
  if (operation.kind == Kind::kRead) {
    // By pages: those at the ends of the request count with their part of it.
    covered = file.cached.count(first, end) * kPageBytes;
    if (file.cached.has(first)) covered -= operation.offset - first * kPageBytes;
    if (file.cached.has(end - 1)) covered -= end * kPageBytes - operation.offset - operation.bytes;
    used_ += static_cast<std::uint64_t>(file.ahead.count(first, end));
    const std::int64_t marker = window.start + window.size - window.async;
    const bool has_marker =
        window.size > 0 && marker >= first && marker < end && file.cached.has(marker);
    const std::int64_t hole = file.cached.hole(first);
    if (hole < end) {
      onDemand(file, window, hole, end - hole, false);
    } else if (has_marker) {
      onDemand(file, window, marker, end - marker, true);
    }
    window.previous = end - 1;
  }
  file.cached.add(first, end);
  file.ahead.remove(first, end);
  bytes_ += file.memoryBytes();
  keepBound();
  return covered;
}

}  // namespace omnio::predict
