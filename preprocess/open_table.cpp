#include "preprocess/open_table.hpp"

#include <unistd.h>

#include <climits>

namespace omnio::preprocess {

using calls::CallId;
using calls::Class;
using calls::Role;

InstanceId OpenTable::make(int rank, std::uint32_t description) {
  instances_.push_back({.rank = rank,
                        .descriptor = model::Descriptor{next_[rank]++},
                        .description = description,
                        .content = 0,
                        .file = model::kNoFileNumber,
                        .access = {}});
  return InstanceId{static_cast<std::uint32_t>(instances_.size() - 1)};
}

std::uint32_t OpenTable::makeDescription(bool append, std::optional<std::uint64_t> position,
                                         std::uint32_t thread) {
  descriptions_.push_back(
      {.append = append, .position = position, .first_thread = thread, .of_many_threads = false});
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

bool movesData(const event::Event& event) {
  return event.row->call_class == Class::kRead || event.row->call_class == Class::kWrite;
}

namespace {

void seek(const event::Event& event, Description& description) {
  if (event.failed) return;
  if (event.row->result == calls::Result::kPosition) {  // lseek, ftell
    description.position = static_cast<std::uint64_t>(event.result);
    return;
  }
  if (event.row->plain == CallId::rewind) {
    description.position = 0;
    return;
  }
  if (event.row->plain == CallId::fgetpos) return;
  const std::int64_t offset = event::argumentOf(event, Role::kOffset);
  if (calls::has(*event.row, Role::kWhence)) {
    const std::int64_t whence = event::argumentOf(event, Role::kWhence);
    if (whence == SEEK_SET) {
      description.position = static_cast<std::uint64_t>(offset);
      return;
    }
    if (whence == SEEK_CUR && description.position) {
      *description.position += static_cast<std::uint64_t>(offset);
      return;
    }
  }
  description.position.reset();  // fsetpos, SEEK_END
}

}  // namespace

DataAccess follow(const event::Event& event, Description& description) {
  const calls::Row& row = *event.row;
  if (row.call_class == Class::kSeek) {
    seek(event, description);
    return {};
  }
  if (row.plain == CallId::ungetc && !event.failed && description.position.value_or(0) > 0) {
    --*description.position;
  }
  if (!movesData(event)) return {};
  DataAccess access{.offset = {}, .bytes = event.bytes, .bytes_known = event::countsBytes(row)};
  if (calls::has(row, Role::kOffset)) {
    const std::int64_t offset = event::argumentOf(event, Role::kOffset);
    if (offset >= 0) {
      access.offset = static_cast<std::uint64_t>(offset);
      return access;
    }
    if (!calls::does(row, calls::Effect::kMinusOneIsThePosition)) return access;
    // There -1 means the descriptor's position.
  }
  if (description.append && row.call_class == Class::kWrite) {
    description.position.reset();  // wherever the end of the file is
    access.at_end = true;
    return access;
  }
  access.offset = description.position;
  if (!access.bytes_known && !event.failed) {
    description.position.reset();
  } else if (description.position) {
    *description.position += access.bytes;
  }
  return access;
}

}  // namespace omnio::preprocess
