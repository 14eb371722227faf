#include "trace/runtime/mpi/message_streams.hpp"

#include <sys/mman.h>

#include <atomic>

#include "core/wire/checksum.hpp"
#include "trace/runtime/sys/raw_syscall.hpp"

namespace omnio::trace {
namespace {

struct Counter {
  std::atomic<std::uint64_t> key{0};
  std::atomic<std::uint64_t> count{0};
};

// Tables of growing size: one is begun when all places of a key in those before it are taken. An
// application that gives each message a tag of its own fills them all, and no more: 4.5 MiB.
class Counters {
 public:
  // That of the key, made when there is none and `make`; nullptr when the table is full.
  Counter* find(std::uint64_t key, bool make) {
    for (unsigned t = 0; t < kTables; ++t) {
      Counter* table = make ? madeTable(t) : tableThere(t);
      if (table == nullptr) return nullptr;
      for (std::uint64_t i = 0; i < kTries; ++i) {
        Counter& counter = table[(key + i) % placesOf(t)];
        std::uint64_t there = counter.key.load(std::memory_order_relaxed);
        if (there == 0) {
          if (!make) return nullptr;
          if (counter.key.compare_exchange_strong(there, key)) return &counter;
        }
        if (there == key) return &counter;
      }
    }
    return nullptr;
  }

 private:
  static constexpr unsigned kTables = 4;
  static constexpr std::uint64_t kFirstPlaces = 512;
  static constexpr unsigned kGrowth = 3;  // bits
  static constexpr std::uint64_t kTries = 8;

  static constexpr std::uint64_t placesOf(unsigned table) {
    return kFirstPlaces << (kGrowth * table);
  }

  Counter* tableThere(unsigned number) {
    return number == 0 ? first_ : more_[number - 1].load(std::memory_order_acquire);
  }

  Counter* madeTable(unsigned number) {
    return number == 0 ? first_ : mappedOnce(more_[number - 1], placesOf(number) * sizeof(Counter));
  }

  Counter first_[kFirstPlaces]{};
  std::atomic<Counter*> more_[kTables - 1]{};
};

constinit Counters streams;
// Ids are made of these: they have to be the same in processes whose messages are many and in
// those whose are few.
constinit Counters names;

// Two streams of one key would be one in 2^64.
std::uint64_t keyOf(const Stream& stream) {
  const std::uint64_t ends = static_cast<std::uint64_t>(static_cast<std::uint32_t>(stream.peer))
                                 << 32 |
                             static_cast<std::uint32_t>(stream.tag);
  const std::uint64_t key =
      wire::mixed(wire::mixed(stream.group, ends), static_cast<std::uint64_t>(stream.way) + 1);
  return key == 0 ? 1 : key;
}

Counter* counterOf(const Stream& stream, bool make) {
  return (stream.way == Way::kNamed ? names : streams).find(keyOf(stream), make);
}

}  // namespace

std::uint64_t countIn(const Stream& stream) {
  Counter* counter = counterOf(stream, true);
  return counter == nullptr ? 0 : counter->count.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t countOf(const Stream& stream) {
  const Counter* counter = counterOf(stream, false);
  return counter == nullptr ? 0 : counter->count.load(std::memory_order_relaxed);
}

}  // namespace omnio::trace
