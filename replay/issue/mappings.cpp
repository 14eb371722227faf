#include "replay/issue/mappings.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "replay/issue/libc.hpp"

namespace omnio::replay {
namespace {

constexpr std::size_t kTouchedPage = 4096;

// Where a thread goes on that has touched what is not there.
thread_local sigjmp_buf* way_out = nullptr;

void onBadAccess(int number) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  signal(number, SIG_DFL);  // not ours: the access is made again, and ends the process
}

void catchBadAccesses() {
  static const bool kDone = [] {
    struct sigaction action {};
    action.sa_handler = onBadAccess;
    sigaction(SIGBUS, &action, nullptr);
    sigaction(SIGSEGV, &action, nullptr);
    return true;
  }();
  static_cast<void>(kDone);
}

}  // namespace

std::span<char> Mappings::Mapping::part(std::int64_t from, std::int64_t length) const {
  if (from < 0 || length <= 0) return {};
  const auto wanted = static_cast<std::uint64_t>(from);
  const std::uint64_t behind = wanted + static_cast<std::uint64_t>(length);
  for (const Rest& rest : rests) {
    const std::size_t first = std::max<std::uint64_t>(wanted, rest.begin);
    const std::size_t last = std::min<std::uint64_t>(behind, rest.end);
    if (first < last) return {memory + first, last - first};
  }
  return {};
}

Mappings::~Mappings() {
  for (const auto& [key, mapping] : mappings_) unmap(mapping);
}

void Mappings::unmap(const Mapping& mapping) {
  for (const Mapping::Rest& rest : mapping.rests) {
    raw::systemCall(SYS_munmap, mapping.memory + rest.begin, rest.end - rest.begin);
  }
}

// The part is of one of the rests.
void Mappings::takeOut(Mapping& mapping, std::span<const char> part) {
  const auto first = static_cast<std::size_t>(part.data() - mapping.memory);
  const std::size_t last = first + part.size();
  std::vector<Mapping::Rest> left;
  for (const Mapping::Rest& rest : mapping.rests) {
    if (rest.begin < std::min(first, rest.end)) {
      left.push_back({rest.begin, std::min(first, rest.end)});
    }
    if (std::max(last, rest.begin) < rest.end)
      left.push_back({std::max(last, rest.begin), rest.end});
  }
  mapping.rests = std::move(left);
}

void Mappings::add(Key key, const Mapping& mapping) {
  catchBadAccesses();
  const std::unique_lock lock(mutex_);
  const auto [place, is_new] = mappings_.try_emplace(key, mapping);
  if (is_new) return;
  unmap(place->second);
  place->second = mapping;
}

bool touchRead(std::span<const char> memory) {
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  for (std::size_t at = 0; at < memory.size(); at += kTouchedPage) {
    static_cast<void>(*static_cast<const volatile char*>(memory.data() + at));
  }
  way_out = nullptr;
  return true;
}

bool touchWrite(std::span<char> memory, std::span<const char> content) {
  if (content.empty()) return memory.empty();
  sigjmp_buf here;
  if (sigsetjmp(here, 1) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  for (std::size_t at = 0; at < memory.size(); at += content.size()) {
    std::memcpy(memory.data() + at, content.data(), std::min(content.size(), memory.size() - at));
  }
  way_out = nullptr;
  return true;
}

}  // namespace omnio::replay
