#include "core/storage/held_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/command_line.hpp"
#include "core/base/node_memory.hpp"
#include "core/base/printable.hpp"
#include "core/base/text_table.hpp"

namespace omnio::storage {

std::string whyNoMemoryShare(const std::string& word) {
  // Less is one that is not meant in percent.
  constexpr double kLeast = 0.01;
  const auto share = base::shareOf(word);
  if (share && *share >= kLeast && *share <= 1) return {};
  return fmt::format("{} is not a share of the memory: use a percentage from 1% to 100% (80%)",
                     base::printable(word));
}

HeldMemory::HeldMemory(double share) {
  constexpr std::uint64_t kLeft = std::uint64_t{1} << 30;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
  held_.share = share;
  if (share == 0) return;
  held_.wanted_bytes = static_cast<std::uint64_t>(share * static_cast<double>(base::memoryBytes()));
  const std::uint64_t available = base::availableMemoryBytes();
  if (available <= kLeft) return;
  const std::uint64_t bytes = std::min(held_.wanted_bytes, available - kLeft) / page * page;
  if (bytes == 0) return;
  void* const begin =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return;
  begin_ = begin;
  held_.held_bytes = bytes;
  // Neither for a child, which would copy its tables, nor for a core file.
  madvise(begin, bytes, MADV_DONTFORK);
  madvise(begin, bytes, MADV_DONTDUMP);
  held_.is_locked = mlock(begin, bytes) == 0;
  if (held_.is_locked) return;
  // The user may not lock as much.
  auto* const first = static_cast<volatile char*>(begin);
  for (std::uint64_t i = 0; i < bytes; i += page) first[i] = 1;
}

HeldMemory::~HeldMemory() {
  if (begin_ != nullptr) munmap(begin_, held_.held_bytes);
}

void putHeldBytes(base::JsonWriter& json, const HeldBytes& held) {
  if (held.share == 0) return;
  json.object("fill_memory", [&] {
    json.put("share", held.share);
    json.put("wanted_bytes", held.wanted_bytes);
    json.put("held_bytes", held.held_bytes);
    json.put("locked", held.is_locked);
  });
}

std::string heldText(const HeldBytes& held) {
  if (held.share == 0) return {};
  const auto bytes = [](std::uint64_t count) {
    return base::humanBytes(static_cast<double>(count));
  };
  std::string text = fmt::format("Memory: {} were held, so that files could not stay there",
                                 bytes(held.held_bytes));
  if (held.held_bytes < held.wanted_bytes) {
    text +=
        fmt::format(", in place of {}: the last GiB of a node is left", bytes(held.wanted_bytes));
  }
  return text + (held.is_locked ? "\n" : "; they could not be locked (ulimit -l)\n");
}

}  // namespace omnio::storage
