#include "phase_model/rank_patterns.hpp"

#include <algorithm>

namespace omnio::phases {
namespace {

// Files that are worked on at a time, by threads. Of more than these, the half that has waited
// longest is taken to be done with; what comes for it later is another pattern.
constexpr std::size_t kMaxStreams = 4096;

}  // namespace

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
    laps_.push_back(
        {.rank = rank_, .file = key.first, .thread = thread, .operations = std::move(operations)});
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
