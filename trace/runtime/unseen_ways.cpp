#include "trace/runtime/unseen_ways.hpp"

#include <atomic>

#include "core/wire/info.hpp"
#include "trace/runtime/ring/container_writer.hpp"

namespace omnio::trace {
namespace {

std::atomic<std::uint64_t> rings{0};
std::atomic<std::uint64_t> not_followed{0};

}  // namespace

void beginUnseenWays() {
  rings.store(0);
  not_followed.store(0);
}

void countRing() { rings.fetch_add(1, std::memory_order_relaxed); }

void countNotFollowed() { not_followed.fetch_add(1, std::memory_order_relaxed); }

bool hasUnseenWays() { return rings.load() > 0 || not_followed.load() > 0; }

void tellUnseenWays() {
  if (const std::uint64_t count = rings.load(); count > 0) {
    appendFact(wire::info::kUringRings, count);
  }
  if (const std::uint64_t count = not_followed.load(); count > 0) {
    appendFact(wire::info::kNotFollowed, count);
  }
}

}  // namespace omnio::trace
