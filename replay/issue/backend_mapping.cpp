// Mappings. What the application touched in one is known when it ends, and touched then.
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>

#include "replay/issue/backend_call.hpp"
#include "replay/issue/libc.hpp"
#include "replay/issue/mappings.hpp"

namespace omnio::replay {
namespace {

using calls::CallId;
using calls::Result;
using calls::Role;

template <CallId kCall>
Mappings::Key keyOf(const Call& call) {
  return {call.context.process,
          static_cast<std::uint64_t>(argumentOf<kCall>(call, Role::kMapping))};
}

Outcome map(Call& call) {
  const auto real =
      reinterpret_cast<void* (*)(void*, std::size_t, int, int, int, off64_t)>(call.symbol);
  // Where in memory, of which pages, and locked: that is the application's own business.
  constexpr std::int64_t kKept =
      MAP_SHARED | MAP_PRIVATE | MAP_SHARED_VALIDATE | MAP_POPULATE | MAP_NONBLOCK | MAP_NORESERVE;
  const auto length = static_cast<std::size_t>(argumentOf<CallId::mmap>(call, Role::kLength));
  // An application may have allowed itself to read later (mprotect).
  const auto protection =
      static_cast<int>((argumentOf<CallId::mmap>(call, Role::kNumber) & PROT_WRITE) | PROT_READ);
  const auto flags = static_cast<int>(argumentOf<CallId::mmap>(call, Role::kFlags) & kKept);
  const std::int64_t offset = argumentOf<CallId::mmap>(call, Role::kOffset);
  const int fd = call.fd();
  void* memory = MAP_FAILED;
  const Outcome outcome = timed<Result::kZero>(call, [&] {
    memory = real(nullptr, length, protection, flags, fd, offset);
    return memory == MAP_FAILED ? -1 : 0;
  });
  if (!outcome.failed) {
    call.context.mappings->add(keyOf<CallId::mmap>(call),
                               {.memory = static_cast<char*>(memory),
                                .bytes = length,
                                .offset = static_cast<std::uint64_t>(offset),
                                .is_writable = (protection & PROT_WRITE) != 0,
                                .rests = {{0, length}}});
  }
  return outcome;
}

// As much of a part as the file has by now.
std::span<char> thereOf(const Mappings::Mapping& mapping, std::span<char> part, int fd) {
  struct stat about {};
  if (fd < 0 || raw::systemCall(SYS_fstat, fd, &about) != 0) return part;
  const std::uint64_t begin =
      mapping.offset + static_cast<std::uint64_t>(part.data() - mapping.memory);
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(about.st_size, 0));
  return part.first(begin >= size ? 0 : std::min<std::uint64_t>(part.size(), size - begin));
}

template <CallId kCall>
Outcome touch(Call& call) {
  constexpr bool writes = calls::rowOf(kCall).call_class == calls::Class::kWrite;
  const std::int64_t offset = argumentOf<kCall>(call, Role::kOffset);
  const std::int64_t length = argumentOf<kCall>(call, Role::kSize);
  const int fd = call.fd();
  Outcome outcome = notIssued();
  call.context.mappings->use(keyOf<kCall>(call), [&](const Mappings::Mapping& mapping) {
    if (offset < 0 || static_cast<std::uint64_t>(offset) < mapping.offset) return;
    if (writes && !mapping.is_writable) return;
    const std::int64_t from = offset - static_cast<std::int64_t>(mapping.offset);
    const std::span<char> part = thereOf(mapping, mapping.part(from, length), fd);
    std::span<char> content;
    if constexpr (writes) content = contentFor(call, part.size());
    outcome = timed<Result::kBytes>(call, [&]() -> std::int64_t {
      const bool is_there = writes ? touchWrite(part, content) : touchRead(part);
      if (!is_there) errno = EFAULT;
      return is_there ? static_cast<std::int64_t>(part.size()) : -1;
    });
  });
  return outcome;
}

}  // namespace

OMNIO_BY_HAND(mmap) { return map(call); }
OMNIO_BY_HAND(mmap64) { return map(call); }
OMNIO_BY_HAND(map_read) { return touch<CallId::map_read>(call); }
OMNIO_BY_HAND(map_write) { return touch<CallId::map_write>(call); }

OMNIO_BY_HAND(munmap) {
  const auto real = reinterpret_cast<int (*)(void*, std::size_t)>(call.symbol);
  Outcome outcome = notIssued();
  call.context.mappings->cut(
      keyOf<CallId::munmap>(call), argumentOf<CallId::munmap>(call, Role::kRangeOffset),
      argumentOf<CallId::munmap>(call, Role::kLength), [&](std::span<char> part) {
        outcome = timed<Result::kZero>(call, [&] { return real(part.data(), part.size()); });
      });
  return outcome;
}

// It may always move: there may be room behind the application's mapping, and not behind this one.
OMNIO_BY_HAND(mremap) {
  const auto real =
      reinterpret_cast<void* (*)(void*, std::size_t, std::size_t, int, ...)>(call.symbol);
  const auto bytes = static_cast<std::size_t>(argumentOf<CallId::mremap>(call, Role::kLength));
  Outcome outcome = notIssued();
  call.context.mappings->resize(keyOf<CallId::mremap>(call), bytes, [&](std::span<char> whole) {
    void* memory = MAP_FAILED;
    outcome = timed<Result::kZero>(call, [&] {
      memory = real(whole.data(), whole.size(), bytes, MREMAP_MAYMOVE);
      return memory == MAP_FAILED ? -1 : 0;
    });
    return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
  });
  return outcome;
}

OMNIO_BY_HAND(msync) {
  const auto real = reinterpret_cast<int (*)(void*, std::size_t, int)>(call.symbol);
  const auto flags = static_cast<int>(argumentOf<CallId::msync>(call, Role::kFlags));
  Outcome outcome = notIssued();
  call.context.mappings->use(keyOf<CallId::msync>(call), [&](const Mappings::Mapping& mapping) {
    const std::span<char> part = mapping.part(argumentOf<CallId::msync>(call, Role::kRangeOffset),
                                              argumentOf<CallId::msync>(call, Role::kLength));
    if (part.empty()) return;
    outcome = timed<Result::kZero>(call, [&] { return real(part.data(), part.size(), flags); });
  });
  return outcome;
}

}  // namespace omnio::replay
