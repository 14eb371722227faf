#include "preprocess/open_table.hpp"

#include <fcntl.h>

#include <climits>

namespace omnio::preprocess {

InstanceId OpenTable::make(Instance instance) {
  instance.descriptor = model::Descriptor{next_[instance.rank]++};
  instances_.push_back(std::move(instance));
  return InstanceId{static_cast<std::uint32_t>(instances_.size() - 1)};
}

std::uint32_t OpenTable::makeDescription(int open_flags) {
  const bool appends = (open_flags & O_APPEND) != 0;
  descriptions_.push_back({.open = {.appends = appends}, .appended_at_first = appends});
  return static_cast<std::uint32_t>(descriptions_.size() - 1);
}

void OpenTable::bind(std::size_t process, std::uint32_t handle, std::int64_t start_ns,
                     InstanceId instance) {
  bound_[{process, handle}].emplace_back(start_ns, instance);
}

InstanceId OpenTable::instanceOf(std::size_t process, std::uint32_t handle,
                                 std::int64_t time_ns) const {
  const auto found = bound_.find({process, handle});
  if (found == bound_.end()) return kNoInstance;
  // Mostly one, and two after an fdopen.
  InstanceId instance = found->second.front().second;
  for (const auto& [since, bound] : found->second) {
    if (since <= time_ns) instance = bound;
  }
  return instance;
}

void OpenTable::setNumber(std::size_t process, int fd, InstanceId instance) {
  numbers_[{process, fd}] = instance;
}

void OpenTable::clearNumber(std::size_t process, int fd) {
  const auto found = numbers_.find({process, fd});
  if (found == numbers_.end()) return;
  closed_[found->first] = found->second;
  numbers_.erase(found);
}

InstanceId OpenTable::atNumber(std::size_t process, int fd) const {
  const auto found = numbers_.find({process, fd});
  return found == numbers_.end() ? kNoInstance : found->second;
}

std::vector<InstanceId> OpenTable::openOrClosed(std::size_t process) const {
  std::vector<InstanceId> instances;
  for (const Numbers* numbers : {&numbers_, &closed_}) {
    for (auto at = numbers->lower_bound({process, INT_MIN});
         at != numbers->end() && at->first.first == process; ++at) {
      instances.push_back(at->second);
    }
  }
  return instances;
}

}  // namespace omnio::preprocess
